package fetch_test

import (
	"context"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

func TestReach(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	n.Site("site.example")
	n.Site("inside.example").DNS(fakenet.Addresses("10.0.0.1"))
	n.Site("servfail.example").DNS(fakenet.Answer{Failure: fakenet.ServFail})
	n.Address("20.0.0.77", fakenet.RefuseConnect)
	n.Site("closed.example").Addrs("20.0.0.77")
	c := n.Client(fetch.Config{})
	for host, want := range map[string]fetch.Kind{
		"site.example": "", "site.example.": "", "none.example": fetch.KindNoSuchHost, "inside.example": fetch.KindRefused,
		"servfail.example": fetch.KindDNS, "closed.example": fetch.KindConnect,
	} {
		if err := c.Reach(t.Context(), host); fetch.KindOf(err) != want {
			t.Errorf("%s: %v, want %q", host, err, want)
		}
	}
	// Nothing is said on the connection, not even a TLS hello.
	if s := n.Stats("site.example"); s.Connections != 0 || len(s.Requests) != 0 || len(n.Dials()) != 3 {
		t.Errorf("%+v, %v", s, n.Dials())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Reach(ctx, "site.example"); fetch.KindOf(err) != fetch.KindCancelled {
		t.Error(err)
	}
}
