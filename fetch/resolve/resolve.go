// Package resolve looks names up in the DNS: addresses with their life time,
// negative answers told apart from failures, which net.Resolver does not
// offer. It asks the recursive servers of /etc/resolv.conf, knows neither
// search lists nor /etc/hosts, and bounds its queries, its memory and its
// time. Whether an address may be connected to is not its business.
package resolve

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
)

// The defaults of [Config].
const (
	// DefaultAttempt bounds one query to one server; two of them leave a
	// second of the 5 s that a lookup may take.
	DefaultAttempt = 2 * time.Second
	// DefaultLookup bounds a lookup in all. It is a little less than the 5 s
	// after which a visit stops waiting, so that addresses of one family are
	// delivered when the other one's servers are silent to the end.
	DefaultLookup = 4500 * time.Millisecond
	// DefaultQueries bounds the queries under way at once: each needs a
	// socket of its own, because its port is half of what makes the answer
	// hard to forge.
	DefaultQueries = 128
	// DefaultEntries bounds the cache: 20,000 names are some 5 MB.
	DefaultEntries = 20_000
)

// The life of answers in the cache, whatever their TTL says.
const (
	minLife = 10 * time.Second
	maxLife = 10 * time.Minute
	// maxNegativeLife is for answers that a name does not exist.
	maxNegativeLife = time.Minute
)

// Config is what a [Resolver] is made of; the zero value is ready for use.
type Config struct {
	// Servers are the recursive servers, as IP:port. Empty means those of
	// ConfPath, read again when that file changes.
	Servers []string
	// ConfPath is a resolv.conf; empty means /etc/resolv.conf. Where the file
	// does not exist (Windows), Go's resolver is used, with a fixed life of
	// one minute in the cache.
	ConfPath string
	// Attempt, Lookup, Queries and Entries replace the defaults above.
	Attempt, Lookup  time.Duration
	Queries, Entries int
}

// Resolver looks names up. It is safe for concurrent use and meant to be
// shared by the whole process.
type Resolver struct {
	attempt, lookup time.Duration
	servers         *serverList
	cache           *cache
	queries         chan struct{}
	flights         singleflight.Group
}

// New makes a resolver. It opens nothing before the first lookup.
func New(cfg Config) *Resolver {
	if cfg.ConfPath == "" {
		cfg.ConfPath = "/etc/resolv.conf"
	}
	if cfg.Attempt == 0 {
		cfg.Attempt = DefaultAttempt
	}
	if cfg.Lookup == 0 {
		cfg.Lookup = DefaultLookup
	}
	if cfg.Queries == 0 {
		cfg.Queries = DefaultQueries
	}
	if cfg.Entries == 0 {
		cfg.Entries = DefaultEntries
	}
	return &Resolver{
		attempt: cfg.Attempt,
		lookup:  cfg.Lookup,
		servers: &serverList{fixed: cfg.Servers, path: cfg.ConfPath},
		cache:   newCache(cfg.Entries),
		queries: make(chan struct{}, cfg.Queries),
	}
}

// answer is what a lookup came to: addresses, or a NotFound error; other
// errors are not answers.
type answer struct {
	addrs []netip.Addr
	err   *Error
	life  time.Duration
}

// Lookup returns the addresses of host in the order and form in which they
// came. With fresh it asks the servers even if the cache knows an answer.
// Lookups of one name at the same time are made once. Every error but that of
// an ended ctx is an [*Error].
func (r *Resolver) Lookup(ctx context.Context, host string, fresh bool) ([]netip.Addr, error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	key := host
	if fresh {
		key = "fresh " + host
	} else if a, ok := r.cache.get(host, time.Now()); ok {
		return a.result()
	}
	// The flight does not depend on the one who happened to start it.
	flight := r.flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.lookup)
		defer cancel()
		// Another flight may have landed between the look above and this one.
		if a, ok := r.cache.get(host, time.Now()); ok && !fresh {
			return a, nil
		}
		a, err := r.ask(ctx, host)
		if err != nil {
			return nil, err
		}
		if a.life > 0 {
			r.cache.put(host, a, time.Now().Add(a.life))
		}
		return a, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case f := <-flight:
		if f.Err != nil {
			return nil, f.Err
		}
		return f.Val.(answer).result()
	}
}

func (a answer) result() ([]netip.Addr, error) {
	if a.err != nil {
		return nil, a.err
	}
	// Callers own what they get.
	return append([]netip.Addr(nil), a.addrs...), nil
}

// ask asks for both families side by side and puts the answers together. One
// family's failure does not matter where the other has addresses; without
// addresses it does, because the failed family might have had some. Only
// NXDOMAIN speaks for both.
func (r *Resolver) ask(ctx context.Context, host string) (answer, error) {
	servers, err := r.servers.get()
	if err != nil {
		return answer{}, &Error{Host: host, Detail: "the list of name servers could not be read", Err: err}
	}
	ask := r.askServers
	if servers == nil {
		ask = r.askSystem
	}
	var found [2]family
	done := make(chan struct{})
	go func() {
		defer close(done)
		found[0] = ask(ctx, servers, host, typeAAAA)
	}()
	found[1] = ask(ctx, servers, host, typeA)
	<-done

	var a answer
	for _, f := range found {
		if len(f.addrs) > 0 {
			a.addrs = append(a.addrs, f.addrs...)
			a.life = shorter(a.life, clamp(f.ttl, minLife, maxLife))
		}
	}
	if len(a.addrs) > 0 {
		return a, nil
	}
	for _, f := range found {
		if f.nxdomain {
			a.err = &Error{Host: host, NotFound: true, Detail: "the name servers do not know the name (NXDOMAIN)"}
			a.life = min(f.ttl, maxNegativeLife)
			return a, nil
		}
	}
	for _, f := range found {
		if f.err != nil {
			return answer{}, f.err
		}
	}
	a.err = &Error{Host: host, NotFound: true, Detail: "the name exists, but has no address"}
	// Without an SOA record nothing says how long that holds, and it is not kept.
	a.life = min(found[0].ttl, found[1].ttl, maxNegativeLife)
	return a, nil
}

func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

func clamp(d, low, high time.Duration) time.Duration { return min(max(d, low), high) }

// errNoServers is a resolv.conf that names none.
var errNoServers = errors.New("it names no server")
