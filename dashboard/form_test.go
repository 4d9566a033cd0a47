package dashboard

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// blamed wants a page that says what is wrong with one field: in a summary that
// leads to it, at the field itself, which has the focus, and with what was sent
// still in the others.
func blamed(t *testing.T, what string, doc *html.Node, id string, kept map[string]string) {
	t.Helper()
	summary, at := find(doc, ".note.bad[role=alert]"), find(doc, "#wrong")
	if len(summary) != 1 || len(at) != 1 || text(at[0]) == "" || !strings.Contains(text(summary[0]), text(at[0])) {
		t.Fatalf("%s: the page says %d times what is wrong, and %d times where", what, len(summary), len(at))
	}
	if l := links(doc, ".note.bad a"); len(l) != 1 || l[0] != "#"+id {
		t.Errorf("%s: the summary leads to %q", what, l)
	}
	fields := find(doc, "[aria-invalid]")
	if len(fields) != 1 || attr(fields[0], "id") != id || attr(fields[0], "aria-describedby") != "wrong" {
		t.Fatalf("%s: %d fields are to blame, want %s", what, len(fields), id)
	}
	if focus := find(doc, "[autofocus]"); len(focus) != 1 || focus[0] != fields[0] {
		t.Errorf("%s: the focus is elsewhere", what)
	}
	for id, want := range kept {
		f := find(doc, "#"+id)
		if len(f) != 1 {
			t.Fatalf("%s: %d fields %s", what, len(f), id)
		}
		got := attr(f[0], "value")
		switch f[0].Data {
		case "select":
			got = attr(find(f[0], "option[selected]")[0], "value")
		case "textarea":
			got = text(f[0])
		}
		if got != want {
			t.Errorf("%s: %s holds %q, want %q", what, id, got, want)
		}
	}
}

// Forms come back as they were sent.
func TestFormsComeBack(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now})
	v := visit(t, s)
	after := string(x.after)
	v.do("/schedules", "name", "Taken", "batch", after, "cron", "@daily", "zone", "UTC")
	list, err := x.Schedules(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	one := s.links.Schedule(list[0].ID)
	for _, c := range []struct {
		path, field string
		fields      []string
		status      int
	}{
		{"/schedules", "d-name", []string{"name", " ", "batch", after, "cron", "1 2 3 4 *", "zone", "Asia/Tokyo", "jitter", "3", "spread", "4"}, 400},
		{"/schedules", "d-name", []string{"name", "Taken", "batch", after, "cron", "1 2 * * *", "zone", "Asia/Tokyo", "jitter", "3", "spread", "4"}, 409},
		{"/schedules", "d-cron", []string{"name", "N", "batch", after, "cron", "every day", "zone", "Asia/Tokyo", "jitter", "3", "spread", "4"}, 400},
		{"/schedules", "d-cron", []string{"name", "N", "batch", after, "cron", "1 2 31 2 *", "zone", "Asia/Tokyo"}, 400},
		{"/schedules", "d-zone", []string{"name", "N", "batch", after, "cron", "@daily", "zone", "Mars/Olympus", "jitter", "3"}, 400},
		{"/schedules", "d-jitter", []string{"name", "N", "batch", after, "cron", "@hourly", "zone", "Asia/Tokyo", "jitter", "60"}, 400},
		{"/schedules", "d-spread", []string{"name", "N", "batch", after, "cron", "@hourly", "zone", "Asia/Tokyo", "spread", "much"}, 400},
		{one, "d-cron", []string{"name", "N", "cron", "never", "zone", "Asia/Tokyo", "jitter", "3", "spread", "4"}, 400},
		{"/settings/tokens", "t-name", []string{"name", "", "scope", "write", "days", "365"}, 400},
		{"/settings/tokens", "t-name", []string{"name", strings.Repeat("x", 101), "scope", "write", "days", "30"}, 400},
	} {
		res, body := v.post(c.path, c.fields...)
		if res.StatusCode != c.status {
			t.Errorf("%s %q: %d", c.path, c.fields, res.StatusCode)
			continue
		}
		prefix := c.field[:2]
		kept := map[string]string{}
		for i := 0; i < len(c.fields); i += 2 {
			kept[prefix+c.fields[i]] = c.fields[i+1]
		}
		blamed(t, strings.Join(c.fields, " "), parsed(t, body), c.field, kept)
	}
	// So do filters, which can be sent in an address only.
	for path, c := range map[string]struct {
		field string
		kept  map[string]string
	}{
		"/batches/" + after + "/results?outcome=great&host=a.example":          {"f-outcome", map[string]string{"f-host": "a.example"}},
		"/batches/" + after + "/results?since=yesterday&q=blue&outcome=failed": {"f-since", map[string]string{"f-q": "blue", "f-outcome": "failed"}},
		"/batches/" + after + "/results?sort=size&tag=x":                       {"f-sort", map[string]string{"f-tag": "x"}},
		"/sites?host=blue&since=2026-11-20&sort=changed":                       {"f-host", map[string]string{"f-host": "blue", "f-since": "2026-11-20"}},
		"/sites?outcome=great": {"f-outcome", nil},
		"/compare?" + url.Values{"before": {after}, "after": {after}}.Encode(): {"f-after", map[string]string{"f-before": after}},
	} {
		blamed(t, path, readStatus(t, s, path, 400), c.field, c.kept)
	}
	// And a site that nobody has audited stands where it was typed.
	doc := readStatus(t, s, "/site?target=no+site", 400)
	if f := find(doc, "#lookup"); attr(f[0], "value") != "no site" || attr(f[0], "aria-describedby") != "wrong" {
		t.Error("the field forgot what was typed")
	}
}

