package dashboard

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// serve is a dashboard over a store, for the test alone.
func serve(t testing.TB, c Config) *Server {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.compared.patience = time.Hour // pages of tests have what they show, however busy the machine
	return s
}

// get asks for a page of a dashboard at http://localhost.
func get(t testing.TB, s *Server, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

// read wants a page and gives it parsed.
func read(t testing.TB, s *Server, path string) *html.Node { return readStatus(t, s, path, 200) }

func readStatus(t testing.TB, s *Server, path string, status int) *html.Node {
	t.Helper()
	res, body := get(t, s, path)
	if res.StatusCode != status {
		t.Fatalf("%s: status %d, want %d\n%s", path, res.StatusCode, status, body)
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestPages(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Now: x.clock.Now, Version: "1.2.3"})
	batch := func(id store.BatchID) string { return "/batches/" + string(id) }

	t.Run("overview", func(t *testing.T) {
		// The overview does not wait long for a comparison; its page does.
		read(t, s, "/compare?before="+string(x.before)+"&after="+string(x.after))
		doc := read(t, s, "/")
		want(t, doc, "h1", "Overview")
		want(t, doc, "#present", "40 sites, by the last result of each")
		want(t, doc, ".tallies strong", "18", "8", "10", "4")
		want(t, doc, ".tallies .share", "45 %", "20 %", "25 %", "10 %")
		want(t, doc, ".running h3 a", "New listings")
		want(t, doc, ".running [data-live="+string(x.running)+".done]", "13")
		want(t, doc, ".running [data-live="+string(x.running)+".total]", "24")
		want(t, doc, ".changes strong", "2", "8", "10")
		// Reasons are those of the last batch that is done.
		want(t, doc, ".columns .of a", "Shops of the region", "Shops of the region")
		has(t, doc, ".ranked tbody tr", "missing-profile there is no agentic.json 25.0 %")
		want(t, doc, ".columns section .ranked tbody th a", "incomplete", "api-mismatch", "blocked", "invalid-profile", "missing-profile", "no-such-host", "server-error", "txt-conflict",
			"txt", "json", "readme", "resource", "readme:directory", "readme:json", "readme:specification", "readme:txt")
		if n, m := len(find(doc, "section")), len(find(doc, "section .asof")); n != m {
			t.Errorf("%d sections with numbers, %d of them say as of when", n, m)
		}
		if got := attr(find(doc, "body")[0], "data-events"); got != "/events" {
			t.Errorf("live numbers come from %q", got)
		}
		has(t, doc, "footer", "agentaudit 1.2.3")
	})
	t.Run("batches", func(t *testing.T) {
		doc := read(t, s, "/batches")
		want(t, doc, "tbody th a", "New listings", "Nothing but notes", "Batch "+string(x.cancelled), "Shops of the region", "Shops of the region")
		want(t, doc, "tbody .state", "running", "finished", "cancelled", "finished", "finished")
		want(t, read(t, s, "/batches?before="+string(x.after)), "tbody th a", "Shops of the region")
		has(t, read(t, s, "/batches?before="+string(x.before)), "main p", "There are no older batches.")
	})
	t.Run("batch", func(t *testing.T) {
		doc := read(t, s, batch(x.after))
		want(t, doc, "h1", "Shops of the region finished")
		want(t, doc, ".tallies strong", "17", "9", "10", "4")
		has(t, doc, "section .facts div", "Rejected lines5 11 %")
		has(t, doc, "section .facts div", "Audited with a verdict36 90 %")
		want(t, doc, "#rejected", "Rejected lines")
		has(t, doc, "tbody tr", "shops.csv:1003 htp:/north-lantern.example (closed?) its scheme is not https")
		if got, want := links(doc, ".tallies a")[2], batch(x.after)+"/results?outcome=failed"; got != want {
			t.Errorf("failed leads to %s, want %s", got, want)
		}
		if got, want := links(doc, ".head .actions a")[3], "/compare?after="+string(x.after)+"&before="+string(x.before); got != want {
			t.Errorf("compare leads to %s, want %s", got, want)
		}
		has(t, read(t, s, batch(x.running)), "#progress", "Progress")
		doc = read(t, s, batch(x.cancelled))
		want(t, doc, ".note", "cancelled from the command line")
		has(t, doc, ".tallies li", "cancelled 5")
		has(t, read(t, s, batch(x.empty)), "main p", "No line of the list was accepted")
	})
	t.Run("rejected", func(t *testing.T) {
		doc := read(t, s, batch(x.after)+"/rejected")
		if n := len(find(doc, "tbody tr")); n != 5 {
			t.Errorf("%d rejected lines", n)
		}
		has(t, read(t, s, batch(x.after)+"/rejected?after=5"), "main p", "No line follows.")
		has(t, read(t, s, batch(x.cancelled)+"/rejected?after=0"), "tbody td", "htp:/north-lantern.example")
	})
	t.Run("results", func(t *testing.T) {
		doc := read(t, s, batch(x.after)+"/results")
		want(t, doc, "#rows", "40 entries")
		if n := len(find(doc, ".results tbody tr")); n != 40 {
			t.Errorf("%d rows", n)
		}
		doc = read(t, s, batch(x.after)+"/results?outcome=failed&reason=&tag=coast&q=")
		want(t, doc, "#rows", "4 entries of 40")
		want(t, doc, ".results tbody th a", "North Lantern", "coast", "Golden Cycles", "coast", "member", "Old Kettle", "coast", "Blue Lantern", "coast", "member")
		want(t, doc, ".chips li", "Outcome failed ×", "Tag coast ×", "Remove all")
		if got, want := links(doc, ".chips a")[0], batch(x.after)+"/results?tag=coast"; got != want {
			t.Errorf("removing the outcome leads to %s, want %s", got, want)
		}
		// What is shown is what is exported.
		for _, kind := range []string{"csv", "ndjson"} {
			if link := batch(x.after) + "/results." + kind + "?outcome=failed&tag=coast"; !slices.Contains(links(doc, ".actions a"), link) {
				t.Errorf("no link %s", link)
			}
		}
		want(t, doc, "#f-outcome option[selected]", "failed (10)")
		if got := attr(find(doc, "#f-tag")[0], "value"); got != "coast" {
			t.Errorf("the form forgot the tag: %q", got)
		}
		doc = read(t, s, batch(x.after)+"/results?sort=host&outcome=failed")
		want(t, doc, "#rows", "10 entries of 40")
		if rows := find(doc, ".results tbody th"); !strings.Contains(text(rows[0]), "blue-lantern.example") {
			t.Errorf("the first host is %s", text(rows[0]))
		}
		doc = read(t, s, batch(x.after)+"/results?agents=invalid")
		want(t, doc, "#f-agents option[selected]", "invalid")
		if n := len(find(doc, ".results tbody tr")); n != 5 {
			t.Errorf("%d sites with an invalid agents.txt", n)
		}
		doc = read(t, s, batch(x.after)+"/results?check=resource")
		want(t, doc, "#rows", "2 entries of 40")
		want(t, doc, ".check.fail", "fails: resource:/openapi.json", "fails: resource:/openapi.json")
		has(t, read(t, s, batch(x.after)+"/results?tag=nowhere"), "main p", "Nothing matches all of these filters.")
		has(t, read(t, s, batch(x.running)+"/results?tag=nowhere"), "main p", "so far; the batch is not done yet.")
		has(t, read(t, s, batch(x.empty)+"/results"), "main p", "This batch has no results.")
	})
	t.Run("run", func(t *testing.T) {
		doc := read(t, s, "/runs/"+string(x.failed))
		want(t, doc, "h1", "North Lantern failed")
		want(t, doc, "#verdict", "txt-conflict: agentic.txt differs from agentic.json")
		want(t, doc, ".todo h3", "Fails: agentic.txt txt")
		has(t, doc, "#remedy-0", `"agentaudit text agentic.json"`)
		has(t, doc, "#letter", "must be corrected")
		want(t, doc, ".diff dt", "Still")
		has(t, doc, "#time", "Over time")
		has(t, doc, "tbody tr", "agentic.txtmismatchhttps://north-lantern.example/agentic.txt")
		has(t, doc, "#rawjson", `"reportVersion": "3"`)
		for _, d := range []string{"report.json", "evidence.json"} {
			if res, body := get(t, s, "/runs/"+string(x.failed)+"/"+d); res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" || len(body) < 100 {
				t.Errorf("%s: %d %s", d, res.StatusCode, body)
			}
		}
		readStatus(t, s, "/runs/"+string(x.failed)+"/discovery.json", 404)
		has(t, read(t, s, "/runs/"+string(x.running)+"-20"), "main p", "In this batch the site is queued.")
		has(t, read(t, s, "/runs/"+string(x.cancelled)+"-5"), "#verdict", "not audited: the batch was cancelled")
		// What the host's silence makes fail is told once.
		doc = read(t, s, rowLink(t, x, store.Filter{Batch: x.after, Reason: report.ReasonServerError}))
		if n := len(find(doc, ".todo li")); n == 0 || n > 3 {
			t.Errorf("%d things to do where the server fails", n)
		}
		// A site that was audited again since says so.
		has(t, read(t, s, "/runs/"+string(x.before)+"-4"), ".verdict a", "Go to the newest")
	})
	t.Run("agents", func(t *testing.T) {
		doc := read(t, s, rowLink(t, x, store.Filter{Batch: x.after, Host: "old-harbour.example"}))
		want(t, doc, "#agents", "agents.txt: invalid")
		has(t, doc, ".agents li", "error unknown-block /agents.txt:4The block is not known. Remove it.")
		has(t, doc, ".actions a", "Discovery (JSON)")
	})
	t.Run("site", func(t *testing.T) {
		doc := read(t, s, "/site?target=NORTH-lantern.example")
		want(t, doc, "h1", "north-lantern.example failed")
		if n := len(find(doc, "tbody tr")); n != 2 {
			t.Errorf("%d results", n)
		}
		want(t, doc, ".timeline title", "failed, 22 Nov 2026, 12:00 UTC", "failed, 29 Nov 2026, 12:00 UTC")
		has(t, doc, "#badge-json", "https://img.shields.io/endpoint?url=http%3A%2F%2Flocalhost%2Fbadge.json%3Ftarget%3Dnorth-lantern.example")
		has(t, readStatus(t, s, "/site?target=unknown.example", 404), "main p", "unknown.example has never been audited here.")
		has(t, readStatus(t, s, "/site?target=ftp://x", 400), "h1", "This is no site")
		has(t, readStatus(t, s, "/site", 400), "h1", "Which site?")
	})
	t.Run("sites", func(t *testing.T) {
		doc := read(t, s, "/sites")
		want(t, doc, "#rows", "40 sites, by the last result of each")
		if n := len(find(doc, "tbody tr")); n != 40 {
			t.Errorf("%d sites", n)
		}
		doc = read(t, s, "/sites?outcome=unchecked&host=&since=&sort=")
		want(t, doc, "#rows", "4 sites, by the last result of each")
		want(t, doc, ".chips li", "Outcome unchecked ×", "Remove all")
		doc = read(t, s, "/sites?since=2026-11-29")
		if n := len(find(doc, "tbody tr")); n == 0 || n >= 40 || attr(find(doc, "#f-since")[0], "value") != "2026-11-29" {
			t.Errorf("%d sites have changed", n)
		}
		want(t, doc, "#f-sort option[selected]", "last change")
		want(t, read(t, s, "/sites?host=North-L"), "tbody th", "north-lantern.example")
		has(t, read(t, s, "/sites?host=zzz"), "main p", "No site matches all of these filters.")
		has(t, read(t, s, "/"), ".more a", "New or changed in the last seven days")
		for _, bad := range []string{"outcome=cancelled", "since=yesterday", "sort=size", "host=a&sort=changed", "after=x", "host=" + strings.Repeat("x", 400)} {
			readStatus(t, s, "/sites?"+bad, 400)
		}
	})
	t.Run("compare", func(t *testing.T) {
		doc := read(t, s, "/compare")
		want(t, doc, "#f-before option[selected]", "Batch "+string(x.cancelled)+" · 29 Nov 2026, 13:00 UTC · 6 sites")
		want(t, doc, "#f-after option[selected]", "New listings · 30 Nov 2026, 09:00 UTC · 24 sites")
		path := "/compare?before=" + string(x.before) + "&after=" + string(x.after)
		doc = read(t, s, path)
		want(t, doc, "#moves", "39 sites have a result in both")
		want(t, doc, ".changes strong", "2", "8", "10", "13", "6", "1", "0")
		want(t, doc, ".matrix tbody .better", "4", "2", "2")
		want(t, doc, ".matrix tbody .worse", "2", "0", "0")
		want(t, doc, ".matrix tbody .same", "9", "4", "10", "2")
		want(t, doc, "#rows", "Regressions: worse than before")
		want(t, doc, ".cards tbody th", "Golden Bakery golden-bakery.example", "old-orchard.example")
		want(t, read(t, s, path+"&show=only-before"), ".cards tbody th", "Copper Kettle copper-kettle.example")
		has(t, read(t, s, path+"&show=only-after"), "main p", "No site is in this list.")
		has(t, read(t, s, "/compare?before="+string(x.before)+"&after="+string(x.running)), ".changes a", "11 Not done yet")
		readStatus(t, s, "/compare?before="+string(x.before)+"&after="+string(x.before), 400)
		readStatus(t, s, path+"&show=nonsense", 400)
		readStatus(t, s, path+"&from=-1", 400)
	})
	t.Run("every template was used", func(t *testing.T) {
		for name := range s.pages {
			if !slices.Contains([]string{"overview", "batches", "batch", "rejected", "results", "run", "site", "compare", "error", "settings", "signin", "new", "draft", "sites", "shared", "sharedrun", "sharedview", "schedules", "schedule", "deliveries", "listing", "webhooks"}, name) {
				t.Errorf("no test looks at %s", name)
			}
		}
	})
}

