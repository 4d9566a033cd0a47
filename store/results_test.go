package store_test

import (
	"encoding/json"
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

func testRows(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	id := newBatch(t, s, "list.csv")
	must[store.Added](t)(s.AddLines(ctx, id, []store.Line{{Number: 2, Input: "A.example", Target: "https://a.example/agentic.json", ID: "17", Label: "A & B", Tags: []string{"x"}}}))
	must[*store.Batch](t)(s.SealBatch(ctx, id))
	c := claim(t, s, take(t, s, 1)[0].Run)
	finish(t, s, c, report.OutcomeFailed, report.ReasonBrokenDocument, clock.Now())
	page := must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: id}, "", 10))
	if len(page.Rows) != 1 || page.Next != "" || page.Rows[0].Source != "list.csv" || page.Rows[0].Run != c.Run {
		t.Fatalf("%+v", page)
	}
	got, err := json.Marshal(page.Rows[0])
	want := `{"batch":"` + string(id) + `","entry":1,"line":2,"input":"A.example","target":"https://a.example/agentic.json","id":"17","label":"A \u0026 B","tags":["x"],` +
		`"outcome":"failed","reason":"broken-document","detail":"what decided","valid":false,"publication":"failed","textIndex":"matched","readme":"matched","agents":"",` +
		`"failing":["json","resource:https://a.example/agentic.json"],"warning":["linked"],"attempts":1,` +
		`"startedAt":"2026-11-30T11:59:59.950Z","finishedAt":"2026-11-30T12:00:00.000Z","durationMs":50}`
	if err != nil || string(got) != want {
		t.Fatalf("row\n%s\nwant\n%s\n%v", got, want, err)
	}
	var full map[string]json.RawMessage
	err = s.EachResult(ctx, store.Filter{Batch: id}, true, func(r store.Row) error {
		b, err := json.Marshal(r)
		return errors.Join(err, json.Unmarshal(b, &full))
	})
	if err != nil || !strings.Contains(string(full["report"]), `"reportVersion":"3"`) || !strings.Contains(string(full["evidence"]), `203.0.113.1:443`) || string(full["discovery"]) != "null" || string(full["agentsReport"]) != "null" {
		t.Fatalf("full row %s, %v", full, err)
	}
	stop := errors.New("stop")
	if err := s.EachResult(ctx, store.Filter{Batch: id}, false, func(store.Row) error { return stop }); err != stop {
		t.Fatalf("the error of the callback came back as %v", err)
	}
}

// mixed is a batch of known results: 12 entries, where i%3 tells the outcome.
func mixed(t *testing.T, s *store.Store) store.BatchID {
	t.Helper()
	ctx := t.Context()
	id := newBatch(t, s, "l")
	var lines []store.Line
	for i := 1; i <= 12; i++ {
		l := store.Line{Number: int64(i), Input: fmt.Sprint(i), Target: fmt.Sprintf("https://h%d.example/%d/agentic.json", i%4, i), Label: fmt.Sprintf("Label %d", i%2), ID: fmt.Sprintf("id-%02d", i)}
		if i > 6 {
			l.Tags = []string{"late", "all"}
		} else {
			l.Tags = []string{"all"}
		}
		lines = append(lines, l)
	}
	must[store.Added](t)(s.AddLines(ctx, id, lines))
	must[*store.Batch](t)(s.SealBatch(ctx, id))
	for _, d := range take(t, s, 100) {
		c := claim(t, s, d.Run)
		var n int
		fmt.Sscanf(string(d.Run[len(id)+1:]), "%d", &n)
		switch n % 3 {
		case 0:
			r := storetest.Result(c.Target, report.OutcomeSuccessful, report.ReasonComplete, time.Now())
			r.AgentsVerdict = "absent"
			if n == 6 {
				r.AgentsVerdict = "valid"
			}
			if err := s.FinishRun(ctx, c, r); err != nil {
				t.Fatal(err)
			}
		case 1:
			finish(t, s, c, report.OutcomeFailed, report.ReasonBrokenDocument, time.Now())
		case 2:
			finish(t, s, c, report.OutcomeUnchecked, report.ReasonBlocked, time.Now())
		}
	}
	return id
}

