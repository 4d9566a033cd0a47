package worker

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/audit"
	"agentaudit/fetch"
	"agentaudit/queue"
	"agentaudit/store"
)

var someAddress = []netip.Addr{netip.MustParseAddr("203.0.113.1")}

func TestAdmitOwnHost(t *testing.T) {
	m := NewManners(nil, Limits{Address: 1})
	ctx := context.WithValue(t.Context(), visitorKey{}, &visitor{host: "a.example."})
	// The worker holds the host for the run, so only the address is taken.
	held, busy, _, err := m.takeAll(ctx, false, []string{hostKey("a.example")})
	if err != nil || busy != "" {
		t.Fatal(busy, err)
	}
	release, err := m.Admit(ctx, "a.example", someAddress)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{host: "b.example"}
	other := context.WithValue(t.Context(), visitorKey{}, v)
	if _, err := m.Admit(other, "b.example", someAddress); !errors.Is(err, errBusy) || v.busy == "" || v.foreign {
		t.Fatalf("a second audit at the address: %v, %+v", err, v)
	}
	release()
	held()
	v.busy = ""
	if release, err = m.Admit(other, "b.example", someAddress); err != nil {
		t.Fatal(err)
	}
	release()
}

func TestAdmitWaitsForASecondHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManners(nil, Limits{})
		_, _, _, err := m.takeAll(t.Context(), false, []string{hostKey("readme.example")})
		if err != nil {
			t.Fatal(err)
		}
		v := &visitor{host: "a.example"}
		ctx := context.WithValue(t.Context(), visitorKey{}, v)
		start := time.Now()
		if _, err := m.Admit(ctx, "readme.example", someAddress); !errors.Is(err, errBusy) || !v.foreign {
			t.Fatalf("%v, %+v", err, v)
		}
		if d := time.Since(start); d < 5*time.Second || d > 6*time.Second {
			t.Fatalf("waited %v", d)
		}
		// The rest of such an audit is not worth waiting for.
		start = time.Now()
		if _, err := m.Admit(ctx, "third.example", someAddress); !errors.Is(err, errBusy) || time.Since(start) > 0 {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
	})
}

func TestAdmitWithoutAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManners(nil, Limits{})
		release, err := m.Admit(t.Context(), "a.example", someAddress)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			release()
		}()
		if _, err := m.Admit(t.Context(), "a.example", someAddress); err != nil {
			t.Fatalf("it did not wait for its turn: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Admit(ctx, "a.example", someAddress); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
	})
}

func TestHostRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManners(nil, Limits{})
		asked := []audit.Rest{{Host: "a.example", For: time.Hour}, {Host: "b.example", For: 10 * time.Second}}
		if err := m.rest(t.Context(), asked, time.Minute); err != nil {
			t.Fatal(err)
		}
		// A shorter rest does not end a longer one.
		if err := m.rest(t.Context(), []audit.Rest{{Host: "a.example", For: time.Second}}, time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		left := func(host string) time.Duration {
			release, err := m.Admit(context.WithValue(t.Context(), visitorKey{}, &visitor{host: "c.example"}), host, someAddress)
			if rest, ok := errors.AsType[*fetch.RestError](err); ok {
				return rest.For
			}
			if err != nil {
				t.Fatal(err)
			}
			release()
			return 0
		}
		if a, b := left("a.example"), left("b.example"); a != 50*time.Second || b != 0 {
			t.Fatalf("after ten seconds %v and %v are left of a minute and of ten seconds", a, b)
		}
		time.Sleep(50 * time.Second)
		if a := left("a.example."); a != 0 {
			t.Fatalf("%v left when the cap is over", a)
		}
	})
}

func TestMappedAddressIsTheSame(t *testing.T) {
	if addressKey(netip.MustParseAddr("::ffff:203.0.113.1")) != addressKey(someAddress[0]) {
		t.Fatal("an IPv4-mapped address counts apart")
	}
}

func TestUrgentGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManners(nil, Limits{})
		take := func(urgent bool) (release func(), got bool) {
			release, busy, _, err := m.takeAll(t.Context(), urgent, []string{hostKey("a.example")})
			if err != nil {
				t.Fatal(err)
			}
			return release, busy == ""
		}
		release, _ := take(false)
		if _, got := take(true); got {
			t.Fatal("two at a host")
		}
		release()
		if _, got := take(false); got {
			t.Fatal("the place that is kept was given away")
		}
		if release, got := take(true); !got {
			t.Fatal("the place was kept for nobody")
		} else {
			release()
		}
		time.Sleep(queue.PlaceWanted)
		if _, got := take(false); !got {
			t.Fatal("the place is kept for ever")
		}
	})
}

