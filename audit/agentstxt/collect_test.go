package agentstxt

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/weburl"
)

func site(t *testing.T, raw string) *weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// paths are what was asked for, with the host where it is another.
func paths(list []Reply) []string {
	var out []string
	for _, r := range list {
		out = append(out, strings.TrimPrefix(r.URL, "https://shop.example"))
	}
	return out
}

var plainUTF8 = http.Header{
	"Content-Type": {"text/plain; charset=utf-8"}, "Cache-Control": {"max-age=300"},
	"Access-Control-Allow-Origin": {"*"}, "Access-Control-Allow-Methods": {"GET"},
}

func TestCollectOverTheNet(t *testing.T) {
	net := fakenet.New(fakenet.Options{})
	defer net.Close()
	net.Static("shop.example", TextPath, 200, plainUTF8, goodText)
	net.Site("shop.example").Path(JSONPath, fakenet.Redirect(302, "http://shop.example/agents.json"))
	client := net.Client(fetch.Config{})
	visit := client.Visit()
	defer visit.Close()
	list, err := Collect(t.Context(), visit, site(t, "https://shop.example/deep/agentic.json"), 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{TextPath, JSONPath, "http://shop.example/agents.json", JSONRootPath, TextRootPath}
	if got := paths(list); !slices.Equal(got, want) {
		t.Errorf("asked %v, want %v", got, want)
	}
	e := list[0].Evidence
	if e.Address == "" || !strings.HasPrefix(e.TLS, "TLS 1.") || len(e.SHA256) != 64 || e.Bytes != int64(len(goodText)) || e.StartedAt.IsZero() {
		t.Errorf("evidence %+v", e)
	}
	rep := Judge(Input{Origin: "https://shop.example", Replies: list})
	if rep.Verdict != VerdictValid || rep.Format != Draft {
		t.Errorf("%s, %s: %v", rep.Format, rep.Verdict, rep.Checks)
	}
	if o := rep.Observations; len(o) != 5 || o[0].Status != 200 || *o[0].Bytes != int64(len(goodText)) || o[1].Status != 302 || o[2].Error == "" {
		t.Errorf("observations %+v", o)
	}
}

// A file beyond the limit is refused by the fetcher, and the report says so.
func TestCollectRefusesLargeFiles(t *testing.T) {
	net := fakenet.New(fakenet.Options{})
	defer net.Close()
	net.Static("shop.example", TextPath, 200, plainUTF8, goodText+strings.Repeat("#", MaxBody))
	visit := net.Client(fetch.Config{}).Visit()
	defer visit.Close()
	list, err := Collect(t.Context(), visit, site(t, "https://shop.example"), PipelineRequests)
	if err != nil {
		t.Fatal(err)
	}
	if rep := Judge(Input{Origin: "https://shop.example", Replies: list}); rep.Verdict != VerdictInvalid || !hasCheck(rep, "agents:too-large", Fail) {
		t.Errorf("%s %v", rep.Verdict, rep.Checks)
	}
}

// A site without an answer is unchecked, whatever the trouble.
func TestCollectFromNowhere(t *testing.T) {
	net := fakenet.New(fakenet.Options{})
	defer net.Close()
	visit := net.Client(fetch.Config{}).Visit()
	defer visit.Close()
	list, err := Collect(t.Context(), visit, site(t, "https://nowhere.example"), PipelineRequests)
	if err != nil {
		t.Fatal(err)
	}
	rep := Judge(Input{Origin: "https://nowhere.example", Replies: list})
	if rep.Verdict != VerdictUnchecked || len(list) != PipelineRequests {
		t.Errorf("%s after %d requests: %v", rep.Verdict, len(list), rep.Checks)
	}
}

func TestCollectStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	net := fakenet.New(fakenet.Options{})
	defer net.Close()
	visit := net.Client(fetch.Config{}).Visit()
	defer visit.Close()
	if list, err := Collect(ctx, visit, site(t, "https://shop.example"), 4); err == nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// What four requests are spent on, and what is said of the rest.
func TestFourRequests(t *testing.T) {
	page := Reply{Status: 200, Body: []byte("<html>")}
	for _, row := range []struct {
		name  string
		files map[string]Reply
		want  []string
		says  string // a check that must be there
	}{
		{"nothing", nil, []string{TextPath, JSONPath, TextRootPath, JSONRootPath}, ""},
		{"pages", map[string]Reply{TextPath: page, JSONPath: page}, []string{TextPath, JSONPath, TextRootPath, JSONRootPath}, "agents:html"},
		{"text", map[string]Reply{TextPath: {Status: 200, Body: []byte(goodText)}}, []string{TextPath, JSONPath, JSONRootPath, TextRootPath}, ""},
		{"both", map[string]Reply{TextPath: {Status: 200, Body: []byte(goodText)}, JSONPath: {Status: 200, Body: []byte(goodJSON)}},
			[]string{TextPath, JSONPath, TextRootPath, JSONRootPath}, ""},
		{"redirects", map[string]Reply{TextPath: {Status: 301, Header: http.Header{"Location": {"/1"}}}, "/1": {Status: 301, Header: http.Header{"Location": {"/2"}}},
			"/2": {Status: 301, Header: http.Header{"Location": {"/3"}}}}, []string{TextPath, JSONPath, "/1", "/2"}, ""},
		{"declaration", map[string]Reply{TextPath: {Status: 200, Body: []byte(goodText + "Agent: bot\n  Agent-Declaration: " + operator + "\n")},
			JSONPath: {Status: 200, Body: []byte(goodJSON)}}, []string{TextPath, JSONPath, operator, TextRootPath}, "agents:agent-handshake"},
		{"too many declarations", map[string]Reply{TextPath: {Status: 200, Body: []byte(goodText +
			"Agent: a\n  Agent-Declaration: https://a.example/\nAgent: b\n  Agent-Declaration: https://b.example/\nAgent: c\n  Agent-Declaration: https://c.example/\n")},
			JSONPath: {Status: 200, Body: []byte(goodJSON)}}, []string{TextPath, JSONPath, "https://a.example/", "https://b.example/"}, "agents:not-checked"},
	} {
		c := &collector{origin: "https://shop.example", left: PipelineRequests, get: func(url string) Reply {
			if r, ok := row.files[strings.TrimPrefix(url, "https://shop.example")]; ok {
				return r
			}
			return Reply{Status: 404}
		}}
		c.run()
		if got := paths(c.list); !slices.Equal(got, row.want) {
			t.Errorf("%s: asked %v, want %v", row.name, got, row.want)
		}
		rep := Judge(Input{Origin: "https://shop.example", Replies: c.list})
		if row.says != "" && !slices.ContainsFunc(rep.Checks, func(k Check) bool { return k.ID == row.says }) {
			t.Errorf("%s: no %s in %v", row.name, row.says, ids(rep))
		}
		checkTexts(t, rep)
	}
}

// A redirect that used up the requests leaves the file unknown, not absent.
func TestRedirectsBeyondTheBudget(t *testing.T) {
	n := 0
	c := &collector{origin: "https://shop.example", left: PipelineRequests, get: func(string) Reply {
		n++
		return Reply{Status: 302, Header: http.Header{"Location": {"/hop" + itoa(n)}}}
	}}
	c.run()
	if rep := Judge(Input{Origin: "https://shop.example", Replies: c.list}); rep.Verdict != VerdictUnchecked || !hasCheck(rep, "agents:not-checked", Info) || len(rep.Files) == 0 {
		t.Errorf("%s %v", rep.Verdict, rep.Checks)
	}
}

func TestLocalFiles(t *testing.T) {
	text := &LocalFile{"my.txt", []byte(goodText)}
	rep := JudgeFiles(text, &LocalFile{"my.json", []byte(goodJSON)}, Input{Origin: "https://shop.example"})
	if rep.Verdict != VerdictValid || len(rep.Checks) != 1 || rep.Files[0].Path != "my.txt" || rep.Declaration == nil {
		t.Errorf("%+v", rep)
	}
	rep = JudgeFiles(&LocalFile{"my.txt", []byte(with(goodText, "REST", "Rest"))}, nil, Input{})
	if rep.Verdict != VerdictInvalid || len(rep.Checks) != 2 || rep.Checks[0].File != "my.txt" || rep.Checks[0].Line != 7 || rep.Origin != "" {
		t.Errorf("%+v", rep.Checks)
	}
	if rep = JudgeFiles(text, nil, Input{Origin: "https://fish.example"}); !hasCheck(rep, "agents:site-url-host", Warn) {
		t.Errorf("%+v", rep.Checks)
	}
	if rep = JudgeFiles(&LocalFile{"my.txt", make([]byte, MaxBody+1)}, nil, Input{}); !hasCheck(rep, "agents:too-large", Fail) {
		t.Errorf("%+v", rep.Checks)
	}
	if rep = JudgeFiles(nil, nil, Input{}); rep.Verdict != VerdictAbsent {
		t.Errorf("%+v", rep)
	}
}

func TestCrossNotes(t *testing.T) {
	decl := &ParseText([]byte(head + `Capability: a
  Endpoint: https://shop.example/mcp
  Protocol: MCP
Capability: b
  Endpoint: https://shop.example/a2a
  Protocol: A2A
Capability: c
  Endpoint: https://shop.example/rest
  Protocol: REST
`)).Declaration
	for _, row := range []struct {
		there []Resource
		want  []string
	}{
		{[]Resource{{"mcp", "https://SHOP.example/mcp"}, {"a2a", "https://shop.example/.well-known/agent-card.json"}}, nil},
		{[]Resource{{"mcp", "https://shop.example/mcp"}}, []string{"A2A endpoint \"https://shop.example/a2a\" is listed in agents.txt, but not in agentic.json"}},
		{[]Resource{{"mcp", "https://shop.example/mcp"}, {"a2a", "https://shop.example/a2a"}, {"mcp", "https://shop.example/mcp2"}, {"api", "https://shop.example/x"}},
			[]string{"MCP endpoint \"https://shop.example/mcp2\" is listed in agentic.json, but not in agents.txt"}},
		{nil, []string{"/mcp", "/a2a"}},
	} {
		got := CrossNotes(decl, row.there)
		if len(got) != len(row.want) {
			t.Errorf("%v: %v", row.there, got)
			continue
		}
		for i, c := range got {
			if c.ID != "agents:other-convention" || c.Severity != Info || c.Rule != nil || !strings.Contains(c.Detail, row.want[i]) || c.Remedy == "" {
				t.Errorf("%+v, want %s", c, row.want[i])
			}
		}
	}
	if got := CrossNotes(nil, []Resource{{"mcp", "https://shop.example/mcp"}}); got != nil {
		t.Errorf("without a declaration: %v", got)
	}
	secret := "https://shop.example/mcp?token=" + run(24)
	if got := CrossNotes(decl, []Resource{{"mcp", secret}}); strings.Contains(got[2].Detail+got[2].Remedy, run(24)) {
		t.Errorf("a token is printed: %v", got)
	}
}

// Each difference names its member, and says both values.
func TestCompareMembers(t *testing.T) {
	base := ParseText([]byte(fullText))
	for _, row := range []struct {
		old, new, member string
		severity         Severity
	}{
		{"Spec-Version: 1.0", "Spec-Version: 1.1", "/specVersion", Fail},
		{"Type: platform", "Type: agent", "/declarationType", Fail},
		{"2026-05-04T09:30:00Z", "2026-05-05T09:30:01Z", "/generatedAt", Info},
		{"Name: \u00c4", "Name: A", "/site/name", Warn},
		{"URL: https://shop", "URL: https://fish", "/site/url", Warn},
		{"Nets: and", "Nets and", "/site/description", Info},
		{"gull@", "tern@", "/site/contact", Info},
		{"/privacy", "/policy", "/site/privacyPolicy", Info},
		{"items/{id}", "item/{id}", "/capabilities/find-item/endpoint", Fail},
		{"Protocol: REST", "Protocol: MCP", "/capabilities/find-item/protocol", Fail},
		{"Method: POST", "Method: PUT", "/capabilities/find-item/method", Fail},
		{"Auth: oauth2", "Auth: bearer-token", "/capabilities/find-item/auth/type", Fail},
		{"/token", "/tokens", "/capabilities/find-item/auth/tokenEndpoint", Fail},
		{"/docs", "/doc", "/capabilities/find-item/auth/docsUrl", Info},
		{"read, items", "items", "/capabilities/find-item/auth/scopes", Fail},
		{"100000000000000000000/day", "5/day", "/capabilities/find-item/rateLimit", Warn},
		{"Find an item", "Find", "/capabilities/find-item/description", Info},
		{"openapi.json", "openapi.yaml", "/capabilities/find-item/openapi", Warn},
		{"(query, integer)", "(query, number)", "/capabilities/find-item/parameters", Warn},
		{"(path, string, required)", "(path, string)", "/capabilities/find-item/parameters", Warn},
		{"the id - in short", "the id", "/capabilities/find-item/parameters", Info},
		{"Allow: /api/*", "Allow: /api/", "/access/allow", Fail},
		{"Disallow:\n", "", "/access/disallow", Fail},
		{"5/second", "300/minute", "/agents/bot/rateLimit", Warn},
		{"  Capabilities:\n", "", "/agents/bot/capabilities", Fail},
		{"operator.example/agents", "operator.example/a", "/agents/bot/agentDeclaration", Warn},
		{"\nAgent: *\n", "\n", "/agents/*", Fail},
		{"Terms: one", "Terms: three", "", ""},
		{"Flavour: salt", "Flavour: sweet", "", ""},
		{"/agents.json", "/a.json", "", ""},
	} {
		other := ParseText([]byte(with(fullText, row.old, row.new)))
		for i, list := range [][]Difference{Compare(&base.Declaration, &other.Declaration), Compare(&other.Declaration, &base.Declaration)} {
			switch {
			case row.member == "" && len(list) == 0:
			case len(list) != 1 || list[0].Member != row.member || list[0].Severity != row.severity:
				t.Errorf("%q, way %d: %+v", row.new, i, list)
			case list[0].Text == nil && list[0].JSON == nil:
				t.Errorf("%q says nothing", row.new)
			}
		}
	}
	if d := Compare(&base.Declaration, &ParseText([]byte(with(fullText, "5/second", "300/minute"))).Declaration); d[0].note != " (the same average)" {
		t.Errorf("%+v", d)
	}
}
