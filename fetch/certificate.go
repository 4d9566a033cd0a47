package fetch

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// handshakeFailed tells a bad certificate from a failed handshake, and both
// apart from a server that says nothing.
func handshakeFailed(host string, addr netip.AddrPort, err error, limit time.Duration) *Error {
	e := &Error{Kind: KindTLS, Host: host, Addr: addr, Err: err}
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		e.Kind = KindBusy
		e.message = "this machine has no list of trusted certificate issuers"
		e.advice = "Install the root certificates of the operating system (the package ca-certificates)."
		return e
	}
	if cause, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		e.Kind = KindBadCertificate
		e.message, e.advice = certificateSentence(host, cause)
		return e
	}
	record, isRecord := errors.AsType[tls.RecordHeaderError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case isTimeout(err):
		e.Kind = KindTimeout
		e.message = fmt.Sprintf("%s accepted the connection but did not finish the TLS handshake within %s", host, span(limit))
	case isRecord && string(record.RecordHeader[:]) == "HTTP/":
		e.message = fmt.Sprintf("%s speaks unencrypted HTTP on port 443", host)
		e.advice = "Switch TLS on for port 443 in the web server."
	case isRecord:
		e.message = fmt.Sprintf("what answers on port 443 of %s is not a TLS server", host)
	case isOp && op.Op == "remote error":
		e.message = fmt.Sprintf("%s broke off the TLS handshake: %s", host, alertText(op.Err))
	case isClosed(err):
		e.message = fmt.Sprintf("%s closed the connection during the TLS handshake", host)
		e.advice = "Check that the server has a certificate for this very host name, and that no firewall cuts off automated visitors."
	default:
		e.message = fmt.Sprintf("the TLS handshake with %s failed: %s", host, alertText(err))
	}
	return e
}

// certificateSentence says what is wrong with a certificate and what to do.
// Names in certificates are text of strangers.
func certificateSentence(host string, err *tls.CertificateVerificationError) (message, advice string) {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired && invalid.Cert != nil {
		c := invalid.Cert
		whose := "the certificate of " + host
		if len(err.UnverifiedCertificates) > 0 && !c.Equal(err.UnverifiedCertificates[0]) {
			whose = "an issuer's certificate in the chain of " + host
		}
		// x509 has one reason for too early and too late.
		if time.Now().Before(c.NotBefore) {
			return fmt.Sprintf("%s is not valid before %s", whose, c.NotBefore.UTC().Format(time.DateOnly)),
				"Check the clock of the machine that issued the certificate."
		}
		return fmt.Sprintf("%s expired on %s", whose, c.NotAfter.UTC().Format(time.DateOnly)),
			"Renew the certificate, and check that its automatic renewal works and the web server loads the new one."
	}
	if wrong, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the certificate of %s is for %s", host, certificateNames(wrong.Certificate)),
			fmt.Sprintf("Install a certificate that names %s.", host)
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		switch c := unknown.Cert; {
		case c != nil && bytes.Equal(c.RawIssuer, c.RawSubject):
			return fmt.Sprintf("the certificate of %s is signed by itself and not by a trusted issuer", host),
				"Install a certificate of a publicly trusted issuer; several give them away for free."
		case c != nil:
			return fmt.Sprintf("the certificate of %s comes from an issuer that is not trusted or not named completely (%s)", host, clean(c.Issuer.String(), maxTextShown)),
				"Install the certificate together with its intermediates (the full chain), from a publicly trusted issuer."
		}
	}
	return fmt.Sprintf("the certificate of %s is not valid: %s", host, clean(strings.TrimPrefix(err.Err.Error(), "x509: "), maxTextShown)), ""
}

// certificateNames lists up to three names of a certificate.
func certificateNames(c *x509.Certificate) string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	const most = 3
	switch n := len(names); {
	case n == 0:
		return "no host at all"
	case n > most:
		return fmt.Sprintf("%s and %d more, not for this host", clean(strings.Join(names[:most], ", "), maxTextShown), n-most)
	}
	return clean(strings.Join(names, " and "), maxTextShown) + ", not for this host"
}
