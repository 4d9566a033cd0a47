package report

import "strings"

// Rule is a class of checks: what all checks of one kind look at.
type Rule struct {
	// ID is the id of the checks, or what those of a class begin with ("api"
	// for api:/openapi.json).
	ID string
	// Words say what it looks at, as a clause without a final full stop.
	Words string
	// HelpURL is the page of the convention that explains it.
	HelpURL string
}

const help = "https://ruagentic.org/docs/"

// Rules are all classes of checks, in the order in which reports list them
// (specification section 7).
var Rules = []Rule{
	{"json", "agentic.json is there and is JSON", help + "PUBLICATION.md"},
	{"json-type", "agentic.json is served as application/json", help + "PUBLICATION.md"},
	{"structure", "agentic.json keeps to its format", help + "SPEC.md"},
	{"origin", "the profile's origin is where it is served", help + "PUBLICATION.md"},
	{"bindings", "five OpenAPI documents at the most", help + "SPEC.md"},
	{"api", "OpenAPI documents fit the actions", help + "SPEC.md"},
	{"resource", "listed documents can be read and agree", help + "SITE-PROFILE.md"},
	{"limit", "more documents than one audit reads", help + "AUDIT.md"},
	{InfoCheck, "connections that are only listed (information)", help + "AUDIT.md"},
	{"txt", "agentic.txt is there and matches", help + "AGENTIC-TXT.md"},
	{"txt-type", "agentic.txt is served as text/plain", help + "AGENTIC-TXT.md"},
	{"readme", "README.md is there and is Markdown", help + "PUBLICATION.md"},
	{"readme:json", "README links to agentic.json", help + "PUBLICATION.md"},
	{"readme:txt", "README links to agentic.txt", help + "PUBLICATION.md"},
	{"readme:specification", "README links to ruagentic.org", help + "PUBLICATION.md"},
	{"readme:directory", "README links to ruagentic.com", help + "PUBLICATION.md"},
	{"readme:filename", "README.md is not called README.me", help + "PUBLICATION.md"},
}

// InfoCheck is the id of the one check that never asks for anything, although
// it is no pass.
const InfoCheck = "linked"

// CheckClass is the part of a check's id that is the same for all sites: "api"
// for api:/openapi.json, "resource" for resource:https://site.example/llms.txt,
// and the whole id for others.
func CheckClass(id string) string {
	for _, class := range []string{"api", "resource"} {
		if strings.HasPrefix(id, class+":") {
			return class
		}
	}
	return id
}

// CheckWords say what a check, or a class of checks, looks at; "" for an id
// that is none.
func CheckWords(id string) string {
	class := CheckClass(id)
	for _, r := range Rules {
		if r.ID == class {
			return r.Words
		}
	}
	return ""
}
