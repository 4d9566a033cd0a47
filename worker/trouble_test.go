package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
)

func TestPanicBecomesAResult(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s.Store, "https://bad.example/agentic.json", "https://good.example/agentic.json")
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		if strings.Contains(target, "bad") {
			panic("as a fault in a parser would")
		}
		return success(target), nil
	}}
	c := quick(s, embedded(t), f)
	log := &logBuffer{}
	c.Log = slog.New(slog.NewTextHandler(log, nil))
	start(t, c)
	b = ended(t, s, b.ID)
	if b.Outcomes[report.OutcomeUnchecked].Runs != 1 || b.Outcomes[report.OutcomeSuccessful].Runs != 1 {
		t.Fatalf("%+v", b.Outcomes)
	}
	reasons, err := s.TopReasons(t.Context(), b.ID, 1)
	if err != nil || len(reasons) == 0 {
		t.Fatal(err)
	}
	rows, err := s.Results(t.Context(), store.Filter{Batch: b.ID, Reason: report.ReasonInternal}, "", 10)
	if err != nil || len(rows.Rows) != 1 || rows.Rows[0].Target != "https://bad.example/agentic.json" {
		t.Fatalf("%+v, %v", rows, err)
	}
	if out := log.String(); !strings.Contains(out, "trouble_test.go") || !strings.Contains(out, "bad.example") {
		t.Fatalf("the log lacks stack or target: %s", out)
	}
}

func TestFlushInTheMiddle(t *testing.T) {
	r := queuetest.Redis(t)
	q := realRedis(t, r)
	s := newStore(t)
	b := storetest.Batch(t, s.Store, storetest.Targets(200)...)
	var n atomic.Int64
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		if n.Add(1)%50 == 0 {
			r.FlushAll(t)
		}
		return success(target), nil
	}}
	c := quick(s, q, f)
	c.Concurrency = 4
	start(t, c)
	ended(t, s, b.ID)
	for _, target := range storetest.Targets(200) {
		if n := f.audited(target); n != 1 {
			t.Fatalf("%s was audited %d times", target, n)
		}
	}
}

func TestRedisRestarts(t *testing.T) {
	r := queuetest.Redis(t)
	q := realRedis(t, r)
	s := newStore(t)
	b := storetest.Batch(t, s.Store, storetest.Targets(100)...)
	var n atomic.Int64
	half := make(chan struct{})
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		if n.Add(1) == 50 {
			close(half)
		}
		return success(target), nil
	}}
	c := quick(s, q, f)
	c.Concurrency, c.Depth = 4, 60
	start(t, c)
	<-half
	r.Kill()
	r.Start(t)
	ended(t, s, b.ID)
}

// failing is a store whose writes of results fail.
type failing struct {
	*watched
	err  error
	left atomic.Int64
}

func (f *failing) FinishRun(ctx context.Context, c *store.Claim, r *report.Result) error {
	if f.left.Add(-1) >= 0 {
		return f.err
	}
	return f.watched.FinishRun(ctx, c, r)
}

func TestStoreAwayForAWhile(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s.Store, storetest.Targets(5)...)
	bad := &failing{watched: s, err: errors.New("connection refused")}
	bad.left.Store(6)
	f := &fake{}
	start(t, quick(bad, embedded(t), f))
	ended(t, s, b.ID)
	for _, target := range storetest.Targets(5) {
		if n := f.audited(target); n != 1 {
			t.Fatalf("%s was audited %d times: its result was dropped", target, n)
		}
	}
}

func TestFullDiskEndsTheWorker(t *testing.T) {
	s := newStore(t)
	storetest.Batch(t, s.Store, storetest.Targets(5)...)
	bad := &failing{watched: s, err: fmt.Errorf("write: %w", store.ErrFull)}
	bad.left.Store(1 << 30)
	w, err := worker.New(quick(bad, embedded(t), &fake{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); !errors.Is(err, store.ErrFull) {
		t.Fatalf("the worker ended with %v", err)
	}
}

func TestStubbornAuditorIsLeftBehind(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s.Store, "https://stuck.example/agentic.json", "https://fine.example/")
	forever := make(chan struct{})
	defer close(forever)
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		if strings.Contains(target, "stuck") {
			<-forever
		}
		return success(target), nil
	}}
	c := quick(s, embedded(t), f)
	c.Concurrency, c.RunTimeout, c.Stubborn = 1, 10*time.Millisecond, 20*time.Millisecond
	start(t, c)
	b = ended(t, s, b.ID)
	if b.Outcomes[report.OutcomeUnchecked].Runs != 1 || b.Outcomes[report.OutcomeSuccessful].Runs != 1 {
		t.Fatalf("%+v", b.Outcomes)
	}
}

func TestRunThatTakesWorkersDownIsGivenUp(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s.Store, storetest.Targets(1)...)
	run := store.RunID(b.ID) + "-1"
	for range 3 {
		if _, err := s.ClaimRun(t.Context(), run, "dead", time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ResetRunning(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f := &fake{}
	c := quick(s, embedded(t), f)
	c.MaxLost = 3
	start(t, c)
	b = ended(t, s, b.ID)
	if b.Outcomes[report.OutcomeUnchecked].Runs != 1 || f.audited(storetest.Targets(1)[0]) != 0 {
		t.Fatalf("%+v", b.Outcomes)
	}
}

// The clock of the machines jumps by hours, forth and back, in the middle of a
// list: claims of the living count as lost, and others are good for hours.
func TestClockJumps(t *testing.T) {
	onStores(t, func(t *testing.T, place string) {
		clock := storetest.NewClock()
		var n atomic.Int64
		f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
			switch n.Add(1) {
			case 40:
				clock.Add(time.Hour)
			case 90:
				clock.Add(-2 * time.Hour)
			case 140:
				clock.Add(3 * time.Hour)
			}
			return success(target), nil
		}}
		first := watch(storetest.Open(t, place, store.Options{Now: clock.Now}))
		second := watch(storetest.Open(t, place, store.Options{Now: clock.Now, Access: store.Shared}))
		second.written = first.written
		b := storetest.Batch(t, first.Store, storetest.Targets(200)...)
		for _, s := range []*watched{first, second} {
			c := quick(s, embedded(t), f)
			c.Now = clock.Now
			start(t, c)
		}
		if b = ended(t, first, b.ID); b.Outcomes[report.OutcomeSuccessful] != (store.Count{Entries: 200, Runs: 200}) {
			t.Fatalf("%+v", b)
		}
	})
}
