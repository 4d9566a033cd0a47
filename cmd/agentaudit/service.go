package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// grace is how long a process waits for what is under way when it is told to
// stop (pipeline specification, promise 7).
const grace = 30 * time.Second

// part is one of the things that a service does at the same time.
type part struct {
	name string
	// run works until ctx ends, then finishes what is under way and returns nil.
	run func(ctx context.Context) error
}

// together runs the parts of a service until ctx ends or one of them does. It
// returns nil where that was the wish, and the trouble otherwise, when all
// parts have stopped.
func together(ctx context.Context, parts []part) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var trouble error
	var wg sync.WaitGroup
	for _, p := range parts {
		wg.Go(func() {
			err := p.run(ctx)
			if err == nil && ctx.Err() == nil {
				err = errors.New("it ended without being told to")
			}
			stop() // the others, too
			if err == nil || errors.Is(err, context.Canceled) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if trouble == nil {
				trouble = undone(fmt.Errorf("%s cannot go on: %w", p.name, err))
			}
		})
	}
	wg.Wait()
	return trouble
}
