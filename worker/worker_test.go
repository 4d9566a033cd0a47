package worker_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
)

func TestEveryEntryGetsItsRow(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		targets := append(storetest.Targets(300), storetest.Targets(100)...)
		b := storetest.Batch(t, s.Store, targets...)
		f := &fake{}
		var started, finished atomic.Int64
		c := quick(s, q, f)
		c.Observe = func(e worker.Event) {
			switch e.Kind {
			case worker.Started:
				started.Add(1)
			case worker.Finished:
				finished.Add(1)
			}
		}
		stop := start(t, c)
		b = ended(t, s, b.ID)
		stop()
		if b.State != store.StateFinished || b.Outcomes[report.OutcomeSuccessful] != (store.Count{Entries: 400, Runs: 300}) {
			t.Fatalf("%+v", b)
		}
		for _, target := range targets {
			if n := f.audited(target); n != 1 {
				t.Fatalf("%s was audited %d times", target, n)
			}
		}
		if started.Load() != 300 || finished.Load() != 300 {
			t.Fatalf("%d started, %d finished", started.Load(), finished.Load())
		}
	})
}

func TestTwoWorkersShareTheWork(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		b := storetest.Batch(t, s.Store, storetest.Targets(300)...)
		f := &fake{manners: worker.NewManners(nil, worker.Limits{})}
		start(t, quick(s, q, f))
		start(t, quick(s, q, f))
		ended(t, s, b.ID)
		for _, target := range storetest.Targets(300) {
			if n := f.audited(target); n != 1 {
				t.Fatalf("%s was audited %d times", target, n)
			}
		}
	})
}

func TestAttempts(t *testing.T) {
	s := newStore(t)
	targets := []string{"https://late.example/agentic.json", "https://never.example/agentic.json", "https://gone.example/agentic.json", "https://flaky.example/agentic.json", "https://walled.example/agentic.json"}
	b := storetest.Batch(t, s.Store, targets...)
	result := func(target string, o report.Outcome, r report.Reason, again audit.Again) (audit.Judgement, error) {
		return audit.Judgement{Result: storetest.Result(target, o, r, time.Now()), Verdict: audit.Verdict{Again: again, Definite: o != report.OutcomeUnchecked}}, nil
	}
	f := &fake{answer: func(_ context.Context, target string, attempt int) (audit.Judgement, error) {
		switch {
		case strings.Contains(target, "late") && attempt == 3:
			return success(target), nil
		case strings.Contains(target, "gone"):
			return result(target, report.OutcomeFailed, report.ReasonNoSuchHost, audit.Confirm)
		case strings.Contains(target, "flaky") && attempt == 1:
			return result(target, report.OutcomePartial, report.ReasonIncomplete, audit.Trouble)
		case strings.Contains(target, "walled"):
			return result(target, report.OutcomeUnchecked, report.ReasonBlocked, audit.Final)
		}
		return trouble(target), nil
	}}
	start(t, quick(s, embedded(t), f))
	ended(t, s, b.ID)
	for target, want := range map[string]struct {
		o        report.Outcome
		attempts int
	}{
		targets[0]: {report.OutcomeSuccessful, 3}, targets[1]: {report.OutcomeUnchecked, 3}, targets[2]: {report.OutcomeFailed, 2},
		targets[3]: {report.OutcomePartial, 3}, targets[4]: {report.OutcomeUnchecked, 1},
	} {
		run, err := s.FindRun(t.Context(), b.ID, target, "")
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.Results(t.Context(), store.Filter{Batch: b.ID, Run: run}, "", 10)
		if err != nil || len(page.Rows) != 1 || page.Rows[0].Outcome != want.o || page.Rows[0].Attempts != want.attempts {
			t.Errorf("%s: %+v, %v; want %+v", target, page, err, want)
		}
		if n := f.audited(target); n != want.attempts {
			t.Errorf("%s was audited %d times, want %d", target, n, want.attempts)
		}
	}
}

