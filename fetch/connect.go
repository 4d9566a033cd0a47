package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"time"

	"agentaudit/fetch/publicip"
)

// connect opens a TLS connection to one of the checked addresses. When an
// address accepts the connection but the handshake breaks for another reason
// than the certificate or the time, the addresses that are left get their
// chance; there is never a second finished handshake.
func (h *host) connect(ctx context.Context, deadline time.Time, t *Trace) (*conn, *Error) {
	timed, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var broken *Error
	for left := h.order; len(left) > 0; {
		started := time.Now()
		raw, addr, rest, failures := h.race(timed, left)
		t.Connect = time.Since(started)
		if raw == nil {
			if ctx.Err() != nil {
				return nil, h.v.cancelled(h.name, context.Cause(ctx))
			}
			if broken != nil {
				return nil, broken
			}
			return nil, connectFailed(h.name, failures, h.v.c.limits.Read)
		}
		t.Addr = addr
		c, err := h.handshake(ctx, raw, addr, deadline, t)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, h.v.cancelled(h.name, context.Cause(ctx))
		}
		broken = handshakeFailed(h.name, addr, err, h.v.c.limits.Read)
		if broken.Kind == KindBadCertificate || broken.Kind == KindTimeout {
			return nil, broken
		}
		left = rest
	}
	return nil, broken
}

// dialFailure is one address that did not accept a connection.
type dialFailure struct {
	addr netip.AddrPort
	err  error
}

type dialResult struct {
	conn net.Conn
	dialFailure
}

// race connects to the first address that accepts (RFC 8305 in small): each
// has a head start over the next, and a failure starts the next at once. It
// returns when no attempt is under way any more, with the addresses that were
// not tried.
func (h *host) race(ctx context.Context, addrs []netip.AddrPort) (net.Conn, netip.AddrPort, []netip.AddrPort, []dialFailure) {
	if len(addrs) == 1 {
		c, err := h.dial(ctx, addrs[0])
		if err != nil {
			return nil, netip.AddrPort{}, nil, []dialFailure{{addrs[0], err}}
		}
		return c, addrs[0], nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan dialResult, len(addrs))
	next, running := 0, 0
	start := func() {
		addr := addrs[next]
		next++
		running++
		go func() {
			c, err := h.dial(ctx, addr)
			results <- dialResult{c, dialFailure{addr, err}}
		}()
	}
	start()
	timer := time.NewTimer(h.v.c.limits.Fallback)
	defer timer.Stop()
	var won dialResult
	var failures []dialFailure
	for running > 0 {
		select {
		case <-timer.C:
		case r := <-results:
			running--
			switch {
			case r.err != nil:
				failures = append(failures, r.dialFailure)
			case won.conn != nil:
				r.conn.Close()
			default:
				won = r
				cancel()
			}
		}
		if won.conn == nil && next < len(addrs) && ctx.Err() == nil {
			start()
			timer.Reset(h.v.c.limits.Fallback)
		}
	}
	return won.conn, won.addr, addrs[next:], failures
}

// dial asserts once more what the lookup checked, right before the connection.
func (h *host) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	if err := publicip.Check(addr.Addr()); err != nil {
		return nil, err
	}
	if err := guardian.SafeAddrPort(addr); err != nil {
		return nil, err
	}
	return h.v.c.dial(ctx, addr)
}

// handshake makes TLS over raw and closes raw if that fails.
func (h *host) handshake(ctx context.Context, raw net.Conn, addr netip.AddrPort, deadline time.Time, t *Trace) (*conn, error) {
	started := time.Now()
	cfg := h.v.c.tls.Clone()
	cfg.ServerName = strings.Trim(h.name, "[]")
	if h.connected {
		cfg.ClientSessionCache = &h.session
	}
	secure := tls.Client(raw, cfg)
	c := newConn(raw, secure, addr)
	release := c.guard(ctx, deadline)
	err := secure.HandshakeContext(context.Background())
	t.TLS = time.Since(started)
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.abort()
		return nil, err
	}
	h.connected = true
	c.version = secure.ConnectionState().Version
	t.TLSVersion = c.version
	return c, nil
}

// sessionSlot keeps the last TLS session of one host, for servers that close
// the connection after every answer. It is used from the second connection on:
// tickets cost more than they save where the connection is kept.
type sessionSlot struct{ state *tls.ClientSessionState }

// Get implements tls.ClientSessionCache.
func (s *sessionSlot) Get(string) (*tls.ClientSessionState, bool) { return s.state, s.state != nil }

// Put implements tls.ClientSessionCache.
func (s *sessionSlot) Put(_ string, state *tls.ClientSessionState) { s.state = state }
