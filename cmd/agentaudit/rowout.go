package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"agentaudit/store"
)

// rowWriter writes results in one of the formats. End must be called once; it
// completes what the format needs and flushes.
type rowWriter interface {
	Write(r store.Row) error
	End() error
}

// The formats of results. Table is for people, the others for programs.
const (
	formatTable  = "table"
	formatCSV    = "csv"
	formatNDJSON = "ndjson"
	formatJSON   = "json"
)

// newRowWriter returns a writer for a format, an error of use for others.
func newRowWriter(format string, w io.Writer) (rowWriter, error) {
	switch format {
	case formatTable:
		return newTable(w), nil
	case formatCSV:
		return newCSV(w)
	case formatNDJSON:
		return &ndjson{json.NewEncoder(w)}, nil
	case formatJSON:
		return &jsonArray{w: w}, nil
	}
	return nil, usagef("--format %q: use table, csv, ndjson, json, sarif, junit or markdown", clean(format))
}

type ndjson struct{ enc *json.Encoder }

func (o *ndjson) Write(r store.Row) error { return o.enc.Encode(r) }
func (o *ndjson) End() error              { return nil }

// jsonArray writes one array, a row a line, without ever holding it as a whole.
type jsonArray struct {
	w io.Writer
	n int
}

func (o *jsonArray) Write(r store.Row) error { return o.add(r) }

// add writes one element.
func (o *jsonArray) add(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	before := ",\n"
	if o.n == 0 {
		before = "[\n"
	}
	o.n++
	_, err = io.WriteString(o.w, before+string(data))
	return err
}

func (o *jsonArray) End() error {
	end := "\n]\n"
	if o.n == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(o.w, end)
	return err
}

// flatRows writes rows of one kind for programs.
type flatRows[R any] struct {
	write func(R) error
	end   func() error
}

// newFlatRows writes csv, ndjson or json; in csv nothing is run by a
// spreadsheet. It is nil for the format for people.
func newFlatRows[R any](format string, w io.Writer, header []string, cells func(R) []string) (*flatRows[R], error) {
	switch format {
	case formatTable:
		return nil, nil
	case formatNDJSON:
		enc := json.NewEncoder(w)
		return &flatRows[R]{func(r R) error { return enc.Encode(r) }, func() error { return nil }}, nil
	case formatJSON:
		a := jsonArray{w: w}
		return &flatRows[R]{func(r R) error { return a.add(r) }, a.End}, nil
	case formatCSV:
		out := csv.NewWriter(w)
		if err := out.Write(header); err != nil {
			return nil, err
		}
		return &flatRows[R]{func(r R) error {
			row := cells(r)
			for i := range row {
				row[i] = store.Inert(row[i])
			}
			return out.Write(row)
		}, func() error { out.Flush(); return out.Error() }}, nil
	}
	return nil, usagef("--format %q: use table, csv, ndjson or json", clean(format))
}

type csvRows struct {
	w     *csv.Writer
	cells []string
}

func newCSV(w io.Writer) (rowWriter, error) {
	o := &csvRows{w: csv.NewWriter(w)}
	return o, o.w.Write(store.CSVColumns)
}

func (o *csvRows) Write(r store.Row) error {
	o.cells = r.AppendCSV(o.cells[:0])
	err := o.w.Write(o.cells)
	o.w.Flush()
	if err == nil {
		err = o.w.Error()
	}
	return err
}

func (o *csvRows) End() error {
	o.w.Flush()
	return o.w.Error()
}

// table shows one line a result: what it is about, the outcome, why, and the
// verdict over agents.txt.
type table struct {
	s      *screen
	header bool
}

func newTable(w io.Writer) rowWriter { return &table{s: newScreen(w)} }

func (o *table) Write(r store.Row) error {
	// The reason has room for the longest word, the target for most; what is
	// left of the line goes to the detail.
	const outcomes, reasons, verdicts, details = 10, 17, 9, 24
	const fixed = outcomes + reasons + verdicts + 8
	targets := max(20, min(46, o.s.width-fixed-details))
	if !o.header {
		o.header = true
		if _, err := fmt.Fprintln(o.s.w, o.s.in(fmt.Sprintf("%-*s  %-*s  %-*s  %-*s  %s", outcomes, "OUTCOME", reasons, "REASON", targets, "TARGET", verdicts, "AGENTS", "DETAIL"), bold)); err != nil {
			return err
		}
	}
	name := strings.TrimSuffix(strings.TrimPrefix(r.Target, "https://"), "/agentic.json")
	if r.Label != "" {
		name = r.Label + " (" + name + ")"
	}
	room := max(o.s.width-fixed-targets, details)
	_, err := fmt.Fprintf(o.s.w, "%s  %-*s  %-*s  %-*s  %s\n", pad(outcomeWord(o.s, r.Outcome), string(r.Outcome), outcomes),
		reasons, r.Reason, targets, o.s.cut(clean(name), targets), verdicts, clean(r.Agents), o.s.cut(clean(r.Detail), room))
	return err
}

func (o *table) End() error { return nil }

// pad fills a coloured text up by the width of the plain one.
func pad(shown, plain string, n int) string {
	return shown + strings.Repeat(" ", max(n-len(plain), 0))
}
