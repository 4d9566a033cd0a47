package fetch_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

func TestReadsOfOneHostTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		site := n.Site("site.example")
		slow := fakenet.Drip(json+"Connection: close\r\nContent-Length: 5\r\n\r\n", "x", time.Second)
		site.Handle(slow)
		v := n.Client(fetch.Config{}).Visit()
		defer v.Close()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				// Waiting for the turn does not count: the last one waits 15 s.
				resp, err := v.Fetch(t.Context(), request(t, site.URL(fmt.Sprint("/", i)), 100))
				if err != nil || resp.Trace.Elapsed != 5*time.Second {
					t.Error(outcome(resp, err))
				}
			})
		}
		all.Wait()
		if st := n.Stats("site.example"); st.MaxOpen != 1 || st.Handshakes != 4 || site.Lookups() != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestHostsAreReadSideBySide(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		v := n.Client(fetch.Config{}).Visit()
		defer v.Close()
		started := time.Now()
		var all sync.WaitGroup
		for i := range 4 {
			s := n.Site(fmt.Sprintf("s%d.example", i)).Handle(fakenet.Drip(json+"Content-Length: 5\r\n\r\n", "x", time.Second))
			all.Go(func() {
				if resp, err := v.Fetch(t.Context(), request(t, s.URL("/"), 100)); err != nil {
					t.Error(outcome(resp, err))
				}
			})
		}
		all.Wait()
		if took := time.Since(started); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestTheConnectionIsKeptWherePossible(t *testing.T) {
	for _, c := range []struct {
		name  string
		first http.Handler
		kept  bool
	}{
		{"200", fakenet.Text(200, "{}"), true},
		{"404", fakenet.Text(404, "no"), true},
		{"204", fakenet.Reply(204, nil, ""), true},
		{"chunked", keepAlive(json + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), true},
		{"redirect with a short body", keepAlive("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 5\r\n\r\nmoved"), true},
		{"304", keepAlive("HTTP/1.1 304 Not Modified\r\n\r\n"), true},
		{"compressed, short", keepAlive("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nxxxxx"), true},
		{"redirect whose body does not come", keepAlive("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 5\r\n\r\n"), false},
		{"chunked redirect", keepAlive("HTTP/1.1 302 Found\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), false},
		{"too large", fakenet.Text(200, strings.Repeat("x", 101)), false},
		{"Connection: close", fakenet.Reply(200, http.Header{"Connection": {"close"}}, "{}"), false},
		{"more than the answer", keepAlive(json + "Content-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"), false},
		{"HTTP/1.0", keepAlive("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				s := n.Site("site.example").Path("/first", c.first).Static("/second", 200, fakenet.JSON, `"second"`)
				v := n.Client(fetch.Config{}).Visit()
				defer v.Close()
				v.Fetch(t.Context(), request(t, s.URL("/first"), 100))
				resp, err := v.Fetch(t.Context(), request(t, s.URL("/second"), 100))
				if err != nil || string(resp.Body) != `"second"` {
					t.Fatal(outcome(resp, err))
				}
				if resp.Trace.Reused != c.kept {
					t.Errorf("reused: %v", resp.Trace.Reused)
				}
				if st := n.Stats("site.example"); st.MaxOpen > 1 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// keepAlive writes an answer by hand and then serves "second" on the same
// connection.
func keepAlive(text string) http.Handler {
	return fakenet.Raw(func(c net.Conn) {
		io.WriteString(c, text)
		buf := make([]byte, 4096)
		if n, err := c.Read(buf); err == nil && strings.HasPrefix(string(buf[:n]), "GET /second ") {
			io.WriteString(c, json+"Content-Length: 8\r\n\r\n\"second\"")
			io.Copy(io.Discard, c)
		}
	})
}

// A server that closes an idle connection just when the next request comes
// says nothing about the file; the request is made once more.
func TestADeadKeptConnectionIsReplacedOnce(t *testing.T) {
	const good = json + "Content-Length: 2\r\n\r\n{}"
	first := func(then func(c net.Conn)) http.Handler {
		return fakenet.Raw(func(c net.Conn) {
			io.WriteString(c, good)
			then(c)
		})
	}
	read := func(c net.Conn) { c.Read(make([]byte, 4096)) }
	for _, c := range []struct {
		name string
		then func(c net.Conn)
		ok   bool
	}{
		{"closed while idle", func(net.Conn) {}, true},
		{"closed on the request", read, true},
		{"408 while idle", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n") }, true},
		{"408 on the request", func(c net.Conn) {
			read(c)
			io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
		}, true},
		{"broke off within the answer", func(c net.Conn) { read(c); io.WriteString(c, "HTTP/1.1 2") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				s := n.Site("site.example").Path("/first", first(c.then)).Static("/second", 200, fakenet.JSON, "[]")
				v := n.Client(fetch.Config{}).Visit()
				defer v.Close()
				if resp, err := v.Fetch(t.Context(), request(t, s.URL("/first"), 100)); err != nil {
					t.Fatal(outcome(resp, err))
				}
				resp, err := v.Fetch(t.Context(), request(t, s.URL("/second"), 100))
				if (err == nil) != c.ok || err == nil && (string(resp.Body) != "[]" || resp.Trace.Reused) {
					t.Error(outcome(resp, err))
				}
				if err != nil && fetch.KindOf(err) != fetch.KindReset {
					t.Error(err)
				}
			})
		})
	}
}

func TestAFreshConnectionIsNotTriedTwice(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		s := n.Site("site.example").Path("/", fakenet.Send(""))
		v := n.Client(fetch.Config{}).Visit()
		defer v.Close()
		_, err := v.Fetch(t.Context(), request(t, s.URL("/"), 100))
		if fetch.KindOf(err) != fetch.KindReset || n.Stats("site.example").Requests["/"] != 1 {
			t.Errorf("%v, %v", err, n.Stats("site.example"))
		}
	})
}

func TestAFailureToConnectIsRemembered(t *testing.T) {
	for name, setUp := range map[string]func(*fakenet.Net, *fakenet.Site){
		"dns":     func(_ *fakenet.Net, s *fakenet.Site) { s.DNS(fakenet.Answer{Failure: fakenet.Silence}) },
		"connect": func(n *fakenet.Net, _ *fakenet.Site) { n.Address("20.0.0.1", fakenet.BlackHole) },
		"tls":     func(_ *fakenet.Net, s *fakenet.Site) { s.Greet(fakenet.StallHandshake) },
		"cert":    func(_ *fakenet.Net, s *fakenet.Site) { s.Certificate(fakenet.ExpiredCert) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				s := n.Site("site.example")
				setUp(n, s)
				v := n.Client(fetch.Config{}).Visit()
				defer v.Close()
				_, first := v.Fetch(t.Context(), request(t, s.URL("/a"), 100))
				dials, lookups, started := len(n.Dials()), s.Lookups(), time.Now()
				_, second := v.Fetch(t.Context(), request(t, s.URL("/b"), 100))
				e := second.(*fetch.Error)
				if first.Error() != e.Error() || e.URL != s.URL("/b") || time.Since(started) != 0 || len(n.Dials()) != dials || s.Lookups() != lookups {
					t.Errorf("%v; %+v", first, e)
				}
				if e.Trace.Elapsed != 0 || first.(*fetch.Error).URL != s.URL("/a") {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}

func TestAnotherAddressWhenTheHandshakeBreaks(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		site := n.Site("site.example").DNS(fakenet.Addresses("20.0.0.8", "20.0.0.9"))
		client := n.Client(fetch.Config{Dial: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			c, err := n.Dial(ctx, a)
			if err == nil && a == addrPort("20.0.0.8") {
				c.Close()
			}
			return c, err
		}})
		v := client.Visit()
		defer v.Close()
		resp, err := v.Fetch(t.Context(), request(t, site.URL("/"), 100))
		if err != nil || resp.Trace.Addr != addrPort("20.0.0.9") || n.Stats("site.example").Handshakes != 1 {
			t.Error(outcome(resp, err), n.Dials())
		}
	})
}

func TestTheLoserOfARaceIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		site := n.Site("site.example").DNS(fakenet.Addresses("2600::1", "20.0.0.9", "20.0.0.10"))
		var opened, closed atomic.Int32
		client := n.Client(fetch.Config{Dial: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			// The first one does not obey its context, and wins too late.
			if a.Addr().Is6() {
				time.Sleep(2 * time.Second)
			}
			c, err := n.Dial(context.WithoutCancel(ctx), a)
			if err != nil {
				return nil, err
			}
			opened.Add(1)
			return closeCounter{c, &closed}, nil
		}})
		v := client.Visit()
		resp, err := v.Fetch(t.Context(), request(t, site.URL("/"), 100))
		if err != nil || resp.Trace.Addr != addrPort("20.0.0.9") {
			t.Error(outcome(resp, err), n.Dials())
		}
		if opened.Load() != 2 || closed.Load() != 1 || n.Stats("site.example").Handshakes != 1 {
			t.Errorf("%d opened, %d closed", opened.Load(), closed.Load())
		}
		v.Close()
		if closed.Load() != 2 {
			t.Error("the visit left a connection open")
		}
	})
}

