package main

import "agentaudit/audit/report"

// reasonWords explain the reasons in a few words.
var reasonWords = map[report.Reason]string{
	report.ReasonMissingProfile:   "there is no agentic.json",
	report.ReasonRedirected:       "agentic.json redirects elsewhere",
	report.ReasonRefused:          "not read: private address, too large or compressed",
	report.ReasonInvalidProfile:   "agentic.json breaks the format",
	report.ReasonAPIMismatch:      "an OpenAPI document is missing or disagrees",
	report.ReasonBrokenDocument:   "a listed document cannot be read",
	report.ReasonTextConflict:     "agentic.txt differs from agentic.json",
	report.ReasonReadmeConflict:   "the README links to other files",
	report.ReasonNoSuchHost:       "the host name does not exist",
	report.ReasonBadCertificate:   "the certificate is not valid",
	report.ReasonUnexpectedStatus: "agentic.json answers with an odd status",
	report.ReasonIncomplete:       "usable, but something is missing",
	report.ReasonComplete:         "all in order",
	report.ReasonBlocked:          "a login, block or bot wall stands before it",
	report.ReasonServerError:      "the server answers with an error",
	report.ReasonUnreachable:      "the site could not be reached",
	report.ReasonInternal:         "our own fault; see the log",
}

// checkWords say what a check (or a class of checks) looks at.
func checkWords(id string) string {
	return map[string]string{
		"json":                 "agentic.json is there and is JSON",
		"json-type":            "agentic.json is served as application/json",
		"structure":            "agentic.json keeps to its format",
		"origin":               "the profile's origin is where it is served",
		"bindings":             "five OpenAPI documents at the most",
		"api":                  "OpenAPI documents fit the actions",
		"resource":             "listed documents can be read and agree",
		"limit":                "more documents than one audit reads",
		"linked":               "connections that are only listed (information)",
		"txt":                  "agentic.txt is there and matches",
		"txt-type":             "agentic.txt is served as text/plain",
		"readme":               "README.md is there and is Markdown",
		"readme:json":          "README links to agentic.json",
		"readme:txt":           "README links to agentic.txt",
		"readme:specification": "README links to ruagentic.org",
		"readme:directory":     "README links to ruagentic.com",
		"readme:filename":      "README.md is not called README.me",
	}[id]
}
