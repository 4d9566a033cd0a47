package agentstxt

import (
	"net/http"
	"strings"
	"testing"
)

func TestTextFormats(t *testing.T) {
	for _, row := range []struct {
		want Format
		body string
	}{
		{Draft, "spec-version: 1.0\n"},
		{Draft, "User-agent: *\nDisallow: /\n# Spec-Version: 1.0\n"},
		{Draft, "Capability: x\n  Protocol: MCP\n"},
		{Draft, "Site-Name: x\nSite-URL: y\nMood: good\n"},
		{Unrecognised, "# see https://shop.example/agents.txt\n"},
		{Unrecognised, "Agent: bot\n  Rate-Limit: 5/day\n"},
		{Unrecognised, "prose\nand more prose\n"},
		{Absent, "\ufeff <html>"},
		{"other:json-body", `{"broken`},
		{"other:json-body", `[1, 2]`},
		{"other:jaspervanveen", "[Agent: *]\nAllow: /\n"},
		{"other:jaspervanveen", "Agents-Txt-Version: 0.1\nContact: x\n"},
		{"other:pointer-stub", "# agents\nThis file has moved to /.well-known/agents.txt\n"},
		{"other:pointer-stub", "Agents-JSON: https://shop.example/.well-known/agents.json\n"},
		{"other:srijal", "*" + strings.Repeat("0a", 32) + "\n/ DISALLOW\n"},
		{"other:srijal", "/a ALLOW\n/b DISALLOW x=1\nnote\n"},
		{"other:agents-txt.com", "# Standard: https://agentstxt.dev\nSite-Name: x\nSite-URL: y\nMCP: z\n"},
		{"other:agents-txt.com", "Protocols: x402\nWebMCP: yes\n"},
		{"other:agents-protocol", "Site: Shop\nURL: https://shop.example\nAllow: search\nAllow: cart.add\nFlow: buy\n"},
		{"other:agent-action-policy", "> Agents, read this.\nPolicy: https://shop.example/agent-policy.json\nContact: a@shop.example\n"},
		{"other:asturwebs", "# agents.txt\n# Version: 2.0\n# Updated: 2026\nname: shop\n"},
		{"other:crashland66", "User-Agent: *\nAllow: /\nCapabilities:\n  - name: /search\n    about: find\n"},
		{"other:crashland66", "User-Agent: *\nAllow: /\nBooking: yes\nRate-Limits: none\n"},
		{"other:dennj", "Name: Shop\nLogo: l.png\nDescription: x\nAPI: https://shop.example/api\nAuthor: me\n"},
		{"other:dennj", "Agent: Shop\nDescription: x\nCommunication-Protocol: http\nPayment-System: none\n"},
		{"other:agent-layer", "User-agent: *\nAllow: /\nDeny: /x\n"},
		{"other:agent-layer", "User-agent: bot\nAllow: /\nRate-limit: 5/60s\nAuth: bearer https://x.example\n"},
		{"other:actorial", "Site: x\nAuthorization: session\nMCP: y\nWebMCP: z\nUCP: u\n"},
		{"other:adp", "Engine: ADP/1.0\nAllow: read\n"},
		{"other:action-words", "Disallow-action: purchase\nUser-agent: *\nDisallow: /\n"},
		{"other:agentnav", "SITE: x\nURL: y\n== SHELVES ==\n"},
		{capabilityLookAlike, "Capability: x\n  Path: /x\n"},
		{"other:robots", "User-agent: *\nDisallow: /x\nLLMs-Txt: y\nMCP-Server: z\nAPI-Docs: d\nContact: c\n"},
		{"other:robots", "User-agent: *\nCrawl-delay: 5\n"},
		{"other:yaml", "name: shop\nagents:\n  - bot\n  - gpt\n"},
		{"other:yaml", "site:\n  Name: shop\n  url: x\n---\n"},
		{"other:markdown", "# Shop\n\nWe sell nets and ropes.\n"},
		{"other:markdown", "Agents may read:\n- [nets](https://shop.example/nets)\n- [ropes](https://shop.example/ropes)\n"},
		{"other:ad-hoc", "Company: Shop\nRegion: North\n"},
	} {
		if got := textFormat(ParseText([]byte(row.body))); got != row.want {
			t.Errorf("%q is %s, want %s", row.body, got, row.want)
		}
	}
}

