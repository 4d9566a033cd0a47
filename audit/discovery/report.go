package discovery

import (
	"encoding/json"
	"errors"
	"time"

	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
)

// Version and Kind identify the report.
const (
	Version = "1"
	Kind    = "public-site-discovery"
)

// Mode says what profile a scan came to.
type Mode string

// ModeAction is an existing action profile, preserved; ModeSite a site profile
// made of what was found.
const (
	ModeSite   Mode = "site"
	ModeAction Mode = "action"
)

// Report is what a scan found (specification section 8). The order of the
// fields is the order of the JSON members.
type Report struct {
	ReportVersion string `json:"reportVersion"`
	Kind          string `json:"kind"`
	RequestedURL  string `json:"requestedUrl"`
	// Origin is that of the first document, after redirects.
	Origin string `json:"origin"`
	// ObservedAt is RFC 3339 in UTC with milliseconds and a Z.
	ObservedAt string `json:"observedAt"`
	Mode       Mode   `json:"mode"`
	// ProfileURL is where the profile is to be published, or is already.
	ProfileURL string `json:"profileUrl"`
	// Profile is the compact JSON of the file agentic.json.
	Profile json.RawMessage    `json:"profile"`
	Files   *publication.Files `json:"files"`
	// Sources are all resources found, at most forty, by kind and URL.
	Sources      []Source             `json:"sources"`
	Observations []report.Observation `json:"observations"`
	Notes        []string             `json:"notes"`
	// Requests counts the answers that were asked for, redirects included;
	// Bytes the bodies received, BudgetUsed what of [MaxBytes] is used up.
	Requests   int    `json:"requests"`
	Bytes      int64  `json:"bytes"`
	BudgetUsed int64  `json:"budgetUsed"`
	Limitation string `json:"limitation"`
	// Robots is nil where no link was followed or the rules were ignored.
	Robots *Robots `json:"robots,omitempty"`
	// Error says why there are no files, in a report made by [Failed].
	Error string `json:"error,omitempty"`
	// Drift is set by who scanned a site that has a valid site profile
	// ([Compare]).
	Drift *Drift `json:"drift,omitempty"`

	indexes map[string][]profile.Operation // by document, all of them
}

// Source is one resource.
type Source struct {
	Kind         profile.ResourceKind `json:"kind"`
	URL          string               `json:"url"`
	Source       string               `json:"source"`
	Availability profile.Availability `json:"availability"`
	Title        string               `json:"title,omitempty"`
}

// Robots is the reading of robots.txt for the first origin that needed it, from
// where its redirects led to. It counts neither in Requests nor in Bytes of the
// report.
type Robots struct {
	report.Observation
	// Also is the reading for the www or non-www counterpart of that origin,
	// nil where no link or redirect led there.
	Also *report.Observation `json:"also,omitempty"`
	// Cached says that an earlier scan read it, or the other: the site was not
	// asked again within an hour.
	Cached bool `json:"cached,omitempty"`
	// Redirects counts those that were followed to reach either.
	Redirects int `json:"redirects,omitempty"`
	// Disallowed are the documents linked or redirected to that were not read
	// because of it.
	Disallowed []string `json:"disallowed"`
}

const limitation = "A scan reads public documents and records what they advertise. It calls no endpoint, tries no connection, and proves nothing about how the service behaves."

// The notes.
const (
	noteLimit      = "The scan reached its limit of requests, bytes or time. The files hold what was read until then; the site may have more."
	noteResources  = "More than forty resources were found. The profile lists forty; the others stand in the pages that were read."
	noteAPIs       = "Not every OpenAPI document or operation is indexed: at most five documents with 160 operations each are."
	noteNoAPI      = "No OpenAPI document was found in a form that can be read (JSON, version 3)."
	noteOperations = "The index of operations was shortened to keep the files small. The OpenAPI documents hold them all."
	noteLinks      = "Some resources were left out to keep the files small."
)

// instant writes a time as reports do.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Failed is the report of a scan that came to nothing, with the same members:
// Error says why, Profile and Files are null, Mode is empty, and the lists have
// what is known. at is when the scan began.
func Failed(start *weburl.URL, at time.Time, err error) *Report {
	r := &Report{
		ReportVersion: Version, Kind: Kind, RequestedURL: start.Location(), Origin: start.Origin(), ObservedAt: instant(at),
		Sources: []Source{}, Observations: []report.Observation{}, Notes: []string{}, Limitation: limitation, Error: err.Error(),
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Observations != nil {
		r.Error, r.Observations = e.Message, e.Observations
	}
	r.Requests = len(r.Observations)
	for _, o := range r.Observations {
		if o.Bytes != nil {
			r.Bytes += *o.Bytes
		}
	}
	return r
}

// Error says that a scan made no files because of its first document.
type Error struct {
	// URL is the document asked for.
	URL string
	// Message is a sentence for people without a final full stop.
	Message string
	// Observations are the reads made, by URL.
	Observations []report.Observation
	// Err is the failed read, nil where an answer came.
	Err error
}

// Error gives the URL and the message.
func (e *Error) Error() string { return e.URL + ": " + e.Message }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }
