package resolve

import (
	"context"
	"net/netip"
	"time"
)

// Ask looks host up without cache and says how long the answer would be kept.
func (r *Resolver) Ask(ctx context.Context, host string) ([]netip.Addr, time.Duration, error) {
	a, err := r.ask(ctx, host)
	if err == nil && a.err != nil {
		err = a.err
	}
	return a.addrs, a.life, err
}

// Servers is the list as it is now.
func (r *Resolver) Servers() ([]string, error) { return r.servers.get() }

// Cached is how many answers are kept.
func (r *Resolver) Cached() int { return len(r.cache.entries) }
