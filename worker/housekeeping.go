package worker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"agentaudit/store"
)

// Housekeeping drops documents whose time is over, every few hours. Any number
// of processes may do it at the same time; one is enough.
type Housekeeping struct {
	// Store is a *store.Store.
	Store interface {
		DropReports(ctx context.Context, keep store.Retention) (int64, error)
	}
	Keep store.Retention
	// Every is the time between two rounds, about; 0 is six hours. The first
	// comes after a twentieth of that, so that a start is not slowed down.
	Every time.Duration
	// Log hears of every round that dropped something, and of trouble.
	Log *slog.Logger
}

// Run keeps house until ctx ends, and returns nil.
func (h Housekeeping) Run(ctx context.Context) error {
	if h.Every <= 0 {
		h.Every = 6 * time.Hour
	}
	for wait := h.Every / 20; pause(ctx, wait); wait = h.Every - rand.N(h.Every/10+1) {
		begin := time.Now()
		n, err := h.Store.DropReports(ctx, h.Keep)
		switch {
		case err != nil && ctx.Err() == nil:
			h.Log.WarnContext(ctx, "old reports not dropped; it is tried again", "dropped", n, "err", err)
		case n > 0:
			h.Log.InfoContext(ctx, "old reports dropped", "dropped", n, "dur", time.Since(begin))
		}
	}
	return nil
}
