package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/agentstxt"
	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/worker/producer"
)

func batchesCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "batches",
		Usage:     "list the batches, or show one",
		UsageText: "agentaudit batches [BATCH] [--limit N] [--json]",
		Description: "Without an argument: all batches, the newest first. With one: its counts, the most\n" +
			"frequent reasons and checks, and what was rejected. BATCH is an id, the beginning of one,\n" +
			"or \"latest\".\n\nEXAMPLE\n   agentaudit batches latest",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Usage: "show `N` batches at the most", Value: 20},
			&cli.BoolFlag{Name: "json", Usage: "print JSON: an array of batches, or one batch"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usagef("batches takes one batch at the most, not %d", c.NArg())
			}
			if c.Int("limit") < 1 {
				return usagef("--limit must be at least 1")
			}
			return withStore(c, s, store.ReadOnly, func(cfg *config, st *store.Store) error {
				if c.NArg() == 1 {
					return showBatch(c.Context, s, cfg, st, c.Args().First(), c.Bool("json"))
				}
				return listBatches(c.Context, s, cfg, st, c.Int("limit"), c.Bool("json"))
			})
		},
	}
}

func listBatches(ctx context.Context, s streams, cfg *config, st *store.Store, limit int, asJSON bool) error {
	// One more than asked for tells whether there are more.
	batches, err := st.Batches(ctx, "", limit+1)
	if err != nil {
		return undone(err)
	}
	more := len(batches) > limit
	if more {
		batches = batches[:limit]
	}
	if asJSON {
		if batches == nil {
			batches = []store.Batch{}
		}
		forOwner.Batches(batches)
		err = printJSON(s.Out, batches)
	} else {
		printBatches(s.Out, cfg, batches)
	}
	if more {
		fmt.Fprintf(s.Err, "there are older batches: %s\n", cfg.hint("batches", "--limit", strconv.Itoa(limit*5)))
	}
	return err
}

func printBatches(w io.Writer, cfg *config, batches []store.Batch) {
	sc := newScreen(w)
	if len(batches) == 0 {
		fmt.Fprintf(w, "There are no batches yet. %s makes the first.\n", cfg.hint("run", "LIST"))
		return
	}
	fmt.Fprintln(w, sc.in(fmt.Sprintf("%-9s  %-16s  %-9s  %8s  %8s  %8s  %8s  %9s  %s", "BATCH", "CREATED", "STATE", "ENTRIES", "GOOD", "PARTIAL", "FAILED", "UNCHECKED", "NAME"), bold))
	for i := range batches {
		b := &batches[i]
		n := func(o report.Outcome) int64 { return b.Outcomes[o].Entries }
		fmt.Fprintf(w, "%-9s  %-16s  %-9s  %8d  %8d  %8d  %8d  %9d  %s\n", b.ID, b.CreatedAt.Local().Format("2006-01-02 15:04"), b.State, b.Entries,
			n(report.OutcomeSuccessful), n(report.OutcomePartial), n(report.OutcomeFailed), n(report.OutcomeUnchecked), clean(batchName(b)))
	}
}

// forOwner leaves secrets out of what commands print; whoever runs them may see the
// paths of the lists.
var forOwner = producer.Plain{Paths: true}

// batchName is the name of a batch, else the names of its lists.
func batchName(b *store.Batch) string {
	if b.Name != "" {
		return b.Name
	}
	return strings.Join(b.Sources, ", ")
}

func showBatch(ctx context.Context, s streams, cfg *config, st *store.Store, name string, asJSON bool) error {
	b, err := findBatch(ctx, cfg, st, name)
	if err != nil {
		return err
	}
	forOwner.Batch(b)
	if asJSON {
		return printJSON(s.Out, b)
	}
	return printSummary(ctx, s.Out, cfg, st, b, true)
}

