package dashboard

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// definite reports whether an outcome is a verdict about the site.
func definite(o report.Outcome) bool { return o != report.OutcomeUnchecked && o != store.Cancelled }

// The parameters of a view, in the order in which pages name them.
const (
	paramOutcome = "outcome"
	paramReason  = "reason"
	paramCheck   = "check"
	paramStatus  = "status"
	paramAgents  = "agents"
	paramHost    = "host"
	paramLabel   = "label"
	paramTag     = "tag"
	paramID      = "id"
	paramSearch  = "q"
	paramSince   = "since"
	paramOrder   = "sort"
)

var filterParams = []string{paramOutcome, paramReason, paramCheck, paramStatus, paramAgents, paramHost, paramLabel, paramTag, paramID, paramSince, paramSearch, paramOrder}

// filterQuery is a view as parameters of an address.
func filterQuery(f store.Filter) url.Values {
	q := url.Values{}
	for _, v := range filterValues(f) {
		if v.Value != "" {
			q.Set(v.Param, v.Value)
		}
	}
	return q
}

// param is one parameter of a view.
type param struct{ Param, Value string }

func filterValues(f store.Filter) []param {
	since := ""
	if !f.ChangedSince.IsZero() {
		since = f.ChangedSince.UTC().Format(time.DateOnly)
	}
	return []param{
		{paramOutcome, string(f.Outcome)}, {paramReason, string(f.Reason)}, {paramCheck, f.Check}, {paramStatus, string(f.CheckStatus)},
		{paramAgents, f.Agents}, {paramHost, f.Host}, {paramLabel, f.Label}, {paramTag, f.Tag}, {paramID, f.ID}, {paramSince, since}, {paramSearch, f.Text}, {paramOrder, string(f.Order)},
	}
}

// agentsVerdicts are the words for what an audit of agents.txt comes to.
var agentsVerdicts = []string{"valid", "invalid", "other", "absent", "unchecked"}

// longestFilter bounds what is searched for; no label or host is as long.
const longestFilter = 2048

// readFilter undoes [filterQuery]. Words that cannot occur are errors: a
// misspelled outcome must not look like a view without rows.
func readFilter(q url.Values, id store.BatchID) (store.Filter, error) {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	f := store.Filter{Batch: id, Outcome: report.Outcome(get(paramOutcome)), Reason: report.Reason(get(paramReason)), Check: get(paramCheck),
		CheckStatus: report.Status(get(paramStatus)), Agents: get(paramAgents), Host: get(paramHost), Label: get(paramLabel), Tag: get(paramTag), ID: get(paramID), Text: get(paramSearch), Order: store.Order(get(paramOrder))}
	for _, v := range filterValues(f) {
		if len(v.Value) > longestFilter {
			return f, blame(v.Param, badRequest("The parameter %s is too long.", v.Param))
		}
	}
	switch {
	case f.Outcome != "" && !slices.Contains(outcomes, f.Outcome):
		return f, blame(paramOutcome, unknown("outcome", string(f.Outcome), outcomes))
	case f.Reason != "" && !slices.Contains(report.Reasons, f.Reason):
		return f, blame(paramReason, unknown("reason", string(f.Reason), report.Reasons))
	case f.CheckStatus != "" && f.CheckStatus != report.Fail && f.CheckStatus != report.Warn:
		return f, blame(paramStatus, unknown("status", string(f.CheckStatus), []report.Status{report.Fail, report.Warn}))
	case f.Order != store.InList && !slices.Contains(store.RowOrders, f.Order):
		return f, blame(paramOrder, unknown("order", string(f.Order), store.RowOrders))
	case f.Agents != "" && !slices.Contains(agentsVerdicts, f.Agents):
		return f, blame(paramAgents, unknown("verdict over agents.txt", f.Agents, agentsVerdicts))
	}
	var err error
	if f.ChangedSince, err = readDay(get(paramSince)); err != nil {
		return f, err
	}
	if f.Check == "" {
		f.CheckStatus = "" // it says how a check ended, and means nothing alone
	}
	return f, nil
}

// readDay reads the parameter since, a day in UTC; "" is the zero time.
func readDay(raw string) (time.Time, error) {
	if raw == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, raw)
	if err != nil {
		return day, blame(paramSince, badRequest("The parameter since is a day such as 2026-11-30, not %.40q.", raw))
	}
	return day, nil
}

func unknown[T ~string](what, got string, known []T) error {
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	return &HTTPError{Code: 400, Message: fmt.Sprintf("There is no %s %.60q.", what, got), Advice: "There are " + strings.Join(words, ", ") + "."}
}

