package store_test

import (
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// How long runs wait, and whether results come, shows without a batch that
// somebody looks at.
func testPulse(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	want := func(when string, waiting, result time.Time) {
		t.Helper()
		p := must[store.Pulse](t)(s.Pulse(ctx))
		if !p.WaitingSince.Equal(waiting) || !p.LastResult.Equal(result) {
			t.Fatalf("%s: waiting since %v, want %v; last result %v, want %v", when, p.WaitingSince, waiting, p.LastResult, result)
		}
	}
	var never time.Time
	want("at first", never, never)
	b := storetest.Batch(t, s, storetest.Targets(2)...)
	sealed := clock.Now()
	clock.Add(time.Minute)
	want("not handed over", sealed, never)
	due := take(t, s, 2)
	clock.Add(time.Minute)
	want("in the queue", sealed, never)
	finish := func(c *store.Claim) time.Time {
		t.Helper()
		at := clock.Now()
		if err := s.FinishRun(ctx, c, storetest.Result(c.Target, report.OutcomeFailed, report.ReasonMissingProfile, at)); err != nil {
			t.Fatal(err)
		}
		return at
	}
	first, second := claim(t, s, due[0].Run), claim(t, s, due[1].Run)
	want("being audited", never, never)
	result := finish(first)
	again := clock.Now().Add(time.Minute)
	if err := s.RetryRun(ctx, second, again, nil); err != nil {
		t.Fatal(err)
	}
	want("to be tried again later", never, result)
	clock.Add(90 * time.Second)
	want("should be tried again", again, result)
	take(t, s, 1)
	clock.Add(time.Hour)
	want("in the queue again", again, result)
	if err := s.PauseBatch(ctx, b.ID, ""); err != nil {
		t.Fatal(err)
	}
	want("paused", never, result)
	if err := s.ResumeBatch(ctx, b.ID); err != nil {
		t.Fatal(err)
	}
	due = take(t, s, 1)
	result = finish(claim(t, s, due[0].Run))
	want("finished", never, result)
	clock.Add(24 * time.Hour)
	if _, err := s.RetryBatch(ctx, b.ID, store.Selection{}); err != nil {
		t.Fatal(err)
	}
	take(t, s, 2)
	handed := clock.Now()
	clock.Add(time.Second)
	want("opened again", handed, never)
}
