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

// reconciled counts the looks of reconcile at runs that nobody claimed for some
// time, and the runs that were taken for forgotten.
type reconciled struct {
	*watched
	looks, forgotten atomic.Int64
}

func (r *reconciled) Unclaimed(ctx context.Context, class store.Class, before time.Time) ([]store.Due, error) {
	due, err := r.watched.Unclaimed(ctx, class, before)
	if len(due) > 0 {
		r.looks.Add(1)
	}
	return due, err
}

func (r *reconciled) HandOverAgain(ctx context.Context, runs []store.Due, before time.Time) ([]store.Due, error) {
	again, err := r.watched.HandOverAgain(ctx, runs, before)
	r.forgotten.Add(int64(len(again)))
	return again, err
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
	c := quick(s, q, f)
	c.ForgottenAfter = 3 * time.Second // longer than it takes to hand a chunk over
	start(t, c)
	load := func() store.Load {
		l, err := s.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	enqueued := func() int64 { return load().Enqueued[store.ClassBulk] }
	// A feeder that is overtaken by the audits would make no groups.
	waitFor(t, "all runs are handed over", func() bool { l := load(); return l.Enqueued[store.ClassBulk]+l.Running == sites })
	for range done { // beyond those that were handed over one to a job
		goOn <- struct{}{}
	}
	holds := func() int64 {
		stats, err := q.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return stats[queue.Bulk].Pending
	}
	waitFor(t, "handlers have groups in hand, all else being done", func() bool { return enqueued() > holds() })
	before := s.looks.Load()
	waitFor(t, "there are ten looks at them", func() bool { return s.looks.Load() > before+10 })
	if n := s.forgotten.Load(); n > 0 {
		t.Errorf("%d runs were taken for forgotten", n)
	}
	close(goOn)
}
