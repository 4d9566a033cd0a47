package fetch

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"agentaudit/fetch/weburl"
)

// httpsPort is the only port ever connected to.
const httpsPort = 443

// Visit is one audit or scan of one site: what it looked up and connected to
// it keeps until [Visit.Close].
type Visit struct {
	c     *Client
	fresh bool
	// ctx ends with Close and cuts off what is still under way.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	hosts  map[string]*host
	closed bool
}

// host is what a visit knows of one host.
type host struct {
	v *Visit
	// name is the WHATWG host without final dot, IPv6 in brackets.
	name string
	// turn is held by the one read that uses the fields below.
	turn chan struct{}

	resolved bool
	addrs    []netip.Addr
	order    []netip.AddrPort
	// failed is why the host cannot be looked up or connected to; later reads
	// get the same answer at once.
	failed *Error
	// resting is the answer to all further reads once the host has asked to be
	// left alone.
	resting  *RestError
	admitted bool
	release  func()
	conn     *conn
	// connected: there was a finished handshake before.
	connected bool
	session   sessionSlot
}

// read is one Fetch under way.
type read struct {
	url    string // without fragment
	target string // path and query, as sent
	accept string
	max    int64
	trace  Trace
}

// Fetch makes one GET and returns the complete answer, of any status but 3xx.
// It waits until earlier reads of the same host are done; the time limit runs
// from then on. Every error is an [*Error].
func (v *Visit) Fetch(ctx context.Context, req Request) (*Response, error) {
	r, e := newRead(req)
	if e != nil {
		return nil, e
	}
	h, e := v.host(req.URL.Hostname())
	if e == nil {
		var resp *Response
		if resp, e = h.fetch(ctx, r); e == nil {
			return resp, nil
		}
	}
	e.URL, e.Trace = r.url, r.trace
	return nil, e
}

// Resolve looks a host up, with the same checks as a read and at most once in
// the visit, and returns all its addresses. Every error is an [*Error].
func (v *Visit) Resolve(ctx context.Context, hostname string) ([]netip.Addr, error) {
	h, e := v.host(hostname)
	if e != nil {
		return nil, e
	}
	ctx, done := v.bind(ctx)
	defer done()
	if e := h.take(ctx); e != nil {
		return nil, e
	}
	defer h.give()
	if e := h.lookup(ctx, &Trace{}); e != nil {
		return nil, e
	}
	return slices.Clone(h.addrs), nil
}

// Rest ends the reading of a host that has asked to be left alone for a time
// (Retry-After, RFC 9110 section 10.2.3): further reads fail with
// [KindResting]. It waits for the read under way there, if there is one.
func (v *Visit) Rest(hostname string, d time.Duration) {
	h, e := v.host(hostname)
	if e != nil {
		return // closed: nothing is read any more
	}
	h.turn <- struct{}{}
	h.resting = &RestError{For: d}
	<-h.turn
}

// Close ends the visit: reads under way fail as cancelled, connections are
// closed, admissions given back. Later calls do nothing.
func (v *Visit) Close() {
	v.mu.Lock()
	closed := v.closed
	v.closed = true
	v.mu.Unlock()
	if closed {
		return
	}
	v.cancel()
	// From here on no host is added. A read under way sees the cancellation
	// and gives its turn back soon.
	for _, h := range v.hosts {
		h.turn <- struct{}{}
		if h.conn != nil {
			h.conn.closePolitely()
			h.conn = nil
		}
		if h.release != nil {
			h.release()
		}
		<-h.turn
	}
}

// host finds or adds the host; the visit must be open.
func (v *Visit) host(name string) (*host, *Error) {
	name = strings.TrimSuffix(name, ".")
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, v.cancelled(name, context.Canceled)
	}
	h := v.hosts[name]
	if h == nil {
		h = &host{v: v, name: name, turn: make(chan struct{}, 1)}
		v.hosts[name] = h
	}
	return h, nil
}

