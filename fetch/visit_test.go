package fetch_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/weburl"
)

func newNet(t testing.TB, o fakenet.Options) *fakenet.Net {
	t.Helper()
	n := fakenet.New(o)
	t.Cleanup(func() {
		n.Close()
		if bad := n.Forbidden(); len(bad) > 0 {
			t.Errorf("forbidden connections were tried: %v", bad)
		}
	})
	return n
}

func mustURL(t testing.TB, raw string) *weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func request(t testing.TB, raw string, max int64) fetch.Request {
	return fetch.Request{URL: mustURL(t, raw), MaxBytes: max}
}

func TestOneLookupAndOneHandshakeForAllReadsOfAHost(t *testing.T) {
	for _, loopback := range []bool{false, true} {
		n := newNet(t, fakenet.Options{Loopback: loopback})
		site := n.Site("site.example")
		for _, p := range []string{"/agentic.json", "/agentic.txt", "/README.md"} {
			site.Static(p, 200, fakenet.JSON, "{}"+strings.Repeat(" ", 9000))
		}
		v := n.Client(fetch.Config{}).Visit()
		defer v.Close()
		for _, p := range []string{"/agentic.json", "/agentic.txt", "/README.md", "/readme.md"} {
			resp, err := v.Fetch(t.Context(), request(t, site.URL(p), 65536))
			if err != nil {
				t.Fatal(err)
			}
			if p == "/readme.md" && (resp.Status != 404 || string(resp.Body) != "Missing" || resp.ContentType != "text/plain") {
				t.Errorf("%d %q %q", resp.Status, resp.ContentType, resp.Body)
			}
		}
		st := n.Stats("site.example")
		if st.Handshakes != 1 || st.Connections != 1 || site.Lookups() != 1 || len(n.Dials()) != 1 {
			t.Errorf("loopback %v: %+v, %d lookups, %v", loopback, st, site.Lookups(), n.Dials())
		}
	}
}

func addrPort(addr string) netip.AddrPort { return addrPortOf(addr, 443) }

func addrPortOf(addr string, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(addr), port)
}

func TestErrorsAndAnswersCarryWhatIsKnown(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	s := n.Site("site.example")
	s.Path("/moved", fakenet.Reply(302, http.Header{"Location": {"/x y"}, "Content-Type": {"text/html; a=b"}, "Retry-After": {"7"}}, "moved"))
	s.Path("/large", fakenet.Text(200, strings.Repeat("x", 11)))
	s.Path("/short", fakenet.WrongLength(10, "{}"))
	s.Path("/limited", fakenet.Limited(503, "120"))
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	failed := func(path string) *fetch.Error {
		t.Helper()
		_, err := v.Fetch(t.Context(), request(t, s.URL(path)+"#part", 10))
		e, ok := err.(*fetch.Error)
		if !ok || e.URL != s.URL(path) || e.Addr.Addr() != s.Address() || e.Addr != e.Trace.Addr || e.Trace.TLSVersion != tls.VersionTLS13 {
			t.Fatalf("%+v", err)
		}
		return e
	}
	if e := failed("/moved"); e.Location != "/x y" || e.ContentType != "text/html; a=b" || e.RetryAfter != 7*time.Second || e.Status != 302 {
		t.Errorf("%+v", e)
	}
	if e := failed("/large"); e.Limit != 10 || e.Status != 200 || e.ContentType != "text/plain" {
		t.Errorf("%+v", e)
	}
	if e := failed("/short"); e.Bytes != 2 || e.Status != 200 || e.ContentType != "application/json" || !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("%+v", e)
	}
	resp, err := v.Fetch(t.Context(), request(t, s.URL("/limited#x"), 10))
	if err != nil || resp.RetryAfter != 2*time.Minute || resp.URL != s.URL("/limited") || resp.Header.Get("Retry-After") != "120" {
		t.Error(outcome(resp, err))
	}
}

func TestBodiesBelongToTheCaller(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	s := n.Site("site.example").Static("/a", 200, nil, "aaaa").Static("/b", 200, nil, "bbbb")
	v := n.Client(fetch.Config{}).Visit()
	a, err := v.Fetch(t.Context(), request(t, s.URL("/a"), 10))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Fetch(t.Context(), request(t, s.URL("/b"), 10)); err != nil {
		t.Fatal(err)
	}
	v.Close()
	if string(a.Body) != "aaaa" {
		t.Errorf("%q", a.Body)
	}
}
