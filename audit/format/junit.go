package format

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"agentaudit/audit/publication"
	"agentaudit/audit/report"
)

// The elements of JUnit XML that all its readers know: a suite a site, a case
// a check. The root has no totals, so that suites can be written as they come.
type (
	junitSuite struct {
		XMLName   xml.Name    `xml:"testsuite"`
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Time    string     `xml:"time,attr"`
		Failure *junitText `xml:"failure"`
		Skipped *junitText `xml:"skipped"`
		Out     string     `xml:"system-out,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

type junit struct {
	w     io.Writer
	o     Options
	begun bool
}

func newJUnit(w io.Writer, o Options) *junit { return &junit{w: w, o: o} }

func (j *junit) begin() error {
	if j.begun {
		return nil
	}
	j.begun = true
	_, err := io.WriteString(j.w, xml.Header+"<testsuites name=\"agentaudit\">\n")
	return err
}

func (j *junit) Write(e *Entry) error {
	if err := j.begin(); err != nil {
		return err
	}
	findings, err := e.Findings()
	if err != nil {
		return err
	}
	s := junitSuite{Name: publication.Plain(e.Target), Time: fmt.Sprintf("%.3f", e.Took.Seconds())}
	if !e.Started.IsZero() {
		s.Timestamp = e.Started.UTC().Format("2006-01-02T15:04:05") // readers know no zone
	}
	if e.Label != "" {
		s.Name = publication.Plain(e.Label) + " (" + s.Name + ")"
	}
	for _, f := range findings {
		s.Cases = append(s.Cases, j.testCase(e, f))
	}
	if !e.checked() {
		message := publication.Plain(fmt.Sprintf("%s: %s", e.Outcome, e.Detail))
		s.Cases = append(s.Cases, junitCase{Name: "publication", Skipped: &junitText{Message: message}})
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Class, c.Time = publication.Plain(e.Target), "0"
		s.Tests++
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	data, err := xml.MarshalIndent(&s, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = j.w.Write(append(data, '\n'))
	return err
}

// testCase is a check. A failure is one that is not known; warnings are
// failures where a partial publication is objected to.
func (j *junit) testCase(e *Entry, f Finding) junitCase {
	c := junitCase{Name: publication.Plain(f.Check)}
	if f.Beside && f.Line > 0 {
		c.Name += fmt.Sprintf(" (line %d)", f.Line)
	} else if f.Beside && f.Nth > 0 {
		c.Name += fmt.Sprintf(" (%d)", f.Nth+1)
	}
	if f.Status == report.Pass {
		return c
	}
	detail := publication.Plain(f.Detail)
	text := strings.Join([]string{detail, publication.Plain(f.Remedy), publication.Plain(f.URL), f.HelpURL}, "\n")
	switch {
	case f.Info:
		c.Skipped = &junitText{Message: "information: " + detail}
	case j.o.Baseline.Known(e.Target, f):
		c.Skipped = &junitText{Message: "known: " + detail}
	case f.Status == report.Fail || j.o.Objection == ObjectPartial && !f.Beside:
		c.Failure = &junitText{Message: detail, Type: string(f.Status), Text: text}
	default:
		c.Out = "warning: " + text
	}
	return c
}

func (j *junit) End() error {
	if err := j.begin(); err != nil {
		return err
	}
	_, err := io.WriteString(j.w, "</testsuites>\n")
	return err
}
