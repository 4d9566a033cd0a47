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

func (n *Net) count(host string, f func(*HostStats)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.statsOf(host))
}

// serve is the server's side of one connection up to the finished handshake.
func (n *Net) serve(raw net.Conn, at netip.Addr) {
	c := &serverConn{Conn: raw, net: n}
	var greeted bool
	cfg := &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			s := n.siteFor(hello.ServerName, at)
			if s == nil {
				return nil, errUnknownName
			}
			c.host = s.host
			n.count(s.host, func(st *HostStats) { st.Connections++ })
			s.mu.RLock()
			greet, kind := s.greet, s.cert
			s.mu.RUnlock()
			if greet != nil {
				greeted = true
				greet(c)
				return nil, errGreeted
			}
			return n.ca.config(s.host, kind)
		},
		// A listener of net/http would set this.
		NextProtos: []string{"http/1.1"},
	}
	t := tls.Server(c, cfg)
	if err := t.HandshakeContext(context.Background()); err != nil {
		if !greeted {
			// Let the alert arrive before the end of the connection.
			closeWrite(raw)
		}
		c.Close()
		return
	}
	n.count(c.host, func(st *HostStats) {
		st.Handshakes++
		if t.ConnectionState().DidResume {
			st.Resumed++
		}
		st.Open++
		st.MaxOpen = max(st.MaxOpen, st.Open)
	})
	c.counted = true
	if !n.conns.push(t) {
		c.Close()
	}
}

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

// serverConn keeps the books of a connection.
type serverConn struct {
	net.Conn
	net     *Net
	host    string
	counted bool
	once    sync.Once
}

// Close implements net.Conn.
func (c *serverConn) Close() error {
	c.once.Do(func() {
		c.net.mu.Lock()
		defer c.net.mu.Unlock()
		delete(c.net.open, c.Conn)
		if c.counted {
			c.net.statsOf(c.host).Open--
		}
	})
	return c.Conn.Close()
}

func (n *Net) serveHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	s := n.sites[strings.TrimSuffix(r.Host, ".")]
	target := r.URL.RequestURI()
	if s != nil {
		n.statsOf(s.host).Requests[target]++
	}
	n.mu.Unlock()
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
