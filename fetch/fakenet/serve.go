package fakenet

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// HostStats counts what happened at one host.
type HostStats struct {
	// Connections that reached it (a TLS hello with its name), Handshakes that
	// were finished, of which Resumed took up an earlier session.
	Connections, Handshakes, Resumed int
	// Open is how many finished handshakes have a live connection now, MaxOpen
	// the most there ever were at once.
	Open, MaxOpen int
	// Requests by path with query.
	Requests map[string]int
}

// Stats is a copy of the counts of a host.
func (n *Net) Stats(host string) HostStats {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := *n.statsOf(host)
	requests := make(map[string]int, len(s.Requests))
	for k, v := range s.Requests {
		requests[k] = v
	}
	s.Requests = requests
	return s
}

// statsOf needs mu.
func (n *Net) statsOf(host string) *HostStats {
	s := n.stats[host]
	if s == nil {
		s = &HostStats{Requests: map[string]int{}}
		n.stats[host] = s
	}
	return s
}

// serve is the server's side of one connection up to the finished handshake.
func (n *Net) serve(c *serverConn) {
	// One configuration for all, since session tickets hang on it.
	t := tls.Server(c, n.tls)
	if err := t.HandshakeContext(context.Background()); err != nil {
		if !c.greeted {
			// Let the alert arrive before the end of the connection.
			closeWrite(c)
		}
		c.Close()
		return
	}
	c.link.shaken(t.ConnectionState().DidResume)
	if !n.conns.push(t) {
		c.Close()
	}
}

// configFor answers a TLS hello.
func (n *Net) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	c := hello.Conn.(*serverConn)
	n.mu.Lock()
	onHello := n.onHello
	n.mu.Unlock()
	if onHello != nil {
		onHello(hello)
	}
	s := n.siteFor(hello.ServerName, c.addr)
	if s == nil {
		return nil, errUnknownName
	}
	c.link.arrived(s.host)
	s.mu.RLock()
	greet, kind := s.greet, s.cert
	s.mu.RUnlock()
	if greet != nil {
		c.greeted = true
		greet(c)
		return nil, errGreeted
	}
	return n.ca.config(s.host, kind), nil
}

// OnHello lets f see every TLS hello before it is answered.
func (n *Net) OnHello(f func(*tls.ClientHelloInfo)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onHello = f
}

// ServerTLS is a configuration with a good certificate for host, for servers
// made by hand.
func (n *Net) ServerTLS(host string) *tls.Config { return n.ca.config(host, GoodCert).Clone() }

// siteFor finds the site by the name of the TLS hello, or by address where
// there is none (IP literals have no SNI).
func (n *Net) siteFor(name string, at netip.Addr) *Site {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name == "" {
		return n.byAddr[at]
	}
	return n.sites[name]
}

// link keeps the books of one connection, which is open from the end of the
// handshake until either side has closed it.
type link struct {
	net *Net
	// The rest is guarded by net.mu.
	host        string
	open, ended bool
}

func (l *link) arrived(host string) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.host = host
	l.net.statsOf(host).Connections++
}

func (l *link) shaken(resumed bool) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	st := l.net.statsOf(l.host)
	st.Handshakes++
	if resumed {
		st.Resumed++
	}
	if !l.ended {
		l.open = true
		st.Open++
		st.MaxOpen = max(st.MaxOpen, st.Open)
	}
}

func (l *link) end() {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if l.open {
		l.net.statsOf(l.host).Open--
	}
	l.open, l.ended = false, true
}

// clientConn and serverConn are the ends of a link.
type clientConn struct {
	net.Conn
	link *link
}

// Close implements net.Conn.
func (c *clientConn) Close() error {
	c.link.end()
	return c.Conn.Close()
}

type serverConn struct {
	net.Conn
	link    *link
	addr    netip.Addr // where the client believes to be
	greeted bool
}

// Close implements net.Conn.
func (c *serverConn) Close() error {
	c.link.end()
	c.link.net.forget(c.Conn)
	return c.Conn.Close()
}

func (n *Net) forget(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
}

func (n *Net) serveHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	s := n.sites[strings.TrimSuffix(r.Host, ".")]
	target := r.URL.RequestURI()
	if s != nil {
		n.statsOf(s.host).Requests[target]++
	}
	// Close waits for handlers, also for those that took their connection.
	closed := n.closed
	if !closed {
		n.serving.Add(1)
		defer n.serving.Done()
	}
	n.mu.Unlock()
	if closed {
		return
	}
	if s == nil {
		Text(http.StatusMisdirectedRequest, "no such site here").ServeHTTP(w, r)
		return
	}
	s.mu.RLock()
	h := s.paths[target]
	if h == nil {
		h = s.paths[r.URL.EscapedPath()]
	}
	if h == nil {
		h = s.whole
	}
	s.mu.RUnlock()
	if h == nil {
		h = n.missing
	}
	h.ServeHTTP(w, r)
}

// connQueue hands finished connections to net/http.
type connQueue struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newConnQueue() *connQueue {
	return &connQueue{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (q *connQueue) push(c net.Conn) bool {
	select {
	case q.conns <- c:
		return true
	case <-q.closed:
		return false
	}
}

// Accept implements net.Listener.
func (q *connQueue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *connQueue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// Addr implements net.Listener.
func (q *connQueue) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 443} }
