package worker_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
)

// unreachable is an attempt that failed in our network's way.
func unreachable(target string) audit.Judgement {
	j := trouble(target)
	j.Verdict.Network = true
	j.Result.Evidence = []report.Evidence{{URL: target, Error: string(fetch.KindConnect)}}
	return j
}

// guarded is a quick worker that looks after its network.
func guarded(s worker.Runs, q *queue.Conn, f *fake, reach func(context.Context, string) error) worker.Config {
	c := quick(s, q, f)
	c.Reach, c.DoubtEvery, c.ProbeEvery = reach, 5*time.Millisecond, 10*time.Millisecond
	return c
}

func attempts(t *testing.T, s *watched, id store.BatchID) map[int]int {
	t.Helper()
	n := map[int]int{}
	if err := s.EachResult(t.Context(), store.Filter{Batch: id}, false, func(r store.Row) error { n[r.Attempts]++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// Promise 6: what fails because our network is down is no attempt, and no
// site's fault.
func TestDeadNetworkPausesTheBatch(t *testing.T) {
	onBoth(t, func(t *testing.T, q *queue.Conn) {
		s := newStore(t)
		b := storetest.Batch(t, s.Store, storetest.Targets(100)...)
		var down atomic.Bool
		var audits, probes atomic.Int64
		paused := make(chan struct{})
		f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
			j := success(target) // before the network is down, if it is then not
			if audits.Add(1) == 40 {
				down.Store(true)
			}
			if down.Load() {
				return unreachable(target), nil
			}
			return j, nil
		}}
		start(t, guarded(s, q, f, func(ctx context.Context, host string) error {
			if !down.Load() {
				return nil
			}
			if probes.Add(1) == 1 {
				close(paused)
			}
			return &fetch.Error{Kind: fetch.KindConnect, Host: host}
		}))
		<-paused
		p := until(t, s, b.ID, func(b *store.Batch) bool { return b.State == store.StatePaused })
		if !strings.HasPrefix(p.Note, worker.NetworkNote) || p.Outcomes[report.OutcomeUnchecked].Runs != 0 {
			t.Fatalf("%+v", p)
		}
		down.Store(false)
		b = ended(t, s, b.ID)
		if b.State != store.StateFinished || b.Note != "" || b.Outcomes[report.OutcomeSuccessful].Runs != 100 {
			t.Fatalf("%+v", b)
		}
		if n := attempts(t, s, b.ID); n[1] != 100 {
			t.Fatalf("an attempt during the outage was counted: %v", n)
		}
	})
}

// Many dead sites are not a dead network: hosts that answered can be reached.
func TestDeadSitesAreTheSites(t *testing.T) {
	s := newStore(t)
	var targets []string
	for i := range 20 {
		targets = append(targets, fmt.Sprintf("https://good%d.example/agentic.json", i))
	}
	for i := range 40 {
		targets = append(targets, fmt.Sprintf("https://dead%d.example/agentic.json", i))
	}
	b := storetest.Batch(t, s.Store, targets...)
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		if strings.Contains(target, "dead") {
			return unreachable(target), nil
		}
		return success(target), nil
	}}
	var asked atomic.Bool
	start(t, guarded(s, embedded(t), f, func(_ context.Context, host string) error {
		asked.Store(true)
		if strings.Contains(host, "dead") {
			t.Errorf("%s was tried although others had answered", host)
		}
		return nil
	}))
	b = ended(t, s, b.ID)
	if b.Outcomes[report.OutcomeUnchecked].Runs != 40 || b.Outcomes[report.OutcomeSuccessful].Runs != 20 || !asked.Load() {
		t.Fatalf("%+v", b.Outcomes)
	}
	if n := attempts(t, s, b.ID); n[1] != 20 || n[3] != 40 {
		t.Fatalf("%v", n)
	}
}

// A list of nothing but dead sites comes to its end in a process that has seen
// none alive, as long as the name servers answer.
func TestNothingButDeadSites(t *testing.T) {
	for kind, ends := range map[fetch.Kind]bool{fetch.KindConnect: true, fetch.KindNoSuchHost: true, fetch.KindDNS: false} {
		t.Run(string(kind), func(t *testing.T) {
			s := newStore(t)
			b := storetest.Batch(t, s.Store, storetest.Targets(30)...)
			f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
				return unreachable(target), nil
			}}
			start(t, guarded(s, embedded(t), f, func(_ context.Context, host string) error { return &fetch.Error{Kind: kind, Host: host} }))
			if ends {
				if b = ended(t, s, b.ID); b.Outcomes[report.OutcomeUnchecked].Runs != 30 {
					t.Fatalf("%+v", b.Outcomes)
				}
				return
			}
			b = until(t, s, b.ID, func(b *store.Batch) bool { return b.State == store.StatePaused })
			if b.Done() != 0 {
				t.Fatalf("%+v", b.Outcomes)
			}
		})
	}
}

