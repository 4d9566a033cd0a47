package fakenet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"agentaudit/fetch"
	"agentaudit/fetch/publicip"
)

// Options are the ways to make a [Net].
type Options struct {
	// Loopback makes connections real ones, on 127.0.0.1.
	Loopback bool
	// Missing answers what a site was not given; nil means 404, text/plain,
	// "Missing".
	Missing http.Handler
}

// Net is the fake internet. All methods are safe for concurrent use, but
// sites are best set up before they are read.
type Net struct {
	ca      *authority
	http    *http.Server
	tls     *tls.Config
	conns   *connQueue
	loop    *loopback // nil without Options.Loopback
	missing http.Handler

	mu      sync.Mutex
	sites   map[string]*Site
	byAddr  map[netip.Addr]*Site
	manners map[netip.Addr]AddrManner
	nextV4  uint32
	dials   []Dial
	stats   map[string]*HostStats // by host
	open    map[net.Conn]struct{}
	closed  bool
	stops   []func()
	onHello func(*tls.ClientHelloInfo)
	serving sync.WaitGroup
}

// Dial is one attempt to connect.
type Dial struct {
	Addr netip.AddrPort
	// Refused is why the fake internet would not hear of it: the address is
	// not public or the port not 443. Such a dial is a bug of the caller.
	Refused error
}

// New makes an empty internet. It must be closed.
func New(o Options) *Net {
	n := &Net{
		ca:      newAuthority(),
		conns:   newConnQueue(),
		missing: o.Missing,
		sites:   map[string]*Site{},
		byAddr:  map[netip.Addr]*Site{},
		manners: map[netip.Addr]AddrManner{},
		stats:   map[string]*HostStats{},
		open:    map[net.Conn]struct{}{},
	}
	if n.missing == nil {
		n.missing = Text(404, "Missing")
	}
	if o.Loopback {
		n.loop = newLoopback()
	}
	n.tls = &tls.Config{GetConfigForClient: n.configFor, NextProtos: []string{"http/1.1"}}
	n.http = &http.Server{
		Handler: http.HandlerFunc(n.serveHTTP),
		// What strangers' servers complain of is of no interest.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	n.serving.Go(func() { n.http.Serve(n.conns) })
	return n
}

// Close ends all connections and servers and waits for them; handlers must
// return when their connection is closed.
func (n *Net) Close() {
	n.mu.Lock()
	n.closed = true
	for c := range n.open {
		c.Close()
	}
	stops := n.stops
	n.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	n.http.Close()
	n.conns.Close()
	if n.loop != nil {
		n.loop.Close()
	}
	n.serving.Wait()
}

// RootCAs trusts the internet's own issuer and nobody else.
func (n *Net) RootCAs() *x509.CertPool { return n.ca.pool }

// Config is a configuration for a client of this internet.
func (n *Net) Config() fetch.Config {
	return fetch.Config{Resolver: n.Resolver(), Dial: n.Dial, RootCAs: n.RootCAs()}
}

// Client makes a client of this internet; what cfg leaves nil of resolver,
// dialler and roots is filled in. It panics if cfg is unusable.
func (n *Net) Client(cfg fetch.Config) *fetch.Client {
	own := n.Config()
	if cfg.Resolver == nil {
		cfg.Resolver = own.Resolver
	}
	if cfg.Dial == nil {
		cfg.Dial = own.Dial
	}
	if cfg.RootCAs == nil {
		cfg.RootCAs = own.RootCAs
	}
	c, err := fetch.New(cfg)
	if err != nil {
		panic(err)
	}
	return c
}

// Site finds or adds a host, in WHATWG form and without final dot.
func (n *Net) Site(host string) *Site {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.sites[host]; s != nil {
		return s
	}
	s := &Site{net: n, host: host, paths: map[string]http.Handler{}}
	n.sites[host] = s
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		s.setAddrs(a)
	} else {
		s.setAddrs(n.newV4())
	}
	return s
}

// newV4 hands out 20.0.0.1, 20.0.0.2 and so on, all of them public.
func (n *Net) newV4() netip.Addr {
	n.nextV4++
	i := n.nextV4
	return netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)})
}

// Handle gives a whole host to a handler; paths set one by one come first.
func (n *Net) Handle(host string, h http.Handler) { n.Site(host).Handle(h) }

// Static serves one file; see [Site.Static].
func (n *Net) Static(host, path string, status int, header http.Header, body string) {
	n.Site(host).Static(path, status, header, body)
}

var errNotPublic = errors.New("fakenet: connection to a place that must never be connected to")

// Dial connects to the site that lives at an address. It never leaves the
// process.
func (n *Net) Dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	d := Dial{Addr: addr}
	if err := publicip.Check(addr.Addr()); err != nil {
		d.Refused = fmt.Errorf("%w: %w", errNotPublic, err)
	} else if addr.Port() != 443 {
		d.Refused = fmt.Errorf("%w: port %d", errNotPublic, addr.Port())
	}
	n.mu.Lock()
	n.dials = append(n.dials, d)
	s, manner := n.byAddr[addr.Addr()], n.manners[addr.Addr()]
	n.mu.Unlock()
	if d.Refused != nil {
		return nil, d.Refused
	}
	if manner == nil && s == nil {
		manner = Unreachable
	}
	if manner != nil {
		if err := manner(ctx); err != nil {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(addr), Err: err}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return n.connect(addr)
}

// connect makes a connection and serves its other end.
func (n *Net) connect(addr netip.AddrPort) (net.Conn, error) {
	var client, server net.Conn
	if n.loop != nil {
		var err error
		if client, server, err = n.loop.pair(); err != nil {
			return nil, err
		}
	} else {
		client, server = pipe(addr)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		client.Close()
		server.Close()
		return nil, net.ErrClosed
	}
	n.open[server] = struct{}{}
	l := &link{net: n}
	n.serving.Go(func() { n.serve(&serverConn{Conn: server, link: l, addr: addr.Addr()}) })
	return &clientConn{client, l}, nil
}

// Dials lists all attempts to connect so far, in order.
func (n *Net) Dials() []Dial {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Dial(nil), n.dials...)
}

// Forbidden lists the attempts to connect to anything but a public address on
// port 443. It is empty unless the caller is broken.
func (n *Net) Forbidden() []Dial {
	var bad []Dial
	for _, d := range n.Dials() {
		if d.Refused != nil {
			bad = append(bad, d)
		}
	}
	return bad
}
