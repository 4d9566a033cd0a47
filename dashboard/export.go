package dashboard

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

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
	// shared says that it is for strangers.
	shared bool
	open   func(w io.Writer) rowWriter
}

var (
	exportCSV    = exportFormat{"csv", "text/csv; charset=utf-8; header=present", false, false, newCSVRows}
	exportNDJSON = exportFormat{"ndjson", "application/x-ndjson", true, false, newNDJSONRows}
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
	name := string(f.Batch)
	if format.shared {
		name = "results" // the page does not tell the batch's id either
	}
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="agentaudit-%s.%s"`, name, format.ending))
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

// csvRows writes what cells appends for a row.
type csvRows struct {
	w     *csv.Writer
	cols  []string
	cells func(r store.Row, cols []string) []string
}

func newCSVRows(w io.Writer) rowWriter { return csvOf(w, store.CSVColumns, store.Row.AppendCSV) }

func csvOf(w io.Writer, head []string, cells func(store.Row, []string) []string) rowWriter {
	o := csvRows{csv.NewWriter(w), nil, cells}
	_ = o.w.Write(head) // an error stays in the writer
	return &o
}

func (o *csvRows) Write(r store.Row) error {
	o.cols = o.cells(r, o.cols[:0])
	return o.w.Write(o.cols)
}

func (o *csvRows) Flush() error {
	o.w.Flush()
	return o.w.Error()
}
