package worker_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/queue"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
)

// fake is an auditor that asks for admission as the real one does and then
// answers as it is told. It watches that manners are kept.
type fake struct {
	manners *worker.Manners
	// addresses of a host; nil is an address of its own.
	addresses func(host string) []netip.Addr
	// answer may block until ctx ends; nil is successful.
	answer func(ctx context.Context, target string, attempt int) (audit.Judgement, error)

	mu      sync.Mutex
	audits  map[string]int // by target
	at      map[string]int // by host or address, now
	crowded map[string]int // the most seen
}

func (f *fake) Audit(ctx context.Context, t audit.Target, attempt int) (audit.Judgement, error) {
	target := t.ProfileURL.String()
	host := t.ProfileURL.Hostname()
	h := fnv.New32a()
	h.Write([]byte(host))
	addrs := []netip.Addr{netip.AddrFrom4([4]byte(h.Sum(nil)))}
	if f.addresses != nil {
		addrs = f.addresses(host)
	}
	if f.manners != nil {
		release, err := f.manners.Admit(ctx, host, addrs)
		if err != nil {
			return busyJudgement(), nil
		}
		defer release()
	}
	keys := []string{host}
	for _, a := range addrs {
		keys = append(keys, a.String())
	}
	f.count(keys, 1)
	defer f.count(keys, -1)
	f.mu.Lock()
	if f.audits == nil {
		f.audits = map[string]int{}
	}
	f.audits[target]++
	f.mu.Unlock()
	if f.answer == nil {
		return success(target), nil
	}
	return f.answer(ctx, target, attempt)
}

func (f *fake) count(keys []string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == nil {
		f.at, f.crowded = map[string]int{}, map[string]int{}
	}
	for _, k := range keys {
		f.at[k] += n
		f.crowded[k] = max(f.crowded[k], f.at[k])
	}
}

func (f *fake) audited(target string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.audits[target]
}

func busyJudgement() audit.Judgement {
	j := trouble("https://busy.example/")
	return j
}

func success(target string) audit.Judgement {
	return audit.Judgement{Result: storetest.Result(target, report.OutcomeSuccessful, report.ReasonComplete, time.Now()), Verdict: audit.Verdict{Definite: true}}
}

func trouble(target string) audit.Judgement {
	return audit.Judgement{Result: storetest.Result(target, report.OutcomeUnchecked, report.ReasonUnreachable, time.Now()), Verdict: audit.Verdict{Again: audit.Trouble}}
}

// quick has all the worker's delays shortened, so that tests need not wait.
func quick(s worker.Runs, q *queue.Conn, f *fake) worker.Config {
	if f.manners == nil {
		f.manners = worker.NewManners(nil, worker.Limits{})
	}
	return worker.Config{
		Store: s, Queue: q, Auditor: f, Manners: f.manners, Concurrency: 16,
		Retry:     worker.Retry{Delays: []time.Duration{time.Millisecond, 2 * time.Millisecond}},
		FeedEvery: 5 * time.Millisecond, CheckEvery: 2 * time.Millisecond, ReconcileEvery: 20 * time.Millisecond, ForgottenAfter: 20 * time.Millisecond,
		Grace: 5 * time.Second,
	}
}

