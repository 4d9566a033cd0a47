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
