package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
	"agentaudit/store"
)

// apiPage is one page of a list; Next is the cursor for the following one, ""
// on the last.
type apiPage[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

func pageOf[T any](items []T, next string) apiPage[T] {
	if items == nil {
		items = []T{}
	}
	return apiPage[T]{items, next}
}

// apiBatch is a batch with the number of entries that have their row.
type apiBatch struct {
	*store.Batch
	Done int64 `json:"done"`
	// RatePerSecond and EtaSeconds are there while it is running.
	RatePerSecond float64 `json:"ratePerSecond,omitempty"`
	EtaSeconds    int64   `json:"etaSeconds,omitempty"`
}

func (r *apiRequest) batch(b *store.Batch) apiBatch {
	a := apiBatch{Batch: b, Done: b.Done()}
	if rate, ok := r.rate(b.ID); ok && rate > 0 && b.State == store.StateRunning {
		a.RatePerSecond, a.EtaSeconds = rate, int64(float64(b.Entries-a.Done)/rate)
	}
	return a
}

func (r *apiRequest) batches(list []store.Batch) []apiBatch {
	out := make([]apiBatch, len(list))
	for i := range list {
		out[i] = r.batch(&list[i])
	}
	return out
}

// apiRow is a row with the run behind it.
type apiRow struct{ store.Row }

// MarshalJSON is the row as exports have it, with the member run before others.
func (r apiRow) MarshalJSON() ([]byte, error) {
	row, err := json.Marshal(r.Row)
	if err != nil {
		return nil, err
	}
	run, err := json.Marshal(r.Run)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, `{"run":%s,`, run), bytes.TrimPrefix(row, []byte("{"))...), nil
}

func rowsOf(rows []store.Row) []apiRow {
	out := make([]apiRow, len(rows))
	for i, r := range rows {
		out[i] = apiRow{r}
	}
	return out
}

// apiOverview is the present state of everything.
type apiOverview struct {
	AsOf  time.Time           `json:"asOf"`
	Sites []store.ReasonCount `json:"sites"`
	Open  []apiBatch          `json:"open"`
	// Auditing counts sites that are being audited, Queued those that are handed
	// to the queue. Idle says that there is work and nobody at it.
	Auditing int64     `json:"auditing"`
	Queued   int64     `json:"queued"`
	NextDue  time.Time `json:"nextDue,omitzero"`
	Idle     bool      `json:"idle"`
	Health   apiHealth `json:"health"`
}

func apiGetOverview(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	o := apiOverview{AsOf: r.asOf()}
	var err error
	if o.Sites, err = s.c.Store.SiteCounts(ctx); err != nil {
		return nil, err
	}
	if o.Sites == nil {
		o.Sites = []store.ReasonCount{}
	}
	running, err := s.c.Store.OpenBatches(ctx, 1000)
	if err != nil {
		return nil, err
	}
	o.Open = r.batches(running)
	h, err := s.vitals.look(ctx)
	if err != nil {
		return nil, err
	}
	o.Auditing, o.Queued, o.NextDue, o.Idle, o.Health = h.Load.Running, h.Enqueued(), h.Load.NextDue, h.Idle(), healthOf(h)
	return o, nil
}

// batchPage is how many batches are asked for, and before which.
func (r *apiRequest) batchPage() (before store.BatchID, n int, err error) {
	if n, err = r.limit(); err == nil {
		before, err = cursorBatch(r.Query.Get("after"))
	}
	return before, n, err
}

func apiListBatches(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	before, n, err := r.batchPage()
	if err != nil {
		return nil, err
	}
	list, err := s.c.Store.Batches(ctx, before, n)
	if err != nil {
		return nil, err
	}
	return pageOf(r.batches(list), behind(list, n, func(b store.Batch) string { return string(b.ID) })), nil
}

// behind is the cursor of the page that follows one of n items at most, "" where
// it is the last.
func behind[T any](items []T, n int, cursor func(T) string) string {
	if len(items) < n {
		return ""
	}
	return cursor(items[n-1])
}

// partOf is the batch of the path, with the parameter limit.
func (r *apiRequest) partOf(ctx context.Context, s *Server) (*store.Batch, int, error) {
	n, err := r.limit()
	if err != nil {
		return nil, 0, err
	}
	b, err := pathBatch(ctx, r.Request, s.c.Store)
	return b, n, err
}

