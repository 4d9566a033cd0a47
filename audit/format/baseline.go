package format

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"agentaudit/audit/report"
)

// Baseline holds the findings of an earlier audit. A finding is known if the
// baseline has the same check of the same target, and not as something milder:
// a warning that has become a failure is new. What the check says in detail is
// not compared.
//
// A site for which the earlier audit had no verdict has no known findings.
type Baseline struct {
	// known is by target and [Finding.key].
	known map[[2]string]report.Status
}

// ErrBaseline is the error for a file that is none of the forms of a baseline.
var ErrBaseline = errors.New("no baseline: it must be an earlier output with --format ndjson, json or sarif, or a report of audit --json")

// ReadBaseline reads an earlier output: version 3 reports, rows of results as
// NDJSON or as a JSON array (with or without the reports; without them it
// knows nothing of agents.txt), or the SARIF of this package. The error wraps
// [ErrBaseline], or is that of the reader.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	b := &Baseline{known: map[[2]string]report.Status{}}
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\uFEFF")) {
		_, _ = in.Discard(3)
	}
	for {
		c, err := in.ReadByte()
		switch {
		case err == io.EOF:
			return nil, fmt.Errorf("%w (the file is empty)", ErrBaseline)
		case err != nil:
			return nil, err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		}
		if err := in.UnreadByte(); err != nil {
			return nil, err
		}
		dec := json.NewDecoder(in)
		if c == '[' {
			_, _ = dec.Token()
			for dec.More() {
				if err := b.item(dec); err != nil {
					return nil, err
				}
			}
			if _, err := dec.Token(); err != nil {
				return nil, fmt.Errorf("%w (the array has no end)", ErrBaseline)
			}
			if _, err := dec.Token(); err != io.EOF {
				return nil, fmt.Errorf("%w (there is more behind the array; join such files as NDJSON)", ErrBaseline)
			}
			return b, nil
		}
		for {
			if err := b.item(dec); err == io.EOF {
				return b, nil
			} else if err != nil {
				return nil, err
			}
		}
	}
}

func unreadable(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("%w (%v)", ErrBaseline, err)
}

// stored is any of the things that a baseline may consist of.
type stored struct {
	// A report.
	ReportVersion string
	ProfileURL    string
	Checks        []report.Check
	Readme        json.RawMessage // an object in a report, a word in a row
	// A row.
	Target           string
	Outcome          report.Outcome
	Failing, Warning []string
	AgentsReport     json.RawMessage
	// SARIF.
	Runs []struct {
		Results []struct {
			BaselineState string
			Properties    resultProperties
		}
		Properties runProperties
	}
}

func (b *Baseline) item(dec *json.Decoder) error {
	var s stored
	if err := dec.Decode(&s); err != nil {
		return unreadable(err)
	}
	switch {
	case s.Runs != nil:
		for _, run := range s.Runs {
			if run.Properties.Format != sarifFormat {
				return fmt.Errorf("%w (SARIF of another program or version)", ErrBaseline)
			}
			for _, r := range run.Results {
				if r.BaselineState != stateAbsent {
					b.add(r.Properties.Target, r.Properties.Key, r.Properties.Status)
				}
			}
		}
	case s.ReportVersion == report.Version && s.ProfileURL != "":
		var readme report.Readme
		if err := json.Unmarshal(s.Readme, &readme); err != nil {
			return unreadable(err)
		}
		return b.entry(&Entry{Target: s.ProfileURL, Report: &report.Report{ProfileURL: s.ProfileURL, Checks: s.Checks, Readme: readme}})
	case s.Target != "" && s.Outcome != "":
		if s.Outcome == report.OutcomeUnchecked {
			return nil
		}
		for _, id := range s.Failing {
			b.add(s.Target, Finding{Check: id}.key(), report.Fail)
		}
		for _, id := range s.Warning {
			b.add(s.Target, Finding{Check: id}.key(), report.Warn)
		}
		return b.entry(&Entry{Target: s.Target, Report: &report.Report{}, Agents: s.AgentsReport})
	default:
		return fmt.Errorf("%w (it holds an object of another kind)", ErrBaseline)
	}
	return nil
}

func (b *Baseline) entry(e *Entry) error {
	if string(e.Agents) == "null" {
		e.Agents = nil
	}
	findings, err := e.Findings()
	if err != nil {
		return unreadable(err)
	}
	for _, f := range findings {
		if f.Status != report.Pass {
			b.add(e.Target, f.key(), f.Status)
		}
	}
	return nil
}

func (b *Baseline) add(target, key string, status report.Status) {
	k := [2]string{target, key}
	if b.known[k] != report.Fail {
		b.known[k] = status
	}
}

// Known reports whether a finding of a target is in the baseline. A nil
// Baseline knows nothing.
func (b *Baseline) Known(target string, f Finding) bool {
	if b == nil {
		return false
	}
	was, ok := b.known[[2]string{target, f.key()}]
	return ok && (was == f.Status || was == report.Fail)
}

// New reports whether an entry has a finding that is objected to
// ([Finding.Objects]) and not known.
func (b *Baseline) New(e *Entry, o Objection) (bool, error) {
	findings, err := e.Findings()
	for _, f := range findings {
		if f.Objects(o) && !b.Known(e.Target, f) {
			return true, err
		}
	}
	return false, err
}
