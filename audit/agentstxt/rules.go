package agentstxt

// Rule is one kind of check: its stable id and the rule of section 4 that it
// speaks for.
type Rule struct {
	// ID is "agents:" and a word. It never changes its meaning.
	ID string
	// Number is the rule in section 4, 0 for what has none there (serving,
	// and notes on what was not judged).
	Number int
	// About says in a few words what is looked at.
	About string
}

// Rules is the table of all checks: first by rule number, then what has none.
// A report holds checks with these ids only.
var Rules = []Rule{
	{"agents:spec-version-missing", 1, "Spec-Version is there"},
	{"agents:spec-version", 2, "Spec-Version is exactly 1.0"},
	{"agents:site-name", 3, "Site-Name is there"},
	{"agents:site-url-missing", 4, "Site-URL is there"},
	{"agents:site-url", 5, "Site-URL is an absolute URL with a host"},
	{"agents:site-url-https", 6, "Site-URL is https"},
	{"agents:site-url-host", 7, "Site-URL names the host that the file came from"},
	{"agents:site-url-extra", 8, "Site-URL has no path, query, fragment or user"},
	{"agents:generated-at", 9, "Generated-At is an ISO 8601 time in UTC"},
	{"agents:generated-future", 10, "Generated-At is not in the future"},
	{"agents:declaration-type", 11, "Declaration-Type is platform or agent"},
	{"agents:operates-on-missing", 12, "an agent declaration says where the agent operates"},
	{"agents:operates-on-unused", 13, "Operates-On stands in agent declarations only"},
	{"agents:operates-on", 14, "Operates-On is an https URL"},
	{"agents:contact", 15, "Site-Contact is one e-mail address"},
	{"agents:privacy-policy", 16, "Site-Privacy-Policy is a URL"},
	{"agents:capability-id", 17, "capability ids use a-z, 0-9 and hyphens only"},
	{"agents:capability-id-form", 18, "capability ids begin with no hyphen and are at most 100 long"},
	{"agents:capability-duplicate", 19, "capability ids are unique"},
	{"agents:capability-id-missing", 20, "every capability has an id"},
	{"agents:endpoint-missing", 21, "every capability has an Endpoint"},
	{"agents:endpoint", 22, "Endpoint is an absolute URL with a host"},
	{"agents:endpoint-https", 23, "Endpoint is https, or wss for WebSocket"},
	{"agents:endpoint-domain", 24, "Endpoint belongs to the site's domain"},
	{"agents:placeholder", 25, "placeholders in an Endpoint's path are declared"},
	{"agents:protocol-missing", 26, "every capability has a Protocol"},
	{"agents:protocol", 27, "Protocol is in the list"},
	{"agents:method", 28, "Method is one HTTP method"},
	{"agents:method-protocol", 29, "Method stands with REST only"},
	{"agents:auth", 30, "Auth is in the list"},
	{"agents:auth-endpoint-missing", 31, "token types say where tokens are got"},
	{"agents:auth-endpoint", 32, "Auth-Endpoint is an absolute https URL"},
	{"agents:auth-endpoint-unused", 33, "Auth-Endpoint stands with token types only"},
	{"agents:scopes-unused", 34, "Scopes stand with oauth2 only"},
	{"agents:scopes", 35, "scopes are words"},
	{"agents:auth-docs", 36, "api-key and hmac are documented"},
	{"agents:document-url", 37, "Auth-Docs and OpenAPI are absolute URLs"},
	{"agents:rate-limit", 38, "Rate-Limit is N/window with N of 1 or more"},
	{"agents:description", 39, "every capability has a Description"},
	{"agents:length", 40, "names and descriptions keep the reference library's lengths"},
	{"agents:param", 41, "parameters are well formed"},
	{"agents:dash", 41, "a hyphen stands before a Param's text"},
	{"agents:param-type", 42, "parameter types are in the list"},
	{"agents:param-protocol", 43, "parameters stand with REST only"},
	{"agents:param-use", 44, "parameters fit path and method"},
	{"agents:credential", 45, "no credential is published"},
	{"agents:pattern", 46, "patterns begin with / or *"},
	{"agents:pattern-empty", 47, "patterns are not empty"},
	{"agents:wildcard", 48, "$ stands at the end of a pattern only"},
	{"agents:pattern-conflict", 49, "no pattern is both allowed and disallowed"},
	{"agents:endpoint-disallowed", 50, "no capability's endpoint is disallowed by the file itself"},
	{"agents:grant-unknown", 51, "granted capabilities are declared"},
	{"agents:grant-empty", 52, "lists of granted capabilities have no empty item"},
	{"agents:agent-name", 53, "agent names can match a User-Agent"},
	{"agents:agent-duplicate", 54, "one block per agent"},
	{"agents:agent-default", 55, "there is a block for all other agents"},
	{"agents:agent-declaration", 56, "Agent-Declaration is an absolute https URL"},
	{"agents:agent-handshake", 57, "the operator's declaration names this site"},
	{"agents:unknown", 58, "fields are those of the draft"},
	{"agents:key-case", 59, "field names are spelled as in the draft"},
	{"agents:indentation", 60, "lines are indented as the reference library reads them"},
	{"agents:line", 61, "every line is a field, a comment or blank"},
	{"agents:repeated", 62, "single fields are not repeated"},
	{"agents:characters", 63, "no control characters, invalid UTF-8 or lone CR"},
	{"agents:json", 64, "the JSON is valid and an object"},
	{"agents:json-type", 65, "JSON members have their types"},
	{"agents:json-member", 66, "the JSON has what reference readers require"},
	{"agents:json-duplicate", 67, "JSON member and agent names are not repeated"},
	{"agents:agents-json", 68, "Agents-JSON points to this site's JSON"},
	{"agents:difference", 69, "text and JSON say the same"},
	{"agents:no-capability", 70, "something is declared"},

	{"agents:location", 0, "the file is at its well-known place"},
	{"agents:root-differs", 0, "a copy at the root is the same"},
	{"agents:json-only", 0, "there is a text file beside the JSON"},
	{"agents:https", 0, "the file is served over https"},
	{"agents:redirect", 0, "the file is served without redirects"},
	{"agents:content-type", 0, "the media type is right"},
	{"agents:charset", 0, "the charset is utf-8"},
	{"agents:content-type-parameter", 0, "the media type has no other parameters"},
	{"agents:cache-control", 0, "caching is allowed for a sensible time"},
	{"agents:cors", 0, "web pages of other origins may read the file"},
	{"agents:empty", 0, "the file is not empty"},
	{"agents:bom", 0, "the text begins with no byte order mark"},
	{"agents:alias", 0, "site fields have the draft's names"},
	{"agents:empty-value", 0, "optional fields have a value"},
	{"agents:html", 0, "an HTML page is no file"},
	{"agents:other-format", 0, "the file is of this draft's format"},
	{"agents:too-large", 0, "the file has at most 1 MiB"},
	{"agents:too-many", 0, "lines and blocks keep the protective limits"},
	{"agents:first-token", 0, "agents send the name of their block as first token"},
	{"agents:advisory", 0, "declarations are advice, servers enforce"},
	{"agents:not-compared", 0, "text and JSON could be compared"},
	{"agents:other-convention", 0, "MCP and A2A endpoints are listed in both conventions"},
	{"agents:not-checked", 0, "everything could be looked at"},
}

var ruleNumbers = func() map[string]int {
	m := make(map[string]int, len(Rules))
	for _, r := range Rules {
		m[r.ID] = r.Number
	}
	return m
}()

// Severity is how much a check matters (specification, "Severity words").
type Severity string

// The severities, worst first.
const (
	// Fail breaks something mandatory, or exposes a credential.
	Fail Severity = "fail"
	// Warn is a SHOULD not followed, or what common readers misread.
	Warn Severity = "warn"
	// Info is worth saying.
	Info Severity = "info"
)
