// Package sitelist reads lists of sites in the forms in which people have
// them: plain text, CSV, JSON, NDJSON and sitemaps (pipeline specification,
// "Sources of a list"). A list is read as a stream, so a list of a million
// lines never stands in memory, and a bad line never stops a list: it is
// handed on with the reason why it was rejected.
package sitelist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"agentaudit/fetch/weburl"
)

// Format is the form of a list.
type Format string

// The forms. FormatAuto decides by content first and by name second.
const (
	FormatAuto    Format = ""
	FormatText    Format = "text"
	FormatCSV     Format = "csv"
	FormatJSON    Format = "json"
	FormatNDJSON  Format = "ndjson"
	FormatSitemap Format = "sitemap"
)

// Formats lists the forms that can be asked for.
var Formats = []Format{FormatText, FormatCSV, FormatJSON, FormatNDJSON, FormatSitemap}

const (
	// MaxLine is the longest line of text and the longest record of CSV that
	// is read, in bytes; longer ones are rejected.
	MaxLine = 64 << 10
	// MaxElement is the longest line of NDJSON and the largest element of
	// JSON and sitemaps, in bytes.
	MaxElement = 1 << 20
	// MaxText bounds the texts of a [Line], in bytes.
	MaxText = 4 << 10
	// guessBytes is how much of a JSON document is looked at to find its list.
	guessBytes = 4 << 20
)

// Source is where a list comes from.
type Source struct {
	// Name is shown in errors and helps to tell the form: a file name, or "-"
	// for standard input.
	Name string
	// Reader gives the bytes: UTF-8, UTF-16 with a byte order mark, any of
	// them gzipped.
	Reader io.Reader
	// Open opens another local file that a sitemap index names; name is
	// relative to the index and slash-separated. Where Open is nil, what an
	// index names is rejected.
	Open func(name string) (io.ReadCloser, error)
	// MaxBytes bounds the list in bytes, after it was unpacked, and MaxLines its
	// lines, blank ones included; 0 is no bound. A list that is longer ends with
	// an [Error] that wraps [ErrTooLong]: what came over the network can be a
	// thousand times as large when it is unpacked.
	MaxBytes, MaxLines int64
}

// ErrTooLong says that a list is longer than its [Source] may be.
var ErrTooLong = errors.New("the list is too long")

// OpenFile opens a list that is a file, with the files beside it that a
// sitemap index may name (symbolic links do not lead out of its folder).
func OpenFile(path string) (Source, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return Source{}, nil, err
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return Source{}, nil, errors.Join(err, f.Close())
	}
	beside := func(name string) (io.ReadCloser, error) { return folder.Open(filepath.FromSlash(name)) }
	return Source{Name: path, Reader: f, Open: beside}, closers{f, folder}, nil
}

type closers []io.Closer

func (c closers) Close() error {
	var all error
	for _, one := range c {
		all = errors.Join(all, one.Close())
	}
	return all
}

// Options say how to read a list; the zero value finds out by itself. Column
// names compare without case and outer blanks. They name columns of CSV and
// members of JSON objects alike.
type Options struct {
	Format Format `json:"format,omitempty"`
	// Column has the site. By default it is the first of url, website, site,
	// homepage, domain, origin, link.
	Column string `json:"column,omitempty"`
	// Pointer is the JSON Pointer (RFC 6901) of the list in a JSON document.
	Pointer string `json:"pointer,omitempty"`
	// IDColumn has the listing's own id (default id, slug), LabelColumn its
	// name (default label, name, title), TagColumn its tags (default tags,
	// tag), ReadmeColumn its README URL (default readmeUrl, readme_url, readme).
	IDColumn     string `json:"idColumn,omitempty"`
	LabelColumn  string `json:"labelColumn,omitempty"`
	TagColumn    string `json:"tagColumn,omitempty"`
	ReadmeColumn string `json:"readmeColumn,omitempty"`
}

// Line is one line of a list, accepted or rejected.
type Line struct {
	// File is the file that a sitemap index names, else "".
	File string
	// Number is the line in the source, from 1, for text, CSV and NDJSON (a
	// CSV record's first line), and the number of the element for JSON and
	// sitemaps.
	Number int64
	// Text is what the list says where the site should stand, without outer
	// white space. Of a rejected line without such a place it is the whole
	// line. At most [MaxText] bytes, and without a password; a note says where
	// something was left out.
	Text string
	// ID, Label and Tags are what the list knows of the site, at most
	// [MaxText] bytes each.
	ID, Label string
	Tags      []string
	// Target is what to audit, ReadmeURL where its README is (nil: beside the
	// profile). Both are nil in a rejected line.
	Target, ReadmeURL *weburl.URL
	// Reject is a sentence that says why the line was rejected, "" if it was
	// accepted.
	Reject string
	// Notes say what was done to the line, for instance that invisible
	// characters were removed.
	Notes []string
}

// Error says what is wrong with a list as a whole. The lines before it were
// handed on.
type Error struct {
	// Source is the name of the list, Line the line in it and Offset the byte
	// (after decompression and decoding) where the trouble is; 0 if unknown.
	Source       string
	Line, Offset int64
	// Message is a sentence without a final full stop that says what to do.
	Message string
	Err     error
}

// Error names the source, the place and what to do.
func (e *Error) Error() string {
	where := e.Source
	if where == "" {
		where = "the list"
	}
	if e.Line > 0 {
		where += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Offset > 0 {
		where += fmt.Sprintf(" (byte %d)", e.Offset)
	}
	return where + ": " + e.Message
}

// Unwrap gives the cause, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// sink takes a line and reports whether more are wanted.
type sink func(Line) bool

// errStop ends a reader whose lines are not wanted any more.
var errStop = errors.New("no more lines are wanted")

// Read reads a list. Each step gives a line, accepted or rejected, and a nil
// error; or, as the last step, a zero line and an [*Error] or the context's
// error.
func Read(ctx context.Context, src Source, opt Options) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		err := readList(ctx, src, opt, func(l Line) bool { return yield(l, nil) })
		if err != nil && err != errStop {
			yield(Line{}, err)
		}
	}
}

// ReadArgs reads sites given as arguments; Number counts them from 1.
func ReadArgs(args []string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for i, a := range args {
			if !yield(makeLine(int64(i+1), entry{site: a}), nil) {
				return
			}
		}
	}
}

// readList gives errStop when the sink wants no more.
func readList(ctx context.Context, src Source, opt Options, to sink) error {
	in, err := open(ctx, src)
	if err != nil {
		return err
	}
	format := opt.Format
	guessed := format == FormatAuto
	if guessed {
		if format, err = in.detect(opt); err != nil {
			return err
		}
	}
	switch format {
	case FormatText:
		return readText(in, guessed, to)
	case FormatCSV:
		return readCSV(in, opt, to)
	case FormatNDJSON:
		return readNDJSON(in, opt, to)
	case FormatJSON:
		return readJSON(in, opt, to)
	case FormatSitemap:
		return readSitemap(ctx, in, src.Open, to)
	}
	return in.fail(0, 0, nil, "there is no form of lists named %q; the forms are %s", format, joinFormats())
}

func joinFormats() string {
	var names []string
	for _, f := range Formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}