func cursorBatch(raw string) (store.BatchID, error) {
	if raw == "" {
		return "", nil
	}
	id, err := store.ParseBatchID(raw)
	if err != nil {
		return "", blame("after", badRequest("The parameter after is no cursor of this list: %.80q.", raw))
	}
	return id, nil
}

func apiGetBatch(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	b, err := pathBatch(ctx, r.Request, s.c.Store)
	if err != nil {
		return nil, err
	}
	return r.batch(b), nil
}

// cursorNumber is the parameter after of a list that is counted.
func (r *apiRequest) cursorNumber() (int64, error) {
	raw := r.Query.Get("after")
	if raw == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || n < 0 {
		return 0, blame("after", badRequest("The parameter after is no cursor of this list: %.80q.", raw))
	}
	return n, nil
}

// numbered serves a list of a batch whose items are counted from 1.
func numbered[T any](list func(Reader, context.Context, store.BatchID, int64, int) ([]T, error), number func(T) int64) func(context.Context, *Server, *apiRequest) (any, error) {
	return func(ctx context.Context, s *Server, r *apiRequest) (any, error) {
		b, n, err := r.partOf(ctx, s)
		if err != nil {
			return nil, err
		}
		after, err := r.cursorNumber()
		if err != nil {
			return nil, err
		}
		items, err := list(s.c.Store, ctx, b.ID, after, n)
		if err != nil {
			return nil, err
		}
		return pageOf(items, behind(items, n, func(v T) string { return strconv.FormatInt(number(v), 10) })), nil
	}
}

// ranked serves a list of a batch that has its most frequent items first.
func ranked[T any](list func(Reader, context.Context, store.BatchID, int) ([]T, error)) func(context.Context, *Server, *apiRequest) (any, error) {
	return func(ctx context.Context, s *Server, r *apiRequest) (any, error) {
		b, n, err := r.partOf(ctx, s)
		if err != nil {
			return nil, err
		}
		items, err := list(s.c.Store, ctx, b.ID, n)
		return pageOf(items, ""), err
	}
}

func apiListResults(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	b, n, err := r.partOf(ctx, s)
	if err != nil {
		return nil, err
	}
	f, err := readFilter(r.Query, b.ID)
	if err != nil {
		return nil, err
	}
	page, err := search(ctx, s.c.Store, f, r.Query.Get("after"), n)
	if err != nil {
		return nil, err
	}
	return pageOf(rowsOf(page.Rows), page.Next), nil
}

// apiRun is a run with the rows of all entries that share it.
type apiRun struct {
	*store.Run
	Rows []apiRow `json:"rows"`
}

func apiGetRun(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	id := store.RunID(r.Path("run"))
	run, err := s.c.Store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	page, err := s.c.Store.Results(ctx, store.Filter{Batch: id.Batch(), Run: id}, "", store.MaxPage)
	if err != nil {
		return nil, err
	}
	return apiRun{run, rowsOf(page.Rows)}, nil
}

// document serves a document of a result as it is kept.
func document(pick func(*store.Parts) json.RawMessage) func(context.Context, *Server, *apiRequest) (any, error) {
	return func(ctx context.Context, s *Server, r *apiRequest) (any, error) {
		parts, err := s.c.Store.Parts(ctx, store.RunID(r.Path("run")))
		if err != nil {
			return nil, err
		}
		if doc := pick(parts); doc != nil {
			return doc, nil
		}
		return nil, notFound("This result has no such document: there was none, or it is no longer kept.", nil)
	}
}

func apiListSites(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	n, err := r.limit()
	if err != nil {
		return nil, err
	}
	f, err := readSiteFilter(r.Query)
	if err != nil {
		return nil, err
	}
	page, err := s.c.Store.Sites(ctx, f, r.Query.Get("after"), n)
	if err != nil {
		return nil, err
	}
	return pageOf(page.Sites, page.Next), nil
}

// apiSite is a site with its results, newest first.
type apiSite struct {
	*store.Site
	History []store.SiteResult `json:"history"`
	// Next is the time before which there are older results, "" for none.
	Next string `json:"next"`
}

