package worker

import (
	"fmt"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/store"
)

// at is a moment so many milliseconds after the beginning of a test.
func at(ms int) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(ms) * time.Millisecond)
}

// failAll has attempts at many different hosts fail between two moments.
func failAll(g *guard, began, when int) (excused int) {
	for i := range manyHosts {
		r := &run{Claim: &store.Claim{Host: fmt.Sprintf("dead%d.example", i)}}
		if g.suspect(suspect{r, audit.Judgement{}, at(began), at(when)}) {
			excused++
		}
	}
	return excused
}

// A list of dead sites must not have the hosts that answered tried all the time.
func TestHostsAreTriedNowAndThen(t *testing.T) {
	g := newGuard()
	g.heard("alive.example", at(0))
	failAll(g, 0, 1)
	if _, doubtful := g.overdue(at(2)); !doubtful || g.suspicion() == nil {
		t.Fatal("many hosts failed, and none is tried")
	}
	over := g.suspicion()
	if held := g.reached(at(10)); len(held) != manyHosts {
		t.Fatalf("%d attempts were held back", len(held))
	}
	<-over
	failAll(g, 10, 11)
	if _, doubtful := g.overdue(at(12)); doubtful || g.suspicion() == nil {
		t.Fatal("hosts are tried again at once, or audits are begun though many hosts failed")
	}
	if _, doubtful := g.overdue(at(10).Add(trustFor)); !doubtful {
		t.Fatal("hosts are never tried again")
	}
}

func TestHostsAreTriedInTurns(t *testing.T) {
	g := newGuard()
	for i := range 2 * knownHosts {
		g.heard(fmt.Sprintf("alive%d.example", i), at(i))
	}
	tried := map[string]int{}
	for range knownHosts {
		hosts, known := g.probes()
		if !known || len(hosts) != triedHosts {
			t.Fatal(hosts, known)
		}
		tried[hosts[0]]++
	}
	if len(tried) < knownHosts {
		t.Errorf("only %d of %d hosts were the first to be tried", len(tried), knownHosts)
	}
}

// What was under way while the network was down says nothing about a site,
// even when it fails after the network came back.
func TestAttemptsOfAnOutageAreExcused(t *testing.T) {
	g := newGuard()
	failAll(g, 0, 1)
	g.setDown()
	if g.suspicion() != nil {
		t.Error("what is known is still suspected")
	}
	g.reached(at(100))
	if n := failAll(g, 50, 150); n != manyHosts {
		t.Errorf("%d of %d attempts begun during the outage are excused", n, manyHosts)
	}
	if n := failAll(g, 101, 150); n != 0 {
		t.Errorf("%d attempts begun after the outage are excused", n)
	}
}

// An answer counts from when it came: the audit that had it may have ended in a
// network that was dead by then.
func TestAnswersCountFromWhenTheyCame(t *testing.T) {
	answer := func(ms int, e report.Evidence) report.Evidence {
		e.StartedAt, e.DurationMs = at(ms-2), 2
		return e
	}
	page, refused, silent := report.Evidence{Status: 404}, report.Evidence{Address: "192.0.2.1:443", Error: string(fetch.KindTLS)}, report.Evidence{Error: string(fetch.KindTimeout)}
	for name, c := range map[string]struct {
		evidence []report.Evidence
		want     time.Time
	}{
		"none":             {nil, time.Time{}},
		"silence":          {[]report.Evidence{answer(20, silent)}, time.Time{}},
		"then silence":     {[]report.Evidence{answer(20, page), answer(80, silent)}, at(20)},
		"no page":          {[]report.Evidence{answer(20, page), answer(30, refused)}, at(30)},
		"a clock too slow": {[]report.Evidence{answer(-3600, page)}, at(10)},
		"a clock too fast": {[]report.Evidence{answer(3600, page)}, at(100)},
	} {
		if got := lastAnswer(&report.Result{Evidence: c.evidence}, at(10), at(100)); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
