package main

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/fetch/weburl"
	"agentaudit/store"
	"agentaudit/worker/producer"
	"agentaudit/worker/writeback"
)

// How long after the end of a batch changed outcomes are audited again: while
// somebody waits, and where nobody does.
const (
	confirmSoon  = 10 * time.Second
	confirmLater = 5 * time.Minute
)

// webhookFlags say where the end of a batch is told, and what of it. Those of
// services, env, stand for all batches and can be set in the environment.
func webhookFlags(env ...string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "webhook", Usage: "tell `URL` when the batch has ended, in one message with what became better and worse; it is signed with " + hookSecretEnv, EnvVars: env},
		&cli.StringFlag{Name: "webhook-on", Usage: "tell the webhook of `EVENTS`: finished, regressed, or both with a comma", Value: "finished"},
		&cli.StringFlag{Name: "webhook-threshold", Usage: "call a batch regressed when so many sites became worse, or such a part of them: `N`, P% or N,P%", Value: "1"},
		&cli.DurationFlag{Name: "webhook-settle", Usage: "hold back sites that changed back and forth within `DURATION` until they have settled", Value: 24 * time.Hour},
		&cli.StringFlag{Name: "webhook-links", Usage: "links in messages lead to the dashboard at `URL` (serve: --public-url)"},
		confirmFlag(),
	}
}

func confirmFlag() cli.Flag {
	return &cli.DurationFlag{Name: "confirm-after", Usage: "audit sites whose outcome changed once more after `DURATION`, before the change is told; less than 0 tells at once", DefaultText: "10s in run, 5m elsewhere"}
}

// readWebhook reads the flags; without --webhook it is nil.
func readWebhook(c *cli.Context, confirm time.Duration) (*store.Webhook, error) {
	w := &store.Webhook{URL: c.String("webhook"), Settle: c.Duration("webhook-settle"), ConfirmAfter: confirmAfter(c, confirm)}
	if w.URL == "" {
		for _, name := range []string{"webhook-on", "webhook-threshold", "webhook-settle", "webhook-links", "confirm-after"} {
			if c.IsSet(name) && !(name == "confirm-after" && c.IsSet("write-back")) {
				return nil, usagef("--%s does nothing without --webhook URL", name)
			}
		}
		return nil, nil
	}
	if err := writeback.CheckURL(w.URL); err != nil {
		return nil, usagef("--webhook: %v", err)
	}
	for _, event := range strings.Split(c.String("webhook-on"), ",") {
		switch strings.TrimSpace(event) {
		case "finished":
			w.Finished = true
		case "regressed":
			w.Regressed = true
		default:
			return nil, usagef("--webhook-on %q: use finished, regressed, or finished,regressed", clean(c.String("webhook-on")))
		}
	}
	if w.Settle < 0 {
		return nil, usagef("--webhook-settle is less than nothing")
	}
	var err error
	if w.MinSites, w.MinPercent, err = readThreshold(c.String("webhook-threshold")); err != nil {
		return nil, err
	}
	w.Links, err = readLinks("--webhook-links", c.String("webhook-links"))
	return w, err
}

func confirmAfter(c *cli.Context, usual time.Duration) time.Duration {
	if c.IsSet("confirm-after") {
		return c.Duration("confirm-after")
	}
	return usual
}

// readThreshold reads "5", "2%" or "5,2%".
func readThreshold(s string) (sites int64, percent float64, err error) {
	bad := usagef("--webhook-threshold %q: give a number of sites, a part of them, or both, as in 5, 2%% or 5,2%%", clean(s))
	for _, word := range strings.Split(s, ",") {
		word = strings.TrimSpace(word)
		var n float64
		if part, ok := strings.CutSuffix(word, "%"); ok {
			n, err = strconv.ParseFloat(part, 64)
			if percent = n; n > 100 || math.IsNaN(n) {
				return 0, 0, bad
			}
		} else {
			sites, err = strconv.ParseInt(word, 10, 64)
			n = float64(sites)
		}
		if err != nil || n <= 0 {
			return 0, 0, bad
		}
	}
	return sites, percent, nil
}

// readLinks is the address of a dashboard without a final slash.
func readLinks(flag, s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := weburl.Parse(s)
	if err != nil || u.Scheme() != "https" && u.Scheme() != "http" {
		return "", usagef("%s %q: give the address of the dashboard, as in https://audit.example.org", flag, clean(s))
	}
	return strings.TrimRight(u.String(), "/"), nil
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
