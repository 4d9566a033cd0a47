package store_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

func testOpenBatches(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	var ids []store.BatchID
	for range 4 {
		ids = append(ids, storetest.Batch(t, s, storetest.Targets(1)...).ID)
		clock.Add(time.Minute)
	}
	ids = append(ids, newBatch(t, s, "being read"))
	if err := s.PauseBatch(ctx, ids[1], "why"); err != nil {
		t.Fatal(err)
	}
	if err := s.CancelBatch(ctx, ids[2], ""); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(idsOf(must[[]store.Batch](t)(s.OpenBatches(ctx, 10))))
	if want := fmt.Sprint([]store.BatchID{ids[4], ids[3], ids[1], ids[0]}); got != want {
		t.Fatalf("open batches %s, want %s", got, want)
	}
	if got := must[[]store.Batch](t)(s.OpenBatches(ctx, 1)); len(got) != 1 || got[0].ID != ids[4] {
		t.Fatalf("the newest open batch: %v", got)
	}
}

func idsOf(list []store.Batch) (out []store.BatchID) {
	for _, b := range list {
		out = append(out, b.ID)
	}
	return out
}

func testRun(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	id := newBatch(t, s, "l")
	must[store.Added](t)(s.AddLines(ctx, id, []store.Line{
		{Target: "https://a.example/agentic.json", Readme: "https://a.example/R.md", Label: "First"},
		{Target: "https://a.example/agentic.json", Readme: "https://a.example/R.md", Label: "Second"}}))
	must[*store.Batch](t)(s.SealBatch(ctx, id))
	run := store.RunID(id) + "-1"
	want := store.Run{ID: run, Target: "https://a.example/agentic.json", Readme: "https://a.example/R.md", Host: "a.example", State: "queued", Label: "First"}
	if got := must[*store.Run](t)(s.Run(ctx, run)); *got != want {
		t.Fatalf("run %+v\nwant %+v", *got, want)
	}
	take(t, s, 1)
	c := claim(t, s, run)
	due := clock.Now().Add(time.Minute)
	if err := s.RetryRun(ctx, c, due, nil); err != nil {
		t.Fatal(err)
	}
	want.State, want.Attempts, want.DueAt = "waiting", 1, due
	if got := must[*store.Run](t)(s.Run(ctx, run)); *got != want {
		t.Fatalf("after an attempt %+v\nwant %+v", *got, want)
	}
	for _, bad := range []store.RunID{"", "x", store.RunID(id) + "-2", "000000000-1"} {
		_, err := s.Run(ctx, bad)
		wantErr(t, err, store.ErrNotFound)
	}
}

// audited makes a finished batch: outcomes by target, "" stays open.
func audited(t *testing.T, s *store.Store, outcomes ...any) store.BatchID {
	t.Helper()
	ctx := t.Context()
	id := newBatch(t, s, "l")
	want := map[string]report.Outcome{}
	var lines []store.Line
	for i := 0; i < len(outcomes); i += 2 {
		target := "https://" + outcomes[i].(string) + ".example/agentic.json"
		want[target] = report.Outcome(outcomes[i+1].(string))
		lines = append(lines, store.Line{Target: target, Label: outcomes[i].(string)})
	}
	lines = append(lines, lines[0]) // another listing of the same site
	must[store.Added](t)(s.AddLines(ctx, id, lines))
	must[*store.Batch](t)(s.SealBatch(ctx, id))
	for _, d := range take(t, s, 100) {
		c := claim(t, s, d.Run)
		if o := want[c.Target]; o != "" {
			finish(t, s, c, o, report.ReasonComplete, time.UnixMilli(1_790_000_000_000))
		}
	}
	return id
}

