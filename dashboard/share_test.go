package dashboard

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/store"
)

// shareLink shares something and gives the path of the link.
func (v *visitor) shareLink(fields ...string) string {
	v.t.Helper()
	res, body := v.post("/share", fields...)
	if res.StatusCode != http.StatusCreated {
		v.t.Fatalf("share %q: %d %s", fields, res.StatusCode, body)
	}
	link := text(find(parsed(v.t, body), "#sharedlink")[0])
	path, ok := strings.CutPrefix(link, "http://localhost")
	if !ok || len(path) < 30 {
		v.t.Fatalf("the link is %s", link)
	}
	return path
}

func TestSharedResult(t *testing.T) {
	x := seed(t)
	var log bytes.Buffer
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, Users: testUsers(t, "anna"), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	anna, stranger := visit(t, s), visit(t, s)
	anna.do("/signin", "name", "anna", "password", testPassword)
	link := anna.shareLink("run", string(x.failed), "days", "7")
	doc := stranger.page(link)
	want(t, doc, "h1", "North Lantern failed")
	want(t, doc, ".todo h3", "Fails: agentic.txt txt")
	has(t, doc, "main", "This page was shared with you by a link that works until 7 Dec 2026, 09:03 UTC.")
	for _, l := range links(doc, "a[href]") {
		if strings.HasPrefix(l, "/") && !strings.HasPrefix(l, link) {
			t.Errorf("the page leads to %s", l)
		}
	}
	if res, body := stranger.get(link + "/report.json"); res.StatusCode != 200 || !json.Valid([]byte(body)) {
		t.Errorf("the report: %d", res.StatusCode)
	}
	// Whoever has the link gets nowhere else, whatever is guessed.
	for _, path := range []string{"/", "/runs/" + string(x.failed), "/settings", "/batches/" + string(x.after) + "/results", "/runs/" + string(x.failed) + "/report.json"} {
		if res, _ := stranger.get(path); res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	for _, path := range []string{link + "x", link[:len(link)-1], "/share/x", link + "/evidence.json", link + "/results.csv", link + "?after=1"} {
		if res, body := stranger.get(path); res.StatusCode == 200 || strings.Contains(body, "North Lantern") {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	list, err := x.Shares(t.Context())
	if err != nil || len(list) != 1 || list[0].CreatedBy != "anna" {
		t.Fatalf("shares %+v, %v", list, err)
	}
	has(t, anna.page("/settings"), "tbody th", "result "+string(x.failed)+" by anna")
	if _, body := anna.get("/settings"); strings.Contains(body, link) {
		t.Error("the link is shown twice")
	}
	if res, _ := stranger.post("/shares/" + list[0].ID + "/revoke"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger revokes: %d", res.StatusCode)
	}
	anna.do("/shares/" + list[0].ID + "/revoke")
	res, body := stranger.get(link)
	if res.StatusCode != 404 || !strings.Contains(body, "This link is over") {
		t.Errorf("a revoked link: %d", res.StatusCode)
	}
	if secret := strings.TrimPrefix(link, "/share/"); strings.Contains(log.String(), secret) || !strings.Contains(log.String(), "/share/…") {
		t.Error("the log tells the secret, or nothing")
	}
}

func TestSharedView(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now})
	v := visit(t, s)
	link := v.shareLink("batch", string(x.after), "outcome", "failed", "tag", "coast", "days", "1")
	doc := v.page(link)
	want(t, doc, "h1", "Results of Shops of the region with outcome failed, tag coast")
	want(t, doc, "#rows", "4 results")
	has(t, doc, "tbody th", "North Lantern north-lantern.example")
	_, body := v.get(link + "/results.csv")
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if res, _ := v.get(link + "/report.json"); res.StatusCode != 404 {
		t.Errorf("a report of a view: %d", res.StatusCode)
	}
	whole := v.shareLink("batch", string(x.after), "days", "1")
	all := v.page(whole)
	want(t, all, "#rows", "40 results")
	sharedFacts(t, v, whole, all)
	for _, c := range [][]string{{"run", string(x.failed)}, {"run", string(x.failed), "days", "0"}, {"run", string(x.failed), "days", "400"}, {"batch", string(x.after), "outcome", "great", "days", "1"}} {
		if res, _ := v.post("/share", c...); res.StatusCode != 400 {
			t.Errorf("%q: %d", c, res.StatusCode)
		}
	}
	for _, c := range [][]string{{"run", "000000000-1", "days", "1"}, {"batch", "xyz", "days", "1"}, {"days", "1"}} {
		if res, _ := v.post("/share", c...); res.StatusCode != 404 {
			t.Errorf("%q: %d", c, res.StatusCode)
		}
	}
	x.clock.Add(24 * 3600 * 1e9)
	if res, _ := v.get(link); res.StatusCode != 404 {
		t.Errorf("an expired link: %d", res.StatusCode)
	}
	if res, _ := get(t, serve(t, Config{Store: x}), link); res.StatusCode != 404 {
		t.Errorf("on a dashboard that cannot look it up: %d", res.StatusCode)
	}
}

// sharedFacts wants the files of a shared view to tell what its page tells, row
// by row, and nothing else.
func sharedFacts(t *testing.T, v *visitor, link string, doc *html.Node) {
	t.Helper()
	page := find(doc, "tbody tr")
	told := func(file string, i int, fact string) {
		t.Helper()
		if i >= len(page) {
			t.Fatalf("%s has more rows than the page", file)
		}
		words := text(page[i])
		for _, at := range find(page[i], "time") {
			words += " " + attr(at, "datetime")
		}
		if !strings.Contains(words, strings.Join(strings.Fields(fact), " ")) {
			t.Errorf("%s, row %d tells %q; the page: %s", file, i+1, fact, words)
		}
	}
	res, body := v.get(link + "/results.csv")
	if got := res.Header.Get("Content-Disposition"); got != `attachment; filename="agentaudit-results.csv"` {
		t.Error(got)
	}
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || len(rows) != len(page)+1 || !slices.Equal(rows[0], sharedColumns) {
		t.Fatalf("%d rows, %q, %v", len(rows), rows[:1], err)
	}
	checks := 0
	for i, row := range rows[1:] {
		for column, cell := range row {
			if name := sharedColumns[column]; name == "failing" || name == "warning" {
				for id := range strings.FieldsSeq(cell) {
					checks++
					told("CSV", i, id)
				}
				continue
			}
			told("CSV", i, cell)
		}
	}
	if checks == 0 {
		t.Error("no check is told at all")
	}
	_, body = v.get(link + "/results.ndjson")
	n := 0
	for line := range strings.Lines(body) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		for name, value := range row {
			if !slices.Contains(sharedColumns, name) {
				t.Errorf("NDJSON tells %s", name)
			}
			switch value := value.(type) {
			case string:
				if at, err := time.Parse(time.RFC3339Nano, value); err == nil {
					value = moment(at)
				}
				told("NDJSON", n, value)
			case []any:
				for _, id := range value {
					told("NDJSON", n, id.(string))
				}
			default:
				t.Errorf("NDJSON: %s is %v", name, value)
			}
		}
		n++
	}
	if n != len(page) {
		t.Errorf("NDJSON has %d rows, the page %d", n, len(page))
	}
}