func apiGetSite(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	n, err := r.limit()
	if err != nil {
		return nil, err
	}
	target, err := siteTarget(r.Query.Get("target"))
	if err != nil {
		return nil, err
	}
	var before time.Time
	if raw := r.Query.Get("before"); raw != "" {
		if before, err = time.Parse(time.RFC3339Nano, raw); err != nil {
			return nil, blame("before", badRequest("The parameter before is a time such as 2026-11-30T12:00:00Z, not %.40q.", raw))
		}
	}
	site, err := s.c.Store.Site(ctx, target)
	if err != nil {
		return nil, err
	}
	history, err := s.c.Store.SiteHistory(ctx, target, before, n)
	if err != nil {
		return nil, err
	}
	a := apiSite{Site: site, History: history}
	if len(history) == n {
		a.Next = history[n-1].FinishedAt.UTC().Format(time.RFC3339Nano)
	}
	if a.History == nil {
		a.History = []store.SiteResult{}
	}
	return a, nil
}

// siteTarget is the site that a parameter names.
func siteTarget(raw string) (string, error) {
	if raw == "" {
		return "", blame("target", badRequest("The parameter target is missing: give a domain, as in shop.example."))
	}
	u, err := weburl.ParseTarget(raw)
	if err != nil {
		return "", blame("target", badRequest("The parameter target is no site: %s", sentence(err.Error())))
	}
	return u.String(), nil
}

// apiComparison is what changed from one batch to another; Items are those of
// the change that was asked for.
type apiComparison struct {
	Before store.BatchID          `json:"before"`
	After  store.BatchID          `json:"after"`
	Counts map[store.Change]int64 `json:"counts"`
	// Matrix counts sites by their outcome before and after.
	Matrix map[report.Outcome]map[report.Outcome]int64 `json:"matrix"`
	Show   store.Change                                `json:"show"`
	Items  []apiPair                                   `json:"items"`
	Next   string                                      `json:"next"`
}

// apiPair is one site on both sides; a side where it is missing is null.
type apiPair struct {
	Target string   `json:"target"`
	Label  string   `json:"label"`
	Before *apiSide `json:"before"`
	After  *apiSide `json:"after"`
	Fixed  []string `json:"fixed"`
	New    []string `json:"new"`
	Still  []string `json:"still"`
}

// apiSide is the result of a site on one side.
type apiSide struct {
	Run        store.RunID    `json:"run"`
	Outcome    report.Outcome `json:"outcome"`
	Reason     report.Reason  `json:"reason"`
	Detail     string         `json:"detail"`
	Failing    []string       `json:"failing"`
	Warning    []string       `json:"warning"`
	Attempts   int            `json:"attempts"`
	FinishedAt time.Time      `json:"finishedAt,omitzero"`
}

func sideOf(r *store.RunResult) *apiSide {
	if r == nil {
		return nil
	}
	return &apiSide{r.Run, r.Outcome, r.Reason, r.Detail, words(r.Failing), words(r.Warning), r.Attempts, r.FinishedAt}
}

func apiCompare(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	for _, name := range []string{"before", "after"} {
		raw := r.Query.Get(name)
		if raw == "" {
			return nil, blame(name, badRequest("The parameter %s is missing: give the id of a batch.", name))
		}
		if _, err := store.ParseBatchID(raw); err != nil {
			return nil, blame(name, badRequest("The parameter %s is no batch: %s", name, sentence(err.Error())))
		}
	}
	p := &ComparePage{}
	if err := p.choose(ctx, r.Request, s.c.Store); err != nil {
		return nil, err
	}
	c, err := r.compared.wait(ctx, p.Before, p.After)
	if err != nil {
		return nil, err
	}
	if err := p.page(ctx, r.Request, s.c.Store, c); err != nil {
		return nil, err
	}
	a := apiComparison{Before: p.Before.ID, After: p.After.ID, Counts: c.counts, Matrix: c.Matrix(), Show: p.Show, Items: []apiPair{}}
	if p.Next > 0 {
		a.Next = strconv.Itoa(p.Next)
	}
	for _, l := range p.Rows {
		item := apiPair{Target: l.Target, Label: l.Label, Before: sideOf(l.Before), After: sideOf(l.After), Fixed: words(l.Diff.Fixed), New: words(l.Diff.New), Still: words(l.Diff.Still)}
		a.Items = append(a.Items, item)
	}
	return a, nil
}

// words is never null in JSON.
func words(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
