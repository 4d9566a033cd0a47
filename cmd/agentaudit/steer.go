package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/worker"
)

func cancelCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "end a batch: what is not audited yet will not be",
		UsageText: "agentaudit cancel BATCH",
		Description: "Audits that are under way are finished; results that are there stay. Works while a run goes on\n" +
			"in another terminal.\n\nEXAMPLE\n   agentaudit cancel latest",
		Action: func(c *cli.Context) error {
			return steer(c, s, func(cfg *config, st *store.Store, b *store.Batch) error {
				if err := st.CancelBatch(c.Context, b.ID, "cancelled from the command line"); err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "batch %s is cancelled: %d of %s are done\n", b.ID, b.Done(), plural(b.Entries, "entry", "entries"))
				return nil
			})
		},
	}
}

func pauseCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "pause",
		Usage:     "let a batch rest",
		UsageText: "agentaudit pause BATCH [--note TEXT]",
		Description: "Audits that are under way are finished, no others begin until agentaudit resume. Works while others\n" +
			"work on the batch, and leaves other batches alone.\n\nEXAMPLE\n   agentaudit pause latest --note \"until Monday\"",
		Flags: []cli.Flag{&cli.StringFlag{Name: "note", Usage: "say why in `TEXT`, for those who look at the batch", Value: "paused from the command line"}},
		Action: func(c *cli.Context) error {
			return steer(c, s, func(cfg *config, st *store.Store, b *store.Batch) error {
				if err := st.PauseBatch(c.Context, b.ID, c.String("note")); err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "batch %s is paused: %d of %s are done; %s goes on\n", b.ID, b.Done(), plural(b.Entries, "entry", "entries"), cfg.hint("resume", string(b.ID)))
				return nil
			})
		},
	}
}

func resumeCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "go on with a paused batch",
		UsageText: "agentaudit resume BATCH",
		Description: "Running workers (agentaudit serve, worker or run) take it up again within a second. To go on with a\n" +
			"batch that nobody works on, use agentaudit run --resume.\n\nEXAMPLE\n   agentaudit resume latest",
		Action: func(c *cli.Context) error {
			return steer(c, s, func(cfg *config, st *store.Store, b *store.Batch) error {
				if err := st.ResumeBatch(c.Context, b.ID); err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "batch %s goes on: %d of %s are done\n", b.ID, b.Done(), plural(b.Entries, "entry", "entries"))
				return nil
			})
		},
	}
}

// steer finds the one batch that a command names and does something to it.
func steer(c *cli.Context, s streams, do func(*config, *store.Store, *store.Batch) error) error {
	if c.NArg() != 1 {
		return usagef("%s needs one batch (an id or \"latest\"); agentaudit batches lists them", c.Command.Name)
	}
	return withStore(c, s, store.Shared, func(cfg *config, st *store.Store) error {
		b, err := findBatch(c.Context, cfg, st, c.Args().First())
		if err != nil {
			return err
		}
		err = do(cfg, st, b)
		if errors.Is(err, store.ErrConflict) && b.State == store.StateIntake {
			return usagef("the list of batch %s is not read to its end: wait for the process that reads it or, if that was killed, end the batch (%s) and hand the list over again",
				b.ID, cfg.hint("cancel", string(b.ID)))
		}
		if errors.Is(err, store.ErrConflict) {
			return usagef("batch %s is %s: %v", b.ID, b.State, err)
		}
		return err
	})
}

// selection reads which results retry takes up again.
func selection(c *cli.Context) (store.Selection, error) {
	var sel store.Selection
	f, err := newFilter(c)
	if err != nil {
		return sel, err
	}
	switch {
	case f.Outcome != "":
		sel.Outcomes = []report.Outcome{f.Outcome}
	case f.Reason == "":
		sel.Outcomes = []report.Outcome{report.OutcomeUnchecked}
	}
	if f.Reason != "" {
		sel.Reasons = []report.Reason{f.Reason}
	}
	return sel, nil
}

func retryCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "audit sites of a batch again",
		UsageText: "agentaudit retry BATCH [--outcome OUTCOME] [--reason REASON]",
		Description: "Without flags: those that are unchecked. Their results are replaced when the new ones are there;\n" +
			"earlier results of a site stay in its history.\n\nEXAMPLE\n   agentaudit retry latest --reason server-error",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "outcome", Usage: "only sites that are `OUTCOME`", DefaultText: "unchecked"},
			&cli.StringFlag{Name: "reason", Usage: "only sites with `REASON`"},
			&cli.IntFlag{Name: "concurrency", Usage: "audit `N` sites at the same time", Value: 64},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "show no progress and no notes"},
		}, visitFlags()...),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("retry needs one batch (an id or \"latest\"); agentaudit batches lists them")
			}
			sel, err := selection(c)
			if err != nil {
				return err
			}
			r, err := newRetrier(c, s)
			if err != nil {
				return err
			}
			return r.retry(c.Context, c.Args().First(), sel)
		},
	}
}

// newRetrier is a run command without a list.
func newRetrier(c *cli.Context, s streams) (*runner, error) {
	r := &runner{s: s, failOn: "never", quiet: c.Bool("quiet"), hints: true}
	var err error
	r.pipeline, err = newPipeline(c, s, worker.RetryRun)
	return r, err
}

// retry opens the selected results of a batch again and works on them.
func (r *runner) retry(ctx context.Context, name string, sel store.Selection) error {
	st, err := openStore(ctx, r.cfg, store.Own)
	if err != nil {
		return err
	}
	defer st.Close()
	b, err := findBatch(ctx, r.cfg, st, name)
	if err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	defer r.release()
	n, err := st.RetryBatch(ctx, b.ID, sel)
	if errors.Is(err, store.ErrConflict) {
		return usagef("batch %s is %s: %v", b.ID, b.State, err)
	}
	if err != nil {
		return undone(err)
	}
	r.note("batch %s: %s to audit again", b.ID, plural(n, "site", "sites"))
	if b, err = st.Batch(ctx, b.ID); err != nil {
		return undone(err)
	}
	return r.finish(ctx, st, b)
}
