package store

import (
	"context"
	"time"
)

// regular is something that is done again and again beside all else.
type regular struct {
	stop context.CancelFunc
	done chan struct{}
}

// regularly calls f once in a while, the first time after as long, until close.
func regularly(every time.Duration, f func(ctx context.Context)) *regular {
	ctx, stop := context.WithCancel(context.Background())
	r := &regular{stop, make(chan struct{})}
	go func() {
		defer close(r.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			f(ctx)
		}
	}()
	return r
}

// close ends the call under way, by its context, and waits for it.
func (r *regular) close() {
	r.stop()
	<-r.done
}
