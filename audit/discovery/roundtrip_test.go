package discovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/discovery"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// file is what a web serves at a URL.
type file struct {
	media, body, to string
}

// web is a Fetcher that serves files by URL; others are missing.
type web map[string]file

func (w web) Fetch(_ context.Context, req fetch.Request) (*fetch.Response, error) {
	f, ok := w[req.URL.Location()]
	status := 200
	switch {
	case !ok:
		f, status = file{"text/plain", "Missing", ""}, 404
	case f.to != "":
		return nil, &fetch.Error{Kind: fetch.KindRedirect, Status: 301, Location: f.to}
	case int64(len(f.body)) > req.MaxBytes:
		return nil, &fetch.Error{Kind: fetch.KindTooLarge, Status: 200, Limit: req.MaxBytes}
	}
	return &fetch.Response{URL: req.URL.Location(), Status: status, Header: http.Header{}, ContentType: f.media, Body: []byte(f.body), Bytes: int64(len(f.body))}, nil
}

var at = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// publish puts the files of a report where they belong.
func publish(t *testing.T, w web, r *discovery.Report) web {
	t.Helper()
	w = maps.Clone(w)
	u, err := weburl.Parse(r.ProfileURL)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, media, body string) {
		b, err := u.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		w[b.Location()] = file{media, body, ""}
	}
	put("agentic.txt", publication.TypeText, r.Files.Text)
	put("README.md", publication.TypeMarkdown, r.Files.Readme)
	w[u.Location()] = file{publication.TypeJSON, r.Files.JSON, ""}
	return w
}

