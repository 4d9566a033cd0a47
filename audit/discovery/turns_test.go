package discovery

import (
	"context"
	"strings"
	"testing"
)

// While others take large documents apart, small ones need not wait; who waits
// to the end of his time has what he read until then.
func TestLargeDocumentsWaitForTheirTurn(t *testing.T) {
	w := newWeb(map[string]answer{"/": pageOf(`<title>Ferry</title><a href="/docs/large">l</a><a href="/docs/small">s</a>`),
		"/docs/large": pageOf(strings.Repeat("x", large)), "/docs/small": pageOf("x")})
	if r := w.mustScan(t, Options{}); r.source("/docs/large").Availability != "retrieved" || len(turns) != 0 {
		t.Fatalf("alone: %v, %d turns held", r.source("/docs/large"), len(turns))
	}
	for range cap(turns) {
		turns <- struct{}{}
	}
	defer func() {
		for range cap(turns) {
			<-turns
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	if done, ok := turn(ctx, large-1); !ok {
		t.Error("a small document waits")
	} else {
		done()
	}
	cancel()
	if _, ok := turn(ctx, large); ok {
		t.Error("a large document has a turn that others hold")
	}
	if len(turns) != cap(turns) {
		t.Errorf("%d turns are held", len(turns))
	}
}
