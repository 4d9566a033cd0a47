package worker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"agentaudit/store"
)

// Housekeeping drops documents whose time is over, every few hours, and looks
// after lists that nobody reads any more. Any number of processes may do it at
// the same time; one is enough.
type Housekeeping struct {
	// Store is a *store.Store.
	Store interface {
		DropReports(ctx context.Context, keep store.Retention) (int64, error)
		TendIntakes(ctx context.Context) (silent, cancelled []store.BatchID, err error)
	}
	Keep store.Retention
	// Every is the time between two rounds, about; 0 is six hours. The first
	// comes after a twentieth of that, so that a start is not slowed down.
	Every time.Duration
	// Log hears of every round that dropped something, and of trouble.
	Log *slog.Logger
}

// tendEvery is the time between two looks at lists that nobody may be reading.
const tendEvery = time.Minute

// Run keeps house until ctx ends, and returns nil.
func (h Housekeeping) Run(ctx context.Context) error {
	if h.Every <= 0 {
		h.Every = 6 * time.Hour
	}
	var g errgroup.Group
	g.Go(func() error {
		for wait := h.Every / 20; pause(ctx, wait); wait = h.Every - rand.N(h.Every/10+1) {
			h.drop(ctx)
		}
		return nil
	})
	g.Go(func() error {
		for pause(ctx, tendEvery-rand.N(tendEvery/10)) {
			h.tend(ctx)
		}
		return nil
	})
	return g.Wait()
}

func (h Housekeeping) drop(ctx context.Context) {
	begin := time.Now()
	n, err := h.Store.DropReports(ctx, h.Keep)
	switch {
	case err != nil && ctx.Err() == nil:
		h.Log.WarnContext(ctx, "old reports not dropped; it is tried again", "dropped", n, "err", err)
	case n > 0:
		h.Log.InfoContext(ctx, "old reports dropped", "dropped", n, "dur", time.Since(begin))
	}
}

func (h Housekeeping) tend(ctx context.Context) {
	silent, cancelled, err := h.Store.TendIntakes(ctx)
	for _, id := range silent {
		h.Log.WarnContext(ctx, "nobody reads the list of a batch any more: whoever did was stopped before its end", "batch", id)
	}
	for _, id := range cancelled {
		h.Log.WarnContext(ctx, "batch cancelled: its list was not read to its end, and nobody went on for a day", "batch", id)
	}
	if err != nil && ctx.Err() == nil {
		h.Log.WarnContext(ctx, "lists that nobody reads not looked for; it is tried again", "err", err)
	}
}
