package fetch_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/publicip"
)

func TestTransportsConnectToPublicAddressesOnly(t *testing.T) {
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer here.Close()
	_, port, err := net.SplitHostPort(here.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	get := func(private bool, host string) error {
		transport := fetch.NewTransport(private)
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	// What names this machine reaches it.
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if err := get(false, host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	// Everything else is refused before a packet leaves.
	for _, host := range []string{"0.0.0.0", "10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "::", "fd00::1", "fe80::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"} {
		err := get(false, host)
		if _, refused := errors.AsType[*publicip.NotPublicError](err); !refused {
			t.Errorf("%s: %v", host, err)
		}
	}
	// Whoever runs the program may allow it: 0.0.0.0 leads to this machine, too.
	if err := get(true, "0.0.0.0"); err != nil {
		t.Errorf("allowed: %v", err)
	}
}
