package discovery

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/robots"
)

const twin = "https://www.site.example"

// refused are the paths on the site that robots.txt kept a scan from.
func (r *Report) refused() string {
	var paths []string
	for _, u := range r.Robots.Disallowed {
		paths = append(paths, strings.TrimPrefix(u, site))
	}
	return strings.Join(paths, " ")
}

func TestRobotsHoldForLinkedDocumentsAlone(t *testing.T) {
	pages := map[string]answer{
		"/":             pageOf(`<a href="/docs/a">a</a><a href="/guide/b">b</a><a href="/x/agentic.json">p</a><a href="/README.md">r</a>`),
		"/docs/a":       pageOf("a"),
		"/guide/b":      pageOf("b"),
		"/docs":         pageOf("d"),
		"/README.md":    pageOf("r"),
		"/openapi.json": jsonOf(`{"openapi":"3.1.0","paths":{}}`),
	}
	const all = "/x/agentic.json /docs/a /guide/b"
	for name, tc := range map[string]struct {
		robots  answer
		ignore  bool
		refused string
	}{
		"none":           {answer{status: 404}, false, ""},
		"forbidden":      {answer{status: 403}, false, ""},
		"all":            {answer{body: "User-agent: *\nDisallow: /"}, false, all},
		"all but one":    {answer{body: "User-agent: *\nDisallow: *\nAllow: /docs/"}, false, "/x/agentic.json /guide/b"},
		"for others":     {answer{body: "User-agent: other\nDisallow: /"}, false, ""},
		"for us":         {answer{body: "User-agent: *\nDisallow: /\n\nUser-agent: AgentAudit/1.0\nDisallow: /docs/"}, false, "/docs/a"},
		"HTML":           {pageOf("<html>no rules"), false, ""},
		"server error":   {answer{status: 503}, false, all},
		"limited":        {answer{status: http.StatusTooManyRequests}, false, all},
		"unreachable":    {answer{err: errReset}, false, all},
		"too large":      {answer{body: strings.Repeat("#", robots.MaxSize+1)}, false, all},
		"as large":       {answer{body: strings.Repeat("#", robots.MaxSize)}, false, ""},
		"many wildcards": {answer{body: "User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("*a", 1000)+"\n", 200)}, false, ""},
		"ignored":        {answer{body: "User-agent: *\nDisallow: /"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb(pages)
			w.answers[site+"/robots.txt"] = tc.robots
			r := w.mustScan(t, Options{IgnoreRobots: tc.ignore})
			if tc.ignore {
				if r.Robots != nil || w.countOf(site+"/robots.txt") != 0 {
					t.Error("rules that are ignored were read")
				}
				return
			}
			if r.Robots == nil || w.countOf(site+"/robots.txt") != 1 {
				t.Fatalf("robots %v, asked for %v", r.Robots, w.asked)
			}
			if got := r.refused(); got != tc.refused {
				t.Errorf("refused %q, want %q", got, tc.refused)
			}
			for path := range strings.FieldsSeq(all) {
				if read := w.countOf(site+path) > 0; read == slices.Contains(strings.Fields(tc.refused), path) {
					t.Errorf("%s: read %v, refused %v", path, read, !read)
				}
			}
			for _, path := range []string{"/docs", "/openapi.json", "/agentic.json", "/README.md"} {
				if w.countOf(site+path) != 1 {
					t.Errorf("%s was not read", path)
				}
			}
			if r.Requests != len(w.asked)-1 {
				t.Errorf("robots.txt counts as a request: %d of %d", r.Requests, len(w.asked))
			}
		})
	}
}

func TestRobotsAreNotReadWhereNoLinkIsFollowed(t *testing.T) {
	w := newWeb(map[string]answer{"/": {status: 301, to: "/start"}, "/start": pageOf(`<a href="https://other.example/docs/a">a</a>`)})
	if r := w.mustScan(t, Options{}); r.Robots != nil || w.countOf(site+"/robots.txt") != 0 {
		t.Errorf("robots %v", r.Robots)
	}
}

func TestRobotsHoldForEachRedirect(t *testing.T) {
	pages := map[string]answer{
		"/":              pageOf(`<a href="/docs/a">a</a><a href="/docs/b">b</a><a href="/docs/c">c</a><a href="/docs/d">d</a>`),
		"/docs":          {status: 302, to: "/private/docs"}, // asked for, but not where it leads to
		"/docs/a":        {status: 302, to: "/private/a"},
		"/docs/b":        {status: 302, to: "/docs/b2"},
		"/docs/b2":       {status: 302, to: "/private/b"},
		"/docs/c":        {status: 302, to: twin + "/private/c"},
		"/docs/d":        {status: 302, to: twin + "/secret/d"},
		"/private/docs":  pageOf("docs"),
		"/private/a":     pageOf("a"),
		"/private/b":     pageOf("b"),
		"/robots.txt":    {body: "User-agent: *\nDisallow: /private/"},
		twin + "/docs/b": pageOf("b"), twin + "/private/c": pageOf("c"), twin + "/secret/d": pageOf("d"),
		twin + "/robots.txt": {body: "User-agent: *\nDisallow: /secret/"},
	}
	w := newWeb(pages)
	r := w.mustScan(t, Options{})
	for _, url := range []string{site + "/private/docs", site + "/private/a", site + "/private/b", twin + "/secret/d"} {
		if w.countOf(url) != 0 {
			t.Errorf("%s was read", url)
		}
		if !slices.Contains(r.Robots.Disallowed, url) {
			t.Errorf("%s is not among %v", url, r.Robots.Disallowed)
		}
	}
	// Each origin has rules of its own.
	if w.countOf(twin+"/private/c") != 1 || w.countOf(site+"/robots.txt") != 1 || w.countOf(twin+"/robots.txt") != 1 {
		t.Errorf("asked for %v", w.asked)
	}
	if r.Robots.URL != site+"/robots.txt" || r.Robots.Also == nil || r.Robots.Also.URL != twin+"/robots.txt" || *r.Robots.Also.Bytes == 0 || len(r.Robots.Disallowed) != 4 {
		t.Errorf("robots %s", asJSON(t, r.Robots))
	}
	if r.Requests != len(w.asked)-2 {
		t.Errorf("%d requests, asked for %v", r.Requests, w.asked)
	}
	for _, o := range r.Observations {
		if want := "it redirects to " + site + "/private/a, which robots.txt does not allow"; o.URL == site+"/docs/a" && o.Error != want {
			t.Errorf("%s: %s", o.URL, o.Error)
		}
	}
	// The start was asked for, with where it leads to.
	w = newWeb(pages)
	w.answers[site+"/"] = answer{status: 302, to: "/private/a"}
	if r := w.mustScan(t, Options{}); w.countOf(site+"/private/a") != 1 || r.Requests == 0 {
		t.Errorf("asked for %v", w.asked)
	}
}

func TestRedirectsOfRobots(t *testing.T) {
	const nothing = "User-agent: *\nDisallow: /"
	for name, tc := range map[string]struct {
		pages   map[string]answer
		refused bool
		url     string // where the rules were
		hops    int
		told    string
	}{
		"on the site": {map[string]answer{"/robots.txt": {status: 301, to: "/r/1"}, "/r/1": {body: nothing}}, true, site + "/r/1", 1, ""},
		"to the twin": {map[string]answer{"/robots.txt": {status: 308, to: twin + "/robots.txt"}, twin + "/robots.txt": {body: nothing}}, true, twin + "/robots.txt", 1, ""},
		"five": {map[string]answer{"/robots.txt": {status: 301, to: "/r/1"}, "/r/1": {status: 302, to: "/r/2"}, "/r/2": {status: 303, to: twin + "/r/3"},
			twin + "/r/3": {status: 307, to: site + "/r/4"}, "/r/4": {status: 308, to: "/r/5"}, "/r/5": {body: nothing}}, true, site + "/r/5", 5, ""},
		"in circles":    {map[string]answer{"/robots.txt": {status: 301, to: "/robots.txt"}}, false, site + "/robots.txt", 5, "redirects more than 5 times"},
		"elsewhere":     {map[string]answer{"/robots.txt": {status: 301, to: "https://other.example/robots.txt"}}, false, site + "/robots.txt", 0, "another site, other.example"},
		"to the inside": {map[string]answer{"/robots.txt": {status: 301, to: "https://127.0.0.1/robots.txt"}}, false, site + "/robots.txt", 0, "not read"},
		"to plain HTTP": {map[string]answer{"/robots.txt": {status: 301, to: "http://site.example/robots.txt"}}, false, site + "/robots.txt", 0, "not read"},
		"to nowhere":    {map[string]answer{"/robots.txt": {status: 304}}, false, site + "/robots.txt", 0, "without naming a destination"},
		"to nothing":    {map[string]answer{"/robots.txt": {status: 301, to: "/r/1"}}, false, site + "/r/1", 1, ""},
		"to trouble":    {map[string]answer{"/robots.txt": {status: 301, to: "/r/1"}, "/r/1": {err: errReset}}, true, site + "/r/1", 1, "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb(tc.pages)
			w.answers[site+"/"] = pageOf(`<a href="/docs/a">a</a>`)
			r := w.mustScan(t, Options{})
			if r.Robots.URL != tc.url || r.Robots.Redirects != tc.hops || !strings.Contains(r.Robots.Error, tc.told) || (r.Robots.Error == "") != (tc.told == "") || r.Robots.Also != nil {
				t.Errorf("robots %s", asJSON(t, r.Robots))
			}
			if read := w.countOf(site+"/docs/a") > 0; read == tc.refused {
				t.Errorf("read %t", read)
			}
			if r.Requests != len(w.asked)-1-tc.hops {
				t.Errorf("%d requests, asked for %v", r.Requests, w.asked)
			}
			for _, u := range w.asked {
				if !strings.HasPrefix(u, site+"/") && !strings.HasPrefix(u, twin+"/") {
					t.Errorf("asked for %s", u)
				}
			}
		})
	}
}

// Rules that cost too much allow nothing more, and the report says so.
func TestRulesThatCostTooMuch(t *testing.T) {
	var file strings.Builder
	file.WriteString("User-agent: *\n")
	for i := 0; file.Len() < robots.MaxSize-20; i++ {
		fmt.Fprintf(&file, "Disallow: *a*%d\n", i)
	}
	links := ""
	for i := range 9 {
		links += fmt.Sprintf(`<a href="/docs/%s%c">a</a>`, strings.Repeat("a", 1900), 'b'+i)
	}
	w := newWeb(map[string]answer{"/": pageOf(links), "/robots.txt": {body: file.String()}})
	r := w.mustScan(t, Options{})
	if n := len(r.Robots.Disallowed); n == 0 || n == 9 || !strings.Contains(r.Robots.Error, "too intricate") {
		t.Errorf("%d of 9 disallowed, %s", n, r.Robots.Error)
	}
	if n := r.Requests + len(r.Robots.Disallowed); n != 1+len(conventional)+9 {
		t.Errorf("%d documents", n)
	}
}
