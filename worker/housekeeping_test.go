package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/store"
	"agentaudit/worker"
)

// rounds counts rounds; the second fails.
type rounds struct {
	mu   sync.Mutex
	n    int
	keep store.Retention
	// tended counts looks for lists that nobody reads.
	tended int
}

func (r *rounds) seen() (int, store.Retention) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n, r.keep
}

func (r *rounds) DropReports(_ context.Context, keep store.Retention) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	r.keep = keep
	if r.n == 2 {
		return 3, errors.New("no room")
	}
	return 7, nil
}

// TendIntakes finds something in its second round only.
func (r *rounds) TendIntakes(context.Context) (silent, cancelled []store.BatchID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tended++
	if r.tended == 2 {
		return []store.BatchID{"silent-one"}, []store.BatchID{"gone-one"}, errors.New("no answer")
	}
	return nil, nil, nil
}

func TestHousekeeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		r := &rounds{}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		keep := store.Retention{Age: time.Hour, Last: 3}
		go func() {
			ended <- worker.Housekeeping{Store: r, Keep: keep, Log: slog.New(slog.NewTextHandler(&log, nil))}.Run(ctx)
		}()
		time.Sleep(time.Minute)
		if n, _ := r.seen(); n != 0 {
			t.Error("it begins at the start")
		}
		time.Sleep(24 * time.Hour)
		if n, kept := r.seen(); n < 4 || n > 5 || kept != keep {
			t.Errorf("%d rounds in a day, with %+v", n, kept)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		out := log.String()
		for _, want := range []string{"dropped=7", "no room", "batch=silent-one", "batch=gone-one", "no answer"} {
			if strings.Count(out, want) < 1 {
				t.Errorf("the log does not say %q: %s", want, out)
			}
		}
		if r.tended < 24*60 {
			t.Errorf("lists looked after %d times in a day", r.tended)
		}
	})
}
