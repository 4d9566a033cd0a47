// Command agentaudit audits websites in bulk for the files by which they
// present themselves to AI agents. "agentaudit --help" is the manual;
// "agentaudit demo" shows it at work without a network.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // schedules have time zones, and not every machine knows them
)

func main() {
	ctx, stop := interruptible(context.Background())
	code := run(ctx, os.Args, streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// interruptible returns a context that ends with the first SIGINT or SIGTERM.
// The second one ends the process at once: whoever presses Ctrl+C twice does
// not want to wait, and nothing is lost either way.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
			return
		}
		// One stop often arrives as two signals, one for the process and one
		// for its group; only a later one is a second wish.
		settle := time.After(300 * time.Millisecond)
		for settled := false; ; {
			select {
			case <-settle:
				settled = true
				settle = nil
			case <-signals:
				if settled {
					os.Exit(exitInterrupted)
				}
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}
