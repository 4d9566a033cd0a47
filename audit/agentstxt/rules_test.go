package agentstxt

import (
	"strings"
	"testing"
	"time"
)

const goodText = `Spec-Version: 1.0
Site-Name: Harbour Shop
Site-URL: https://shop.example

Capability: find-item
  Endpoint: https://shop.example/api/find
  Protocol: REST
  Description: Find an item

Allow: /api/*
Disallow: /staff/*

Agent: *
`

const goodJSON = `{"specVersion": "1.0", "site": {"name": "Harbour Shop", "url": "https://shop.example"},
 "capabilities": [{"id": "find-item", "endpoint": "https://shop.example/api/find", "protocol": "REST", "description": "Find an item"}],
 "access": {"allow": ["/api/*"], "disallow": ["/staff/*"]},
 "agents": {"*": {}}}`

// with replaces pieces of a good file: old, new, old, new. An old piece that
// is not there would make a test that tests nothing.
func with(base string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(base, pairs[i]) {
			panic("not in the file: " + pairs[i])
		}
		base = strings.Replace(base, pairs[i], pairs[i+1], 1)
	}
	return base
}

func text(pairs ...string) map[string]string {
	return map[string]string{TextPath: with(goodText, pairs...)}
}

func asJSON(pairs ...string) map[string]string {
	return map[string]string{JSONPath: with(goodJSON, pairs...)}
}

// field adds lines to the only capability; top adds lines in front.
func capField(lines string) map[string]string {
	return text("  Description: Find an item\n", "  Description: Find an item\n"+lines)
}

func top(lines string) map[string]string {
	return text("\nCapability", lines+"\nCapability")
}

func agent(lines string) map[string]string { return text("Agent: *\n", "Agent: *\n"+lines) }

const operator = "https://operator.example/.well-known/agents.txt"

// ruleRow is one rule from both sides.
type ruleRow struct {
	id       string
	severity Severity
	bad      map[string]string
	good     map[string]string
}

