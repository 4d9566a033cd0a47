package fakenet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// AddrManner is how an address takes a TCP connection: nil accepts it, an
// error is what connect(2) would say.
type AddrManner func(ctx context.Context) error

// The manners of addresses.
var (
	// RefuseConnect has nothing listening.
	RefuseConnect AddrManner = func(context.Context) error { return syscall.ECONNREFUSED }
	// Unreachable has no route, like all IPv6 on many machines.
	Unreachable AddrManner = func(context.Context) error { return syscall.ENETUNREACH }
	// BlackHole never answers, like a firewall that drops.
	BlackHole AddrManner = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	// OutOfFiles is our own trouble.
	OutOfFiles AddrManner = func(context.Context) error { return syscall.EMFILE }
)

// SlowConnect accepts after a while.
func SlowConnect(d time.Duration) AddrManner {
	return func(ctx context.Context) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Address sets the manner of an address; nil makes it good again.
func (n *Net) Address(addr string, m AddrManner) {
	a := mustAddr(addr)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.manners[a] = m
}

// Greeting is what a server does with a connection after it has read the TLS
// hello, instead of answering it.
type Greeting func(c net.Conn)

// The bad greetings.
var (
	// PlainHTTP answers as a web server without TLS does.
	PlainHTTP Greeting = func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		c.Close()
	}
	// Garbage answers in no protocol at all.
	Garbage Greeting = func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n"); c.Close() }
	// HandshakeAlert refuses with the alert handshake_failure.
	HandshakeAlert Greeting = func(c net.Conn) { c.Write([]byte{21, 3, 3, 0, 2, 2, 40}); c.Close() }
	// UnknownNameAlert refuses with the alert unrecognized_name.
	UnknownNameAlert Greeting = func(c net.Conn) { c.Write([]byte{21, 3, 3, 0, 2, 2, 112}); c.Close() }
	// CloseHandshake closes, ResetHandshake resets.
	CloseHandshake Greeting = func(c net.Conn) { c.Close() }
	ResetHandshake Greeting = func(c net.Conn) { reset(c) }
	// StallHandshake says nothing until the visitor leaves.
	StallHandshake Greeting = func(c net.Conn) { io.Copy(io.Discard, c); c.Close() }
)

// Raw is a handler that has the bare connection after the request was read;
// the connection is closed when f returns.
func Raw(f func(c net.Conn)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		f(c)
	})
}

// Send writes text as the whole answer and closes: anything from garbage to a
// wrong Content-Length.
func Send(text string) http.Handler {
	return Raw(func(c net.Conn) { io.WriteString(c, text) })
}

// Stall writes text and then nothing more until the visitor leaves.
func Stall(text string) http.Handler {
	return Raw(func(c net.Conn) {
		io.WriteString(c, text)
		io.Copy(io.Discard, c)
	})
}

// ResetAfter writes text and resets the connection.
func ResetAfter(text string) http.Handler {
	return Raw(func(c net.Conn) {
		io.WriteString(c, text)
		reset(c)
	})
}

// HalfClose writes text, closes its direction and keeps the other open.
func HalfClose(text string) http.Handler {
	return Raw(func(c net.Conn) {
		io.WriteString(c, text)
		if t, ok := c.(interface{ CloseWrite() error }); ok {
			t.CloseWrite()
		}
		closeWrite(c)
		io.Copy(io.Discard, c)
	})
}

// Drip writes head, then one byte of body each time, for ever again.
func Drip(head, body string, every time.Duration) http.Handler {
	return Raw(func(c net.Conn) {
		io.WriteString(c, head)
		for i := 0; ; i++ {
			// The wait ends early when the visitor leaves.
			c.SetReadDeadline(time.Now().Add(every))
			if _, err := io.Copy(io.Discard, c); !errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			if _, err := c.Write([]byte{body[i%len(body)]}); err != nil {
				return
			}
		}
	})
}

// Endless writes head and then piece until the visitor leaves: bodies, header
// fields, interim answers, trailers without end.
func Endless(head, piece string) http.Handler {
	return Raw(func(c net.Conn) {
		if _, err := io.WriteString(c, head); err != nil {
			return
		}
		pieces := strings.Repeat(piece, 1+4096/len(piece))
		for {
			if _, err := io.WriteString(c, pieces); err != nil {
				return
			}
		}
	})
}

// EndlessBody sends a body without end or length.
func EndlessBody(contentType string) http.Handler {
	return Endless("HTTP/1.1 200 OK\r\nContent-Type: "+contentType+"\r\n\r\n", "0123456789abcdef")
}

// HeaderFlood sends header fields without end.
func HeaderFlood() http.Handler {
	return Endless("HTTP/1.1 200 OK\r\n", "X-Flood: 0123456789abcdef0123456789abcdef\r\n")
}

// InterimFlood sends 103 answers without end.
func InterimFlood() http.Handler {
	return Endless("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
}

// Interim sends n 1xx answers before the real one.
func Interim(n int, status int, body string) http.Handler {
	return Send(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", n) + Plain(status, body))
}

// TrailerFlood sends a chunked body with trailers without end.
func TrailerFlood(body string) http.Handler {
	return Endless(fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n", len(body), body), "X-Trailer: 0123456789\r\n")
}

// WrongLength promises length bytes and sends body.
func WrongLength(length int, body string) http.Handler {
	return Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(length) + "\r\n\r\n" + body)
}

// Plain is a whole answer as text, for [Send] and its like.
func Plain(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body)
}

// Redirect answers with a 3xx and a short body.
func Redirect(status int, location string) http.Handler {
	h := http.Header{"Content-Type": {"text/html"}}
	if location != "" {
		h.Set("Location", location)
	}
	return static(status, h, "<a href>moved</a>")
}

// Encoded answers with a Content-Encoding that was not asked for.
func Encoded(coding, body string) http.Handler {
	return static(200, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {coding}}, body)
}

// Limited answers 429 or 503 with a Retry-After.
func Limited(status int, retryAfter string) http.Handler {
	return static(status, http.Header{"Content-Type": {"text/plain"}, "Retry-After": {retryAfter}}, "later")
}

// Challenge answers as a bot wall does: an HTML page with a puzzle.
func Challenge(status int) http.Handler {
	return static(status, http.Header{"Content-Type": {"text/html; charset=UTF-8"}, "Cf-Mitigated": {"challenge"}},
		"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><script src=\"/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1\"></script></body></html>")
}

// OnceThen answers the first n requests of one kind with first, all later
// ones with then.
func OnceThen(n int, first, then http.Handler) http.Handler {
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-left:
			first.ServeHTTP(w, r)
		default:
			then.ServeHTTP(w, r)
		}
	})
}
