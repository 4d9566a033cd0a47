package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

const lease = time.Minute

func take(t *testing.T, s *store.Store, limit int) []store.Due {
	t.Helper()
	due := must[[]store.Due](t)(s.TakeDue(t.Context(), store.ClassSmall, limit))
	return append(due, must[[]store.Due](t)(s.TakeDue(t.Context(), store.ClassBulk, limit))...)
}

func claim(t *testing.T, s *store.Store, id store.RunID) *store.Claim {
	t.Helper()
	return must[*store.Claim](t)(s.ClaimRun(t.Context(), id, "w1", lease))
}

func finish(t *testing.T, s *store.Store, c *store.Claim, o report.Outcome, r report.Reason, at time.Time) {
	t.Helper()
	if err := s.FinishRun(t.Context(), c, storetest.Result(c.Target, o, r, at)); err != nil {
		t.Fatal(err)
	}
}

// finishAll ends all due runs alike.
func finishAll(t *testing.T, s *store.Store, o report.Outcome, r report.Reason) {
	t.Helper()
	for _, d := range take(t, s, 1000) {
		finish(t, s, claim(t, s, d.Run), o, r, time.UnixMilli(1_790_000_000_000))
	}
}

func testUnqueue(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	storetest.Batch(t, s, storetest.Targets(3)...)
	due := take(t, s, 3)
	claim(t, s, due[0].Run) // somebody was faster
	if err := s.Unqueue(ctx, due); err != nil {
		t.Fatal(err)
	}
	if again := take(t, s, 3); len(again) != 2 {
		t.Fatalf("after Unqueue %d runs are due, want 2", len(again))
	}
}

func testForgotten(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	storetest.Batch(t, s, storetest.Targets(5)...)
	due := take(t, s, 4)
	clock.Add(time.Minute)
	take(t, s, 1)
	claim(t, s, due[0].Run)
	before := clock.Now().Add(-time.Second)
	unclaimed := must[[]store.Due](t)(s.Unclaimed(ctx, store.ClassSmall, before))
	if !slices.Equal(unclaimed, due[1:]) {
		t.Fatalf("unclaimed: %v, want %v", unclaimed, due[1:])
	}
	if got := must[[]store.Due](t)(s.Unclaimed(ctx, store.ClassBulk, clock.Now().Add(time.Hour))); len(got) != 0 {
		t.Fatalf("unclaimed in the wrong class: %v", got)
	}
	claim(t, s, due[1].Run)
	older := due[2]
	older.Token--
	if got := must[[]store.Due](t)(s.HandOverAgain(ctx, []store.Due{due[3], due[1], older}, before)); !slices.Equal(got, due[3:]) {
		t.Fatalf("handed over again: %v, want %v: not what is claimed meanwhile, nor by an older token", got, due[3:])
	}
	if got := must[[]store.Due](t)(s.HandOverAgain(ctx, due[3:], before)); len(got) != 0 {
		t.Fatalf("handed over twice: %v", got)
	}
	if got := must[[]store.Due](t)(s.Unclaimed(ctx, store.ClassSmall, before)); !slices.Equal(got, due[2:3]) {
		t.Fatalf("unclaimed: %v, want %v", got, due[2:3])
	}
}

