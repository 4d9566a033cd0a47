package dashboard

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// hostile makes a text that would act if it were not escaped somewhere: as an
// element, out of an attribute, as a URL, as a template. Each has a number, so
// that a test can tell which fields a page shows.
type hostile struct {
	n int
	// unseen are numbers of texts that no page shows.
	unseen []string
}

// unshown is a text that pages leave out; it may still not act.
func (h *hostile) unshown() string {
	s := h.text()
	h.unseen = append(h.unseen, fmt.Sprint(h.n))
	return s
}

func (h *hostile) text() string {
	h.n++
	return fmt.Sprintf(`=x"'><xss-%d onmouseover=alert(%d)></script></style><script>alert(%d)</script>{{.}}<!-- <img src=x onerror=alert(%d)> [[mark%d]]`, h.n, h.n, h.n, h.n, h.n)
}

// link is a URL that must not become a link.
func (h *hostile) link() string {
	h.n++
	return fmt.Sprintf("javascript:alert(%d)//[[mark%d]]", h.n, h.n)
}

// hostileStore has hostile text in every field that comes from lists, sites,
// operators and stored documents, and two batches of it.
func hostileStore(t testing.TB) (*store.Store, *hostile, []string) {
	t.Helper()
	x, clock := storetest.New(t)
	h := &hostile{}
	ctx := t.Context()
	var ids []store.BatchID
	target := "https://evil.example/" + h.text() + "/agentic.json"
	for range 2 {
		b, err := x.CreateBatch(ctx, store.NewBatch{Name: h.text(), Sources: []string{h.text()}})
		if err != nil {
			t.Fatal(err)
		}
		lines := []store.Line{
			{Number: 1, Input: h.text(), Target: target, ID: h.text(), Label: h.text(), Tags: []string{h.text(), h.text()}},
			{Number: 2, Input: h.text(), Reject: h.text()},
			{Number: 3, Input: "later", Target: "https://later.example/" + h.text()},
		}
		if _, err := x.AddLines(ctx, b.ID, lines); err != nil {
			t.Fatal(err)
		}
		if _, err := x.SealBatch(ctx, b.ID); err != nil {
			t.Fatal(err)
		}
		due, err := x.TakeDue(ctx, store.ClassSmall, 1)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.ClaimRun(ctx, due[0].Run, "w", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.FinishRun(ctx, c, hostileResult(h, target, clock.Add(time.Minute))); err != nil {
			t.Fatal(err)
		}
		if err := x.PauseBatch(ctx, b.ID, h.text()); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, b.ID)
	}
	// What people make in the dashboard is written by others, too.
	draft, err := x.CreateBatch(ctx, store.NewBatch{Name: h.text(), Sources: []string{h.text()}, Options: json.RawMessage(`{"list":{"posted":["x"]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.AddLines(ctx, draft.ID, []store.Line{
		{Number: 1, Input: h.text(), Target: "https://draft.example/" + h.text(), ID: h.text(), Label: h.text(), Tags: []string{h.text()}, Notes: []string{h.text()}},
		{Number: 2, Input: h.text(), Reject: h.text()},
	}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.NewToken(ctx, store.Token{Name: h.text(), Scope: store.Scope(h.text()), CreatedBy: h.text()}); err != nil {
		t.Fatal(err)
	}
	tomorrow := clock.Now().AddDate(0, 0, 1)
	one, _, err := x.NewShare(ctx, store.Share{Run: store.RunID(string(ids[0]) + "-1"), CreatedBy: h.text(), ExpiresAt: tomorrow})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := x.NewShare(ctx, store.Share{Batch: ids[0], Query: url.Values{"label": {h.text()}}.Encode(), ExpiresAt: tomorrow})
	if err != nil {
		t.Fatal(err)
	}
	whole, _, err := x.NewShare(ctx, store.Share{Batch: ids[1], ExpiresAt: tomorrow})
	if err != nil {
		t.Fatal(err)
	}
	first := "/batches/" + string(ids[0])
	return x, h, []string{"/", "/batches", first, "/batches/" + string(ids[1]), first + "/rejected", first + "/results", "/batches/" + string(ids[1]) + "/rejected", "/batches/" + string(ids[1]) + "/results",
		"/runs/" + string(ids[0]) + "-1", "/runs/" + string(ids[1]) + "-1", "/runs/" + string(ids[0]) + "-2", "/runs/" + string(ids[1]) + "-2", "/compare",
		"/compare?before=" + string(ids[0]) + "&after=" + string(ids[1]) + "&show=still-failing",
		"/new", "/new/" + string(draft.ID), "/settings", "/sites", "/sites?sort=changed", "/share/" + one, "/share/" + all, "/share/" + whole}
}

func hostileResult(h *hostile, target string, at time.Time) *report.Result {
	n := int64(7)
	check := func(status report.Status) report.Check {
		return report.Check{ID: h.text(), Label: h.text(), Status: status, Detail: h.text(), Remedy: h.text(), HelpURL: "javascript:alert(1)"}
	}
	first := check(report.Fail)
	// What fails for the same reason is named by its id alone.
	same := report.Check{ID: h.text(), Label: h.text(), Status: report.Fail, Detail: first.Detail, Remedy: h.text()}
	note := report.Check{ID: "linked", Label: h.text(), Status: report.Warn, Detail: h.text(), Remedy: h.text()}
	agents, _ := json.Marshal(map[string]any{"verdict": h.text(), "format": h.unshown(), "checks": []any{
		map[string]any{"id": h.text(), "severity": h.text(), "file": h.text(), "line": 3, "detail": h.text(), "remedy": h.text()}}})
	source := func() map[string]any {
		return map[string]any{"kind": h.text(), "url": h.text(), "source": h.unshown(), "title": h.unshown(), "availability": "linked"}
	}
	found, _ := json.Marshal(map[string]any{"requestedUrl": h.unshown(), "notes": []string{h.text()}, "sources": []any{map[string]any{"kind": h.text(), "url": h.unshown()}},
		"drift": map[string]any{"operationsAdded": []any{map[string]any{"document": h.text(), "method": h.text(), "path": h.text()}}, "connectionsUnlisted": []any{source()}, "documentsVanished": []any{source()}}})
	kit, _ := json.Marshal(map[string]any{"profileUrl": h.unshown(), "files": []any{map[string]any{"name": h.text(), "url": h.text(), "contentType": h.text(), "content": h.unshown(), "why": h.text()}}, "byHand": []any{h.text()}})
	return &report.Result{
		Outcome: report.OutcomeFailed, Reason: report.Reason(h.text()), Detail: h.text(), RulesVersion: h.unshown(), AgentsVerdict: h.text(), Agents: agents, Discovery: found, FixKit: kit,
		StartedAt: at, FinishedAt: at,
		Evidence: []report.Evidence{{URL: h.link(), Address: h.text(), TLS: h.text(), Status: 200, MediaType: h.text(), SHA256: h.text(), Error: h.text(), Message: h.text(), StartedAt: at}},
		Report: &report.Report{
			ReportVersion: "3", ProfileURL: target, Valid: false, Limitation: h.text(),
			TextIndex:    report.TextIndex{URL: h.link(), Status: report.TextStatus(h.text())},
			Checks:       []report.Check{first, check(report.Warn), same, check(report.Pass), note},
			Observations: []report.Observation{{URL: h.link(), Status: 200, ContentType: h.text(), Bytes: &n, Error: h.text()}},
			Publication:  report.Publication{Status: report.Failed, Summary: h.text(), Files: []report.File{{Name: h.text(), URL: h.link(), Status: h.text()}}},
			Readme:       report.Readme{URL: h.link(), Status: report.ReadmeStatus(h.text()), Checks: []report.Check{check(report.Warn)}},
		},
	}
}

var marks = regexp.MustCompile(`\[\[mark(\d+)\]\]`)

func TestInjection(t *testing.T) {
	x, h, paths := hostileStore(t)
	s := serve(t, Config{Store: x, Write: x, Version: h.text(), Facts: []Fact{{h.text(), h.text()}}})
	evil := h.text()
	paths = append(paths, "/site?target=evil.example/"+strings.NewReplacer(" ", "%20", "#", "").Replace("x"), "/nothing"+"/%3Cscript%3Ealert(1)%3C/script%3E")
	seen := map[string]bool{}
	look := func(path string) {
		_, body := get(t, s, path)
		harmless(t, path, body)
		for _, m := range marks.FindAllStringSubmatch(body, -1) {
			seen[m[1]] = true
		}
	}
	for _, path := range paths {
		look(path)
	}
	// What comes with the request is no more trusted.
	for _, path := range []string{paths[5], "/compare", "/batches", "/site", "/"} {
		for _, name := range append([]string{"after", "before", "show", "from", "target", "x"}, filterParams...) {
			look(path + "?" + name + "=" + strings.NewReplacer("%", "%25", " ", "%20", "#", "%23", "&", "%26", "+", "%2B").Replace(evil))
		}
	}
	// The test is one only if the pages show what is hostile.
	hidden := []string{}
	for i := 1; i <= h.n; i++ {
		if n := fmt.Sprint(i); !seen[n] {
			hidden = append(hidden, n)
		}
	}
	if !slices.Equal(hidden, h.unseen) {
		t.Errorf("seen on no page: %v, want %v", hidden, h.unseen)
	}
}

// harmless parses a page as a browser does and looks for anything that a text
// has become besides text.
func harmless(t *testing.T, path, body string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("%s: a comment: %.80q", path, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		switch {
		case n.Data == "script":
			scripts++
			if text(n) != "" || !strings.HasPrefix(attr(n, "src"), "/static/") {
				t.Errorf("%s: a script that is not ours", path)
			}
		case n.Data == "img" && strings.HasPrefix(attr(n, "src"), "/badge.svg?"): // ours
		case strings.HasPrefix(n.Data, "xss") || slices.Contains([]string{"img", "iframe", "object", "embed", "base", "style", "template"}, n.Data):
			t.Errorf("%s: an element %s", path, n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc":
				t.Errorf("%s: an attribute %s of %s", path, a.Key, n.Data)
			case a.Key == "href" || a.Key == "src" || a.Key == "action":
				if v := a.Val; !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "https://") && !strings.HasPrefix(v, "#") || strings.HasPrefix(v, "//") {
					t.Errorf("%s: %s of %s is %.60q", path, a.Key, n.Data, v)
				}
				if n.Data != "a" && strings.HasPrefix(a.Val, "https://") {
					t.Errorf("%s: %s loads %s from another host", path, n.Data, a.Val)
				}
				if n.Data == "a" && strings.HasPrefix(a.Val, "https://") && !strings.Contains(attr(n, "rel"), "noopener") {
					t.Errorf("%s: a link to another host that may reach back: %s", path, a.Val)
				}
			}
		}
	}
	if scripts != 1 {
		t.Errorf("%s: %d scripts", path, scripts)
	}
}

func TestHostileExports(t *testing.T) {
	x, _, paths := hostileStore(t)
	s := serve(t, Config{Store: x})
	res, body := get(t, s, paths[5]+".csv")
	if res.StatusCode != 200 {
		t.Fatal(body)
	}
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || len(rows) != 2 || !slices.Equal(rows[0], store.CSVColumns) {
		t.Fatalf("%v, %v", rows, err)
	}
	guarded := 0
	for i, cell := range rows[1] {
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			t.Errorf("a spreadsheet would run %s: %.40q", store.CSVColumns[i], cell)
		}
		if strings.HasPrefix(cell, "'=") {
			guarded++
		}
	}
	if guarded < 6 {
		t.Errorf("only %d cells needed a guard", guarded)
	}
	for in, want := range map[string]string{"": "", "a": "a", "=1": "'=1", "+1": "'+1", "-1": "'-1", "@a": "'@a", "\ta": "'\ta", "\ra": "'\ra", "a=1": "a=1", "'=": "'="} {
		if got := store.Inert(in); got != want {
			t.Errorf("inert(%q) = %q, want %q", in, got, want)
		}
	}
	// NDJSON is data: it comes back as it was.
	_, body = get(t, s, paths[5]+".ndjson?full=1")
	var row map[string]any
	if err := json.Unmarshal([]byte(body), &row); err != nil || !strings.HasPrefix(row["label"].(string), `=x"'><xss-`) || row["report"] == nil || row["evidence"] == nil {
		t.Fatalf("%v in %s", err, body)
	}
}
