package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/worker"
)

func workerCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "worker",
		Usage:     "work alone, beside any number of others",
		UsageText: "agentaudit worker --redis URL [--concurrency N]",
		Description: "Audits what lists are handed over (agentaudit enqueue), together with all other workers on the same\n" +
			"Redis server and store. A store in a data directory serves processes of one machine only. SIGTERM or\n" +
			"Ctrl+C ends it in order: what is under way is finished or given back within 30 seconds.\n\n" +
			"EXAMPLE\n   agentaudit worker --redis redis://127.0.0.1:6379 --concurrency 128",
		Flags: append(append([]cli.Flag{
			&cli.IntFlag{Name: "concurrency", Usage: "audit `N` sites at the same time", Value: 64},
			&cli.DurationFlag{Name: "lease", Usage: "let others take over the audits of this worker when it shows no sign of life for `DURATION`", Value: time.Minute},
			keepFlag(),
			&cli.BoolFlag{Name: "schedules", Usage: "run the schedules and drop old reports, too, as serve does; any number of workers may", EnvVars: []string{"AGENTAUDIT_SCHEDULES"}},
		}, opsFlags()...), append(visitFlags(), messageFlags()...)...),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("worker takes no arguments; agentaudit enqueue LIST hands a list to it")
			}
			v := &services{s: s}
			var err error
			if v.pipeline, err = newPipeline(c, s, worker.RetryWorkers); err != nil {
				return err
			}
			if v.cfg.redis == "" {
				return usagef("worker needs --redis URL (or AGENTAUDIT_REDIS): workers share their queue; agentaudit serve works without")
			}
			if v.messages, err = readMessages(c); err != nil {
				return err
			}
			v.cfg.forService(c)
			v.idles = true
			if v.keep, err = parseKeep(c.String("keep-reports")); err != nil {
				return err
			}
			if c.IsSet("keep-reports") && !c.Bool("schedules") {
				v.cfg.log.Info("--keep-reports does nothing in a worker without --schedules")
			}
			if err := v.operations(c); err != nil {
				return err
			}
			if err := v.take(c.Context); err != nil {
				return err
			}
			defer v.giveUp()
			return v.workBeside(c.Context, c.Bool("schedules"))
		},
	}
}

// workBeside works on a store and a queue that others use, too, and fires the
// schedules if it is asked to.
func (v *services) workBeside(ctx context.Context, schedules bool) error {
	st, _, err := openBeside(ctx, v.cfg)
	if err != nil {
		return v.interrupted(ctx, err)
	}
	defer st.Close()
	q, err := openQueue(ctx, v.cfg)
	if err != nil {
		return v.interrupted(ctx, err)
	}
	defer q.Close()
	w, err := v.worker(st, q, false, v.metrics.observe)
	if err != nil {
		return err
	}
	parts, err := v.senderPart(st)
	if err != nil {
		return err
	}
	parts = append(parts, v.work(w))
	if schedules {
		scheduler, err := v.scheduler(st)
		if err != nil {
			return err
		}
		parts = append(parts, scheduler, v.housekeeper(st, v.keep))
	}
	return v.run(ctx, st, q, parts...)
}