func TestJSONFormats(t *testing.T) {
	for _, row := range []struct {
		want Format
		body string
	}{
		{Draft, `{"specVersion": 1, "capabilities": []}`},
		{Draft, `{"specVersion": "2.0", "site": {}}`},
		{Draft, `{"site": {}, "capabilities": [{"id": "x", "protocol": "MCP"}]}`},
		{Draft, `{"specVersion": "1.0", "site"`},
		{Draft, `{"specVersion": "1.0", "site": {}, "agents": [{"name": "*"}], "capabilities": [{"id": "a", "auth": "none", "params": []}]}`},
		{Unrecognised, `{"site": `},
		{Unrecognised, `null`},
		{Unrecognised, `17`},
		{Unrecognised, `{}`},
		{Unrecognised, `Spec-Version: 1.0`},
		{Absent, ` <!doctype html>`},
		{"other:unrelated-data", `[]`},
		{"other:unrelated-data", `{"status": "ok", "data": [{"a": 1}]}`},
		{"other:unrelated-data", `{"staff": [{"Name": "x", "Rating": 5}]}`},
		{"other:wild-card", `{"flows": [{}], "sources": []}`},
		{"other:agents-txt.com", `{"$schema": "https://agentstxt.dev/x.json"}`},
		{"other:agents-txt.com", `{"version": "1.0", "site": {"name": "x"}, "skills": []}`},
		{"other:agents-protocol", `{"protocol_version": "0.1.0", "site": {}, "capabilities": [{"name": "search", "endpoint": "/s", "method": "GET"}]}`},
		{"other:a2a-agent-card", `{"name": "x", "capabilities": {"streaming": true}}`},
		{"other:a2a-agent-card", `{"name": "x", "skills": [], "supportedInterfaces": []}`},
		{"other:agentlookup-v1", `{"schema": "agentlookup-v1", "agents": []}`},
		{"other:agent-directory", `{"name": "list", "agents": [{"publicKey": "x"}]}`},
		{"other:leonting1010", `{"version": "1", "name": "x", "data": [], "actions": []}`},
		{"other:jmilinovich", `{"site_info": {}, "intents": {"supported": []}}`},
		{"other:lando22", `{"apiVersion": "1", "baseUrl": "x", "pages": []}`},
		{"other:aos", `{"$schema": "https://runaos.example/s.json", "site_name": "x", "actions": []}`},
		{"other:actorial", `{"version": "0.1", "site": "https://x", "authorization": [], "mcp": "y", "tools": []}`},
		{"other:openai-plugin", `{"schema_version": "v1", "name_for_human": "x"}`},
		{"other:asturwebs", `{"agents-txt": "2.0"}`},
		{"other:agent-action-policy", `{"agentPolicyVersion": "0.1"}`},
		{"other:ai-catalog", `{"specVersion": "1.0", "host": {}, "entries": []}`},
		{"other:vendor-schema", `{"$schema": "https://vendor.example/s", "name": "x"}`},
		{"other:ad-hoc", `{"name": "x", "url": "y", "contact": "z", "capabilities": {"search": true}}`},
	} {
		if got := jsonFormat(ParseJSON([]byte(row.body))); got != row.want {
			t.Errorf("%s is %s, want %s", row.body, got, row.want)
		}
	}
}

// Every format that can be named is described in words.
func TestFormatsHaveTitles(t *testing.T) {
	for name, title := range formatTitles {
		if title == "" || strings.HasSuffix(title, ".") {
			t.Errorf("%s: %q", name, title)
		}
	}
	rep := judgeBody(JSONPath, `{"agentPolicyVersion": "0.1"}`)
	if len(rep.Checks) != 1 || !strings.Contains(rep.Checks[0].Detail, "agent-action-policy: an Agent Action Policy") {
		t.Errorf("%+v", rep.Checks)
	}
}

