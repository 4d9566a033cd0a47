package format

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"agentaudit/audit/publication"
	"agentaudit/audit/report"
)

// sarifFormat marks our own files, for baselines.
const sarifFormat = "agentaudit/1"

// The values of baselineState that are used or understood.
const (
	stateNew       = "new"
	stateUnchanged = "unchanged"
	stateAbsent    = "absent"
)

// maxNotifications is how many sites without a verdict are named one by one.
const maxNotifications = 1000

// The parts of SARIF 2.1.0 that are written (OASIS sarif-v2.1.0).
type (
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
		Help             sarifMessage `json:"help"`
		HelpURI          string       `json:"helpUri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLocation struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifResult struct {
		RuleID        string            `json:"ruleId"`
		RuleIndex     int               `json:"ruleIndex"`
		Level         string            `json:"level"`
		Message       sarifMessage      `json:"message"`
		Locations     []sarifLocation   `json:"locations"`
		Fingerprints  map[string]string `json:"partialFingerprints"`
		BaselineState string            `json:"baselineState,omitempty"`
		Properties    resultProperties  `json:"properties"`
	}
	// resultProperties are our own: what a baseline is read from.
	resultProperties struct {
		Target string        `json:"target"`
		Check  string        `json:"check"`
		Status report.Status `json:"status"`
		Key    string        `json:"key"`
		ID     string        `json:"id,omitempty"`
		Label  string        `json:"label,omitempty"`
	}
	runProperties struct {
		Format    string `json:"format"`
		Sites     int    `json:"sites"`
		Unchecked int    `json:"unchecked"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications"`
	}
)

// sarif writes results as they come, and what sums them up behind them.
type sarif struct {
	w     io.Writer
	o     Options
	n     int
	begun bool
	rules []sarifRule
	index map[string]int
	notes []sarifNotification
	run   runProperties
}

func newSARIF(w io.Writer, o Options) *sarif {
	return &sarif{w: w, o: o, index: map[string]int{}, run: runProperties{Format: sarifFormat}}
}

func (s *sarif) Write(e *Entry) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.run.Sites++
	if !e.checked() {
		s.unchecked(e)
		return nil
	}
	findings, err := e.Findings()
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Status == report.Pass {
			continue
		}
		if err := s.result(e, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *sarif) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	_, err := io.WriteString(s.w, `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"columnKind":"unicodeCodePoints","results":[`)
	return err
}

// unchecked keeps a site without a verdict: SARIF has notifications for what
// a tool could not look at.
func (s *sarif) unchecked(e *Entry) {
	s.run.Unchecked++
	if len(s.notes) < maxNotifications {
		text := fmt.Sprintf("No verdict about the site (%s): %s", e.Outcome, cmp.Or(e.Detail, "it was not audited"))
		s.notes = append(s.notes, sarifNotification{"warning", sarifText(text), []sarifLocation{located(e.Target, 0, 0)}})
	}
}

func (s *sarif) result(e *Entry, f Finding) error {
	r := sarifResult{
		RuleID: f.Rule, RuleIndex: s.rule(f), Level: level(f), Message: sarifText(f.Detail),
		Locations: []sarifLocation{located(f.URL, f.Line, f.Column)}, Fingerprints: fingerprints(e.Target, f),
		Properties: resultProperties{e.Target, publication.Plain(f.Check), f.Status, f.key(), publication.Plain(e.ID), publication.Plain(e.Label)},
	}
	if f.Remedy != "" {
		r.Message.Text += " " + sarifText(f.Remedy).Text
	}
	if s.o.Baseline != nil {
		r.BaselineState = stateNew
		if s.o.Baseline.Known(e.Target, f) {
			r.BaselineState = stateUnchanged
		}
	}
	before := ",\n"
	if s.n == 0 {
		before = "\n"
	}
	s.n++
	return s.put(before, r)
}

func (s *sarif) put(before string, v any) error {
	data, err := compact(v)
	if err == nil {
		_, err = io.WriteString(s.w, before+data)
	}
	return err
}

// rule is the place of a finding's rule in the list of rules.
func (s *sarif) rule(f Finding) int {
	i, ok := s.index[f.Rule]
	if ok {
		return i
	}
	words, helpURL := report.CheckWords(f.Rule), f.HelpURL
	for _, r := range report.Rules {
		if r.ID == f.Rule {
			helpURL = r.HelpURL // of the class, not of the first that came
		}
	}
	words = cmp.Or(words, f.Label, f.Rule)
	s.index[f.Rule] = len(s.rules)
	s.rules = append(s.rules, sarifRule{f.Rule, sarifText(words), sarifText(words + ". More: " + helpURL), helpURL})
	return len(s.rules) - 1
}

func (s *sarif) End() error {
	if err := s.begin(); err != nil {
		return err
	}
	if more := s.run.Unchecked - len(s.notes); more > 0 {
		s.notes = append(s.notes, sarifNotification{Level: "warning", Message: sarifText(fmt.Sprintf("No verdict about %d more sites.", more))})
	}
	if s.notes == nil {
		s.notes = []sarifNotification{}
	}
	if s.rules == nil {
		s.rules = []sarifRule{}
	}
	driver := struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}{"agentaudit", s.o.Version, "https://ruagentic.org/docs/AUDIT.md", s.rules}
	for _, part := range []struct {
		before string
		value  any
	}{
		{"\n],\"tool\":{\"driver\":", driver}, {"},\n\"invocations\":", []sarifInvocation{{true, s.notes}}},
		{",\n\"properties\":", s.run}, {"}]}\n", nil},
	} {
		if err := s.put(part.before, part.value); err != nil {
			return err
		}
	}
	return nil
}

func located(url string, line, column int) (l sarifLocation) {
	l.PhysicalLocation.ArtifactLocation.URI = url
	if line > 0 {
		l.PhysicalLocation.Region = &sarifRegion{line, column}
	}
	return l
}

func level(f Finding) string {
	switch {
	case f.Info:
		return "note"
	case f.Status == report.Fail:
		return "error"
	}
	return "warning"
}

// fingerprints are the same from one audit to the next as long as the same
// check of the same site is not passed; lines that move change nothing. The
// second name is the one that GitHub looks for.
func fingerprints(target string, f Finding) map[string]string {
	sum := sha256.Sum256([]byte(target + "\x00" + f.key()))
	id := hex.EncodeToString(sum[:16])
	return map[string]string{"agentaudit/v1": id, "primaryLocationLineHash": id + ":1"}
}

// sarifText is a plain text message. In SARIF, [text](destination) is a link
// in a plain text message as well (section 3.11.6); a backslash takes that
// meaning from the brackets.
func sarifText(s string) sarifMessage {
	return sarifMessage{strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(publication.Plain(s))}
}

// compact is JSON on one line, without the escapes for HTML; nil is nothing.
func compact(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
