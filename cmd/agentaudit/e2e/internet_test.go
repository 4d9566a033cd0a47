//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/publicip"
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

// link is one connection as the server sees it.
type link struct {
	*net.TCPConn
	net     *internet
	addr    netip.Addr
	host    *host
	greeted bool
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

// serve is the server's side of one connection up to the finished handshake.
func (n *internet) serve(l *link) {
	n.mu.Lock()
	n.open[l] = struct{}{}
	n.accepted[l.addr]++
	n.mu.Unlock()
	t := tls.Server(l, n.tls)
	if err := t.Handshake(); err != nil {
		if !l.greeted {
			// Let the alert arrive before the end of the connection.
			l.CloseWrite()
		}
		l.Close()
		return
	}
	n.mu.Lock()
	l.host.handshakes++
	n.mu.Unlock()
	select {
	case n.conns <- t:
	case <-n.done:
		l.Close()
	}
}

// NetConn lets the bad manners of fakenet reach the socket.
func (l *link) NetConn() net.Conn { return l.TCPConn }

// Close implements net.Conn.
func (l *link) Close() error {
	l.net.mu.Lock()
	delete(l.net.open, l)
	if l.host != nil {
		delete(l.host.conns, l)
	}
	if a := l.net.byAddr[l.addr]; a != nil {
		delete(a.conns, l)
	}
	l.net.mu.Unlock()
	return l.TCPConn.Close()
}

// established reports whether neither side has closed the connection. It asks
// the kernel, which knows of the visitor's close before we read it.
func (l *link) established() bool {
	raw, err := l.SyscallConn()
	if err != nil {
		return false
	}
	const tcpEstablished = 1
	state := 0
	raw.Control(func(fd uintptr) {
		// The first byte of struct tcp_info is the state.
		v, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		if err == nil {
			state = v & 0xff
		}
	})
	return state == tcpEstablished
}

var (
	errStranger = errors.New("nobody of that name is here")
	errGreeted  = errors.New("greeted in another way")
)

// configure answers a TLS hello and keeps the books of it.
func (n *internet) configure(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	l := hello.Conn.(*link)
	n.mu.Lock()
	at := n.byAddr[l.addr]
	h := n.hosts[hello.ServerName]
	if hello.ServerName == "" {
		h = at.host
	}
	if h == nil || at == nil {
		n.rude = append(n.rude, fmt.Sprintf("a TLS hello for %q at %s", hello.ServerName, l.addr))
		n.mu.Unlock()
		return nil, errStranger
	}
	turn := h.hellos
	h.hellos++
	l.host = h
	h.conns[l], at.conns[l] = struct{}{}, struct{}{}
	h.maxOpen = max(h.maxOpen, alive(h.conns))
	at.maxOpen = max(at.maxOpen, alive(at.conns))
	n.mu.Unlock()

	if greet := inTurn(h.greets, turn); greet != nil {
		l.greeted = true
		greet(l)
		return nil, errGreeted
	}
	kind := inTurn(h.certs, turn)
	cert, err := n.ca.issue(h.name, kind)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{"http/1.1"}, MaxVersion: h.maxTLS}
	if h.maxTLS != 0 {
		cfg.MinVersion = tls.VersionTLS10
	}
	if kind == fakenet.ClientCert {
		cfg.ClientAuth = tls.RequireAnyClientCert
	}
	return cfg, nil
}

// inTurn is the element for a turn: the last one holds for ever, none is zero.
func inTurn[T any](list []T, turn int) T {
	var zero T
	if len(list) == 0 {
		return zero
	}
	return list[min(turn, len(list)-1)]
}

func alive(links map[*link]struct{}) int {
	n := 0
	for l := range links {
		if l.established() {
			n++
		}
	}
	return n
}

func (n *internet) serveHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(r.Host, "[]")
	n.mu.Lock()
	h := n.hosts[name]
	for _, fault := range rudeness(r) {
		n.rude = append(n.rude, fmt.Sprintf("%s https://%s%s %s", r.Method, r.Host, r.URL.RequestURI(), fault))
	}
	if h == nil {
		n.rude = append(n.rude, fmt.Sprintf("a request to host %q", r.Host))
		n.mu.Unlock()
		return
	}
	h.requests[r.URL.RequestURI()]++
	n.mu.Unlock()
	if h.latency > 0 {
		time.Sleep(h.latency)
	}
	handler := h.paths[r.URL.EscapedPath()]
	if handler == nil {
		handler = h.whole
	}
	if handler == nil {
		handler = fakenet.Text(404, "Missing")
	}
	handler.ServeHTTP(w, r)
}

// rudeness lists what a request should not have.
func rudeness(r *http.Request) (faults []string) {
	if r.Method != http.MethodGet {
		faults = append(faults, "is no GET")
	}
	if got := r.Header.Get("Accept-Encoding"); got != "identity" {
		faults = append(faults, "accepts the encoding "+got)
	}
	if got := r.UserAgent(); !strings.HasPrefix(got, "agentaudit/") || !strings.Contains(got, "(+https://") {
		faults = append(faults, "calls itself "+got)
	}
	for name := range r.Header {
		if !slices.Contains([]string{"User-Agent", "Accept", "Accept-Encoding"}, name) {
			faults = append(faults, "sends the header "+name)
		}
	}
	return faults
}

// books is a copy of the books of a host.
type books struct {
	hellos, handshakes, maxOpen int
	requests                    map[string]int
}

func (h *host) books() books {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	return books{h.hellos, h.handshakes, h.maxOpen, maps.Clone(h.requests)}
}

// faults lists all that visitors of these hosts did wrong in general: packets
// to anything but the name server and port 443 of a public address that such a
// host lives at, and bad manners.
func (n *internet) faults(hosts map[*host]bool) (list []string) {
	n.t.Helper()
	listed := map[netip.Addr]bool{}
	for h := range hosts {
		for _, a := range h.addrs {
			if publicip.Public(a) {
				listed[a] = true
			}
		}
	}
	n.mu.Lock()
	list = append(list, n.rude...)
	for a, at := range n.byAddr {
		if at.maxOpen > maxPerAddress {
			list = append(list, fmt.Sprintf("%d connections to %s at once", at.maxOpen, a))
		}
	}
	n.mu.Unlock()
	syns := map[netip.Addr]int{}
	for c, times := range n.packets.contacts(n.t) {
		switch {
		case c.proto == "tcp" && c.to.Port() == 443 && listed[c.to.Addr()]:
			syns[c.to.Addr()] += times
		case c.to == nameServerAddr:
		default:
			list = append(list, fmt.Sprintf("%d first packets to %s", times, c))
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for a, times := range n.accepted {
		if syns[a] < times {
			list = append(list, fmt.Sprintf("%s took %d connections, the packet recorder saw %d: it is blind", a, times, syns[a]))
		}
	}
	slices.Sort(list)
	return list
}

// maxPerAddress is how many audits may be at one address at once (pipeline
// specification, promise 4).
const maxPerAddress = 8

var nameServerAddr = netip.MustParseAddrPort("127.0.0.1:53")

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