// Chip is a filter that is set, with the view without it.
type Chip struct {
	Name, Value string
	Remove      string
}

// Option is a value that a filter can have, with the number of rows behind it.
type Option struct {
	Value    string
	Words    string
	Count    int64
	Selected bool
}

// ResultsPage is a filtered view of the results of a batch.
type ResultsPage struct {
	Frame
	Batch  *store.Batch
	Filter store.Filter
	Chips  []Chip

	Outcomes []Option
	Reasons  []Option
	Checks   []Option

	Rows []ResultLine
	// Total is how many rows the view has, negative where that is not counted.
	Total int64
	// Later says that it is not the first page; Next is the address of the
	// following one, "" on the last.
	Later bool
	Next  string
	// Searching says that the page ended before it was full: the filters seldom
	// meet, and others may follow.
	Searching bool
}

// ResultLine is one row.
type ResultLine struct {
	store.Row
	// Failing and Warning are the first checks, More how many others there are.
	Failing, Warning []string
	More             int
}

const (
	resultsPerPage = 50
	checksPerLine  = 3
	// searchTime is how long a page looks for rows before it shows those it has.
	searchTime = 40 * time.Millisecond
)

func resultsPage(ctx context.Context, r *Request, read Reader) (*ResultsPage, error) {
	if err := r.Only(append([]string{"after"}, filterParams...)...); err != nil {
		return nil, err
	}
	b, err := pathBatch(ctx, r, read)
	if err != nil {
		return nil, err
	}
	f, wrong := readFilter(r.Query, b.ID)
	p := &ResultsPage{Frame: Frame{Title: "Results of " + batchName(b), Section: "batches"}, Batch: b, Filter: f, Later: r.Query.Get("after") != ""}
	reasons, err := read.TopReasons(ctx, b.ID, 1000)
	if err != nil {
		return nil, err
	}
	checks, err := read.TopChecks(ctx, b.ID, 1000)
	if err != nil {
		return nil, err
	}
	p.options(reasons, checks)
	if wrong != nil {
		p.Total = -1
		return p, wrong
	}
	unordered := f
	unordered.Order = store.InList
	p.Total = total(b, unordered, reasons, checks)
	for _, v := range filterValues(f) {
		if v.Value == "" {
			continue
		}
		q := filterQuery(f)
		q.Del(v.Param)
		rest, err := readFilter(q, b.ID)
		if err != nil {
			return nil, err
		}
		p.Chips = append(p.Chips, Chip{paramWords[v.Param], v.Value, r.Links.Results(rest)})
	}
	if p.Total == 0 {
		return p, nil
	}
	page, err := search(ctx, read, f, r.Query.Get("after"), resultsPerPage)
	if err != nil {
		return nil, err
	}
	for _, row := range page.Rows {
		p.Rows = append(p.Rows, newResultLine(row))
	}
	if page.Next != "" {
		p.Next, p.Searching = r.Links.NextResults(f, page.Next), len(p.Rows) < resultsPerPage
	}
	return p, nil
}

// search reads a page of rows, some entries at a time. Where the filters seldom
// meet it does not let the reader wait, but gives what it found so far.
func search(ctx context.Context, read Reader, f store.Filter, cursor string, limit int) (*store.Page, error) {
	all := &store.Page{}
	for start := time.Now(); ; {
		page, err := read.Results(ctx, f, cursor, limit-len(all.Rows))
		if err != nil {
			return nil, err
		}
		all.Rows = append(all.Rows, page.Rows...)
		cursor, all.Next = page.Next, page.Next
		if cursor == "" || len(all.Rows) == limit || time.Since(start) > searchTime {
			return all, nil
		}
	}
}

var paramWords = map[string]string{
	paramOutcome: "Outcome", paramReason: "Reason", paramCheck: "Check", paramStatus: "Check status", paramAgents: "agents.txt", paramHost: "Host",
	paramLabel: "Label", paramTag: "Tag", paramID: "Id", paramSince: "Changed since", paramSearch: "Search", paramOrder: "Sorted by",
}

func newResultLine(row store.Row) ResultLine {
	l := ResultLine{Row: row}
	l.Failing = row.Failing[:min(len(row.Failing), checksPerLine)]
	for _, id := range row.Warning {
		switch {
		case id == "linked": // information only
		case len(l.Failing)+len(l.Warning) < checksPerLine:
			l.Warning = append(l.Warning, id)
		default:
			l.More++
		}
	}
	l.More += len(row.Failing) - len(l.Failing)
	return l
}