func entriesOf(rows []store.Row) (out []int64) {
	for _, r := range rows {
		out = append(out, r.Entry)
	}
	return out
}

func testFilters(t *testing.T, open opener) { filters(t, open(t, store.Options{}), false) }

// Pages that may look at few entries end early and lose nothing.
func testFiltersLookingAtFew(t *testing.T, open opener) {
	filters(t, open(t, store.Options{MaxLooked: 2}), true)
}

func filters(t *testing.T, s *store.Store, short bool) {
	id := mixed(t, s)
	for _, c := range []struct {
		name string
		f    store.Filter
		want []int64
	}{
		{"none", store.Filter{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"outcome", store.Filter{Outcome: report.OutcomeFailed}, []int64{1, 4, 7, 10}},
		{"reason", store.Filter{Reason: report.ReasonBlocked}, []int64{2, 5, 8, 11}},
		{"outcome and reason that exclude each other", store.Filter{Outcome: report.OutcomeFailed, Reason: report.ReasonBlocked}, nil},
		{"check that fails", store.Filter{Check: "json"}, []int64{1, 4, 7, 10}},
		{"check that fails, asked for as warning", store.Filter{Check: "json", CheckStatus: report.Warn}, nil},
		{"check that warns", store.Filter{Check: "linked", CheckStatus: report.Warn}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"class of checks", store.Filter{Check: "resource"}, []int64{1, 4, 7, 10}},
		{"one check of a class", store.Filter{Check: "resource:https://h3.example/7/agentic.json"}, []int64{7}},
		{"the same, as warning", store.Filter{Check: "resource:https://h3.example/7/agentic.json", CheckStatus: report.Warn}, nil},
		{"a check id is no pattern", store.Filter{Check: "resource:https://h3.example/%/agentic.json"}, nil},
		{"host", store.Filter{Host: "h1.example"}, []int64{1, 5, 9}},
		{"host is no prefix", store.Filter{Host: "h1"}, nil},
		{"label", store.Filter{Label: "label 1"}, []int64{1, 3, 5, 7, 9, 11}},
		{"id", store.Filter{ID: "ID-03"}, []int64{3}},
		{"tag", store.Filter{Tag: "late"}, []int64{7, 8, 9, 10, 11, 12}},
		{"host, tag, outcome", store.Filter{Host: "h1.example", Tag: "late", Outcome: report.OutcomeSuccessful}, []int64{9}},
		{"host and check", store.Filter{Host: "h1.example", Check: "json"}, []int64{1}},
		{"host and check status", store.Filter{Host: "h1.example", Check: "json", CheckStatus: report.Warn}, nil},
		{"agents", store.Filter{Agents: "absent"}, []int64{3, 9, 12}},
		{"agents and check", store.Filter{Agents: "valid", Check: "linked"}, []int64{6}},
		{"agents and outcome", store.Filter{Agents: "valid", Outcome: report.OutcomeFailed}, nil},
		{"label and tag", store.Filter{Label: "Label 0", Tag: "late"}, []int64{8, 10, 12}},
		{"check and reason", store.Filter{Check: "linked", Reason: report.ReasonComplete}, []int64{3, 6, 9, 12}},
		{"a reason that there is not", store.Filter{Reason: report.ReasonInternal}, nil},
		{"a reason that there is not, with a tag", store.Filter{Reason: report.ReasonInternal, Tag: "all"}, nil},
		{"text of hosts", store.Filter{Text: "H1."}, []int64{1, 5, 9}},
		{"text of hosts and labels", store.Filter{Text: "label 1", Tag: "late"}, []int64{7, 9, 11}},
		{"text and outcome", store.Filter{Text: "h", Outcome: report.OutcomeFailed}, []int64{4, 1, 10, 7}},
		{"text of ids and check", store.Filter{Text: "id-0", Check: "json"}, []int64{1, 4, 7}},
		{"text, host and reason", store.Filter{Text: "l", Host: "h3.example", Reason: report.ReasonComplete}, []int64{3}},
		{"text that finds nothing", store.Filter{Text: "zzz", Outcome: report.OutcomeFailed}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.f.Batch = id
			early := false
			for _, limit := range []int{100, 1, 2} {
				var got []int64
				pages := 0
				for cursor, first := "", true; first || cursor != ""; first = false {
					page := must[*store.Page](t)(s.Results(t.Context(), c.f, cursor, limit))
					if len(page.Rows) > limit {
						t.Fatalf("%d rows on a page of %d", len(page.Rows), limit)
					}
					got = append(got, entriesOf(page.Rows)...)
					cursor = page.Next
					pages++
					early = early || cursor != "" && len(page.Rows) < limit
				}
				if !slices.Equal(got, c.want) {
					t.Fatalf("%d at a time: entries %v, want %v", limit, got, c.want)
				}
				if !short && limit == 100 && pages != 1 {
					t.Errorf("%d pages for what fits on one", pages)
				}
			}
			if bounded := strings.HasPrefix(c.name, "text and") || c.name == "check and reason"; early && !short || short && bounded && !early {
				t.Errorf("a page that ended early: %v", early)
			}
			var got []int64
			if err := s.EachResult(t.Context(), c.f, false, func(r store.Row) error { got = append(got, r.Entry); return nil }); err != nil || !slices.Equal(got, c.want) {
				t.Fatalf("all at once: entries %v, want %v, %v", got, c.want, err)
			}
		})
	}
}

