package audit

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"agentaudit/audit/agentstxt"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// Role says what a read is for.
type Role string

// The roles, in the order in which files are read.
const (
	RoleProfile  Role = "profile"
	RoleText     Role = "text"
	RoleReadme   Role = "readme"
	RoleDocument Role = "document"
	RoleLLMs     Role = "llms"
)

// Read is one file as it was read, or why it was not.
type Read struct {
	Role Role   `json:"role"`
	URL  string `json:"url"`
	// Status is the HTTP status, 0 where no answer came.
	Status      int    `json:"status,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	// Body is what the site sent, byte for byte; nil after a failure.
	Body []byte `json:"body,omitempty"`
	// Bytes counts the raw bytes received, also of bodies that were refused.
	Bytes int64 `json:"bytes,omitempty"`
	// Kind, Message and Advice describe a failure; Kind is "" after an answer.
	Kind    fetch.Kind `json:"kind,omitempty"`
	Message string     `json:"message,omitempty"`
	Advice  string     `json:"advice,omitempty"`
	// Location is where a refused redirect leads.
	Location string `json:"location,omitempty"`
	// Limit is the size limit that applied, in bytes.
	Limit      int64         `json:"limit"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Challenge reports a header by which a bot wall makes itself known.
	Challenge bool `json:"challenge,omitempty"`
	// Address and TLS say how the connection was made, "" without one.
	Address string        `json:"address,omitempty"`
	TLS     string        `json:"tls,omitempty"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed"`
}

// Bundle is all that one audit read: the whole input of [Judge]. It can be
// kept as JSON and judged again.
type Bundle struct {
	ProfileURL string    `json:"profileUrl"`
	ReadmeURL  string    `json:"readmeUrl,omitempty"`
	ObservedAt time.Time `json:"observedAt"`
	Reads      []Read    `json:"reads"`
	// Agents are the answers for agents.txt and agents.json, nil where these
	// were not to be audited ([CollectAgents]).
	Agents []agentstxt.Reply `json:"agents,omitzero"`

	// target and subject are what Collect has worked out already; Judge
	// works them out again for a bundle that was read from JSON.
	target  *Target
	subject *subject
}

// first is the first read of a role, nil if there was none.
func (b *Bundle) first(role Role) *Read {
	for i := range b.Reads {
		if b.Reads[i].Role == role {
			return &b.Reads[i]
		}
	}
	return nil
}

// document is the read of a document's URL: a read made for it or, where the
// same URL was read for another reason with a larger or equal limit or to its
// end, that one.
func (b *Bundle) document(location string) *Read {
	var other *Read
	for i := range b.Reads {
		r := &b.Reads[i]
		if r.URL != location {
			continue
		}
		if r.Role == RoleDocument {
			return r
		}
		if r.Kind != fetch.KindTooLarge {
			other = r
		}
	}
	return other
}

// newRead records what a fetch came to.
func newRead(role Role, u *weburl.URL, limit int64, resp *fetch.Response, err error) Read {
	r := Read{Role: role, URL: u.Location(), Limit: limit}
	if err == nil {
		r.Status, r.ContentType, r.Body, r.Bytes = resp.Status, resp.ContentType, resp.Body, resp.Bytes
		r.RetryAfter = resp.RetryAfter
		r.Challenge = challengeHeader(resp.Header)
		r.trace(resp.Trace)
		return r
	}
	r.Kind, r.Message = fetch.KindOf(err), err.Error()
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		r.Status, r.ContentType, r.Bytes = e.Status, e.ContentType, e.Bytes
		r.Location, r.Advice, r.RetryAfter = e.Location, e.Advice(), e.RetryAfter
		r.trace(e.Trace)
	}
	return r
}

func (r *Read) trace(t fetch.Trace) {
	if t.Addr.IsValid() {
		r.Address = t.Addr.String()
	}
	if t.TLSVersion != 0 {
		r.TLS = tls.VersionName(t.TLSVersion)
	}
	r.Started, r.Elapsed = t.Started, t.Elapsed
}

// challengeHeader knows the header that Cloudflare sets on every page that
// stands in for the one asked for.
func challengeHeader(h http.Header) bool { return h.Get("Cf-Mitigated") != "" }

// observation is the read as the report shows it. A refused answer keeps its
// status beside the error.
func (r *Read) observation() report.Observation {
	o := report.Observation{URL: r.URL, Status: r.Status, ContentType: printable(r.ContentType)}
	if r.Kind != "" {
		o.Error = r.Message
		return o
	}
	o.Bytes = &r.Bytes
	return o
}

// evidence is the read without its body.
func (r *Read) evidence() report.Evidence {
	e := report.Evidence{
		URL: r.URL, Address: r.Address, TLS: r.TLS, Status: r.Status, MediaType: printable(r.ContentType), Bytes: r.Bytes,
		Error: string(r.Kind), Message: r.Message, StartedAt: r.Started, DurationMs: r.Elapsed.Milliseconds(),
	}
	if r.Kind == "" {
		sum := sha256.Sum256(r.Body)
		e.SHA256 = hex.EncodeToString(sum[:])
	}
	return e
}