type closeCounter struct {
	net.Conn
	closed *atomic.Int32
}

func (c closeCounter) Close() error {
	c.closed.Add(1)
	return c.Conn.Close()
}

func TestSessionsAreResumedWithinAVisit(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	s := n.Site("site.example").Handle(fakenet.Reply(200, http.Header{"Connection": {"close"}}, "{}"))
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	for range 5 {
		if resp, err := v.Fetch(t.Context(), request(t, s.URL("/"), 100)); err != nil {
			t.Fatal(outcome(resp, err))
		}
	}
	// The first two connections find out that the server keeps none.
	if st := n.Stats("site.example"); st.Handshakes != 5 || st.Resumed != 3 {
		t.Errorf("%+v", st)
	}
}

func TestFreshVisitsBypassTheCache(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	var asked []bool
	client := n.Client(fetch.Config{Resolver: spyResolver{n.Resolver(), func(_ string, fresh bool) { asked = append(asked, fresh) }}})
	for _, o := range [][]fetch.VisitOption{nil, {fetch.Fresh()}} {
		v := client.Visit(o...)
		v.Resolve(t.Context(), "site.example")
		v.Close()
	}
	if !slices.Equal(asked, []bool{false, true}) {
		t.Error(asked)
	}
}

type spyResolver struct {
	fetch.Resolver
	see func(host string, fresh bool)
}

