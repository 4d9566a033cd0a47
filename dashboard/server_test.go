package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

func TestConfig(t *testing.T) {
	x, _ := storetest.New(t)
	for _, c := range []Config{{}, {Store: x, BasePath: "audit"}, {Store: x, BasePath: "/a//b"}, {Store: x, BasePath: "/a/../b"}, {Store: x, BasePath: "//evil.example"},
		{Store: x, BasePath: "/a?b"}, {Store: x, BasePath: `/a\b`}, {Store: x, Hosts: []string{"https://a.example/"}}, {Store: x, Hosts: []string{" "}}} {
		if s, err := New(c); err == nil {
			s.Close()
			t.Errorf("%+v was accepted", c)
		}
	}
	for base, want := range map[string]string{"": "/", "/": "/", "/audit": "/audit/", "/audit/": "/audit/", "/a/b": "/a/b/"} {
		if s := serve(t, Config{Store: x, BasePath: base}); s.links.Overview() != want {
			t.Errorf("base path %q: the overview is at %s", base, s.links.Overview())
		}
	}
}

func TestHeaders(t *testing.T) {
	x, _ := storetest.New(t)
	s := serve(t, Config{Store: x})
	for _, path := range []string{"/", "/nothing", "/batches/xyz", s.assets.path("style.css"), "/static/old/live.js", "/site?target=%00"} {
		res, body := get(t, s, path)
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if strings.Contains(body, " style=") {
			t.Errorf("%s has inline style", path)
		}
	}
	for _, word := range []string{"unsafe", "*", "http:", "https:", "data:"} {
		if strings.Contains(policy, word) {
			t.Errorf("the policy has a hole: %s", word)
		}
	}
	for path, want := range map[string]string{"/": "no-store", s.assets.path("style.css"): "public, max-age=31536000, immutable", "/static/old/style.css": "no-store"} {
		if res, _ := get(t, s, path); res.Header.Get("Cache-Control") != want {
			t.Errorf("%s: Cache-Control %q, want %q", path, res.Header.Get("Cache-Control"), want)
		}
	}
	if res, _ := get(t, s, "/static/old/passwd"); res.StatusCode != 404 {
		t.Errorf("an asset that there is not: %d", res.StatusCode)
	}
}

func TestHosts(t *testing.T) {
	x, _ := storetest.New(t)
	ask := func(s *Server, host string) int {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w.Code
	}
	s := serve(t, Config{Store: x, Hosts: []string{"Audit.example"}})
	for _, good := range []string{"localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1:8080", "127.1.2.3", "[::1]:8080", "[::1]", "audit.example", "AUDIT.example:443", "audit.example."} {
		if c := ask(s, good); c != 200 {
			t.Errorf("%s: %d", good, c)
		}
	}
	for _, bad := range []string{"", "evil.example", "evil.example:8080", "localhost.evil.example", "192.168.1.1", "[2001:db8::1]", "127.0.0.1.evil.example", "audit.example.evil"} {
		if c := ask(s, bad); c != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", bad, c)
		}
	}
	if c := ask(serve(t, Config{Store: x, Hosts: []string{"*"}}), "any.example"); c != 200 {
		t.Errorf("any host: %d", c)
	}
}

// Nothing a visitor can write into an address leads elsewhere, and nothing but
// reading is possible.
func TestNoRedirects(t *testing.T) {
	x, _ := storetest.New(t)
	for _, base := range []string{"", "/audit"} {
		s := serve(t, Config{Store: x, BasePath: base})
		for _, path := range []string{"//evil.example", "//evil.example/..", "/%2Fevil.example", "/\\evil.example", "/./", "/batches/", "/batches//x", "/a/../batches", "/site/?target=x", base + "//evil.example/%2e%2e", base + "/.//evil.example", "/audit"} {
			r := &http.Request{Method: "GET", Host: "localhost", Header: http.Header{}}
			u, err := http.NewRequest("GET", "http://localhost"+path, nil)
			if err != nil {
				continue
			}
			r.URL, r.RequestURI = u.URL, path
			r = r.WithContext(t.Context())
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			location := w.Header().Get("Location")
			if location != "" && !(path == base && location == base+"/") {
				t.Errorf("base %q: %s redirects to %q", base, path, location)
			}
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE"} {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+base+"/batches", nil))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: %d", method, w.Code)
			}
		}
	}
}

func TestBasePath(t *testing.T) {
	x := seed(t)
	x.written(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, BasePath: "/team/audit"})
	readStatus(t, s, "/", 404)
	readStatus(t, s, "/team/auditor", 404)
	for _, p := range everyPage(x) {
		_, body := get(t, s, "/team/audit"+p[1])
		for _, m := range regexp.MustCompile(`(?:href|src|action|data-events)="(/[^"]*)"`).FindAllStringSubmatch(body, -1) {
			if !strings.HasPrefix(m[1], "/team/audit/") {
				t.Errorf("%s leads out of the base path: %s", p[1], m[1])
			}
		}
	}
	res, _ := get(t, s, s.links.base+s.assets.path("live.js"))
	if res.StatusCode != 200 {
		t.Errorf("the script: %d", res.StatusCode)
	}
}

