package fakenet

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"
)

// Headers for [Net.Static].
var (
	JSON      = http.Header{"Content-Type": {"application/json"}}
	PlainText = http.Header{"Content-Type": {"text/plain"}}
	Markdown  = http.Header{"Content-Type": {"text/markdown; charset=utf-8"}}
	HTML      = http.Header{"Content-Type": {"text/html; charset=utf-8"}}
)

// Site is one host of the fake internet. Its methods return it, so that they
// can be chained.
type Site struct {
	net  *Net
	host string

	mu     sync.RWMutex
	paths  map[string]http.Handler
	whole  http.Handler
	cert   CertKind
	greet  Greeting
	answer []Answer
	asked  int
	// queries counts those of DNSServer by family.
	queries map[string]int
}

// Host is the name of the site.
func (s *Site) Host() string { return s.host }

// URL is the address of a path of the site.
func (s *Site) URL(path string) string { return "https://" + s.host + path }

// Static serves a fixed answer at a path, which may have a query: paths with
// a query are looked up first with it, then without. A header without
// Content-Type is sent without one. header may be nil and is not changed.
func (s *Site) Static(path string, status int, header http.Header, body string) *Site {
	return s.Path(path, static(status, header, body))
}

// Path gives one path to a handler.
func (s *Site) Path(path string, h http.Handler) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[path] = h
	return s
}

// Handle gives all other paths to a handler.
func (s *Site) Handle(h http.Handler) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = h
	return s
}

// Certificate chooses what certificate the site shows.
func (s *Site) Certificate(kind CertKind) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cert = kind
	return s
}

// Greet chooses what the site does instead of a TLS handshake.
func (s *Site) Greet(g Greeting) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greet = g
	return s
}

// Addrs gives the site addresses of its own choice. Public ones reach it;
// others only stand in the DNS.
func (s *Site) Addrs(addrs ...string) *Site {
	parsed := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		parsed[i] = netip.MustParseAddr(a)
	}
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.setAddrs(parsed...)
	return s
}

// setAddrs needs net.mu.
func (s *Site) setAddrs(addrs ...netip.Addr) {
	for _, a := range addrs {
		if s.net.byAddr[a] == nil {
			s.net.byAddr[a] = s
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.asked = []Answer{{Addrs: addrs}}, 0
}

// Address is the first address in the site's first DNS answer.
func (s *Site) Address() netip.Addr {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.answer) == 0 || len(s.answer[0].Addrs) == 0 {
		return netip.Addr{}
	}
	return s.answer[0].Addrs[0]
}

// static writes headers without any of net/http's guesses.
func static(status int, header http.Header, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["Content-Type"] = nil
		for k, v := range header {
			h[http.CanonicalHeaderKey(k)] = v
		}
		if h["Content-Length"] == nil && status >= 200 && status != 204 && status != 304 {
			h.Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(status)
		if status != 204 && status != 304 {
			w.Write([]byte(body))
		}
	})
}

// Text answers with plain text.
func Text(status int, body string) http.Handler { return static(status, PlainText, body) }

// Reply answers with any status, headers and body.
func Reply(status int, header http.Header, body string) http.Handler {
	return static(status, header, body)
}