func (r spyResolver) Lookup(ctx context.Context, host string, fresh bool) ([]netip.Addr, error) {
	r.see(host, fresh)
	return r.Resolver.Lookup(ctx, host, fresh)
}

func TestTheRequestIsExactlyThis(t *testing.T) {
	for _, c := range []struct{ url, target, host string }{
		{"https://site.example/agentic.json", "/agentic.json", "site.example"},
		{"https://SITE.example.:443/a/../b;c=d/%7e/|^[]'", "/b;c=d/%7e/|^[]'", "site.example"},
		{"https://site.example/ä b\"<>`{}#f", "/%C3%A4%20b%22%3C%3E%60%7B%7D", "site.example"},
		{"https://site.example/%zz%0d%0aX:%20y//", "/%zz%0d%0aX:%20y//", "site.example"},
		{"https://site.example?q=ä'&x#f", "/?q=%C3%A4%27&x", "site.example"},
		{"https://site.example/?#", "/", "site.example"},
		{"https://20.0.0.1/", "/", "20.0.0.1"},
		{"https://[2600::00:1]/", "/", "[2600::1]"},
	} {
		n := newNet(t, fakenet.Options{})
		got := make(chan string, 1)
		var name string
		client := n.Client(fetch.Config{
			UserAgent: fetch.UserAgent("1.2", "https://bot.example/about"),
			Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
				// A server made by hand, to see the bytes.
				mine, theirs := net.Pipe()
				go func() {
					cfg := n.ServerTLS(c.host)
					cfg.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) { name = h.ServerName; return nil, nil }
					cfg.SessionTicketsDisabled = true
					s := tls.Server(theirs, cfg)
					buf := make([]byte, 4096)
					k, _ := s.Read(buf)
					got <- string(buf[:k])
					io.WriteString(s, fakenet.Plain(200, "{}"))
					io.Copy(io.Discard, s)
				}()
				return mine, nil
			},
		})
		n.Site("site.example")
		v := client.Visit()
		resp, err := v.Fetch(t.Context(), request(t, c.url, 100))
		if err != nil {
			t.Fatal(c.url, outcome(resp, err))
		}
		v.Close()
		want := "GET " + c.target + " HTTP/1.1\r\nHost: " + c.host + "\r\nUser-Agent: agentaudit/1.2 (+https://bot.example/about)\r\n" +
			"Accept: application/json, text/plain;q=0.9\r\nAccept-Encoding: identity\r\n\r\n"
		if g := <-got; g != want {
			t.Errorf("sent %q\nwant %q", g, want)
		}
		if sni := c.host; strings.Contains(sni, "20.0") || strings.Contains(sni, "[") {
			if name != "" {
				t.Errorf("SNI %q for an address", name)
			}
		} else if name != sni {
			t.Errorf("SNI %q, want %q", name, sni)
		}
	}
}

