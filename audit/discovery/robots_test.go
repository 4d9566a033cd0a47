package discovery

import (
	"slices"
	"strings"
	"testing"
)

func TestRobotsHoldForLinkedDocumentsAlone(t *testing.T) {
	pages := map[string]answer{
		"/":             pageOf(`<a href="/docs/a">a</a><a href="/guide/b">b</a><a href="/x/agentic.json">p</a>`),
		"/docs/a":       pageOf("a"),
		"/guide/b":      pageOf("b"),
		"/docs":         pageOf("d"),
		"/openapi.json": jsonOf(`{"openapi":"3.1.0","paths":{}}`),
	}
	for name, tc := range map[string]struct {
		robots  answer
		ignore  bool
		refused string
	}{
		"none":              {answer{status: 404}, false, ""},
		"forbidden":         {answer{status: 403}, false, ""},
		"all":               {answer{body: "User-agent: *\nDisallow: /"}, false, "/docs/a /guide/b"},
		"all but one":       {answer{body: "User-agent: *\nDisallow: /\nAllow: /docs/"}, false, "/guide/b"},
		"for others":        {answer{body: "User-agent: other\nDisallow: /"}, false, ""},
		"for us":            {answer{body: "User-agent: *\nDisallow: /\n\nUser-agent: AgentAudit\nDisallow: /docs/"}, false, "/docs/a"},
		"wildcard":          {answer{body: "User-agent: *\nDisallow: /*/b$"}, false, "/guide/b"},
		"empty rule":        {answer{body: "User-agent: *\nDisallow:"}, false, ""},
		"comments, CR, BOM": {answer{body: "\uFEFF# hi\rUser-Agent : * # all\rDISALLOW : /guide # no\r"}, false, "/guide/b"},
		"junk around":       {answer{body: "Disallow: /\nnonsense\nCrawl-delay: x\nUser-agent: *\nDisallow: /guide\nHost: [\nSitemap: ::"}, false, "/guide/b"},
		"HTML":              {pageOf("<html>no rules"), false, ""},
		"server error":      {answer{status: 503}, false, "/docs/a /guide/b"},
		"unreachable":       {answer{err: errReset}, false, "/docs/a /guide/b"},
		"too large":         {answer{body: strings.Repeat("#", MaxRobots+1)}, false, "/docs/a /guide/b"},
		"redirect":          {answer{status: 301, to: "/elsewhere"}, false, ""},
		"too intricate":     {answer{body: "User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("*a", 1000)+"\n", 200)}, false, "/docs/a /guide/b"},
		"ignored":           {answer{body: "User-agent: *\nDisallow: /"}, true, ""},
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
			if r.Robots == nil || w.countOf(site+"/robots.txt") != 1 || w.countOf(site+"/elsewhere") != 0 {
				t.Fatalf("robots %v, asked for %v", r.Robots, w.asked)
			}
			var refused []string
			for _, u := range r.Robots.Disallowed {
				refused = append(refused, strings.TrimPrefix(u, site))
			}
			if s := strings.Join(refused, " "); s != tc.refused {
				t.Errorf("refused %q, want %q", s, tc.refused)
			}
			for _, path := range []string{"/docs/a", "/guide/b"} {
				if read := w.countOf(site+path) > 0; read == slices.Contains(refused, path) {
					t.Errorf("%s: read %v, refused %v", path, read, !read)
				}
			}
			for _, path := range []string{"/docs", "/openapi.json", "/agentic.json", "/x/agentic.json"} {
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
	w := newWeb(map[string]answer{"/": pageOf(`<a href="https://other.example/docs/a">a</a>`)})
	if r := w.mustScan(t, Options{}); r.Robots != nil || w.countOf(site+"/robots.txt") != 0 {
		t.Errorf("robots %v", r.Robots)
	}
}

func FuzzRobots(f *testing.F) {
	for _, s := range []string{"User-agent: *\nDisallow: /a*b$\nAllow: /", "user-agent:a\nuser-agent:b\ndisallow:*", "User-agent: *\nDisallow: /%zz[(\n"} {
		f.Add(s, "/a/b")
	}
	f.Fuzz(func(t *testing.T, file, path string) {
		rules, err := rulesOf([]byte(file))
		if err == nil {
			_ = rules.FindGroup("agentaudit").Test(path)
		}
	})
}
