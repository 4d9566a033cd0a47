package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// Old documents go, but for the last ones of each site; rows, counts and
// histories stay, and who asks for what is gone is told so.
func testDropReports(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	const often, seldom = "https://often.example/agentic.json", "https://seldom.example/agentic.json"
	var batches []*store.Batch
	for i := range 5 {
		targets := []string{often}
		if i == 0 {
			targets = append(targets, seldom)
		}
		b := storetest.Batch(t, s, targets...)
		due, err := s.TakeDue(ctx, store.ClassSmall, 10)
		if err != nil || len(due) != len(targets) {
			t.Fatalf("%d runs due, %v", len(due), err)
		}
		for _, d := range due {
			c, err := s.ClaimRun(ctx, d.Run, "w", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.FinishRun(ctx, c, storetest.Result(c.Target, report.OutcomeFailed, report.ReasonMissingProfile, clock.Now())); err != nil {
				t.Fatal(err)
			}
		}
		batches = append(batches, b)
		clock.Add(20 * 24 * time.Hour)
	}
	kept := func() string {
		t.Helper()
		var words []string
		for _, b := range batches {
			for n := range b.Runs {
				run := store.RunID(string(b.ID) + "-" + string('1'+byte(n)))
				switch _, err := s.Parts(ctx, run); {
				case err == nil:
					words = append(words, "kept")
				case errors.Is(err, store.ErrDropped) && errors.Is(err, store.ErrNotFound) && strings.Contains(err.Error(), "dropped"):
					words = append(words, "dropped")
				default:
					t.Fatal(err)
				}
			}
		}
		return strings.Join(words, " ")
	}
	// The results are 100, 80, 60, 40 and 20 days old; seldom.example has one, of
	// 100 days.
	for _, c := range []struct {
		keep    store.Retention
		dropped int64
		want    string
	}{
		{store.Retention{}, 0, "kept kept kept kept kept kept"},
		{store.Retention{Age: 200 * 24 * time.Hour, Last: 2}, 0, "kept kept kept kept kept kept"},
		{store.Retention{Age: 70 * 24 * time.Hour, Last: 2}, 2, "dropped kept dropped kept kept kept"},
		{store.Retention{Age: 30 * 24 * time.Hour, Last: 2}, 1, "dropped kept dropped dropped kept kept"},
		{store.Retention{Age: 30 * 24 * time.Hour, Last: 2}, 0, "dropped kept dropped dropped kept kept"},
		{store.Retention{Age: time.Hour}, 1, "dropped kept dropped dropped dropped kept"},
	} {
		n, err := s.DropReports(ctx, c.keep)
		if got := kept(); err != nil || n != c.dropped || got != c.want {
			t.Errorf("%+v: %d dropped, %v\n%s, want\n%s", c.keep, n, err, got, c.want)
		}
	}
	if _, err := s.Parts(ctx, store.RunID(string(batches[0].ID)+"-9")); err == nil || errors.Is(err, store.ErrDropped) {
		t.Errorf("a run that there is not: %v", err)
	}
	page, err := s.Results(ctx, store.Filter{Batch: batches[0].ID}, "", 10)
	if err != nil || len(page.Rows) != 2 || page.Rows[0].Outcome != report.OutcomeFailed || len(page.Rows[0].Failing) == 0 {
		t.Errorf("the rows are not what they were: %+v, %v", page, err)
	}
	full := 0
	if err := s.EachResult(ctx, store.Filter{Batch: batches[0].ID}, true, func(r store.Row) error {
		full++
		if _, err := r.MarshalJSON(); err != nil || r.Parts == nil {
			t.Errorf("%+v, %v", r, err)
		}
		return nil
	}); err != nil || full != 2 {
		t.Errorf("%d full rows, %v", full, err)
	}
	if h, err := s.SiteHistory(ctx, often, time.Time{}, 10); err != nil || len(h) != 5 {
		t.Errorf("%d results in the history, %v", len(h), err)
	}
}
