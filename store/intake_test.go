package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newBatch(t *testing.T, s *store.Store, sources ...string) store.BatchID {
	t.Helper()
	return must[*store.Batch](t)(s.CreateBatch(t.Context(), store.NewBatch{Name: "b", Sources: sources})).ID
}

func testIntake(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	id := newBatch(t, s, "one.txt", "two.csv")
	lines := []store.Line{
		{Number: 1, Input: "a.example", Target: "https://a.example/agentic.json"},
		{Number: 2, Input: "b.example", Target: "https://b.example/agentic.json", Readme: "https://b.example/R.md"},
		{Number: 3, Input: "ftp://c.example", Reject: "only https URLs are read"},
		{Number: 4, Input: "A.example", Target: "https://a.example/agentic.json", Label: "Again"},
	}
	if got, want := must[store.Added](t)(s.AddLines(ctx, id, lines)), (store.Added{Entries: 3, Runs: 2, Duplicates: 1, Rejected: 1}); got != want {
		t.Fatalf("first call: %+v, want %+v", got, want)
	}
	lines = []store.Line{
		// The same target with another README is another audit.
		{Source: 1, Number: 2, Input: "b.example", Target: "https://b.example/agentic.json"},
		{Source: 1, Number: 3, Input: "b.example", Target: "https://b.example/agentic.json", Readme: "https://b.example/R.md"},
		{Source: 1, Number: 4, Input: "", Reject: "the URL is empty"},
	}
	if got, want := must[store.Added](t)(s.AddLines(ctx, id, lines)), (store.Added{Entries: 2, Runs: 1, Duplicates: 1, Rejected: 1}); got != want {
		t.Fatalf("second call: %+v, want %+v", got, want)
	}
	b := must[*store.Batch](t)(s.Batch(ctx, id))
	if b.State != store.StateIntake || b.Entries != 5 || b.Runs != 3 || b.OpenRuns != 3 || b.Duplicates != 2 || b.Rejected != 2 {
		t.Fatalf("before the seal: %+v", b)
	}
	if due := must[[]store.Due](t)(s.TakeDue(ctx, store.ClassSmall, 10)); len(due) != 0 {
		t.Fatalf("runs of an unsealed batch are handed out: %v", due)
	}
	b = must[*store.Batch](t)(s.SealBatch(ctx, id))
	if b.State != store.StateQueued || b.Class != store.ClassSmall || !b.SealedAt.Equal(clock.Now()) {
		t.Fatalf("sealed: %+v", b)
	}
	rejected := must[[]store.Rejected](t)(s.RejectedLines(ctx, id, 0, 10))
	want := []store.Rejected{
		{N: 1, Source: "one.txt", Line: 3, Input: "ftp://c.example", Reason: "only https URLs are read"},
		{N: 2, Source: "two.csv", Line: 4, Reason: "the URL is empty"},
	}
	if !slices.Equal(rejected, want) {
		t.Fatalf("rejected lines %+v, want %+v", rejected, want)
	}
	if rest := must[[]store.Rejected](t)(s.RejectedLines(ctx, id, 1, 10)); !slices.Equal(rest, want[1:]) {
		t.Fatalf("rejected lines behind the first: %+v", rest)
	}
	if run := must[store.RunID](t)(s.FindRun(ctx, id, "https://b.example/agentic.json", "")); run != store.RunID(id)+"-3" {
		t.Fatalf("b.example without README is run %s", run)
	}
	_, err := s.FindRun(ctx, id, "https://z.example/agentic.json", "")
	wantErr(t, err, store.ErrNotFound)
}