func testClaimAndFinish(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	b := storetest.Batch(t, s, "https://a.example/agentic.json", "https://a.example/agentic.json", "https://b.example/agentic.json")
	due := take(t, s, 10)
	if len(due) != 2 {
		t.Fatalf("%d runs due, want 2", len(due))
	}
	clock.Add(time.Second)
	c := claim(t, s, due[0].Run)
	if c.Attempt != 1 || c.Lost != 0 || c.Kept != nil || c.Target != "https://a.example/agentic.json" || c.Host != "a.example" || string(c.Options) != "{}" {
		t.Fatalf("claim %+v", c)
	}
	if b = must[*store.Batch](t)(s.Batch(ctx, b.ID)); b.State != store.StateRunning || !b.StartedAt.Equal(clock.Now()) {
		t.Fatalf("after the first claim: %+v", b)
	}
	want := storetest.Result(c.Target, report.OutcomeFailed, report.ReasonInvalidProfile, clock.Now())
	want.Agents, want.AgentsVerdict, want.Discovery, want.FixKit = []byte(`{"a":1}`), "valid", []byte(`{"d":2}`), []byte(`{"k":3}`)
	if err := s.FinishRun(ctx, c, want); err != nil {
		t.Fatal(err)
	}
	b = must[*store.Batch](t)(s.Batch(ctx, b.ID))
	if b.State != store.StateRunning || b.OpenRuns != 1 || b.Done() != 2 || b.Outcomes[report.OutcomeFailed] != (store.Count{Entries: 2, Runs: 1}) {
		t.Fatalf("after one run: %+v", b)
	}
	if got := must[*report.Report](t)(s.Report(ctx, c.Run)); !reflect.DeepEqual(got, want.Report) {
		t.Fatalf("report %+v, want %+v", got, want.Report)
	}
	if got := must[[]report.Evidence](t)(s.Evidence(ctx, c.Run)); !reflect.DeepEqual(got, want.Evidence) {
		t.Fatalf("evidence %+v, want %+v", got, want.Evidence)
	}
	if p := must[*store.Parts](t)(s.Parts(ctx, c.Run)); string(p.Agents) != `{"a":1}` || string(p.Discovery) != `{"d":2}` || string(p.FixKit) != `{"k":3}` {
		t.Fatalf("parts %s %s %s", p.Agents, p.Discovery, p.FixKit)
	}
	c2 := claim(t, s, due[1].Run)
	finish(t, s, c2, report.OutcomeUnchecked, report.ReasonUnreachable, clock.Add(time.Second))
	b = must[*store.Batch](t)(s.Batch(ctx, b.ID))
	if b.State != store.StateFinished || !b.FinishedAt.Equal(clock.Now()) || b.OpenRuns != 0 || b.Done() != b.Entries {
		t.Fatalf("after the last run: %+v", b)
	}
	reasons := must[[]store.ReasonCount](t)(s.TopReasons(ctx, b.ID, 10))
	if !reflect.DeepEqual(reasons, []store.ReasonCount{
		{Outcome: report.OutcomeFailed, Reason: report.ReasonInvalidProfile, Count: store.Count{Entries: 2, Runs: 1}},
		{Outcome: report.OutcomeUnchecked, Reason: report.ReasonUnreachable, Count: store.Count{Entries: 1, Runs: 1}},
	}) {
		t.Fatalf("reasons %+v", reasons)
	}
	checks := must[[]store.CheckCount](t)(s.TopChecks(ctx, b.ID, 10))
	if !reflect.DeepEqual(checks, []store.CheckCount{
		{Check: "json", Status: report.Fail, Count: store.Count{Entries: 2, Runs: 1}},
		{Check: "resource", Status: report.Fail, Count: store.Count{Entries: 2, Runs: 1}},
		{Check: "linked", Status: report.Warn, Count: store.Count{Entries: 3, Runs: 2}},
	}) {
		t.Fatalf("checks %+v", checks)
	}
	_, err := s.Report(ctx, store.RunID(b.ID)+"-9")
	wantErr(t, err, store.ErrNotFound)
	if err := s.FinishRun(ctx, c2, &report.Result{Outcome: report.OutcomeFailed}); err == nil {
		t.Fatal("a result without a report was accepted")
	}
}