func judge(t *testing.T, w web, profileURL string) *report.Report {
	t.Helper()
	target, err := audit.ParseTarget(profileURL, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := audit.Collect(t.Context(), w, target, at)
	if err != nil {
		t.Fatal(err)
	}
	return audit.Judge(b).Report
}

const (
	openapi31 = `{"openapi":"3.1.0","info":{"title":"Booking API","description":"Books &amp; <b>more</b>","version":"1"},"paths":{
"/seats":{"post":{"operationId":"reserve","summary":"Reserve <i>one</i>","parameters":[{"name":"Idempotency-Key","in":"header","required":true}],"requestBody":{"content":{"application/json":{}}}}},
"/requests/{req}":{"get":{"operationId":"state","parameters":[{"name":"req","in":"path","required":true}]}},
"/seats/{seat}":{"get":{"operationId":"read","parameters":[{"name":"seat","in":"path","required":true}]}}}}`
	action = `{"agentic":"1.0.0","origin":"ORIGIN","actions":[{"id":"reserve","description":"Reserve a [seat](https://evil.example).","openapi":"/openapi.json",
"submit":"reserve","status":"state","verify":"read","request":{"header":"Idempotency-Key","scope":"principal-action","retentionSeconds":3600},
"bindings":{"statusRequestId":"req","verifyResourceId":"seat"},"evidence":{"resourceIdPointer":"/id","requestIdPointer":"/req","statePointer":"/s",
"successValues":["ok"],"inputBindings":[{"inputPointer":"/a","resourcePointer":"/a"}]},
"recovery":{"maxChecks":4,"checkDelayMs":250,"timeoutMs":2500,"retry":"never-automatically"}}]}`
)

func page(title, rest string) file {
	return file{"text/html; charset=utf-8", "<!doctype html><title>" + title + "</title>" + rest, ""}
}

// shapes are sites, by name; ORIGIN stands for their origin, a path for a URL
// on it.
func shapes() map[string]web {
	api := file{"application/json", openapi31, ""}
	doc := page("Guide (v2) | Docs", "text")
	s := map[string]web{
		"bare":            {"/": page("Ferry", "")},
		"no title":        {"/": {"text/html", "<p>hi", ""}},
		"empty":           {"/": {"text/html", "", ""}},
		"plain text":      {"/": {"text/plain", "Read https://ORIGIN/docs/a.txt", ""}, "/docs/a.txt": {"text/plain", "a", ""}},
		"markdown":        {"/": {"text/markdown", "# F\n[g](/docs/g.md)", ""}, "/docs/g.md": {"text/markdown", "g", ""}},
		"json":            {"/": {"application/json", `{"a":1}`, ""}},
		"api":             {"/": page("Ferry", ""), "/openapi.json": api},
		"two APIs":        {"/": page("Ferry", `<a href=/v2/openapi.json>v2</a>`), "/openapi.json": api, "/v2/openapi.json": api},
		"seven APIs":      sevenAPIs(api),
		"broken API":      {"/": page("Ferry", ""), "/openapi.json": {"application/json", `{"openapi":"3.1.0"`, ""}},
		"no operations":   {"/": page("Ferry", ""), "/openapi.json": {"application/json", `{"openapi":"3.0.0","paths":{}}`, ""}},
		"YAML":            {"/": page("Ferry", `<a href=/openapi.yaml>a</a>`), "/openapi.yaml": {"text/yaml", "openapi: 3.1.0", ""}},
		"big API":         {"/": page("Ferry", ""), "/openapi.json": {"application/json", bigAPI(400, 300), ""}},
		"huge API":        {"/": page("Ferry", ""), "/openapi.json": {"application/json", bigAPI(12, 500) + strings.Repeat(" ", 1<<20-12*560), ""}},
		"invisible API":   {"/": page("Ferry", ""), "/openapi.json": {"application/json", strings.ReplaceAll(bigAPI(150, 100), "pp", "p\u200B"), ""}},
		"start is API":    {"/": api},
		"docs":            {"/": page("Ferry", `<a href=/docs/a>A</a><a href="/docs/(b)">B</a><a href="/docs/c&amp;copy;d">C</a>`), "/docs/a": doc, "/docs/(b)": doc, "/docs/c&copy;d": doc},
		"docs redirect":   {"/": page("Ferry", `<a href=/docs/a>A</a>`), "/docs/a": {to: "/docs/b"}, "/docs/b": doc, "/docs": {to: "/docs/"}, "/docs/": doc},
		"dead links":      {"/": page("Ferry", `<a href=/docs/a>A</a><a href=/docs/b>B</a>`)},
		"many links":      {"/": page("Ferry", manyLinks(90))},
		"long links":      {"/": page("Ferry", longLinks(60))},
		"connections":     {"/": page("Ferry", `<a href=https://tools.example/mcp>M</a><a href=/mcp>own</a><a href=//cdn.example/llms.txt>L</a>`)},
		"agents":          {"/": page("Ferry", ""), "/.well-known/agent-card.json": {"application/json", `{"name":"A","skills":[],"url":"https://ORIGIN/mcp"}`, ""}, "/.well-known/agent-configuration": {"application/json", `{"issuer":"x","endpoints":{}}`, ""}},
		"llms":            {"/": page("Ferry", ""), "/llms.txt": {"text/plain", "# F\n- [D](/docs/d)\n- [M](https://m.example/mcp)", ""}, "/docs/d": doc},
		"nested action":   {"/": page("Ferry", `<a href=/seats/agentic.json>a</a>`), "/seats/agentic.json": {"application/json", action, ""}, "/openapi.json": api},
		"root action":     {"/": page("Ferry", ""), "/agentic.json": {"application/json", action, ""}, "/openapi.json": api},
		"both actions":    {"/": page("Ferry", `<a href=/x/agentic.json>a</a>`), "/x/agentic.json": {"application/json", action, ""}, "/agentic.json": {"application/json", action, ""}, "/openapi.json": api},
		"action in docs":  {"/": page("Ferry", `<a href="/docs/p(1)">a</a>`), "/docs/p(1)": {"application/json", action, ""}, "/openapi.json": api},
		"bad profile":     {"/": page("Ferry", ""), "/agentic.json": {"application/json", `{"agentic":"1.0.0"}`, ""}},
		"soft 404":        {"/": page("Ferry", ""), "/agentic.json": page("Not found", ""), "/llms.txt": page("Not found", ""), "/docs": page("Not found", ""), "/openapi.json": page("Not found", "")},
		"start redirects": {"/": {to: "/en/"}, "/en/": page("Ferry", `<base href=/en/x/><a href=docs/a>A</a>`), "/en/x/docs/a": doc},
		"self link":       {"/": page("Ferry", `<a href=/>Documentation</a>`)},
		"latin-1":         {"/": {"text/html; charset=iso-8859-1", "<title>F\xe4hre</title>", ""}},
		"large page":      {"/": page("Ferry", strings.Repeat("<p>x", 250_000))},
		"hostile page":    {"/": page("Ferry", strings.Repeat(`<a href="/docs/a">](`, 40_000))},
	}
	for name, title := range map[string]string{
		"letters":   "Fähre 渡船 паром φέρυ עבורת عبّارة",
		"emoji":     "🚢 👩‍🚀 🇩🇪",
		"markdown":  "# [x](https://evil.example) **b** `c` ![i](/i) &lt;script>alert(1)&lt;/script>",
		"lists":     "1. one - two * three > four",
		"links":     "https://evil.example www.evil.example a@evil.example",
		"terminal":  "A\x1b[31mB\u009b0mC\x07\u202eD",
		"liquid":    "{{ site.secret }} {% include x %}",
		"blank":     "&#x200B;&#xAD;",
		"long":      strings.Repeat("渡", 400),
		"quotes":    `"a" 'b' \ / &amp;amp; ]( | ~~`,
		"fence":     "```",
		"html":      "&lt;/h1>&lt;img src=x onerror=y>",
		"underline": "=== --- ___",
	} {
		s["name: "+name] = web{"/": page(title, `<meta name=description content="`+strings.ReplaceAll(title, `"`, "&quot;")+`"><a href=/docs/a>`+title+`</a>`), "/docs/a": page(title, "")}
	}
	return s
}

func sevenAPIs(api file) web {
	w := web{}
	links := ""
	for i := range 7 {
		path := fmt.Sprintf("/v%d/openapi.json", i)
		w[path] = api
		links += "<a href=" + path + ">v</a>"
	}
	w["/"] = page("Ferry", links)
	return w
}

func bigAPI(paths, length int) string {
	var list []string
	for i := range paths {
		list = append(list, fmt.Sprintf(`"/%d%s":{"get":{"operationId":"op%d"}}`, i, strings.Repeat("pp", length/2), i))
	}
	return `{"openapi":"3.1.0","paths":{` + strings.Join(list, ",") + `}}`
}

func manyLinks(n int) (s string) {
	for i := range n {
		s += fmt.Sprintf(`<a href=/docs/%d>%d</a><a href=https://h%d.example/mcp>m</a>`, i, i, i)
	}
	return s
}

func longLinks(n int) (s string) {
	for i := range n {
		s += fmt.Sprintf(`<a href="https://h%d.example/docs/%s">%s</a>`, i, strings.Repeat("k&", 950), strings.Repeat("[&", 100))
	}
	return s
}

// hosts are what a site may be called.
var hosts = []string{"site.example", "www.site.example", "xn--fhre-loa.example", "xn--mgberp4a5d4ar.example", "8.8.4.4", "site.example.", "a.b.c.site.example"}

// passes reports whether a publication is successful. An audit reads five
// documents and warns where a profile lists more as retrieved, which no
// generated file can help (specification section 7, "limit").
func passes(p report.Publication, r *discovery.Report) bool {
	retrieved := 0
	for _, s := range r.Sources {
		if s.Availability == "retrieved" {
			retrieved++
		}
	}
	if retrieved > 5 && p.Status == report.Partial {
		return len(p.NextSteps) == 1 && p.NextSteps[0].ID == "limit"
	}
	return p.Status == report.Successful
}

// A site that publishes a generated bundle unchanged passes the audit in full.
func TestAPublishedBundlePasses(t *testing.T) {
	n := 0
	var successful atomic.Int64
	all := shapes()
	t.Cleanup(func() {
		if got := successful.Load(); got < 40 {
			t.Errorf("only %d sites are successful without another step", got)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		shape, host := all[name], hosts[n%len(hosts)]
		n++
		t.Run(name+" at "+host, func(t *testing.T) {
			t.Parallel()
			w := web{}
			for path, f := range shape {
				f.body = strings.ReplaceAll(strings.ReplaceAll(f.body, "https://ORIGIN", "https://"+host), "ORIGIN", "https://"+host)
				w["https://"+host+path] = f
			}
			start, err := weburl.ParseStart("https://" + host + "/")
			if err != nil {
				t.Fatal(err)
			}
			r, err := discovery.Scan(t.Context(), w, start, discovery.Options{Now: func() time.Time { return at }})
			if err != nil {
				t.Fatal(err)
			}
			published := publish(t, w, r)
			got := judge(t, published, r.ProfileURL)
			if !passes(got.Publication, r) {
				text, _ := json.MarshalIndent(got.Publication, "", " ")
				t.Fatalf("%s\n%s\n%s", text, r.Files.JSON, r.Files.Readme)
			}
			if got.Publication.Status == report.Successful {
				successful.Add(1)
			}
			// Scanning the site as it is published now changes nothing that
			// would make the publication fail.
			again, err := discovery.Scan(t.Context(), published, start, discovery.Options{Now: func() time.Time { return at }})
			if err != nil {
				t.Fatal(err)
			}
			if got := judge(t, publish(t, published, again), again.ProfileURL); !passes(got.Publication, again) {
				t.Errorf("after a second scan: %s", got.Publication.Summary)
			}
		})
	}
}