// kits is a store whose results have a fix kit.
type kits struct {
	Reader
	kit *publication.Kit
}

func (k kits) Parts(_ context.Context, id store.RunID) (*store.Parts, error) {
	p := &store.Parts{Report: json.RawMessage(`{}`)}
	if k.kit == nil {
		return p, nil
	}
	var err error
	p.FixKit, err = json.Marshal(k.kit)
	return p, err
}

func TestFixKitArchive(t *testing.T) {
	x := seed(t)
	k := &publication.Kit{ProfileURL: "https://north-lantern.example/agentic.json", Files: []publication.File{
		{Name: "agentic.txt", URL: "https://north-lantern.example/agentic.txt", ContentType: "text/plain", Content: "the right text\n", Why: "It differs."},
		{Name: "../../etc/passwd", Content: "no"},
	}}
	s := serve(t, Config{Store: kits{x, k}, Now: x.clock.Now})
	path := "/runs/" + string(x.failed)
	if got := links(read(t, s, path), ".head .actions a")[0]; got != path+"/fix-kit.zip" {
		t.Errorf("the page leads to %s", got)
	}
	res, body := get(t, s, path+"/fix-kit.zip")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/zip" || res.Header.Get("Content-Disposition") != `attachment; filename="fix-kit-north-lantern.example.zip"` {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[f.Name] = string(data)
	}
	if len(got) != 3 || got["agentic.txt"] != "the right text\n" || !strings.Contains(got[publication.NameIndex], "Fix kit for https://north-lantern.example/agentic.json") {
		t.Errorf("the archive holds %q", got)
	}
	for name := range got {
		if strings.ContainsAny(name, "/\\") {
			t.Errorf("a file of the archive is called %s", name)
		}
	}
	readStatus(t, serve(t, Config{Store: kits{x, nil}, Now: x.clock.Now}), path+"/fix-kit.zip", 404)
	readStatus(t, s, "/runs/"+string(x.after)+"-9999/fix-kit.zip", 404)
	if len(find(read(t, serve(t, Config{Store: noParts{x}, Now: x.clock.Now}), path), `a[href$="fix-kit.zip"]`)) > 0 {
		t.Error("a kit is offered that there is not")
	}
}