func testIntakeNotes(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	id := newBatch(t, s, "\xffx")
	hostile := "x'\";--\u202e<b>" + strings.Repeat("é", 5000)
	line := store.Line{Number: 1 << 40, Input: hostile, Target: "https://a.example/agentic.json", ID: "ID-7", Label: hostile, Tags: []string{"b", "a", "b"}, Notes: []string{"n"}}
	must[store.Added](t)(s.AddLines(ctx, id, []store.Line{line}))
	must[*store.Batch](t)(s.SealBatch(ctx, id))
	c := claim(t, s, take(t, s, 1)[0].Run)
	result := storetest.Result(c.Target, report.OutcomeSuccessful, report.ReasonComplete, time.Now())
	result.Detail = "what\x00 decided"
	if err := s.FinishRun(ctx, c, result); err != nil {
		t.Fatal(err)
	}
	page := must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: id}, "", 10))
	if len(page.Rows) != 1 {
		t.Fatalf("%d rows", len(page.Rows))
	}
	r := page.Rows[0]
	if r.Detail != "what\uFFFD decided" || r.Source != "\uFFFDx" {
		t.Fatalf("NUL and bytes that are not UTF-8 became %q and %q", r.Detail, r.Source)
	}
	if r.Input != hostile || r.Label != hostile || r.Line != 1<<40 || r.ID != "ID-7" || !slices.Equal(r.Tags, []string{"b", "a", "b"}) {
		t.Fatalf("what the list said is changed: %+v", r)
	}
}

func testIntakeConflicts(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	b := storetest.Batch(t, s, storetest.Targets(1)...)
	_, err := s.AddLines(ctx, b.ID, []store.Line{{Target: "https://b.example/"}})
	wantErr(t, err, store.ErrConflict)
	_, err = s.SealBatch(ctx, b.ID)
	wantErr(t, err, store.ErrConflict)
	wantErr(t, s.DiscardIntake(ctx, b.ID), store.ErrConflict)
	for _, id := range []store.BatchID{"", "nonsense", "000000001"} {
		_, err = s.AddLines(ctx, id, nil)
		wantErr(t, err, store.ErrNotFound)
		_, err = s.SealBatch(ctx, id)
		wantErr(t, err, store.ErrNotFound)
		_, err = s.Batch(ctx, id)
		wantErr(t, err, store.ErrNotFound)
	}
	// A call is all or nothing.
	id := newBatch(t, s)
	_, err = s.AddLines(ctx, id, []store.Line{{Number: 1, Target: "https://a.example/"}, {Number: 2}})
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Fatalf("a line without target and reason: %v", err)
	}
	_, err = s.AddLines(ctx, id, []store.Line{{Number: 1, Source: 1, Target: "https://a.example/"}})
	if err == nil {
		t.Fatal("a source that does not exist was accepted")
	}
	if b := must[*store.Batch](t)(s.Batch(ctx, id)); b.Entries != 0 || b.Runs != 0 {
		t.Fatalf("half a call is in the batch: %+v", b)
	}
	if _, err := s.CreateBatch(ctx, store.NewBatch{Options: []byte("{")}); err == nil {
		t.Fatal("options that are not JSON were accepted")
	}
}

func testDiscardIntake(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	id := newBatch(t, s, "list")
	lines := []store.Line{{Number: 1, Input: "a", Target: "https://a.example/agentic.json", Tags: []string{"t"}}, {Number: 2, Input: "?", Reject: "no"}}
	must[store.Added](t)(s.AddLines(ctx, id, lines))
	s.Close()
	// The process died here; the next one finds the batch where it stood.
	s = open(t, store.Options{})
	if b := must[*store.Batch](t)(s.LatestUnfinished(ctx)); b.ID != id || b.State != store.StateIntake || b.Entries != 1 {
		t.Fatalf("after the interruption: %+v", b)
	}
	_, err := s.AddLines(ctx, id, lines)
	wantErr(t, err, store.ErrConflict)
	_, err = s.SealBatch(ctx, id)
	wantErr(t, err, store.ErrConflict)
	if err := s.DiscardIntake(ctx, id); err != nil {
		t.Fatal(err)
	}
	if got := must[store.Added](t)(s.AddLines(ctx, id, lines)); got != (store.Added{Entries: 1, Runs: 1, Rejected: 1}) {
		t.Fatalf("second intake: %+v", got)
	}
	if b := must[*store.Batch](t)(s.SealBatch(ctx, id)); b.Entries != 1 || b.Runs != 1 || b.Rejected != 1 || b.Duplicates != 0 {
		t.Fatalf("after the second intake: %+v", b)
	}
}

func testEmptyBatch(t *testing.T, open opener) {
	s := open(t, store.Options{})
	id := newBatch(t, s, "list")
	must[store.Added](t)(s.AddLines(t.Context(), id, []store.Line{{Number: 1, Input: "?", Reject: "no"}}))
	b := must[*store.Batch](t)(s.SealBatch(t.Context(), id))
	if b.State != store.StateFinished || b.FinishedAt.IsZero() {
		t.Fatalf("a batch without runs: %+v", b)
	}
	_, err := s.LatestUnfinished(t.Context())
	wantErr(t, err, store.ErrNotFound)
}

