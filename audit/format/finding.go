package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"agentaudit/audit/agentstxt"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
)

// Name is one of the forms.
type Name string

// The forms.
const (
	SARIF    Name = "sarif"
	JUnit    Name = "junit"
	Markdown Name = "markdown"
)

// Names lists the forms.
var Names = []Name{SARIF, JUnit, Markdown}

// ErrName is the error for a form that is none of [Names].
var ErrName = errors.New("no such format")

// Objection is what an audit objects to, from little to much.
type Objection int

// The objections.
const (
	// ObjectInvalid: to an agentic.json, or documents behind it, that are not
	// valid; its companions do not count.
	ObjectInvalid Objection = iota
	// ObjectFailed: to whatever makes a publication fail.
	ObjectFailed
	// ObjectPartial: to whatever keeps a publication from being successful.
	ObjectPartial
)

// Options say how to write.
type Options struct {
	// Version is that of the program, "" if unknown.
	Version string
	// Title stands over the Markdown and names the list, "" for none.
	Title string
	// Objection says what is objected to. With [ObjectPartial] warnings are
	// failures in JUnit, too.
	Objection Objection
	// Baseline holds what is known already, nil for no comparison.
	Baseline *Baseline
}

// Writer writes results one by one. End completes the document; it must be
// called once, and nothing may be written after it. Errors are those of the
// underlying writer, and of a stored report that cannot be read.
type Writer interface {
	Write(e *Entry) error
	End() error
}

// NewWriter returns a writer for a form. The error wraps [ErrName].
func NewWriter(name Name, w io.Writer, o Options) (Writer, error) {
	switch name {
	case SARIF:
		return newSARIF(w, o), nil
	case JUnit:
		return newJUnit(w, o), nil
	case Markdown:
		return newMarkdown(w, o), nil
	}
	return nil, fmt.Errorf("%w: %q", ErrName, name)
}

// Entry is the result of one site, or of one entry of a list.
type Entry struct {
	// Target is the URL of the profile. ID and Label are what the list says of
	// it, "" for nothing.
	Target    string
	ID, Label string
	// Outcome may be a word that is no outcome of an audit, such as
	// "cancelled": then there is no Report.
	Outcome report.Outcome
	Reason  report.Reason
	Detail  string
	// Report is nil where there is none. Agents is the agents.txt report as
	// JSON, nil where there was no such audit.
	Report *report.Report
	Agents json.RawMessage
	// Started and Took are when the audit began and how long it took.
	Started time.Time
	Took    time.Duration
}

// checked reports whether there is a verdict about the site.
func (e *Entry) checked() bool { return e.Report != nil && e.Outcome != report.OutcomeUnchecked }

// Finding is one check of a site, passed or not.
type Finding struct {
	// Rule is the class of the check ([report.CheckClass], or an id of
	// [agentstxt.Rules]), Check its whole id.
	Rule, Check string
	Status      report.Status
	// Info says that it asks for nothing, although it is no pass.
	Info bool
	// Nth counts the findings of a site with this Check and File from 0; only
	// agents.txt can have more than one.
	Nth int
	// Label is what the check looks at, Detail what it saw, Remedy what to do.
	Label, Detail, Remedy string
	HelpURL               string
	// URL is the file that it speaks of, Line and Column the place in it; both
	// count from 1 (columns in code points) and are 0 where unknown.
	URL          string
	Line, Column int
	// Beside says that it counts neither for the outcome nor for exit codes:
	// it is of agents.txt, another convention.
	Beside bool
}

// Findings lists the checks of an entry, those of agents.txt last. There are
// none where the site gave no definite answer. The error is that of an
// agents.txt report that cannot be read.
func (e *Entry) Findings() ([]Finding, error) {
	if !e.checked() {
		return nil, nil
	}
	var out []Finding
	seen := map[string]bool{}
	base, _ := weburl.Parse(e.Target)
	for _, list := range [][]report.Check{e.Report.Checks, e.Report.Readme.Checks} {
		for _, c := range list {
			if seen[c.ID] {
				continue
			}
			seen[c.ID] = true
			f := Finding{
				Rule: report.CheckClass(c.ID), Check: c.ID, Status: c.Status, Info: c.ID == report.InfoCheck,
				Label: c.Label, Detail: c.Detail, Remedy: c.Remedy, HelpURL: c.HelpURL,
			}
			f.URL = fileOf(e, c.ID, base)
			f.Line, f.Column = place(f)
			out = append(out, f)
		}
	}
	agents, err := e.agentsFindings(base)
	return append(out, agents...), err
}

