package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// The phases of an exchange, for the sentence about a failure.
type phase int

const (
	phaseRequest phase = iota // sending, and waiting for the first byte
	phaseHeader               // in the header
	phaseBody
)

// exchangeError is a failure on an open connection.
type exchangeError struct {
	phase  phase
	err    error
	status int // 0 before the header was complete
	header http.Header
	bytes  int64 // of the body
}

func (e *exchangeError) Error() string { return e.err.Error() }
func (e *exchangeError) Unwrap() error { return e.err }

var (
	// errStale marks a failure before the first byte of an answer, which on a
	// kept connection means that the server had closed it as idle.
	errStale       = errors.New("no byte of an answer came")
	errHeaderLimit = errors.New("the header is larger than allowed")
	errInterim     = errors.New("too many interim answers")
	errNotHTTP1    = errors.New("not an HTTP/1.1 answer")
	errTooLarge    = errors.New("the body is larger than allowed")
	errEncoding    = errors.New("the body is encoded")
	errRedirect    = errors.New("redirect")
)

// readerSize is the buffer between TLS and parser. A TLS record is copied
// through it piece by piece, bodies bypass it.
const readerSize = 4 << 10

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readerSize) }}

// conn is a TLS connection with its reader. Reads go through [conn.Read],
// which counts header bytes.
type conn struct {
	raw     net.Conn
	stream  net.Conn // TLS over raw
	br      *bufio.Reader
	addr    netip.AddrPort
	version uint16
	// headerLeft is how many bytes may still be read while a header is parsed.
	headerLeft int64
	// readErr is why the last Read failed. The parser of net/http takes a line
	// that was cut off for a whole one and forgets the error.
	readErr error
}

func newConn(raw, stream net.Conn, addr netip.AddrPort) *conn {
	c := &conn{raw: raw, stream: stream, addr: addr, br: readers.Get().(*bufio.Reader), headerLeft: math.MaxInt64}
	c.br.Reset(c)
	return c
}

// Read implements io.Reader for the buffer.
func (c *conn) Read(p []byte) (int, error) {
	if c.headerLeft <= 0 {
		c.readErr = errHeaderLimit
		return 0, errHeaderLimit
	}
	if int64(len(p)) > c.headerLeft {
		p = p[:c.headerLeft]
	}
	n, err := c.stream.Read(p)
	c.headerLeft -= int64(n)
	c.readErr = err
	return n, err
}

// guard sets the deadline and makes the end of ctx cut the connection off.
// release ends that; it returns false if ctx was faster, after which the
// connection is of no more use.
func (c *conn) guard(ctx context.Context, deadline time.Time) (release func() bool) {
	c.raw.SetDeadline(deadline)
	return context.AfterFunc(ctx, func() { c.raw.SetDeadline(time.Unix(1, 0)) })
}

// abort closes without a word: the other side gets no more of our time.
func (c *conn) abort() {
	c.raw.Close()
	c.drop()
}

// closePolitely says goodbye (close_notify) on a connection between reads.
func (c *conn) closePolitely() {
	c.stream.Close()
	c.drop()
}

func (c *conn) drop() {
	c.br.Reset(nil)
	readers.Put(c.br)
	c.br = nil
}

// exchange sends the request and reads the answer. keep reports that the
// connection can take another one. Errors are [*exchangeError].
func (c *conn) exchange(r *read, h *host) (resp *Response, keep bool, err error) {
	limits := &h.v.c.limits
	if _, err := c.stream.Write(h.request(r)); err != nil {
		return nil, false, &exchangeError{phase: phaseRequest, err: fmt.Errorf("%w: %w", errStale, err)}
	}
	c.headerLeft = limits.HeaderBytes
	if _, err := c.br.Peek(1); err != nil {
		return nil, false, &exchangeError{phase: phaseRequest, err: fmt.Errorf("%w: %w", errStale, err)}
	}
	answer, err := c.readHeader(limits.Interim)
	if err != nil {
		return nil, false, &exchangeError{phase: phaseHeader, err: err}
	}
	c.headerLeft = math.MaxInt64
	if answer.StatusCode == http.StatusRequestTimeout && r.trace.Reused {
		// Some servers say so when they close an idle connection.
		return nil, false, &exchangeError{phase: phaseRequest, err: errStale}
	}
	failed := func(p phase, n int64, err error) *exchangeError {
		return &exchangeError{phase: p, err: err, status: answer.StatusCode, header: answer.Header, bytes: n}
	}
	if answer.StatusCode >= 300 && answer.StatusCode <= 399 {
		return nil, c.skip(answer), failed(phaseBody, 0, errRedirect)
	}
	if isEncoded(answer.Header) {
		return nil, c.skip(answer), failed(phaseBody, 0, errEncoding)
	}
	body, err := readBody(answer, r.max)
	if err != nil {
		return nil, false, failed(phaseBody, int64(len(body)), err)
	}
	return &Response{
		URL:         r.url,
		Status:      answer.StatusCode,
		Header:      answer.Header,
		ContentType: answer.Header.Get("Content-Type"),
		Body:        body,
		Bytes:       int64(len(body)),
		RetryAfter:  retryAfter(answer.Header, time.Now()),
	}, c.reusable(answer), nil
}

