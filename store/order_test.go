package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// ordered is a batch of eight lines, of which the last but one repeats the
// first; line 6 is cancelled. Results come in the order 4, 2, 8, 1 (with 7), 3, 5.
func ordered(t *testing.T, s *store.Store, clock *storetest.Clock) store.BatchID {
	t.Helper()
	ctx := t.Context()
	id := newBatch(t, s, "l")
	var lines []store.Line
	for i := 1; i <= 8; i++ {
		n := i
		if i == 7 {
			n = 1
		}
		lines = append(lines, store.Line{Number: int64(i), Input: fmt.Sprint(n), Target: fmt.Sprintf("https://h%d.example/agentic.json", n), Tags: []string{fmt.Sprint("odd-", i%2)}})
	}
	must[store.Added](t)(s.AddLines(ctx, id, lines))
	must[*store.Batch](t)(s.SealBatch(ctx, id))
	for _, x := range []struct {
		n      int
		o      report.Outcome
		reason report.Reason
		took   time.Duration
	}{
		{4, report.OutcomeFailed, report.ReasonRefused, 3 * time.Second},
		{2, report.OutcomeSuccessful, report.ReasonComplete, time.Second},
		{8, report.OutcomeUnchecked, report.ReasonBlocked, 9 * time.Second},
		{1, report.OutcomePartial, report.ReasonIncomplete, 3 * time.Second},
		{3, report.OutcomeFailed, report.ReasonRedirected, -time.Second}, // the clock was put back
		{5, report.OutcomeFailed, report.ReasonRefused, 2 * time.Second},
	} {
		run := must[store.RunID](t)(s.FindRun(ctx, id, fmt.Sprintf("https://h%d.example/agentic.json", x.n), ""))
		take(t, s, 10)
		c := claim(t, s, run)
		r := storetest.Result(c.Target, x.o, x.reason, clock.Add(time.Minute))
		r.StartedAt = r.FinishedAt.Add(-x.took)
		if err := s.FinishRun(ctx, c, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CancelBatch(ctx, id, ""); err != nil {
		t.Fatal(err)
	}
	return id
}

func testOrders(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	id := ordered(t, s, clock)
	for _, looked := range []int{0, 2} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, store.Options{Now: clock.Now, MaxLooked: looked})
		for _, c := range []struct {
			name string
			f    store.Filter
			want []int64
		}{
			{"outcome", store.Filter{Order: store.RowByOutcome}, []int64{3, 4, 5, 1, 7, 8, 2, 6}},
			{"outcome of one", store.Filter{Order: store.RowByOutcome, Outcome: report.OutcomeFailed}, []int64{3, 4, 5}},
			{"outcome with a tag", store.Filter{Order: store.RowByOutcome, Tag: "odd-1"}, []int64{3, 5, 1, 7}},
			{"reason", store.Filter{Order: store.RowByReason}, []int64{8, 2, 1, 7, 3, 4, 5, 6}},
			{"reason with an outcome", store.Filter{Order: store.RowByReason, Outcome: report.OutcomeFailed}, []int64{3, 4, 5}},
			{"reason of what was cancelled", store.Filter{Order: store.RowByReason, Outcome: store.Cancelled}, []int64{6}},
			{"time", store.Filter{Order: store.RowByTime}, []int64{5, 3, 7, 1, 8, 2, 4, 6}},
			{"time with an outcome", store.Filter{Order: store.RowByTime, Outcome: report.OutcomeFailed}, []int64{5, 3, 4}},
			{"time with a tag and a check", store.Filter{Order: store.RowByTime, Tag: "odd-1", Check: "linked"}, []int64{5, 3, 7, 1}},
			{"length", store.Filter{Order: store.RowByLength}, []int64{8, 7, 4, 1, 5, 2, 6, 3}},
			{"length with a tag", store.Filter{Order: store.RowByLength, Tag: "odd-0"}, []int64{8, 4, 2, 6}},
			{"a text has an order of its own", store.Filter{Order: store.RowByLength, Text: "h"}, []int64{1, 7, 2, 3, 4, 5, 6, 8}},
		} {
			c.f.Batch = id
			for limit := 1; limit <= 9; limit++ {
				if got := turned(t, s, c.f, limit); !slices.Equal(got, c.want) {
					t.Errorf("by %s, %d at a time, looking at %d: %v, want %v", c.name, limit, looked, got, c.want)
				}
			}
		}
		for _, bad := range []store.Order{store.RowByTime, store.RowByLength} {
			_, err := s.Results(t.Context(), store.Filter{Batch: id, Order: bad}, string(bad[:1])+"MS4wLng", 10) // 1.0.x
			wantErr(t, err, store.ErrCursor)
		}
		// A cursor of one order is none of another: rows would be left out.
		views := []store.Filter{{Text: "h"}}
		for _, o := range append([]store.Order{store.InList}, store.RowOrders...) {
			views = append(views, store.Filter{Order: o})
		}
		for i, f := range views {
			f.Batch = id
			next := must[*store.Page](t)(s.Results(t.Context(), f, "", 2)).Next
			if next == "" {
				t.Fatalf("%+v: 2 rows are all", f)
			}
			for j, other := range views {
				other.Batch = id
				if _, err := s.Results(t.Context(), other, next, 2); errors.Is(err, store.ErrCursor) != (i != j) {
					t.Errorf("a cursor of %+v in %+v: %v", f, other, err)
				}
			}
		}
	}
}

