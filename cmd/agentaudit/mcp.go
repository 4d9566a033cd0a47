package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/fetch"
	"agentaudit/store"
	"agentaudit/worker"
	"agentaudit/worker/mcp"
)

func mcpCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "mcp",
		Usage:     "serve audits to an agent as an MCP server on standard input and output",
		UsageText: "agentaudit mcp [--data-dir DIR]",
		Description: "For the configuration of an MCP host. Tools: discover_agentic_site, get_agentic_spec,\n" +
			"generate_agentic_profile, validate_agentic_profile, audit_agentic_url, audit_agents_txt, submit_batch,\n" +
			"batch_status, list_results, get_report. Submitted batches are audited in this process while it lives,\n" +
			"unless another one works on the data directory, or --redis or --store names a place where workers are;\n" +
			"what is left goes on with agentaudit serve. Logs go to standard error.\n\n" +
			"EXAMPLE\n   {\"mcpServers\": {\"agentaudit\": {\"command\": \"/usr/local/bin/agentaudit\", \"args\": [\"mcp\"]}}}",
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "concurrency", Usage: "audit `N` sites of batches at the same time", Value: 16},
		}, append(visitFlags(), auditFlags(audit.DiscoverMissing)...)...),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("mcp takes no arguments; the host that starts it talks to it on standard input")
			}
			p, err := newPipeline(c, s, worker.RetryRun)
			if err != nil {
				return err
			}
			client, err := p.client(fetch.Config{})
			if err != nil {
				return err
			}
			k := &keeper{pipeline: p}
			config := k.tools(client)
			if config.Batches, err = auditOptions(c, audit.DiscoverMissing); err != nil {
				return err
			}
			server, err := mcp.New(config, true)
			if err != nil {
				return undone(err)
			}
			ctx, cancel := context.WithCancel(c.Context)
			k.ctx = ctx
			err = mcp.Serve(ctx, server, io.NopCloser(s.In), unclosed{s.Out})
			cancel()
			k.work.Wait()
			if err != nil && c.Context.Err() == nil {
				return undone(err)
			}
			return nil
		},
	}
}

// unclosed keeps standard output open, which is the process's to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// keeper opens the store for calls of tools, and audits what they submit where
// nobody else does.
type keeper struct {
	pipeline
	ctx  context.Context // ends with the session
	work sync.WaitGroup

	mu      sync.Mutex
	working bool
}

// tools is the configuration of an MCP server over the store.
func (k *keeper) tools(client *fetch.Client) mcp.Config {
	working := "This process audits it while the session lasts, or another agentaudit that works on the same data directory; agentaudit serve goes on with what is left."
	if k.handsOver() {
		working = "The workers that share this queue and store audit it."
	}
	return mcp.Config{
		Client: client, Open: k.open, Working: working, Retry: k.retries, Agent: robotsAgent, Version: programVersion(), Log: k.cfg.log,
	}
}

// handsOver reports whether batches are for workers elsewhere.
func (k *keeper) handsOver() bool { return k.cfg.redis != "" || k.cfg.store != "" }

// open gives every call a store of its own: the data directory is not held
// while nobody needs it, so that agentaudit run can have it in between.
func (k *keeper) open(ctx context.Context, write bool) (mcp.Store, func(), error) {
	if write {
		st, _, err := openBeside(ctx, k.cfg)
		if err != nil {
			return nil, nil, err
		}
		return st, func() { k.closed(st); k.begin() }, nil
	}
	st, err := store.Open(ctx, k.cfg.place(), store.Options{Access: store.ReadOnly, Log: k.cfg.log})
	if err != nil {
		return nil, nil, err
	}
	return st, func() { k.closed(st) }, nil
}

func (k *keeper) closed(st *store.Store) {
	if err := st.Close(); err != nil {
		k.cfg.log.Error("the store could not be closed", "err", err)
	}
}

// begin has open batches audited, once at a time.
func (k *keeper) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.working || k.handsOver() || k.ctx.Err() != nil {
		return
	}
	k.working = true
	k.work.Go(func() {
		for again := true; again; {
			err := k.audit(k.ctx)
			if err != nil && k.ctx.Err() == nil {
				k.cfg.log.Error("batches cannot be audited", "err", err)
			}
			// A batch may have come after the last look.
			k.mu.Lock()
			again = err == nil && k.ctx.Err() == nil && k.hasWork()
			k.working = again
			k.mu.Unlock()
		}
	})
}

// hasWork reports whether a batch is open.
func (k *keeper) hasWork() bool {
	st, err := store.Open(k.ctx, k.cfg.place(), store.Options{Access: store.ReadOnly, Log: k.cfg.log})
	if err != nil {
		return false
	}
	defer k.closed(st)
	open, err := k.openBatches(k.ctx, st)
	return err == nil && open
}

func (k *keeper) openBatches(ctx context.Context, st *store.Store) (bool, error) {
	batches, err := st.OpenBatches(ctx, 100)
	for _, b := range batches {
		if b.State == store.StateQueued || b.State == store.StateRunning {
			return true, err
		}
	}
	return false, err
}

// lookEvery is how often the keeper looks whether its work is done, or whether
// the owner of the data directory has left.
const lookEvery = time.Second

// audit owns the data directory and audits all open batches, or waits until
// another process has done so.
func (k *keeper) audit(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		st, err := store.Open(ctx, k.cfg.place(), store.Options{Access: store.Own, Log: k.cfg.log})
		if err == nil {
			defer k.closed(st)
			return k.auditOwn(ctx, st, tick.C)
		}
		if _, locked := errors.AsType[*store.LockedError](err); !locked {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !k.hasWork() {
			return nil
		}
	}
}

func (k *keeper) auditOwn(ctx context.Context, st *store.Store, tick <-chan time.Time) error {
	q, err := openQueue(ctx, k.cfg)
	if err != nil {
		return err
	}
	defer q.Close()
	w, err := k.worker(st, q, true, nil)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	for {
		select {
		case err := <-ended:
			stop()
			return err
		case <-tick:
		case <-ctx.Done():
		}
		open, err := k.openBatches(ctx, st)
		if err != nil || !open {
			stop()
			if err = errors.Join(err, <-ended); err == nil && ctx.Err() == nil {
				k.cfg.log.Info("all submitted batches are audited")
			}
			return err
		}
	}
}

// webTools are the tools of the dashboard at /mcp; they lack the store, and the
// client, which comes with the manners ([services.mind]).
func webTools(cfg *config) *mcp.Config {
	return &mcp.Config{Working: "The workers on this store audit it.", Agent: robotsAgent, Version: programVersion(), Log: cfg.log}
}
