package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/store"
	"agentaudit/worker/producer"
	"agentaudit/worker/writeback"
)

// How long after the end of a batch changed outcomes are audited again: while
// somebody waits, and where nobody does.
const (
	confirmSoon  = 10 * time.Second
	confirmLater = writeback.DefaultConfirm
)

// webhookFlags say where the end of a batch is told, and what of it. Those of
// services, env, stand for all batches and can be set in the environment.
func webhookFlags(env ...string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "webhook", Usage: "tell `URL` when the batch has ended, in one message with what became better and worse; it is signed with " + hookSecretEnv, EnvVars: env},
		&cli.StringFlag{Name: "webhook-on", Usage: "tell the webhook of `EVENTS`: finished, regressed, or both with a comma", Value: writeback.DefaultOn},
		&cli.StringFlag{Name: "webhook-threshold", Usage: "call a batch regressed when so many sites became worse, or such a part of them: `N`, P% or N,P%", Value: writeback.DefaultThreshold},
		&cli.DurationFlag{Name: "webhook-settle", Usage: "hold back sites that changed back and forth within `DURATION` until they have settled", Value: writeback.DefaultSettle},
		&cli.StringFlag{Name: "webhook-links", Usage: "links in messages lead to the dashboard at `URL` (serve: --public-url)"},
		confirmFlag(),
	}
}

func confirmFlag() cli.Flag {
	return &cli.DurationFlag{Name: "confirm-after", Usage: "audit sites whose outcome changed once more after `DURATION`, before the change is told; less than 0 tells at once", DefaultText: "10s in run, 5m elsewhere"}
}

// readWebhook reads the flags; without --webhook it is nil.
func readWebhook(c *cli.Context, confirm time.Duration) (*store.Webhook, error) {
	rules := writeback.Rules{URL: c.String("webhook"), On: c.String("webhook-on"), Threshold: c.String("webhook-threshold"), Settle: c.Duration("webhook-settle"),
		ConfirmAfter: confirmAfter(c, confirm), Links: c.String("webhook-links")}
	if rules.URL == "" {
		for _, name := range []string{"webhook-on", "webhook-threshold", "webhook-settle", "webhook-links", "confirm-after"} {
			if c.IsSet(name) && !(name == "confirm-after" && c.IsSet("write-back")) {
				return nil, usagef("--%s does nothing without --webhook URL", name)
			}
		}
		return nil, nil
	}
	w, err := rules.Webhook()
	if bad, ok := errors.AsType[*writeback.RuleError](err); ok {
		flag := "webhook-" + bad.Rule
		if bad.Rule == writeback.RuleURL {
			flag = "webhook"
		}
		return nil, usagef("--%s: %v", flag, bad)
	}
	return w, err
}

func confirmAfter(c *cli.Context, usual time.Duration) time.Duration {
	if c.IsSet("confirm-after") {
		return c.Duration("confirm-after")
	}
	return usual
}

// readLinks is the address of a dashboard without a final slash.
func readLinks(flag, s string) (string, error) {
	links, err := writeback.ParseLinks(s)
	if err != nil {
		return "", usagef("%s: %v", flag, err)
	}
	return links, nil
}

// setWebhook reads where the end of a batch is told into a runner.
func (r *runner) setWebhook(c *cli.Context, confirm time.Duration) (err error) {
	r.webhook, err = listWebhook(c, &r.list, confirm)
	return err
}

// listWebhook reads where the ends of the batches of a list are told. Changed
// outcomes of a listing are confirmed before they are written back, too.
func listWebhook(c *cli.Context, l *producer.List, confirm time.Duration) (*store.Webhook, error) {
	w, err := readWebhook(c, confirm)
	if err == nil && w == nil && l.WriteBack != "" {
		w = &store.Webhook{ConfirmAfter: confirmAfter(c, confirm)}
	}
	return w, err
}

// confirms reports whether a batch may be open again after its end, until its
// changed outcomes are confirmed.
func (r *runner) confirms(ctx context.Context, st *store.Store, b *store.Batch) (bool, error) {
	w, err := st.WebhookOf(ctx, b.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, undone(err)
	}
	return w.ConfirmAfter >= 0, nil
}

// confirm audits again what changed in a batch that has ended, before it is
// told.
func (r *runner) confirm(ctx context.Context, st *store.Store, b *store.Batch) (*store.Batch, error) {
	for {
		if err := writeback.Plan(ctx, st); err != nil {
			return nil, undone(err)
		}
		var err error
		if b, err = st.Batch(ctx, b.ID); err != nil {
			return nil, undone(err)
		}
		if !b.State.Open() {
			return b, nil
		}
		r.note("%s changed; confirming before that is told", plural(b.OpenRuns, "site has", "sites have"))
		if err := r.work(ctx, st, b); err != nil {
			return nil, err
		}
	}
}
