package worker_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
)

func TestManners(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		var targets []string
		for i := range 40 {
			targets = append(targets, fmt.Sprintf("https://one.example/%d/agentic.json", i))          // one host
			targets = append(targets, fmt.Sprintf("https://shop%d.platform.example/agentic.json", i)) // one address
			targets = append(targets, fmt.Sprintf("https://free%d.example/agentic.json", i))
		}
		b := storetest.Batch(t, s.Store, targets...)
		// The first at the platform wait for each other: a limit that keeps them
		// apart would hold them for ever.
		var arrived atomic.Int64
		together := make(chan struct{})
		f := &fake{
			addresses: func(host string) []netip.Addr {
				if strings.Contains(host, "platform") {
					return []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")}
				}
				return []netip.Addr{netip.MustParseAddr(fmt.Sprintf("198.51.%d.%d", len(host), host[4]))}
			},
			answer: func(ctx context.Context, target string, _ int) (audit.Judgement, error) {
				if strings.Contains(target, "platform") {
					if arrived.Add(1) == 4 {
						close(together)
					}
					select {
					case <-together:
					case <-ctx.Done():
						return audit.Judgement{}, ctx.Err()
					}
				}
				time.Sleep(2 * time.Millisecond) // what a site takes
				return success(target), nil
			},
		}
		c := quick(s, q, f)
		c.Concurrency, c.MaxParked = 32, 16 // too few places to park
		start(t, c)
		start(t, c2(c)) // another worker with the same manners
		b = ended(t, s, b.ID)
		if b.Outcomes[report.OutcomeSuccessful].Runs != 120 {
			t.Fatalf("%+v", b.Outcomes)
		}
		for key, n := range f.crowded {
			most := 8
			if strings.HasSuffix(key, ".example") {
				most = 1
			}
			if n > most {
				t.Errorf("%d audits at a time at %s", n, key)
			}
		}
		if f.crowded["203.0.113.7"] < 4 {
			t.Errorf("the platform saw at most %d audits at a time: the limit is not used", f.crowded["203.0.113.7"])
		}
		for _, target := range targets {
			if n := f.audited(target); n != 1 {
				t.Errorf("%s was audited %d times", target, n)
			}
		}
	})
}

// A host that is slow, with many runs, must not keep others from their slots.
func TestBusyHostHoldsOneSlot(t *testing.T) {
	s := newStore(t)
	var targets []string
	for i := range 50 {
		targets = append(targets, fmt.Sprintf("https://slow.example/%d", i))
	}
	for i := range 50 {
		targets = append(targets, fmt.Sprintf("https://quick%d.example/", i))
	}
	b := storetest.Batch(t, s.Store, targets...)
	goOn := make(chan struct{})
	f := &fake{answer: func(ctx context.Context, target string, _ int) (audit.Judgement, error) {
		if strings.Contains(target, "slow") {
			select {
			case <-goOn:
			case <-ctx.Done():
				return audit.Judgement{}, ctx.Err()
			}
		}
		return success(target), nil
	}}
	c := quick(s, embedded(t), f)
	c.Concurrency = 2
	start(t, c)
	until(t, s, b.ID, func(b *store.Batch) bool { return b.Done() == 50 })
	close(goOn)
	ended(t, s, b.ID)
	if f.crowded["slow.example"] != 1 {
		t.Fatalf("%d at a time", f.crowded["slow.example"])
	}
}

// One answer with Retry-After speaks for all listings of the host, to all
// workers: each of the others counts an attempt and leaves the host alone.
func TestRetryAfterIsObeyedByAllWorkers(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		var targets []string
		for i := range 30 {
			targets = append(targets, fmt.Sprintf("https://limited.example/%d/agentic.json", i), fmt.Sprintf("https://free%d.example/agentic.json", i))
		}
		b := storetest.Batch(t, s.Store, targets...)
		var visits atomic.Int64
		answer := func(_ context.Context, target string, _ int) (audit.Judgement, error) {
			if !strings.Contains(target, "limited") {
				return success(target), nil
			}
			visits.Add(1)
			j := trouble(target)
			j.Verdict.RetryAfter, j.Verdict.Rests = time.Hour, []audit.Rest{{Host: "limited.example", For: time.Hour}}
			return j, nil
		}
		// As two processes: each with manners of its own, over shared places.
		places := worker.NewPlaces()
		for range 2 {
			if !q.IsEmbedded() {
				shared := q.NewPlaces(nil)
				t.Cleanup(shared.Close)
				places = shared
			}
			c := quick(s, q, &fake{manners: worker.NewManners(places, worker.Limits{}), answer: answer})
			c.Retry = worker.Retry{Delays: []time.Duration{}, MaxRetryAfter: time.Hour}
			start(t, c)
		}
		b = ended(t, s, b.ID)
		if b.Outcomes[report.OutcomeUnchecked].Runs != 30 || b.Outcomes[report.OutcomeSuccessful].Runs != 30 || visits.Load() != 1 {
			t.Fatalf("%d visits, %+v", visits.Load(), b.Outcomes)
		}
	})
}