func TestChangeSchedule(t *testing.T) {
	x := seed(t)
	v := visit(t, serve(t, Config{Store: x, Write: x, Now: x.clock.Now}))
	v.do("/schedules", "name", "Weekly", "batch", string(x.after), "cron", "30 3 * * 1", "zone", "Europe/Berlin", "jitter", "20", "spread", "12")
	list, err := x.Schedules(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	path := "/schedules/" + string(list[0].ID)
	doc := v.page(path)
	for id, want := range map[string]string{"d-name": "Weekly", "d-cron": "30 3 * * 1", "d-zone": "Europe/Berlin", "d-jitter": "20", "d-spread": "12"} {
		if got := attr(find(doc, "#"+id)[0], "value"); got != want {
			t.Errorf("%s holds %q", id, got)
		}
	}
	if next := v.do(path, "name", "Daily", "cron", "5 4 * * *", "zone", "UTC", "jitter", "", "spread", ""); next != "/schedules" {
		t.Errorf("it goes on at %s", next)
	}
	has(t, v.page("/schedules"), ".notice", "The schedule was changed; it fires next on 1 Dec 2026, 04:05 UTC.")
	got, err := x.Schedule(t.Context(), list[0].ID)
	if err != nil || got.Name != "Daily" || got.Jitter != 0 || got.Spread != 0 || got.Batch != x.after {
		t.Errorf("%+v, %v", got, err)
	}
	if res, _ := v.post("/schedules/000000001", "name", "x", "cron", "@daily", "zone", "UTC"); res.StatusCode != 404 {
		t.Errorf("no schedule: %d", res.StatusCode)
	}
}

// A list that was looked at can be started after the program was restarted; one
// that was cut short cannot.
func TestDraftsOutliveTheProgram(t *testing.T) {
	dir := t.TempDir()
	x := storetest.Open(t, dir, store.Options{})
	v := visit(t, serve(t, Config{Store: x, Write: x}))
	res, _ := v.upload("", nil, "sites", "a.example\nb.example\na.example")
	draft := res.Header.Get("Location")
	cut, err := x.CreateBatch(t.Context(), store.NewBatch{Options: []byte(`{"list":{"posted":["x.csv"]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.AddLines(t.Context(), cut.ID, []store.Line{{Target: "https://a.example/agentic.json"}}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = storetest.Open(t, dir, store.Options{})
	s := serve(t, Config{Store: x, Write: x})
	v = visit(t, s)
	doc := v.page(s.links.Draft(cut.ID))
	has(t, doc, ".note", "was when the program was stopped")
	if len(find(doc, "form[action="+s.links.StartDraft(cut.ID)+"]")) > 0 {
		t.Error("half a list can be started")
	}
	v.do(draft + "/start")
	b, err := x.Batch(t.Context(), store.BatchID(strings.TrimPrefix(draft, "/new/")))
	if err != nil || b.State != store.StateQueued || b.Runs != 2 {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestManyDrafts(t *testing.T) {
	x := storetest.Open(t, t.TempDir(), store.Options{})
	v := visit(t, serve(t, Config{Store: x, Write: x}))
	for i := range mostDrafts + 1 {
		want := 303
		if i == mostDrafts {
			want = 409
		}
		if res, body := v.upload("", nil, "sites", "a.example"); res.StatusCode != want {
			t.Fatalf("list %d: %d %s", i, res.StatusCode, body)
		}
	}
}
