package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/audit/agentstxt"
	"agentaudit/audit/format"
	"agentaudit/audit/report"
	"agentaudit/store"
)

// tableRows is how many rows a table shows unless told otherwise: a screen or
// two. The other formats are for programs and give all.
const tableRows = 50

func resultsCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "results",
		Usage:     "show the results of a batch",
		UsageText: "agentaudit results [BATCH] [FILTERS] [--format table|csv|ndjson|json]",
		Description: "One row for each entry of the list, in its order. BATCH is an id, the beginning of one, or\n" +
			"\"latest\" (the default). Filters add up. A table shows 50 rows at a time; all other formats give\n" +
			"all. In csv, a cell that a spreadsheet would take for a formula gets an apostrophe in front.\n\n" +
			"EXAMPLE\n   agentaudit results latest --outcome failed --check readme:json --format csv > failed.csv\n" +
			"   agentaudit results latest --site shop.example\n" +
			"   agentaudit results latest --reason missing-profile --fix-kit kits",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "outcome", Usage: "only `OUTCOME`: successful, partial, failed, unchecked or cancelled"},
			&cli.StringFlag{Name: "reason", Usage: "only `REASON`, as in missing-profile"},
			&cli.StringFlag{Name: "agents", Usage: "only sites whose agents.txt is `VERDICT`: valid, invalid, other, absent or unchecked"},
			&cli.StringFlag{Name: "check", Usage: "only where check `ID` fails or warns; api and resource stand for all of their kind"},
			&cli.StringFlag{Name: "host", Usage: "only sites on `HOST`"},
			&cli.StringFlag{Name: "label", Usage: "only entries with `LABEL`"},
			&cli.StringFlag{Name: "id", Usage: "only the entry with the listing's `ID`"},
			&cli.StringFlag{Name: "tag", Usage: "only entries with `TAG`"},
			&cli.StringFlag{Name: "search", Usage: "only hosts, labels and ids that begin with `TEXT`"},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT` of the rows: table, csv, ndjson, json, sarif, junit or markdown", Value: formatTable},
			baselineFlag(),
			&cli.BoolFlag{Name: "full", Usage: "add the reports and the evidence to each row (ndjson, json)"},
			&cli.IntFlag{Name: "limit", Usage: "show `N` rows at the most (default: 50 in a table, else all)"},
			&cli.StringFlag{Name: "after", Usage: "go on behind `CURSOR`, which the page before has named"},
			&cli.StringFlag{Name: "site", Usage: "show the one site `URL` of the batch in full, as audit does"},
			fixKitFlag("write what mends failed and partial sites into the new directory `DIR`, a folder for each"),
			&cli.BoolFlag{Name: "rejected", Usage: "show the lines that were rejected instead (table, csv, ndjson or json)"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usagef("results takes one batch at the most, not %d", c.NArg())
			}
			cfg, err := newConfig(c, s)
			if err != nil {
				return err
			}
			filter, err := newFilter(c)
			if err != nil {
				return err
			}
			if err := fitTogether(c); err != nil {
				return err
			}
			st, err := openStore(c.Context, cfg, store.ReadOnly)
			if err != nil {
				return err
			}
			defer st.Close()
			b, err := findBatch(c.Context, cfg, st, c.Args().First())
			if err != nil {
				return err
			}
			filter.Batch = b.ID
			if c.IsSet("site") {
				if _, filter.Run, err = findSite(c.Context, cfg, st, b, c.String("site")); err != nil {
					return err
				}
			}
			format := c.String("format")
			switch {
			case c.IsSet(fixKitName):
				return writeKits(c.Context, s, cfg, st, b, filter, c.String(fixKitName))
			case c.Bool("rejected"):
				return listRejected(c.Context, s, st, b, format)
			case c.IsSet("site") && !c.Bool("full") && (format == formatTable || format == formatJSON || isDocument(format)):
				return showSite(c.Context, s, cfg, st, b, c.String("site"), format, "")
			}
			return listResults(c, s, st, b, filter)
		},
	}
}

// filterFlags pick rows.
var filterFlags = []string{"outcome", "reason", "agents", "check", "host", "label", "id", "tag", "search"}

// fitTogether refuses flags that would do nothing.
func fitTogether(c *cli.Context) error {
	without := func(why string, others ...string) error {
		for _, other := range others {
			if c.IsSet(other) {
				return usagef("%s; leave --%s out", why, other)
			}
		}
		return nil
	}
	switch {
	case c.IsSet(fixKitName):
		return without("--"+fixKitName+" writes kits instead of rows, for all sites that pass the filters", "format", "full", "limit", "after", "rejected", "baseline")
	case c.Bool("rejected"):
		return without("--rejected shows all lines that were rejected, which have no results", append([]string{"site", "full", "limit", "after", "baseline"}, filterFlags...)...)
	case c.IsSet("site"):
		return without("--site shows one site whatever it is", append([]string{"limit", "after"}, filterFlags...)...)
	}
	return nil
}

// newFilter reads the filter flags. Words that cannot occur are errors: a
// misspelled outcome must not look like an empty result.
func newFilter(c *cli.Context) (store.Filter, error) {
	f := store.Filter{
		Outcome: report.Outcome(c.String("outcome")), Reason: report.Reason(c.String("reason")), Check: c.String("check"),
		Agents: c.String("agents"),
		Host:   c.String("host"), Label: c.String("label"), ID: c.String("id"), Tag: c.String("tag"), Text: c.String("search"),
	}
	if f.Outcome != "" && f.Outcome != store.Cancelled && !slices.Contains(report.Outcomes, f.Outcome) {
		return f, usagef("--outcome %q: use successful, partial, failed, unchecked or cancelled", clean(string(f.Outcome)))
	}
	if f.Reason != "" && !slices.Contains(report.Reasons, f.Reason) {
		return f, usagef("--reason %q is not a reason; there are %s", clean(string(f.Reason)), list(report.Reasons))
	}
	if v := agentstxt.Verdict(f.Agents); v != "" && !slices.Contains(agentstxt.Verdicts, v) {
		return f, usagef("--agents %q: use valid, invalid, other, absent or unchecked", clean(f.Agents))
	}
	if c.IsSet("limit") && c.Int("limit") < 1 {
		return f, usagef("--limit must be at least 1")
	}
	return f, nil
}

func list[T ~string](words []T) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += ", "
		}
		out += string(w)
	}
	return out
}

func listResults(c *cli.Context, s streams, st *store.Store, b *store.Batch, f store.Filter) error {
	name, full := c.String("format"), c.Bool("full")
	if full && (name == formatTable || name == formatCSV) {
		return usagef("--full adds whole reports, which a %s cannot hold; use --format ndjson or json", name)
	}
	out := bufio.NewWriter(s.Out)
	rows, err := newRows(c, b, name, out)
	if err != nil {
		return err
	}
	full = full || isDocument(name)
	limit := c.Int("limit")
	if limit == 0 && name == formatTable {
		limit = tableRows
	}
	var next string
	n := 0
	if limit == 0 && !c.IsSet("after") {
		err = st.EachResult(c.Context, f, full, func(r store.Row) error { n++; return rows.Write(r) })
	} else {
		n, next, err = pageResults(c.Context, st, f, c.String("after"), limit, full, rows)
	}
	if err = errors.Join(err, rows.End(), out.Flush()); err != nil {
		return undone(err)
	}
	switch {
	case next != "":
		fmt.Fprintf(s.Err, "there are more rows: add --after %s, or --format csv for all\n", next)
	case n == 0 && name == formatTable:
		fmt.Fprintf(s.Err, "no results match (the batch has %s, %d of them done)\n", plural(b.Entries, "entry", "entries"), b.Done())
	}
	return nil
}

// newRows returns the writer for --format.
func newRows(c *cli.Context, b *store.Batch, name string, w io.Writer) (rowWriter, error) {
	known, err := readBaseline(c)
	switch {
	case err != nil:
		return nil, err
	case isDocument(name):
		return newDocumentRows(name, w, format.Options{Version: programVersion(), Title: batchName(b), Objection: format.ObjectFailed, Baseline: known})
	case known != nil:
		return nil, usagef("--baseline marks findings in sarif, junit and markdown; give one of them as --format")
	}
	return newRowWriter(name, w)
}

func pageResults(ctx context.Context, st *store.Store, f store.Filter, cursor string, limit int, full bool, rows rowWriter) (n int, next string, err error) {
	const most = 500
	for {
		size := most
		if limit > 0 {
			size = min(most, limit-n)
		}
		page, err := st.Results(ctx, f, cursor, size)
		if err != nil {
			return n, "", err
		}
		for _, r := range page.Rows {
			if full {
				r.Parts, err = st.Parts(ctx, r.Run)
				if errors.Is(err, store.ErrNotFound) {
					r.Parts, err = &store.Parts{}, nil // no longer kept: null in the row
				}
				if err != nil {
					return n, "", err
				}
			}
			if err := rows.Write(r); err != nil {
				return n, "", err
			}
			n++
		}
		if page.Next == "" || limit > 0 && n >= limit {
			return n, page.Next, nil
		}
		cursor = page.Next
	}
}

// findSite finds the run of a site in a batch.
func findSite(ctx context.Context, cfg *config, st *store.Store, b *store.Batch, site string) (t audit.Target, run store.RunID, err error) {
	if t, err = audit.ParseTarget(site, ""); err != nil {
		return t, "", usagef("--site: %v", err)
	}
	run, err = st.FindRun(ctx, b.ID, t.ProfileURL.String(), "")
	if errors.Is(err, store.ErrNotFound) {
		return t, "", usagef("%s is not in batch %s; %s lists what is", t.ProfileURL, b.ID, cfg.hint("results", string(b.ID), "--host", t.ProfileURL.Hostname()))
	}
	if err != nil {
		return t, "", undone(err)
	}
	return t, run, nil
}

// showSite shows the result of one site of a batch as audit does. kit says how
// to get its fix kit, "" for the usual way.
func showSite(ctx context.Context, s streams, cfg *config, st *store.Store, b *store.Batch, site, name, kit string) error {
	t, run, err := findSite(ctx, cfg, st, b, site)
	if err != nil {
		return err
	}
	if kit == "" {
		kit = "write it with: " + cfg.hint("results", string(b.ID), "--site", t.ProfileURL.String(), "--"+fixKitName, "DIR")
	}
	page, err := st.Results(ctx, store.Filter{Batch: b.ID, Run: run}, "", 1)
	if err != nil {
		return undone(err)
	}
	if len(page.Rows) == 0 {
		fmt.Fprintf(s.Err, "%s has no result yet: the batch is %s\n", t.ProfileURL, b.State)
		return undone(fmt.Errorf("no result yet"))
	}
	parts, err := st.Parts(ctx, run)
	if err != nil {
		return undone(err)
	}
	if isDocument(name) {
		row := page.Rows[0]
		row.Parts = parts
		doc, err := newDocumentRows(name, s.Out, format.Options{Version: programVersion(), Title: t.ProfileURL.String(), Objection: format.ObjectFailed})
		if err == nil {
			err = errors.Join(doc.Write(row), doc.End())
		}
		return err
	}
	if name == formatJSON {
		_, err = fmt.Fprintf(s.Out, "%s\n", parts.Report)
		return err
	}
	res := report.Result{Outcome: page.Rows[0].Outcome, Reason: page.Rows[0].Reason, Detail: page.Rows[0].Detail, Report: &report.Report{},
		AgentsVerdict: page.Rows[0].Agents, Agents: parts.Agents, Discovery: parts.Discovery, FixKit: parts.FixKit}
	if err := json.Unmarshal(parts.Report, res.Report); err != nil {
		return undone(fmt.Errorf("the stored report cannot be read: %w", err))
	}
	if err := printResult(s.Out, &res, kit); err != nil {
		return undone(err)
	}
	return nil
}