// turned is all entries of a view, read page by page.
func turned(t *testing.T, s *store.Store, f store.Filter, limit int) (all []int64) {
	t.Helper()
	for cursor, first := "", true; first || cursor != ""; first = false {
		page := must[*store.Page](t)(s.Results(t.Context(), f, cursor, limit))
		if len(page.Rows) > limit {
			t.Fatalf("%d rows on a page of %d", len(page.Rows), limit)
		}
		all = append(all, entriesOf(page.Rows)...)
		cursor = page.Next
	}
	return all
}

func testChangedSince(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	outcomes := [][]report.Outcome{ // of five sites in three batches; the last one is new in the third
		{report.OutcomeFailed, report.OutcomeFailed, report.OutcomeSuccessful, report.OutcomeSuccessful},
		{report.OutcomeFailed, report.OutcomeSuccessful, report.OutcomeFailed, report.OutcomeUnchecked},
		{report.OutcomeFailed, report.OutcomeSuccessful, report.OutcomeSuccessful, report.OutcomeSuccessful, report.OutcomeFailed},
	}
	var ids []store.BatchID
	var at []time.Time
	for _, of := range outcomes {
		at = append(at, clock.Add(time.Hour))
		var targets []string
		for i := range of {
			targets = append(targets, fmt.Sprintf("https://h%d.example/agentic.json", i+1))
		}
		b := storetest.Batch(t, s, targets...)
		ids = append(ids, b.ID)
		for i, o := range of {
			run := must[store.RunID](t)(s.FindRun(ctx, b.ID, targets[i], ""))
			take(t, s, 10)
			finish(t, s, claim(t, s, run), o, report.ReasonRefused, clock.Add(time.Minute))
		}
	}
	for _, looked := range []int{0, 2} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, store.Options{Now: clock.Now, MaxLooked: looked})
		for _, c := range []struct {
			batch int
			since time.Time
			f     store.Filter
			want  []int64
		}{
			{2, at[0], store.Filter{}, nil}, // nothing is known from before
			{2, at[1], store.Filter{}, []int64{2}},
			{2, at[2], store.Filter{}, []int64{3, 4}},
			{2, at[2], store.Filter{Order: store.RowByTime}, []int64{4, 3}},
			{2, at[2], store.Filter{Order: store.RowByHost}, []int64{3, 4}},
			{2, at[2], store.Filter{Order: store.RowByOutcome}, []int64{3, 4}},
			{2, at[2], store.Filter{Text: "h4"}, []int64{4}},
			{2, at[2], store.Filter{Outcome: report.OutcomeFailed}, nil},
			{2, clock.Now().Add(time.Second), store.Filter{}, nil},
			{1, at[1], store.Filter{}, []int64{2, 3, 4}},
			{1, at[1], store.Filter{Outcome: report.OutcomeFailed, Check: "json"}, []int64{3}},
			{1, at[2], store.Filter{}, nil}, // what came later is of another batch
			{0, at[0], store.Filter{}, nil},
		} {
			c.f.Batch, c.f.ChangedSince = ids[c.batch], c.since
			for _, limit := range []int{1, 2, 10} {
				if got := turned(t, s, c.f, limit); !slices.Equal(got, c.want) {
					t.Errorf("batch %d since %s with %+v, %d at a time: %v, want %v", c.batch, c.since, c.f, limit, got, c.want)
				}
			}
		}
	}
}
