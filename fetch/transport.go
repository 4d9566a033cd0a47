package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"agentaudit/fetch/publicip"
)

// anyPort is guardian for receivers, whose ports are their own affair.
var anyPort = ssrf.New(ssrf.WithAnyPort(), ssrf.WithNetworks("tcp4", "tcp6"))

// NewTransport connects to receivers of messages, which operators name and
// which are never audited. Like a [Client] it connects to public addresses
// only, checked on the socket itself, and goes through no proxy; the one
// exception is this machine where the URL itself says so (localhost, 127.0.0.1,
// [::1]). private lets it connect to any address.
func NewTransport(private bool) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			d := net.Dialer{Timeout: 10 * time.Second}
			if host, _, err := net.SplitHostPort(addr); err == nil && IsThisMachine(host) {
				d.Control = onlyLoopback
			} else if !private {
				d.Control = onlyPublic
			}
			return d.DialContext(ctx, network, addr)
		},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
	}
}

// IsThisMachine reports whether the host of a URL names the own machine
// outright: localhost, or an address of the loopback network.
func IsThisMachine(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func onlyPublic(network, address string, raw syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil {
		err = publicip.Check(at.Addr())
	}
	if err == nil {
		err = anyPort.Safe(network, address, raw)
	}
	return err
}

func onlyLoopback(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && !at.Addr().Unmap().IsLoopback() {
		err = fmt.Errorf("%s is not on this machine", at.Addr())
	}
	return err
}