// All links of all pages lead to pages.
func TestLinks(t *testing.T) {
	x := seed(t)
	x.written(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now})
	asked := map[string]bool{}
	for _, p := range everyPage(x) {
		doc := read(t, s, p[1])
		for _, link := range links(doc, "a[href]") {
			if link, _, _ = strings.Cut(link, "#"); !strings.HasPrefix(link, "/") || asked[link] {
				continue
			}
			asked[link] = true
			if res, body := get(t, s, link); res.StatusCode != 200 {
				t.Errorf("%s leads to %s: %d %s", p[1], link, res.StatusCode, body)
			}
		}
	}
	if len(asked) < 100 {
		t.Errorf("only %d links were tried", len(asked))
	}
}

func TestErrors(t *testing.T) {
	x := seed(t)
	var log bytes.Buffer
	s := serve(t, Config{Store: broken{x, 0}, Now: x.clock.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	after := "/batches/" + string(x.after)
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{
		{"/nothing", 404, "There is no page at this address."},
		{"/batches/xyz", 404, "is no batch id"},
		{"/batches/000000000", 404, "It is not in the store"},
		{"/runs/000000000-1", 404, "It is not in the store"},
		{"/runs/" + string(x.after) + "-1/other.json", 404, "report.json"},
		{"/batches?before=xyz", 400, "before is no batch"},
		{"/batches?page=2", 400, `no parameter "page"`},
		{"/?a=b", 400, `no parameter "a"`},
		{after + "/results?outcome=great", 400, `There is no outcome "great".`},
		{after + "/results?reason=because", 400, "missing-profile"},
		{after + "/results?agents=perfect", 400, "valid, invalid, other"},
		{after + "/results?check=json&status=pass", 400, "There are fail, warn."},
		{after + "/results?outcom=failed", 400, "It knows after, outcome"},
		{after + "/results?tag=a&tag=b", 400, "more than once"},
		{after + "/results?host=" + strings.Repeat("x", 3000), 400, "too long"},
		{after + "/rejected?after=x", 400, "no number"},
		{after + "/results.csv?full=1", 400, "results.ndjson with full=1"},
		{after + "/results.csv?after=abc", 400, "no parameter"},
		{"/site?target=a.example&before=never", 404, "never been audited"},
		{"/compare?before=" + string(x.after) + "&after=xyz", 400, "no batch"},
		{after + "/results", 500, "The page could not be made."},
	} {
		log.Reset()
		doc := readStatus(t, s, c.path, c.status)
		has(t, doc, "main", c.says)
		if len(find(doc, ".actions a")) != 2 && len(find(doc, ".crumbs a")) != 2 {
			t.Errorf("%s leads nowhere", c.path)
		}
		if (c.status >= 500) != strings.Contains(log.String(), "disk on fire") {
			t.Errorf("%s: the log says %q", c.path, log.String())
		}
		if c.status >= 500 {
			id := text(find(doc, "main code")[0])
			if strings.Contains(text(doc), "fire") || id == "" || !strings.Contains(log.String(), "request="+id) {
				t.Errorf("the reader sees %s, the log %s", text(find(doc, "main")[0]), log.String())
			}
		}
	}
	has(t, readStatus(t, serve(t, Config{Store: x, Now: x.clock.Now}), after+"/results?after=!!", 400), "main", "begin with the first page")
}

// panics is a store that breaks down, slow one that does not answer.
type panics struct{ Reader }

func (panics) SiteCounts(context.Context) ([]store.ReasonCount, error) { panic("boom") }

type slow struct{ Reader }

func (slow) SiteCounts(ctx context.Context) ([]store.ReasonCount, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestPanicAndTimeout(t *testing.T) {
	x, _ := storetest.New(t)
	var log bytes.Buffer
	s := serve(t, Config{Store: panics{x}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	readStatus(t, s, "/", 500)
	if !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log lacks the panic: %s", log.String())
	}
	has(t, readStatus(t, serve(t, Config{Store: slow{x}, PageTimeout: time.Millisecond}), "/", 503), "main", "did not answer in time")
}

func mustQuery(t *testing.T, raw string) map[string][]string {
	t.Helper()
	r, err := http.NewRequest("GET", "/"+raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.URL.Query()
}

func FuzzFilter(f *testing.F) {
	f.Add("failed", "refused", "json", "warn", "valid", "a.example", "L", "t", "i", "q")
	f.Add("", "", "resource:https://a.example/?x=1&y#z", "", "", "", "a&b=c", "%2F+ ", "é", "\x00")
	f.Fuzz(func(t *testing.T, outcome, reason, check, status, agents, host, label, tag, id, q string) {
		in := store.Filter{Batch: "b", Outcome: report.Outcome(outcome), Reason: report.Reason(reason), Check: check, CheckStatus: report.Status(status), Agents: agents, Host: host, Label: label, Tag: tag, ID: id, Text: q}
		once, err := readFilter(filterQuery(in), "b")
		if err != nil {
			return // a word that there is not
		}
		// What was read is kept by its own address, to the byte.
		address := (Links{}).Results(once)
		again, err := readFilter(mustQuery(t, strings.TrimPrefix(address, "/batches/b/results")), "b")
		if err != nil || again != once {
			t.Errorf("%+v became %+v by way of %s: %v", once, again, address, err)
		}
	})
}

// A server that restarts is no fault of the dashboard, and says nothing of its
// address to readers.
func TestDatabaseAway(t *testing.T) {
	e := explain(fmt.Errorf("read batch 1: %w: dial tcp 10.0.0.6:5432: connection refused", store.ErrUnavailable))
	if e.Code != http.StatusServiceUnavailable || strings.Contains(e.Message+e.Advice, "10.0.0.6") {
		t.Errorf("%+v", e)
	}
}
