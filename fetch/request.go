package fetch

import (
	"net/http"
	"net/netip"
	"time"

	"agentaudit/fetch/weburl"
)

// The Accept headers of the specification, section 2.
const (
	AcceptAudit     = "application/json, text/plain;q=0.9"
	AcceptDiscovery = "text/html, application/json, text/plain;q=0.9"
)

// Request is one GET.
type Request struct {
	// URL must be https on the standard port and without credentials, else
	// the read is refused. A query is sent, a fragment is not.
	URL *weburl.URL
	// Accept is the Accept header; empty means [AcceptAudit].
	Accept string
	// MaxBytes is the largest body accepted, in raw bytes as received. A body
	// with one byte more is refused ([KindTooLarge]) without reading the rest.
	// Zero accepts empty bodies alone.
	MaxBytes int64
}

// Response is a complete answer of any status but 3xx.
type Response struct {
	// URL is what was asked for, in WHATWG form without fragment.
	URL    string
	Status int
	// Header is as received, at most 64 KiB in all.
	Header http.Header
	// ContentType is the Content-Type header as received, "" without one.
	ContentType string
	// Body is the raw body; it belongs to the caller. It is never nil.
	Body []byte
	// Bytes is the number of bytes received, len(Body).
	Bytes int64
	// RetryAfter is what the Retry-After header asks for, 0 without one.
	RetryAfter time.Duration
	Trace      Trace
}

// Trace is how a read went, good or bad.
type Trace struct {
	// Addr is the address connected to, zero if there was no connection.
	Addr netip.AddrPort
	// TLSVersion is as in crypto/tls (tls.VersionTLS13), 0 without a handshake.
	TLSVersion uint16
	// Started is when the read got its turn on the host, Elapsed how long it
	// took from then on, with the DNS lookup if it made one.
	Started time.Time
	Elapsed time.Duration
	// DNS, Connect and TLS are the times of the lookup, the TCP connection
	// and the handshake; zero for reads that found them done.
	DNS, Connect, TLS time.Duration
	// Reused reports that the read went over a connection of an earlier one.
	Reused bool
}