var ruleRows = []ruleRow{
	{"spec-version-missing", Fail, text("Spec-Version: 1.0", "# Spec-Version: 1.0"), text()},
	{"spec-version-missing", Fail, asJSON(`"specVersion": "1.0", `, ""), asJSON()},
	{"spec-version", Fail, text("Version: 1.0", "Version: 1.1"), text("Version: 1.0", "Version:1.0 ")},
	{"site-name", Fail, text("Site-Name: Harbour Shop\n", ""), text("Harbour Shop", "x")},
	{"site-name", Fail, asJSON(`"name": "Harbour Shop"`, `"name": "  "`), asJSON(`"Harbour Shop"`, `7`)},
	{"site-url-missing", Fail, text("Site-URL: https://shop.example\n", ""), text("Site-URL: https://shop.example", "Site-URL: nonsense")},
	{"site-url", Fail, text("Site-URL: https://", "Site-URL: mailto:gull@"), text("Site-URL: https://shop", "Site-URL: HTTPS://SHOP")},
	{"site-url-https", Fail, text("Site-URL: https", "Site-URL: http"), text()},
	{"site-url-https", Info, text("Site-URL: https://shop.example", "Site-URL: http://shop.test"), text("Site-URL: https://shop.example", "Site-URL: https://shop.test")},
	{"site-url-host", Warn, text("Site-URL: https://shop", "Site-URL: https://fish"), text("Site-URL: https://shop", "Site-URL: https://www.shop")},
	{"site-url-host", Warn, text("Site-URL: https://shop.example", "Site-URL: https://shop.example:8443"), text("Site-URL: https://shop.example", "Site-URL: https://shop.example:443")},
	{"site-url-host", Info, text("Site-URL: https://shop", "Site-URL: https://eu.shop"), text()},
	{"site-url-extra", Info, text("Site-URL: https://shop.example", "Site-URL: https://shop.example/en"), text("Site-URL: https://shop.example", "Site-URL: https://shop.example/")},
	{"site-url-extra", Info, text("Site-URL: https://", "Site-URL: https://gull@"), text()},
	{"generated-at", Fail, top("Generated-At: May 2026\n"), top("Generated-At: 2026-05-04T09:30:00.5Z\n")},
	{"generated-at", Warn, top("Generated-At: 2026-05-04\n"), top("Generated-At: 2026-05-04T09:30Z\n")},
	{"generated-future", Warn, top("Generated-At: 2026-12-02T12:00:01Z\n"), top("Generated-At: 2026-12-02T12:00:00Z\n")},
	{"declaration-type", Fail, top("Declaration-Type: Agent\n"), top("Declaration-Type: platform\n")},
	{"operates-on-missing", Warn, top("Declaration-Type: agent\n"), top("Declaration-Type: agent\nOperates-On: https://forum.example\n")},
	{"operates-on-unused", Warn, top("Operates-On: https://forum.example\n"), top("Declaration-Type: Agent\nOperates-On: https://forum.example\n")},
	{"operates-on", Fail, top("Declaration-Type: agent\nOperates-On: forum.example\n"), top("Declaration-Type: agent\nOperates-On: https://forum.example\n")},
	{"operates-on", Warn, top("Declaration-Type: agent\nOperates-On: http://forum.example\n"), top("Declaration-Type: agent\nOperates-On: https://forum.example\n")},
	{"contact", Warn, top("Site-Contact: Gull <gull@shop.example>\n"), top("Site-Contact: gull+agents@shop.example\n")},
	{"privacy-policy", Fail, top("Site-Privacy-Policy: /privacy\n"), top("Site-Privacy-Policy: https://shop.example/privacy\n")},
	{"privacy-policy", Info, top("Site-Privacy-Policy: http://shop.example/privacy\n"), top("Site-Privacy-Policy: https://shop.example/privacy\n")},
	{"capability-id", Fail, text("Capability: find-item", "Capability: find_item"), text("Capability: find-item", "Capability: 2-find")},
	{"capability-id", Fail, text("Capability: find-item", "Capability: füllen"), text()},
	{"capability-id-form", Warn, text("Capability: find-item", "Capability: -find"), text("Capability: find-item", "Capability: find-")},
	{"capability-id-form", Warn, text("find-item", strings.Repeat("a", 101)), text("find-item", strings.Repeat("a", 100))},
	{"capability-duplicate", Fail, top("\nCapability: find-item\n"), top("\nCapability: find-items\n")},
	{"capability-id-missing", Fail, text("Capability: find-item", "Capability:"), text()},
	{"endpoint-missing", Fail, text("  Endpoint: https://shop.example/api/find\n", ""), text("https://shop.example/api/find", "nonsense")},
	{"endpoint-missing", Fail, asJSON(`"endpoint": "https://shop.example/api/find", `, ""), asJSON(`"https://shop.example/api/find"`, "null")},
	{"endpoint", Fail, text("https://shop.example/api", "/api"), text("/api/find", "/api/{a b}/find?x=y#z")},
	{"endpoint-https", Fail, text("Endpoint: https", "Endpoint: http"), text("Endpoint: https", "Endpoint: HTTPS")},
	{"endpoint-https", Fail, text("Endpoint: https", "Endpoint: wss"), text("Endpoint: https", "Endpoint: wss", "REST", "WebSocket")},
	{"endpoint-https", Warn, text("Endpoint: https://shop.example", "Endpoint: http://10.0.0.7"), text()},
	{"endpoint-domain", Warn, text("Endpoint: https://shop.example", "Endpoint: https://fish.other.example"), text("Endpoint: https://shop", "Endpoint: https://api.shop")},
	{"endpoint-domain", Warn, text("Endpoint: https://shop.example", "Endpoint: https://other.github.io", "URL: https://shop.example", "URL: https://shop.github.io"),
		top("Declaration-Type: agent\nOperates-On: https://fish.other.example\n")},
	{"placeholder", Info, text("/find", "/{id}"), text("/find", "/{id}", "Description: Find", "Param: id (path, string, required)\n  Description: Find")},
	{"placeholder", Info, text("/find", "/:id/x"), text("/find", "/a:id")},
	{"protocol-missing", Fail, text("  Protocol: REST\n", ""), text("REST", "HTTP")},
	{"protocol", Fail, text("REST", "Rest"), text("REST", "A2A")},
	{"protocol", Fail, text("REST", "REST # over https"), text()},
	{"method", Warn, capField("  Method: GET or POST\n"), capField("  Method: m-search\n")},
	{"method", Info, capField("  Method:\n"), capField("  Method: get\n")},
	{"method", Info, asJSON(`"protocol"`, `"method": "get", "protocol"`), asJSON(`"protocol"`, `"method": "GET", "protocol"`)},
	{"method-protocol", Info, text("REST", "MCP\n  Method: POST"), text("REST", "Mcp\n  Method: POST")},
	{"auth", Fail, capField("  Auth: apikey\n"), capField("  Auth: none\n")},
	{"auth", Fail, asJSON(`"protocol"`, `"auth": {"type": "basic"}, "protocol"`), asJSON(`"protocol"`, `"auth": {}, "protocol"`)},
	{"auth-endpoint-missing", Fail, capField("  Auth: oauth2\n"), capField("  Auth: oauth2\n  Auth-Endpoint: nonsense\n")},
	{"auth-endpoint", Fail, capField("  Auth: oauth2\n  Auth-Endpoint: shop.example/token\n"), capField("  Auth: oauth2\n  Auth-Endpoint: https://id.example/token\n")},
	{"auth-endpoint", Fail, capField("  Auth: oauth2\n  Auth-Endpoint: http://shop.example/token\n"), capField("  Auth: oauth2\n  Auth-Endpoint:\n")},
	{"auth-endpoint-unused", Warn, capField("  Auth: api-key\n  Auth-Endpoint: https://shop.example/token\n"), capField("  Auth: Basic\n  Auth-Endpoint: https://shop.example/token\n")},
	{"scopes-unused", Warn, capField("  Scopes: read\n"), capField("  Scopes:\n")},
	{"scopes-unused", Info, capField("  Auth: bearer-token\n  Scopes: read\n"), capField("  Auth: oauth2\n  Scopes: read\n")},
	{"scopes", Warn, capField("  Auth: oauth2\n  Scopes: read write\n"), capField("  Auth: oauth2\n  Scopes: read,write\n")},
	{"scopes", Warn, capField("  Auth: oauth2\n  Scopes: ,read\n"), capField("  Scopes:\n")},
	{"auth-docs", Info, capField("  Auth: hmac\n"), capField("  Auth: hmac\n  Auth-Docs: nonsense\n")},
	{"document-url", Fail, capField("  OpenAPI: openapi.json\n"), capField("  OpenAPI: https://shop.example/openapi.json\n")},
	{"document-url", Info, capField("  Auth-Docs: http://shop.example/docs\n"), capField("  Auth-Docs: https://shop.example/docs\n")},
	{"rate-limit", Fail, capField("  Rate-Limit: 60 per minute\n"), capField("  Rate-Limit: 0060/minute\n")},
	{"rate-limit", Fail, agent("  Rate-Limit: 0/day\n"), agent("  Rate-Limit: 1/day\n")},
	{"rate-limit", Warn, capField("  Rate-Limit: 1000000001/day\n"), capField("  Rate-Limit: 1000000000/day\n")},
	{"rate-limit", Fail, asJSON(`"*": {}`, `"*": {"rateLimit": {}}`), asJSON(`"*": {}`, `"*": {"rateLimit": {"requests": 6e1, "window": "day"}}`)},
	{"description", Warn, text("  Description: Find an item\n", ""), text("Find an item", "x")},
	{"length", Warn, text("Harbour Shop", strings.Repeat("ä", 201)), text("Harbour Shop", strings.Repeat("🐟", 200))},
	{"length", Warn, top("Site-Description: " + strings.Repeat("d", 501) + "\n"), top("Site-Description: " + strings.Repeat("d", 500) + "\n")},
	{"param", Fail, capField("  Param: q (cookie, string)\n"), capField("  Param: q ( query , string , required )- the - words\n")},
	{"param", Info, capField("  Param: X-Id (header, string)\n"), capField("  Param: x_id.y (header, string)\n")},
	{"param", Info, capField("  Param: q (query, string) -\n"), capField("  Param: q (query, string)\n")},
	{"param", Fail, asJSON(`"protocol"`, `"parameters": [{"name": "q", "type": "string"}], "protocol"`), asJSON(`"protocol"`, `"parameters": [{"name": "a b", "in": "query", "type": "string"}], "protocol"`)},
	{"dash", Warn, capField("  Param: q (query, string) – words\n"), capField("  Param: q (query, string) - words – more\n")},
	{"param-type", Warn, capField("  Param: q (query, int)\n"), capField("  Param: q (query, integer)\n")},
	{"param-protocol", Info, text("REST", "GraphQL\n  Param: q (query, string)"), capField("  Param: q (query, string)\n")},
	{"param-use", Info, capField("  Param: q (path, string)\n"), capField("  Param: q (path, string, required)\n")},
	{"param-use", Info, capField("  Method: HEAD\n  Param: q (body, string)\n"), capField("  Method: PUT\n  Param: q (body, string)\n")},
	{"credential", Fail, top("# hf_" + "Gull7Rope2Mast9Pier4Sand0Kelp5Tide8Buoy3\n"), top("# hf_" + strings.Repeat("x", 40) + "\n")},
	{"credential", Warn, top("# password: " + "Gull7Rope2\n"), top("# password: forgotten\n")},
	{"credential", Info, top("# pk_live_" + "Gull7Rope2Mast9Pier4\n"), top("# pk_live_...\n")},
	{"pattern", Warn, text("Disallow: /staff", "Disallow: staff"), text("Disallow: /staff/*", "Disallow: *.bak")},
	{"pattern-empty", Info, text("Disallow: /staff/*", "Disallow:"), text("Disallow: /staff/*", "Disallow: /")},
	{"wildcard", Info, text("/staff/*", "/$staff"), text("/staff/*", "/*.bak$")},
	{"pattern-conflict", Warn, text("/staff/*", "/api/*"), text("/staff/*", "/api/")},
	{"pattern-conflict", Warn, text("/api/*", "/%7estaff", "/staff/*", "/~staff"), text("Allow: /api/*", "Allow:", "Disallow: /staff/*", "Disallow:")},
	{"endpoint-disallowed", Warn, text("/staff/*", "/api/find"), text("/staff/*", "/api/finder")},
	{"endpoint-disallowed", Warn, text("/staff/*", "/*find$"), top("Declaration-Type: agent\nOperates-On: https://shop.example\nDisallow: /api/find\n")},
	{"grant-unknown", Warn, agent("  Capabilities: find-items\n"), agent("  Capabilities: find-item\n")},
	{"grant-empty", Warn, agent("  Capabilities: find-item,,\n"), agent("  Capabilities: find-item\n")},
	{"grant-empty", Warn, asJSON(`"*": {}`, `"*": {"capabilities": [""]}`), asJSON(`"*": {}`, `"*": {"capabilities": []}`)},
	{"agent-name", Warn, agent("Agent: my bot\n"), agent("Agent: my-bot\n")},
	{"agent-name", Warn, agent("Agent:\n"), agent("Agent: GPTBot\n")},
	{"agent-duplicate", Warn, agent("Agent: bot\nAgent: Bot\n"), agent("Agent: bot\nAgent: bots\n")},
	{"agent-default", Info, text("Agent: *", "Agent: bot"), agent("Agent: bot\n")},
	{"agent-declaration", Fail, agent("Agent: bot\n  Agent-Declaration: operator.example\n"), agent("Agent: bot\n  Agent-Declaration:\n")},
	{"agent-declaration", Warn, agent("Agent: bot\n  Agent-Declaration: http://operator.example/a.txt\n"), agent("Agent: bot\n  Agent-Declaration: https://operator.example/a.txt\n")},
	{"agent-handshake", Warn, agent("Agent: bot\n  Agent-Declaration: " + operator + "\n"), both(agent("Agent: bot\n  Agent-Declaration: "+operator+"\n"),
		operator, "Spec-Version: 1.0\nDeclaration-Type: agent\nOperates-On: https://SHOP.example:443/x\n")},
	{"agent-handshake", Warn, both(agent("Agent: bot\n  Agent-Declaration: "+operator+"\n"), operator,
		"Spec-Version: 1.0\nDeclaration-Type: agent\nOperates-On: https://www.shop.example\n"), both(agent("Agent: bot\n  Agent-Declaration: "+operator+"\n"), operator,
		`{"specVersion": "1.0", "site": {}, "declarationType": "agent", "operatesOn": ["https://shop.example"]}`)},
	{"agent-handshake", Info, both(agent("Agent: bot\n  Capabilities:\n  Agent-Declaration: "+operator+"\n"), operator,
		"Spec-Version: 1.0\nDeclaration-Type: agent\nOperates-On: https://shop.example\nCapability: find-item\n"),
		both(agent("Agent: bot\n  Capabilities: find-item\n  Agent-Declaration: "+operator+"\n"), operator,
			"Spec-Version: 1.0\nDeclaration-Type: agent\nOperates-On: https://shop.example\nCapability: find-item\n")},
	{"unknown", Info, top("Terms: https://shop.example/terms\n"), top("Site-Contact: a@shop.example\n")},
	{"unknown", Info, asJSON(`"protocol"`, `"Protocol": "x", "protocol"`), asJSON(`"*": {}`, `"*": {"capabilities": []}`)},
	{"key-case", Warn, text("Site-Name", "Site-name"), asJSON(`"protocol"`, `"Protocol": "x", "protocol"`)},
	{"indentation", Warn, text("  Protocol", " Protocol"), text("  Protocol", "   Protocol")},
	{"indentation", Warn, agent("  Agent: bot\n"), agent("Agent: bot\n")},
	{"indentation", Warn, text("Allow: /api/*\n", "Allow: /api/*\n  Disallow: /x\n"), text("  Protocol", "\tProtocol")},
	{"line", Warn, top("just words\n"), top("# just words\n  \n")},
	{"line", Warn, top(": words\n"), top("# : words\n")},
	{"repeated", Warn, top("Site-Name: Other\n"), text("Allow: /api/*\n", "Allow: /api/*\nAllow: /x\n")},
	{"repeated", Info, text("Allow: /api/*\n", "Allow: /api/*\nAllow: /api/*\n"), text("Allow: /api/*\n", "Allow: /api/*\nAllow: /api/\n")},
	{"repeated", Warn, capField("  Param: q (query, string)\n  Param: q (query, number)\n"), capField("  Param: q (query, string)\n  Param: q (header, string)\n")},
	{"repeated", Warn, capField("  Rate-Limit: 1/day\n  Rate-Limit: 2/day\n"), agent("  Rate-Limit: 1/day\n")},
	{"characters", Warn, text("Harbour", "Har\x07bour"), text("Harbour", "Har\tbour")},
	{"characters", Warn, text("Harbour", "H\xe4fen"), text("Harbour", "H\u00e4fen")},
	{"characters", Warn, map[string]string{TextPath: strings.ReplaceAll(goodText, "\n", "\r")}, map[string]string{TextPath: strings.ReplaceAll(goodText, "\n", "\r\n")}},
	{"json", Fail, asJSON(`"agents": {"*": {}}}`, `"agents": {"*": {}}} x`), asJSON(`"agents": {"*": {}}}`, `"agents": {"*": {}}}  `)},
	{"json", Fail, map[string]string{JSONPath: "\ufeff" + goodJSON}, asJSON()},
	{"json-type", Fail, asJSON(`"*": {}`, `"*": []`), asJSON(`"protocol"`, `"auth": {"type": "none"}, "protocol"`)},
	{"json-type", Fail, asJSON(`["/api/*"]`, `["/api/*", 5]`), asJSON()},
	{"json-member", Warn, asJSON(`"allow": ["/api/*"], `, ""), asJSON(`["/api/*"]`, "[]")},
	{"json-duplicate", Warn, asJSON(`"protocol"`, `"protocol": "MCP", "protocol"`), asJSON(`"*": {}`, `"*": {}, "a": {}, "b": {}`)},
	{"json-duplicate", Warn, asJSON(`"*": {}`, `"A": {}, "a": {}`), asJSON()},
	{"agents-json", Warn, top("Agents-JSON: https://shop.example/.well-known/agents.json\n"),
		both(top("Agents-JSON: https://SHOP.example/.well-known/agents.json\n"), JSONPath, goodJSON)},
	{"agents-json", Warn, both(top("Agents-JSON: https://www.shop.example/.well-known/agents.json\n"), JSONPath, goodJSON), text()},
	{"agents-json", Info, both(top("Agents-JSON: https://shop.example/a.json\n"), "/a.json", goodJSON), text()},
	{"difference", Fail, both(text("/api/find", "/api/search"), JSONPath, goodJSON), both(text("https://shop.example/api", "HTTPS://SHOP.example:443/api"), JSONPath, goodJSON)},
	{"difference", Warn, both(text("Harbour Shop", "Harbour"), JSONPath, goodJSON), both(text("Harbour Shop", "Harbour Shop "), JSONPath, goodJSON)},
	{"difference", Info, both(text("Find an item", "Find"), JSONPath, goodJSON), both(text(), JSONPath, goodJSON)},
	{"no-capability", Info, map[string]string{TextPath: head}, text()},
	{"no-capability", Warn, map[string]string{TextPath: head + "Declaration-Type: agent\nOperates-On: https://x.example\n"}, text()},
	{"location", Fail, map[string]string{TextRootPath: goodText}, text()},
	{"location", Fail, map[string]string{JSONRootPath: goodJSON}, asJSON()},
	{"root-differs", Warn, both(text(), TextRootPath, goodText+"Agent: bot\n"), both(text(), TextRootPath, goodText)},
	{"root-differs", Warn, both(asJSON(), JSONRootPath, goodJSON+" "), both(text(), TextRootPath, "User-agent: *\nDisallow:\n")},
	{"json-only", Info, asJSON(), both(text(), JSONPath, goodJSON)},
	{"empty", Fail, map[string]string{TextPath: " \n"}, map[string]string{TextPath: "# x\n"}},
	{"bom", Info, map[string]string{TextPath: "\ufeff" + goodText}, text()},
	{"alias", Info, top("Contact: a@shop.example\n"), top("Site-Contact: a@shop.example\n")},
	{"empty-value", Info, top("Generated-At:\n"), top("Generated-At: 2026-05-04T09:30:00Z\n")},
	{"html", Info, map[string]string{TextPath: "\n <!doctype html>"}, text()},
	{"other-format", Warn, map[string]string{TextPath: "User-agent: *\nDisallow:\n"}, text()},
	{"other-format", Info, map[string]string{TextRootPath: "User-agent: *\nDisallow:\n"}, text()},
	{"first-token", Info, agent("Agent: bot\n"), text()},
	{"advisory", Info, text(), map[string]string{TextPath: "User-agent: *\nDisallow:\n"}},
	{"not-compared", Info, both(text(), JSONPath, `{"specVersion": `), both(text(), JSONPath, goodJSON)},
}

