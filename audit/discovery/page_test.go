package discovery

import (
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/profile"
	"agentaudit/fetch"
)

// links are the links of a document, each as "href title".
func linksOf(t testing.TB, media, body string) (out []string, p *page) {
	c := newContent(mustURL(t, "https://site.example/en/start"), &fetch.Response{ContentType: media, Body: []byte(body)})
	p = c.page()
	for _, l := range p.links {
		u, err := p.base.Resolve(l.href)
		if err != nil {
			out = append(out, "! "+l.href)
			continue
		}
		out = append(out, strings.TrimSpace(strings.TrimPrefix(u.String(), "https://site.example")+" "+l.title))
	}
	return out, p
}

func TestLinksOfHTML(t *testing.T) {
	for body, want := range map[string]string{
		`<a href=/a>one <b>two</b>three</a>`:                                    "/a one two three",
		`<a href=/a title="T">x</a>`:                                            "/a T",
		`<a href=/a title="">x</a>`:                                             "/a x",
		`<a href=/a>x<a href=/b>y`:                                              "/a x|/b y",
		`<a data-x=">" href='/a'>x</a>`:                                         "/a x",
		`<a href=/a href=/b>x</a>`:                                              "/a x",
		`<A HREF="/a&amp;b">x &lt;y&gt; z</A>`:                                  "/a&b x z",
		`<!-- <a href=/a> -->`:                                                  "",
		`<script>"<a href='/a'>"</script><style><a href=/b></style>`:            "",
		`<template><a href=/a>x</a></template><a href=/b>y</a>`:                 "/b y",
		`<template><template></template><a href=/a></template>`:                 "",
		`<noscript><a href=/a>x</a></noscript>`:                                 "/a x",
		`<iframe><a href=/a>x</a></iframe>`:                                     "",
		`<textarea>[x](/a) <a href=/b></textarea>`:                              "/a x",
		`<svg><a href=/a>x</a></svg>`:                                           "/a x",
		`<link rel="Alternate nofollow" href=/a><link rel=stylesheet href=/b>`:  "/a",
		`<link rel=describedby href=/a title=T><link rel=service-desc href=/b>`: "/a T|/b",
		`<base href="https://site.example/x/"><a href=a>x</a>`:                  "/x/a x",
		`<a href=a>x</a><base href="/x/"><base href="/y/">`:                     "/x/a x",
		`<base href="https://evil.example/x/"><a href=a>x</a>`:                  "/en/a x",
		`<template><base href="/x/"></template><a href=a>x</a>`:                 "/en/a x",
		`<p>[x](/a)<p>[y](/b "T")`:                                              "/a x|/b y",
		`<p>[x <b>y</b>](/a)`:                                                   "/a x y",
		"<p>```<p>[x](/a)":                                                      "/a x",
		"<pre>\n\n    [x](/a)</pre>":                                            "/a x",
		`<p>&lt;!-- [x](/a)`:                                                    "/a x",
		`<p>see https://h.example/docs/a. And (https://h.example/b_(c)), <b>https://h.example/</b>x`: "https://h.example/docs/a|https://h.example/b_(c)|https://h.example/",
		`<p title="https://h.example/a">`:    "",
		`<title>https://h.example/a</title>`: "",
		`<area href=/a>`:                     "",
		`<a href="">x</a><a>y</a>`:           "",
		`<a href="https://[">x</a>`:          "! https://[",
	} {
		if got, _ := linksOf(t, "text/html", body); strings.Join(got, "|") != want {
			t.Errorf("%s\n got %q\nwant %q", body, got, want)
		}
	}
}

func TestLinksOfTextAndJSON(t *testing.T) {
	for _, tc := range []struct{ media, body, want string }{
		{"text/markdown", "[x](/a) <a href=/b>y</a>\n\n    [code](/c)\n\nhttps://h.example/d", "/a x|/b y|https://h.example/d"},
		{"text/markdown", "<p align=center>[no](/a)</p>\n\n[x](/b)", "/b x"},
		{"text/plain", "[x](https://h.example/a_(b)) https://h.example/c}", "https://h.example/a_(b) x|https://h.example/a_(b)|https://h.example/c"},
		{"application/json", `{"https://h.example/k":["https:\/\/h.example\/a","[x](/b)\nhttps://h.example/c"]}`, "/b x|https://h.example/k|https://h.example/a|https://h.example/c"},
		{"", "<p>[x](/a)", "/a x"},
	} {
		if got, _ := linksOf(t, tc.media, tc.body); strings.Join(got, "|") != tc.want {
			t.Errorf("%s\n got %q\nwant %q", tc.body, got, tc.want)
		}
	}
}

