package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/publication"
	"agentaudit/audit/shell"
	"agentaudit/dashboard"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/store"
	"agentaudit/worker"
	"agentaudit/worker/producer"
)

func demoCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "demo",
		Usage:     "see it at work: a small internet inside the process, audited",
		UsageText: "agentaudit demo [--serve] [--keep DIR]",
		Description: "Starts 43 made-up sites with everything that can be right and wrong, audits them through the same\n" +
			"queue, store and workers as a real list, and shows the result. Nothing leaves this machine.\n\n" +
			"EXAMPLE\n   agentaudit demo --serve",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "serve", Usage: "then open the dashboard on the results, with workers for the small internet, until Ctrl+C"},
			&cli.StringFlag{Name: "keep", Usage: "keep the results in the new directory `DIR` (default: they are dropped)"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "show no progress and no notes"},
		}, webFlags()...),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("demo takes no arguments; agentaudit run audits your own list")
			}
			cfg, err := newConfig(c, s)
			if err != nil {
				return err
			}
			var w *web
			if c.Bool("serve") {
				if w, err = newWeb(c, cfg); err != nil {
					return err
				}
			}
			return demo(c.Context, s, cfg, c.String("keep"), c.Bool("quiet"), w)
		},
	}
}

// demoLimits are much shorter than those for the real internet: in the demo a
// site that will not answer never does.
func demoLimits() fetch.Limits {
	return fetch.Limits{DNS: 2 * time.Second, Read: demoRead}
}

// demoRead bounds a read in the demo. Tests have more patience, because many of
// them share a machine.
var demoRead = 300 * time.Millisecond

// demoRetry waits for milliseconds where the real one waits for seconds.
var demoRetry = worker.Retry{Delays: []time.Duration{200 * time.Millisecond, 500 * time.Millisecond}, MaxRetryAfter: time.Second}

// demo audits the small internet; with w it shows the dashboard afterwards.
func demo(ctx context.Context, s streams, cfg *config, keep string, quiet bool, w *web) error {
	if w != nil {
		if err := w.take(ctx); err != nil {
			return err
		}
		defer w.listener.Close()
	}
	dir, err := demoDir(keep)
	if err != nil {
		return err
	}
	if keep == "" {
		defer os.RemoveAll(dir)
	}
	n := fakenet.New(fakenet.Options{})
	defer n.Close()
	sites := demoSites()
	for _, site := range sites {
		site.build(n, site.host)
	}
	for host, d := range demoAgents() {
		d.online(n.Site(host))
	}
	list := filepath.Join(dir, "demo-list.txt")
	if err := os.WriteFile(list, []byte(demoList()), 0o600); err != nil {
		return undone(err)
	}
	own := *cfg
	own.dataDir, own.store, own.given = dir, "", given{store: []string{"--data-dir", dir}}
	if keep != "" {
		own.given.store[1] = keep // as it was typed
	}
	r := &runner{
		s: s, pipeline: pipeline{
			cfg: &own, client: func(cfg fetch.Config) (*fetch.Client, error) {
				cfg.UserAgent, cfg.Limits = fetch.UserAgent(programVersion(), defaultContact), demoLimits()
				return n.Client(cfg), nil
			},
			concurrency: 16, retries: demoRetry,
		},
		list: producer.List{Files: []string{list}}, name: "demo", failOn: "never", quiet: quiet,
	}
	if err := r.run(ctx); err != nil {
		return err
	}
	if err := r.demoExtras(ctx, sites, keep); err != nil || w == nil {
		return err
	}
	kept := "until the demo ends, which drops all its data"
	if keep != "" {
		kept = keepWords(store.Retention{})
	}
	w.config.Facts = append(w.config.Facts, dashboard.Fact{Name: keptFact, Value: kept})
	v := &services{s: s, pipeline: r.pipeline, web: w}
	return v.serve(ctx)
}

// demoKit shows what the owner of a site without any files would publish.
func (r *runner) demoKit(ctx context.Context, st *store.Store, b *store.Batch, site string, sc *screen) error {
	_, run, err := findSite(ctx, r.cfg, st, b, site)
	if err != nil {
		return err
	}
	parts, err := st.Parts(ctx, run)
	if err != nil {
		return undone(err)
	}
	k, err := publication.DecodeKit(parts.FixKit)
	if err != nil || k == nil {
		return undone(fmt.Errorf("no fix kit for %s: %w", site, err))
	}
	fmt.Fprintf(r.s.Out, "\n%s\n\n%s", sc.in("The fix kit of a site that has published nothing: made by a scan, with this index", bold), k.Folder()[0].Content)
	return nil
}

// demoDir makes the directory for the demo's data.
func demoDir(keep string) (string, error) {
	if keep == "" {
		dir, err := os.MkdirTemp("", "agentaudit-demo-")
		if err != nil {
			return "", undone(err)
		}
		return dir, nil
	}
	err := os.Mkdir(keep, 0o700)
	if errors.Is(err, os.ErrExist) {
		return "", usagef("%s exists already; --keep needs a new directory", clean(keep))
	}
	if err != nil {
		return "", undone(err)
	}
	return filepath.Abs(keep)
}

// demoExtras shows what a summary cannot: each site with its story, and one
// report in full.
func (r *runner) demoExtras(ctx context.Context, sites []demoSite, keep string) error {
	st, err := openStore(ctx, r.cfg, store.ReadOnly)
	if err != nil {
		return err
	}
	defer st.Close()
	b, err := findBatch(ctx, r.cfg, st, latest)
	if err != nil {
		return err
	}
	sc := newScreen(r.s.Out)
	about := map[string]string{}
	declared := demoAgents()
	for _, s := range sites {
		words := s.about
		if d := declared[s.host]; d.about != "" {
			words += "; agents.txt: " + d.about
		}
		about["https://"+s.host+"/agentic.json"] = words
	}
	fmt.Fprintf(r.s.Out, "\n%s\n", sc.in("Every line of the list: outcome, reason, site, verdict over agents.txt", bold))
	err = st.EachResult(ctx, store.Filter{Batch: b.ID}, false, func(row store.Row) error {
		name := strings.TrimSuffix(strings.TrimPrefix(row.Target, "https://"), "/agentic.json")
		_, err := fmt.Fprintf(r.s.Out, "  %s  %-17s  %-20s  %-9s  %s\n", pad(outcomeWord(sc, row.Outcome), string(row.Outcome), 10), row.Reason, name, row.Agents, sc.in(about[row.Target], dim))
		return err
	})
	if err != nil {
		return undone(err)
	}
	fmt.Fprintf(r.s.Out, "\n%s\n\n", sc.in("One of them in full, as agentaudit audit shows it", bold))
	kit := ""
	if keep == "" {
		kit = "write it with: " + shell.Line("agentaudit", "demo", "--keep", "DATA") + ", and then " +
			shell.Line("agentaudit", "results", "--site", "stale.example", "--"+fixKitName, "DIR", "--data-dir", "DATA")
	}
	if err := showSite(ctx, r.s, r.cfg, st, b, "stale.example", formatTable, kit); err != nil {
		return err
	}
	if err := r.demoKit(ctx, st, b, "nothing.example", sc); err != nil {
		return err
	}
	if keep != "" {
		fmt.Fprintf(r.s.Out, "\nThe results are in %s: %s\n", clean(keep), r.cfg.hint("results"))
	} else {
		fmt.Fprintf(r.s.Out, "\nNow your own: agentaudit audit SITE, or agentaudit run LIST\n")
	}
	return nil
}
