package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// shownChanges is how many sites of each change are listed for people.
const shownChanges = 20

func compareCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "show what changed between two batches",
		UsageText: "agentaudit compare BEFORE AFTER [--change CHANGE] [--format table|csv|ndjson|json]",
		Description: "Sites that are in both lists are set against each other; what is only in one is counted apart. A site\n" +
			"without a verdict on one side is neither better nor worse. The formats for programs give one row for\n" +
			"each site: change, target, label, outcomeBefore, outcomeAfter, reasonBefore, reasonAfter, fixed, new and\n" +
			"still (ids of checks), runBefore, runAfter.\n\n" +
			"EXAMPLE\n   agentaudit compare 1hgw3k2xa latest --change regression --format csv > broken.csv",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "change", Usage: "only `CHANGE`: " + list(store.Changes)},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT`: table, csv, ndjson or json", Value: formatTable},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usagef("compare needs two batches, the earlier one first; agentaudit batches lists them")
			}
			changes := store.Changes
			if word := c.String("change"); word != "" {
				change, err := store.ParseChange(word)
				if err != nil {
					return usagef("--change: %v", err)
				}
				changes = []store.Change{change}
			}
			return withStore(c, s, store.ReadOnly, func(cfg *config, st *store.Store) error {
				return compare(c.Context, s, cfg, st, c.Args().Slice(), changes, c.String("format"))
			})
		},
	}
}

func compare(ctx context.Context, s streams, cfg *config, st *store.Store, names []string, changes []store.Change, format string) error {
	var sides [2]*store.Batch
	for i, name := range names {
		var err error
		if sides[i], err = findBatch(ctx, cfg, st, name); err != nil {
			return err
		}
	}
	if sides[0].ID == sides[1].ID {
		return usagef("both are batch %s; %s lists others", sides[0].ID, cfg.hint("batches"))
	}
	out, err := newChangeWriter(format, s.Out)
	if err != nil {
		return err
	}
	c, err := st.Compare(ctx, sides[0].ID, sides[1].ID)
	switch {
	case errors.Is(err, store.ErrConflict):
		return usagef("%v", err)
	case err != nil:
		return undone(err)
	case out == nil:
		return printComparison(ctx, s.Out, cfg, st, c, sides, changes)
	}
	for _, change := range changes {
		if _, err := eachChange(ctx, st, c, change, -1, out.write); err != nil {
			return undone(err)
		}
	}
	return out.end()
}

// changeRow is one site in two batches. Its JSON names are those of the
// columns; a side that the batch lacks is "".
type changeRow struct {
	Change        store.Change   `json:"change"`
	Target        string         `json:"target"`
	Label         string         `json:"label"`
	OutcomeBefore report.Outcome `json:"outcomeBefore"`
	OutcomeAfter  report.Outcome `json:"outcomeAfter"`
	ReasonBefore  report.Reason  `json:"reasonBefore"`
	ReasonAfter   report.Reason  `json:"reasonAfter"`
	store.Diff
	RunBefore store.RunID `json:"runBefore"`
	RunAfter  store.RunID `json:"runAfter"`
}

var changeHeader = []string{"change", "target", "label", "outcomeBefore", "outcomeAfter", "reasonBefore", "reasonAfter", "fixed", "new", "still", "runBefore", "runAfter"}

// eachChange gives the sites behind a change, at most a number of them (less
// than 0: all), and returns how many it gave.
func eachChange(ctx context.Context, st *store.Store, c *store.Comparison, change store.Change, most int, give func(changeRow) error) (int, error) {
	const atOnce = 500
	var pairs []store.Pair
	given := 0
	flush := func() error {
		var before, after []store.RunID
		for _, p := range pairs {
			if p.Before != "" {
				before = append(before, p.Before)
			}
			if p.After != "" {
				after = append(after, p.After)
			}
		}
		was, err := st.RunResults(ctx, c.Before, before)
		if err != nil {
			return err
		}
		is, err := st.RunResults(ctx, c.After, after)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			row := changeRow{Change: p.Change, RunBefore: p.Before, RunAfter: p.After, OutcomeBefore: p.OutcomeBefore, OutcomeAfter: p.OutcomeAfter,
				Diff: store.Diff{Fixed: []string{}, New: []string{}, Still: []string{}}}
			var a, b *store.RunResult
			if p.Before != "" {
				a, was = &was[0], was[1:]
				row.Target, row.Label, row.ReasonBefore = a.Target, a.Label, a.Reason
			}
			if p.After != "" {
				b, is = &is[0], is[1:]
				row.Target, row.Label, row.ReasonAfter = b.Target, b.Label, b.Reason
			}
			if a != nil && b != nil && p.OutcomeBefore != "" && p.OutcomeAfter != "" {
				row.Diff = store.DiffChecks(&a.SiteResult, &b.SiteResult)
			}
			if err := give(row); err != nil {
				return err
			}
		}
		given += len(pairs)
		pairs = pairs[:0]
		return nil
	}
	for _, p := range c.Pairs(change, 0) {
		if most >= 0 && given+len(pairs) == most {
			break
		}
		if pairs = append(pairs, p); len(pairs) == atOnce {
			if err := flush(); err != nil {
				return given, err
			}
		}
	}
	return given, flush()
}

// newChangeWriter is nil for the format for people.
func newChangeWriter(format string, w io.Writer) (*flatRows[changeRow], error) {
	return newFlatRows(format, w, changeHeader, func(r changeRow) []string {
		words := func(l []string) string { return strings.Join(l, " ") }
		return []string{string(r.Change), r.Target, r.Label, string(r.OutcomeBefore), string(r.OutcomeAfter),
			string(r.ReasonBefore), string(r.ReasonAfter), words(r.Fixed), words(r.New), words(r.Still), string(r.RunBefore), string(r.RunAfter)}
	})
}

// changeWords are the changes as headings.
var changeWords = map[store.Change]string{
	store.Regression: "Worse than before", store.Repair: "Better than before", store.StillFailing: "Still failing",
	store.Unchanged: "As before", store.NoVerdict: "No verdict on one side", store.Pending: "Not audited yet on one side",
	store.OnlyBefore: "Only in the earlier list", store.OnlyAfter: "Only in the later list",
}

// printComparison counts all changes and lists the sites behind those that ask
// for a look, or behind the one that was asked for.
func printComparison(ctx context.Context, w io.Writer, cfg *config, st *store.Store, c *store.Comparison, sides [2]*store.Batch, changes []store.Change) error {
	sc := newScreen(w)
	for i, word := range []string{"Before", "After "} {
		fmt.Fprintf(w, "%s  %s  %s, %s\n", sc.in(word, bold), sides[i].ID, sides[i].CreatedAt.Local().Format(time.DateOnly+" 15:04"), clean(batchName(sides[i])))
	}
	counts := c.Counts()
	fmt.Fprintln(w)
	for _, change := range changes {
		if counts[change] > 0 || change == store.Regression || change == store.Repair {
			fmt.Fprintf(w, "  %8d  %s\n", counts[change], changeWords[change])
		}
	}
	for _, change := range changes {
		quiet := change == store.Unchanged || change == store.OnlyBefore || change == store.OnlyAfter || change == store.Pending
		if counts[change] == 0 || quiet && len(changes) > 1 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", sc.in(changeWords[change], bold))
		given, err := eachChange(ctx, st, c, change, shownChanges, func(r changeRow) error { return printChange(sc, r) })
		if err != nil {
			return undone(err)
		}
		if more := counts[change] - int64(given); more > 0 {
			fmt.Fprintf(w, "  … and %d more: %s\n", more, cfg.hint("compare", string(sides[0].ID), string(sides[1].ID), "--change", string(change), "--format", formatCSV))
		}
	}
	return nil
}

func printChange(sc *screen, r changeRow) error {
	name := strings.TrimSuffix(strings.TrimPrefix(r.Target, "https://"), "/agentic.json")
	side := func(o report.Outcome, reason report.Reason) string {
		if o == "" {
			return "–"
		}
		return outcomeWord(sc, o) + " (" + string(reason) + ")"
	}
	text := side(r.OutcomeBefore, r.ReasonBefore) + " → " + side(r.OutcomeAfter, r.ReasonAfter)
	for _, part := range []struct {
		word   string
		checks []string
	}{{"new", r.New}, {"fixed", r.Fixed}} {
		if len(part.checks) > 0 {
			text += "; " + part.word + ": " + sc.cut(clean(strings.Join(part.checks, " ")), 60)
		}
	}
	_, err := fmt.Fprintf(sc.w, "  %-32s  %s\n", sc.cut(clean(name), 32), text)
	return err
}
