package store_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

func testPauseResume(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	b := storetest.Batch(t, s, storetest.Targets(3)...)
	c := claim(t, s, take(t, s, 2)[0].Run)
	if err := s.PauseBatch(ctx, b.ID, "the network is down"); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.PauseBatch(ctx, b.ID, ""), store.ErrConflict)
	other := storetest.Batch(t, s, "https://other.example/agentic.json")
	goesOn := claim(t, s, take(t, s, 1)[0].Run)
	if got := must[[]*store.Claim](t)(s.Halted(ctx, []*store.Claim{goesOn, c})); len(got) != 1 || got[0] != c {
		t.Fatalf("%d claims are of batches that are halted", len(got))
	}
	finish(t, s, goesOn, report.OutcomeFailed, report.ReasonRefused, time.Now())
	if got := must[*store.Batch](t)(s.Batch(ctx, other.ID)); got.State != store.StateFinished {
		t.Fatalf("%+v", got)
	}
	finish(t, s, c, report.OutcomeFailed, report.ReasonRefused, time.Now()) // what is under way ends
	if due := take(t, s, 5); len(due) != 0 {
		t.Fatalf("a paused batch hands out %v", due)
	}
	b = must[*store.Batch](t)(s.Batch(ctx, b.ID))
	if b.State != store.StatePaused || b.Note != "the network is down" || b.OpenRuns != 2 {
		t.Fatalf("paused: %+v", b)
	}
	if l := must[store.Load](t)(s.Load(ctx)); l.Enqueued[store.ClassSmall] != 0 {
		t.Fatalf("load of a paused batch: %+v", l)
	}
	if err := s.ResumeBatch(ctx, b.ID); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.ResumeBatch(ctx, b.ID), store.ErrConflict)
	if b = must[*store.Batch](t)(s.Batch(ctx, b.ID)); b.State != store.StateRunning || b.Note != "" {
		t.Fatalf("resumed: %+v", b)
	}
	finishAll(t, s, report.OutcomeFailed, report.ReasonRefused)
	if b = must[*store.Batch](t)(s.Batch(ctx, b.ID)); b.State != store.StateFinished || b.Done() != 3 {
		t.Fatalf("at the end: %+v", b)
	}
	wantErr(t, s.PauseBatch(ctx, b.ID, ""), store.ErrConflict)
	wantErr(t, s.PauseBatch(ctx, "000000001", ""), store.ErrNotFound)
}

func testCancel(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	b := storetest.Batch(t, s, append(storetest.Targets(5), storetest.Targets(5)...)...)
	due := take(t, s, 4)
	finish(t, s, claim(t, s, due[0].Run), report.OutcomeSuccessful, report.ReasonComplete, clock.Now())
	running, released := claim(t, s, due[1].Run), claim(t, s, due[2].Run)
	waiting := claim(t, s, due[3].Run)
	if err := s.RetryRun(ctx, waiting, clock.Now().Add(time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.CancelBatch(ctx, b.ID, "no longer wanted"); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.CancelBatch(ctx, b.ID, ""), store.ErrConflict)
	// A run under way still gets its result; one given back does not.
	finish(t, s, running, report.OutcomeFailed, report.ReasonMissingProfile, clock.Now())
	if err := s.RetryRun(ctx, released, clock.Now(), nil); err != nil {
		t.Fatal(err)
	}
	b = must[*store.Batch](t)(s.Batch(ctx, b.ID))
	want := map[report.Outcome]store.Count{
		report.OutcomeSuccessful: {Entries: 2, Runs: 1}, report.OutcomeFailed: {Entries: 2, Runs: 1}, store.Cancelled: {Entries: 6, Runs: 3},
	}
	if b.State != store.StateCancelled || b.Note != "no longer wanted" || b.OpenRuns != 0 || b.Done() != b.Entries || !maps.Equal(b.Outcomes, want) {
		t.Fatalf("cancelled: %+v", b)
	}
	page := must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: b.ID, Outcome: store.Cancelled}, "", 100))
	if len(page.Rows) != 6 || page.Rows[0].Reason != "" || page.Rows[0].Target == "" || !page.Rows[0].FinishedAt.IsZero() {
		t.Fatalf("cancelled rows %+v", page.Rows)
	}
	if due := take(t, s, 10); len(due) != 0 {
		t.Fatalf("a cancelled batch hands out %v", due)
	}
}