func testCompare(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	a := audited(t, s, "better", "failed", "part", "partial", "worse", "successful", "less", "partial", "bad", "failed", "good", "successful",
		"same", "partial", "silent", "successful", "gone", "failed", "late", "failed", "mute", "unchecked")
	b := audited(t, s, "new", "failed", "mute", "unchecked", "late", "", "silent", "unchecked", "same", "partial", "good", "successful", "bad", "failed",
		"less", "failed", "worse", "partial", "part", "successful", "better", "partial")
	c := must[*store.Comparison](t)(s.Compare(ctx, a, b))
	want := map[store.Change]string{
		store.Repair: "part better", store.Regression: "less worse", store.StillFailing: "bad", store.Unchanged: "same good",
		store.NoVerdict: "mute silent", store.Pending: "late", store.OnlyBefore: "gone", store.OnlyAfter: "new",
	}
	wantCounts := map[store.Change]int64{store.Repair: 2, store.Regression: 2, store.StillFailing: 1, store.Unchanged: 2,
		store.NoVerdict: 2, store.Pending: 1, store.OnlyBefore: 1, store.OnlyAfter: 1}
	if counts := c.Counts(); !maps.Equal(counts, wantCounts) {
		t.Errorf("counts %v, want %v", counts, wantCounts)
	}
	for _, change := range store.Changes {
		names := ""
		for position := 0; ; { // one at a time, from where the last one stood
			found := false
			for next, p := range c.Pairs(change, position) {
				id, run := b, p.After
				if run == "" {
					id, run = a, p.Before
				}
				r := must[[]store.RunResult](t)(s.RunResults(ctx, id, []store.RunID{run}))[0]
				names += " " + r.Label
				if p.Change != change || p.Before != "" && p.Before.Batch() != a || p.After != "" && p.After.Batch() != b {
					t.Errorf("%s: %+v", change, p)
				}
				position, found = next, true
				break
			}
			if !found {
				break
			}
		}
		if names != " "+want[change] {
			t.Errorf("%s:%s, want %s", change, names, want[change])
		}
	}
	m := c.Matrix()
	if m[report.OutcomeFailed][report.OutcomePartial] != 1 || m[report.OutcomeSuccessful][report.OutcomeSuccessful] != 1 || m[report.OutcomeSuccessful][report.OutcomeUnchecked] != 1 {
		t.Errorf("matrix %v", m)
	}
	var sum int64
	for _, row := range m {
		for _, n := range row {
			sum += n
		}
	}
	if sum != 9 { // late has no second result; gone and new are in one list
		t.Errorf("the matrix holds %d runs, want 9", sum)
	}
	// What was opened again has no outcome, though its old result is kept.
	must[int64](t)(s.RetryBatch(ctx, a, store.Selection{Outcomes: []report.Outcome{report.OutcomeFailed}}))
	c = must[*store.Comparison](t)(s.Compare(ctx, a, b))
	if n := c.Counts()[store.Pending]; n != 3 {
		t.Errorf("%d pending after a retry of the three failures of both lists, want 3", n)
	}
}

func testCompareConflicts(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	a := storetest.Batch(t, s, storetest.Targets(2)...).ID
	reading := newBatch(t, s, "l")
	_, err := s.Compare(ctx, a, reading)
	wantErr(t, err, store.ErrConflict)
	for _, bad := range []store.BatchID{"", "000000000", "?"} {
		_, err := s.Compare(ctx, a, bad)
		wantErr(t, err, store.ErrNotFound)
		_, err = s.Compare(ctx, bad, a)
		wantErr(t, err, store.ErrNotFound)
	}
	if n := must[*store.Comparison](t)(s.Compare(ctx, a, a)).Counts()[store.Pending]; n != 2 {
		t.Errorf("a batch that has not begun, with itself: %d pending, want 2", n)
	}
	if _, err := store.ParseChange("repaired"); err == nil {
		t.Error("a change that there is not was read")
	}
}

func testRunResults(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	var list []any
	for i := range 100 { // more than one statement takes
		list = append(list, fmt.Sprint("s", i), "failed")
	}
	list[3] = "" // s1 stays open
	a := audited(t, s, list...)
	var ids []store.RunID
	for i := 100; i > 0; i-- {
		ids = append(ids, store.RunID(fmt.Sprintf("%s-%d", a, i)))
	}
	got := must[[]store.RunResult](t)(s.RunResults(ctx, a, ids))
	for i, r := range got {
		if r.Run != ids[i] || r.Label != fmt.Sprint("s", 99-i) || r.Target != "https://"+r.Label+".example/agentic.json" {
			t.Fatalf("row %d: %+v", i, r)
		}
		if open := r.Label == "s1"; open != (r.Outcome == "") || !open && (len(r.Failing) != 2 || r.Detail != "what decided" || r.FinishedAt.IsZero()) {
			t.Fatalf("row %d: %+v", i, r)
		}
	}
	_, err := s.RunResults(ctx, a, []store.RunID{"000000000-1"})
	wantErr(t, err, store.ErrNotFound)
	_, err = s.RunResults(ctx, a, []store.RunID{store.RunID(a) + "-101"})
	wantErr(t, err, store.ErrNotFound)
}
