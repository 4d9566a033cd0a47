//go:build linux

package e2e

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"agentaudit/fetch/fakenet"
)

// link is one connection as the server sees it.
type link struct {
	*net.TCPConn
	net     *internet
	addr    netip.Addr
	host    *host
	greeted bool
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
	if r.URL.Path == "/agentic.json" {
		n.profiles++
	}
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