func testTextSearch(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	id := newBatch(t, s, "l")
	lines := []store.Line{
		{Target: "https://zoo.example/", Label: "Acme Zoo"},
		{Target: "https://acme.example/", Label: "ACME", ID: "acme"},
		{Target: "https://b.example/", Label: "other", ID: "acme-2"},
		{Target: "https://acme-shop.example/a%_b"},
		{Target: "https://c.example/", Label: "an acme"},
		{Target: "https://acme.example/2"},
	}
	must[store.Added](t)(s.AddLines(ctx, id, lines))
	must[*store.Batch](t)(s.SealBatch(ctx, id))
	finishAll(t, s, report.OutcomeFailed, report.ReasonRefused)
	for _, c := range []struct {
		text string
		want []int64
	}{
		// Hosts in their order, then labels, then ids; each row once.
		{"acme", []int64{4, 2, 6, 1, 3}},
		{"ACME", []int64{4, 2, 6, 1, 3}},
		{"acme-", []int64{4, 3}},
		{"%", nil}, {"_", nil}, {"zzz", nil},
	} {
		f := store.Filter{Batch: id, Text: c.text}
		if got := entriesOf(must[*store.Page](t)(s.Results(ctx, f, "", 100)).Rows); !slices.Equal(got, c.want) {
			t.Errorf("%q finds %v, want %v", c.text, got, c.want)
		}
		for size := 1; size <= 5; size++ {
			var got []int64
			for cursor, first := "", true; first || cursor != ""; first = false {
				page := must[*store.Page](t)(s.Results(ctx, f, cursor, size))
				got = append(got, entriesOf(page.Rows)...)
				cursor = page.Next
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q in pages of %d finds %v, want %v", c.text, size, got, c.want)
			}
		}
	}
	f := store.Filter{Batch: id, Order: store.RowByHost}
	for size := 1; size <= 7; size++ {
		var got []int64
		for cursor, first := "", true; first || cursor != ""; first = false {
			page := must[*store.Page](t)(s.Results(ctx, f, cursor, size))
			got = append(got, entriesOf(page.Rows)...)
			cursor = page.Next
		}
		if want := []int64{4, 2, 6, 3, 5, 1}; !slices.Equal(got, want) {
			t.Errorf("by host in pages of %d: %v, want %v", size, got, want)
		}
	}
	f = store.Filter{Batch: id, Order: store.RowByHost, Outcome: report.OutcomeFailed, Label: "acme"}
	if got := entriesOf(must[*store.Page](t)(s.Results(ctx, f, "", 100)).Rows); !slices.Equal(got, []int64{2}) {
		t.Errorf("by host with a label: %v", got)
	}
	f = store.Filter{Batch: id, Text: "acme", ID: "acme-2"}
	if got := entriesOf(must[*store.Page](t)(s.Results(ctx, f, "", 100)).Rows); !slices.Equal(got, []int64{3}) {
		t.Errorf("text and id find %v", got)
	}
}