// rowLink is the page of the first result that a filter finds.
func rowLink(t *testing.T, x *seeded, f store.Filter) string {
	t.Helper()
	page, err := x.Results(t.Context(), f, "", 1)
	if err != nil || len(page.Rows) == 0 {
		t.Fatalf("no row for %+v: %v", f, err)
	}
	return "/runs/" + string(page.Rows[0].Run)
}

func TestEmptyStore(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Now: clock.Now})
	has(t, read(t, s, "/"), "#welcome", "Nothing has been audited yet")
	has(t, read(t, s, "/batches"), "#none", "There is no batch yet")
	has(t, read(t, s, "/compare"), "#none", "Two batches are needed")
	// A list that is being read, and one that waits.
	b, err := x.CreateBatch(t.Context(), store.NewBatch{Name: "Long list", Sources: []string{"-"}})
	if err != nil {
		t.Fatal(err)
	}
	doc := read(t, s, "/")
	has(t, doc, ".progress p", "its list is still being read")
	has(t, read(t, s, "/batches/"+string(b.ID)), "main p", "No line of the list has been accepted yet.")
	waiting := storetest.Batch(t, x, storetest.Targets(3)...)
	doc = read(t, s, "/batches/"+string(waiting.ID))
	has(t, doc, "main p", "No result yet.")
	want(t, doc, "[data-live="+string(waiting.ID)+".eta]", "–")
	has(t, read(t, s, "/batches/"+string(waiting.ID)+"/results"), "main p", "No result yet.")
}

