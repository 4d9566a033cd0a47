package sitelist

import (
	"bytes"
	"errors"
	"io"
)

// lineReader reads lines that end in "\n", "\r\n" or "\r".
type lineReader struct {
	in  *input
	max int
	buf []byte
	// start and end bound what is in buf and was not given yet.
	start, end int
	err        error
	// number is that of the last line, offset where the next one begins.
	number, offset int64
}

func newLineReader(in *input, max int) *lineReader {
	return &lineReader{in: in, max: max, buf: make([]byte, max+bufferSize)}
}

// next gives a line without its end, valid until the next call. long says
// that it is longer than allowed; then it is the first [MaxText] bytes or so.
// The error is io.EOF at the end; after any other error the line that it cut
// off is not given, since half a URL is another URL.
func (l *lineReader) next() (line []byte, long bool, err error) {
	line, long, err = l.read()
	if err == nil && l.in.maxLines > 0 && l.number > l.in.maxLines {
		return nil, false, l.in.fail(l.number, 0, ErrTooLong, "the list has more than %d lines, blank ones included", l.in.maxLines)
	}
	return line, long, err
}

func (l *lineReader) read() (line []byte, long bool, err error) {
	scanned := l.start
	var kept []byte
	for {
		if i := bytes.IndexByte(l.buf[scanned:l.end], '\n'); i >= 0 {
			// An earlier "\r" is looked for no further than that.
			return l.give(scanned, scanned+i, kept)
		}
		if i := bytes.IndexByte(l.buf[scanned:l.end], '\r'); i >= 0 && (scanned+i+1 < l.end || l.err != nil) {
			return l.give(scanned, scanned+i+1, kept)
		}
		scanned = l.end
		if l.end > l.start && l.buf[l.end-1] == '\r' {
			scanned--
		}
		if l.end-l.start > l.max {
			if kept == nil {
				kept = bytes.Clone(l.buf[l.start : l.start+MaxText])
			}
			l.offset += int64(scanned - l.start)
			l.start = scanned
		}
		if l.err != nil {
			return l.last(kept)
		}
		if l.start > 0 {
			copy(l.buf, l.buf[l.start:l.end])
			l.end -= l.start
			scanned -= l.start
			l.start = 0
		}
		n, err := l.in.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
	}
}

// give returns the line up to the first line end in buf[scanned:stop+1],
// where buf[stop] is "\n" or follows a "\r".
func (l *lineReader) give(scanned, stop int, kept []byte) ([]byte, bool, error) {
	upto := min(stop+1, l.end)
	if i := bytes.IndexByte(l.buf[scanned:upto], '\r'); i >= 0 {
		stop = scanned + i
	}
	after := stop + 1
	if l.buf[stop] == '\r' && after < l.end && l.buf[after] == '\n' {
		after++
	}
	line := l.buf[l.start:stop]
	l.offset += int64(after - l.start)
	l.start = after
	l.number++
	if kept != nil {
		return kept, true, nil
	}
	if len(line) > l.max {
		return line[:MaxText], true, nil
	}
	return line, false, nil
}

// last returns what stands behind the last line end.
func (l *lineReader) last(kept []byte) ([]byte, bool, error) {
	if !errors.Is(l.err, io.EOF) {
		return nil, false, l.in.readError(l.number+1, l.offset, l.err)
	}
	line := l.buf[l.start:l.end]
	if kept == nil && len(line) == 0 {
		return nil, false, io.EOF
	}
	l.offset += int64(len(line))
	l.start = l.end
	l.number++
	if kept != nil {
		return kept, true, nil
	}
	return line, false, nil
}