func testPages(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	b := storetest.Batch(t, s, storetest.Targets(25)...)
	// Half is done; rows that come later appear on the pages behind.
	for _, d := range take(t, s, 100)[:10] {
		finish(t, s, claim(t, s, d.Run), report.OutcomeFailed, report.ReasonRefused, time.Now())
	}
	page := must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: b.ID}, "", 10))
	if len(page.Rows) != 10 || page.Next != "" {
		t.Fatalf("%d rows, next %q", len(page.Rows), page.Next)
	}
	page = must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: b.ID}, "", 9))
	if len(page.Rows) != 9 || page.Next == "" {
		t.Fatalf("%d rows, next %q", len(page.Rows), page.Next)
	}
	must[int64](t)(s.ResetRunning(ctx))
	finishAll(t, s, report.OutcomeFailed, report.ReasonRefused)
	page = must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: b.ID}, page.Next, 100))
	if len(page.Rows) != 16 || page.Rows[0].Entry != 10 || page.Next != "" {
		t.Fatalf("%d rows from %d", len(page.Rows), page.Rows[0].Entry)
	}
}

func testCursors(t *testing.T, open opener) {
	s := open(t, store.Options{})
	id := mixed(t, s)
	for _, bad := range []string{"x", "!", "eA", "LTEuMC4", "MS45Lg", "l", "lx", "leA", "lLTEuMC4", "lMS45Lg"} {
		_, err := s.Results(t.Context(), store.Filter{Batch: id}, bad, 10)
		wantErr(t, err, store.ErrCursor)
	}
	_, err := s.Results(t.Context(), store.Filter{Batch: "000000001"}, "", 10)
	wantErr(t, err, store.ErrNotFound)
	wantErr(t, s.EachResult(t.Context(), store.Filter{}, false, nil), store.ErrNotFound)
}

func testSiteOverTime(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	target := "https://a.example/agentic.json"
	_, err := s.Site(ctx, target)
	wantErr(t, err, store.ErrNotFound)
	var runs []store.RunID
	start := clock.Now()
	for _, o := range []report.Outcome{report.OutcomeFailed, report.OutcomeSuccessful, report.OutcomeSuccessful, report.OutcomeUnchecked} {
		storetest.Batch(t, s, target)
		c := claim(t, s, take(t, s, 1)[0].Run)
		finish(t, s, c, o, report.ReasonRefused, clock.Now())
		runs = append(runs, c.Run)
		clock.Add(time.Hour)
	}
	got := must[*store.Site](t)(s.Site(ctx, target))
	want := store.Site{Target: target, Host: "a.example", Outcome: report.OutcomeUnchecked, Reason: report.ReasonRefused, Since: start.Add(3 * time.Hour),
		LastRun: runs[3], CheckedAt: start.Add(3 * time.Hour), Definite: report.OutcomeSuccessful, DefiniteRun: runs[2], DefiniteAt: start.Add(2 * time.Hour), Results: 4}
	if *got != want {
		t.Fatalf("site %+v\nwant %+v", *got, want)
	}
	history := must[[]store.SiteResult](t)(s.SiteHistory(ctx, target, time.Time{}, 3))
	if len(history) != 3 || history[0].Run != runs[3] || history[2].Run != runs[1] || history[0].Rules != report.RulesVersion {
		t.Fatalf("history %+v", history)
	}
	if rest := must[[]store.SiteResult](t)(s.SiteHistory(ctx, target, history[2].FinishedAt, 10)); len(rest) != 1 || rest[0].Run != runs[0] || len(rest[0].Failing) != 2 {
		t.Fatalf("rest of the history %+v", rest)
	}
	counts := must[[]store.ReasonCount](t)(s.SiteCounts(ctx))
	if len(counts) != 1 || counts[0] != (store.ReasonCount{Outcome: report.OutcomeUnchecked, Reason: report.ReasonRefused, Count: store.Count{Runs: 1}}) {
		t.Fatalf("counts over sites %+v", counts)
	}
}