// both adds a place to a site.
func both(site map[string]string, place, body string) map[string]string {
	out := map[string]string{place: body}
	for k, v := range site {
		out[k] = v
	}
	return out
}

func auditSite(site map[string]string, strict bool) *Report {
	in := vectorInput{Origin: "https://shop.example", Responses: map[string]vectorReply{}}
	for k, body := range site {
		kind := "text/plain; charset=utf-8"
		if strings.HasSuffix(k, ".json") {
			kind = "application/json; charset=utf-8"
		}
		in.Responses[k] = vectorReply{200, map[string]string{
			"Content-Type": kind, "Cache-Control": "max-age=300", "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET",
		}, []byte(body)}
	}
	c := &collector{origin: in.Origin, left: 50, get: fakeSite(in)}
	c.run()
	return Judge(Input{Origin: in.Origin, Now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), Strict: strict, Replies: c.list})
}

func TestEveryRuleFromBothSides(t *testing.T) {
	covered := map[string]bool{}
	for _, row := range ruleRows {
		id := "agents:" + row.id
		covered[id] = true
		t.Run(row.id+"/"+string(row.severity), func(t *testing.T) {
			bad, good := auditSite(row.bad, false), auditSite(row.good, false)
			if !hasCheck(bad, id, row.severity) {
				t.Errorf("it is not found in %v\n%v", row.bad, ids(bad))
			}
			if hasCheck(good, id, row.severity) {
				t.Errorf("it is found in %v", row.good)
			}
			checkTexts(t, bad)
			checkTexts(t, good)
		})
	}
	// Those that a body alone does not bring about have tests of their own.
	elsewhere := map[string]bool{
		"agents:https": true, "agents:redirect": true, "agents:content-type": true, "agents:charset": true, "agents:content-type-parameter": true,
		"agents:cache-control": true, "agents:cors": true, "agents:too-large": true, "agents:too-many": true,
		"agents:other-convention": true, "agents:not-checked": true,
	}
	for _, r := range Rules {
		if covered[r.ID] == elsewhere[r.ID] {
			t.Errorf("%s is covered here: %t, elsewhere: %t", r.ID, covered[r.ID], elsewhere[r.ID])
		}
	}
}

