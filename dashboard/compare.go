package dashboard

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// ComparePage sets two batches against each other. Before and After are nil
// until both are chosen.
type ComparePage struct {
	Frame
	// Choices are batches that can be compared, the newest first.
	Choices       []store.Batch
	Before, After *store.Batch
	// Making says that the comparison is not made yet, as the lists are long.
	Making bool

	Lists []ChangeList
	// Both counts sites with a final result in both batches; Matrix has a row
	// for each outcome before.
	Both   int64
	Matrix []MatrixRow
	// Outcomes are the columns of Matrix.
	Outcomes []report.Outcome

	Show store.Change
	Rows []CompareLine
	// Later says that it is not the first page, Next is the position of the
	// following one, 0 on the last.
	Later bool
	Next  int
}

// ChangeList is one of the lists with its number of sites.
type ChangeList struct {
	Change store.Change
	Count  int64
	Shown  bool
}

// MatrixRow counts sites with one outcome before by their outcome after.
type MatrixRow struct {
	Outcome report.Outcome
	Cells   []MatrixCell
}

// MatrixCell is a number of sites. Tone is "better", "worse", "same" or "".
type MatrixCell struct {
	Count int64
	Tone  string
}

// CompareLine is one site in two batches; a side is nil where its batch lacks
// the site.
type CompareLine struct {
	store.Pair
	Target, Label string
	Before, After *store.RunResult
	Diff          store.Diff
}

const comparePerPage = 50

func comparePage(ctx context.Context, r *Request, read Reader) (*ComparePage, error) {
	if err := r.Only(compareParams...); err != nil {
		return nil, err
	}
	p := &ComparePage{Frame: Frame{Title: "Compare", Section: "compare"}}
	list, err := read.Batches(ctx, "", 60)
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		if !b.SealedAt.IsZero() && b.Runs > 0 {
			p.Choices = append(p.Choices, b)
		}
	}
	if err := p.choose(ctx, r, read); err != nil || p.Before == nil || p.After == nil {
		return p, err
	}
	c, ready, err := r.compared.soon(ctx, p.Before, p.After, r.compared.patience)
	if err != nil || !ready {
		p.Making = !ready
		return p, err
	}
	p.summarize(c)
	if err := p.page(ctx, r, read, c); err != nil {
		return nil, err
	}
	for i := range p.Lists {
		p.Lists[i].Shown = p.Lists[i].Change == p.Show
	}
	return p, nil
}

var compareParams = []string{"before", "after", "show", "from"}

// choose finds the two batches that are asked for.
func (p *ComparePage) choose(ctx context.Context, r *Request, read Reader) error {
	for _, x := range []struct {
		name string
		to   **store.Batch
	}{{"before", &p.Before}, {"after", &p.After}} {
		raw := r.Query.Get(x.name)
		if raw == "" {
			continue
		}
		id, err := store.ParseBatchID(raw)
		if err != nil {
			return badRequest("The parameter %s is no batch: %s", x.name, sentence(err.Error()))
		}
		if *x.to, err = read.Batch(ctx, id); err != nil {
			return err
		}
	}
	if p.Before != nil && p.After != nil && p.Before.ID == p.After.ID {
		return &HTTPError{Code: 400, Field: "after", Message: "Both sides are the same batch.", Advice: "Choose two different ones."}
	}
	return nil
}

// page reads the page of the list that is asked for, or of the first one that is
// not empty.
func (p *ComparePage) page(ctx context.Context, r *Request, read Reader, c *comparison) (err error) {
	from := 0
	if raw := r.Query.Get("from"); raw != "" {
		if from, err = strconv.Atoi(raw); err != nil || from < 0 {
			return blame("from", badRequest("The parameter from is no number: %.40q.", raw))
		}
	}
	if raw := r.Query.Get("show"); raw != "" {
		if p.Show, err = store.ParseChange(raw); err != nil {
			return &HTTPError{Code: 400, Field: "show", Message: sentence(err.Error())}
		}
	} else if i := slices.IndexFunc(store.Changes, func(x store.Change) bool { return c.counts[x] > 0 }); i >= 0 {
		p.Show = store.Changes[i]
	}
	p.Later = from > 0
	return p.rows(ctx, read, c.Comparison, from)
}

func (p *ComparePage) summarize(c *comparison) {
	for _, change := range store.Changes {
		n := c.counts[change]
		if n > 0 || change != store.Pending {
			p.Lists = append(p.Lists, ChangeList{Change: change, Count: n})
		}
	}
	matrix := c.Matrix()
	for _, o := range outcomes {
		if o == store.Cancelled && empty(matrix, o) {
			continue
		}
		p.Outcomes = append(p.Outcomes, o)
	}
	for i, was := range p.Outcomes {
		row := MatrixRow{Outcome: was}
		for j, is := range p.Outcomes {
			cell := MatrixCell{Count: matrix[was][is]}
			p.Both += cell.Count
			switch {
			case i == j:
				cell.Tone = "same"
			case !definite(was) || !definite(is):
			case i > j:
				cell.Tone = "better"
			default:
				cell.Tone = "worse"
			}
			row.Cells = append(row.Cells, cell)
		}
		p.Matrix = append(p.Matrix, row)
	}
}

func empty(m map[report.Outcome]map[report.Outcome]int64, o report.Outcome) bool {
	for was, row := range m {
		for is, n := range row {
			if (was == o || is == o) && n > 0 {
				return false
			}
		}
	}
	return true
}

