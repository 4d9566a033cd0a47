package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
	"agentaudit/store"
)

// SitePage is a site over time.
type SitePage struct {
	Frame
	Site     *store.Site
	Timeline Timeline
	History  []HistoryLine
	// Between is what changed between the two results that were chosen, nil if
	// none were.
	Between *Between
	// Later says that it is not the first page; Next is when the last result
	// of a page that is not the last ended.
	Later bool
	Next  time.Time
}

// HistoryLine is one result of a site. Changed says whether it has one before
// it to differ from.
type HistoryLine struct {
	store.SiteResult
	Changed bool
	Diff    store.Diff
}

// Timeline is a strip of the last results of a site, oldest first.
type Timeline struct {
	Marks []Mark
	Label string
}

// Mark is one result: the better, the taller.
type Mark struct {
	Outcome report.Outcome
	At      time.Time
	Link    string
	X, Y    int
	Height  int
	Here    bool // the result that the page is about
}

const (
	timelineLength = 40
	historyPerPage = 50
)

var markHeights = map[report.Outcome]int{report.OutcomeSuccessful: 24, report.OutcomePartial: 16, report.OutcomeFailed: 8, report.OutcomeUnchecked: 4}

// newTimeline takes results newest first, as the store gives them.
func newTimeline(l Links, results []store.SiteResult, here store.RunID) Timeline {
	var t Timeline
	counts := map[report.Outcome]int{}
	for i, r := range slices.Backward(results) {
		h := markHeights[r.Outcome]
		t.Marks = append(t.Marks, Mark{r.Outcome, r.FinishedAt, l.Run(r.Run), 12 * (len(results) - 1 - i), 26 - h, h, r.Run == here})
		counts[r.Outcome]++
	}
	var words []string
	for _, o := range report.Outcomes {
		if n := counts[o]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, o))
		}
	}
	t.Label = fmt.Sprintf("The last %s, oldest first: %s.", plural(int64(len(results)), "result", "results"), strings.Join(words, ", "))
	return t
}

// IsWas and IsIs report whether a result of the history is one of those that
// are compared: at first the newest and the one before it.
func (p *SitePage) IsWas(i int, run store.RunID) bool {
	if p.Between == nil {
		return i == 1
	}
	return p.Between.Was.Run == run
}

// IsIs: see [SitePage.IsWas].
func (p *SitePage) IsIs(i int, run store.RunID) bool {
	if p.Between == nil {
		return i == 0
	}
	return p.Between.Is.Run == run
}

// Away is a chosen result that this page of the history does not show, nil if it
// does.
func (p *SitePage) Away(r *store.RunResult) *store.RunResult {
	for _, line := range p.History {
		if line.Run == r.Run {
			return nil
		}
	}
	return r
}

// Width is that of the strip, in its own units.
func (t Timeline) Width() int { return max(12*len(t.Marks), 12) }

// Shield is the address at which shields.io draws the badge of the site.
func (p *SitePage) Shield() string {
	return "https://img.shields.io/endpoint?" + url.Values{"url": {p.Origin + p.Links.BadgeJSON(p.Site.Target)}}.Encode()
}

// sitePage takes what people type: a domain, or the address of a profile.
func sitePage(ctx context.Context, r *Request, read Reader) (*SitePage, error) {
	if err := r.Only("target", "before", paramWas, paramIs); err != nil {
		return nil, err
	}
	raw := strings.TrimSpace(r.Query.Get("target"))
	if raw == "" {
		return nil, &HTTPError{Code: 400, Title: "Which site?", Message: "No site was given.", Advice: "Type a domain, as in shop.example, into the field at the top."}
	}
	u, err := weburl.ParseTarget(raw)
	if err != nil {
		return nil, &HTTPError{Code: 400, Title: "This is no site", Message: sentence(err.Error()), Advice: "Type a domain, as in shop.example, or the address of an agentic.json."}
	}
	target := u.String()
	p := &SitePage{Frame: Frame{Title: siteName(target), Section: "site"}}
	if p.Site, err = read.Site(ctx, target); errors.Is(err, store.ErrNotFound) {
		return nil, &HTTPError{Code: 404, Title: "No result for this site", Message: fmt.Sprintf("%.200s has never been audited here.", siteName(target)),
			Advice: "Search the results of a batch for the beginning of its host, label or id: the list may name another address of it."}
	} else if err != nil {
		return nil, err
	}
	var before time.Time
	if raw := r.Query.Get("before"); raw != "" {
		ms, err := strconv.ParseInt(raw, 10, 64)
		if err != nil || ms <= 0 {
			return nil, badRequest("The parameter before is no time in milliseconds: %.40q.", raw)
		}
		before, p.Later = time.UnixMilli(ms), true
	}
	if was, is := r.Query.Get(paramWas), r.Query.Get(paramIs); was != "" || is != "" {
		if p.Between, err = between(ctx, read, target, was, is); err != nil {
			return nil, err
		}
	}
	list, err := read.SiteHistory(ctx, target, before, historyPerPage+1)
	if err != nil {
		return nil, err
	}
	for i, res := range list[:min(len(list), historyPerPage)] {
		line := HistoryLine{SiteResult: res}
		if i+1 < len(list) {
			line.Changed, line.Diff = true, store.DiffChecks(&list[i+1], &list[i])
		}
		p.History = append(p.History, line)
	}
	if len(list) > historyPerPage {
		p.Next = list[historyPerPage-1].FinishedAt
	}
	last := list
	if p.Later {
		if last, err = read.SiteHistory(ctx, target, time.Time{}, timelineLength); err != nil {
			return nil, err
		}
	}
	p.Timeline = newTimeline(r.Links, last[:min(len(last), timelineLength)], p.Site.LastRun)
	return p, nil
}
