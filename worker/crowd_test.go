package worker_test

import (
	"context"
	"errors"
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

// forgetful are places that do not answer every second time in the beginning.
type forgetful struct {
	worker.Places
	asked atomic.Int64
}

func (p *forgetful) Take(ctx context.Context, places []queue.Place) (func(), string, time.Duration, error) {
	if n := p.asked.Add(1); n <= 60 && n%2 == 0 {
		return nil, "", 0, errors.New("LOADING the dataset in memory")
	}
	return p.Places.Take(ctx, places)
}

// That the keeper of the manners is away is not the site's fault: no attempt
// counts, whether it was away at the beginning of an audit or in its midst.
func TestMannersAway(t *testing.T) {
	s := newStore(t)
	targets := storetest.Targets(30)
	b := storetest.Batch(t, s.Store, targets...)
	f := &fake{manners: worker.NewManners(&forgetful{Places: worker.NewPlaces()}, worker.Limits{})}
	c := quick(s, embedded(t), f)
	// What is given back for later is due at once.
	c.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	start(t, c)
	ended(t, s, b.ID)
	page, err := s.Results(t.Context(), store.Filter{Batch: b.ID}, "", 50)
	if err != nil || len(page.Rows) != len(targets) {
		t.Fatalf("%d rows, %v", len(page.Rows), err)
	}
	for _, r := range page.Rows {
		if r.Outcome != report.OutcomeSuccessful || r.Attempts != 1 {
			t.Errorf("%s: %s after %d attempts", r.Target, r.Outcome, r.Attempts)
		}
	}
}

// A small batch does not wait behind a big one where both are at one address:
// it gets the next places there.
func TestSmallBatchOvertakesAtAnAddress(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := watch(storetest.Open(t, t.TempDir(), store.Options{SmallBatch: 5}))
		big := storetest.Batch(t, s.Store, storetest.Targets(300)...)
		begun, goOn := make(chan string, 400), make(chan struct{})
		places := worker.NewPlaces()
		if !q.IsEmbedded() {
			shared := q.NewPlaces(nil)
			t.Cleanup(shared.Close)
			places = shared
		}
		platform := func(string) []netip.Addr { return someAddresses }
		// As two processes, one of which may have all the places.
		for range 2 {
			f := &fake{manners: worker.NewManners(places, worker.Limits{}), addresses: platform, answer: blocking(begun, goOn)}
			start(t, quick(s, q, f))
		}
		for range 8 {
			<-begun
		}
		small := storetest.Batch(t, s.Store, "https://urgent.example/agentic.json")
		passed := 0
		for {
			goOn <- struct{}{}
			target := <-begun
			if strings.Contains(target, "urgent") {
				break
			}
			// It must get there first; from then on it is next.
			if passed++; passed > 25 {
				t.Fatalf("%d of the big list have passed it", passed)
			}
			select {
			case <-s.written:
			case <-time.After(100 * time.Millisecond):
			}
		}
		close(goOn)
		ended(t, s, small.ID)
		if b, err := s.Batch(t.Context(), big.ID); err != nil || b.OpenRuns == 0 {
			t.Fatalf("the big batch ended first: %v", err)
		}
	})
}

var someAddresses = []netip.Addr{netip.MustParseAddr("203.0.113.7")}

// waitFor looks again and again whether something of a worker has come true.
func waitFor(t *testing.T, what string, come func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	patience := time.After(time.Minute)
	for !come() {
		select {
		case <-tick.C:
		case <-patience:
			t.Fatalf("it does not come true that %s", what)
		}
	}
}

// Who only waits for a busy host is not visited any more once the batch is
// paused, and goes on when it is resumed.
func TestPauseSendsWaitingRunsHome(t *testing.T) {
	s := newStore(t)
	var targets []string
	for i := range 60 {
		targets = append(targets, fmt.Sprintf("https://one.example/%d/agentic.json", i))
	}
	b := storetest.Batch(t, s.Store, targets...)
	begun, goOn := make(chan string, 100), make(chan struct{})
	f := &fake{answer: blocking(begun, goOn)}
	w, err := worker.New(quick(s, embedded(t), f))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	<-begun
	waitFor(t, "runs wait for the host", func() bool { return w.Parked() >= 10 })
	if err := s.PauseBatch(t.Context(), b.ID, "by hand"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "nobody waits any more", func() bool { return w.Parked() == 0 })
	goOn <- struct{}{}
	until(t, s, b.ID, func(b *store.Batch) bool { return b.Done() == 1 })
	if len(begun) != 0 {
		t.Fatalf("%s was visited after the pause", <-begun)
	}
	close(goOn)
	if err := s.ResumeBatch(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	ended(t, s, b.ID)
}
