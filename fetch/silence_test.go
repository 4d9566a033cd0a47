package fetch_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

func TestSilenceOnAKeptConnectionIsTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		s := n.Site("site.example").Path("/silent", fakenet.Stall(""))
		v := n.Client(fetch.Config{}).Visit()
		defer v.Close()
		for _, c := range []struct{ path, want string }{
			{"/a", "404, 7 bytes"}, {"/silent", "timeout: https://site.example/silent was not answered within 8 seconds"}, {"/b", "404, 7 bytes"},
		} {
			resp, err := v.Fetch(t.Context(), request(t, s.URL(c.path), 100))
			if got := outcome(resp, err); got != c.want {
				t.Errorf("%s: %s, want %s", c.path, got, c.want)
			}
		}
		if st := n.Stats("site.example"); st.Requests["/silent"] != 1 || st.Handshakes != 2 {
			t.Errorf("asked again: %+v", st)
		}
	})
}

// A connection that the server gives up late leaves little time for another
// one. That this fails is no news about the host.
func TestAFailedReplacementIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		s := n.Site("site.example")
		slow := fakenet.SlowConnect(time.Second)
		s.Path("/late", fakenet.Raw(func(c net.Conn) {
			n.Address(s.Address().String(), slow)
			c.SetReadDeadline(time.Now().Add(7500 * time.Millisecond))
			io.Copy(io.Discard, c)
		}))
		v := n.Client(fetch.Config{}).Visit()
		defer v.Close()
		for _, c := range []struct{ path, want string }{{"/a", "404"}, {"/late", "connect"}, {"/b", "404"}} {
			resp, err := v.Fetch(t.Context(), request(t, s.URL(c.path), 100))
			if got := outcome(resp, err); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %s, want %s", c.path, got, c.want)
			}
		}
	})
}