func TestLotLetsUrgentRunsGoFirst(t *testing.T) {
	const room = 40
	l := newLot(room)
	now := time.Unix(1_790_000_000, 0)
	claim := func(c store.Class) *run { return &run{Claim: &store.Claim{Class: c}} }
	for i := range room {
		if _, ok := l.park("k"+string(rune('0'+i%4)), claim(store.ClassBulk), now); ok != (i < 30) {
			t.Fatalf("bulk run %d of a list: parked %v", i, ok)
		}
	}
	for i := range 10 {
		if _, ok := l.park("k0", claim(store.ClassSmall), now); !ok {
			t.Fatalf("no room for the small run %d", i)
		}
	}
	if got := l.all(); len(got) != room || len(l.sweep(now)) != 5 {
		t.Fatalf("%d runs wait", len(got))
	}
	for i := range 9 {
		if r := l.next("k0"); r == nil || !r.urgent() {
			t.Fatalf("the run in place %d is %+v", i, r)
		}
	}
	r := l.next("k0")
	if r == nil || r.urgent() {
		t.Fatalf("behind the urgent runs comes %+v", r)
	}
	left := l.all()
	if out := l.takeOut(map[*store.Claim]bool{left[0].Claim: true, r.Claim: true}); len(out) != 1 || out[0] != left[0] || l.parked != len(left)-1 {
		t.Fatalf("%d taken out, %d parked", len(out), l.parked)
	}
}

func TestLotSendsAwayByTurns(t *testing.T) {
	l := newLot(1000)
	now := time.Unix(1_790_000_000, 0)
	claim := func() *run { return &run{Claim: &store.Claim{Class: store.ClassBulk}} }
	for range perKey {
		if _, ok := l.park("k", claim(), now); !ok {
			t.Fatal("no room in an empty lot")
		}
	}
	last := now
	for i := range 100 {
		later, ok := l.park("k", claim(), now)
		if ok || !later.After(last) {
			t.Fatalf("run %d behind a full line is due at %v, the one before at %v", i, later, last)
		}
		last = later
	}
	if d := last.Sub(now); d < 30*time.Second || d > 60*time.Second {
		t.Fatalf("the last of 132 runs of 0.3 s each is due in %v", d)
	}
	for range 10_000 {
		last, _ = l.park("k", claim(), now)
	}
	if d := last.Sub(now); d > 10*time.Minute {
		t.Fatalf("sent away for %v", d)
	}
	if n := len(l.empty()); n != perKey {
		t.Fatalf("%d runs were parked", n)
	}
	if _, ok := l.park("k", claim(), now); ok {
		t.Fatal("a closed lot takes runs")
	}
}

func TestLotForgetsEmptyLines(t *testing.T) {
	l := newLot(10)
	now := time.Unix(1_790_000_000, 0)
	l.park("k", &run{Claim: &store.Claim{}}, now)
	if r := l.next("k"); r == nil {
		t.Fatal("nobody in line")
	}
	if r := l.next("k"); r != nil {
		t.Fatal("somebody is left")
	}
	l.sweep(now.Add(time.Hour))
	if len(l.lines) != 0 || l.parked != 0 {
		t.Fatalf("%d lines, %d parked", len(l.lines), l.parked)
	}
}

// What follows an audit waits for another host, and no longer makes the audit
// begin anew.
func TestASettledAuditIsNotTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManners(nil, Limits{})
		if _, _, _, err := m.takeAll(t.Context(), false, []string{hostKey("www.a.example")}); err != nil {
			t.Fatal(err)
		}
		v := &visitor{host: "a.example"}
		ctx := context.WithValue(t.Context(), visitorKey{}, v)
		if !v.settle(false) {
			t.Fatal("an audit that was not turned away has not come to its end")
		}
		start := time.Now()
		if _, err := m.Admit(ctx, "www.a.example", someAddress); !errors.Is(err, errBusy) || v.turnedAway() {
			t.Fatalf("%v, turned away: %v", err, v.turnedAway())
		}
		if d := time.Since(start); d < 15*time.Second || d > 16*time.Second {
			t.Errorf("waited %v", d)
		}
		for _, c := range []struct {
			foreign, tired, end bool
		}{{false, false, false}, {false, true, false}, {true, false, false}, {true, true, true}} {
			v := &visitor{host: "a.example"}
			v.turnAway("host x", c.foreign)
			if got := v.settle(c.tired); got != c.end || v.turnedAway() == c.end {
				t.Errorf("%+v: settled %v, still turned away %v", c, got, v.turnedAway())
			}
		}
	})
}

// An audit outside of the workers has its turn like theirs, and waits for it.
func TestVisitsHaveTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManners(nil, Limits{Address: 1})
		ctx, leave, err := m.Visit(t.Context(), "a.example")
		if err != nil {
			t.Fatal(err)
		}
		if _, busy, _, err := m.takeAll(t.Context(), false, []string{hostKey("a.example")}); err != nil || busy == "" {
			t.Fatalf("a worker comes to the host meanwhile: %v", err)
		}
		// The host's own place is the visit's, and it waits for the address.
		address, err := m.Admit(t.Context(), "b.example", someAddress)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			address()
		}()
		start := time.Now()
		release, err := m.Admit(ctx, "a.example", someAddress)
		if err != nil || time.Since(start) < time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		release()
		go func() {
			time.Sleep(time.Minute)
			leave()
		}()
		start = time.Now()
		_, leave2, err := m.Visit(t.Context(), "a.example")
		if err != nil || time.Since(start) < time.Minute {
			t.Fatalf("a second visit at once: %v after %v", err, time.Since(start))
		}
		leave2()
		if err := m.rest(t.Context(), []audit.Rest{{Host: "a.example", For: time.Minute}}, time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Visit(t.Context(), "a.example"); !isRest(err) {
			t.Errorf("a host that rests is visited: %v", err)
		}
	})
}

func isRest(err error) bool {
	_, ok := errors.AsType[*fetch.RestError](err)
	return ok
}
