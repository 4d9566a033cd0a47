package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"code.dny.dev/ssrf"

	"agentaudit/fetch/publicip"
	"agentaudit/fetch/resolve"
)

// How much of a site's text gets into a sentence, in characters.
const (
	maxURLShown  = 2048
	maxTextShown = 120
)

// kindText is what is said where nothing more is known than the kind.
type kindText struct{ format, advice string }

func (k kindText) say(subject string) string {
	if k.format == "" {
		return subject + " could not be read"
	}
	return fmt.Sprintf(k.format, subject)
}

var kindSentences = map[Kind]kindText{
	KindNoSuchHost: {"the host of %s does not exist",
		"Check the spelling of the name, and that the domain is registered and has an A or AAAA record."},
	KindDNS: {"the name servers for %s failed",
		"Check the name servers of the domain, for instance with a DNSSEC and delegation checker; if they are fine, try again later."},
	KindConnect: {"%s accepts no connection on port 443",
		"Check that the web server is running and that no firewall blocks port 443."},
	KindTLS: {"no secure connection to %s could be made",
		"Check the TLS configuration of the web server: TLS 1.2 or 1.3 with a certificate for this very host name."},
	KindBadCertificate: {"the certificate of %s is not valid",
		"Install a valid certificate for this host name, with its whole chain of intermediates."},
	KindTimeout: {"%s did not answer in time",
		"Check that the server answers quickly also when it has been idle, and that it does not hold back unknown visitors."},
	KindReset: {"the connection to %s broke off",
		"Check the log of the web server, and that no firewall or bot protection cuts off automated visitors."},
	KindProtocol: {"the answer of %s is not correct HTTP",
		"Check the web server, or the proxy in front of it, for malformed answers."},
	KindRedirect: {"%s is redirected",
		"Serve the file itself at this address, without a redirect."},
	KindTooLarge: {"the answer of %s is too large",
		"Publish a smaller file."},
	KindEncoding: {"the answer of %s is compressed although that was not asked for",
		"Serve the file uncompressed when the request says Accept-Encoding: identity."},
	KindRefused: {"%s is not read, by policy",
		"Only https addresses on port 443 of the public internet are read."},
	KindCancelled: {"reading %s was stopped before it was finished",
		"Nothing is wrong with the site; run the audit again."},
	KindBusy: {"%s was not read for want of room on our side",
		"Nothing is wrong with the site; run the audit again later."},
	KindResting: {"%s was left alone: it has asked not to be visited for a while (Retry-After)",
		"Answer automated visitors, or audit the site again later."},
}

func (v *Visit) cancelled(host string, cause error) *Error {
	e := &Error{Kind: KindCancelled, Host: host, Err: cause}
	if errors.Is(cause, context.DeadlineExceeded) {
		e.message = fmt.Sprintf("reading from %s was stopped: the time for the whole visit was over", clean(host, maxURLShown))
	}
	return e
}

func notAdmitted(host string, err error) *Error {
	e := &Error{Kind: KindBusy, Host: host, Err: err}
	if rest, ok := errors.AsType[*RestError](err); ok {
		e.Kind, e.RetryAfter = KindResting, rest.For
	}
	return e
}

func refusedURL(url, host, why string) *Error {
	return &Error{Kind: KindRefused, URL: url, Host: host, message: "this URL is not read: " + why}
}

func refusedName(host string) *Error {
	return &Error{Kind: KindRefused, Host: host,
		message: fmt.Sprintf("%s is a name of the local machine or network, not of the public internet", host)}
}

func refusedAddr(host string, a netip.Addr, of int, err error) *Error {
	e := &Error{Kind: KindRefused, Host: host, Addr: netip.AddrPortFrom(a, httpsPort), Err: err}
	reason := err.Error()
	if np, ok := errors.AsType[*publicip.NotPublicError](err); ok {
		reason = fmt.Sprintf("%s, which is not a public address: it belongs to %s", clean(a.String(), maxTextShown), np.Block)
	}
	switch {
	case strings.Trim(host, "[]") == a.String():
		e.message = clean(err.Error(), maxTextShown)
		e.advice = "Use the public name of the site."
	case of == 1:
		e.message = fmt.Sprintf("%s has the address %s", host, reason)
		e.advice = "Give the name public addresses only."
	default:
		e.message = fmt.Sprintf("one of the %d addresses of %s is %s", of, host, reason)
		e.advice = "Give the name public addresses only: one that is not refuses them all."
	}
	return e
}

func noSuchHost(host, detail string, err error) *Error {
	e := &Error{Kind: KindNoSuchHost, Host: host, Err: err}
	e.message = fmt.Sprintf("the host %s does not exist", clean(host, maxURLShown))
	if detail != "" {
		e.message += ": " + clean(detail, maxTextShown)
	}
	return e
}

