package store_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// A list whose reader was killed does not wait for ever, and nobody believes
// that it is still being read.
func testListsThatNobodyReads(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	lines := []store.Line{{Target: "https://a.example/agentic.json"}}
	killed, resumed, held, sealed := newBatch(t, s, "l"), newBatch(t, s, "l"), newBatch(t, s, "l"), newBatch(t, s, "l")
	for _, id := range []store.BatchID{killed, resumed, held, sealed} {
		must[store.Added](t)(s.AddLines(ctx, id, lines))
	}
	if err := s.HoldIntake(ctx, held); err != nil {
		t.Fatal(err)
	}
	must[*store.Batch](t)(s.SealBatch(ctx, sealed))
	tend := func(silent, cancelled []store.BatchID) {
		t.Helper()
		gotSilent, gotCancelled, err := s.TendIntakes(ctx)
		if err != nil || !reflect.DeepEqual(gotSilent, silent) || !reflect.DeepEqual(gotCancelled, cancelled) {
			t.Errorf("silent %v, cancelled %v, %v; want %v and %v", gotSilent, gotCancelled, err, silent, cancelled)
		}
	}
	clock.Add(5 * time.Minute)
	tend(nil, nil)
	if err := s.Close(); err != nil { // whoever read them is gone
		t.Fatal(err)
	}
	s = open(t, store.Options{Now: clock.Now})
	clock.Add(time.Second)
	tend([]store.BatchID{killed, resumed}, nil)
	tend(nil, nil) // told once
	note := func(id store.BatchID) string { return must[*store.Batch](t)(s.Batch(ctx, id)).Note }
	if !strings.HasPrefix(note(killed), "nobody reads its list any more") || note(held) != "" || note(sealed) != "" {
		t.Errorf("notes %q, %q, %q", note(killed), note(held), note(sealed))
	}

	// Another process begins one of them anew.
	if err := s.DiscardIntake(ctx, resumed); err != nil {
		t.Fatal(err)
	}
	if note(resumed) != "" {
		t.Errorf("read again, and %q", note(resumed))
	}
	clock.Add(24*time.Hour - 5*time.Minute)
	tend([]store.BatchID{resumed}, []store.BatchID{killed}) // this clock jumped: no sign of life was due
	if b := must[*store.Batch](t)(s.Batch(ctx, killed)); b.State != store.StateCancelled || b.Outcomes[store.Cancelled].Entries != 1 || b.OpenRuns != 0 {
		t.Errorf("%+v", b)
	}
	_, err := s.AddLines(ctx, killed, lines) // whoever read it comes back too late
	if wantErr(t, err, store.ErrConflict); !strings.Contains(err.Error(), "cancelled meanwhile") {
		t.Error(err)
	}
	must[store.Added](t)(s.AddLines(ctx, resumed, lines))
	if b := must[*store.Batch](t)(s.SealBatch(ctx, resumed)); b.State != store.StateQueued || b.Note != "" {
		t.Errorf("%+v", b)
	}
	clock.Add(48 * time.Hour)
	tend(nil, nil)
	late := newBatch(t, s, "l")
	clock.Add(48 * time.Hour)
	tend([]store.BatchID{late}, nil) // not at once
	tend(nil, []store.BatchID{late})
	if b := must[*store.Batch](t)(s.Batch(ctx, held)); b.State != store.StateIntake {
		t.Errorf("a list that waits to be confirmed is %s", b.State)
	}
}

// Where a second process begins to read a list anew the first one adds nothing
// more, and ends nothing.
func testTwoReaders(t *testing.T, open opener) {
	first := open(t, store.Options{})
	second := open(t, store.Options{Access: store.Shared})
	ctx := t.Context()
	line := func(hosts ...string) (lines []store.Line) {
		for _, h := range hosts {
			lines = append(lines, store.Line{Target: "https://" + h + ".example/agentic.json"})
		}
		return lines
	}
	for _, again := range []string{"anew", "from a listing"} {
		b := newBatch(t, first, "l")
		if again == "anew" {
			must[store.Added](t)(first.AddLines(ctx, b, line("one", "two")))
			if err := second.DiscardIntake(ctx, b); err != nil {
				t.Fatal(err)
			}
		} else {
			if err := first.BeginListing(ctx, b, "https://directory.example/", ""); err != nil {
				t.Fatal(err)
			}
			must[json.RawMessage](t)(second.ResumeListing(ctx, b))
		}
		must[store.Added](t)(second.AddLines(ctx, b, line("three", "four")))
		_, err := first.AddLines(ctx, b, line("one"))
		if wantErr(t, err, store.ErrConflict); !strings.Contains(err.Error(), "another process has begun to read its list anew") {
			t.Error(err)
		}
		_, err = first.SealBatch(ctx, b)
		wantErr(t, err, store.ErrConflict)
		wantErr(t, first.HoldIntake(ctx, b), store.ErrConflict)
		if err := first.AbandonIntake(ctx, b, "cut short"); err != nil {
			t.Fatal(err)
		}
		must[store.Added](t)(second.AddLines(ctx, b, line("four", "five")))
		if got := must[*store.Batch](t)(second.SealBatch(ctx, b)); got.State != store.StateQueued || got.Entries != 4 || got.Runs != 3 {
			t.Errorf("%s: %+v", again, got)
		}
	}
	// Whoever reads a list alone gives it up whole.
	b := newBatch(t, first, "l")
	must[store.Added](t)(first.AddLines(ctx, b, line("one")))
	for range 2 {
		if err := first.AbandonIntake(ctx, b, "cut short"); err != nil {
			t.Fatal(err)
		}
	}
	if got := must[*store.Batch](t)(first.Batch(ctx, b)); got.State != store.StateCancelled || got.Note != "cut short" || got.Entries != 0 {
		t.Errorf("%+v", got)
	}
}
