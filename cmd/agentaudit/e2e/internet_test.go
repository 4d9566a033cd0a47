//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentaudit/fetch/fakenet"
)

// unroutable is a range of public addresses to which there is no route; see
// furnish.
var unroutable = netip.MustParsePrefix("20.64.0.0/16")

// internet is everything that the program under test can reach.
type internet struct {
	t       *testing.T
	dns     *nameServer
	ca      *authority
	packets *recorder
	http    *http.Server
	tls     *tls.Config
	conns   chan net.Conn
	done    chan struct{}
	serving sync.WaitGroup

	mu     sync.Mutex
	hosts  map[string]*host
	byAddr map[netip.Addr]*addr
	nextV4 uint32
	nextV6 uint16
	env    []string // of the program under test
	open   map[net.Conn]struct{}
	rude   []string // what visitors must not do
	// accepted counts connections accepted, by address.
	accepted map[netip.Addr]int
	// profiles counts requests for agentic.json anywhere.
	profiles int
}

// addr is a public (or bait) address with servers on it.
type addr struct {
	host    *host // who answers a hello without a name
	conns   map[*link]struct{}
	maxOpen int // sites at once
}

// host is one name with its server.
type host struct {
	net   *internet
	name  string // without brackets
	addrs []netip.Addr
	// latency is before each answer.
	latency time.Duration
	// maxTLS is the newest TLS version it speaks, 0 for any.
	maxTLS uint16
	certs  []fakenet.CertKind // by connection, the last one for ever
	greets []fakenet.Greeting // by connection, nil shakes hands
	paths  map[string]http.Handler
	whole  http.Handler

	// The books, guarded by net.mu.
	hellos     int
	handshakes int
	maxOpen    int
	conns      map[*link]struct{}
	requests   map[string]int
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	n := &internet{
		t: t, dns: newNameServer(t), ca: newAuthority(t, "e2e root"),
		conns: make(chan net.Conn), done: make(chan struct{}),
		hosts: map[string]*host{}, byAddr: map[netip.Addr]*addr{}, open: map[net.Conn]struct{}{}, accepted: map[netip.Addr]int{},
	}
	n.ca.rogue = newAuthority(t, "rogue root")
	n.tls = &tls.Config{GetConfigForClient: n.configure, NextProtos: []string{"http/1.1"}}
	n.http = &http.Server{Handler: http.HandlerFunc(n.serveHTTP), ErrorLog: log.New(io.Discard, "", 0)}
	n.serving.Go(func() { n.http.Serve(n) })
	t.Cleanup(func() {
		n.http.Close()
		n.Close()
		n.mu.Lock()
		for c := range n.open {
			c.Close()
		}
		n.mu.Unlock()
		n.serving.Wait()
	})
	n.packets = newRecorder(t)
	n.env = n.environment()
	return n
}

// Accept, Close and Addr make the internet a net.Listener that hands finished
// handshakes to net/http.
func (n *internet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *internet) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.done:
	default:
		close(n.done)
	}
	return nil
}

func (n *internet) Addr() net.Addr { return &net.TCPAddr{Port: 443} }

// newV4 and newV6 hand out public addresses that nobody has yet.
func (n *internet) newV4() netip.Addr {
	n.nextV4++
	return netip.AddrFrom4([4]byte{20, byte(n.nextV4 >> 16), byte(n.nextV4 >> 8), byte(n.nextV4)})
}

func (n *internet) newV6() netip.Addr {
	n.nextV6++
	return netip.MustParseAddr(fmt.Sprintf("2600:abcd::%x", n.nextV6))
}

// host adds a host with an IPv4 address of its own, or with the given ones.
func (n *internet) host(name string, addrs ...netip.Addr) *host {
	n.t.Helper()
	if n.hosts[name] != nil {
		n.t.Fatalf("%s is there twice", name)
	}
	h := &host{net: n, name: name, paths: map[string]http.Handler{}, conns: map[*link]struct{}{}, requests: map[string]int{}}
	if len(addrs) == 0 {
		addrs = []netip.Addr{n.newV4()}
	}
	n.mu.Lock()
	n.hosts[name] = h
	n.mu.Unlock()
	h.live(addrs...)
	return h
}

// drop takes a host off the net; its addresses are nobody's then.
func (n *internet) drop(name string) {
	n.mu.Lock()
	delete(n.hosts, name)
	n.mu.Unlock()
	n.dns.forget(name)
}

// live moves the host to other addresses: servers and DNS.
func (h *host) live(addrs ...netip.Addr) {
	h.net.t.Helper()
	h.addrs = addrs
	for _, a := range addrs {
		h.net.listen(a, h)
	}
	if !isLiteral(h.name) {
		h.net.dns.set(h.name, addresses(addrs...))
	}
}

func isLiteral(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// listen serves an address.
func (n *internet) listen(a netip.Addr, h *host) {
	n.t.Helper()
	n.mu.Lock()
	known := n.byAddr[a] != nil
	if !known {
		n.byAddr[a] = &addr{host: h, conns: map[*link]struct{}{}}
	}
	n.mu.Unlock()
	if known {
		return
	}
	l := n.bind(a, nil)
	n.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.serving.Go(func() { n.serve(&link{TCPConn: c.(*net.TCPConn), net: n, addr: a}) })
		}
	})
	n.serving.Go(func() { <-n.done; l.Close() })
}

// bind listens on port 443 of an address that only a route makes local.
func (n *internet) bind(a netip.Addr, control func(fd int) error) net.Listener {
	n.t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		ctlErr := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_IP, syscall.IP_FREEBIND, 1)
			if err == nil && control != nil {
				err = control(int(fd))
			}
		})
		return errors.Join(ctlErr, err)
	}}
	l, err := config.Listen(context.Background(), "tcp", netip.AddrPortFrom(a, 443).String())
	if err != nil {
		n.t.Fatal(err)
	}
	return l
}

// blackHole makes an address swallow what is sent to it, like a firewall that
// drops.
func (n *internet) blackHole(a netip.Addr) {
	n.t.Helper()
	l := n.bind(a, func(fd int) error { return attach(fd, dropAll) })
	n.serving.Go(func() { <-n.done; l.Close() })
}

// environment is that of the program under test: it trusts our authority, and
// proxies are named that it must not use.
func (n *internet) environment() []string {
	roots := filepath.Join(n.t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, n.ca.pem(), 0o644); err != nil {
		n.t.Fatal(err)
	}
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + n.t.TempDir(), "TMPDIR=" + os.TempDir(), "NO_COLOR=1",
		"SSL_CERT_FILE=" + roots, "SSL_CERT_DIR=/nonexistent",
		"HTTPS_PROXY=http://10.99.99.99:3128", "HTTP_PROXY=http://10.99.99.99:3128", "ALL_PROXY=socks5://10.99.99.99:1080",
	}
}