func TestBadges(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, Users: testUsers(t, "anna")})
	v := visit(t, s) // nobody has signed in
	message := func(target string) (string, string) {
		t.Helper()
		res, body := v.get("/badge.json?target=" + target)
		var b struct {
			SchemaVersion         int
			Label, Message, Color string
		}
		if err := json.Unmarshal([]byte(body), &b); err != nil || res.StatusCode != 200 || b.SchemaVersion != 1 || b.Label != "agentic" {
			t.Fatalf("%s: %d %s", target, res.StatusCode, body)
		}
		return b.Message, b.Color
	}
	check := func(target, wantMessage, wantColor string) {
		t.Helper()
		if m, c := message(target); m != wantMessage || c != wantColor {
			t.Errorf("%s: %s, %s; want %s, %s", target, m, c, wantMessage, wantColor)
		}
	}
	check("north-lantern.example", "failed 29 Nov 2026", "red")
	check("https://north-lantern.example/agentic.json", "failed 29 Nov 2026", "red")
	check("never-heard-of.example", "unchecked", "lightgrey")
	unchecked, err := x.Sites(t.Context(), store.SiteFilter{Outcome: report.OutcomeUnchecked}, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	check(unchecked.Sites[0].Host, "unchecked", "lightgrey")
	res, body := v.get("/badge.svg?target=north-lantern.example")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(body, `aria-label="agentic: failed 29 Nov 2026"`) || !strings.Contains(body, badgeColors[report.OutcomeFailed][0]) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if res.Header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Error("pages of others cannot show it")
	}
	again := httptest.NewRequest("GET", "http://localhost/badge.svg?target=north-lantern.example", nil)
	again.Header.Set("If-None-Match", res.Header.Get("ETag"))
	if res, body := v.send(again); res.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("the same again: %d", res.StatusCode)
	}
	x.clock.Add(badgeLife + 24*3600*1e9)
	check("north-lantern.example", "failed 29 Nov 2026", "lightgrey")
	for path, status := range map[string]int{"/badge.svg": 400, "/badge.svg?target=ftp://x": 400, "/badge.svg?target=a.example&x=1": 400} {
		if res, _ := v.get(path); res.StatusCode != status {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if res, _ := get(t, serve(t, Config{Store: x, NoBadges: true}), "/badge.svg?target=a.example"); res.StatusCode != 404 {
		t.Errorf("where there are none: %d", res.StatusCode)
	}
}

// White text stands out from every badge, 4.5:1.
func TestBadgeContrast(t *testing.T) {
	for o := range badgeColors {
		if c := (Badge{Outcome: o}).colors()[0]; contrast(t, c, "#ffffff") < 4.5 {
			t.Errorf("%s: %s", o, c)
		}
	}
	if c := (Badge{}).colors()[0]; contrast(t, c, "#ffffff") < 4.5 {
		t.Errorf("grey: %s", c)
	}
}
