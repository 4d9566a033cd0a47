package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"agentaudit/fetch"
	"agentaudit/store"
	"agentaudit/worker/producer"
	"agentaudit/worker/writeback"
)

// secretEnv holds the secret that messages to directories are signed with; it
// is no flag, because command lines can be seen by others.
const secretEnv = "AGENTAUDIT_WRITE_BACK_SECRET"

func writeBackFlag() cli.Flag {
	return &cli.StringFlag{Name: "write-back", Usage: "with --from, tell `URL` of every listing whose outcome has changed; messages are signed with " + secretEnv + " (or --write-back-secret-file)"}
}

func secretFileFlag() cli.Flag {
	return &cli.StringFlag{Name: "write-back-secret-file", Usage: "read the secret that signs messages to directories from `FILE`", EnvVars: []string{secretEnv + "_FILE"}, TakesFile: true}
}

// setWriteBack reads --write-back into a list.
func setWriteBack(c *cli.Context, l *producer.List) error {
	if !c.IsSet("write-back") {
		return nil
	}
	if l.From == "" {
		return usagef("--write-back is for --from: only a directory's own ids say which listing is meant")
	}
	l.WriteBack = c.String("write-back")
	if err := writeback.CheckURL(l.WriteBack); err != nil {
		return usagef("--write-back: %v", err)
	}
	return nil
}

// writeBackSecret is the secret from the file or the environment, nil for none.
func writeBackSecret(c *cli.Context) ([]byte, error) {
	secret := []byte(os.Getenv(secretEnv))
	if name := c.String("write-back-secret-file"); name != "" {
		data, err := readBounded(name, 4<<10, "the secret for --write-back")
		if err != nil {
			return nil, err
		}
		secret = data
	}
	if secret = bytes.TrimSpace(secret); len(secret) == 0 {
		return nil, nil
	}
	if len(secret) < writeback.ShortestSecret {
		return nil, usagef("the secret for --write-back is shorter than %d bytes; make one with: openssl rand -hex 32", writeback.ShortestSecret)
	}
	return secret, nil
}

// newSender makes the sender over a store.
func newSender(cfg *config, st *store.Store, secret []byte) (*writeback.Sender, error) {
	sender, err := writeback.New(writeback.Config{Store: st, Secret: secret, UserAgent: fetch.UserAgent(programVersion(), ""), Log: cfg.log})
	if err != nil {
		return nil, undone(err)
	}
	return sender, nil
}

// writeBackPart is the sender of a service, as long as there is a secret.
func (v *services) writeBackPart(st *store.Store) ([]part, error) {
	if v.secret == nil {
		return nil, nil
	}
	sender, err := newSender(v.cfg, st, v.secret)
	if err != nil {
		return nil, err
	}
	return []part{{"the write-back", sender.Run}}, nil
}

// tell sends what is due when a run has ended.
func (r *runner) tell(ctx context.Context, st *store.Store, b *store.Batch) error {
	options, err := producer.OptionsOf(b)
	if err != nil || options.List.WriteBack == "" {
		return err
	}
	if r.secret == nil {
		r.note("%s is not set: changed outcomes wait for a run or serve that has it", secretEnv)
		return nil
	}
	sender, err := newSender(r.cfg, st, r.secret)
	if err != nil {
		return err
	}
	c, err := sender.Once(ctx)
	if err != nil {
		return undone(err)
	}
	r.note("%s written back", plural(c.Sent, "changed outcome", "changed outcomes"))
	if c.Again > 0 {
		r.note("%d could not be delivered yet; a later run or serve tries again (%s says why)", c.Again, r.cfg.hint("deliveries"))
	}
	return nil
}

func deliveriesCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "deliveries",
		Usage:     "list what was written back to directories",
		UsageText: "agentaudit deliveries [--state due|done|failed] [--limit N] [--json]",
		Description: "Messages about listings whose outcome has changed (run and enqueue --from URL --write-back URL), the\n" +
			"newest first. They carry the headers Agentaudit-Timestamp, Agentaudit-Delivery and Agentaudit-Signature:\n" +
			"v1= and the HMAC-SHA-256 over TIMESTAMP.BODY in hexadecimal.\n\nEXAMPLE\n   agentaudit deliveries --state failed",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "state", Usage: "only those that are `STATE`: due, done or failed"},
			&cli.IntFlag{Name: "limit", Usage: "show `N` at the most", Value: 50},
			&cli.BoolFlag{Name: "json", Usage: "print them whole, one JSON object a line"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("deliveries takes no arguments")
			}
			state := store.DeliveryState(c.String("state"))
			if state != "" && !slices.Contains([]store.DeliveryState{store.DeliveryDue, store.DeliveryDone, store.DeliveryFailed}, state) {
				return usagef("--state %q: use due, done or failed", clean(string(state)))
			}
			if c.Int("limit") < 1 {
				return usagef("--limit must be at least 1")
			}
			cfg, err := newConfig(c, s)
			if err != nil {
				return err
			}
			st, err := openStore(c.Context, cfg, store.ReadOnly)
			if err != nil {
				return err
			}
			defer st.Close()
			list, err := st.Deliveries(c.Context, state, 0, c.Int("limit"))
			if err != nil {
				return undone(err)
			}
			out := bufio.NewWriter(s.Out)
			enc := json.NewEncoder(out)
			for _, d := range list {
				if c.Bool("json") {
					err = enc.Encode(d)
				} else {
					_, err = fmt.Fprintf(out, "%-6s  %s  listing %s  to %s  %s %s\n", d.State, d.CreatedAt.Format("2006-01-02 15:04"), clean(d.Ref), clean(d.URL),
						plural(int64(d.Attempts), "attempt", "attempts"), clean(d.Error))
				}
				if err != nil {
					return undone(err)
				}
			}
			if len(list) == 0 && !c.Bool("json") {
				fmt.Fprintln(s.Err, "nothing was written back")
			}
			return out.Flush()
		},
	}
}
