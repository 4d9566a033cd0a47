package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"agentaudit/fetch/resolve"
)

// Errors that a fake internet does not produce by itself, as the standard
// library and the kernel make them.
func TestSentences(t *testing.T) {
	v4, v6 := netip.MustParseAddrPort("20.0.0.1:443"), netip.MustParseAddrPort("[2600::1]:443")
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	connect := func(f ...dialFailure) *Error { return connectFailed("site.example", f, 8*time.Second) }
	shake := func(err error) *Error { return handshakeFailed("site.example", v4, err, 8*time.Second) }
	cert := func(err error, chain ...*x509.Certificate) *Error {
		return shake(&tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: err})
	}
	dns := func(err error, late bool) *Error { return dnsFailed("site.example", err, late, 5*time.Second) }
	old := &x509.Certificate{Raw: []byte("old"), NotAfter: time.Date(2026, 1, 2, 23, 0, 0, 0, time.UTC)}
	leaf := &x509.Certificate{Raw: []byte("leaf")}
	many := &x509.Certificate{DNSNames: []string{"a.example", "b\u202e.example", "c.example", "d.example", "e.example"}}
	issued := &x509.Certificate{RawIssuer: []byte("i"), RawSubject: []byte("s"), Issuer: pkix.Name{CommonName: "Evil\nCA\x1b[2J"}}
	for _, c := range []struct {
		got  *Error
		want string
	}{
		{connect(dialFailure{v4, dial(syscall.ECONNREFUSED)}), "connect: site.example (20.0.0.1) refuses connections on port 443"},
		{connect(dialFailure{v4, dial(syscall.EHOSTUNREACH)}), "connect: there is no way through the network to site.example (20.0.0.1)"},
		{connect(dialFailure{v4, dial(syscall.ETIMEDOUT)}), "connect: site.example (20.0.0.1) did not accept a connection on port 443 within 8 seconds"},
		{connect(dialFailure{v4, dial(syscall.ECONNRESET)}), "connect: site.example (20.0.0.1) accepts no connection on port 443"},
		{connect(dialFailure{v6, dial(syscall.EADDRNOTAVAIL)}), "connect: site.example has IPv6 addresses only, and there is no way to them from here"},
		{connect(dialFailure{v6, dial(syscall.EAFNOSUPPORT)}), "connect: site.example has IPv6 addresses only, and there is no way to them from here"},
		{connect(dialFailure{v6, dial(syscall.ENETUNREACH)}, dialFailure{v4, dial(syscall.ECONNREFUSED)}), "connect: site.example (20.0.0.1) refuses connections on port 443"},
		{connect(dialFailure{v6, dial(syscall.ECONNREFUSED)}, dialFailure{v4, dial(syscall.ETIMEDOUT)}), "connect: site.example (2600::1 and 1 more) accepts no connection on port 443"},
		{connect(dialFailure{v4, dial(syscall.EMFILE)}), "busy: this machine could not open a connection to site.example: it has run out of room or is not allowed to"},
		{connect(dialFailure{v4, dial(syscall.EADDRNOTAVAIL)}), "busy: this machine could not open a connection to site.example: it has run out of room or is not allowed to"},
		{connect(dialFailure{v4, dial(syscall.EPERM)}), "busy: this machine could not open a connection to site.example: it has run out of room or is not allowed to"},
		{connect(dialFailure{v4, guardian.SafeAddrPort(netip.MustParseAddrPort("127.0.0.1:443"))}), "refused: a connection to 20.0.0.1:443 was refused by our own check of addresses"},
		{connect(), "connect: site.example accepts no connection on port 443"},

		{shake(io.EOF), "tls: site.example closed the connection during the TLS handshake"},
		{shake(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), "tls: site.example closed the connection during the TLS handshake"},
		{shake(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}), "timeout: site.example accepted the connection but did not finish the TLS handshake within 8 seconds"},
		{shake(errors.New("tls: server selected unsupported protocol version 301")), "tls: the TLS handshake with site.example failed: server selected unsupported protocol version 301"},
		{shake(&net.OpError{Op: "remote error", Err: tls.AlertError(70)}), "tls: site.example broke off the TLS handshake: protocol version not supported"},
		{shake(tls.RecordHeaderError{RecordHeader: [5]byte{'H', 'T', 'T', 'P', '/'}}), "tls: site.example speaks unencrypted HTTP on port 443"},
		{shake(tls.RecordHeaderError{}), "tls: what answers on port 443 of site.example is not a TLS server"},

		{cert(x509.CertificateInvalidError{Cert: old, Reason: x509.Expired}, old), "bad-certificate: the certificate of site.example expired on 2026-01-02"},
		{cert(x509.CertificateInvalidError{Cert: old, Reason: x509.Expired}, leaf, old), "bad-certificate: an issuer's certificate in the chain of site.example expired on 2026-01-02"},
		{cert(x509.CertificateInvalidError{Cert: leaf, Reason: x509.NotAuthorizedToSign}), "bad-certificate: the certificate of site.example is not valid: certificate is not authorized to sign other certificates"},
		{cert(x509.HostnameError{Certificate: many, Host: "site.example"}), "bad-certificate: the certificate of site.example is for a.example, b\ufffd.example, c.example and 2 more, not for this host"},
		{cert(x509.HostnameError{Certificate: leaf, Host: "site.example"}), "bad-certificate: the certificate of site.example is for no host at all"},
		{cert(x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"a.example"}, IPAddresses: []net.IP{net.IPv4(20, 0, 0, 9)}}}), "bad-certificate: the certificate of site.example is for a.example and 20.0.0.9, not for this host"},
		{cert(x509.UnknownAuthorityError{Cert: issued}), "bad-certificate: the certificate of site.example comes from an issuer that is not trusted or not named completely (CN=Evil\ufffdCA\ufffd[2J)"},
		{cert(x509.UnknownAuthorityError{}), "bad-certificate: the certificate of site.example is not valid: certificate signed by unknown authority"},
		{shake(&tls.CertificateVerificationError{Err: x509.SystemRootsError{}}), "busy: this machine has no list of trusted certificate issuers"},

		{dns(&resolve.Error{Host: "site.example", Detail: "its name servers fail (SERVFAIL)"}, false), "dns: the addresses of site.example could not be looked up: its name servers fail (SERVFAIL)"},
		{dns(&resolve.Error{Detail: "the name servers cannot be reached", Err: dial(syscall.EMFILE)}, false), "busy: the addresses of site.example could not be looked up: the name servers cannot be reached"},
		{dns(context.DeadlineExceeded, true), "dns: the addresses of site.example could not be looked up within 5 seconds"},
		{dns(errors.New("x"), false), "dns: the addresses of site.example could not be looked up"},

		// What consumers make themselves, in tests above all.
		{&Error{Kind: KindTimeout, URL: "https://site.example/"}, "timeout: https://site.example/ did not answer in time"},
		{&Error{Kind: KindRedirect, Host: "site.example"}, "redirect: site.example is redirected"},
		{&Error{Kind: "odd"}, "odd: the site could not be read"},
	} {
		if got := string(c.got.Kind) + ": " + c.got.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if c.got.Kind != "odd" && c.got.Advice() == "" {
			t.Errorf("%v: no advice", c.got)
		}
	}
}

