package fetch_test

import (
	"net/netip"
	"strings"
	"testing"

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