// What answers decides: pages, refusals and trouble are no invalid files.
func TestStates(t *testing.T) {
	const origin = "https://shop.example"
	html := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	for _, row := range []struct {
		name    string
		text    Reply
		format  Format
		verdict Verdict
	}{
		{"not found", Reply{Status: 404}, Absent, VerdictAbsent},
		{"gone", Reply{Status: 410}, Absent, VerdictAbsent},
		{"soft 404", Reply{Status: 200, Header: html, Body: []byte("Not found")}, Absent, VerdictAbsent},
		{"page without type", Reply{Status: 200, Body: []byte("\r\n<p>")}, Absent, VerdictAbsent},
		{"draft as a page", Reply{Status: 200, Header: html, Body: []byte(goodText)}, Draft, VerdictInvalid},
		{"broken draft as a page", Reply{Status: 200, Header: html, Body: []byte("Site-Name: x\n")}, Absent, VerdictAbsent},
		{"forbidden", Reply{Status: 403}, Unchecked, VerdictUnchecked},
		{"too many requests", Reply{Status: 429}, Unchecked, VerdictUnchecked},
		{"legal reasons", Reply{Status: 451}, Unchecked, VerdictUnchecked},
		{"server error", Reply{Status: 502}, Unchecked, VerdictUnchecked},
		{"timeout", Reply{Kind: "timeout", Message: "no answer within 8 seconds"}, Unchecked, VerdictUnchecked},
		{"bot wall", Reply{Status: 200, Header: http.Header{"Cf-Mitigated": {"challenge"}}, Body: []byte("<html>")}, Unchecked, VerdictUnchecked},
		{"redirect to a page", Reply{Status: 302, Header: http.Header{"Location": {"/"}}}, Absent, VerdictAbsent},
		{"redirect to itself", Reply{Status: 302, Header: http.Header{"Location": {TextPath}}}, Absent, VerdictAbsent},
		{"redirect nowhere", Reply{Status: 302}, Absent, VerdictAbsent},
		{"redirect to what is refused", Reply{Status: 302, Header: http.Header{"Location": {"http://10.0.0.1/"}}}, Absent, VerdictAbsent},
		{"no content", Reply{Status: 204}, Absent, VerdictAbsent},
		{"blank", Reply{Status: 200, Body: []byte("\ufeff \n")}, Unrecognised, VerdictInvalid},
	} {
		get := func(url string) Reply {
			switch url {
			case origin + TextPath:
				return row.text
			case origin + "/":
				return Reply{Status: 200, Header: html, Body: []byte("<html>")}
			case "http://10.0.0.1/":
				return Reply{Kind: "refused", Message: "10.0.0.1 is not public"}
			}
			return Reply{Status: 404}
		}
		c := &collector{origin: origin, left: 10, get: get}
		c.run()
		rep := Judge(Input{Origin: origin, Replies: c.list})
		if rep.Format != row.format || rep.Verdict != row.verdict {
			t.Errorf("%s: %s, %s; want %s, %s; %v", row.name, rep.Format, rep.Verdict, row.format, row.verdict, rep.Checks)
		}
		if rep.Verdict == VerdictUnchecked && !hasCheck(rep, "agents:not-checked", Info) {
			t.Errorf("%s: nothing says why", row.name)
		}
		if len(rep.Observations) != len(c.list) {
			t.Errorf("%s: %d observations of %d requests", row.name, len(rep.Observations), len(c.list))
		}
	}
}

// A JSON that gives no answer leaves a valid text valid.
func TestOneUncheckedFile(t *testing.T) {
	const origin = "https://shop.example"
	rep := Judge(Input{Origin: origin, Replies: []Reply{
		{URL: origin + TextPath, Status: 200, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: []byte(goodText)},
		{URL: origin + JSONPath, Status: 503},
	}})
	if rep.Verdict != VerdictValid || !hasCheck(rep, "agents:not-checked", Info) {
		t.Errorf("%s %v", rep.Verdict, rep.Checks)
	}
}