func TestKinds(t *testing.T) {
	var temporary, confirm, network []Kind
	for _, k := range Kinds {
		e := &Error{Kind: k}
		if e.Error() == "" || e.Advice() == "" || KindOf(fmt.Errorf("wrapped: %w", e)) != k {
			t.Errorf("%s: %q, %q", k, e, e.Advice())
		}
		if k.Temporary() {
			temporary = append(temporary, k)
		}
		if k.Confirm() {
			confirm = append(confirm, k)
		}
		if k.Network() {
			network = append(network, k)
		}
	}
	if got := fmt.Sprint(temporary, confirm, network); got != "[dns busy resting connect tls timeout reset protocol cancelled] [no-such-host bad-certificate] [dns connect timeout]" {
		t.Error(got)
	}
	if len(kindSentences) != len(Kinds) {
		t.Errorf("%d kinds, %d sentences", len(Kinds), len(kindSentences))
	}
	for err, want := range map[error]Kind{nil: "", io.EOF: "", context.Canceled: KindCancelled, context.DeadlineExceeded: KindCancelled} {
		if KindOf(err) != want {
			t.Errorf("%v: %s", err, KindOf(err))
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "0": 0, "30": 30 * time.Second, " 120 ": 2 * time.Minute, "-5": 0, "1.5": 0, "soon": 0, "+5": 0,
		"99999999999999999999999": math.MaxInt64, "9223372037": math.MaxInt64,
		"Mon, 30 Nov 2026 12:01:00 GMT": time.Minute, "Monday, 30-Nov-26 12:00:10 GMT": 10 * time.Second, "Mon Nov 30 13:00:00 2026": time.Hour,
		"Mon, 30 Nov 2026 11:00:00 GMT": 0, "2026-11-30T13:00:00Z": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}

func TestTheOrderOfAddresses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"20.0.0.1", "20.0.0.1"},
		{"20.0.0.1 2600::1", "2600::1 20.0.0.1"},
		{"20.0.0.1 20.0.0.2 20.0.0.3 2600::1", "2600::1 20.0.0.1 20.0.0.2 20.0.0.3"},
		{"2600::1 2600::2 2600::3 2600::4 2600::5 20.0.0.1", "2600::1 20.0.0.1 2600::2 2600::3"},
		{"20.0.0.1 20.0.0.2 20.0.0.3 20.0.0.4 20.0.0.5", "20.0.0.1 20.0.0.2 20.0.0.3 20.0.0.4"},
	} {
		var addrs []netip.Addr
		for a := range strings.FieldsSeq(c.in) {
			addrs = append(addrs, netip.MustParseAddr(a))
		}
		var got []string
		for _, a := range tryOrder(addrs, DefaultAddresses) {
			if a.Port() != 443 {
				t.Errorf("port %d", a.Port())
			}
			got = append(got, a.Addr().String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v", c.in, got)
		}
	}
}