func testSiteAfterRetry(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	target := "https://a.example/agentic.json"
	start := clock.Now()
	var last *store.Batch
	for _, o := range []report.Outcome{report.OutcomeSuccessful, report.OutcomeFailed} {
		last = storetest.Batch(t, s, target)
		finish(t, s, claim(t, s, take(t, s, 1)[0].Run), o, report.ReasonRefused, clock.Now())
		clock.Add(time.Hour)
	}
	// The failure is audited again and was none: the site never changed.
	must[int64](t)(s.RetryBatch(ctx, last.ID, store.Selection{}))
	finish(t, s, claim(t, s, take(t, s, 1)[0].Run), report.OutcomeSuccessful, report.ReasonRefused, clock.Now())
	got := must[*store.Site](t)(s.Site(ctx, target))
	if got.Results != 2 || got.Outcome != report.OutcomeSuccessful || !got.Since.Equal(start) || !got.CheckedAt.Equal(start.Add(2*time.Hour)) {
		t.Fatalf("site %+v", got)
	}
	// A result that comes late does not overturn a newer one.
	b := storetest.Batch(t, s, target)
	finish(t, s, claim(t, s, take(t, s, 1)[0].Run), report.OutcomeFailed, report.ReasonRefused, start.Add(time.Minute))
	got = must[*store.Site](t)(s.Site(ctx, target))
	if got.Results != 3 || got.Outcome != report.OutcomeSuccessful || got.LastRun.Batch() == b.ID || !got.Since.Equal(start.Add(2*time.Hour)) {
		t.Fatalf("site %+v", got)
	}
}

func testBatches(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	var ids []store.BatchID
	for range 5 {
		ids = append(ids, storetest.Batch(t, s, storetest.Targets(1)...).ID)
		clock.Add(time.Minute)
	}
	if got := idsOf(must[[]store.Batch](t)(s.Batches(ctx, "", 2))); !slices.Equal(got, []store.BatchID{ids[4], ids[3]}) {
		t.Fatalf("newest two: %v of %v", got, ids)
	}
	if got := idsOf(must[[]store.Batch](t)(s.Batches(ctx, ids[3], 10))); !slices.Equal(got, []store.BatchID{ids[2], ids[1], ids[0]}) {
		t.Fatalf("older: %v of %v", got, ids)
	}
	if err := s.CancelBatch(ctx, ids[4], ""); err != nil {
		t.Fatal(err)
	}
	if b := must[*store.Batch](t)(s.LatestUnfinished(ctx)); b.ID != ids[3] {
		t.Fatalf("latest unfinished: %v", b)
	}
}

func testRowsOfRun(t *testing.T, open opener) {
	s := open(t, store.Options{})
	ctx := t.Context()
	id := newBatch(t, s, "l")
	line := func(n int64, target string) store.Line { return store.Line{Number: n, Input: target, Target: target} }
	const a, b = "https://a.example/agentic.json", "https://b.example/agentic.json"
	must[store.Added](t)(s.AddLines(ctx, id, []store.Line{line(1, a), line(2, b), line(3, a), line(4, a)}))
	must[*store.Batch](t)(s.SealBatch(ctx, id))
	for _, d := range take(t, s, 10) {
		finish(t, s, claim(t, s, d.Run), report.OutcomeSuccessful, report.ReasonComplete, time.Now())
	}
	for target, want := range map[string]string{a: "[1 3 4]", b: "[2]"} {
		run := must[store.RunID](t)(s.FindRun(ctx, id, target, ""))
		var lines []int64
		for _, r := range must[*store.Page](t)(s.Results(ctx, store.Filter{Batch: id, Run: run}, "", 10)).Rows {
			lines = append(lines, r.Line)
		}
		if fmt.Sprint(lines) != want {
			t.Errorf("%s has the rows %v, want %s", target, lines, want)
		}
	}
	if _, err := s.Results(ctx, store.Filter{Batch: id, Run: "000000000-1"}, "", 10); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a run of another batch: %v", err)
	}
}