func testIDs(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	var ids []store.BatchID
	for range 3 {
		ids = append(ids, newBatch(t, s), newBatch(t, s)) // two of one millisecond
		clock.Add(7 * time.Hour)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Fatalf("ids must be distinct and sort by time: %v", ids)
	}
	for _, id := range ids {
		if back, err := store.ParseBatchID(" " + strings.ToUpper(string(id)) + "\n"); err != nil || back != id {
			t.Fatalf("ParseBatchID(%s) = %s, %v", id, back, err)
		}
	}
	for _, bad := range []store.RunID{"", "x", store.RunID(ids[0]), store.RunID(ids[0]) + "-", store.RunID(ids[0]) + "-0", store.RunID(ids[0]) + "-01", store.RunID(ids[0]) + "-1 "} {
		_, err := s.ClaimRun(t.Context(), bad, "w", time.Minute)
		wantErr(t, err, store.ErrNotFound)
	}
}

func testFairShares(t *testing.T, open opener) {
	s := open(t, store.Options{SmallBatch: 1})
	ctx := t.Context()
	big := storetest.Batch(t, s, storetest.Targets(50)...)
	mid := storetest.Batch(t, s, storetest.Targets(4)...)
	small := storetest.Batch(t, s, storetest.Targets(1)...)
	count := func(due []store.Due) map[store.BatchID]int {
		n := map[store.BatchID]int{}
		for _, d := range due {
			n[d.Run.Batch()]++
		}
		return n
	}
	due := must[[]store.Due](t)(s.TakeDue(ctx, store.ClassBulk, 20))
	if n := count(due); n[mid.ID] != 4 || n[big.ID] != 16 || n[small.ID] != 0 {
		t.Fatalf("shares %v", n)
	}
	// They take turns, so that the smaller ends early.
	if n := count(due[:8]); n[mid.ID] != 4 {
		t.Fatalf("the first eight: %v", n)
	}
	due = must[[]store.Due](t)(s.TakeDue(ctx, store.ClassSmall, 20))
	if n := count(due); n[small.ID] != 1 || len(n) != 1 {
		t.Fatalf("small class: %v", n)
	}
	load := must[store.Load](t)(s.Load(ctx))
	if load.Enqueued[store.ClassBulk] != 20 || load.Enqueued[store.ClassSmall] != 1 || load.Running != 0 {
		t.Fatalf("load %+v", load)
	}
	if due = must[[]store.Due](t)(s.TakeDue(ctx, store.ClassSmall, 20)); len(due) != 0 {
		t.Fatalf("handed out twice: %v", due)
	}
}

func testHostsTakeTurns(t *testing.T, open opener) {
	s := open(t, store.Options{})
	var targets []string
	for i := range 100 {
		targets = append(targets, fmt.Sprintf("https://big.example/%d/agentic.json", i))
	}
	targets = append(targets, "https://late.example/agentic.json", "https://later.example/agentic.json")
	storetest.Batch(t, s, targets...)
	due := must[[]store.Due](t)(s.TakeDue(t.Context(), store.ClassSmall, 3))
	if len(due) != 3 || due[0].Host != "big.example" || due[1].Host != "late.example" || due[2].Host != "later.example" {
		t.Fatalf("the first three are %v", due)
	}
}

func testWorkOn(t *testing.T, open opener) {
	s := open(t, store.Options{})
	storetest.Batch(t, s, storetest.Targets(3)...)
	mine := storetest.Batch(t, s, storetest.Targets(2)...)
	if err := s.WorkOn(mine.ID); err != nil {
		t.Fatal(err)
	}
	due := must[[]store.Due](t)(s.TakeDue(t.Context(), store.ClassSmall, 10))
	if len(due) != 2 || due[0].Run.Batch() != mine.ID || due[1].Run.Batch() != mine.ID {
		t.Fatalf("handed out %v", due)
	}
	if err := s.WorkOn(""); err != nil {
		t.Fatal(err)
	}
	if due := must[[]store.Due](t)(s.TakeDue(t.Context(), store.ClassSmall, 10)); len(due) != 3 {
		t.Fatalf("without the restriction: %v", due)
	}
}