func TestAFinalDotIsTheSameHost(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	s := n.Site("site.example")
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	for _, u := range []string{"https://site.example./", "https://site.example/"} {
		if resp, err := v.Fetch(t.Context(), request(t, u, 100)); err != nil {
			t.Fatal(outcome(resp, err))
		}
	}
	if st := n.Stats("site.example"); st.Handshakes != 1 || s.Lookups() != 1 {
		t.Errorf("%+v", st)
	}
}

func TestAddressLiterals(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	n.Site("20.1.2.3").Static("/", 200, nil, "4")
	n.Site("[2600::7]").Static("/", 200, nil, "6")
	v := n.Client(fetch.Config{Resolver: spyResolver{n.Resolver(), func(h string, _ bool) { t.Errorf("%s was looked up", h) }}}).Visit()
	defer v.Close()
	for u, want := range map[string]string{"https://20.1.2.3/": "4", "https://0x14.0x10203/": "4", "https://[2600::7]/": "6"} {
		resp, err := v.Fetch(t.Context(), request(t, u, 100))
		if err != nil || string(resp.Body) != want {
			t.Error(u, outcome(resp, err))
		}
	}
}

func TestCancelling(t *testing.T) {
	for name, h := range map[string]http.Handler{"answer": fakenet.Stall(""), "header": fakenet.Stall(json), "body": fakenet.Stall(json + "\r\n{")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				s := n.Site("site.example").Path("/", h)
				v := n.Client(fetch.Config{}).Visit()
				defer v.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := v.Fetch(ctx, request(t, s.URL("/"), 100))
				if fetch.KindOf(err) != fetch.KindCancelled || !errors.Is(err, context.DeadlineExceeded) || err.(*fetch.Error).Timeout() {
					t.Errorf("%#v", err)
				}
				// The visit goes on.
				if resp, err := v.Fetch(t.Context(), request(t, s.URL("/other"), 100)); err != nil {
					t.Error(outcome(resp, err))
				}
			})
		})
	}
	for name, setUp := range map[string]func(*fakenet.Net){
		"dns":       func(n *fakenet.Net) { n.Site("site.example").DNS(fakenet.Answer{Failure: fakenet.Silence}) },
		"connect":   func(n *fakenet.Net) { n.Site("site.example"); n.Address("20.0.0.1", fakenet.BlackHole) },
		"handshake": func(n *fakenet.Net) { n.Site("site.example").Greet(fakenet.StallHandshake) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				setUp(n)
				v := n.Client(fetch.Config{}).Visit()
				defer v.Close()
				for range 2 { // it is not remembered as the site's fault
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					started := time.Now()
					_, err := v.Fetch(ctx, request(t, "https://site.example/", 100))
					if fetch.KindOf(err) != fetch.KindCancelled || time.Since(started) != time.Second {
						t.Errorf("%v after %v", err, time.Since(started))
					}
					cancel()
				}
			})
		})
	}
}

func TestWaitingForATurnCanBeCancelled(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		s := n.Site("site.example").Path("/", fakenet.Stall(""))
		v := n.Client(fetch.Config{}).Visit()
		defer v.Close()
		var first sync.WaitGroup
		first.Go(func() { v.Fetch(t.Context(), request(t, s.URL("/"), 100)) })
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := v.Fetch(ctx, request(t, s.URL("/b"), 100)); fetch.KindOf(err) != fetch.KindCancelled {
			t.Error(err)
		}
		first.Wait()
	})
}