func ids(rep *Report) (out []string) {
	for _, c := range rep.Checks {
		out = append(out, string(c.Severity)+" "+c.ID)
	}
	return out
}

// The good files are good: nothing to object to, and nothing to note but
// what is said of every file.
func TestGoodFiles(t *testing.T) {
	for _, site := range []map[string]string{text(), both(text(), JSONPath, goodJSON)} {
		if rep := auditSite(site, true); rep.Verdict != VerdictValid || len(rep.Checks) != 1 || rep.Checks[0].ID != "agents:advisory" {
			t.Errorf("%s %v", rep.Verdict, rep.Checks)
		}
	}
}

func TestRuleTable(t *testing.T) {
	seen, last := map[string]bool{}, 0
	numbers := map[int]bool{}
	for _, r := range Rules {
		if seen[r.ID] || !strings.HasPrefix(r.ID, "agents:") || r.About == "" {
			t.Errorf("row %+v", r)
		}
		if r.Number != 0 && r.Number < last {
			t.Errorf("%s is out of order", r.ID)
		}
		seen[r.ID], last, numbers[r.Number] = true, max(last, r.Number), true
	}
	for n := range 71 {
		if !numbers[n] {
			t.Errorf("rule %d has no check", n)
		}
	}
}

func TestStrictMode(t *testing.T) {
	site := capField("  Param: q (query, uuid)\n")
	if r := auditSite(site, false); r.Verdict != VerdictValid || !hasCheck(r, "agents:param-type", Warn) {
		t.Error("by default an odd type is a warning")
	}
	if r := auditSite(site, true); r.Verdict != VerdictInvalid || !hasCheck(r, "agents:param-type", Fail) {
		t.Error("in strict mode an odd type fails")
	}
}
