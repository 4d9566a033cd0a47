package dashboard

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// Links makes the addresses of pages, below the base path. All are paths on
// this very host.
type Links struct{ base string }

func newLinks(base string) (Links, error) {
	base = strings.TrimRight(base, "/")
	if base == "" {
		return Links{}, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Path != base || !strings.HasPrefix(base, "/") || strings.Contains(base, "//") || strings.Contains(base, "\\") || strings.Contains("/"+base+"/", "/../") || strings.Contains(base+"/", "/./") {
		return Links{}, fmt.Errorf("dashboard: base path %q: give a plain path such as /audit", base)
	}
	return Links{base}, nil
}

func (l Links) with(path string, q url.Values) string {
	if len(q) == 0 {
		return l.base + path
	}
	return l.base + path + "?" + q.Encode()
}

// Overview is the first page.
func (l Links) Overview() string { return l.base + "/" }

// Batches lists batches, the newest first.
func (l Links) Batches() string { return l.base + "/batches" }

// OlderBatches lists the batches before one.
func (l Links) OlderBatches(before store.BatchID) string {
	return l.with("/batches", url.Values{"before": {string(before)}})
}

// Batch is the page of one batch.
func (l Links) Batch(id store.BatchID) string {
	return l.base + "/batches/" + url.PathEscape(string(id))
}

// Rejected lists rejected lines of a batch behind a number.
func (l Links) Rejected(id store.BatchID, after int64) string {
	q := url.Values{}
	if after > 0 {
		q.Set("after", strconv.FormatInt(after, 10))
	}
	return l.with("/batches/"+url.PathEscape(string(id))+"/rejected", q)
}

// Results is a filtered view of the results of f.Batch.
func (l Links) Results(f store.Filter) string { return l.results(f, "", "results") }

// NextResults is the page of a view behind a cursor.
func (l Links) NextResults(f store.Filter, cursor string) string {
	return l.results(f, cursor, "results")
}

// CSV and NDJSON are the rows of a view as files; Full adds the documents.
func (l Links) CSV(f store.Filter) string    { return l.results(f, "", "results.csv") }
func (l Links) NDJSON(f store.Filter) string { return l.results(f, "", "results.ndjson") }
func (l Links) Full(f store.Filter) string {
	q := filterQuery(f)
	q.Set("full", "1")
	return l.with("/batches/"+url.PathEscape(string(f.Batch))+"/results.ndjson", q)
}

func (l Links) results(f store.Filter, cursor, page string) string {
	q := filterQuery(f)
	if cursor != "" {
		q.Set("after", cursor)
	}
	return l.with("/batches/"+url.PathEscape(string(f.Batch))+"/"+page, q)
}

// Outcome, Reason and Check are views of a batch by one thing.
func (l Links) Outcome(id store.BatchID, o report.Outcome) string {
	return l.Results(store.Filter{Batch: id, Outcome: o})
}
func (l Links) Reason(id store.BatchID, r report.Reason, o report.Outcome) string {
	return l.Results(store.Filter{Batch: id, Reason: r, Outcome: o})
}
func (l Links) Check(id store.BatchID, check string, st report.Status) string {
	return l.Results(store.Filter{Batch: id, Check: check, CheckStatus: st})
}

// Deliveries are the messages that a filter picks, before one (0:
// from the newest); Listing is what changed in the listing of a batch.
func (l Links) Deliveries(f store.DeliveryFilter, before int64) string {
	q := url.Values{}
	if f.State != "" {
		q.Set("state", string(f.State))
	}
	if f.Batch != "" {
		q.Set("batch", string(f.Batch))
	}
	if f.Event != "" {
		q.Set("event", f.Event)
	}
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	return l.with("/deliveries", q)
}
func (l Links) DeliveriesForm() string          { return l.base + "/deliveries" }
func (l Links) Listing(id store.BatchID) string { return l.Batch(id) + "/listing" }

// Told are the messages about batches.
func (l Links) Told() string {
	return l.Deliveries(store.DeliveryFilter{Event: store.EventFinished}, 0)
}

// Webhooks lists webhooks, those of batches before one ("": from the newest), and
// is where its form leads; ScheduleWebhook and BatchWebhook have the form filled
// in for one, and the others are where forms lead that take one away.
func (l Links) Webhooks(before store.BatchID) string {
	q := url.Values{}
	if before != "" {
		q.Set("before", string(before))
	}
	return l.with("/webhooks", q)
}
func (l Links) ScheduleWebhook(id store.ScheduleID) string {
	return l.with("/webhooks", url.Values{"schedule": {string(id)}})
}
func (l Links) BatchWebhook(id store.BatchID) string {
	return l.with("/webhooks", url.Values{"batch": {string(id)}})
}
func (l Links) RemoveScheduleWebhook(id store.ScheduleID) string {
	return l.Schedule(id) + "/webhook/remove"
}
func (l Links) RemoveBatchWebhook(id store.BatchID) string { return l.Batch(id) + "/webhook/remove" }

// Run is the page of one result, Document one of its documents.
func (l Links) Run(id store.RunID) string { return l.base + "/runs/" + url.PathEscape(string(id)) }
func (l Links) Document(id store.RunID, name string) string {
	return l.Run(id) + "/" + url.PathEscape(name) + ".json"
}

// Sites is a view of all sites, from a cursor on; SitesForm is where its form
// leads.
func (l Links) Sites(f store.SiteFilter, cursor string) string {
	q := siteQuery(f)
	if cursor != "" {
		q.Set("after", cursor)
	}
	return l.with("/sites", q)
}
func (l Links) SitesForm() string { return l.base + "/sites" }

// Kit is the archive that mends a publication.
func (l Links) Kit(id store.RunID) string { return l.Run(id) + "/" + kitName }

// Site is a target over time.
func (l Links) Site(target string) string { return l.with("/site", url.Values{"target": {target}}) }

// OlderResults is the history of a target before a time.
func (l Links) OlderResults(target string, before time.Time) string {
	return l.with("/site", url.Values{"target": {target}, "before": {strconv.FormatInt(before.UnixMilli(), 10)}})
}

// Compare sets two batches against each other; show picks a list of sites,
// from a position on.
func (l Links) Compare(before, after store.BatchID, show store.Change, from int) string {
	q := url.Values{}
	if before != "" {
		q.Set("before", string(before))
	}
	if after != "" {
		q.Set("after", string(after))
	}
	if show != "" {
		q.Set("show", string(show))
	}
	if from > 0 {
		q.Set("from", strconv.Itoa(from))
	}
	return l.with("/compare", q)
}

// Events is the stream of live numbers.
func (l Links) Events() string { return l.base + "/events" }

// SignIn is where to sign in, and to go on from there to a path.
func (l Links) SignIn(next string) string {
	if next == "" || next == l.Overview() {
		return l.base + "/signin"
	}
	return l.with("/signin", url.Values{"next": {next}})
}

// SignOut is where the form leads that ends a session.
func (l Links) SignOut() string { return l.base + "/signout" }

// New takes a list, Draft shows what was understood of it; StartDraft and
// DropDraft are where its forms lead.
func (l Links) New() string                        { return l.base + "/new" }
func (l Links) Draft(id store.BatchID) string      { return l.New() + "/" + url.PathEscape(string(id)) }
func (l Links) StartDraft(id store.BatchID) string { return l.Draft(id) + "/start" }
func (l Links) DropDraft(id store.BatchID) string  { return l.Draft(id) + "/drop" }

// Steer is where a form leads that does something to a batch: pause, resume,
// cancel, retry, again.
func (l Links) Steer(id store.BatchID, what string) string { return l.Batch(id) + "/" + what }

// Schedules lists schedules, with a batch filled in for a new one; OnSchedule is
// where a form leads that does something to one: run, pause, resume, remove.
func (l Links) Schedules(batch store.BatchID) string {
	q := url.Values{}
	if batch != "" {
		q.Set("batch", string(batch))
	}
	return l.with("/schedules", q)
}
func (l Links) OnSchedule(id store.ScheduleID, what string) string {
	return l.Schedule(id) + "/" + what
}

// Schedule is where one is changed.
func (l Links) Schedule(id store.ScheduleID) string {
	return l.base + "/schedules/" + url.PathEscape(string(id))
}

// Share is where forms lead that share something, RevokeShare where one that
// ends that; Shared is what strangers open.
func (l Links) Share() string { return l.base + "/share" }
func (l Links) RevokeShare(id string) string {
	return l.base + "/shares/" + url.PathEscape(id) + "/revoke"
}
func (l Links) Shared(secret string) string { return l.base + "/share/" + url.PathEscape(secret) }

// Badge and BadgeJSON are the badge of a site, for pages of others and for
// shields.io.
func (l Links) Badge(target string) string {
	return l.with("/badge.svg", url.Values{"target": {siteName(target)}})
}
func (l Links) BadgeJSON(target string) string {
	return l.with("/badge.json", url.Values{"target": {siteName(target)}})
}

// Settings shows how the dashboard is set up; NewToken and RevokeToken are
// where its forms lead.
func (l Links) Settings() string { return l.base + "/settings" }
func (l Links) NewToken() string { return l.base + "/settings/tokens" }
func (l Links) RevokeToken(id string) string {
	return l.base + "/settings/tokens/" + url.PathEscape(id) + "/revoke"
}

// SiteForm is where the form that looks for a site leads, CompareForm that
// which compares.
func (l Links) SiteForm() string    { return l.base + "/site" }
func (l Links) CompareForm() string { return l.base + "/compare" }

// ResultsForm is where the filter form of a batch leads, without any filter.
func (l Links) ResultsForm(id store.BatchID) string { return l.Results(store.Filter{Batch: id}) }
