package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/report"
	"agentaudit/store"
)

func cancelCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "end a batch: what is not audited yet will not be",
		UsageText: "agentaudit cancel BATCH",
		Description: "Audits that are under way are finished; results that are there stay. Works while a run goes on\n" +
			"in another terminal.\n\nEXAMPLE\n   agentaudit cancel latest",
		Action: func(c *cli.Context) error {
			return steer(c, s, func(st *store.Store, b *store.Batch) error {
				if err := st.CancelBatch(c.Context, b.ID, "cancelled from the command line"); err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "batch %s is cancelled: %d of %s are done\n", b.ID, b.Done(), plural(b.Entries, "entry", "entries"))
				return nil
			})
		},
	}
}

// steer finds the one batch that a command names and does something to it.
func steer(c *cli.Context, s streams, do func(*store.Store, *store.Batch) error) error {
	if c.NArg() != 1 {
		return usagef("%s needs one batch (an id or \"latest\"); agentaudit batches lists them", c.Command.Name)
	}
	cfg, err := newConfig(c, s)
	if err != nil {
		return err
	}
	st, err := openStore(c.Context, cfg, store.Shared)
	if err != nil {
		return err
	}
	defer st.Close()
	b, err := findBatch(c.Context, st, c.Args().First())
	if err != nil {
		return err
	}
	err = do(st, b)
	if errors.Is(err, store.ErrConflict) {
		return usagef("batch %s is %s: %v", b.ID, b.State, err)
	}
	return err
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
