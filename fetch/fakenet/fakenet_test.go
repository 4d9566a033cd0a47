package fakenet_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/weburl"
)

func dial(t *testing.T, n *fakenet.Net, addr string) (net.Conn, error) {
	t.Helper()
	return n.Dial(t.Context(), netip.MustParseAddrPort(addr))
}

func TestOnlyPublicAddressesOnPort443(t *testing.T) {
	n := fakenet.New(fakenet.Options{})
	defer n.Close()
	n.Site("site.example").Addrs("10.0.0.1", "20.0.0.9", "::1")
	for _, a := range []string{"10.0.0.1:443", "127.0.0.1:443", "[::1]:443", "[::ffff:20.0.0.9]:443", "20.0.0.9:80", "20.0.0.9:0"} {
		if c, err := dial(t, n, a); err == nil {
			c.Close()
			t.Errorf("%s was connected", a)
		}
	}
	if f := n.Forbidden(); len(f) != 6 || f[0].Addr.String() != "10.0.0.1:443" || f[0].Refused == nil {
		t.Errorf("%v", f)
	}
	if c, err := dial(t, n, "20.0.0.9:443"); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	if _, err := dial(t, n, "20.0.0.200:443"); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("nobody lives there: %v", err)
	}
	if len(n.Dials()) != 8 || len(n.Forbidden()) != 6 {
		t.Errorf("%v", n.Dials())
	}
}

// The pipes must behave as TCP does, or the tests above them prove nothing.
func TestPipesBehaveLikeTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := fakenet.New(fakenet.Options{})
		defer n.Close()
		servers := make(chan net.Conn, 1)
		n.Site("site.example").Addrs("20.0.0.9").Greet(func(c net.Conn) { servers <- c; time.Sleep(time.Hour) })
		open := func() (client, server net.Conn) {
			c, err := dial(t, n, "20.0.0.9:443")
			if err != nil {
				t.Fatal(err)
			}
			// A TLS hello with nothing but the record and its end, to be greeted.
			go fakeHello(c)
			return c, <-servers
		}
		client, server := open()
		if c, s := client.RemoteAddr().String(), server.LocalAddr().String(); c != "20.0.0.9:443" || s != c {
			t.Errorf("%s, %s", c, s)
		}
		buf := make([]byte, 10)
		// Deadlines.
		started := time.Now()
		client.SetReadDeadline(started.Add(3 * time.Second))
		if _, err := client.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(started) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(started))
		}
		client.SetReadDeadline(time.Time{})
		// Data, then the end.
		io.WriteString(server, "hello")
		server.Close()
		if got, err := io.ReadAll(client); string(got) != "hello" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := client.Write(buf); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("writing to a closed peer: %v", err)
		}
		client.Close()
		if _, err := client.Read(buf); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading after Close: %v", err)
		}
		// A full buffer makes the writer wait.
		client, server = open()
		server.SetWriteDeadline(time.Now().Add(time.Second))
		if k, err := server.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) || k == 0 || k == 1<<20 {
			t.Errorf("%d bytes, %v", k, err)
		}
		client.Close()
	})
}

// fakeHello sends a TLS 1.2 ClientHello for site.example.
func fakeHello(c net.Conn) {
	name := "site.example"
	sni := append([]byte{0, byte(len(name) + 3), 0, 0, byte(len(name))}, name...)
	ext := append([]byte{0, 0, 0, byte(len(sni))}, sni...)
	ext = append(ext, 0, 10, 0, 4, 0, 2, 0, 23, 0, 13, 0, 4, 0, 2, 4, 3, 0, 11, 0, 2, 1, 0)
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0, 0, 2, 0xc0, 0x2b, 1, 0, 0, byte(len(ext)))
	body = append(body, ext...)
	msg := append([]byte{1, 0, 0, byte(len(body))}, body...)
	c.Write(append([]byte{22, 3, 1, 0, byte(len(msg))}, msg...))
}

func TestThousandsOfSitesAreCheap(t *testing.T) {
	n := fakenet.New(fakenet.Options{})
	defer n.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const sites = 5000
	for i := range sites {
		n.Static(fmt.Sprintf("s%d.example", i), "/agentic.json", 200, fakenet.JSON, "{}")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := int64(after.HeapAlloc-before.HeapAlloc) / sites; each > 4096 {
		t.Errorf("%d bytes for each site", each)
	}
	if a := n.Site("s4999.example").Address(); a != netip.MustParseAddr("20.0.19.136") {
		t.Errorf("the last address is %s", a)
	}
}

func TestSitesAnswerAsTold(t *testing.T) {
	n := fakenet.New(fakenet.Options{})
	defer n.Close()
	s := n.Site("site.example").
		Static("/a?q=1", 200, nil, "with query").
		Static("/a", 200, fakenet.Markdown, "without").
		Path("/limited", fakenet.OnceThen(2, fakenet.Limited(429, "3"), fakenet.Text(200, "now")))
	n.Handle("whole.example", fakenet.Text(503, "down"))
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	for _, c := range []struct {
		url    string
		status int
		kind   string
		body   string
	}{
		{s.URL("/a?q=1"), 200, "", "with query"},
		{s.URL("/a?q=2"), 200, "text/markdown; charset=utf-8", "without"},
		{s.URL("/b"), 404, "text/plain", "Missing"},
		{s.URL("/limited"), 429, "text/plain", "later"},
		{s.URL("/limited"), 429, "text/plain", "later"},
		{s.URL("/limited"), 200, "text/plain", "now"},
		{"https://whole.example/x", 503, "text/plain", "down"},
	} {
		u, err := weburl.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := v.Fetch(t.Context(), fetch.Request{URL: u, MaxBytes: 100})
		if err != nil || resp.Status != c.status || resp.ContentType != c.kind || string(resp.Body) != c.body {
			t.Errorf("%s: %v, %+v", c.url, err, resp)
		}
	}
	st := n.Stats("site.example")
	if st.Requests["/limited"] != 3 || st.Requests["/a?q=2"] != 1 || st.Connections != 1 || st.Open != 1 {
		t.Errorf("%+v", st)
	}
}