func TestDoubledTasks(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		b := storetest.Batch(t, s.Store, storetest.Targets(50)...)
		client := q.NewClient(0)
		for i := range 50 {
			for token := range int64(4) {
				run := fmt.Sprintf("%s-%d", b.ID, i+1)
				if _, err := client.Enqueue(t.Context(), queue.Task{Run: run, Class: queue.Small, Token: 100 + token}); err != nil {
					t.Fatal(err)
				}
			}
			// And tasks for what does not exist.
			if _, err := client.Enqueue(t.Context(), queue.Task{Run: fmt.Sprint("nonsense", i), Class: queue.Bulk}); err != nil {
				t.Fatal(err)
			}
		}
		f := &fake{}
		start(t, quick(s, q, f))
		ended(t, s, b.ID)
		for _, target := range storetest.Targets(50) {
			if n := f.audited(target); n != 1 {
				t.Fatalf("%s was audited %d times", target, n)
			}
		}
	})
}

// A job of many runs has each of them audited once, with fewer slots than that
// too, and whatever has become of some of them.
func TestGroupedTasks(t *testing.T) {
	for _, concurrency := range []int{1, 3, 16} {
		s := newStore(t)
		q := embedded(t)
		const n = 10 * queue.GroupSize
		b := storetest.Batch(t, s.Store, storetest.Targets(n)...)
		var tasks []queue.Task
		for i := range n {
			tasks = append(tasks, queue.Task{Run: fmt.Sprintf("%s-%d", b.ID, i+1), Class: queue.Bulk, Token: 100})
			if i%queue.GroupSize == 1 { // what does not exist
				tasks = append(tasks, queue.Task{Run: fmt.Sprint("nonsense", i), Class: queue.Bulk})
			}
		}
		if _, err := q.NewClient(0).EnqueueGroups(t.Context(), tasks); err != nil {
			t.Fatal(err)
		}
		f := &fake{}
		c := quick(s, q, f)
		c.Concurrency = concurrency
		start(t, c)
		ended(t, s, b.ID)
		for _, target := range storetest.Targets(n) {
			if n := f.audited(target); n != 1 {
				t.Fatalf("%s was audited %d times", target, n)
			}
		}
	}
}

func TestPauseResumeCancel(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		ctx := t.Context()
		b := storetest.Batch(t, s.Store, storetest.Targets(60)...)
		begun, goOn := make(chan string, 100), make(chan struct{})
		f := &fake{answer: blocking(begun, goOn)}
		c := quick(s, q, f)
		c.Concurrency = 3
		start(t, c)
		for range 3 {
			<-begun
		}
		if err := s.PauseBatch(ctx, b.ID, "by hand"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			goOn <- struct{}{}
		}
		paused := until(t, s, b.ID, func(b *store.Batch) bool { return b.Done() == 3 })
		if paused.State != store.StatePaused {
			t.Fatalf("%+v", paused)
		}
		if err := s.ResumeBatch(ctx, b.ID); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			<-begun
		}
		if err := s.CancelBatch(ctx, b.ID, "enough"); err != nil {
			t.Fatal(err)
		}
		close(goOn)
		b = ended(t, s, b.ID)
		if b.State != store.StateCancelled || b.Outcomes[report.OutcomeSuccessful].Runs != 6 || b.Outcomes[store.Cancelled].Runs != 54 {
			t.Fatalf("%+v", b)
		}
	})
}

func TestSmallBatchOvertakes(t *testing.T) {
	s := watch(storetest.Open(t, t.TempDir(), store.Options{SmallBatch: 5}))
	big := storetest.Batch(t, s.Store, storetest.Targets(400)...)
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		time.Sleep(time.Millisecond)
		return success(target), nil
	}}
	c := quick(s, embedded(t), f)
	c.Concurrency, c.Depth = 2, 500
	start(t, c)
	until(t, s, big.ID, func(b *store.Batch) bool { return b.Done() > 5 })
	small := storetest.Batch(t, s.Store, "https://urgent.example/agentic.json")
	ended(t, s, small.ID)
	if b, err := s.Batch(t.Context(), big.ID); err != nil || b.OpenRuns == 0 {
		t.Fatalf("the big batch ended first: %v", err)
	}
}

func TestConfig(t *testing.T) {
	if _, err := worker.New(worker.Config{}); err == nil {
		t.Fatal("a worker without a store was made")
	}
}