// start runs a worker until stop is called or the test ends.
func start(t *testing.T, c worker.Config) (stop func()) {
	t.Helper()
	w, err := worker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// ended waits for the end of a batch and looks whether every entry has exactly
// one row.
func ended(t *testing.T, s *store.Store, id store.BatchID) *store.Batch {
	t.Helper()
	b := until(t, s, id, func(b *store.Batch) bool { return b.OpenRuns == 0 })
	next := int64(1)
	err := s.EachResult(t.Context(), store.Filter{Batch: id}, false, func(r store.Row) error {
		if r.Entry != next {
			return fmt.Errorf("row %d where %d belongs", r.Entry, next)
		}
		next++
		return nil
	})
	if err != nil || next != b.Entries+1 || b.Done() != b.Entries {
		t.Fatalf("%d entries, %d rows, %d counted: %v", b.Entries, next-1, b.Done(), err)
	}
	return b
}

func until(t *testing.T, s *store.Store, id store.BatchID, cond func(*store.Batch) bool) *store.Batch {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		b, err := s.Batch(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if cond(b) {
			return b
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not come: %+v", b)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func newStore(t *testing.T) *store.Store {
	return storetest.Open(t, t.TempDir(), store.Options{})
}

func embedded(t *testing.T) *queue.Conn {
	q := queue.Embedded()
	t.Cleanup(func() { q.Close() })
	return q
}

// onBoth runs a test with the embedded queue and with a real redis-server.
func onBoth(t *testing.T, f func(t *testing.T, q *queue.Conn)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		f(t, embedded(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		f(t, realRedis(t, queuetest.Redis(t)))
	})
}

func realRedis(t *testing.T, r *queuetest.Server) *queue.Conn {
	t.Helper()
	q, err := queue.Connect(t.Context(), queue.Options{URL: r.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

func TestEveryEntryGetsItsRow(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		targets := append(storetest.Targets(300), storetest.Targets(100)...)
		b := storetest.Batch(t, s, targets...)
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
		b := storetest.Batch(t, s, storetest.Targets(300)...)
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
	b := storetest.Batch(t, s, targets...)
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

func TestPanicBecomesAResult(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s, "https://bad.example/agentic.json", "https://good.example/agentic.json")
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
	if out := log.String(); !strings.Contains(out, "worker_test.go") || !strings.Contains(out, "bad.example") {
		t.Fatalf("the log lacks stack or target: %s", out)
	}
}

type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestManners(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		var targets []string
		for i := range 40 {
			targets = append(targets, fmt.Sprintf("https://one.example/%d/agentic.json", i))          // one host
			targets = append(targets, fmt.Sprintf("https://shop%d.platform.example/agentic.json", i)) // one address
			targets = append(targets, fmt.Sprintf("https://free%d.example/agentic.json", i))
		}
		b := storetest.Batch(t, s, targets...)
		f := &fake{
			addresses: func(host string) []netip.Addr {
				if strings.Contains(host, "platform") {
					return []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")}
				}
				return []netip.Addr{netip.MustParseAddr(fmt.Sprintf("198.51.%d.%d", len(host), host[4]))}
			},
			answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
				time.Sleep(2 * time.Millisecond)
				return success(target), nil
			},
		}
		c := quick(s, q, f)
		c.Concurrency, c.MaxParked = 32, 16 // too few places to park
		start(t, c)
		start(t, c2(c)) // another worker with the same manners
		b = ended(t, s, b.ID)
		if b.Outcomes[report.OutcomeSuccessful].Runs != 120 {
			t.Fatalf("%+v", b.Outcomes)
		}
		for key, n := range f.crowded {
			most := 8
			if strings.HasSuffix(key, ".example") {
				most = 1
			}
			if n > most {
				t.Errorf("%d audits at a time at %s", n, key)
			}
		}
		if f.crowded["203.0.113.7"] < 4 {
			t.Errorf("the platform saw at most %d audits at a time: the limit is not used", f.crowded["203.0.113.7"])
		}
		for _, target := range targets {
			if n := f.audited(target); n != 1 {
				t.Errorf("%s was audited %d times", target, n)
			}
		}
	})
}

func c2(c worker.Config) worker.Config { c.Name = ""; return c }

// A host that is slow, with many runs, must not keep others from their slots.
func TestBusyHostHoldsOneSlot(t *testing.T) {
	s := newStore(t)
	var targets []string
	for i := range 50 {
		targets = append(targets, fmt.Sprintf("https://slow.example/%d", i))
	}
	for i := range 50 {
		targets = append(targets, fmt.Sprintf("https://quick%d.example/", i))
	}
	b := storetest.Batch(t, s, targets...)
	goOn := make(chan struct{})
	f := &fake{answer: func(ctx context.Context, target string, _ int) (audit.Judgement, error) {
		if strings.Contains(target, "slow") {
			select {
			case <-goOn:
			case <-ctx.Done():
				return audit.Judgement{}, ctx.Err()
			}
		}
		return success(target), nil
	}}
	c := quick(s, embedded(t), f)
	c.Concurrency = 2
	start(t, c)
	until(t, s, b.ID, func(b *store.Batch) bool { return b.Done() == 50 })
	close(goOn)
	ended(t, s, b.ID)
	if f.crowded["slow.example"] != 1 {
		t.Fatalf("%d at a time", f.crowded["slow.example"])
	}
}

func TestFlushInTheMiddle(t *testing.T) {
	r := queuetest.Redis(t)
	q := realRedis(t, r)
	s := newStore(t)
	b := storetest.Batch(t, s, storetest.Targets(200)...)
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
	b := storetest.Batch(t, s, storetest.Targets(100)...)
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

func TestDoubledTasks(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		b := storetest.Batch(t, s, storetest.Targets(50)...)
		client := q.NewClient(0)
		for i := range 50 {
			for token := range int64(4) {
				run := fmt.Sprintf("%s-%d", b.ID, i+1)
				if _, err := client.Enqueue(t.Context(), queue.Task{Job: queue.Job{Run: run}, Class: queue.Small, Token: 100 + token}); err != nil {
					t.Fatal(err)
				}
			}
			// And tasks for what does not exist.
			if _, err := client.Enqueue(t.Context(), queue.Task{Job: queue.Job{Run: fmt.Sprint("nonsense", i)}, Class: queue.Bulk}); err != nil {
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

// blocking is an answer that tells when it began and waits until it may go on.
func blocking(begun chan<- string, goOn <-chan struct{}) func(context.Context, string, int) (audit.Judgement, error) {
	return func(ctx context.Context, target string, _ int) (audit.Judgement, error) {
		begun <- target
		select {
		case <-goOn:
			return success(target), nil
		case <-ctx.Done():
			return audit.Judgement{}, ctx.Err()
		}
	}
}

func TestShutdownFinishesWhatIsUnderWay(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		targets := storetest.Targets(20)
		targets = append(targets, "https://site1.example/second", "https://site1.example/third") // parked
		b := storetest.Batch(t, s, targets...)
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
		b := storetest.Batch(t, s, storetest.Targets(10)...)
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
func TestKill(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir, store.Options{})
	b := storetest.Batch(t, s, storetest.Targets(100)...)
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
	s = storetest.Open(t, dir, store.Options{})
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

func TestDeadWorkersRunIsTakenOver(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s, storetest.Targets(5)...)
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
	*store.Store
	clock    *storetest.Clock
	renewals chan struct{}
}

func (r *renewing) RenewLeases(ctx context.Context, claims []*store.Claim, lease time.Duration) (int64, error) {
	if len(claims) > 0 {
		r.clock.Add(lease / 2)
		r.renewals <- struct{}{}
	}
	return r.Store.RenewLeases(ctx, claims, lease)
}

func TestLeasesAreRenewed(t *testing.T) {
	s, clock := storetest.New(t)
	b := storetest.Batch(t, s, storetest.Targets(1)...)
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

func TestPauseResumeCancel(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		ctx := t.Context()
		b := storetest.Batch(t, s, storetest.Targets(60)...)
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
	s := storetest.Open(t, t.TempDir(), store.Options{SmallBatch: 5})
	big := storetest.Batch(t, s, storetest.Targets(400)...)
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		time.Sleep(time.Millisecond)
		return success(target), nil
	}}
	c := quick(s, embedded(t), f)
	c.Concurrency, c.Depth = 2, 500
	start(t, c)
	until(t, s, big.ID, func(b *store.Batch) bool { return b.Done() > 5 })
	small := storetest.Batch(t, s, "https://urgent.example/agentic.json")
	ended(t, s, small.ID)
	if b, err := s.Batch(t.Context(), big.ID); err != nil || b.OpenRuns == 0 {
		t.Fatalf("the big batch ended first: %v", err)
	}
}

// failing is a store whose writes of results fail.
type failing struct {
	*store.Store
	err  error
	left atomic.Int64
}

func (f *failing) FinishRun(ctx context.Context, c *store.Claim, r *report.Result) error {
	if f.left.Add(-1) >= 0 {
		return f.err
	}
	return f.Store.FinishRun(ctx, c, r)
}

func TestStoreAwayForAWhile(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s, storetest.Targets(5)...)
	bad := &failing{Store: s, err: errors.New("connection refused")}
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
	storetest.Batch(t, s, storetest.Targets(5)...)
	bad := &failing{Store: s, err: fmt.Errorf("write: %w", store.ErrFull)}
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
	b := storetest.Batch(t, s, "https://stuck.example/agentic.json", "https://fine.example/")
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
	b := storetest.Batch(t, s, storetest.Targets(1)...)
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

func TestConfig(t *testing.T) {
	if _, err := worker.New(worker.Config{}); err == nil {
		t.Fatal("a worker without a store was made")
	}
}