func TestTitleAndDescription(t *testing.T) {
	for body, want := range map[string]string{
		`<title>A &amp; B</title>`:                                                        "A & B;",
		`<title>A</title><title>B</title>`:                                                "A;",
		`<title></title><title>B</title>`:                                                 ";",
		`<svg><title>Icon</title></svg><title>A</title>`:                                  "A;",
		`<svg><title/><p><title>A</title>`:                                                "A;",
		`<template><title>No</title></template><title>A</title>`:                          "A;",
		`<!--<title>No</title>--><title>A`:                                                "A;",
		`<script><title>No</title></script><title>A</title>`:                              "A;",
		"<title>A\u202eB\u0085C\u2066\x07D</title>":                                       "A B C D;",
		"<title>A&rlm;B\u200e C\u061c</title>":                                            "A B C;",
		`<title>a < b <c> d > e</title>`:                                                  "a < b d > e;",
		`<meta name=Description content="d"><meta property=og:description content=e>`:     ";d",
		`<meta property=" og:description " content="e"><meta name=description content=d>`: ";e",
		`<meta name=description content=" <br> "><meta name=og:description content=e>`:    ";e",
		`<meta name=keywords content=k>`:                                                  ";",
		`<template><meta name=description content=d></template>`:                          ";",
	} {
		_, p := linksOf(t, "text/html", body)
		if got := p.title + ";" + p.description; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestAPagesFirstThousandLinksCount(t *testing.T) {
	body := strings.Repeat(`<a href="https://[">bad</a>`, 999) + `<a href=/a>x</a><a href=/b>y</a>[z](/c)`
	got, p := linksOf(t, "text/html", body)
	if len(p.links) != 1000 || got[999] != "/a x" {
		t.Errorf("%d links, the last %q", len(got), got[len(got)-1])
	}
}

func TestLinkHeaders(t *testing.T) {
	for header, want := range map[string]string{
		`</a>; rel=x, <b>;rel="y"`:         "/a|b",
		`</a>;title="<c>, <d>";rel=x,</b>`: "/a|/b",
		`</a>;title="\",<c>",</b>`:         "/a|/b",
		`junk, </a>`:                       "/a",
		`<unclosed`:                        "",
		`, ,`:                              "",
		`</a>`:                             "/a",
		`< /a >`:                           "/a",
	} {
		if got := strings.Join(headerLinks([]string{header}), "|"); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	if got := headerLinks([]string{"</a>", "</b>"}); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("two headers: %q", got)
	}
}

func TestClassify(t *testing.T) {
	for path, want := range map[string]profile.ResourceKind{
		"/agentic.json": profile.KindAgentic, "/a/AGENTIC.json": profile.KindAgentic, "/xagentic.json": "",
		"/llms.txt": profile.KindLLMs, "/a/llms-full.txt": profile.KindLLMs, "/xllms.txt": profile.KindDocumentation,
		"/my-agent-card.json": profile.KindA2A, "/x/.well-known/agent-configuration": profile.KindAgentAuth,
		"/mcp": profile.KindMCP, "/a/mcp/b": profile.KindMCP, "/docs/mcp": profile.KindDocumentation, "/guides/mcp/": profile.KindDocumentation,
		"/reference/mcp": profile.KindDocumentation, "/mcps": "", "/doc/mcp": profile.KindMCP,
		"/openapi.json": profile.KindOpenAPI, "/my-swagger-v1.yml": profile.KindOpenAPI, "/openapi/x.json": "", "/docs/openapi.yaml": profile.KindOpenAPI,
		"/openapi.json.bak": "", "/developers": profile.KindDocumentation, "/api-docs/x": profile.KindDocumentation, "/documents": "", "/a.md": profile.KindDocumentation,
		"/": "", "/readme.MD": profile.KindDocumentation,
	} {
		if got := classify(mustURL(t, site+path), ""); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for title, want := range map[string]profile.ResourceKind{
		"Documentation": profile.KindDocumentation, "api DOCUMENTATION": profile.KindDocumentation, "Developer docs": profile.KindDocumentation, "Docs": "", "Documentation!": "",
	} {
		if got := classify(mustURL(t, site+"/x"), title); got != want {
			t.Errorf("title %s: %q, want %q", title, got, want)
		}
	}
}

func TestCleanCutsWholeCharacters(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{" a \n\t b ", "a b"}, {"ab🚢🚢", "ab🚢"}, {"a<b>c</b>d", "a c"}, {"ab c", "ab "}, {"<", "<"}, {"a<", "a<"}, {"\uFEFFa", "a"},
		{"<!-- x -->a", "a"}, {"\xffa", "\uFFFDa"},
	} {
		if got := clean(tc.in, 3); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.in, got, tc.want)
		}
	}
	if got := cleanJSON("A &amp;lt; <i>c</i>", 99); got != "A &lt; c" {
		t.Errorf("references are resolved once: %q", got)
	}
}

func TestSiteName(t *testing.T) {
	for title, want := range map[string]string{
		"A | B": "A", "A — B | C": "A", "A - B": "A - B", "| A": "| A", "A |B": "A |B", "": "", "Ä | B": "Ä",
	} {
		if got := siteName(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}
