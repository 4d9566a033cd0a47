package listing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
	"agentaudit/store"
)

// The limits of one reading, as used for zero values in [Budget].
const (
	DefaultPages    = 50_000
	DefaultBytes    = 4 << 30
	DefaultListings = 5_000_000
	DefaultWait     = 15 * time.Minute
)

// maxPage is the largest page, in bytes.
const maxPage = 16 << 20

// Budget bounds a reading.
type Budget struct {
	Pages, Bytes, Listings int64
	// Wait is the longest time that the API may ask to be left alone with
	// Retry-After.
	Wait time.Duration
}

func (b Budget) withDefaults() Budget {
	if b.Pages == 0 {
		b.Pages = DefaultPages
	}
	if b.Bytes == 0 {
		b.Bytes = DefaultBytes
	}
	if b.Listings == 0 {
		b.Listings = DefaultListings
	}
	if b.Wait == 0 {
		b.Wait = DefaultWait
	}
	return b
}

// retries are the waits after a page that could not be read.
var retries = []time.Duration{time.Second, 4 * time.Second, 15 * time.Second, time.Minute}

// PageError says that a page could not be read. What was read before stays.
type PageError struct {
	// URL is the page.
	URL string
	// Message is a sentence without a final full stop that says what to do.
	Message string
	// Status is the HTTP status, 0 where no answer came.
	Status int
	Err    error
}

// Error names the page and the trouble.
func (e *PageError) Error() string { return e.URL + ": " + e.Message }

// Unwrap is the cause.
func (e *PageError) Unwrap() error { return e.Err }

// reader reads pages.
type reader struct {
	client *fetch.Client
	budget Budget
	sleep  func(context.Context, time.Duration) error
	note   func(format string, args ...any)
	visit  *fetch.Visit
	bytes  int64
}

func (r *reader) close() {
	if r.visit != nil {
		r.visit.Close()
		r.visit = nil
	}
}

// get reads a page, again after passing troubles. Every error but that of an
// ended ctx is a [*PageError].
func (r *reader) get(ctx context.Context, u *weburl.URL) (any, http.Header, error) {
	for attempt := 0; ; attempt++ {
		value, header, wait, err := r.once(ctx, u)
		if err == nil {
			return value, header, nil
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if wait < 0 {
			return nil, nil, err
		}
		if wait > r.budget.Wait {
			err.Message = fmt.Sprintf("it asks to be left alone for %s; go on then", wait.Round(time.Second))
			return nil, nil, err
		}
		if attempt >= len(retries) {
			return nil, nil, err
		}
		wait = max(wait, retries[attempt])
		r.note("%v; trying again in %s", err, wait)
		if err := r.sleep(ctx, wait); err != nil {
			return nil, nil, err
		}
	}
}

// once makes one attempt. wait is how long to wait before another, negative
// where none makes sense.
func (r *reader) once(ctx context.Context, u *weburl.URL) (any, http.Header, time.Duration, *PageError) {
	if r.visit == nil {
		r.visit = r.client.Visit(fetch.Fresh())
	}
	resp, err := r.visit.Fetch(ctx, fetch.Request{URL: u, Accept: "application/json", MaxBytes: maxPage})
	if err != nil {
		r.close() // a visit keeps what it knows of a host
		bad := &PageError{URL: u.Location(), Message: err.Error(), Err: err}
		var wait time.Duration = -1
		if e, ok := errors.AsType[*fetch.Error](err); ok {
			bad.Status = e.Status
			switch {
			case e.Kind == fetch.KindRedirect:
				bad.Message = fmt.Sprintf("it redirects to %.200q; redirects are not followed, give that address itself if it is the one you mean", store.PlainAddress(e.Location))
			case e.Kind.Temporary() || e.Kind.Confirm():
				wait = e.RetryAfter
			}
		}
		return nil, nil, wait, bad
	}
	r.bytes += resp.Bytes
	bad := &PageError{URL: resp.URL, Status: resp.Status}
	switch s := resp.Status; {
	case s == http.StatusOK:
	case s == http.StatusTooManyRequests || s >= 500:
		bad.Message = fmt.Sprintf("it answers with status %d", s)
		return nil, nil, resp.RetryAfter, bad
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		bad.Message = fmt.Sprintf("it answers with status %d: the listing is not public; save it to a file and give that", s)
		return nil, nil, -1, bad
	default:
		bad.Message = fmt.Sprintf("it answers with status %d; check the address of the listing", s)
		return nil, nil, -1, bad
	}
	value, err := decode(resp.Body)
	if err != nil {
		bad.Message, bad.Err = "the page is not JSON: "+err.Error(), err
		if isHTML(resp.Body) {
			bad.Message = "it is a web page, not JSON; give the address of the directory's listing API"
		}
		return nil, nil, 0, bad
	}
	return value, resp.Header, 0, nil
}

func decode(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\uFEFF"))))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more behind the document")
	}
	return v, nil
}

func isHTML(body []byte) bool {
	return strings.HasPrefix(strings.TrimSpace(string(body[:min(len(body), 200)])), "<")
}