func testClaimRefusals(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	b := storetest.Batch(t, s, storetest.Targets(4)...)
	due := take(t, s, 4)
	refused := func(why string, id store.RunID) {
		t.Helper()
		if _, err := s.ClaimRun(ctx, id, "w2", lease); !errors.Is(err, store.ErrStale) {
			t.Fatalf("%s: claim gives %v, want ErrStale", why, err)
		}
	}
	held := claim(t, s, due[0].Run)
	refused("running elsewhere", due[0].Run)
	finish(t, s, held, report.OutcomeFailed, report.ReasonMissingProfile, clock.Now())
	refused("done", due[0].Run)
	c := claim(t, s, due[1].Run)
	if err := s.RetryRun(ctx, c, clock.Now().Add(time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	refused("not due", due[1].Run)
	if err := s.PauseBatch(ctx, b.ID, "why"); err != nil {
		t.Fatal(err)
	}
	refused("paused", due[2].Run)
	if err := s.CancelBatch(ctx, b.ID, ""); err != nil {
		t.Fatal(err)
	}
	refused("cancelled", due[2].Run)
	_, err := s.ClaimRun(ctx, store.RunID(b.ID)+"-99", "w", lease)
	wantErr(t, err, store.ErrNotFound)
}

func testLateWriter(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	b := storetest.Batch(t, s, storetest.Targets(1)...)
	old := claim(t, s, take(t, s, 1)[0].Run)
	clock.Add(lease)
	now := must[*store.Claim](t)(s.ClaimRun(ctx, old.Run, "w2", lease)) // the lease had ended
	if now.Attempt != 1 || now.Lost != 1 {
		t.Fatalf("claim behind a lost one: %+v", now)
	}
	result := storetest.Result(old.Target, report.OutcomeSuccessful, report.ReasonComplete, clock.Now())
	wantErr(t, s.FinishRun(ctx, old, result), store.ErrStale)
	wantErr(t, s.RetryRun(ctx, old, clock.Now(), result), store.ErrStale)
	wantErr(t, s.ReleaseRun(ctx, old, clock.Now()), store.ErrStale)
	if b = must[*store.Batch](t)(s.Batch(ctx, b.ID)); b.Done() != 0 || b.OpenRuns != 1 {
		t.Fatalf("a late writer changed the batch: %+v", b)
	}
	_, err := s.Report(ctx, old.Run)
	wantErr(t, err, store.ErrNotFound)
	finish(t, s, now, report.OutcomeFailed, report.ReasonMissingProfile, clock.Now())
	// Neither does a doubled task of the same claim.
	wantErr(t, s.FinishRun(ctx, now, result), store.ErrStale)
	if b = must[*store.Batch](t)(s.Batch(ctx, b.ID)); b.Outcomes[report.OutcomeFailed].Runs != 1 || b.Done() != 1 {
		t.Fatalf("counted twice: %+v", b)
	}
}

func testRetryKeeps(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	b := storetest.Batch(t, s, storetest.Targets(1)...)
	first := take(t, s, 1)[0]
	c := claim(t, s, first.Run)
	kept := storetest.Result(c.Target, report.OutcomePartial, report.ReasonIncomplete, clock.Now())
	kept.Discovery, kept.FixKit = []byte(`{"x":1}`), []byte(`{"k":1}`)
	if err := s.RetryRun(ctx, c, clock.Now().Add(10*time.Second), kept); err != nil {
		t.Fatal(err)
	}
	if due := take(t, s, 1); len(due) != 0 {
		t.Fatalf("due too early: %v", due)
	}
	load := must[store.Load](t)(s.Load(ctx))
	if !load.NextDue.Equal(clock.Now().Add(10*time.Second)) || load.Open != 1 {
		t.Fatalf("next due %v, %d open batches", load.NextDue, load.Open)
	}
	clock.Add(10 * time.Second)
	second := take(t, s, 1)
	if len(second) != 1 || second[0].Run != first.Run || second[0].Token == first.Token {
		t.Fatalf("second attempt %v, first %v: the token must differ", second, first)
	}
	c = claim(t, s, first.Run)
	if c.Attempt != 2 || !reflect.DeepEqual(c.Kept, kept) {
		t.Fatalf("second claim %+v, kept %+v", c, c.Kept)
	}
	if err := s.RetryRun(ctx, c, clock.Now(), nil); err != nil { // keeps what is kept
		t.Fatal(err)
	}
	c = claim(t, s, take(t, s, 1)[0].Run)
	if c.Attempt != 3 || c.Kept == nil {
		t.Fatalf("third claim %+v", c)
	}
	if err := s.FinishRun(ctx, c, c.Kept); err != nil {
		t.Fatal(err)
	}
	if load := must[store.Load](t)(s.Load(ctx)); load.Open != 0 {
		t.Errorf("%d batches are open at the end", load.Open)
	}
	page := must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: b.ID}, "", 5))
	if len(page.Rows) != 1 || page.Rows[0].Attempts != 3 || page.Rows[0].Outcome != report.OutcomePartial {
		t.Fatalf("rows %+v", page.Rows)
	}
}

func testRelease(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	storetest.Batch(t, s, storetest.Targets(1)...)
	c := claim(t, s, take(t, s, 1)[0].Run)
	if err := s.ReleaseRun(t.Context(), c, clock.Now()); err != nil {
		t.Fatal(err)
	}
	due := take(t, s, 1)
	if len(due) != 1 {
		t.Fatal("a released run is not due")
	}
	if c = claim(t, s, due[0].Run); c.Attempt != 1 || c.Lost != 0 {
		t.Fatalf("claim behind a release: %+v", c)
	}
}

