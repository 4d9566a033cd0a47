// Package report holds the audit report, version 3, as data: what one audit
// of one publication says, in the shape and order that every tool of the
// convention writes (seed AUDIT, "Reports and CLI"; specification section 7).
//
// It is a leaf: it knows neither how files are read nor how they are judged.
package report

// Version and Kind identify the document; they never change within version 3.
const (
	Version = "3"
	Kind    = "public-url-audit"
)

// Status is the verdict of one check.
type Status string

// The three verdicts of a check, worst last.
const (
	Pass Status = "pass"
	Warn Status = "warn"
	Fail Status = "fail"
)

// PublicationStatus sums up the whole publication (specification section 7).
type PublicationStatus string

// The three publication statuses.
const (
	Successful PublicationStatus = "successful"
	Partial    PublicationStatus = "partial"
	Failed     PublicationStatus = "failed"
)

// TextStatus says how the published agentic.txt relates to the profile.
type TextStatus string

// The statuses of a text index. TextSkipped is a file that was read but could
// not be compared, because the profile beside it is unusable.
const (
	TextMatched     TextStatus = "matched"
	TextMismatch    TextStatus = "mismatch"
	TextMissing     TextStatus = "missing"
	TextUnavailable TextStatus = "unavailable"
	TextSkipped     TextStatus = "skipped"
)

// ReadmeStatus says what was found where the README should be.
type ReadmeStatus string

// The statuses of a README (specification section 6).
const (
	ReadmeMatched     ReadmeStatus = "matched"
	ReadmeIncomplete  ReadmeStatus = "incomplete"
	ReadmeInvalid     ReadmeStatus = "invalid"
	ReadmeMissing     ReadmeStatus = "missing"
	ReadmeUnavailable ReadmeStatus = "unavailable"
)

// File statuses for agentic.json in [Publication.Files]; the other two files
// carry their [TextStatus] and [ReadmeStatus] words.
const (
	FilePassed = "passed"
	FileFailed = "failed"
)

// Report is one version 3 audit report. The order of the fields is the order
// of the JSON members.
type Report struct {
	ReportVersion string `json:"reportVersion"`
	Kind          string `json:"kind"`
	// ProfileType is "site" for a site profile and absent for all else.
	ProfileType string `json:"profileType,omitempty"`
	// ObservedAt is RFC 3339 in UTC with milliseconds and a Z.
	ObservedAt string `json:"observedAt"`
	ProfileURL string `json:"profileUrl"`
	// Valid speaks of the JSON and its API documents alone.
	Valid bool `json:"valid"`
	// Structure is null where the JSON could not be read or parsed.
	Structure *Validation `json:"structure"`
	// Bindings has one row for each OpenAPI path of an action profile.
	Bindings          []Binding     `json:"bindings"`
	TextIndex         TextIndex     `json:"textIndex"`
	Checks            []Check       `json:"checks"`
	Errors            []string      `json:"errors"`
	Observations      []Observation `json:"observations"`
	BehavioralTesting bool          `json:"behavioralTesting"`
	Limitation        string        `json:"limitation"`
	Publication       Publication   `json:"publication"`
	Readme            Readme        `json:"readme"`
}

// Validation is the outcome of judging one document.
type Validation struct {
	Valid    bool     `json:"valid"`
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

// Binding is the outcome of binding the actions of one OpenAPI path.
// Validation is null and Error is set where the document could not be read.
type Binding struct {
	Path       string      `json:"path"`
	Validation *Validation `json:"validation"`
	Error      string      `json:"error,omitempty"`
}

// TextIndex is the judgement of agentic.txt.
type TextIndex struct {
	URL string `json:"url"`
	// Required is always false: the text index is a companion.
	Required bool       `json:"required"`
	Status   TextStatus `json:"status"`
	Errors   []string   `json:"errors"`
	// Version is what the file says behind "Agentic-Text: ", if it does.
	Version string `json:"version,omitempty"`
}

// Check is one judged statement. Every check that is not a pass has a Remedy
// and a HelpURL.
type Check struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	Status  Status `json:"status"`
	Detail  string `json:"detail"`
	Remedy  string `json:"remedy,omitempty"`
	HelpURL string `json:"helpUrl,omitempty"`
}

// Observation is what one read of one URL saw. Status is the HTTP status, and
// absent where no answer came; Error is absent where the read was good.
type Observation struct {
	URL         string `json:"url"`
	Status      int    `json:"status,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	// Bytes counts the raw bytes of the body as received.
	Bytes *int64 `json:"bytes,omitempty"`
	Error string `json:"error,omitempty"`
}

// Publication is the verdict over all files together.
type Publication struct {
	Status    PublicationStatus `json:"status"`
	Summary   string            `json:"summary"`
	NextSteps []NextStep        `json:"nextSteps"`
	// Files lists agentic.json, agentic.txt and README.md, in this order.
	Files []File `json:"files"`
}

// NextStep is a check that asks for something, in short.
type NextStep struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	Detail  string `json:"detail"`
	Remedy  string `json:"remedy"`
	HelpURL string `json:"helpUrl"`
}

// File is one of the files of a publication.
type File struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Status string `json:"status"`
}

// Readme is the judgement of the README.
type Readme struct {
	// URL is the file that Status speaks of.
	URL            string        `json:"url"`
	ProvidedByUser bool          `json:"providedByUser"`
	Status         ReadmeStatus  `json:"status"`
	Checks         []Check       `json:"checks"`
	Observations   []Observation `json:"observations"`
}
