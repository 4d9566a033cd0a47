package dashboard

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentaudit/store"
)

// rowWriter writes the rows of a view as a file. Flush completes what was
// written so far.
type rowWriter interface {
	Write(r store.Row) error
	Flush() error
}

// exportFormat is a kind of file.
type exportFormat struct {
	ending, mediaType string
	// full says that it can hold the documents.
	full bool
	open func(w io.Writer) rowWriter
}

var (
	exportCSV    = exportFormat{"csv", "text/csv; charset=utf-8; header=present", false, newCSVRows}
	exportNDJSON = exportFormat{"ndjson", "application/x-ndjson", true, newNDJSONRows}
)

// export streams exactly the rows of a view. A failure in the middle breaks
// the connection, so that half a file is not taken for a whole one.
func (s *Server) export(format exportFormat) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, q := r.Context(), s.request(r)
		if err := q.Only(append([]string{"full"}, filterParams...)...); err != nil {
			return err
		}
		b, err := pathBatch(ctx, q, s.c.Store)
		if err != nil {
			return err
		}
		f, err := readFilter(q.Query, b.ID)
		if err != nil {
			return err
		}
		full := q.Query.Get("full")
		switch {
		case full != "" && full != "0" && full != "1":
			return badRequest("The parameter full is 1 or 0, not %.40q.", full)
		case full == "1" && !format.full:
			return badRequest("A %s file cannot hold whole reports; take results.ndjson with full=1.", format.ending)
		}
		return s.writeExport(w, r, format, f, full == "1")
	}
}

// writeExport streams the rows of a view.
func (s *Server) writeExport(w http.ResponseWriter, r *http.Request, format exportFormat, f store.Filter, full bool) error {
	ctx := r.Context()
	h := w.Header()
	h.Set("Content-Type", format.mediaType)
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="agentaudit-%s.%s"`, f.Batch, format.ending))
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return nil
	}
	out := bufio.NewWriterSize(w, 64<<10)
	rows := format.open(out)
	n := 0
	extend(w)
	err := s.c.Store.EachResult(ctx, f, full, func(row store.Row) error {
		if n++; n%500 == 0 {
			extend(w)
		}
		return rows.Write(row)
	})
	if err = errors.Join(err, rows.Flush()); err == nil {
		err = out.Flush()
	}
	if err != nil {
		if ctx.Err() == nil {
			s.c.Log.ErrorContext(ctx, "an export broke off", "url", s.logged(r), "batch", f.Batch, "rows", n, "err", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

type ndjsonRows struct{ enc *json.Encoder }

func newNDJSONRows(w io.Writer) rowWriter { return ndjsonRows{json.NewEncoder(w)} }

func (o ndjsonRows) Write(r store.Row) error { return o.enc.Encode(r) }
func (o ndjsonRows) Flush() error            { return nil }

// csvHeader names the columns as the JSON rows name their members.
var csvHeader = []string{
	"batch", "entry", "line", "input", "target", "id", "label", "tags", "outcome", "reason", "detail", "valid", "publication",
	"textIndex", "readme", "agents", "failing", "warning", "attempts", "startedAt", "finishedAt", "durationMs",
}

type csvRows struct {
	w    *csv.Writer
	cols []string
}

func newCSVRows(w io.Writer) rowWriter {
	o := csvRows{csv.NewWriter(w), nil}
	_ = o.w.Write(csvHeader) // an error stays in the writer
	return &o
}

func (o *csvRows) Write(r store.Row) error {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	o.cols = append(o.cols[:0],
		string(r.Batch), number(r.Entry), number(r.Line), r.Input, r.Target, r.ID, r.Label,
		strings.Join(r.Tags, " "), string(r.Outcome), string(r.Reason), r.Detail, strconv.FormatBool(r.Valid),
		string(r.Publication), string(r.TextIndex), string(r.Readme), r.Agents, strings.Join(r.Failing, " "),
		strings.Join(r.Warning, " "), strconv.Itoa(r.Attempts), cell(r.StartedAt), cell(r.FinishedAt), number(r.DurationMs))
	for i := range o.cols {
		o.cols[i] = inert(o.cols[i])
	}
	return o.w.Write(o.cols)
}

func (o *csvRows) Flush() error {
	o.w.Flush()
	return o.w.Error()
}

// inert puts an apostrophe before text that a spreadsheet would run as a
// formula: what lists and sites say must not.
func inert(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func cell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
