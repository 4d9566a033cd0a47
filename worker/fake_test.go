package worker_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"strings"
	"sync"
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

func (f *fake) Audit(ctx context.Context, at audit.Attempt) (audit.Judgement, error) {
	target := at.Target.ProfileURL.String()
	host := at.Target.ProfileURL.Hostname()
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
	return f.answer(ctx, target, at.Number)
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
func ended(t *testing.T, s *watched, id store.BatchID) *store.Batch {
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

func until(t *testing.T, s *watched, id store.BatchID, cond func(*store.Batch) bool) *store.Batch {
	t.Helper()
	patience := time.After(time.Minute) // a wrong test ends with a message
	for {
		b, err := s.Batch(t.Context(), id)
		switch {
		case errors.Is(err, store.ErrUnavailable): // its server restarts
		case err != nil:
			t.Fatal(err)
		case cond(b):
			return b
		}
		select {
		case <-s.written:
		case <-patience:
			t.Fatalf("it does not come: %+v", b)
		}
	}
}

// watched is a store that tells when a result was written, so that tests wait
// for that and need not look again and again.
type watched struct {
	*store.Store
	written chan struct{}
}

func watch(s *store.Store) *watched { return &watched{s, make(chan struct{}, 1)} }

func (w *watched) FinishRun(ctx context.Context, c *store.Claim, r *report.Result) error {
	err := w.Store.FinishRun(ctx, c, r)
	select {
	case w.written <- struct{}{}:
	default: // somebody will look anyway
	}
	return err
}

func (w *watched) PauseBatch(ctx context.Context, id store.BatchID, note string) error {
	err := w.Store.PauseBatch(ctx, id, note)
	select {
	case w.written <- struct{}{}:
	default:
	}
	return err
}

func newStore(t *testing.T) *watched {
	return watch(storetest.Open(t, t.TempDir(), store.Options{}))
}

// onStores runs a test with SQLite in a directory and with a PostgreSQL server.
func onStores(t *testing.T, f func(t *testing.T, place string)) {
	t.Run("SQLite", func(t *testing.T) { f(t, t.TempDir()) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, storetest.Postgres(t)) })
}

func TestMain(m *testing.M) {
	if beSizeWorker() {
		return
	}
	code := m.Run()
	storetest.StopPostgres()
	os.Exit(code)
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

func c2(c worker.Config) worker.Config { c.Name = ""; return c }

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