// Pages of results hang together: each row is on one page, in order.
func TestPagesOfResults(t *testing.T) {
	x, clock := storetest.New(t)
	b := storetest.Batch(t, x, storetest.Targets(2*resultsPerPage+7)...)
	due, err := x.TakeDue(t.Context(), store.ClassSmall, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range due {
		c, err := x.ClaimRun(t.Context(), d.Run, "w", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.FinishRun(t.Context(), c, storetest.Result(c.Target, report.OutcomePartial, report.ReasonIncomplete, clock.Now())); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, Config{Store: x, Now: clock.Now})
	for _, query := range []string{"", "?outcome=partial", "?q=site"} {
		var got []string
		pages := 0
		for path := "/batches/" + string(b.ID) + "/results" + query; path != ""; pages++ {
			doc := read(t, s, path)
			for _, e := range find(doc, ".results tbody th a") {
				got = append(got, text(e))
			}
			next := links(doc, ".pager [rel=next]")
			if path = ""; len(next) > 0 {
				path = next[0]
			}
			if first := links(doc, ".pager a"); pages > 0 && !strings.HasSuffix(first[0], "/results"+query) {
				t.Errorf("page %d leads back to %s", pages, first[0])
			}
		}
		slices.Sort(got)
		if n := len(slices.Compact(got)); n != 2*resultsPerPage+7 || pages != 3 {
			t.Errorf("%q: %d rows on %d pages", query, n, pages)
		}
	}
}

func TestSiteOverManyResults(t *testing.T) {
	x, clock := storetest.New(t)
	target := storetest.Targets(1)[0]
	for i := range historyPerPage + 5 {
		storetest.Batch(t, x, target)
		due, err := x.TakeDue(t.Context(), store.ClassSmall, 1)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.ClaimRun(t.Context(), due[0].Run, "w", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		o, r := report.OutcomePartial, report.ReasonIncomplete
		if i%2 == 0 {
			o, r = report.OutcomeFailed, report.ReasonMissingProfile
		}
		if err := x.FinishRun(t.Context(), c, storetest.Result(target, o, r, clock.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, Config{Store: x, Now: clock.Now})
	doc := read(t, s, "/site?target=site1.example")
	if n, marks := len(find(doc, "tbody tr")), len(find(doc, ".timeline rect")); n != historyPerPage || marks != timelineLength {
		t.Errorf("%d lines, %d marks", n, marks)
	}
	if got := attr(find(doc, ".timeline")[0], "aria-label"); got != "The last 40 results, oldest first: 20 partial, 20 failed." {
		t.Errorf("the strip says %q", got)
	}
	// Failing checks come and go.
	has(t, find(doc, "tbody tr")[0], ".diff", "Newjson resource:"+target)
	has(t, find(doc, "tbody tr")[1], ".diff", "Fixedjson resource:"+target)
	doc = read(t, s, links(doc, ".pager [rel=next]")[0])
	if n := len(find(doc, "tbody tr")); n != 5 {
		t.Errorf("%d lines on the second page", n)
	}
	has(t, find(doc, "tbody tr")[4], "td", "the first result")
	if n := len(find(doc, ".timeline rect")); n != timelineLength {
		t.Errorf("%d marks on the second page", n)
	}
}

// A result whose documents are no longer kept still tells what it was.
func TestRunWithoutDocuments(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: noParts{x}, Now: x.clock.Now})
	doc := read(t, s, "/runs/"+string(x.failed))
	has(t, doc, ".note", "no longer kept")
	has(t, doc, "#verdict", "txt-conflict")
	if len(find(doc, "#raw")) != 0 {
		t.Error("there is something raw")
	}
	s = serve(t, Config{Store: damaged{x}, Now: x.clock.Now})
	readStatus(t, s, "/runs/"+string(x.failed), 500)
}

func TestPagesOfBatches(t *testing.T) {
	x, clock := storetest.New(t)
	for range 2*batchesPerPage + 1 {
		storetest.Batch(t, x, storetest.Targets(1)...)
		clock.Add(time.Minute)
	}
	s := serve(t, Config{Store: x, Now: clock.Now})
	seen := map[string]bool{}
	sizes := ""
	for path := "/batches"; path != ""; {
		doc := read(t, s, path)
		rows := links(doc, "tbody th a")
		sizes += fmt.Sprint(len(rows), " ")
		for _, l := range rows {
			seen[l] = true
		}
		next := links(doc, ".pager [rel=next]")
		if path = ""; len(next) > 0 {
			path = next[0]
		}
	}
	if len(seen) != 2*batchesPerPage+1 || sizes != "30 30 1 " {
		t.Errorf("%d batches on pages of %s", len(seen), sizes)
	}
}