// fileOf is the URL of the file that a check speaks of.
func fileOf(e *Entry, id string, base *weburl.URL) string {
	class, rest, _ := strings.Cut(id, ":")
	switch {
	case class == "txt" || class == "txt-type":
		return e.Report.TextIndex.URL
	case class == "readme":
		return e.Report.Readme.URL
	case class == "resource":
		if u, err := weburl.Parse(rest); err == nil {
			return u.String()
		}
	case class == "api" && base != nil:
		if u, err := base.Resolve(rest); err == nil {
			return u.String()
		}
	}
	return e.Target
}

// placed are the rules whose details name a line of the very file, in the one
// way in which all packages below audit write it.
var placed = map[string]bool{"json": true, "structure": true, "api": true, "resource": true, "txt": true}

var placeWords = regexp.MustCompile(`\bline (\d{1,9})(?:, column (\d{1,9}))?`)

func place(f Finding) (line, column int) {
	if !placed[f.Rule] || f.Status == report.Pass {
		return 0, 0
	}
	m := placeWords.FindStringSubmatch(f.Detail)
	if m == nil {
		return 0, 0
	}
	line, _ = strconv.Atoi(m[1])
	column, _ = strconv.Atoi(m[2])
	return line, column
}

// agentsHelp explains the checks of agents.txt.
const agentsHelp = "https://datatracker.ietf.org/doc/draft-car-agents-txt-wellknown/"

func (e *Entry) agentsFindings(base *weburl.URL) ([]Finding, error) {
	if len(e.Agents) == 0 || base == nil {
		return nil, nil
	}
	var r struct {
		Verdict agentstxt.Verdict
		Checks  []agentstxt.Check
	}
	if err := json.Unmarshal(e.Agents, &r); err != nil {
		return nil, fmt.Errorf("the agents.txt report of %s cannot be read: %w", e.Target, err)
	}
	if r.Verdict == agentstxt.VerdictAbsent || r.Verdict == agentstxt.VerdictUnchecked {
		return nil, nil // nobody has to have one, and no answer is no finding
	}
	var out []Finding
	count := map[[2]string]int{}
	for _, c := range r.Checks {
		f := Finding{
			Rule: c.ID, Check: c.ID, Label: agentsWords(c.ID), Detail: c.Detail, Remedy: c.Remedy, HelpURL: agentsHelp,
			URL: base.Origin() + agentstxt.TextPath, Line: c.Line, Column: c.Column, Beside: true, Status: report.Fail,
		}
		if c.File != "" {
			if u, err := base.Resolve(c.File); err == nil {
				f.URL = u.String()
			}
		}
		switch c.Severity {
		case agentstxt.Warn:
			f.Status = report.Warn
		case agentstxt.Info:
			f.Status, f.Info = report.Warn, true
		}
		key := [2]string{c.ID, c.File}
		f.Nth = count[key]
		count[key]++
		out = append(out, f)
	}
	return out, nil
}

func agentsWords(id string) string {
	for _, r := range agentstxt.Rules {
		if r.ID == id {
			return r.About
		}
	}
	return ""
}

// Objects reports whether a finding is one that is objected to.
func (f Finding) Objects(o Objection) bool {
	if f.Beside || f.Info || f.Status == report.Pass {
		return false
	}
	switch o {
	case ObjectPartial:
		return true
	case ObjectFailed:
		return f.Status == report.Fail
	}
	return f.Status == report.Fail && f.Rule != "txt" && !strings.HasPrefix(f.Rule, "readme")
}

// key tells findings of one site apart, from one audit to the next.
func (f Finding) key() string {
	if f.Nth == 0 && !f.Beside {
		return publication.Plain(f.Check)
	}
	path := f.URL
	if u, err := weburl.Parse(f.URL); err == nil {
		path = u.Path()
	}
	return f.Check + " " + path + " " + strconv.Itoa(f.Nth)
}