// rows reads one page of the list that is shown.
func (p *ComparePage) rows(ctx context.Context, read Reader, c *store.Comparison, from int) error {
	if p.Show == "" {
		return nil
	}
	position := from
	var before, after []store.RunID
	for next, pair := range c.Pairs(p.Show, from) {
		if len(p.Rows) == comparePerPage {
			p.Next = position
			break
		}
		position = next
		p.Rows = append(p.Rows, CompareLine{Pair: pair})
		if pair.Before != "" {
			before = append(before, pair.Before)
		}
		if pair.After != "" {
			after = append(after, pair.After)
		}
	}
	was, err := read.RunResults(ctx, c.Before, before)
	if err != nil {
		return err
	}
	is, err := read.RunResults(ctx, c.After, after)
	if err != nil {
		return err
	}
	for i := range p.Rows {
		l := &p.Rows[i]
		if l.Pair.Before != "" {
			l.Before, was = &was[0], was[1:]
			l.Target, l.Label = l.Before.Target, l.Before.Label
		}
		if l.Pair.After != "" {
			l.After, is = &is[0], is[1:]
			l.Target, l.Label = l.After.Target, l.After.Label
		}
		if l.Before != nil && l.After != nil {
			l.Diff = store.DiffChecks(&l.Before.SiteResult, &l.After.SiteResult)
		}
	}
	return nil
}

// comparison is a [store.Comparison] with its counts.
type comparison struct {
	*store.Comparison
	counts map[store.Change]int64
	moves  map[report.Outcome]int64
}

// movesOf is by how much the number of sites of each outcome has changed, of
// those that have a result in both batches.
func movesOf(c *store.Comparison) map[report.Outcome]int64 {
	moves := map[report.Outcome]int64{}
	for was, row := range c.Matrix() {
		for is, n := range row {
			moves[was] -= n
			moves[is] += n
		}
	}
	return moves
}

// comparisons keeps the last few comparisons. Two large batches take seconds
// to compare, and do not change once they have ended.
type comparisons struct {
	ctx  context.Context
	read Reader
	work *sync.WaitGroup
	// turn lets one comparison be made at a time: they are work, not waiting.
	turn chan struct{}
	// patience is how long a page waits for one.
	patience time.Duration

	mu   sync.Mutex
	made []*madeComparison // the last one used stands first
}

// comparePatience leaves enough of 100 ms to show what was made.
const comparePatience = 60 * time.Millisecond

// mostCompared bounds what is kept: about ten bytes a run for each.
const mostCompared = 4

// compareState is what a comparison depends on: it is made anew when this changes.
type compareState struct {
	before, after           store.BatchID
	beforeDone, afterDone   int64
	beforeEnded, afterEnded time.Time
}

type madeComparison struct {
	of    compareState
	ready chan struct{}
	c     *comparison
	err   error
}

func newComparisons(ctx context.Context, read Reader, work *sync.WaitGroup) *comparisons {
	return &comparisons{ctx: ctx, read: read, work: work, turn: make(chan struct{}, 1), patience: comparePatience}
}

// start finds a comparison or begins one. It goes on when the page that asked
// is closed: the next one will ask for the same.
func (c *comparisons) start(before, after *store.Batch) *madeComparison {
	of := compareState{before.ID, after.ID, before.Done(), after.Done(), before.FinishedAt, after.FinishedAt}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range c.made {
		if m.of == of {
			copy(c.made[1:i+1], c.made[:i])
			c.made[0] = m
			return m
		}
	}
	m := &madeComparison{of: of, ready: make(chan struct{})}
	c.made = append([]*madeComparison{m}, c.made[:min(len(c.made), mostCompared-1)]...)
	c.work.Go(func() {
		defer close(m.ready)
		c.turn <- struct{}{}
		defer func() { <-c.turn }()
		made, err := c.read.Compare(c.ctx, before.ID, after.ID)
		if err != nil {
			m.err = err
			c.forget(m)
			return
		}
		m.c = &comparison{made, made.Counts(), movesOf(made)}
	})
	return m
}

func (c *comparisons) forget(m *madeComparison) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.made {
		if c.made[i] == m {
			c.made = append(c.made[:i:i], c.made[i+1:]...)
			return
		}
	}
}

// wait gives a comparison, whatever time it takes.
func (c *comparisons) wait(ctx context.Context, before, after *store.Batch) (*comparison, error) {
	m := c.start(before, after)
	select {
	case <-m.ready:
		return m.c, m.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// soon gives a comparison if it is there within a time; else it goes on being
// made.
func (c *comparisons) soon(ctx context.Context, before, after *store.Batch, within time.Duration) (_ *comparison, ready bool, err error) {
	m := c.start(before, after)
	enough := time.NewTimer(within)
	defer enough.Stop()
	select {
	case <-m.ready:
		return m.c, true, m.err
	case <-enough.C:
		return nil, false, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// IsBefore and IsAfter say which choices are made: to begin with, the newest
// two.
func (p *ComparePage) IsBefore(id store.BatchID) bool { return p.chosen(p.Before, 1, id) }
func (p *ComparePage) IsAfter(id store.BatchID) bool  { return p.chosen(p.After, 0, id) }

func (p *ComparePage) chosen(b *store.Batch, otherwise int, id store.BatchID) bool {
	if b != nil {
		return b.ID == id
	}
	return len(p.Choices) > otherwise && p.Choices[otherwise].ID == id
}

// OldBefore and OldAfter are chosen batches that are too old to be among the
// choices.
func (p *ComparePage) OldBefore() *store.Batch { return p.old(p.Before) }
func (p *ComparePage) OldAfter() *store.Batch  { return p.old(p.After) }

func (p *ComparePage) old(b *store.Batch) *store.Batch {
	if b == nil || slices.ContainsFunc(p.Choices, func(c store.Batch) bool { return c.ID == b.ID }) {
		return nil
	}
	return b
}