// printSummary answers what became of a batch: how many of each outcome, why,
// and what was rejected and where.
func printSummary(ctx context.Context, w io.Writer, cfg *config, st *store.Store, b *store.Batch, hints bool) error {
	sc := newScreen(w)
	fmt.Fprintf(w, "%s %s  %s%s\n", sc.in("Batch", bold), b.ID, clean(batchName(b)), stateWords(sc, b))
	fmt.Fprintf(w, "  %s", plural(b.Entries, "entry", "entries"))
	if b.Duplicates > 0 {
		fmt.Fprintf(w, " for %s (%s)", plural(b.Runs, "site", "sites"), plural(b.Duplicates, "repeats an earlier one", "repeat earlier ones"))
	}
	if b.Rejected > 0 {
		fmt.Fprintf(w, ", %s rejected", plural(b.Rejected, "line", "lines"))
	}
	fmt.Fprintln(w)
	if b.Entries > 0 {
		fmt.Fprintln(w)
		for _, o := range append(append([]report.Outcome{}, report.Outcomes...), store.Cancelled) {
			n := b.Outcomes[o].Entries
			if n == 0 && o == store.Cancelled {
				continue
			}
			fmt.Fprintf(w, "  %s %8d  %5.1f %%  %s\n", pad(outcomeWord(sc, o), string(o), 10), n, 100*float64(n)/float64(b.Entries), bar(sc, n, b.Entries, outcomeStyle(o)))
		}
		if open := b.Entries - b.Done(); open > 0 {
			fmt.Fprintf(w, "  %-10s %8d  %5.1f %%\n", "open", open, 100*float64(open)/float64(b.Entries))
		}
	}
	agents, err := st.AgentsCounts(ctx, b.ID)
	if err != nil {
		return undone(err)
	}
	if len(agents) > 0 {
		fmt.Fprintf(w, "\n%s\n", sc.in("agents.txt", bold))
		fmt.Fprintf(w, "  of all:        %s\n", agentsCounts(agents, ""))
		if own := agentsCounts(agents, report.OutcomeSuccessful); own != "" {
			fmt.Fprintf(w, "  of successful: %s\n", own)
		}
	}
	reasons, err := st.TopReasons(ctx, b.ID, len(report.Reasons)+1)
	if err != nil {
		return undone(err)
	}
	if len(reasons) > 0 {
		fmt.Fprintf(w, "\n%s\n", sc.in("Why", bold))
		for _, r := range reasons {
			fmt.Fprintf(w, "  %8d  %s %-17s  %s\n", r.Entries, pad(outcomeWord(sc, r.Outcome), string(r.Outcome), 10), r.Reason, r.Reason.Words())
		}
	}
	checks, err := st.TopChecks(ctx, b.ID, 10)
	if err != nil {
		return undone(err)
	}
	if len(checks) > 0 {
		fmt.Fprintf(w, "\n%s\n", sc.in("Checks that fail or warn most", bold))
		for _, c := range checks {
			mark := sc.in("!", yellow)
			if c.Status == report.Fail {
				mark = sc.in("✗", red)
			}
			fmt.Fprintf(w, "  %8d  %s %-22s %s\n", c.Entries, mark, clean(c.Check), report.CheckWords(c.Check))
		}
	}
	if b.Rejected > 0 {
		if err := printRejected(ctx, w, sc, st, b, 5); err != nil {
			return err
		}
	}
	if hints {
		printNext(sc, cfg, b)
	}
	return nil
}

// printNext suggests what to look at next, as commands to copy.
func printNext(sc *screen, cfg *config, b *store.Batch) {
	id := string(b.ID)
	n := func(o report.Outcome) int64 { return b.Outcomes[o].Entries }
	first := true
	for _, next := range []struct {
		about string
		apt   bool
		words []string
	}{
		{"failed sites", n(report.OutcomeFailed) > 0, []string{"results", id, "--outcome", string(report.OutcomeFailed)}},
		{"one, in full", b.Done() > 0, []string{"results", id, "--site", "SITE"}},
		{"what mends them", n(report.OutcomeFailed)+n(report.OutcomePartial) > 0, []string{"results", id, "--" + fixKitName, "DIR"}},
		{"unchecked again", n(report.OutcomeUnchecked) > 0, []string{"retry", id}},
		{"rejected lines", b.Rejected > 0, []string{"results", id, "--rejected"}},
	} {
		if !next.apt {
			continue
		}
		if first {
			fmt.Fprintf(sc.w, "\n%s\n", sc.in("See more", bold))
			first = false
		}
		fmt.Fprintf(sc.w, "  %-15s  %s\n", next.about, cfg.hint(next.words...))
	}
}

// agentsCounts says how often each verdict over agents.txt was reached, beside
// one outcome or beside all ("").
func agentsCounts(all []store.AgentsCount, o report.Outcome) string {
	var words []string
	for _, v := range agentstxt.Verdicts {
		var n int64
		for _, c := range all {
			if c.Verdict == string(v) && (o == "" || c.Outcome == o) {
				n += c.Entries
			}
		}
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(words, ", ")
}

func printRejected(ctx context.Context, w io.Writer, sc *screen, st *store.Store, b *store.Batch, limit int) error {
	lines, err := st.RejectedLines(ctx, b.ID, 0, limit)
	if err != nil {
		return undone(err)
	}
	fmt.Fprintf(w, "\n%s\n", sc.in("Rejected", bold))
	for _, r := range lines {
		fmt.Fprintf(w, "  %s:%d  %s\n%s\n", clean(r.Source), r.Line, sc.cut(clean(r.Input), sc.width-30), sc.in(sc.wrap(clean(r.Reason), "    "), dim))
	}
	if more := b.Rejected - int64(len(lines)); more > 0 {
		fmt.Fprintf(w, "  … and %d more\n", more)
	}
	return nil
}

func stateWords(sc *screen, b *store.Batch) string {
	text := ""
	switch {
	case b.State == store.StateFinished:
		if !b.StartedAt.IsZero() {
			text = "finished in " + duration(b.FinishedAt.Sub(b.StartedAt))
		}
	default:
		text = string(b.State)
		if b.Note != "" {
			text += ": " + b.Note
		}
	}
	if text == "" {
		return ""
	}
	return sc.in("  ("+clean(text)+")", dim)
}

func bar(sc *screen, n, of int64, style string) string {
	const width = 30
	if n == 0 {
		return ""
	}
	// What is there is seen, however little it is.
	return sc.in(strings.Repeat("█", max(int(n*width/of), 1)), style)
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func printJSON(w io.Writer, v any) error {
	text, err := jsonText(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// jsonText is v as JSON for people and programs alike.
func jsonText(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.String(), err
}
