package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"agentaudit/fetch"
	"agentaudit/store"
	"agentaudit/worker/producer"
	"agentaudit/worker/writeback"
)

// The secrets that messages to directories and to webhooks are signed with; they
// are no flags, because command lines can be seen by others.
const (
	secretEnv     = "AGENTAUDIT_WRITE_BACK_SECRET"
	hookSecretEnv = "AGENTAUDIT_WEBHOOK_SECRET"
)

func writeBackFlag() cli.Flag {
	return &cli.StringFlag{Name: "write-back", Usage: "with --from, tell `URL` of every listing whose outcome has changed; messages are signed with " + secretEnv + " (or --write-back-secret-file)"}
}

// messages is what a process needs to send messages.
type messages struct {
	// secret signs what is written back, hookSecret what webhooks are told; nil
	// for none.
	secret, hookSecret []byte
	// private lets messages go to addresses that are not public.
	private bool
	// hook is for batches that have none, nil for none.
	hook *store.Webhook
}

// messageFlags are those of all commands that send messages.
func messageFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "write-back-secret-file", Usage: "read the secret that signs messages to directories from `FILE`", EnvVars: []string{secretEnv + "_FILE"}, TakesFile: true},
		&cli.StringFlag{Name: "webhook-secret-file", Usage: "read the secret that signs messages to webhooks from `FILE`", EnvVars: []string{hookSecretEnv + "_FILE"}, TakesFile: true},
		&cli.BoolFlag{Name: "private-receivers", Usage: "send messages also to receivers at addresses that are not public", EnvVars: []string{"AGENTAUDIT_PRIVATE_RECEIVERS"}},
	}
}

// readMessages reads the flags of messageFlags.
func readMessages(c *cli.Context) (m messages, err error) {
	m.private = c.Bool("private-receivers")
	if m.secret, err = readSecret("--write-back", secretEnv, c.String("write-back-secret-file")); err != nil {
		return m, err
	}
	m.hookSecret, err = readSecret("--webhook", hookSecretEnv, c.String("webhook-secret-file"))
	return m, err
}

// sends reports whether there is a secret to sign with.
func (m *messages) sends() bool { return m.secret != nil || m.hookSecret != nil }

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

// readSecret is a secret from a file or the environment, nil for none.
func readSecret(what, env, file string) ([]byte, error) {
	secret := []byte(os.Getenv(env))
	if file != "" {
		data, err := readBounded(file, 4<<10, "the secret for "+what)
		if err != nil {
			return nil, err
		}
		secret = data
	}
	if secret = bytes.TrimSpace(secret); len(secret) == 0 {
		return nil, nil
	}
	if len(secret) < writeback.ShortestSecret {
		return nil, usagef("the secret for %s is shorter than %d bytes; make one with: openssl rand -hex 32", what, writeback.ShortestSecret)
	}
	return secret, nil
}

// sender makes the sender over a store.
func (m *messages) sender(cfg *config, st *store.Store) (*writeback.Sender, error) {
	sender, err := writeback.New(writeback.Config{
		Store: st, Secret: m.secret, WebhookSecret: m.hookSecret, Webhook: m.hook, Private: m.private,
		UserAgent: fetch.UserAgent(programVersion(), ""), Log: cfg.log, Now: st.Now,
	})
	if err != nil {
		return nil, undone(err)
	}
	return sender, nil
}

// senderPart is the sender of a service, as long as there is a secret.
func (v *services) senderPart(st *store.Store) ([]part, error) {
	if !v.messages.sends() {
		return nil, nil
	}
	sender, err := v.messages.sender(v.cfg, st)
	if err != nil {
		return nil, err
	}
	return []part{{"the sender of messages", sender.Run}}, nil
}

// tell sends what is due when a run has ended.
func (r *runner) tell(ctx context.Context, st *store.Store, b *store.Batch) error {
	options, err := producer.OptionsOf(b)
	if err != nil {
		return undone(err)
	}
	w, err := st.WebhookOf(ctx, b.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return undone(err)
	}
	back, hooked := options.List.WriteBack != "", w != nil && w.URL != ""
	if back && r.secret == nil {
		r.note("%s is not set: changed outcomes wait for a run or serve that has it", secretEnv)
	}
	if hooked && r.hookSecret == nil {
		r.note("%s is not set: the message to the webhook waits for a run or serve that has it", hookSecretEnv)
	}
	if !(back && r.secret != nil || hooked && r.hookSecret != nil) {
		return nil
	}
	sender, err := r.messages.sender(r.cfg, st)
	if err != nil {
		return err
	}
	c, err := sender.Once(ctx)
	if err != nil {
		return undone(err)
	}
	if back && r.secret != nil {
		r.note("%s written back", plural(c.Sent-c.Batches, "changed outcome", "changed outcomes"))
	}
	if hooked && r.hookSecret != nil {
		r.note("%s told", plural(c.Batches, "message was", "messages were"))
	}
	if c.Again > 0 {
		r.note("%d could not be delivered yet; a later run or serve tries again (%s says why)", c.Again, r.cfg.hint("deliveries"))
	}
	return nil
}

func deliveriesCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "deliveries",
		Usage:     "list the messages to directories and webhooks",
		UsageText: "agentaudit deliveries [--state due|done|failed] [--limit N] [--json]",
		Description: "Messages about listings whose outcome has changed (--from URL --write-back URL) and about batches that\n" +
			"have ended (--webhook URL), the newest first. They carry the headers Agentaudit-Timestamp, Agentaudit-Delivery and Agentaudit-Signature:\n" +
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
			// One more than asked for tells whether there are more.
			limit := c.Int("limit")
			list, err := st.Deliveries(c.Context, state, 0, limit+1)
			if err != nil {
				return undone(err)
			}
			if len(list) > limit {
				list = list[:limit]
				words := []string{"deliveries", "--limit", strconv.Itoa(limit * 5)}
				if state != "" {
					words = append(words, "--state", string(state))
				}
				defer fmt.Fprintf(s.Err, "there are older ones: %s\n", cfg.hint(words...))
			}
			out := bufio.NewWriter(s.Out)
			enc := json.NewEncoder(out)
			for _, d := range list {
				d = d.Plain()
				if c.Bool("json") {
					err = enc.Encode(d)
				} else {
					about := "listing " + clean(d.Ref)
					if d.Event != store.EventListing {
						about = d.Event + " " + string(d.Batch)
					}
					_, err = fmt.Fprintf(out, "%-6s  %s  %s  to %s  %s %s\n", d.State, d.CreatedAt.Format("2006-01-02 15:04"), about, clean(d.URL),
						plural(int64(d.Attempts), "attempt", "attempts"), clean(d.Error))
				}
				if err != nil {
					return undone(err)
				}
			}
			if len(list) == 0 && !c.Bool("json") {
				fmt.Fprintln(s.Err, "there are no messages")
			}
			return out.Flush()
		},
	}
}
