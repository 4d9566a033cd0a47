package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/dashboard"
	"agentaudit/fetch"
	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/worker"
	"agentaudit/worker/mcp"
	"agentaudit/worker/schedule"
)

func serveCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "work, run the schedules and show the dashboard, in one process, until stopped",
		UsageText: "agentaudit serve [--listen HOST:PORT] [--concurrency N] [--webhook URL]",
		Description: "Audits what lists are handed over (agentaudit enqueue) or due (agentaudit schedule), and shows\n" +
			"everything in the dashboard.\n" +
			"One data directory and nothing else is needed. SIGTERM or Ctrl+C ends it in order, a second one at\n" +
			"once; nothing is lost either way.\n\n" +
			"EXAMPLE\n   agentaudit serve --data-dir /var/lib/agentaudit --listen 127.0.0.1:8080\n" +
			"   agentaudit serve --webhook https://chat.example/hooks/audit --webhook-on regressed --webhook-threshold 5,2%",
		Flags: slices.Concat([]cli.Flag{
			&cli.IntFlag{Name: "concurrency", Usage: "audit `N` sites at the same time", Value: 64},
			keepFlag(),
		}, webFlags(), opsFlags(), visitFlags(), webhookFlags("AGENTAUDIT_WEBHOOK"), messageFlags()),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("serve takes no arguments; agentaudit enqueue LIST hands a list to it")
			}
			v := &services{s: s}
			var err error
			if v.pipeline, err = newPipeline(c, s, worker.RetryWorkers); err != nil {
				return err
			}
			if v.messages, err = readMessages(c); err != nil {
				return err
			}
			v.cfg.forService(c)
			v.idles = true
			if v.web, err = newWeb(c, v.cfg); err != nil {
				return err
			}
			if err := v.webhook(c); err != nil {
				return err
			}
			v.web.config.Messages = dashboard.Messages{Signs: v.hookSecret != nil, Default: v.hook}
			if v.keep, err = parseKeep(c.String("keep-reports")); err != nil {
				return err
			}
			v.web.config.Facts = append(v.web.config.Facts, dashboard.Fact{Name: keptFact, Value: keepWords(v.keep)})
			v.web.config.MCP = webTools(v.cfg)
			if err := v.operations(c); err != nil {
				return err
			}
			if err := v.take(c.Context); err != nil {
				return err
			}
			defer v.giveUp()
			return v.serve(c.Context)
		},
	}
}

func dashboardCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "dashboard",
		Usage:     "show the dashboard alone",
		UsageText: "agentaudit dashboard [--listen HOST:PORT]",
		Description: "Shows what is in the data directory, also while agentaudit run or serve works on it. It audits\n" +
			"nothing itself.\n\nEXAMPLE\n   agentaudit dashboard --listen 127.0.0.1:8081",
		Flags: append(append(webFlags(), opsFlags()...), contactFlag()),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("dashboard takes no arguments; --data-dir says what it shows")
			}
			v := &services{s: s}
			var err error
			if v.cfg, err = newConfig(c, s); err != nil {
				return err
			}
			v.cfg.forService(c)
			if v.web, err = newWeb(c, v.cfg); err != nil {
				return err
			}
			if _, err = newClient(c, s, fetch.Config{}); err != nil {
				return err
			}
			v.client = func(cfg fetch.Config) (*fetch.Client, error) { return newClient(c, s, cfg) }
			v.web.config.Facts = append(v.web.config.Facts, dashboard.Fact{Name: keptFact, Value: "as --keep-reports of the process that audits says"})
			v.web.config.MCP = webTools(v.cfg)
			if err := v.operations(c); err != nil {
				return err
			}
			if err := v.take(c.Context); err != nil {
				return err
			}
			defer v.giveUp()
			return v.show(c.Context)
		},
	}
}

// webhook reads where the ends of batches are told that name no place of their
// own.
func (v *services) webhook(c *cli.Context) (err error) {
	if v.hook, err = readWebhook(c, confirmLater); err != nil || v.hook == nil {
		return err
	}
	if v.hookSecret == nil {
		return usagef("--webhook needs a secret to sign its messages: set %s, or give --webhook-secret-file", hookSecretEnv)
	}
	if v.hook.Links == "" && v.web.config.PublicURL != "" {
		v.hook.Links, err = readLinks("--public-url", v.web.config.PublicURL)
	}
	return err
}

// services is a process that runs until it is told to stop. Parts that it has
// not are nil.
type services struct {
	s streams
	pipeline
	web *web
	ops *ops
	messages
	// keep says which reports are kept, where the process drops any.
	keep store.Retention
	// metrics are nil without ops; that is allowed.
	metrics *metrics
}

