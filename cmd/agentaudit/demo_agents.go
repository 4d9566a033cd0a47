package main

import (
	"net/http"

	"agentaudit/audit/agentstxt"
	"agentaudit/fetch/fakenet"
)

// demoDeclaration is what a site of the demo publishes under the names of the
// other convention, agents.txt, and what an audit must say of it.
type demoDeclaration struct {
	verdict agentstxt.Verdict
	about   string
	// files are by path, with the header they are served with.
	files map[string]file
}

const (
	agentsTextType = "text/plain; charset=utf-8"
	agentsJSONType = "application/json; charset=utf-8"
)

// demoAgents lists the sites that have an agents.txt or agents.json, by host.
func demoAgents() map[string]demoDeclaration {
	ferries := `Spec-Version: 1.0
Site-Name: Harbour Ferries
Site-URL: https://ferries.example

Capability: list-sailings
  Endpoint: https://ferries.example/sailings
  Protocol: REST
  Method: GET
  Description: All sailings of a day
  Rate-Limit: 60/minute

Allow: /
Disallow: /staff/

Agent: *
`
	json, _ := agentstxt.ParseText([]byte(ferries)).Convert(agentstxt.JSONForm)
	mcp := func(host, endpoint string) string {
		return "Spec-Version: 1.0\nSite-Name: Lantern Library\nSite-URL: https://" + host + "\n\nCapability: catalogue\n  Endpoint: " + endpoint +
			"\n  Protocol: MCP\n  Description: Search the catalogue\n"
	}
	return map[string]demoDeclaration{
		"ferries.example": {agentstxt.VerdictValid, "text and JSON that say the same", map[string]file{
			agentstxt.TextPath: {agentsTextType, ferries}, agentstxt.JSONPath: {agentsJSONType, string(json)}}},
		"tools.example": {agentstxt.VerdictValid, "the MCP server is listed in both conventions", map[string]file{
			agentstxt.TextPath: {agentsTextType, mcp("tools.example", "https://mcp.tools.example/mcp")}}},
		"legacy.example": {agentstxt.VerdictValid, "an MCP server that agentic.json does not list", map[string]file{
			agentstxt.TextPath: {agentsTextType, mcp("legacy.example", "https://legacy.example/mcp")}}},
		"library.example": {agentstxt.VerdictInvalid, "an endpoint without https, and no Spec-Version", map[string]file{
			agentstxt.TextPath: {agentsTextType, mcp("library.example", "http://library.example/mcp")[len("Spec-Version: 1.0\n"):]}}},
		"lower.example": {agentstxt.VerdictInvalid, "only at the root, where the draft does not look", map[string]file{
			agentstxt.TextRootPath: {agentsTextType, mcp("lower.example", "https://lower.example/mcp")}}},
		"helpdesk.example": {agentstxt.VerdictOther, "a file of another format under the same name", map[string]file{
			agentstxt.TextRootPath: {agentsTextType, "# Standard: https://agents-txt.com\nProtocols: MCP\nMCP: https://helpdesk.example/mcp\n"}}},
		"app.example": {agentstxt.VerdictAbsent, "a web page where the file would be", nil},
	}
}

// online puts the files on a site of the fake internet.
func (d demoDeclaration) online(s *fakenet.Site) {
	for path, f := range d.files {
		s.Static(path, http.StatusOK, http.Header{
			"Content-Type": {f.contentType}, "Cache-Control": {"public, max-age=300"}, "Access-Control-Allow-Origin": {"*"},
		}, f.body)
	}
}