func testCancelIntake(t *testing.T, open opener) {
	s := open(t, store.Options{})
	id := newBatch(t, s, "l")
	must[store.Added](t)(s.AddLines(t.Context(), id, []store.Line{{Number: 1, Target: "https://a.example/"}}))
	if err := s.CancelBatch(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	b := must[*store.Batch](t)(s.Batch(t.Context(), id))
	if b.State != store.StateCancelled || b.OpenRuns != 0 || b.Outcomes[store.Cancelled].Entries != 1 {
		t.Fatalf("%+v", b)
	}
}

func testRetryBatch(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	b := storetest.Batch(t, s, append(storetest.Targets(4), storetest.Targets(2)...)...)
	kinds := []struct {
		o report.Outcome
		r report.Reason
	}{
		{report.OutcomeUnchecked, report.ReasonUnreachable}, {report.OutcomeUnchecked, report.ReasonBlocked},
		{report.OutcomeFailed, report.ReasonMissingProfile}, {report.OutcomeSuccessful, report.ReasonComplete},
	}
	for i, d := range take(t, s, 10) {
		finish(t, s, claim(t, s, d.Run), kinds[i].o, kinds[i].r, clock.Now())
	}
	before := must[*store.Batch](t)(s.Batch(ctx, b.ID))
	if n := must[int64](t)(s.RetryBatch(ctx, b.ID, store.Selection{Outcomes: []report.Outcome{report.OutcomePartial}})); n != 0 {
		t.Fatalf("%d runs reopened, want none", n)
	}
	if b = must[*store.Batch](t)(s.Batch(ctx, b.ID)); b.State != store.StateFinished {
		t.Fatalf("an empty retry opened the batch: %+v", b)
	}
	n := must[int64](t)(s.RetryBatch(ctx, b.ID, store.Selection{
		Outcomes: []report.Outcome{report.OutcomeUnchecked, report.OutcomeFailed}, Reasons: []report.Reason{report.ReasonUnreachable, report.ReasonMissingProfile}}))
	if n != 2 {
		t.Fatalf("%d runs reopened, want 2", n)
	}
	b = must[*store.Batch](t)(s.Batch(ctx, b.ID))
	if b.State != store.StateRunning || b.OpenRuns != 2 || !b.FinishedAt.IsZero() || b.Done() != 3 {
		t.Fatalf("reopened: %+v", b)
	}
	if !maps.Equal(b.Outcomes, map[report.Outcome]store.Count{report.OutcomeUnchecked: {Entries: 2, Runs: 1}, report.OutcomeSuccessful: {Entries: 1, Runs: 1}}) {
		t.Fatalf("counts of the rest: %+v", b.Outcomes)
	}
	checks := must[[]store.CheckCount](t)(s.TopChecks(ctx, b.ID, 10))
	if len(checks) != 1 || checks[0].Check != "linked" || checks[0].Entries != 3 {
		t.Fatalf("checks of the rest: %+v", checks)
	}
	page := must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: b.ID}, "", 100))
	if len(page.Rows) != 3 {
		t.Fatalf("%d rows, want the 3 that were not reopened", len(page.Rows))
	}
	due := take(t, s, 10)
	if len(due) != 2 {
		t.Fatalf("%d runs due", len(due))
	}
	// Until the new result is there, the old one can be read.
	must[*report.Report](t)(s.Report(ctx, due[0].Run))
	for _, d := range due {
		c := claim(t, s, d.Run)
		if c.Attempt != 1 {
			t.Fatalf("a reopened run is at attempt %d", c.Attempt)
		}
		finish(t, s, c, report.OutcomeSuccessful, report.ReasonComplete, clock.Add(time.Hour))
	}
	b = must[*store.Batch](t)(s.Batch(ctx, b.ID))
	if b.State != store.StateFinished || b.Done() != before.Done() || b.Outcomes[report.OutcomeSuccessful] != (store.Count{Entries: 4, Runs: 3}) {
		t.Fatalf("at the end: %+v", b)
	}
	_, err := s.RetryBatch(ctx, newBatch(t, s), store.Selection{})
	wantErr(t, err, store.ErrConflict)
}

func testRetryCancelled(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	b := storetest.Batch(t, s, storetest.Targets(3)...)
	finish(t, s, claim(t, s, take(t, s, 1)[0].Run), report.OutcomeFailed, report.ReasonRefused, time.Now())
	if err := s.CancelBatch(ctx, b.ID, "x"); err != nil {
		t.Fatal(err)
	}
	if n := must[int64](t)(s.RetryBatch(ctx, b.ID, store.Selection{Outcomes: []report.Outcome{store.Cancelled}})); n != 2 {
		t.Fatalf("%d runs reopened", n)
	}
	finishAll(t, s, report.OutcomeSuccessful, report.ReasonComplete)
	b = must[*store.Batch](t)(s.Batch(ctx, b.ID))
	if b.State != store.StateFinished || b.Note != "" || b.Done() != 3 || b.Outcomes[store.Cancelled].Runs != 0 {
		t.Fatalf("%+v", b)
	}
}

func testAgentsCounts(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	b := storetest.Batch(t, s, append(storetest.Targets(4), storetest.Targets(1)...)...)
	run := func(verdicts ...string) {
		t.Helper()
		for i, d := range take(t, s, 10) {
			r := storetest.Result("https://x.example/", report.OutcomeSuccessful, report.ReasonComplete, clock.Now())
			if r.AgentsVerdict = verdicts[i]; i > 1 {
				r.Outcome, r.Reason = report.OutcomeFailed, report.ReasonMissingProfile
			}
			if err := s.FinishRun(ctx, claim(t, s, d.Run), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	counts := func(want ...store.AgentsCount) {
		t.Helper()
		if got := must[[]store.AgentsCount](t)(s.AgentsCounts(ctx, b.ID)); !slices.Equal(got, want) {
			t.Fatalf("counts %+v, want %+v", got, want)
		}
	}
	counts()
	run("valid", "absent", "absent", "")
	absent := store.AgentsCount{Verdict: "absent", Outcome: report.OutcomeFailed, Count: store.Count{Entries: 1, Runs: 1}}
	fine := store.AgentsCount{Verdict: "absent", Outcome: report.OutcomeSuccessful, Count: store.Count{Entries: 1, Runs: 1}}
	valid := store.AgentsCount{Verdict: "valid", Outcome: report.OutcomeSuccessful, Count: store.Count{Entries: 2, Runs: 1}}
	counts(absent, fine, valid)
	if n := must[int64](t)(s.RetryBatch(ctx, b.ID, store.Selection{Outcomes: []report.Outcome{report.OutcomeSuccessful}})); n != 2 {
		t.Fatalf("%d runs reopened", n)
	}
	counts(absent)
	run("invalid", "absent")
	counts(absent, fine, store.AgentsCount{Verdict: "invalid", Outcome: report.OutcomeSuccessful, Count: store.Count{Entries: 2, Runs: 1}})
}