func dnsFailed(host string, err error, late bool, limit time.Duration) *Error {
	e := &Error{Kind: KindDNS, Host: host, Err: err}
	re, ok := errors.AsType[*resolve.Error](err)
	switch {
	case ok && re.Detail != "":
		e.message = fmt.Sprintf("the addresses of %s could not be looked up: %s", host, clean(re.Detail, maxTextShown))
	case late:
		e.message = fmt.Sprintf("the addresses of %s could not be looked up within %s", host, span(limit))
	default:
		e.message = fmt.Sprintf("the addresses of %s could not be looked up", host)
	}
	if isOwnTrouble(err) {
		e.Kind = KindBusy
	}
	return e
}

// isOwnTrouble reports errors of this machine that say nothing of a site.
func isOwnTrouble(err error) bool {
	for _, own := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, syscall.EPERM, syscall.EACCES} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

func connectFailed(host string, failures []dialFailure, limit time.Duration) *Error {
	e := &Error{Kind: KindConnect, Host: host}
	if len(failures) == 0 { // out of time before the first attempt
		return e
	}
	if isPolicyFailure(e, failures) {
		return e
	}
	failures = telling(failures)
	first := failures[0]
	e.Addr, e.Err = first.addr, first.err
	where := fmt.Sprintf("%s (%s)", host, first.addr.Addr())
	if len(failures) > 1 {
		where = fmt.Sprintf("%s (%s and %d more)", host, first.addr.Addr(), len(failures)-1)
	}
	all := func(is func(dialFailure) bool) bool {
		return !slices.ContainsFunc(failures, func(f dialFailure) bool { return !is(f) })
	}
	switch {
	case all(func(f dialFailure) bool { return isOwnTrouble(f.err) && !f.noIPv6() }):
		e.Kind = KindBusy
		e.message = fmt.Sprintf("this machine could not open a connection to %s: it has run out of room or is not allowed to", host)
		e.advice = "Raise the limit of open files, lower the concurrency, or allow outgoing connections to port 443."
	case all(func(f dialFailure) bool { return errors.Is(f.err, syscall.ECONNREFUSED) }):
		e.message = fmt.Sprintf("%s refuses connections on port 443", where)
	case all(dialFailure.noIPv6):
		e.message = fmt.Sprintf("%s has IPv6 addresses only, and there is no way to them from here", host)
		e.advice = "Check that the site is reachable over IPv6; adding an IPv4 address makes it reachable for everyone."
	case all(dialFailure.unreachable):
		e.message = fmt.Sprintf("there is no way through the network to %s", where)
	case all(func(f dialFailure) bool { return isTimeout(f.err) }):
		e.message = fmt.Sprintf("%s did not accept a connection on port 443 within %s", where, span(limit))
	default:
		e.message = fmt.Sprintf("%s accepts no connection on port 443", where)
	}
	return e
}

// isPolicyFailure fills in e if our own check at connect time said no.
func isPolicyFailure(e *Error, failures []dialFailure) bool {
	i := slices.IndexFunc(failures, func(f dialFailure) bool { return isPolicy(f.err) })
	if i < 0 {
		return false
	}
	e.Kind, e.Addr, e.Err = KindRefused, failures[i].addr, failures[i].err
	e.message = fmt.Sprintf("a connection to %s was refused by our own check of addresses", e.Addr)
	return true
}

// telling leaves out that this machine has no IPv6 where IPv4 failed as well:
// the latter is what the site can do something about.
func telling(failures []dialFailure) []dialFailure {
	if rest := slices.DeleteFunc(slices.Clone(failures), dialFailure.noIPv6); len(rest) > 0 {
		return rest
	}
	return failures
}

func (f dialFailure) unreachable() bool {
	return errors.Is(f.err, syscall.ENETUNREACH) || errors.Is(f.err, syscall.EHOSTUNREACH) || f.noIPv6()
}

// noIPv6 knows the ways in which kernels say that they have no IPv6.
func (f dialFailure) noIPv6() bool {
	return f.addr.Addr().Is6() && (errors.Is(f.err, syscall.ENETUNREACH) ||
		errors.Is(f.err, syscall.EADDRNOTAVAIL) || errors.Is(f.err, syscall.EAFNOSUPPORT))
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) || isNetTimeout(err)
}

func isNetTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

func isPolicy(err error) bool {
	_, ok := errors.AsType[*publicip.NotPublicError](err)
	return ok || errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedPort) || errors.Is(err, ssrf.ErrProhibitedNetwork)
}

func isClosed(err error) bool {
	for _, closed := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, net.ErrClosed, io.ErrClosedPipe} {
		if errors.Is(err, closed) {
			return true
		}
	}
	return false
}

