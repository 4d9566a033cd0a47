package fetch_test

import (
	"context"
	"fmt"

	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

// bubble runs f with a fake internet on a clock that costs no time. Times
// measured inside are exact.
func bubble(t *testing.T, f func(t *testing.T, n *fakenet.Net)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := fakenet.New(fakenet.Options{})
		defer func() {
			n.Close()
			if bad := n.Forbidden(); len(bad) > 0 {
				t.Errorf("forbidden connections were tried: %v", bad)
			}
		}()
		f(t, n)
	})
}

// outcome is what a read came to, in one line: status and body size, or kind,
// status if any, and sentence.
func outcome(resp *fetch.Response, err error) string {
	if err == nil {
		return fmt.Sprintf("%d, %d bytes", resp.Status, len(resp.Body))
	}
	e := err.(*fetch.Error)
	if e.Status != 0 {
		return fmt.Sprintf("%s %d: %s", e.Kind, e.Status, e)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e)
}

const json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

func TestManners(t *testing.T) {
	path := func(h http.Handler) func(*fakenet.Net) {
		return func(n *fakenet.Net) { n.Site("site.example").Path("/f.json", h) }
	}
	dns := func(answers ...fakenet.Answer) func(*fakenet.Net) {
		return func(n *fakenet.Net) { n.Site("site.example").DNS(answers...) }
	}
	addrs := func(a ...string) func(*fakenet.Net) { return dns(fakenet.Addresses(a...)) }
	cert := func(k fakenet.CertKind) func(*fakenet.Net) {
		return func(n *fakenet.Net) { n.Site("site.example").Certificate(k) }
	}
	greet := func(g fakenet.Greeting) func(*fakenet.Net) {
		return func(n *fakenet.Net) { n.Site("site.example").Greet(g) }
	}
	address := func(m fakenet.AddrManner) func(*fakenet.Net) {
		return func(n *fakenet.Net) { n.Site("site.example"); n.Address("20.0.0.1", m) }
	}
	ok := fakenet.Text(200, "{}")
	const body = 1000 // the limit of the request
	full := strings.Repeat("x", body)
	day := func(days int) string {
		// A bubble begins at midnight of this day.
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days).Format(time.DateOnly)
	}
	const u = "https://site.example/f.json"
	for _, c := range []struct {
		name  string
		setUp func(*fakenet.Net)
		want  string
		took  time.Duration // on the bubble's clock
	}{
		{name: "good", setUp: path(ok), want: "200, 2 bytes"},
		{name: "not found", setUp: path(nil), want: "404, 7 bytes"},

		// Names.
		{name: "no such name", setUp: func(*fakenet.Net) {}, want: "no-such-host: the host site.example does not exist: the name servers do not know the name (NXDOMAIN)"},
		{name: "no address", setUp: dns(fakenet.Answer{}), want: "no-such-host: the host site.example does not exist: the name exists, but has no address"},
		{name: "SERVFAIL", setUp: dns(fakenet.Answer{Failure: fakenet.ServFail}), want: "dns: the addresses of site.example could not be looked up: its name servers fail (SERVFAIL)"},
		{name: "REFUSED", setUp: dns(fakenet.Answer{Failure: fakenet.RefusedQuery}), want: "dns: the addresses of site.example could not be looked up: the name server refuses to answer (REFUSED)"},
		{name: "silent DNS", setUp: dns(fakenet.Answer{Failure: fakenet.Silence}), want: "dns: the addresses of site.example could not be looked up within 5 seconds", took: 5 * time.Second},
		{name: "alias", setUp: func(n *fakenet.Net) {
			n.Site("site.example").DNS(fakenet.Answer{Alias: "platform.example"}).Path("/f.json", ok)
			n.Site("platform.example")
		}, want: "200, 2 bytes"},
		{name: "alias in circles", setUp: dns(fakenet.Answer{Alias: "site.example"}), want: "dns: the addresses of site.example could not be looked up: its chain of aliases (CNAME) is longer than 8 or runs in circles"},

		// Addresses.
		{name: "private", setUp: addrs("10.0.0.1"), want: "refused: site.example has the address 10.0.0.1, which is not a public address: it belongs to a private network (RFC 1918)"},
		{name: "mixed", setUp: addrs("20.0.0.1", "192.168.1.1"), want: "refused: one of the 2 addresses of site.example is 192.168.1.1, which is not a public address: it belongs to a private network (RFC 1918)"},
		{name: "mixed families", setUp: addrs("20.0.0.1", "fe80::1"), want: "refused: one of the 2 addresses of site.example is fe80::1, which is not a public address: it belongs to a link-local network (RFC 4291)"},
		{name: "mapped private", setUp: addrs("::ffff:10.0.0.1"), want: "refused: site.example has the address ::ffff:10.0.0.1, which is not a public address: it belongs to an IPv4-mapped address (RFC 4291)"},
		{name: "mapped public", setUp: addrs("::ffff:20.0.0.1"), want: "refused: site.example has the address ::ffff:20.0.0.1, which is not a public address: it belongs to an IPv4-mapped address (RFC 4291)"},
		{name: "IPv6 only", setUp: addrs("2600::1"), want: "404, 7 bytes"},
		{name: "IPv6 only, no way", setUp: func(n *fakenet.Net) {
			n.Site("site.example").Addrs("2600::1")
			n.Address("2600::1", fakenet.Unreachable)
		}, want: "connect: site.example has IPv6 addresses only, and there is no way to them from here"},
		{name: "dead IPv6 beside live IPv4", setUp: func(n *fakenet.Net) {
			n.Site("site.example").Addrs("20.0.0.1", "2600::1")
			n.Address("2600::1", fakenet.BlackHole)
		}, want: "404, 7 bytes", took: 250 * time.Millisecond},
		{name: "no IPv6 here, live IPv4", setUp: func(n *fakenet.Net) {
			n.Site("site.example").Addrs("20.0.0.1", "2600::1")
			n.Address("2600::1", fakenet.Unreachable)
		}, want: "404, 7 bytes"},
		{name: "no IPv6 here, refused on IPv4", setUp: func(n *fakenet.Net) {
			n.Site("site.example").Addrs("20.0.0.1", "2600::1")
			n.Address("2600::1", fakenet.Unreachable)
			n.Address("20.0.0.1", fakenet.RefuseConnect)
		}, want: "connect: site.example (20.0.0.1) refuses connections on port 443"},
		{name: "the fourth address", setUp: func(n *fakenet.Net) {
			n.Site("site.example").Addrs("20.0.0.1", "20.0.0.2", "20.0.0.3", "20.0.0.4")
			for _, a := range []string{"20.0.0.1", "20.0.0.2", "20.0.0.3"} {
				n.Address(a, fakenet.BlackHole)
			}
		}, want: "404, 7 bytes", took: 750 * time.Millisecond},
		{name: "five addresses, four tried", setUp: func(n *fakenet.Net) {
			n.Site("site.example").Addrs("20.0.0.1", "20.0.0.2", "20.0.0.3", "20.0.0.4", "20.0.0.5")
			for _, a := range []string{"20.0.0.1", "20.0.0.2", "20.0.0.3", "20.0.0.4"} {
				n.Address(a, fakenet.RefuseConnect)
			}
		}, want: "connect: site.example (20.0.0.1 and 3 more) refuses connections on port 443"},
		{name: "refused", setUp: address(fakenet.RefuseConnect), want: "connect: site.example (20.0.0.1) refuses connections on port 443"},
		{name: "black hole", setUp: address(fakenet.BlackHole), want: "connect: site.example (20.0.0.1) did not accept a connection on port 443 within 8 seconds", took: 8 * time.Second},
		{name: "no route", setUp: address(fakenet.Unreachable), want: "connect: there is no way through the network to site.example (20.0.0.1)"},
		{name: "no descriptors", setUp: address(fakenet.OutOfFiles), want: "busy: this machine could not open a connection to site.example: it has run out of room or is not allowed to"},
		{name: "slow connect", setUp: address(fakenet.SlowConnect(7 * time.Second)), want: "404, 7 bytes", took: 7 * time.Second},
		{name: "too slow connect", setUp: address(fakenet.SlowConnect(9 * time.Second)), want: "connect: site.example (20.0.0.1) did not accept a connection on port 443 within 8 seconds", took: 8 * time.Second},

		// TLS.
		{name: "expired", setUp: cert(fakenet.ExpiredCert), want: "bad-certificate: the certificate of site.example expired on " + day(-30)},
		{name: "not yet valid", setUp: cert(fakenet.EarlyCert), want: "bad-certificate: the certificate of site.example is not valid before " + day(30)},
		{name: "wrong host", setUp: cert(fakenet.WrongHostCert), want: "bad-certificate: the certificate of site.example is for elsewhere.example, not for this host"},
		{name: "self-signed", setUp: cert(fakenet.SelfSignedCert), want: "bad-certificate: the certificate of site.example is signed by itself and not by a trusted issuer"},
		{name: "unknown issuer", setUp: cert(fakenet.UnknownIssuerCert), want: "bad-certificate: the certificate of site.example comes from an issuer that is not trusted or not named completely (CN=fakenet root)"},
		{name: "wants a certificate of ours", setUp: cert(fakenet.ClientCert), want: "tls: site.example ended the secure connection instead of answering: certificate required"},
		{name: "plain HTTP", setUp: greet(fakenet.PlainHTTP), want: "tls: site.example speaks unencrypted HTTP on port 443"},
		{name: "SSH", setUp: greet(fakenet.Garbage), want: "tls: what answers on port 443 of site.example is not a TLS server"},
		{name: "handshake alert", setUp: greet(fakenet.HandshakeAlert), want: "tls: site.example broke off the TLS handshake: handshake failure"},
		{name: "unknown name alert", setUp: greet(fakenet.UnknownNameAlert), want: "tls: site.example broke off the TLS handshake: unrecognized name"},
		{name: "closed in handshake", setUp: greet(fakenet.CloseHandshake), want: "tls: site.example closed the connection during the TLS handshake"},
		{name: "reset in handshake", setUp: greet(fakenet.ResetHandshake), want: "tls: site.example closed the connection during the TLS handshake"},
		{name: "stalled handshake", setUp: greet(fakenet.StallHandshake), want: "timeout: site.example accepted the connection but did not finish the TLS handshake within 8 seconds", took: 8 * time.Second},

		// Redirects.
		{name: "300", setUp: path(fakenet.Redirect(300, "/x")), want: "redirect 300: " + u + " answers with a redirect (status 300) to /x, which is not followed"},
		{name: "301", setUp: path(fakenet.Redirect(301, "https://b.example/")), want: "redirect 301: " + u + " answers with a redirect (status 301) to https://b.example/, which is not followed"},
		{name: "302", setUp: path(fakenet.Redirect(302, "//b.example")), want: "redirect 302: " + u + " answers with a redirect (status 302) to //b.example, which is not followed"},
		{name: "303", setUp: path(fakenet.Redirect(303, "/x")), want: "redirect 303: " + u + " answers with a redirect (status 303) to /x, which is not followed"},
		{name: "304", setUp: path(fakenet.Redirect(304, "")), want: "redirect 304: " + u + " answers with a redirect (status 304) that names no destination"},
		{name: "305", setUp: path(fakenet.Redirect(305, "http://10.0.0.1:3128")), want: "redirect 305: " + u + " answers with a redirect (status 305) to http://10.0.0.1:3128, which is not followed"},
		{name: "307", setUp: path(fakenet.Redirect(307, "/x")), want: "redirect 307: " + u + " answers with a redirect (status 307) to /x, which is not followed"},
		{name: "308", setUp: path(fakenet.Redirect(308, "")), want: "redirect 308: " + u + " answers with a redirect (status 308) that names no destination"},
		{name: "399", setUp: path(fakenet.Redirect(399, "/x")), want: "redirect 399: " + u + " answers with a redirect (status 399) to /x, which is not followed"},
		{name: "redirect to controls", setUp: path(fakenet.Send("HTTP/1.1 302 Found\r\nLocation: /a\u202e\xff[31m\r\n\r\n")), want: "redirect 302: " + u + " answers with a redirect (status 302) to /a\ufffd\ufffd[31m, which is not followed"},
		{name: "redirect with endless body", setUp: path(fakenet.Endless("HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", "x")), want: "redirect 302: " + u + " answers with a redirect (status 302) to /x, which is not followed"},

		// Sizes.
		{name: "one under", setUp: path(fakenet.Text(200, full[1:])), want: "200, 999 bytes"},
		{name: "at the limit", setUp: path(fakenet.Text(200, full)), want: "200, 1000 bytes"},
		{name: "one over", setUp: path(fakenet.Text(200, full+"x")), want: "too-large 200: " + u + " is larger than the 1,000 bytes allowed"},
		{name: "chunked at the limit", setUp: path(chunked(full)), want: "200, 1000 bytes"},
		{name: "chunked one over", setUp: path(chunked(full + "x")), want: "too-large 200: " + u + " is larger than the 1,000 bytes allowed"},
		{name: "until close at the limit", setUp: path(fakenet.Send(json + "\r\n" + full)), want: "200, 1000 bytes"},
		{name: "until close one over", setUp: path(fakenet.Send(json + "\r\n" + full + "x")), want: "too-large 200: " + u + " is larger than the 1,000 bytes allowed"},
		{name: "declared too large, never sent", setUp: path(fakenet.Stall(json + "Content-Length: 1001\r\n\r\n")), want: "too-large 200: " + u + " is larger than the 1,000 bytes allowed"},
		{name: "endless", setUp: path(fakenet.EndlessBody("text/plain")), want: "too-large 200: " + u + " is larger than the 1,000 bytes allowed"},
		{name: "large 404", setUp: path(fakenet.Text(404, full+"x")), want: "too-large 404: " + u + " answers 404 with more than the 1,000 bytes allowed"},
		{name: "empty", setUp: path(fakenet.Text(200, "")), want: "200, 0 bytes"},
		{name: "204", setUp: path(fakenet.Reply(204, nil, "")), want: "204, 0 bytes"},

		// Encodings.
		{name: "gzip", setUp: path(fakenet.Encoded("gzip", "\x1f\x8b")), want: "encoding 200: " + u + " is sent compressed (Content-Encoding: gzip) although that was not asked for"},
		{name: "BR", setUp: path(fakenet.Encoded("BR", "x")), want: "encoding 200: " + u + " is sent compressed (Content-Encoding: BR) although that was not asked for"},
		{name: "identity and gzip", setUp: path(fakenet.Encoded("identity, gzip", "x")), want: "encoding 200: " + u + " is sent compressed (Content-Encoding: identity, gzip) although that was not asked for"},
		{name: "Identity", setUp: path(fakenet.Encoded("Identity", "{}")), want: "200, 2 bytes"},
		{name: "empty encoding", setUp: path(fakenet.Encoded("", "{}")), want: "200, 2 bytes"},
		{name: "gzip as transfer coding", setUp: path(fakenet.Send(json + "Transfer-Encoding: gzip, chunked\r\n\r\n")), want: "protocol: the answer of site.example to " + u + " is not correct HTTP"},

		// Time.
		{name: "no answer", setUp: path(fakenet.Stall("")), want: "timeout: " + u + " was not answered within 8 seconds", took: 8 * time.Second},
		{name: "half a header", setUp: path(fakenet.Stall(json)), want: "timeout: the header of the answer to " + u + " was not complete within 8 seconds", took: 8 * time.Second},
		{name: "half a body", setUp: path(fakenet.Stall(json + "Content-Length: 100\r\n\r\n{")), want: "timeout 200: " + u + " was not complete within 8 seconds; 1 bytes of it had come", took: 8 * time.Second},
		{name: "dripping body", setUp: path(fakenet.Drip(json+"Content-Length: 100\r\n\r\n", "x", time.Second)), want: "timeout 200: " + u + " was not complete within 8 seconds; 7 bytes of it had come", took: 8 * time.Second},
		{name: "dripping header", setUp: path(fakenet.Drip("HTTP/1.1 200 OK\r\n", "X-A: b\r\n", time.Second)), want: "timeout: the header of the answer to " + u + " was not complete within 8 seconds", took: 8 * time.Second},
		{name: "slow but in time", setUp: path(fakenet.Drip(json+"Content-Length: 7\r\n\r\n", "x", time.Second)), want: "200, 7 bytes", took: 7 * time.Second},
		{name: "silent after close of its side", setUp: path(fakenet.HalfClose(json + "Content-Length: 100\r\n\r\n{")), want: "reset 200: site.example closed the connection before " + u + " was complete; 1 bytes of it had come"},

		// Broken off.
		{name: "closed without answer", setUp: path(fakenet.Send("")), want: "reset: site.example closed the connection without an answer to " + u},
		{name: "reset without answer", setUp: path(fakenet.ResetAfter("")), want: "reset: site.example closed the connection without an answer to " + u},
		{name: "closed in header", setUp: path(fakenet.Send(json)), want: "reset: site.example closed the connection within the header of its answer to " + u},
		{name: "too short", setUp: path(fakenet.WrongLength(100, "{}")), want: "reset 200: site.example closed the connection before " + u + " was complete; 2 bytes of it had come"},
		{name: "too long", setUp: path(fakenet.WrongLength(2, "{}garbage")), want: "200, 2 bytes"},
		{name: "chunked, cut off", setUp: path(fakenet.Send(json + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")), want: "reset 200: site.example closed the connection before " + u + " was complete; 2 bytes of it had come"},

		// Not HTTP, or too much of it.
		{name: "garbage", setUp: path(fakenet.Send("hello\r\n\r\n")), want: "protocol: the answer of site.example to " + u + " is not correct HTTP"},
		{name: "HTTP/2 without asking", setUp: path(fakenet.Send("HTTP/2.0 200 OK\r\n\r\n")), want: "protocol: the answer of site.example to " + u + " is not correct HTTP"},
		{name: "status 99", setUp: path(fakenet.Send("HTTP/1.1 099 Odd\r\n\r\n")), want: "protocol: the answer of site.example to " + u + " is not correct HTTP"},
		{name: "status 999", setUp: path(fakenet.Send("HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n")), want: "999, 0 bytes"},
		{name: "two lengths", setUp: path(fakenet.Send(json + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}")), want: "protocol: the answer of site.example to " + u + " is not correct HTTP"},
		{name: "negative length", setUp: path(fakenet.Send(json + "Content-Length: -1\r\n\r\n{}")), want: "protocol: the answer of site.example to " + u + " is not correct HTTP"},
		{name: "broken chunk", setUp: path(fakenet.Send(json + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n")), want: "protocol 200: the answer of site.example to " + u + " is not correct HTTP"},
		{name: "switching protocols", setUp: path(fakenet.Send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n")), want: "protocol: the answer of site.example to " + u + " is not correct HTTP"},
		{name: "five interim answers", setUp: path(fakenet.Interim(5, 200, "{}")), want: "200, 2 bytes"},
		{name: "six interim answers", setUp: path(fakenet.Interim(6, 200, "{}")), want: "protocol: " + u + " is answered with more than 5 interim answers (1xx)"},
		{name: "interim answers without end", setUp: path(fakenet.InterimFlood()), want: "protocol: " + u + " is answered with more than 5 interim answers (1xx)"},
		{name: "header without end", setUp: path(fakenet.HeaderFlood()), want: "too-large: " + u + " is answered with more than 65,536 bytes of headers"},
		{name: "one header line without end", setUp: path(fakenet.Endless("HTTP/1.1 200 OK\r\nX: ", "y")), want: "too-large: " + u + " is answered with more than 65,536 bytes of headers"},
		{name: "status line without end", setUp: path(fakenet.Endless("HTTP/1.1 200 ", "y")), want: "too-large: " + u + " is answered with more than 65,536 bytes of headers"},
		{name: "header at its limit", setUp: path(fakenet.Send(headerOf(65536) + "{}")), want: "200, 2 bytes"},
		{name: "header one over", setUp: path(fakenet.Send(headerOf(65537) + "{}")), want: "too-large: " + u + " is answered with more than 65,536 bytes of headers"},
		{name: "interim headers count", setUp: path(fakenet.Send("HTTP/1.1 103 Early Hints\r\n\r\n" + headerOf(65536-27) + "{}")), want: "too-large: " + u + " is answered with more than 65,536 bytes of headers"},
		{name: "trailers without end", setUp: path(fakenet.TrailerFlood("{}")), want: "protocol 200: the answer of site.example to " + u + " is not correct HTTP"},
		{name: "some trailers", setUp: path(fakenet.Send(json + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n")), want: "200, 2 bytes"},
		{name: "HTTP/1.0", setUp: path(fakenet.Send("HTTP/1.0 200 OK\r\n\r\n{}")), want: "200, 2 bytes"},

		// Refusals of the site are answers.
		{name: "429", setUp: path(fakenet.Limited(429, "30")), want: "429, 5 bytes"},
		{name: "bot wall", setUp: path(fakenet.Challenge(403)), want: "403, 164 bytes"},
		{name: "HTML", setUp: path(fakenet.Reply(200, fakenet.HTML, "<!DOCTYPE html>")), want: "200, 15 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				c.setUp(n)
				v := n.Client(fetch.Config{}).Visit()
				defer v.Close()
				started := time.Now()
				resp, err := v.Fetch(t.Context(), request(t, u, body))
				took := time.Since(started)
				if got := outcome(resp, err); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if err != nil {
					e := err.(*fetch.Error)
					if e.Advice() == "" || e.URL != u || e.Host != "site.example" || e.Trace.Elapsed != took {
						t.Errorf("incomplete: %+v", e)
					}
				} else if resp.Body == nil || resp.Bytes != int64(len(resp.Body)) || resp.Trace.Elapsed != took || !resp.Trace.Addr.IsValid() || resp.Trace.TLSVersion == 0 {
					t.Errorf("incomplete: %+v", resp)
				}
			})
		})
	}
}

// headerOf is a header of exactly n bytes, with a body of two.
func headerOf(n int) string {
	head := json + "Content-Length: 2\r\nX: "
	return head + strings.Repeat("y", n-len(head)-4) + "\r\n\r\n"
}

func chunked(body string) http.Handler {
	return fakenet.Send(fmt.Sprintf(json+"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body))
}

func TestASlowLookupDoesNotShortenTheRead(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		n.Site("site.example").Path("/", fakenet.Drip(json+"Content-Length: 7\r\n\r\n", "x", time.Second))
		client := n.Client(fetch.Config{Resolver: slowResolver{n.Resolver(), 4 * time.Second}})
		v := client.Visit()
		defer v.Close()
		resp, err := v.Fetch(t.Context(), request(t, "https://site.example/", 10))
		if err != nil || resp.Trace.DNS != 4*time.Second || resp.Trace.Elapsed != 11*time.Second {
			t.Error(outcome(resp, err))
		}
	})
}

func TestErrorsThatTheKernelMakes(t *testing.T) {
	n := newNet(t, fakenet.Options{Loopback: true})
	s := n.Site("site.example")
	s.Path("/reset", fakenet.ResetAfter(""))
	s.Path("/reset-body", fakenet.ResetAfter(json+"Content-Length: 100\r\n\r\n{"))
	s.Path("/close", fakenet.Send(""))
	s.Path("/half", fakenet.HalfClose(json+"Content-Length: 100\r\n\r\n{"))
	n.Site("b.example").Greet(fakenet.ResetHandshake)
	for url, want := range map[string]fetch.Kind{
		"https://site.example/reset": fetch.KindReset, "https://site.example/reset-body": fetch.KindReset,
		"https://site.example/close": fetch.KindReset, "https://site.example/half": fetch.KindReset,
		"https://b.example/": fetch.KindTLS,
	} {
		v := n.Client(fetch.Config{}).Visit()
		resp, err := v.Fetch(t.Context(), request(t, url, 1000))
		if fetch.KindOf(err) != want {
			t.Errorf("%s: %s", url, outcome(resp, err))
		}
		v.Close()
	}
	// A stall ends by the deadline of a real socket, too.
	s.Path("/stall", fakenet.Stall(""))
	v := n.Client(fetch.Config{Limits: fetch.Limits{Read: 50 * time.Millisecond}}).Visit()
	defer v.Close()
	if _, err := v.Fetch(t.Context(), request(t, "https://site.example/stall", 1000)); fetch.KindOf(err) != fetch.KindTimeout {
		t.Error(err)
	}
}

type slowResolver struct {
	fetch.Resolver
	delay time.Duration
}

func (r slowResolver) Lookup(ctx context.Context, host string, fresh bool) ([]netip.Addr, error) {
	time.Sleep(r.delay)
	return r.Resolver.Lookup(ctx, host, fresh)
}
