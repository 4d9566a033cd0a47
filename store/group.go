package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxGroup bounds the small writes of one shared transaction: enough that its
// own cost vanishes, few enough that none waits long for its commit.
const maxGroup = 200

var errClosed = errors.New("the store is closed")

// grouper runs the small writes of many goroutines in shared transactions. A
// write returns when its transaction is committed.
type grouper struct {
	s     *Store
	ops   chan *groupOp
	stop  chan struct{}
	once  sync.Once
	done  sync.WaitGroup
	stmts map[string]*sql.Stmt
	// held counts claims given and not yet ended: how many writes may come at
	// any moment. With few, to wait for company would only cost time.
	held atomic.Int64
}

// fewHeld is the number of open claims below which writes do not wait.
const fewHeld = 8

// groupOp is one small write. It may run twice: when another write of its
// group breaks the transaction, each is run again in one of its own.
type groupOp struct {
	run  func(g *groupTx) error
	err  error
	done chan struct{}
}

func newGrouper(ctx context.Context, s *Store) (*grouper, error) {
	g := &grouper{s: s, ops: make(chan *groupOp), stop: make(chan struct{}), stmts: map[string]*sql.Stmt{}}
	for _, q := range hot {
		if !s.d.prepared {
			break
		}
		st, err := s.write.PrepareContext(ctx, q)
		if err != nil {
			g.close()
			return nil, err
		}
		g.stmts[q] = st
	}
	g.done.Go(g.loop)
	return g, nil
}

func (g *grouper) close() {
	g.once.Do(func() { close(g.stop) })
	g.done.Wait()
	for _, st := range g.stmts {
		st.Close()
	}
}

