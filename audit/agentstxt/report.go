package agentstxt

import "agentaudit/audit/report"

// ReportVersion and ReportKind identify the report.
const (
	ReportVersion = "1"
	ReportKind    = "agents-txt-audit"
)

// Verdict sums up one site.
type Verdict string

// The verdicts. Invalid: a check fails. Other: another format, or nothing that
// any format is known by. Absent: no file. Unchecked: no definite answer.
const (
	VerdictValid     Verdict = "valid"
	VerdictInvalid   Verdict = "invalid"
	VerdictOther     Verdict = "other"
	VerdictAbsent    Verdict = "absent"
	VerdictUnchecked Verdict = "unchecked"
)

// Verdicts lists all verdicts.
var Verdicts = []Verdict{VerdictValid, VerdictInvalid, VerdictOther, VerdictAbsent, VerdictUnchecked}

// Report is what an audit of agents.txt and agents.json came to. It holds no
// credential, wherever one was found.
type Report struct {
	ReportVersion string `json:"reportVersion"`
	Kind          string `json:"kind"`
	// ObservedAt is RFC 3339 in UTC with milliseconds and a Z.
	ObservedAt string `json:"observedAt"`
	// Origin is scheme, host and port of the site, "" for local files.
	Origin  string  `json:"origin"`
	Format  Format  `json:"format"`
	Verdict Verdict `json:"verdict"`
	// Files are the places that were asked, in the order of the request.
	Files []File `json:"files"`
	// Checks stand file by file, in each by place.
	Checks []Check `json:"checks"`
	// Declaration is what the text says, else what the JSON says; null where
	// neither could be read.
	Declaration  *Declaration         `json:"declaration"`
	Differences  []Difference         `json:"differences"`
	Observations []report.Observation `json:"observations"`
}

// File is one place where a declaration may be.
type File struct {
	// Path is the well-known or root path, or the name of a local file.
	Path string `json:"path"`
	// URL is where the answer came from, after redirects.
	URL string `json:"url"`
	// Status is the HTTP status of that answer, absent where none came.
	Status      int    `json:"status,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	// Bytes is the size of the body.
	Bytes int64 `json:"bytes"`
	// Format is what the body is.
	Format Format `json:"format"`
}

// Check is one finding.
type Check struct {
	// ID is one of [Rules].
	ID string `json:"id"`
	// Rule is the number in section 4 of the specification, null for checks
	// of how files are served and for notes.
	Rule     *int     `json:"rule"`
	Severity Severity `json:"severity"`
	// File is the path of the file that it speaks of, "" for both together.
	File string `json:"file"`
	// Line and Column count from 1, columns in characters; absent where it
	// speaks of the file as a whole.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Detail and Remedy are sentences for people.
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// Count is the number of checks of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, c := range r.Checks {
		if c.Severity == s {
			n++
		}
	}
	return n
}
