package sitelist

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// input is a list as UTF-8 text without a byte order mark.
type input struct {
	name string
	r    *bufio.Reader
	// maxLines bounds the lines, 0 for no bound.
	maxLines int64
}

// bufferSize is what is looked at to tell the form of a list.
const bufferSize = 64 << 10

// open decompresses and decodes a source.
func open(ctx context.Context, src Source) (*input, error) {
	in := &input{name: src.Name, maxLines: src.MaxLines, r: bufio.NewReaderSize(contextReader{ctx, src.Reader}, bufferSize)}
	head, err := in.peek(4)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte{0x1F, 0x8B}) {
		unpacked, err := gzip.NewReader(in.r)
		if err != nil {
			return nil, in.readError(0, 0, err)
		}
		in.r = bufio.NewReaderSize(unpacked, bufferSize)
		if src.MaxBytes > 0 {
			in.r = bufio.NewReaderSize(&boundedReader{unpacked, src.MaxBytes, src.MaxBytes}, bufferSize)
		}
		in.name = strings.TrimSuffix(in.name, ".gz")
		if head, err = in.peek(4); err != nil {
			return nil, err
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		_, _ = in.r.Discard(3) // they were peeked at
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, in.fail(0, 0, nil, "this is a zip archive or a spreadsheet's own format; save the list as CSV")
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("\xFE\xFF")):
		utf16 := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		in.r = bufio.NewReaderSize(transform.NewReader(in.r, utf16), bufferSize)
	}
	head, err = in.peek(bufferSize)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, in.fail(0, 0, nil, "this is no text: it has NUL bytes; save the list as UTF-8, or as UTF-16 with a byte order mark")
	}
	return in, nil
}

// peek gives up to n bytes; fewer at the end of the list. A failure is left
// to whoever reads that far, unless nothing could be read at all.
func (in *input) peek(n int) ([]byte, error) {
	head, err := in.r.Peek(n)
	if err != nil && err != io.EOF && len(head) == 0 {
		return nil, in.readError(0, 0, err)
	}
	return head, nil
}

// fail makes an error of this list.
func (in *input) fail(line, offset int64, cause error, format string, args ...any) error {
	return &Error{Source: in.name, Line: line, Offset: offset, Message: fmt.Sprintf(format, args...), Err: cause}
}

// readError puts a failure to read in words.
func (in *input) readError(line, offset int64, err error) error {
	var known *Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &known):
		return err
	case errors.Is(err, ErrTooLong):
		return in.fail(line, offset, err, "%v", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return in.fail(line, offset, err, "the compressed data ends too early: the file was cut off, so the list is not complete; get it again")
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return in.fail(line, offset, err, "the compressed data is damaged; get the file again")
	}
	return in.fail(line, offset, err, "the list could not be read on: %v", err)
}

// boundedReader fails behind the bytes that are left, unlike io.LimitedReader,
// which ends as if there were no more.
type boundedReader struct {
	r          io.Reader
	most, left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("%w: it has more than %d bytes when it is unpacked", ErrTooLong, b.most)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		n--
		err = nil // the next call tells
	}
	return n, err
}

// contextReader ends a read with the context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// detect tells the form of a list by its first bytes, and by its name where
// these leave it open.
func (in *input) detect(opt Options) (Format, error) {
	head, err := in.peek(bufferSize)
	if err != nil {
		return "", err
	}
	ext := strings.ToLower(path.Ext(in.name))
	first := firstLine(head)
	switch {
	case len(first) == 0:
		return FormatText, nil // nothing but blanks
	case first[0] == '<':
		if low := bytes.ToLower(first); bytes.HasPrefix(low, []byte("<!doctype html")) || bytes.HasPrefix(low, []byte("<html")) {
			return "", in.fail(0, 0, nil, "this is a web page, not a list; give its sites as text, CSV, JSON or a sitemap")
		}
		return FormatSitemap, nil
	case first[0] == '[':
		return FormatJSON, nil
	case first[0] == '{' && opt.Pointer == "":
		if ext == ".ndjson" || ext == ".jsonl" || manyObjects(head) {
			return FormatNDJSON, nil
		}
		return FormatJSON, nil
	case first[0] == '{' || opt.Pointer != "":
		return FormatJSON, nil
	case ext == ".csv" || ext == ".tsv":
		return FormatCSV, nil
	case looksLikeHeader(first, opt):
		return FormatCSV, nil
	case first[0] == '"' && !quotedCell(first):
		return FormatNDJSON, nil
	}
	return FormatText, nil
}

// quotedCell reports whether a line begins with a quoted cell of CSV: behind it
// a separator stands, and no value of JSON ends there.
func quotedCell(line []byte) bool {
	for _, comma := range []byte{',', ';', '\t'} {
		var p csvParser
		if !p.add(string(line), comma) && p.broken == "" && len(p.cells) > 1 {
			return true
		}
	}
	return false
}

// firstLine is the first line that is not blank, without outer blanks.
func firstLine(head []byte) []byte {
	head = bytes.TrimLeft(head, " \t\r\n")
	if i := bytes.IndexAny(head, "\r\n"); i >= 0 {
		head = head[:i]
	}
	return bytes.TrimSpace(head)
}

// manyObjects reports whether the object at the start ends with its line and
// another begins on a later one: that is NDJSON.
func manyObjects(head []byte) bool {
	depth, quoted := 0, false
	for i, c := range head {
		switch {
		case c == '"' && !escaped(head, i):
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				rest := bytes.TrimLeft(head[i+1:], " \t")
				ends := len(rest) > 0 && (rest[0] == '\n' || rest[0] == '\r')
				rest = bytes.TrimSpace(rest)
				return ends && len(rest) > 0
			}
		}
	}
	return false
}

func escaped(b []byte, i int) bool {
	n := 0
	for i-n-1 >= 0 && b[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}
