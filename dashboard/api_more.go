package dashboard

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// apiListDeliveries lists messages.
func apiListDeliveries(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	n, err := r.limit()
	if err != nil {
		return nil, err
	}
	f, err := readDeliveryFilter(r.Query)
	if err != nil {
		return nil, err
	}
	before, err := r.cursorNumber()
	if err != nil {
		return nil, err
	}
	list, err := s.c.Store.FindDeliveries(ctx, f, before, n)
	if err != nil {
		return nil, err
	}
	return pageOf(list, behind(list, n, func(d store.Delivery) string { return strconv.FormatInt(d.ID, 10) })), nil
}

// apiGetListing is how the listing of a batch changed.
func apiGetListing(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	b, n, err := r.partOf(ctx, s)
	if err != nil {
		return nil, err
	}
	c, err := s.c.Store.ListingChanges(ctx, b.ID, n)
	if errors.Is(err, store.ErrNotFound) {
		return nil, notFound("There is no earlier batch of the same listing to compare with.", err)
	}
	if err != nil {
		return nil, err
	}
	for _, l := range []*[]store.ListingChange{&c.NewListings, &c.GoneListings, &c.MovedListings} {
		if *l == nil {
			*l = []store.ListingChange{}
		}
	}
	return c, nil
}

// apiEstimate is how long the sites of a batch will take, by the pace of an
// earlier batch; 0 and "" where none tells.
type apiEstimate struct {
	Sites   int64         `json:"sites"`
	Seconds float64       `json:"seconds"`
	By      store.BatchID `json:"by"`
}

func apiGetEstimate(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	b, err := pathBatch(ctx, r.Request, s.c.Store)
	if err != nil {
		return nil, err
	}
	e, err := estimate(ctx, s.c.Store, b.Runs)
	if err != nil {
		return nil, err
	}
	a := apiEstimate{Sites: b.Runs, Seconds: e.Took.Seconds()}
	if e.By != nil {
		a.By = e.By.ID
	}
	return a, nil
}

// apiSettings is how the dashboard was started.
type apiSettings struct {
	Version  string `json:"version"`
	SignIn   bool   `json:"signIn"`
	ReadOnly bool   `json:"readOnly"`
	Badges   bool   `json:"badges"`
	// Facts are what the page of settings tells, how long reports are kept among
	// them.
	Facts []Fact `json:"facts"`
}

func apiGetSettings(_ context.Context, s *Server, _ *apiRequest) (any, error) {
	facts := s.c.Facts
	if facts == nil {
		facts = []Fact{}
	}
	return apiSettings{s.c.Version, s.c.Users != nil, s.c.Write == nil, !s.c.NoBadges, facts}, nil
}

// apiBadge is what the badge of a site says, and where it is.
type apiBadge struct {
	Message string         `json:"message"`
	Outcome report.Outcome `json:"outcome"`
	Stale   bool           `json:"stale"`
	SVG     string         `json:"svg"`
	// Shields is what badges of shields.io read.
	Shields string `json:"shields"`
}

func apiGetBadge(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	if s.c.NoBadges {
		return nil, notFound("This dashboard serves no badges.", nil)
	}
	target, err := siteTarget(r.Query.Get("target"))
	if err != nil {
		return nil, err
	}
	b, err := s.badge(ctx, target)
	if err != nil {
		return nil, err
	}
	return apiBadge{b.Message, b.Outcome, b.Stale, r.Origin + s.links.Badge(target), r.Origin + s.links.BadgeJSON(target)}, nil
}

// moreEndpoints are operations beside batches, results and schedules; those with
// a file answer with that.
var moreEndpoints = []endpoint{
	{method: "GET", path: "/batches/{batch}/estimate", need: reading, summary: "How long the sites of a batch will take: for drafts", status: 200, answer: "Estimate", do: apiGetEstimate},
	{method: "GET", path: "/batches/{batch}/listing", need: reading, summary: "What changed in a directory's listing since the batch before: new, gone and moved, and the first of each", query: []string{"limit"}, status: 200, answer: "ListingChanges", do: apiGetListing},
	{method: "GET", path: "/deliveries", need: reading, summary: "Messages to directories about changed outcomes, and to webhooks about batches, newest first", query: []string{"state", "event", "batch", "after", "limit"}, status: 200, answer: "DeliveryPage", do: apiListDeliveries},
	{method: "GET", path: "/settings", need: reading, summary: "How the dashboard was started, without secrets", status: 200, answer: "Settings", do: apiGetSettings},
	{method: "GET", path: "/badge", need: reading, summary: "What the badge of a site says, and its addresses", query: []string{"target"}, status: 200, answer: "Badge", do: apiGetBadge},

	{method: "GET", path: "/batches/{batch}/results.csv", need: reading, summary: "All rows of a view as a file", query: filterParams, status: 200, file: "text/csv",
		serve: func(s *Server, w http.ResponseWriter, r *http.Request) error { return s.export(exportCSV)(w, r) }},
	{method: "GET", path: "/batches/{batch}/results.ndjson", need: reading, summary: "All rows of a view as a file, with reports if full is 1", query: append([]string{"full"}, filterParams...), status: 200, file: "application/x-ndjson",
		serve: func(s *Server, w http.ResponseWriter, r *http.Request) error { return s.export(exportNDJSON)(w, r) }},
	{method: "GET", path: "/runs/{run}/" + kitName, need: reading, summary: "The fix kit as an archive", status: 200, file: "application/zip", serve: (*Server).kit},
}
