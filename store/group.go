package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
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

// groupOp is one small write to a run. It may run again: when its group
// collides with another transaction, or another write breaks it and each is run
// in a transaction of its own.
//
// It has two steps, so that the statements of all writes of a group can be sent
// together: what first asks for is there when then runs. Both are given answers
// like ErrStale as their error.
type groupOp struct {
	batch, n int64
	first    func(t *groupTx) error // nil for none
	then     func(t *groupTx) error
	// answer is called when all is sent, for what only then is known; nil for
	// nothing.
	answer func() error
	err    error
	done   chan struct{}
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

// do runs a write in a shared transaction. Once it is accepted ctx is not looked
// at: the caller must learn what became of it, and that takes milliseconds.
func (g *grouper) do(ctx context.Context, op *groupOp) error {
	op.done = make(chan struct{})
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
		wait := time.Until(last.Add(g.every()))
		group = g.gather(group, wait)
		last = time.Now()
		g.commit(group)
	}
}

// every is how long after the last transaction the next one begins: the more
// claims are open the longer, for the more writes come meanwhile, and the less it
// matters to each that it waits.
func (g *grouper) every() time.Duration {
	held := g.held.Load()
	if held < fewHeld {
		return 0
	}
	return min(g.s.o.GroupEvery*time.Duration(held)/64, g.s.o.GroupEvery)
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
	// In one order, so that two transactions cannot wait for each other's runs.
	slices.SortStableFunc(group, func(a, b *groupOp) int {
		return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.n, b.n))
	})
	err := g.try(group)
	switch {
	case err != nil && (len(group) == 1 || errors.Is(err, ErrUnavailable)):
		for _, op := range group {
			op.err = err
		}
	case err != nil:
		for _, op := range group {
			if err := g.try([]*groupOp{op}); err != nil {
				op.err = err
			}
		}
	}
	for _, op := range group {
		close(op.done)
	}
}

// try runs the writes in one transaction. An answer to a single write, such
// as ErrStale, is left in its err; any other error undoes them all.
func (g *grouper) try(group []*groupOp) error {
	// The writes end in milliseconds, or when patience with the database does.
	ctx := context.Background()
	return g.s.inConnTx(ctx, g.s.write, func(tx *sql.Tx, conn *sql.Conn) error {
		t := g.s.newGroupTx(ctx, tx)
		t.conn, t.stmts = conn, g.stmts
		batches := make([]int64, len(group))
		for i, op := range group {
			batches[i] = op.batch
			op.err = nil
		}
		if err := g.s.d.lockBatches(ctx, tx, batches...); err != nil {
			return err
		}
		for _, step := range []func(op *groupOp) error{
			func(op *groupOp) error {
				if op.first == nil {
					return nil
				}
				return op.first(t)
			},
			func(op *groupOp) error { return op.then(t) },
			func(op *groupOp) error {
				if op.answer == nil {
					return nil
				}
				return op.answer()
			},
		} {
			for _, op := range group {
				if op.err != nil {
					continue
				}
				op.err = step(op)
				if op.err != nil && !errors.Is(op.err, ErrStale) && !errors.Is(op.err, ErrNotFound) {
					return op.err
				}
			}
			if err := t.sync(); err != nil {
				return err
			}
		}
		return t.flush()
	})
}
