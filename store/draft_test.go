package store_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"agentaudit/store"
)

func testDraft(t *testing.T, open opener) {
	s := open(t, store.Options{})
	b, err := s.CreateBatch(t.Context(), store.NewBatch{Sources: []string{"a.csv", "b.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.AddLines(t.Context(), b.ID, []store.Line{
		{Source: 0, Number: 2, Input: "One.example", Target: "https://one.example/agentic.json", Readme: "https://one.example/r.md", ID: "1", Label: "One", Tags: []string{"x"}, Notes: []string{"noted"}},
		{Source: 0, Number: 3, Input: "??", Reject: "no site"},
		{Source: 1, Number: 1, Input: "one.example", Target: "https://one.example/agentic.json", Readme: "https://one.example/r.md"},
		{Source: 1, Number: 2, Input: "two.example", Target: "https://two.example/agentic.json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Entries(t.Context(), b.ID, 0, 2)
	want := []store.Entry{
		{N: 1, Source: "a.csv", Line: 2, Input: "One.example", Target: "https://one.example/agentic.json", Readme: "https://one.example/r.md", ID: "1", Label: "One", Tags: []string{"x"}, Notes: []string{"noted"}},
		{N: 2, Source: "b.txt", Line: 1, Input: "one.example", Target: "https://one.example/agentic.json", Readme: "https://one.example/r.md", Duplicate: true},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("entries %+v, %v, want %+v", got, err, want)
	}
	if got, err = s.Entries(t.Context(), b.ID, 2, 10); err != nil || len(got) != 1 || got[0].Input != "two.example" {
		t.Errorf("the rest: %+v, %v", got, err)
	}
	if err := s.RemoveIntake(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Batch(t.Context(), b.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a removed batch: %v", err)
	}
	if err := s.RemoveIntake(t.Context(), b.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if b, err = s.CreateBatch(t.Context(), store.NewBatch{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SealBatch(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveIntake(t.Context(), b.ID); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a sealed batch: %v", err)
	}
}

// A list that is held outlives the process; one that was cut short does not
// look like one.
func testHeldDraft(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	held, cut := newBatch(t, s, "l"), newBatch(t, s, "l")
	lines := []store.Line{{Target: "https://a.example/agentic.json"}, {Target: "https://b.example/agentic.json"}, {Target: "https://a.example/agentic.json"}}
	for _, id := range []store.BatchID{held, cut} {
		must[store.Added](t)(s.AddLines(ctx, id, lines))
	}
	if err := s.HoldIntake(ctx, held); err != nil {
		t.Fatal(err)
	}
	_, err := s.AddLines(ctx, held, lines)
	wantErr(t, err, store.ErrConflict)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{})
	wantErr(t, s.HoldIntake(ctx, cut), store.ErrConflict)
	wantErr(t, s.HoldIntake(ctx, "000000001"), store.ErrNotFound)
	_, err = s.SealBatch(ctx, cut)
	wantErr(t, err, store.ErrConflict)
	if b := must[*store.Batch](t)(s.Batch(ctx, cut)); b.Held {
		t.Error("a list that was cut short is held")
	}
	b := must[*store.Batch](t)(s.SealBatch(ctx, held))
	if b.State != store.StateQueued || b.Runs != 2 || b.Entries != 3 {
		t.Errorf("%+v", b)
	}
	for i, target := range []string{"https://a.example/agentic.json", "https://b.example/agentic.json"} {
		if run := must[store.RunID](t)(s.FindRun(ctx, held, target, "")); run != store.RunID(string(held)+"-"+string(rune('1'+i))) {
			t.Errorf("%s is run %s", target, run)
		}
	}
	wantErr(t, s.HoldIntake(ctx, held), store.ErrConflict)
}

// Others than who reads a list start it only when it was read to its end, and
// who reads one that was removed meanwhile adds nothing more.
func testDraftWhileItIsRead(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	line := func(host string) []store.Line {
		return []store.Line{{Target: "https://" + host + ".example/agentic.json"}}
	}
	read := newBatch(t, s, "l")
	must[store.Added](t)(s.AddLines(ctx, read, line("a")))
	_, err := s.SealHeld(ctx, read)
	wantErr(t, err, store.ErrConflict)
	if !strings.Contains(err.Error(), "still being read") {
		t.Error(err)
	}
	must[store.Added](t)(s.AddLines(ctx, read, line("b")))
	if err := s.HoldIntake(ctx, read); err != nil {
		t.Fatal(err)
	}
	if b := must[*store.Batch](t)(s.SealHeld(ctx, read)); b.State != store.StateQueued || b.Runs != 2 {
		t.Errorf("%+v", b)
	}
	_, err = s.SealHeld(ctx, read)
	wantErr(t, err, store.ErrConflict)
	_, err = s.SealHeld(ctx, "000000001")
	wantErr(t, err, store.ErrNotFound)

	gone := newBatch(t, s, "l")
	must[store.Added](t)(s.AddLines(ctx, gone, line("a")))
	if err := s.RemoveIntake(ctx, gone); err != nil {
		t.Fatal(err)
	}
	_, err = s.AddLines(ctx, gone, line("b"))
	wantErr(t, err, store.ErrNotFound)
	wantErr(t, s.HoldIntake(ctx, gone), store.ErrNotFound)
	_, err = s.Batch(ctx, gone)
	wantErr(t, err, store.ErrNotFound)
}
