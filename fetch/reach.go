package fetch

import (
	"context"
	"time"
)

// Reach finds out whether a host can be reached at all: it looks the name up
// anew and opens a TCP connection to one of its addresses, which it closes
// without a word. It takes at most the time of a lookup and a read. The error is
// an [*Error]; one whose kind is not [Kind.Network] came from somebody who
// answered.
func (c *Client) Reach(ctx context.Context, hostname string) error {
	v := c.Visit(Fresh())
	defer v.Close()
	h, e := v.host(hostname)
	if e != nil {
		return e
	}
	if e := h.take(ctx); e != nil {
		return e
	}
	defer h.give()
	if e := h.lookup(ctx, &Trace{}); e != nil {
		return e
	}
	timed, cancel := context.WithDeadline(ctx, time.Now().Add(c.limits.Read))
	defer cancel()
	raw, _, _, failures := h.race(timed, h.order)
	switch {
	case raw != nil:
		_ = raw.Close() // nothing was said on it
		return nil
	case ctx.Err() != nil:
		return v.cancelled(h.name, context.Cause(ctx))
	}
	return connectFailed(h.name, failures, c.limits.Read)
}
