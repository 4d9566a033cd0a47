package report

// reasonWords explain the reasons in a few words.
var reasonWords = map[Reason]string{
	ReasonMissingProfile:   "there is no agentic.json",
	ReasonRedirected:       "agentic.json redirects elsewhere",
	ReasonRefused:          "not read: private address, too large or compressed",
	ReasonInvalidProfile:   "agentic.json breaks the format",
	ReasonAPIMismatch:      "an OpenAPI document is missing or disagrees",
	ReasonBrokenDocument:   "a listed document cannot be read",
	ReasonTextConflict:     "agentic.txt differs from agentic.json",
	ReasonReadmeConflict:   "the README links to other files",
	ReasonNoSuchHost:       "the host name does not exist",
	ReasonBadCertificate:   "the certificate is not valid",
	ReasonUnexpectedStatus: "agentic.json answers with an odd status",
	ReasonIncomplete:       "usable, but something is missing",
	ReasonComplete:         "all in order",
	ReasonBlocked:          "a login, block or bot wall stands before it",
	ReasonServerError:      "the server answers with an error",
	ReasonUnreachable:      "the site could not be reached",
	ReasonInternal:         "our own fault; see the log",
}

// Words explain the reason in a few words, for people who see it first; "" for
// a word that is no reason.
func (r Reason) Words() string { return reasonWords[r] }