func testLeases(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	storetest.Batch(t, s, storetest.Targets(2)...)
	due := take(t, s, 2)
	a := claim(t, s, due[0].Run)
	b := must[*store.Claim](t)(s.ClaimRun(ctx, due[1].Run, "w2", lease))
	clock.Add(lease / 2)
	if n := must[int64](t)(s.RenewLeases(ctx, []*store.Claim{b}, lease)); n != 1 {
		t.Fatalf("%d leases renewed", n)
	}
	clock.Add(lease/2 + time.Millisecond)
	if n := must[int64](t)(s.ExpireLeases(ctx)); n != 1 {
		t.Fatalf("%d leases ended, want 1", n)
	}
	wantErr(t, s.FinishRun(ctx, a, storetest.Result(a.Target, report.OutcomeFailed, report.ReasonRefused, clock.Now())), store.ErrStale)
	if n := must[int64](t)(s.RenewLeases(ctx, []*store.Claim{a, b}, lease)); n != 1 {
		t.Fatalf("%d leases renewed, one of the two was lost", n)
	}
	finish(t, s, b, report.OutcomeFailed, report.ReasonRefused, clock.Now())
	again := take(t, s, 5)
	if len(again) != 1 || again[0].Run != a.Run || again[0].Token == due[0].Token {
		t.Fatalf("due again: %v", again)
	}
	if c := claim(t, s, a.Run); c.Lost != 1 || c.Attempt != 1 {
		t.Fatalf("claim behind a lost one: %+v", c)
	}
}

func testResetRunning(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	b := storetest.Batch(t, s, storetest.Targets(3)...)
	due := take(t, s, 2)
	claim(t, s, due[0].Run)
	s.Close() // killed: the queue's memory is gone with the process
	s = open(t, store.Options{})
	if n := must[int64](t)(s.ResetRunning(ctx)); n != 1 {
		t.Fatalf("%d runs were under way, want 1", n)
	}
	// A task of the dead process may still stand in Redis: the same run gets
	// a task of another name.
	for _, again := range take(t, s, 3) {
		for _, before := range due {
			if again == before {
				t.Errorf("run %s is handed out under its old token %d", again.Run, again.Token)
			}
		}
	}
	must[int64](t)(s.ResetRunning(ctx))
	finishAll(t, s, report.OutcomeFailed, report.ReasonMissingProfile)
	if b = must[*store.Batch](t)(s.Batch(ctx, b.ID)); b.State != store.StateFinished || b.Done() != 3 {
		t.Fatalf("after the second start: %+v", b)
	}
}

func testConcurrentFinish(t *testing.T, open opener) {
	s := open(t, store.Options{GroupEvery: time.Millisecond})
	ctx := t.Context()
	const n = 120
	b := storetest.Batch(t, s, append(storetest.Targets(n), storetest.Targets(n/2)...)...)
	due := take(t, s, n)
	var wg sync.WaitGroup
	errs := make(chan error, 2*n)
	for _, d := range due {
		for range 2 { // every task arrives twice
			wg.Go(func() {
				c, err := s.ClaimRun(ctx, d.Run, "w", lease)
				if errors.Is(err, store.ErrStale) {
					return
				}
				if err == nil {
					err = s.FinishRun(ctx, c, storetest.Result(c.Target, report.OutcomePartial, report.ReasonIncomplete, time.Now()))
				}
				if err != nil {
					errs <- fmt.Errorf("%s: %w", d.Run, err)
				}
			})
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	b = must[*store.Batch](t)(s.Batch(ctx, b.ID))
	if b.State != store.StateFinished || b.Outcomes[report.OutcomePartial] != (store.Count{Entries: n + n/2, Runs: n}) {
		t.Fatalf("%+v", b)
	}
	rows := 0
	err := s.EachResult(ctx, store.Filter{Batch: b.ID}, false, func(r store.Row) error {
		rows++
		if r.Entry != int64(rows) {
			return fmt.Errorf("row %d has entry %d", rows, r.Entry)
		}
		return nil
	})
	if err != nil || rows != n+n/2 {
		t.Fatalf("%d rows, %v", rows, err)
	}
}
