package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/queue"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// reconciled counts the rounds of reconcile and the runs that were taken for
// forgotten.
type reconciled struct {
	*watched
	rounds, forgotten atomic.Int64
}

func (r *reconciled) ExpireLeases(ctx context.Context) (int64, error) {
	r.rounds.Add(1)
	return r.watched.ExpireLeases(ctx)
}

func (r *reconciled) Forgotten(ctx context.Context, class store.Class, before time.Time, n int) ([]store.Due, error) {
	due, err := r.watched.Forgotten(ctx, class, before, n)
	r.forgotten.Add(int64(len(due)))
	return due, err
}

// What handlers have in hand while they wait for a slot is not taken for
// forgotten: it would be handed over a second time, and all that waits with it.
func TestGroupsInHandAreNotForgotten(t *testing.T) {
	s := &reconciled{watched: newStore(t)}
	q := realRedis(t, queuetest.Redis(t))
	const sites, done = 4000, 2500
	storetest.Batch(t, s.Store, storetest.Targets(sites)...)
	begun, goOn := make(chan string, sites), make(chan struct{})
	f := &fake{answer: blocking(begun, goOn)}
	start(t, quick(s, q, f))
	for range done { // beyond those that were handed over one to a job
		goOn <- struct{}{}
	}
	enqueued := func() int64 {
		l, err := s.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l.Enqueued[store.ClassBulk]
	}
	holds := func() int64 {
		stats, err := q.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return stats[queue.Bulk].Pending
	}
	before := s.rounds.Load()
	waitFor(t, "handlers have groups in hand, all else being done", func() bool { return s.rounds.Load() > before+5 && enqueued() > holds() })
	s.forgotten.Store(0)
	pending, before := holds(), s.rounds.Load()
	waitFor(t, "there are ten more rounds", func() bool { return s.rounds.Load() > before+10 })
	if n := s.forgotten.Load(); n > 0 || holds() > pending {
		t.Errorf("%d runs were taken for forgotten; %d wait in the queue, %d before", n, holds(), pending)
	}
	close(goOn)
}
