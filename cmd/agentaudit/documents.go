package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/format"
	"agentaudit/audit/report"
	"agentaudit/store"
)

// formatText is what audit prints for people.
const formatText = "text"

// isDocument reports whether a format is one for CI systems.
func isDocument(name string) bool { return slices.Contains(format.Names, format.Name(name)) }

func baselineFlag() cli.Flag {
	return &cli.StringFlag{Name: "baseline", Usage: "mark findings that `FILE`, an earlier output (json, ndjson or sarif), does not have, and object to these alone"}
}

// readBaseline reads the file that --baseline names, nil for none.
func readBaseline(c *cli.Context) (*format.Baseline, error) {
	if !c.IsSet("baseline") {
		return nil, nil
	}
	name := c.String("baseline")
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("cannot read --baseline: %w", err)
	}
	defer f.Close()
	b, err := format.ReadBaseline(f)
	if err != nil {
		return nil, usagef("--baseline %s: %w", clean(name), err)
	}
	return b, nil
}

// resultEntry is the result of an audit for a document.
func resultEntry(res *report.Result) *format.Entry {
	return &format.Entry{
		Target: res.Report.ProfileURL, Outcome: res.Outcome, Reason: res.Reason, Detail: res.Detail, Report: res.Report, Agents: res.Agents,
		Started: res.StartedAt, Took: res.FinishedAt.Sub(res.StartedAt),
	}
}

// rowEntry is a row for a document. A row without its documents has only the
// ids of what is not a pass, enough for a comparison.
func rowEntry(r store.Row) (*format.Entry, error) {
	e := &format.Entry{
		Target: r.Target, ID: r.ID, Label: r.Label, Outcome: r.Outcome, Reason: r.Reason, Detail: r.Detail,
		Started: r.StartedAt, Took: time.Duration(r.DurationMs) * time.Millisecond,
	}
	switch {
	case r.Outcome == store.Cancelled:
	case r.Parts != nil && r.Parts.Report != nil:
		e.Report, e.Agents = &report.Report{}, r.Parts.Agents
		if err := json.Unmarshal(r.Parts.Report, e.Report); err != nil {
			return nil, fmt.Errorf("the stored report of %s cannot be read: %w", r.Target, err)
		}
	default:
		e.Report = &report.Report{ProfileURL: r.Target}
		for _, id := range r.Failing {
			e.Report.Checks = append(e.Report.Checks, report.Check{ID: id, Status: report.Fail})
		}
		for _, id := range r.Warning {
			e.Report.Checks = append(e.Report.Checks, report.Check{ID: id, Status: report.Warn})
		}
	}
	return e, nil
}

// documentRows writes rows as a document; they need their parts. A site that
// stands in the list more than once is written once.
type documentRows struct {
	w    format.Writer
	seen map[store.RunID]bool
}

func newDocumentRows(name string, w io.Writer, o format.Options) (rowWriter, error) {
	doc, err := format.NewWriter(format.Name(name), w, o)
	if err != nil {
		return nil, usagef("--format: %w", err)
	}
	return &documentRows{doc, map[store.RunID]bool{}}, nil
}

func (d *documentRows) Write(r store.Row) error {
	if d.seen[r.Run] {
		return nil
	}
	d.seen[r.Run] = true
	e, err := rowEntry(r)
	if err != nil {
		return err
	}
	return d.w.Write(e)
}

func (d *documentRows) End() error { return d.w.End() }

// printDocument writes all results of a batch as a document.
func printDocument(ctx context.Context, w io.Writer, st *store.Store, b *store.Batch, name string, o format.Options) error {
	out := bufio.NewWriter(w)
	o.Version, o.Title = programVersion(), batchName(b)
	rows, err := newDocumentRows(name, out, o)
	if err != nil {
		return err
	}
	if err := errors.Join(st.EachResult(ctx, store.Filter{Batch: b.ID}, true, rows.Write), rows.End(), out.Flush()); err != nil {
		return undone(err)
	}
	return nil
}

// hasNew reports whether a batch has a finding that is objected to and not in
// the baseline, at a site with one of the outcomes.
func hasNew(ctx context.Context, st *store.Store, b *store.Batch, known *format.Baseline, o format.Objection, outcomes ...report.Outcome) (bool, error) {
	found := errors.New("found")
	err := st.EachResult(ctx, store.Filter{Batch: b.ID}, false, func(r store.Row) error {
		if !slices.Contains(outcomes, r.Outcome) {
			return nil
		}
		e, err := rowEntry(r)
		if err != nil {
			return err
		}
		if fresh, err := known.New(e, o); err != nil || !fresh {
			return err
		}
		return found
	})
	if errors.Is(err, found) {
		return true, nil
	}
	return false, err
}
