package store_test

import (
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// What can be worked on now is told apart from what waits and what is paused.
func testBacklog(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	want := func(when string, due, waiting, paused, enqueued, running int64) {
		t.Helper()
		b := must[store.Backlog](t)(s.Backlog(ctx))
		got := [5]int64{b.Due, b.Waiting, b.Paused, b.Enqueued[store.ClassSmall] + b.Enqueued[store.ClassBulk], b.Running}
		if got != [5]int64{due, waiting, paused, enqueued, running} {
			t.Fatalf("%s: %+v", when, b)
		}
	}
	want("at first", 0, 0, 0, 0, 0)
	b := storetest.Batch(t, s, storetest.Targets(4)...)
	want("complete", 4, 0, 0, 0, 0)
	due := take(t, s, 3)
	want("handed over", 1, 0, 0, 3, 0)
	first, second := claim(t, s, due[0].Run), claim(t, s, due[1].Run)
	want("claimed", 1, 0, 0, 1, 2)
	if err := s.RetryRun(ctx, first, clock.Now().Add(time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	want("to be tried again in an hour", 1, 1, 0, 1, 1)
	if err := s.PauseBatch(ctx, b.ID, ""); err != nil {
		t.Fatal(err)
	}
	want("paused", 0, 0, 3, 0, 1)
	if err := s.ResumeBatch(ctx, b.ID); err != nil {
		t.Fatal(err)
	}
	res := storetest.Result(second.Target, report.OutcomeFailed, report.ReasonMissingProfile, clock.Now())
	if err := s.FinishRun(ctx, second, res); err != nil {
		t.Fatal(err)
	}
	got := must[store.Backlog](t)(s.Backlog(ctx))
	if got.Due+got.Enqueued[store.ClassSmall] != 2 || got.Waiting != 1 || got.Paused+got.Running != 0 {
		t.Fatalf("resumed: %+v", got)
	}
	clock.Add(time.Hour)
	got = must[store.Backlog](t)(s.Backlog(ctx))
	if got.Due+got.Enqueued[store.ClassSmall] != 3 || got.Waiting != 0 {
		t.Fatalf("an hour later: %+v", got)
	}
	unread := must[*store.Batch](t)(s.CreateBatch(ctx, store.NewBatch{Sources: []string{"x"}}))
	must[store.Added](t)(s.AddLines(ctx, unread.ID, []store.Line{{Number: 1, Input: "https://new.example", Target: "https://new.example/agentic.json"}}))
	if got = must[store.Backlog](t)(s.Backlog(ctx)); got.Waiting != 1 {
		t.Fatalf("a list that is being read: %+v", got)
	}
	if err := s.CancelBatch(ctx, unread.ID, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.CancelBatch(ctx, b.ID, ""); err != nil {
		t.Fatal(err)
	}
	want("cancelled", 0, 0, 0, 0, 0)
}