func (p *ResultsPage) options(reasons []store.ReasonCount, checks []store.CheckCount) {
	for _, o := range outcomes {
		if n := p.Batch.Outcomes[o].Entries; n > 0 || o != store.Cancelled || p.Filter.Outcome == o {
			p.Outcomes = append(p.Outcomes, Option{string(o), outcomeWords[o], n, p.Filter.Outcome == o})
		}
	}
	byReason := map[report.Reason]int64{}
	for _, c := range reasons {
		byReason[c.Reason] += c.Entries
	}
	for _, reason := range report.Reasons {
		if n := byReason[reason]; n > 0 || p.Filter.Reason == reason {
			p.Reasons = append(p.Reasons, Option{string(reason), reason.Words(), n, p.Filter.Reason == reason})
		}
	}
	byCheck := map[string]int64{}
	for _, c := range checks {
		byCheck[c.Check] += c.Entries
	}
	for _, c := range checks {
		if n, ok := byCheck[c.Check]; ok {
			p.Checks = append(p.Checks, Option{c.Check, report.CheckWords(c.Check), n, false})
			delete(byCheck, c.Check)
		}
	}
	slices.SortFunc(p.Checks, func(a, b Option) int { return strings.Compare(a.Value, b.Value) })
}

// total is the number of rows of a view where a counter holds it, else -1.
func total(b *store.Batch, f store.Filter, reasons []store.ReasonCount, checks []store.CheckCount) int64 {
	plain := store.Filter{Batch: f.Batch, Outcome: f.Outcome, Reason: f.Reason}
	switch {
	case f == plain && f.Reason == "" && f.Outcome == "":
		return b.Done()
	case f == plain && f.Reason == "":
		return b.Outcomes[f.Outcome].Entries
	case f == plain:
		var n int64
		for _, c := range reasons {
			if c.Reason == f.Reason && (f.Outcome == "" || c.Outcome == f.Outcome) {
				n += c.Entries
			}
		}
		return n
	}
	class := store.Filter{Batch: f.Batch, Check: report.CheckClass(f.Check), CheckStatus: f.CheckStatus}
	if f != class {
		return -1
	}
	var n int64
	states := 0
	for _, c := range checks {
		if c.Check == f.Check && (f.CheckStatus == "" || c.Status == f.CheckStatus) {
			n += c.Entries
			states++
		}
	}
	if states > 1 {
		return -1 // an entry can fail and warn in one class
	}
	return n
}

// CheckLink and TagLink are views of the whole batch by one check or tag.
func (p *ResultsPage) CheckLink(id string) string { return p.Links.Check(p.Batch.ID, id, "") }
func (p *ResultsPage) TagLink(tag string) string {
	return p.Links.Results(store.Filter{Batch: p.Batch.ID, Tag: tag})
}

// Fields are the filters that are set, as fields of a form.
func (p *ResultsPage) Fields() []param {
	return slices.DeleteFunc(filterValues(p.Filter), func(v param) bool { return v.Value == "" })
}

// ShareFields are what a form sends that shares the view.
func (p *ResultsPage) ShareFields() []param {
	return append(p.Fields(), param{"batch", string(p.Batch.ID)})
}

// MoreFilters says that one of the less common filters is set.
func (p *ResultsPage) MoreFilters() bool {
	f := p.Filter
	return f.Check != "" || f.Agents != "" || f.Host != "" || f.Label != "" || f.Tag != "" || f.ID != "" || !f.ChangedSince.IsZero() || p.At(paramSince) != nil
}

// Since is the day of the filter as a field takes it.
func (p *ResultsPage) Since() string { return filterQuery(p.Filter).Get(paramSince) }

// orderWords name the orders in the form.
var orderWords = map[store.Order]string{store.RowByHost: "host", store.RowByOutcome: "outcome, failed first", store.RowByReason: "reason",
	store.RowByTime: "last audited first", store.RowByLength: "longest audit first"}

// Orders are the orders that the form offers beside that of the list.
func (p *ResultsPage) Orders() []Option {
	var all []Option
	for _, o := range store.RowOrders {
		all = append(all, Option{Value: string(o), Words: orderWords[o], Selected: p.Filter.Order == o})
	}
	return all
}

// Took is how long the last attempt lasted, negative where there was none.
func (l ResultLine) Took() time.Duration {
	if l.FinishedAt.IsZero() {
		return -1
	}
	return l.FinishedAt.Sub(l.StartedAt)
}

// Agents are the verdicts that the form offers.
func (p *ResultsPage) Agents() []Option {
	all := make([]Option, len(agentsVerdicts))
	for i, v := range agentsVerdicts {
		all[i] = Option{Value: v, Selected: p.Filter.Agents == v}
	}
	return all
}
