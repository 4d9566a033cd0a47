package fetch

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// Kind says in one word why a read failed. Programs rely on it, never on the
// sentence.
type Kind string

// The kinds of failure.
const (
	// KindNoSuchHost: the name does not exist, or exists without an address.
	KindNoSuchHost Kind = "no-such-host"
	// KindDNS: the name servers failed or did not answer in time.
	KindDNS Kind = "dns"
	// KindConnect: no checked address accepted a TCP connection.
	KindConnect Kind = "connect"
	// KindTLS: the TLS handshake failed for another reason than the certificate.
	KindTLS Kind = "tls"
	// KindBadCertificate: the certificate is not valid for the host now.
	KindBadCertificate Kind = "bad-certificate"
	// KindTimeout: connected, but not answered completely in time.
	KindTimeout Kind = "timeout"
	// KindReset: the connection was closed or reset before the answer was complete.
	KindReset Kind = "reset"
	// KindProtocol: the answer is not HTTP/1.1, or breaks its limits.
	KindProtocol Kind = "protocol"
	// KindRedirect: the answer is a 3xx; Status and Location are set.
	KindRedirect Kind = "redirect"
	// KindTooLarge: the body exceeds the limit of the request.
	KindTooLarge Kind = "too-large"
	// KindEncoding: the body is compressed although that was not asked for.
	KindEncoding Kind = "encoding"
	// KindRefused: our own policy forbids the read: a non-public address, a
	// name of the local network, a URL that is not plain https on port 443.
	KindRefused Kind = "refused"
	// KindCancelled: the caller's context ended or the visit was closed.
	KindCancelled Kind = "cancelled"
	// KindBusy: our own side had no room: manners towards the host
	// ([Config.Admit]), or no file descriptors left.
	KindBusy Kind = "busy"
	// KindResting: the host has asked to be left alone for a while (Retry-After),
	// and so was not visited ([RestError]).
	KindResting Kind = "resting"
)

// RestError is what [Config.Admit] answers for a host that has asked to be
// left alone for a while; reads fail with [KindResting] then.
type RestError struct {
	// For is how much of that time is left.
	For time.Duration
}

func (e *RestError) Error() string { return "the host has asked to be left alone for " + span(e.For) }

// Kinds lists all kinds, in the order of the phases of a read.
var Kinds = []Kind{
	KindRefused, KindNoSuchHost, KindDNS, KindBusy, KindResting, KindConnect, KindTLS, KindBadCertificate, KindTimeout,
	KindReset, KindProtocol, KindRedirect, KindEncoding, KindTooLarge, KindCancelled,
}

// Temporary reports whether a failure of this kind is no verdict about the
// site: the same read may go well a little later. Kinds that are neither
// temporary nor [Kind.Confirm] are the site's definite answer.
func (k Kind) Temporary() bool {
	switch k {
	case KindDNS, KindBusy, KindResting, KindConnect, KindTLS, KindTimeout, KindReset, KindProtocol, KindCancelled:
		return true
	}
	return false
}

// Confirm reports whether a failure of this kind is a verdict only when a
// second visit with [Fresh] finds the same.
func (k Kind) Confirm() bool { return k == KindNoSuchHost || k == KindBadCertificate }

// Network reports whether many failures of this kind on different hosts at
// the same time point to our own network rather than to the sites.
func (k Kind) Network() bool { return k == KindDNS || k == KindConnect || k == KindTimeout }

// Error is a failed read. What was known when it failed is filled in; the
// rest is zero.
type Error struct {
	Kind Kind
	// URL is what was asked for, in WHATWG form without fragment; "" when a
	// name was only resolved.
	URL string
	// Host is the host without port and final dot.
	Host string
	// Status is the HTTP status when an answer came: always for redirect,
	// encoding and too-large, and for bodies that broke off.
	Status int
	// ContentType and Location are the headers as received, uncleaned.
	ContentType, Location string
	// Limit is the limit that was exceeded, in bytes, for too-large.
	Limit int64
	// Bytes counts the raw bytes of the body received until the failure.
	Bytes int64
	// Addr is the address connected to, or, for refused, the address refused
	// (with port 443).
	Addr netip.AddrPort
	// RetryAfter is what the Retry-After header asks for, 0 without one; for
	// resting what is left of it.
	RetryAfter time.Duration
	Trace      Trace
	// Err is the cause, for logs; nil where the policy alone decided.
	Err error

	message, advice string
}

// Error is one plain sentence for people, without a final full stop. It holds
// no control characters, whatever the site sent.
func (e *Error) Error() string {
	if e.message != "" {
		return e.message
	}
	return kindSentences[e.Kind].say(e.subject())
}

// Advice tells the owner of the site, or for cancelled and busy the caller,
// what to do about it, in a sentence or two.
func (e *Error) Advice() string {
	if e.advice != "" {
		return e.advice
	}
	return kindSentences[e.Kind].advice
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout makes the error a timeout in the sense of net.Error.
func (e *Error) Timeout() bool { return e.Kind == KindTimeout }

func (e *Error) subject() string {
	switch {
	case e.URL != "":
		return clean(e.URL, maxURLShown)
	case e.Host != "":
		return clean(e.Host, maxURLShown)
	}
	return "the site"
}

// KindOf is the kind of a failed read anywhere in err's chain, and "" for any
// other error and for nil. A bare context error is cancelled.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return KindCancelled
	}
	return ""
}
