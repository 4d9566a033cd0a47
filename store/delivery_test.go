package store_test

import (
	"errors"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// Changes of outcomes become deliveries, one each, and an attempt at one is in
// one hand at a time.
func testDeliveries(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	audit := func(outcome report.Outcome) {
		for _, d := range must[[]store.Due](t)(s.TakeDue(t.Context(), store.ClassSmall, 10)) {
			claim := must[*store.Claim](t)(s.ClaimRun(t.Context(), d.Run, "w", time.Minute))
			o := report.OutcomeFailed
			if claim.Target == "https://a.example/agentic.json" {
				o = outcome
			}
			if err := s.FinishRun(t.Context(), claim, storetest.Result(claim.Target, o, report.ReasonComplete, clock.Now())); err != nil {
				t.Fatal(err)
			}
		}
	}
	var id store.BatchID
	batch := func(outcome report.Outcome) {
		clock.Add(time.Second)
		id = beginListing(t, s, "https://dir.example/api")
		addListings(t, s, id, "{}", listing("1", "https://a.example"), listing("2", "https://b.example"))
		must[*store.Batch](t)(s.SealBatch(t.Context(), id))
		audit(outcome)
	}
	plan := func() (made int64) {
		for {
			n, more, err := s.PlanDeliveries(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if made += n; !more {
				return made
			}
		}
	}
	if batch(report.OutcomeFailed); plan() != 0 {
		t.Error("the first outcomes are told")
	}
	if batch(report.OutcomeSuccessful); plan() != 1 || plan() != 0 {
		t.Error("want one change, told once")
	}
	for _, own := range []string{"https://dir.example", "https://other.example"} {
		if got := must[[]store.Delivery](t)(s.TakeDeliveries(t.Context(), false, 10, time.Minute, "https://dir.exam", "https://dir.example", own)); len(got) != 0 {
			t.Errorf("taken although its receiver is left out: %+v", got)
		}
	}
	first := must[[]store.Delivery](t)(s.TakeDeliveries(t.Context(), false, 10, time.Minute, "https://dir.exam", "https://dir.example:8443", "http://dir.example"))
	if len(first) != 1 || first[0].Ref != "1" || first[0].Attempts != 1 || first[0].URL != "https://dir.example/hook" {
		t.Fatalf("%+v", first)
	}
	if more := must[[]store.Delivery](t)(s.TakeDeliveries(t.Context(), false, 10, time.Minute)); len(more) != 0 {
		t.Errorf("it is taken twice: %+v", more)
	}
	clock.Add(time.Minute)
	second := must[[]store.Delivery](t)(s.TakeDeliveries(t.Context(), false, 10, time.Minute))
	if len(second) != 1 || second[0].Attempts != 2 {
		t.Fatalf("after the lease: %+v", second)
	}
	first[0].State = store.DeliveryDone
	if err := s.EndDelivery(t.Context(), first[0], time.Time{}); !errors.Is(err, store.ErrStale) {
		t.Errorf("a late end: %v", err)
	}
	second[0].State, second[0].Status = store.DeliveryDone, 200
	if err := s.EndDelivery(t.Context(), second[0], time.Time{}); err != nil {
		t.Fatal(err)
	}
	for state, want := range map[store.DeliveryState]int{"": 1, store.DeliveryDone: 1, store.DeliveryDue: 0} {
		if got := must[[]store.Delivery](t)(s.Deliveries(t.Context(), state, 0, 10)); len(got) != want {
			t.Errorf("state %q: %+v", state, got)
		}
		f := store.DeliveryFilter{State: state, Batch: first[0].Batch}
		if got := must[[]store.Delivery](t)(s.FindDeliveries(t.Context(), f, 0, 10)); len(got) != want {
			t.Errorf("%+v: %+v", f, got)
		}
		f.Batch = "000000001"
		if got := must[[]store.Delivery](t)(s.FindDeliveries(t.Context(), f, 0, 10)); len(got) != 0 {
			t.Errorf("%+v: %+v", f, got)
		}
	}
	// What is audited again is told again where it is another outcome.
	if n := must[int64](t)(s.RetryBatch(t.Context(), id, store.Selection{})); n != 2 {
		t.Fatalf("%d runs are audited again", n)
	}
	if audit(report.OutcomePartial); plan() != 1 || plan() != 0 {
		t.Error("want the one outcome that is another after the retry")
	}
}