// explain turns a failure on an open connection into an [*Error].
func (h *host) explain(err error, r *read) *Error {
	e := &Error{Host: h.name, URL: r.url, Addr: r.trace.Addr, Err: err}
	x, ok := errors.AsType[*exchangeError](err)
	if !ok {
		x = &exchangeError{err: err}
	}
	e.Status, e.Bytes = x.status, x.bytes
	if x.header != nil {
		e.ContentType = x.header.Get("Content-Type")
		e.Location = x.header.Get("Location")
		e.RetryAfter = retryAfter(x.header, time.Now())
	}
	limits := h.v.c.limits
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, errRedirect):
		e.Kind, e.Err = KindRedirect, nil
		e.message = redirectSentence(e)
	case errors.Is(err, errEncoding):
		e.Kind, e.Err = KindEncoding, nil
		e.message = fmt.Sprintf("%s is sent compressed (Content-Encoding: %s) although that was not asked for", e.subject(),
			clean(strings.Join(x.header["Content-Encoding"], ", "), maxTextShown))
	case errors.Is(err, errTooLarge):
		e.Kind, e.Err, e.Limit = KindTooLarge, nil, r.max
		e.message = fmt.Sprintf("%s is larger than the %s bytes allowed", e.subject(), thousands(r.max))
		if e.Status != http.StatusOK {
			e.message = fmt.Sprintf("%s answers %d with more than the %s bytes allowed", e.subject(), e.Status, thousands(r.max))
		}
		e.advice = fmt.Sprintf("Publish a file of at most %s bytes.", thousands(r.max))
	case errors.Is(err, errHeaderLimit):
		e.Kind, e.Limit = KindTooLarge, limits.HeaderBytes
		e.message = fmt.Sprintf("%s is answered with more than %s bytes of headers", e.subject(), thousands(limits.HeaderBytes))
		e.advice = "Send fewer and shorter response headers."
	case errors.Is(err, errInterim):
		e.Kind = KindProtocol
		e.message = fmt.Sprintf("%s is answered with more than %d interim answers (1xx)", e.subject(), limits.Interim)
	case isTimeout(err):
		e.Kind = KindTimeout
		switch x.phase {
		case phaseRequest:
			e.message = fmt.Sprintf("%s was not answered within %s", e.subject(), span(limits.Read))
		case phaseHeader:
			e.message = fmt.Sprintf("the header of the answer to %s was not complete within %s", e.subject(), span(limits.Read))
		default:
			e.message = fmt.Sprintf("%s was not complete within %s; %s bytes of it had come", e.subject(), span(limits.Read), thousands(x.bytes))
		}
	case isOp && op.Op == "remote error":
		e.Kind = KindTLS
		e.message = fmt.Sprintf("%s ended the secure connection instead of answering: %s", h.name, alertText(op.Err))
	case isOp && op.Op == "local error":
		e.Kind = KindTLS
		e.message = fmt.Sprintf("the secure connection to %s broke: %s", h.name, alertText(op.Err))
	case isClosed(err) || isOp:
		e.Kind = KindReset
		switch x.phase {
		case phaseRequest:
			e.message = fmt.Sprintf("%s closed the connection without an answer to %s", h.name, e.subject())
		case phaseHeader:
			e.message = fmt.Sprintf("%s closed the connection within the header of its answer to %s", h.name, e.subject())
		default:
			e.message = fmt.Sprintf("%s closed the connection before %s was complete; %s bytes of it had come", h.name, e.subject(), thousands(x.bytes))
		}
	default:
		// The parser's own words may quote the site at length.
		e.Kind = KindProtocol
		e.message = fmt.Sprintf("the answer of %s to %s is not correct HTTP", h.name, e.subject())
	}
	return e
}

func redirectSentence(e *Error) string {
	if e.Location == "" {
		return fmt.Sprintf("%s answers with a redirect (status %d) that names no destination", e.subject(), e.Status)
	}
	return fmt.Sprintf("%s answers with a redirect (status %d) to %s, which is not followed", e.subject(), e.Status, clean(e.Location, maxTextShown))
}

// alertText is the name of a TLS alert, from the fixed list of crypto/tls.
func alertText(err error) string {
	return clean(strings.TrimPrefix(err.Error(), "tls: "), maxTextShown)
}

// clean makes text of a site fit for one line of a sentence: what does not
// print (controls, bidi marks, invalid UTF-8) becomes U+FFFD, and what is
// longer than limit characters ends in an ellipsis.
func clean(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > limit {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// span is a time limit in words.
func span(d time.Duration) string {
	switch {
	case d == time.Second:
		return "1 second"
	case d%time.Second == 0:
		return strconv.Itoa(int(d/time.Second)) + " seconds"
	}
	return d.String()
}

// thousands is n with commas, as in 65,536.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
