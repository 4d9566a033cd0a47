package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// twoWorkers starts two workers with stores of their own in one database. goOn
// is called with the number of each audit.
func twoWorkers(t *testing.T, url string, o store.Options, goOn func(n int64)) (*watched, *logBuffer) {
	log := &logBuffer{}
	var n atomic.Int64
	var first *watched
	for range 2 {
		s := watch(storetest.Open(t, url, o))
		if first == nil {
			first = s
			storetest.Batch(t, s.Store, storetest.Targets(200)...)
		} else {
			s.written = first.written
		}
		f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
			goOn(n.Add(1))
			return success(target), nil
		}}
		c := quick(s, embedded(t), f)
		c.Concurrency, c.Log = 8, slog.New(slog.NewTextHandler(log, nil))
		// What was claimed and not known to be must not be waited for too long.
		c.Lease = 2 * time.Second
		start(t, c)
	}
	return first, log
}

func latest(t *testing.T, s *watched) store.BatchID {
	t.Helper()
	b, err := s.Batches(t.Context(), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	return b[0].ID
}

// The server dies as a machine does and comes back, twice in a batch. Each
// entry gets its one result all the same.
func TestPostgresRestarts(t *testing.T) {
	server := storetest.PostgresServer(t)
	var mu sync.Mutex
	s, log := twoWorkers(t, server.Database(t), store.Options{}, func(n int64) {
		if n == 40 || n == 120 {
			mu.Lock()
			defer mu.Unlock()
			server.Kill()
			server.Start(t)
		}
	})
	id := latest(t, s)
	b := ended(t, s, id)
	if b.State != store.StateFinished || b.Outcomes[report.OutcomeSuccessful] != (store.Count{Entries: 200, Runs: 200}) {
		t.Fatalf("%+v", b)
	}
	if out := log.String(); !strings.Contains(out, store.ErrUnavailable.Error()) {
		t.Errorf("the log does not say what happened:\n%s", out)
	}
}

// seeing tells when the database has been away for a write.
type seeing struct {
	*watched
	away chan struct{}
	once *sync.Once
}

func (s *seeing) FinishRun(ctx context.Context, c *store.Claim, r *report.Result) error {
	err := s.watched.FinishRun(ctx, c, r)
	if errors.Is(err, store.ErrUnavailable) {
		s.once.Do(func() { close(s.away) })
	}
	return err
}

// The server answers nothing any more, with all connections open, until the
// worker has given it up.
func TestPostgresFreezes(t *testing.T) {
	server := storetest.PostgresServer(t)
	s := watch(storetest.Open(t, server.Database(t), store.Options{Patience: 2 * time.Second}))
	b := storetest.Batch(t, s.Store, storetest.Targets(100)...)
	away := &seeing{s, make(chan struct{}), new(sync.Once)}
	var n atomic.Int64
	frozen := make(chan struct{})
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		if n.Add(1) == 30 {
			server.Freeze(t)
			close(frozen)
		}
		return success(target), nil
	}}
	start(t, quick(away, embedded(t), f))
	<-frozen
	<-away.away
	server.Thaw(t)
	ended(t, s, b.ID)
}
