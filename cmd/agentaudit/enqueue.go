package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/fetch"
)

func enqueueCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "enqueue",
		Usage:     "hand a list to running workers",
		UsageText: "agentaudit enqueue SOURCE...|--from URL [--name NAME]",
		Description: "Takes the same lists as run, and prints the id of the batch on standard output as soon as the list is\n" +
			"stored. The workers are those of agentaudit serve or worker with the same store; where none runs, the\n" +
			"batch waits for one. Batches of up to 200 sites overtake larger ones. When this command is killed before\n" +
			"the list is stored, nothing of it is audited: the batch says so after some minutes and is cancelled after\n" +
			"a day.\n\n" +
			"EXAMPLE\n   agentaudit enqueue listings.csv --name weekly\n" +
			"   agentaudit enqueue --from mcp-registry",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "call the batch `NAME`"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "show no progress and no notes"},
			fromFlag(),
			writeBackFlag(),
			contactFlag(),
		}, slices.Concat(listFlags(), auditFlags(audit.DiscoverMissing), webhookFlags())...),
		Action: func(c *cli.Context) error {
			r := &runner{s: s, name: c.String("name"), quiet: c.Bool("quiet"), drops: true}
			var err error
			if r.options, err = auditOptions(c, audit.DiscoverMissing); err != nil {
				return err
			}
			if r.cfg, err = newConfig(c, s); err != nil {
				return err
			}
			if r.list, err = newListOrFrom(c); err != nil {
				return err
			}
			if err = r.setWebhook(c, confirmLater); err != nil {
				return err
			}
			if _, err := newClient(c, s, fetch.Config{}); err != nil {
				return err
			}
			r.client = func(cfg fetch.Config) (*fetch.Client, error) { return newClient(c, s, cfg) }
			return r.enqueue(c)
		},
	}
}

// enqueue stores the list as a batch: that is all there is to hand over.
// Workers look into the store for what is due.
func (r *runner) enqueue(c *cli.Context) error {
	st, alone, err := openBeside(c.Context, r.cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	b, err := r.create(c.Context, st)
	if err != nil {
		return err
	}
	if b, err = r.intake(c.Context, st, b); err != nil {
		return err
	}
	if alone && r.cfg.redis == "" {
		r.note("nobody works on %s at the moment; the batch waits for %s, or %s", clean(r.cfg.dataDir), r.cfg.hint("serve"), r.cfg.hint("run", "--resume", string(b.ID)))
	}
	_, err = fmt.Fprintln(r.s.Out, b.ID)
	return err
}