// readHeader reads the final header, past at most interim 1xx answers.
func (c *conn) readHeader(interim int) (*http.Response, error) {
	for n := 0; ; n++ {
		answer, err := http.ReadResponse(c.br, nil)
		switch {
		case c.readErr == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case c.readErr != nil:
			return nil, c.readErr
		case err != nil:
			return nil, err
		case answer.ProtoMajor != 1 || answer.StatusCode < 100 || answer.StatusCode == http.StatusSwitchingProtocols:
			return nil, errNotHTTP1
		case answer.StatusCode >= 200:
			return answer, nil
		case n == interim:
			return nil, errInterim
		}
	}
}

// skip gets an unwanted body out of the way if all of it is in the buffer
// already, and reports whether the connection can be kept: waiting for a body
// that nobody reads costs more than a new connection.
func (c *conn) skip(answer *http.Response) bool {
	n := answer.ContentLength
	if n < 0 || n > int64(c.br.Buffered()) {
		return false
	}
	c.br.Discard(int(n))
	return c.reusable(answer)
}

// reusable refuses a connection on which more than the answer has come: the
// next answer would not be the one to the next request.
func (c *conn) reusable(answer *http.Response) bool {
	return !answer.Close && c.br.Buffered() == 0
}

// request is everything that is ever sent. All its parts were checked for
// printable ASCII.
func (h *host) request(r *read) []byte {
	userAgent := h.v.c.userAgent
	b := make([]byte, 0, 128+len(r.target)+len(h.name)+len(userAgent)+len(r.accept))
	b = append(b, "GET "...)
	b = append(b, r.target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, h.name...)
	b = append(b, "\r\nUser-Agent: "...)
	b = append(b, userAgent...)
	b = append(b, "\r\nAccept: "...)
	b = append(b, r.accept...)
	return append(b, "\r\nAccept-Encoding: identity\r\n\r\n"...)
}

// isEncoded reports any content coding but identity, without regard to case.
func isEncoded(h http.Header) bool {
	for _, v := range h["Content-Encoding"] {
		for coding := range strings.SplitSeq(v, ",") {
			coding = strings.TrimSpace(coding)
			if coding != "" && !strings.EqualFold(coding, "identity") {
				return true
			}
		}
	}
	return false
}

// firstBuffer is what a body gets before it has shown that it is larger: a
// promise (Content-Length) must not cost us memory.
const firstBuffer = 16 << 10

// readBody reads at most limit bytes and fails for one more. On failure it
// returns what had come.
func readBody(answer *http.Response, limit int64) ([]byte, error) {
	declared := answer.ContentLength
	if declared > limit {
		return nil, errTooLarge
	}
	// One byte beyond the limit shows that there is more; one byte beyond the
	// declared length lets the reader report its end without growing.
	most := limit + 1
	if declared >= 0 {
		most = declared + 1
	}
	size := min(most, firstBuffer)
	if declared < 0 {
		size = min(most, readerSize)
	}
	body := make([]byte, 0, size)
	for {
		n, err := answer.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return body[:limit], errTooLarge
		case err == io.EOF:
			return body, nil
		case err != nil:
			return body, err
		}
		if len(body) == cap(body) {
			grown := make([]byte, len(body), min(most, 2*int64(cap(body))))
			copy(grown, body)
			body = grown
		}
	}
}