// do runs f in a shared transaction. Once f is accepted ctx is not looked at:
// the caller must learn what became of it, and that takes milliseconds.
func (g *grouper) do(ctx context.Context, f func(g *groupTx) error) error {
	op := &groupOp{run: f, done: make(chan struct{})}
	select {
	case <-g.stop:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	select {
	case g.ops <- op:
	case <-g.stop:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	<-op.done
	return op.err
}

func (g *grouper) loop() {
	var last time.Time
	for {
		var group []*groupOp
		select {
		case op := <-g.ops:
			group = append(group, op)
		case <-g.stop:
			return
		}
		wait := time.Until(last.Add(g.s.o.GroupEvery))
		if g.held.Load() < fewHeld {
			wait = 0
		}
		group = g.gather(group, wait)
		last = time.Now()
		g.commit(group)
	}
}

// gather adds what comes within wait, or is there already.
func (g *grouper) gather(group []*groupOp, wait time.Duration) []*groupOp {
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		for len(group) < maxGroup {
			select {
			case op := <-g.ops:
				group = append(group, op)
				continue
			case <-timer.C:
			case <-g.stop:
			}
			break
		}
	}
	for len(group) < maxGroup {
		select {
		case op := <-g.ops:
			group = append(group, op)
			continue
		default:
		}
		break
	}
	return group
}

func (g *grouper) commit(group []*groupOp) {
	err := g.try(group)
	if err != nil && len(group) > 1 {
		for _, op := range group {
			if err := g.try([]*groupOp{op}); err != nil {
				op.err = err
			}
		}
	} else if err != nil {
		group[0].err = err
	}
	for _, op := range group {
		close(op.done)
	}
}

// try runs the writes in one transaction. An answer to a single write, such
// as ErrStale, is left in its err; any other error undoes them all.
func (g *grouper) try(group []*groupOp) error {
	// The writes end in milliseconds or with the busy timeout.
	ctx := context.Background()
	return g.s.inTx(ctx, func(tx *sql.Tx) error {
		t := &groupTx{s: g.s, ctx: ctx, tx: tx, now: g.s.now(), stmts: g.stmts,
			counts: map[countKey]Count{}, ended: map[int64]int64{}, started: map[int64]bool{}}
		for _, op := range group {
			op.err = op.run(t)
			if op.err != nil && !errors.Is(op.err, ErrStale) && !errors.Is(op.err, ErrNotFound) {
				return op.err
			}
		}
		return t.flush()
	})
}

// groupTx is a transaction with the counters it changes, which are written
// once at its end.
type groupTx struct {
	s       *Store
	ctx     context.Context
	tx      *sql.Tx
	now     int64
	stmts   map[string]*sql.Stmt // nil: nothing is kept prepared
	counts  map[countKey]Count
	ended   map[int64]int64 // runs that got their final row, by batch
	started map[int64]bool
}

type countKey struct {
	batch           int64
	kind, name, sub string
}

// The kinds of counters and words.
const (
	kindOutcome = "outcome"
	kindReason  = "reason"
	kindCheck   = "check"
	kindHost    = "host"
	kindLabel   = "label"
	kindRef     = "ref"
	kindTag     = "tag"
	// allSites is the batch number under which the present state of all sites
	// is counted.
	allSites = 0
)

func (s *Store) newGroupTx(ctx context.Context, tx *sql.Tx) *groupTx {
	return &groupTx{s: s, ctx: ctx, tx: tx, now: s.now(),
		counts: map[countKey]Count{}, ended: map[int64]int64{}, started: map[int64]bool{}}
}

// stmt is the statement prepared for all transactions of the grouper, nil
// where there is none.
func (t *groupTx) stmt(query string) *sql.Stmt {
	if st := t.stmts[query]; st != nil {
		return t.tx.StmtContext(t.ctx, st)
	}
	return nil
}

func (t *groupTx) exec(query string, args ...any) (int64, error) {
	var res sql.Result
	var err error
	if st := t.stmt(query); st != nil {
		res, err = st.ExecContext(t.ctx, args...)
	} else {
		res, err = t.tx.ExecContext(t.ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *groupTx) query(query string, args ...any) (*sql.Rows, error) {
	if st := t.stmt(query); st != nil {
		return st.QueryContext(t.ctx, args...)
	}
	return t.tx.QueryContext(t.ctx, query, args...)
}

func (t *groupTx) queryRow(query string, args []any, dest ...any) error {
	if st := t.stmt(query); st != nil {
		return st.QueryRowContext(t.ctx, args...).Scan(dest...)
	}
	return t.tx.QueryRowContext(t.ctx, query, args...).Scan(dest...)
}

func (t *groupTx) count(batch int64, kind, name, sub string, entries, runs int64) {
	k := countKey{batch, kind, name, sub}
	c := t.counts[k]
	t.counts[k] = Count{c.Entries + entries, c.Runs + runs}
}

const (
	sqlCount = `INSERT INTO counts (batch, kind, name, sub, entries, runs) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (batch, kind, name, sub) DO UPDATE SET entries = counts.entries + excluded.entries, runs = counts.runs + excluded.runs`
	sqlEnded  = `UPDATE batches SET open_runs = open_runs - $1 WHERE id = $2`
	sqlFinish = `UPDATE batches SET state = 'finished', finished_at = $1, note = ''
		WHERE id = $2 AND open_runs = 0 AND state IN ('queued', 'running', 'paused')`
)

// flush writes the counters, and finishes batches whose last run has ended.
func (t *groupTx) flush() error {
	// In one order, so that two transactions cannot wait for each other.
	for _, k := range slices.SortedFunc(maps.Keys(t.counts), compareCounts) {
		c := t.counts[k]
		if c == (Count{}) {
			continue
		}
		if _, err := t.exec(sqlCount, k.batch, k.kind, k.name, k.sub, c.Entries, c.Runs); err != nil {
			return err
		}
	}
	for _, batch := range slices.Sorted(maps.Keys(t.ended)) {
		if _, err := t.exec(sqlEnded, t.ended[batch], batch); err != nil {
			return err
		}
		if _, err := t.exec(sqlFinish, t.now, batch); err != nil {
			return err
		}
	}
	return nil
}

func compareCounts(a, b countKey) int {
	return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name), cmp.Compare(a.sub, b.sub))
}