func TestCloseCutsOff(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		s := n.Site("site.example").Path("/", fakenet.Stall(""))
		var released atomic.Int32
		v := n.Client(fetch.Config{Admit: func(context.Context, string, []netip.Addr) (func(), error) {
			return func() { released.Add(1) }, nil
		}}).Visit()
		var reads sync.WaitGroup
		for range 3 {
			reads.Go(func() {
				if _, err := v.Fetch(t.Context(), request(t, s.URL("/"), 100)); fetch.KindOf(err) != fetch.KindCancelled {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		v.Close()
		v.Close()
		reads.Wait()
		if _, err := v.Fetch(t.Context(), request(t, s.URL("/"), 100)); fetch.KindOf(err) != fetch.KindCancelled {
			t.Error(err)
		}
		if _, err := v.Resolve(t.Context(), "site.example"); fetch.KindOf(err) != fetch.KindCancelled {
			t.Error(err)
		}
		if released.Load() != 1 || n.Stats("site.example").Connections != 1 {
			t.Errorf("%d releases", released.Load())
		}
	})
}

func TestAdmission(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	n.Site("site.example").DNS(fakenet.Addresses("20.0.0.5", "2600::5", "20.0.0.6", "20.0.0.7", "2600::8"))
	var log []string
	client := n.Client(fetch.Config{Admit: func(_ context.Context, host string, addrs []netip.Addr) (func(), error) {
		if len(log) == 0 {
			log = append(log, "busy")
			return nil, errors.New("eight audits on this address")
		}
		log = append(log, fmt.Sprint(host, addrs, len(n.Dials())))
		return func() { log = append(log, "release "+host) }, nil
	}})
	v := client.Visit()
	_, err := v.Fetch(t.Context(), request(t, "https://site.example/", 100))
	if fetch.KindOf(err) != fetch.KindBusy || !strings.Contains(errors.Unwrap(err).Error(), "eight audits") {
		t.Error(err)
	}
	for range 2 {
		if resp, err := v.Fetch(t.Context(), request(t, "https://site.example/", 100)); err != nil {
			t.Error(outcome(resp, err))
		}
	}
	v.Close()
	rests := n.Client(fetch.Config{Admit: func(context.Context, string, []netip.Addr) (func(), error) {
		return nil, fmt.Errorf("manners: %w", &fetch.RestError{For: 90 * time.Second})
	}})
	v = rests.Visit()
	defer v.Close()
	dials := len(n.Dials())
	for range 2 {
		_, err = v.Fetch(t.Context(), request(t, "https://site.example/", 100))
		e, ok := errors.AsType[*fetch.Error](err)
		if !ok || e.Kind != fetch.KindResting || e.RetryAfter != 90*time.Second || e.Status != 0 || len(n.Dials()) != dials || !strings.Contains(e.Error(), "asked not to be visited") {
			t.Errorf("a host that rests: %v", err)
		}
	}
	want := []string{"busy", "site.example[2600::5 20.0.0.5 2600::8 20.0.0.6] 0", "release site.example"}
	if !slices.Equal(log, want) {
		t.Errorf("%q", log)
	}
}

func TestResolveSharesTheLookup(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	s := n.Site("site.example").DNS(fakenet.Addresses("20.0.0.5", "2600::5"))
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	for range 2 {
		addrs, err := v.Resolve(t.Context(), "site.example.")
		if err != nil || fmt.Sprint(addrs) != "[20.0.0.5 2600::5]" {
			t.Fatal(addrs, err)
		}
		addrs[0] = netip.Addr{} // the caller's own
	}
	if resp, err := v.Fetch(t.Context(), request(t, s.URL("/"), 100)); err != nil || s.Lookups() != 1 || resp.Trace.DNS != 0 {
		t.Error(outcome(resp, err), s.Lookups())
	}
}

func TestKeyExchange(t *testing.T) {
	for _, postQuantum := range []bool{false, true} {
		n := newNet(t, fakenet.Options{})
		var offered []tls.CurveID
		n.Site("site.example")
		n.OnHello(func(h *tls.ClientHelloInfo) { offered = h.SupportedCurves })
		v := n.Client(fetch.Config{PostQuantum: postQuantum}).Visit()
		if resp, err := v.Fetch(t.Context(), request(t, "https://site.example/", 100)); err != nil {
			t.Fatal(outcome(resp, err))
		}
		v.Close()
		if slices.Contains(offered, tls.X25519MLKEM768) != postQuantum || !slices.Contains(offered, tls.X25519) {
			t.Errorf("post-quantum %v: %v", postQuantum, offered)
		}
	}
}

func TestUnusableConfigurations(t *testing.T) {
	for _, cfg := range []fetch.Config{
		{UserAgent: "a\r\nX: y"}, {UserAgent: "ä"}, {UserAgent: " a"}, {Limits: fetch.Limits{Read: -1}}, {Limits: fetch.Limits{Addresses: -1}},
	} {
		if _, err := fetch.New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	n := newNet(t, fakenet.Options{})
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	if _, err := v.Fetch(t.Context(), fetch.Request{URL: mustURL(t, "https://site.example/"), Accept: "a\r\nX: y"}); fetch.KindOf(err) != fetch.KindRefused {
		t.Error(err)
	}
	if _, err := v.Fetch(t.Context(), fetch.Request{}); fetch.KindOf(err) != fetch.KindRefused {
		t.Error(err)
	}
}