// take listens at all addresses.
func (v *services) take(ctx context.Context) error {
	if v.web != nil {
		if err := v.web.take(ctx); err != nil {
			return err
		}
	}
	if v.ops != nil {
		if err := v.ops.take(ctx); err != nil {
			v.giveUp()
			return err
		}
	}
	return nil
}

// giveUp closes the listeners; those of parts that ran are closed already.
func (v *services) giveUp() {
	if v.web != nil && v.web.listener != nil {
		_ = v.web.listener.Close()
	}
	if v.ops != nil && v.ops.listener != nil {
		_ = v.ops.listener.Close()
	}
}

// serve owns the data directory, works and shows.
func (v *services) serve(ctx context.Context) error {
	st, err := openStore(ctx, v.cfg, store.Own)
	if err != nil {
		return v.interrupted(ctx, err)
	}
	defer st.Close()
	q, err := openQueue(ctx, v.cfg)
	if err != nil {
		return v.interrupted(ctx, err)
	}
	defer q.Close()
	v.web.config.Queue = q
	// On a queue of many, other workers may hold runs of this store.
	w, err := v.worker(st, q, st.Sole() && q.IsEmbedded(), v.metrics.observe)
	if err != nil {
		return err
	}
	if err := v.mind(w.manners); err != nil {
		return err
	}
	parts, err := v.senderPart(st)
	if err != nil {
		return err
	}
	scheduler, err := v.scheduler(st)
	if err != nil {
		return err
	}
	return v.run(ctx, st, q, append(parts, v.work(w), scheduler, v.housekeeper(st, v.keep))...)
}

// work is a worker as a part, which the metrics look at.
func (v *services) work(w *mannered) part {
	if v.metrics != nil {
		v.metrics.worker = w.Worker
	}
	return part{"the worker", w.Run}
}

// scheduler fires the schedules of a store.
func (v *services) scheduler(st *store.Store) (part, error) {
	client, err := v.client(fetch.Config{Limits: pageLimits})
	if err != nil {
		return part{}, err
	}
	return part{"the scheduler", schedule.New(schedule.Config{Store: st, Client: client, Log: v.cfg.log, Now: st.Now, Fired: v.metrics.fired}).Run}, nil
}

// show shows what is in the data directory.
func (v *services) show(ctx context.Context) error {
	st, _, err := openBeside(ctx, v.cfg)
	if err != nil {
		return v.interrupted(ctx, err)
	}
	defer st.Close()
	manners := worker.NewManners(nil, worker.Limits{})
	if v.cfg.redis != "" {
		q, err := openQueue(ctx, v.cfg)
		if err != nil {
			return v.interrupted(ctx, err)
		}
		defer q.Close()
		places := q.NewPlaces(v.cfg.log)
		defer places.Close()
		manners = worker.NewManners(places, worker.Limits{})
		v.web.config.Queue = q
	}
	if err := v.mind(manners); err != nil {
		return err
	}
	return v.run(ctx, st, nil)
}

// mind lets the tools of the dashboard visit sites with the manners of the
// workers.
func (v *services) mind(m *worker.Manners) (err error) {
	tools := v.web.config.MCP
	if tools == nil {
		return nil // as in the demo
	}
	tools.Enter = m.Visit
	tools.Client, err = v.client(fetch.Config{Admit: m.Admit})
	return err
}

// run runs the given parts with the dashboard and the listener for operators,
// as far as there are these.
func (v *services) run(ctx context.Context, st *store.Store, q *queue.Conn, parts ...part) error {
	if v.web != nil {
		if tools := v.web.config.MCP; tools != nil {
			tools.Open = func(context.Context, bool) (mcp.Store, func(), error) { return st, func() {}, nil }
		}
		p, err := v.web.part(st)
		if err != nil {
			return err
		}
		parts = append(parts, p)
		v.web.announce(v.s, v.cfg)
	}
	if v.ops != nil {
		v.metrics.store, v.metrics.queue = st, q
		v.ops.checks = append(v.ops.checks, check{"the store", st.Ping})
		if q != nil {
			v.ops.checks = append(v.ops.checks, check{"the queue", q.Usable})
		}
		parts = append(parts, v.ops.part(ctx, v.metrics))
		v.cfg.log.Info("metrics are open", "metrics", urlOf(v.ops.listener, "/metrics"))
	}
	started := time.Now()
	v.cfg.log.Info("started", "version", programVersion(), "config", v.cfg)
	err := together(ctx, parts)
	v.cfg.log.Info("stopped", "after", time.Since(started).Round(time.Second).String(), "err", err)
	return err
}

// interrupted makes nothing of an error that only says that a service was told
// to stop before it had begun.
func (*services) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