// bind makes a context that also ends with the visit.
func (v *Visit) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(v.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (h *host) take(ctx context.Context) *Error {
	if ctx.Err() == nil {
		select {
		case h.turn <- struct{}{}:
			// The end of the visit reaches ctx a little later than h.v.ctx.
			if ctx.Err() == nil && h.v.ctx.Err() == nil {
				return nil
			}
			h.give()
		case <-ctx.Done():
		}
	}
	if err := h.v.ctx.Err(); err != nil {
		return h.v.cancelled(h.name, err)
	}
	return h.v.cancelled(h.name, context.Cause(ctx))
}

func (h *host) give() { <-h.turn }

// fetch makes the read: turn, lookup, admission, then the timed part.
func (h *host) fetch(ctx context.Context, r *read) (*Response, *Error) {
	ctx, done := h.v.bind(ctx)
	defer done()
	if e := h.take(ctx); e != nil {
		return nil, e
	}
	defer h.give()
	r.trace.Started = time.Now()
	defer func() { r.trace.Elapsed = time.Since(r.trace.Started) }()
	if h.resting != nil {
		return nil, notAdmitted(h.name, h.resting)
	}
	if e := h.lookup(ctx, &r.trace); e != nil {
		return nil, e
	}
	if e := h.enter(ctx); e != nil {
		return nil, e
	}
	resp, e := h.timed(ctx, r, time.Now().Add(h.v.c.limits.Read))
	if e != nil {
		return nil, e
	}
	r.trace.Elapsed = time.Since(r.trace.Started)
	resp.Trace = r.trace
	return resp, nil
}

// enter asks for admission, once.
func (h *host) enter(ctx context.Context) *Error {
	if h.admitted || h.v.c.admit == nil {
		return nil
	}
	addrs := make([]netip.Addr, len(h.order))
	for i, a := range h.order {
		addrs[i] = a.Addr()
	}
	release, err := h.v.c.admit(ctx, h.name, addrs)
	switch {
	case err == nil:
		h.admitted, h.release = true, release
		return nil
	case ctx.Err() != nil:
		return h.v.cancelled(h.name, context.Cause(ctx))
	}
	return notAdmitted(h.name, err)
}

// timed connects where needed and makes the exchange. A kept connection that
// turns out to be dead before a byte of the answer came is replaced once: the
// server closed it as idle, which says nothing about this file. A server that
// keeps it and stays silent has been asked.
func (h *host) timed(ctx context.Context, r *read, deadline time.Time) (*Response, *Error) {
	for replaced := false; ; replaced = true {
		c := h.conn
		h.conn = nil
		r.trace.Reused = c != nil
		if c == nil {
			var e *Error
			c, e = h.connect(ctx, deadline, &r.trace)
			switch {
			case e != nil && replaced:
				// Most of the time may have been used up before: this says
				// nothing about the next read.
				return nil, e
			case e != nil:
				return nil, h.remember(e)
			}
		}
		r.trace.Addr, r.trace.TLSVersion = c.addr, c.version
		release := c.guard(ctx, deadline)
		resp, keep, err := c.exchange(r, h)
		if release() && keep {
			h.conn = c
		} else {
			c.abort()
		}
		if err == nil {
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, h.v.cancelled(h.name, context.Cause(ctx))
		}
		if r.trace.Reused && errors.Is(err, errStale) && !isTimeout(err) {
			continue
		}
		return nil, h.explain(err, r)
	}
}

// remember keeps what makes all later reads of the host fail alike.
func (h *host) remember(e *Error) *Error {
	if e.Kind != KindCancelled && e.Kind != KindBusy {
		h.failed = e
	}
	return e.again()
}

// again is a copy for another read.
func (e *Error) again() *Error {
	copied := *e
	return &copied
}

// newRead checks that the URL may be read at all.
func newRead(req Request) (*read, *Error) {
	u := req.URL
	r := &read{accept: req.Accept, max: req.MaxBytes}
	if r.accept == "" {
		r.accept = AcceptAudit
	}
	switch {
	case u == nil:
		return nil, refusedURL("", "", "there is no URL")
	case u.HasCredentials():
		// The URL is not repeated, a password may be in it.
		return nil, refusedURL("", u.Hostname(), "the URL carries a user name or password")
	case u.Scheme() != "https":
		return nil, refusedURL(u.Location(), u.Hostname(), "only https URLs are read")
	case u.Port() != "":
		return nil, refusedURL(u.Location(), u.Hostname(), "only the standard port 443 is used")
	case !isHeaderValue(r.accept):
		return nil, refusedURL(u.Location(), u.Hostname(), "the Accept header holds control characters")
	}
	r.url, r.target = u.Location(), requestTarget(u)
	if r.target == "" {
		return nil, refusedURL(u.Location(), u.Hostname(), "the path holds characters that a request cannot")
	}
	return r, nil
}

// requestTarget is path and query exactly as the WHATWG standard writes them,
// "" if that could not stand in a request line. The standard escapes blanks,
// controls and non-ASCII; this is the net below it.
func requestTarget(u *weburl.URL) string {
	t := u.Path() + u.Query()
	if t == "" || t[0] != '/' {
		return ""
	}
	for i := range len(t) {
		if t[i] <= ' ' || t[i] > '~' {
			return ""
		}
	}
	return t
}