// Few failures are held back for a moment only.
func TestOneDeadSite(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s.Store, "https://dead.example/agentic.json")
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		return unreachable(target), nil
	}}
	c := guarded(s, embedded(t), f, func(context.Context, string) error {
		t.Error("the network was tried because of one site")
		return nil
	})
	c.Retry = worker.Retry{Never: true}
	start(t, c)
	if b = ended(t, s, b.ID); b.Outcomes[report.OutcomeUnchecked].Runs != 1 {
		t.Fatalf("%+v", b.Outcomes)
	}
}

// Who paused a batch for its network may be dead; somebody else goes on. What a
// person paused stays paused.
func TestNetworkPauseOutlivesItsWorker(t *testing.T) {
	s := newStore(t)
	b := storetest.Batch(t, s.Store, storetest.Targets(10)...)
	byHand := storetest.Batch(t, s.Store, "https://other.example/agentic.json")
	if err := s.PauseBatch(t.Context(), b.ID, worker.NetworkNote+"as another worker found"); err != nil {
		t.Fatal(err)
	}
	if err := s.PauseBatch(t.Context(), byHand.ID, "maintenance"); err != nil {
		t.Fatal(err)
	}
	start(t, guarded(s, embedded(t), &fake{}, func(context.Context, string) error { return nil }))
	ended(t, s, b.ID)
	if p, err := s.Batch(t.Context(), byHand.ID); err != nil || p.State != store.StatePaused {
		t.Fatalf("%+v, %v", p, err)
	}
}

// meeting is a store in which the results of dead sites wait for each other.
type meeting struct {
	*watched
	sync.WaitGroup
}

func (m *meeting) FinishRun(ctx context.Context, c *store.Claim, r *report.Result) error {
	if strings.Contains(c.Host, "dead") {
		m.Done()
		m.Wait()
	}
	return m.watched.FinishRun(ctx, c, r)
}

// What was held back is written beside each other: a store that is slow must
// not hold up the worker for as many writes as sites were dead.
func TestHeldBackIsWrittenTogether(t *testing.T) {
	s := newStore(t)
	targets := []string{"https://good.example/agentic.json"}
	for i := range 4 {
		targets = append(targets, fmt.Sprintf("https://dead%d.example/agentic.json", i))
	}
	b := storetest.Batch(t, s.Store, targets...)
	m := &meeting{watched: s}
	m.Add(4)
	failed := make(chan struct{}, 4)
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		if strings.Contains(target, "dead") {
			failed <- struct{}{}
			return unreachable(target), nil
		}
		for range 4 {
			<-failed
		}
		return success(target), nil
	}}
	c := guarded(m, embedded(t), f, func(context.Context, string) error { return nil })
	c.Retry = worker.Retry{Never: true}
	start(t, c)
	if b = ended(t, s, b.ID); b.Outcomes[report.OutcomeUnchecked].Runs != 4 {
		t.Fatalf("%+v", b.Outcomes)
	}
}

// released is a store that tells which hosts' runs were given back, and when
// both runs of the busy host were claimed.
type released struct {
	*watched
	hosts  chan string
	claims chan struct{}
}

func (r *released) ClaimRun(ctx context.Context, id store.RunID, worker string, lease time.Duration) (*store.Claim, error) {
	c, err := r.watched.ClaimRun(ctx, id, worker, lease)
	if err == nil && c.Host == "busy.example" {
		r.claims <- struct{}{}
	}
	return c, err
}

func (r *released) ReleaseRun(ctx context.Context, c *store.Claim, due time.Time) error {
	err := r.watched.ReleaseRun(ctx, c, due)
	r.hosts <- c.Host
	return err
}

// A run that waited for its host is not begun while the network is down.
func TestParkedRunsWaitForTheNetwork(t *testing.T) {
	s := newStore(t)
	targets := []string{"https://busy.example/a", "https://busy.example/b"}
	for i := range 5 {
		targets = append(targets, fmt.Sprintf("https://dead%d.example/agentic.json", i))
	}
	b := storetest.Batch(t, s.Store, targets...)
	both, end := make(chan struct{}), make(chan struct{})
	var early, back atomic.Bool
	var busy atomic.Int64
	f := &fake{answer: func(_ context.Context, target string, _ int) (audit.Judgement, error) {
		switch {
		case !strings.Contains(target, "busy"):
			if back.Load() {
				return success(target), nil
			}
			<-both
			return unreachable(target), nil
		case busy.Add(1) == 1:
			<-end
		case !back.Load():
			early.Store(true)
		}
		return success(target), nil
	}}
	r := &released{s, make(chan string, 1000), make(chan struct{}, 1000)}
	start(t, guarded(r, embedded(t), f, func(_ context.Context, host string) error {
		if back.Load() {
			return nil
		}
		return &fetch.Error{Kind: fetch.KindDNS, Host: host}
	}))
	for range 2 {
		<-r.claims
	}
	close(both)
	// The first of the host ends in the outage; then it is the second one's turn.
	for host := range r.hosts {
		if strings.Contains(host, "dead") {
			break
		}
	}
	close(end)
	for host := range r.hosts {
		if host == "busy.example" {
			break
		}
	}
	back.Store(true)
	ended(t, s, b.ID)
	if early.Load() {
		t.Error("a site was visited while the network was down")
	}
}
