package dashboard

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// SitesPage lists all sites by their last result.
type SitesPage struct {
	Frame
	Filter   store.SiteFilter
	Outcomes []Option
	// Total is how many sites the view has, negative where that is not counted.
	Total int64
	Sites []store.Site
	Later bool
	Next  string
	Chips []Chip
}

const sitesPerPage = 50

// The parameters of a view of sites, beside the outcome and the host.
const (
	paramSort = "sort"
)

func siteQuery(f store.SiteFilter) url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set(paramOutcome, string(f.Outcome))
	set(paramHost, f.Host)
	if !f.ChangedSince.IsZero() {
		set(paramSince, f.ChangedSince.UTC().Format(time.DateOnly))
	}
	if f.Order == store.ByChange {
		set(paramSort, string(f.Order))
	}
	return q
}

// readSiteFilter undoes [siteQuery]. What changed lately comes in the order of
// its changes.
func readSiteFilter(q url.Values) (store.SiteFilter, error) {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	f := store.SiteFilter{Outcome: report.Outcome(get(paramOutcome)), Host: strings.ToLower(get(paramHost)), Order: store.SiteOrder(get(paramSort))}
	var err error
	if f.ChangedSince, err = readDay(get(paramSince)); err != nil {
		return f, err
	}
	sorted := f.Order
	if !f.ChangedSince.IsZero() {
		f.Order = store.ByChange
	}
	switch {
	case f.Outcome != "" && !slices.Contains(outcomes[:4], f.Outcome):
		return f, blame(paramOutcome, unknown("outcome", string(f.Outcome), outcomes[:4]))
	case sorted != "" && sorted != store.ByHost && sorted != store.ByChange:
		return f, blame(paramSort, unknown("order", string(sorted), []store.SiteOrder{store.ByHost, store.ByChange}))
	case len(f.Host) > 300:
		return f, blame(paramHost, badRequest("No host is that long."))
	case f.Host != "" && f.Order == store.ByChange:
		return f, &HTTPError{Code: 400, Field: paramHost, Message: "Sites whose host begins with something come sorted by host, so that they cannot be sorted or picked by their last change.", Advice: "Leave one of the two out."}
	}
	if f.Order == "" {
		f.Order = store.ByHost
	}
	return f, nil
}

func sitesPage(ctx context.Context, r *Request, read Reader) (*SitesPage, error) {
	if err := r.Only("after", paramOutcome, paramHost, paramSince, paramSort); err != nil {
		return nil, err
	}
	f, wrong := readSiteFilter(r.Query)
	p := &SitesPage{Frame: Frame{Title: "Sites", Section: "sites"}, Filter: f, Later: r.Query.Get("after") != "", Total: -1}
	counts, err := read.SiteCounts(ctx)
	if err != nil {
		return nil, err
	}
	by := map[report.Outcome]int64{}
	var all int64
	for _, c := range counts {
		by[c.Outcome] += c.Runs
		all += c.Runs
	}
	for _, o := range outcomes[:4] {
		p.Outcomes = append(p.Outcomes, Option{string(o), outcomeWords[o], by[o], f.Outcome == o})
	}
	if wrong != nil {
		return p, wrong
	}
	if f.Host == "" && f.ChangedSince.IsZero() {
		if p.Total = all; f.Outcome != "" {
			p.Total = by[f.Outcome]
		}
	}
	for _, name := range []string{paramOutcome, paramHost, paramSince} {
		q := siteQuery(f)
		if value := q.Get(name); value != "" {
			q.Del(name)
			rest, err := readSiteFilter(q)
			if err != nil {
				return nil, err
			}
			p.Chips = append(p.Chips, Chip{map[string]string{paramOutcome: "Outcome", paramHost: "Host begins with", paramSince: "Changed since"}[name], value, r.Links.Sites(rest, "")})
		}
	}
	page, err := read.Sites(ctx, f, r.Query.Get("after"), sitesPerPage)
	if err != nil {
		return nil, err
	}
	p.Sites = page.Sites
	if page.Next != "" {
		p.Next = r.Links.Sites(f, page.Next)
	}
	return p, nil
}

// Since is the day of the filter as a field takes it.
func (p *SitesPage) Since() string { return siteQuery(p.Filter).Get(paramSince) }

// ByChange says that the last change comes first.
func (p *SitesPage) ByChange() bool { return p.Filter.Order == store.ByChange }