func TestBodiesDoNotHoldMoreThanTheyMust(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 16384, 65536, 1 << 20} {
		for _, declared := range []bool{true, false} {
			r := &http.Response{ContentLength: -1, Body: io.NopCloser(bytes.NewReader(make([]byte, n)))}
			if declared {
				r.ContentLength = int64(n)
			}
			body, err := readBody(r, 1<<20)
			if err != nil || len(body) != n {
				t.Fatal(n, declared, len(body), err)
			}
			if most := 2*n + readerSize; !declared && cap(body) > most || declared && cap(body) > n+4096+n/4 {
				t.Errorf("%d bytes (declared: %v) hold %d", n, declared, cap(body))
			}
		}
	}
	// A promise alone costs nothing.
	body, _ := readBody(&http.Response{ContentLength: 1 << 20, Body: io.NopCloser(strings.NewReader(""))}, 1<<20)
	if cap(body) > firstBuffer {
		t.Errorf("an empty body holds %d bytes", cap(body))
	}
}

// answering is a connection on which an answer has arrived already.
type answering struct {
	net.Conn
	io.Reader
}

func (a answering) Read(p []byte) (int, error) { return a.Reader.Read(p) }
func (answering) Write(p []byte) (int, error)  { return len(p), nil }
func (answering) Close() error                 { return nil }
func (answering) SetDeadline(time.Time) error  { return nil }
func answeringConn(answer []byte) *conn {
	c := answering{Reader: bytes.NewReader(answer)}
	return newConn(c, c, netip.AddrPort{})
}

// FuzzAnswer gives any bytes for an answer. Whatever they are, the body stays
// within its limit, and a failure has a kind and a clean sentence.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 404 x\r\n\r\nbody",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n", "HTTP/1.0 302 x\nLocation: /\x80\u202e\n\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nRetry-After: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	client, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		v := client.Visit()
		defer v.Close()
		h, _ := v.host("site.example")
		r := &read{url: "https://site.example/", target: "/", max: 64}
		c := answeringConn(answer)
		resp, keep, err := c.exchange(r, h)
		if keep && c.br.Buffered() > 0 {
			t.Fatal("a connection with leftovers is kept")
		}
		c.abort()
		if err == nil {
			if len(resp.Body) > 64 || resp.Status >= 300 && resp.Status < 400 || resp.Status < 200 {
				t.Fatalf("%+v", resp)
			}
			return
		}
		e := h.explain(err, r)
		if kindSentences[e.Kind].advice == "" || strings.ContainsFunc(e.Error(), func(r rune) bool { return !unicode.IsPrint(r) && r != '\ufffd' }) {
			t.Fatalf("%s: %q", e.Kind, e)
		}
	})
}

// FuzzHostNames checks that what is asked of the DNS is a plain name.
func FuzzHostNames(f *testing.F) {
	for _, s := range []string{"site.example", "a..b", "-", "xn--a", "127.1", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if isHostName(s) && (s == "" || len(s) > 253 || strings.ContainsAny(s, " \t\r\n/\\@:%[]?#ABCDEFGHIJKLMNOPQRSTUVWXYZ") || strings.Contains(s, "..")) {
			t.Fatalf("%q", s)
		}
	})
}
