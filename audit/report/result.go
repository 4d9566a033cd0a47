package report

import (
	"encoding/json"
	"time"
)

// RulesVersion names the rules that judge today. It changes whenever the same
// bytes could be judged otherwise than before, and is kept with each result.
const RulesVersion = "2026-11"

// Outcome is what lists, counts, badges and alerts speak of (pipeline
// specification, "Outcome and reason").
type Outcome string

// The outcomes. Unchecked means that the site gave no definite answer: it is
// no verdict about the site.
const (
	OutcomeSuccessful Outcome = "successful"
	OutcomePartial    Outcome = "partial"
	OutcomeFailed     Outcome = "failed"
	OutcomeUnchecked  Outcome = "unchecked"
)

// Outcomes lists all outcomes, best first.
var Outcomes = []Outcome{OutcomeSuccessful, OutcomePartial, OutcomeFailed, OutcomeUnchecked}

// Reason is the one word behind an outcome; the first that applies wins
// (pipeline specification, "Outcome and reason").
type Reason string

// The reasons, in the order in which they are looked for.
const (
	ReasonMissingProfile   Reason = "missing-profile"
	ReasonRedirected       Reason = "redirected"
	ReasonRefused          Reason = "refused"
	ReasonInvalidProfile   Reason = "invalid-profile"
	ReasonAPIMismatch      Reason = "api-mismatch"
	ReasonBrokenDocument   Reason = "broken-document"
	ReasonTextConflict     Reason = "txt-conflict"
	ReasonReadmeConflict   Reason = "readme-conflict"
	ReasonNoSuchHost       Reason = "no-such-host"
	ReasonBadCertificate   Reason = "bad-certificate"
	ReasonUnexpectedStatus Reason = "unexpected-status"
	ReasonIncomplete       Reason = "incomplete"
	ReasonComplete         Reason = "complete"

	// The reasons for [OutcomeUnchecked].
	ReasonBlocked     Reason = "blocked"
	ReasonServerError Reason = "server-error"
	ReasonUnreachable Reason = "unreachable"
	// ReasonInternal is our own fault: a panic while auditing the site.
	ReasonInternal Reason = "internal-error"
)

// Reasons lists all reasons in the order of their definition.
var Reasons = []Reason{
	ReasonMissingProfile, ReasonRedirected, ReasonRefused, ReasonInvalidProfile, ReasonAPIMismatch,
	ReasonBrokenDocument, ReasonTextConflict, ReasonReadmeConflict, ReasonNoSuchHost, ReasonBadCertificate,
	ReasonUnexpectedStatus, ReasonIncomplete, ReasonComplete, ReasonBlocked, ReasonServerError,
	ReasonUnreachable, ReasonInternal,
}

// Evidence is what one read left behind, good or bad. It holds no body.
type Evidence struct {
	URL string `json:"url"`
	// Address is the IP address and port that was connected to, "" if none was.
	Address string `json:"address,omitempty"`
	// TLS is the protocol version, as in "TLS 1.3".
	TLS    string `json:"tls,omitempty"`
	Status int    `json:"status,omitempty"`
	// MediaType is the Content-Type header as received.
	MediaType string `json:"mediaType,omitempty"`
	// Bytes counts the raw bytes of the body as received.
	Bytes int64 `json:"bytes"`
	// SHA256 is the hash of these bytes in lower case hex, "" without a body.
	SHA256 string `json:"sha256,omitempty"`
	// Error is a word for what went wrong (a fetch kind), Message the sentence.
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
	// StartedAt is when the read began, DurationMs how long it took.
	StartedAt  time.Time `json:"startedAt"`
	DurationMs int64     `json:"durationMs"`
}

// Result is what one audit of one target came to: the outcome with the
// reports behind it.
type Result struct {
	Outcome Outcome
	Reason  Reason
	// Detail is a sentence that says what decided, for people.
	Detail string
	// Report is never nil in a result that an audit returns.
	Report *Report
	// AgentsVerdict and Agents are the agents.txt audit, "" and nil if there
	// was none. Discovery is the report of a scan (discovery.Report), nil if
	// there was none. FixKit is what mends the publication (publication.Kit),
	// nil where nothing is wrong or no verdict was reached.
	AgentsVerdict string
	Agents        json.RawMessage
	Discovery     json.RawMessage
	FixKit        json.RawMessage
	Evidence      []Evidence
	// RulesVersion is the value of [RulesVersion] at the time.
	RulesVersion string
	StartedAt    time.Time
	FinishedAt   time.Time
}
