package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"code.dny.dev/ssrf"

	"agentaudit/fetch/resolve"
)

// Resolver finds the addresses of a name.
type Resolver interface {
	// Lookup returns all addresses of host, a lower case name without final
	// dot that is never completed by a search list. Addresses keep the form
	// in which they came (an IPv4-mapped AAAA stays one). fresh asks not to
	// answer from a cache. An empty answer or a [*resolve.Error] with NotFound
	// means that there is no such host; any other error is a failure of DNS.
	// It must return soon after ctx has ended.
	Lookup(ctx context.Context, host string, fresh bool) ([]netip.Addr, error)
}

// Config is what a [Client] is made of. The zero value is ready for the
// public internet.
type Config struct {
	// UserAgent is the User-Agent header, see [UserAgent]; empty means
	// "agentaudit" alone.
	UserAgent string
	// Resolver looks names up; nil means a [resolve.Resolver] on the servers of
	// /etc/resolv.conf, with a cache for the life of the client.
	Resolver Resolver
	// Dial opens a TCP connection to a checked public address on port 443; nil
	// means the kernel's, with a second check on the socket itself. It must
	// return soon after ctx has ended. Tests put a fake internet here.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// RootCAs are the trusted issuers; nil means those of the system.
	RootCAs *x509.CertPool
	// PostQuantum also offers the hybrid key exchange X25519MLKEM768. It costs
	// a tenth of a millisecond per site; without it, a server that accepts
	// nothing else cannot be read, and none such is known.
	PostQuantum bool
	// Limits bound the reads; zero fields stand for the specification's.
	Limits Limits
	// Admit is asked once per visit and host, after the lookup and before the
	// first connection: manners over all visits together. host is without port
	// and final dot, IPv6 in brackets; addrs are the
	// addresses that may be connected to, in order, at most Limits.Addresses.
	// It may wait as long as ctx lasts; an error makes the read fail with
	// [KindBusy]. release, unless nil, is called when the visit is closed. A nil
	// Admit means no manners.
	Admit func(ctx context.Context, host string, addrs []netip.Addr) (release func(), err error)
}

// UserAgent is an honest User-Agent header: the program, its version and a
// page that explains the visits ("agentaudit/1.2 (+https://site.example/bot)").
// An empty part is left out.
func UserAgent(version, contact string) string {
	ua := "agentaudit"
	if version != "" {
		ua += "/" + version
	}
	if contact != "" {
		ua += " (+" + contact + ")"
	}
	return ua
}

// Client reads public files. It is made once, and safe for concurrent use.
type Client struct {
	userAgent string
	resolver  Resolver
	dial      func(context.Context, netip.AddrPort) (net.Conn, error)
	tls       *tls.Config
	limits    Limits
	admit     func(context.Context, string, []netip.Addr) (func(), error)
}

// New makes a client. The error says which field of the configuration is
// unusable.
func New(cfg Config) (*Client, error) {
	c := &Client{
		userAgent: cfg.UserAgent,
		resolver:  cfg.Resolver,
		dial:      cfg.Dial,
		limits:    cfg.Limits.withDefaults(),
		admit:     cfg.Admit,
		tls: &tls.Config{
			RootCAs:    cfg.RootCAs,
			MinVersion: tls.VersionTLS12,
			// HTTP/2 gains nothing for a handful of small files.
			NextProtos: []string{"http/1.1"},
		},
	}
	if c.userAgent == "" {
		c.userAgent = UserAgent("", "")
	}
	if !isHeaderValue(c.userAgent) {
		return nil, fmt.Errorf("fetch: the User-Agent %q holds characters that a header cannot; use printable ASCII", c.userAgent)
	}
	if l := c.limits; l.DNS < 0 || l.Read < 0 || l.HeaderBytes < 0 || l.Interim < 0 || l.Addresses < 0 || l.Fallback < 0 {
		return nil, errors.New("fetch: a limit is negative; use zero for the default")
	}
	if !cfg.PostQuantum {
		c.tls.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384}
	}
	if c.resolver == nil {
		c.resolver = resolve.New(resolve.Config{})
	}
	if c.dial == nil {
		c.dial = dialKernel
	}
	return c, nil
}

// isHeaderValue accepts printable ASCII without outer blanks, which is all we
// ever send.
func isHeaderValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return strings.TrimSpace(s) == s
}

// guardian is the second address check, by tables of other authors than
// [publicip]'s.
var guardian = ssrf.New(ssrf.WithPorts(httpsPort), ssrf.WithNetworks("tcp4", "tcp6"))

// dialKernel connects through the operating system. Control sees the address
// that the socket is really about to connect to.
func dialKernel(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	network := "tcp6"
	if addr.Addr().Is4() {
		network = "tcp4"
	}
	// Connections live for seconds: keep-alive probes would never be sent.
	d := net.Dialer{Control: guardian.Safe, KeepAlive: -1}
	return d.DialContext(ctx, network, addr.String())
}

// VisitOption changes how a visit goes.
type VisitOption func(*Visit)

// Fresh makes the visit ask the name servers again instead of trusting what
// an earlier visit found: for confirming a negative answer ([Kind.Confirm]).
func Fresh() VisitOption { return func(v *Visit) { v.fresh = true } }

// Visit begins one audit or scan of one site. It must be closed. It is safe
// for concurrent use, but is not to be shared between audits: what it learned
// about a host it never questions.
func (c *Client) Visit(options ...VisitOption) *Visit {
	v := &Visit{c: c, hosts: make(map[string]*host, 2)}
	v.ctx, v.cancel = context.WithCancel(context.Background())
	for _, o := range options {
		o(v)
	}
	return v
}
