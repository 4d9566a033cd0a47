package dashboard

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// partly is a store that has looked at a part of a long list only, whenever a page
// asks: it found some rows at first, and then none.
type partly struct {
	Reader
	rows []store.Row
}

func (s partly) Results(_ context.Context, _ store.Filter, cursor string, _ int) (*store.Page, error) {
	if cursor != "" {
		return &store.Page{Next: "on"}, nil
	}
	return &store.Page{Rows: s.rows, Next: "on"}, nil
}

// A page that ends before the search does is not taken for a view without
// results.
func TestSearchGoesOn(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: partly{Reader: x}, Write: x, Now: x.clock.Now})
	view := "/batches/" + string(x.after) + "/results?tag=coast&sort=newest"
	shared := visit(t, s).shareLink("batch", string(x.after), "tag", "coast", "sort", "newest", "days", "1")
	for _, path := range []string{view, shared} {
		doc := read(t, s, path)
		has(t, doc, "section p", "Nothing found yet")
		has(t, doc, "#rows", "so far")
		want(t, doc, ".pager [rel=next]", "Search on")
		if body := text(doc); strings.Contains(body, "Nothing matches") || strings.Contains(body, "There is nothing") {
			t.Errorf("%s: it says that there is nothing", path)
		}
	}
	page, err := x.Results(t.Context(), store.Filter{Batch: x.after}, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	s = serve(t, Config{Store: partly{x, page.Rows[:1]}, Write: x, Now: x.clock.Now})
	for _, path := range []string{view, shared} {
		doc := read(t, s, path)
		has(t, doc, "section .means", "There may be more")
		has(t, doc, "#rows", "so far")
		want(t, doc, ".pager [rel=next]", "Search on")
	}
}

// A file of a view holds all that match, however little of the list a page
// looks at.
func TestExportOfRareRows(t *testing.T) {
	clock := storetest.NewClock()
	x := storetest.Open(t, t.TempDir(), store.Options{Now: clock.Now, MaxLooked: 8})
	b, err := x.CreateBatch(t.Context(), store.NewBatch{Sources: []string{"long.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	const sites, every = 60, 20
	var lines []store.Line
	for i, target := range storetest.Targets(sites) {
		l := store.Line{Number: int64(i + 1), Input: target, Target: target, Tags: []string{"all"}}
		if i%every == every-1 {
			l.Tags = append(l.Tags, "rare")
		}
		lines = append(lines, l)
	}
	if _, err := x.AddLines(t.Context(), b.ID, lines); err != nil {
		t.Fatal(err)
	}
	if _, err := x.SealBatch(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	due, err := x.TakeDue(t.Context(), store.ClassSmall, sites)
	if err != nil || len(due) != sites {
		t.Fatalf("%d are due, %v", len(due), err)
	}
	for _, d := range due {
		c, err := x.ClaimRun(t.Context(), d.Run, "w", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.FinishRun(t.Context(), c, storetest.Result(c.Target, report.OutcomeFailed, report.ReasonMissingProfile, clock.Now())); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, Config{Store: x, Now: clock.Now})
	for _, order := range []string{"", "newest", "slowest"} {
		for query, want := range map[string]int{"tag=rare": sites / every, "tag=all&outcome=failed": sites, "tag=all&outcome=partial": 0} {
			_, body := get(t, s, fmt.Sprintf("/batches/%s/results.csv?%s&sort=%s", b.ID, query, order))
			if n := strings.Count(body, "\n") - 1; n != want {
				t.Errorf("%s sorted by %q: %d rows, want %d", query, order, n, want)
			}
		}
	}
}
