package fetch

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"agentaudit/fetch/publicip"
	"agentaudit/fetch/resolve"
)

// lookup finds and checks the addresses of the host, once per visit; a
// failure is remembered like a success.
func (h *host) lookup(ctx context.Context, t *Trace) *Error {
	if h.failed != nil {
		return h.failed.again()
	}
	if h.resolved {
		return nil
	}
	started := time.Now()
	addrs, e := h.find(ctx)
	t.DNS = time.Since(started)
	if e == nil {
		e = checkAll(h.name, addrs)
	}
	if e != nil {
		return h.remember(e)
	}
	h.resolved, h.addrs = true, addrs
	h.order = tryOrder(addrs, h.v.c.limits.Addresses)
	return nil
}

func (h *host) find(ctx context.Context) ([]netip.Addr, *Error) {
	// WHATWG parsing has brought every spelling of an address to this form.
	if a, err := netip.ParseAddr(strings.Trim(h.name, "[]")); err == nil {
		return []netip.Addr{a}, nil
	}
	if isLocalName(h.name) {
		return nil, refusedName(h.name)
	}
	if !isHostName(h.name) {
		return nil, noSuchHost(h.name, "it is no valid host name", nil)
	}
	limited, cancel := context.WithTimeout(ctx, h.v.c.limits.DNS)
	defer cancel()
	addrs, err := h.v.c.resolver.Lookup(limited, h.name, h.v.fresh)
	if err == nil && len(addrs) > 0 {
		return addrs, nil
	}
	if ctx.Err() != nil {
		return nil, h.v.cancelled(h.name, context.Cause(ctx))
	}
	if err == nil {
		return nil, noSuchHost(h.name, "", nil)
	}
	if re, ok := errors.AsType[*resolve.Error](err); ok && re.NotFound {
		return nil, noSuchHost(h.name, re.Detail, err)
	}
	return nil, dnsFailed(h.name, err, limited.Err() != nil, h.v.c.limits.DNS)
}

// checkAll refuses the name for the first address that is not public.
func checkAll(host string, addrs []netip.Addr) *Error {
	for _, a := range addrs {
		if err := publicip.Check(a); err != nil {
			return refusedAddr(host, a, len(addrs), err)
		}
	}
	return nil
}

// tryOrder takes both families in turn, IPv6 first, each in the order of the
// answer, and leaves out what is over the limit.
func tryOrder(addrs []netip.Addr, limit int) []netip.AddrPort {
	var v6, v4 []netip.Addr
	for _, a := range addrs {
		if a.Is4() {
			v4 = append(v4, a)
		} else {
			v6 = append(v6, a)
		}
	}
	order := make([]netip.AddrPort, 0, min(limit, len(addrs)))
	for i := 0; len(order) < cap(order); i++ {
		for _, family := range [2][]netip.Addr{v6, v4} {
			if i < len(family) && len(order) < cap(order) {
				order = append(order, netip.AddrPortFrom(family[i], httpsPort))
			}
		}
	}
	return order
}

// isLocalName reports names that never leave the machine or the local network
// (RFC 6761, RFC 6762); asking the public DNS for them would be wrong.
func isLocalName(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		name == "local" || strings.HasSuffix(name, ".local")
}

// isHostName accepts letters, digits, hyphens and underscores in labels of 1
// to 63 within 253 (RFC 1123, and the underscore that browsers allow).
// Certificates are not issued for anything else.
func isHostName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) < 1 || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}
