package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

func TestShutdownFinishesWhatIsUnderWay(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		targets := storetest.Targets(20)
		targets = append(targets, "https://site1.example/second", "https://site1.example/third") // parked
		b := storetest.Batch(t, s.Store, targets...)
		begun, goOn := make(chan string, 100), make(chan struct{})
		f := &fake{answer: blocking(begun, goOn)}
		c := quick(s, q, f)
		c.Concurrency = 4
		stop := start(t, c)
		for range 4 {
			<-begun
		}
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		close(goOn)
		<-stopped
		b, err := s.Batch(t.Context(), b.ID)
		if err != nil || b.Done() < 4 || b.Done() > 8 {
			t.Fatalf("%d done after the stop, %v", b.Done(), err)
		}
		load, err := s.Load(t.Context())
		if err != nil || load.Running != 0 {
			t.Fatalf("%d runs are still claimed, %v", load.Running, err)
		}
		c = c2(c)
		c.SoleOwner = true
		start(t, c)
		ended(t, s, b.ID)
		for _, target := range targets {
			if n := f.audited(target); n != 1 {
				t.Fatalf("%s was audited %d times", target, n)
			}
		}
	})
}

func TestShutdownGivesBackAfterGrace(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		b := storetest.Batch(t, s.Store, storetest.Targets(10)...)
		begun := make(chan string, 100)
		f := &fake{answer: blocking(begun, nil)}
		c := quick(s, q, f)
		c.Concurrency, c.Grace = 4, 10*time.Millisecond
		stop := start(t, c)
		for range 4 {
			<-begun
		}
		stop()
		load, err := s.Load(t.Context())
		if err != nil || load.Running != 0 {
			t.Fatalf("%d runs are still claimed, %v", load.Running, err)
		}
		f = &fake{}
		c = quick(s, q, f)
		c.SoleOwner = true
		start(t, c)
		ended(t, s, b.ID)
		rows, err := s.Results(t.Context(), store.Filter{Batch: b.ID}, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows.Rows {
			if r.Attempts != 1 {
				t.Errorf("%s: an attempt that was given back was counted: %d", r.Target, r.Attempts)
			}
		}
	})
}

// A process that dies writes nothing more: here its store is closed under it.
func TestKill(t *testing.T) { onStores(t, testKill) }

func testKill(t *testing.T, dir string) {
	s := watch(storetest.Open(t, dir, store.Options{}))
	b := storetest.Batch(t, s.Store, storetest.Targets(100)...)
	begun, goOn := make(chan string, 200), make(chan struct{})
	var n atomic.Int64
	block := blocking(begun, goOn)
	f := &fake{answer: func(ctx context.Context, target string, attempt int) (audit.Judgement, error) {
		if n.Add(1) <= 30 {
			return success(target), nil
		}
		return block(ctx, target, attempt)
	}}
	c := quick(s, embedded(t), f)
	c.Grace = time.Millisecond
	start(t, c)
	for range 16 {
		<-begun
	}
	s.Close()
	s = watch(storetest.Open(t, dir, store.Options{}))
	before, err := s.Batch(t.Context(), b.ID)
	if err != nil || before.Done() != 30 {
		t.Fatalf("%d done before the kill, want 30, %v", before.Done(), err)
	}
	again := &fake{}
	c = quick(s, embedded(t), again)
	c.SoleOwner = true
	start(t, c)
	ended(t, s, b.ID)
	close(goOn) // the dead come late and can write nothing
	total := 0
	for _, target := range storetest.Targets(100) {
		total += again.audited(target)
	}
	if total != 70 {
		t.Fatalf("%d audits in the second life, want 70", total)
	}
}

func TestDeadWorkersRunIsTakenOver(t *testing.T) { onStores(t, testDeadWorkersRun) }

func testDeadWorkersRun(t *testing.T, place string) {
	s := watch(storetest.Open(t, place, store.Options{}))
	b := storetest.Batch(t, s.Store, storetest.Targets(5)...)
	due, err := s.TakeDue(t.Context(), store.ClassSmall, 2)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := s.ClaimRun(t.Context(), due[0].Run, "dead", 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{}
	start(t, quick(s, embedded(t), f))
	ended(t, s, b.ID)
	if err := s.FinishRun(t.Context(), dead, success(dead.Target).Result); !errors.Is(err, store.ErrStale) {
		t.Fatalf("the dead worker wrote: %v", err)
	}
	if n := f.audited(dead.Target); n != 1 {
		t.Fatalf("audited %d times", n)
	}
}

// renewing moves the clock by half a lease with every renewal, so that two
// leases go by while a run is under way, however slow the machine is.
type renewing struct {
	*watched
	clock    *storetest.Clock
	renewals chan struct{}
}

func (r *renewing) RenewLeases(ctx context.Context, claims []*store.Claim, lease time.Duration) (int64, error) {
	if len(claims) > 0 {
		r.clock.Add(lease / 2)
		r.renewals <- struct{}{}
	}
	return r.watched.RenewLeases(ctx, claims, lease)
}

func TestLeasesAreRenewed(t *testing.T) {
	opened, clock := storetest.New(t)
	s := watch(opened)
	b := storetest.Batch(t, s.Store, storetest.Targets(1)...)
	r := &renewing{s, clock, make(chan struct{}, 1000)}
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		for range 5 {
			<-r.renewals
		}
		if n, err := s.ExpireLeases(context.Background()); n != 0 || err != nil {
			t.Errorf("%d leases ended under a living worker, %v", n, err)
		}
		return success(target), nil
	}}
	c := quick(r, embedded(t), f)
	c.Now, c.Lease = clock.Now, 30*time.Millisecond
	start(t, c)
	ended(t, s, b.ID)
	if n := f.audited(storetest.Targets(1)[0]); n != 1 {
		t.Fatalf("audited %d times: the lease ended under a living worker", n)
	}
}

// away is a store that takes nothing back.
type away struct {
	*watched
	claimed chan struct{}
	tries   atomic.Int64
}

func (a *away) ClaimRun(ctx context.Context, id store.RunID, worker string, lease time.Duration) (*store.Claim, error) {
	c, err := a.watched.ClaimRun(ctx, id, worker, lease)
	if err == nil {
		a.claimed <- struct{}{}
	}
	return c, err
}

func (a *away) ReleaseRun(context.Context, *store.Claim, time.Time) error {
	a.tries.Add(1)
	return store.ErrUnavailable
}

// A worker that is told to stop while its store is away gives up when its
// grace is over, and does not wait for the store once for each run that it
// holds.
func TestStopWhileTheStoreIsAway(t *testing.T) {
	s := newStore(t)
	var targets []string
	for i := range 30 {
		targets = append(targets, fmt.Sprintf("https://busy.example/%d", i))
	}
	storetest.Batch(t, s.Store, targets...)
	a := &away{watched: s, claimed: make(chan struct{}, 100)}
	f := &fake{answer: blocking(make(chan string, 100), nil)}
	c := quick(a, embedded(t), f)
	c.Grace = 10 * time.Millisecond
	stop := start(t, c)
	for range targets { // one is audited, the others wait for their host
		<-a.claimed
	}
	stop()
	if n := a.tries.Load(); n == 0 || n > 20 {
		t.Errorf("the store was asked %d times for %d runs", n, len(targets))
	}
}
