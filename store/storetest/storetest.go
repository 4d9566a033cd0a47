// Package storetest gives tests a store and things to put into it.
package storetest

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// Clock is a clock that stands still until it is moved. It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at noon UTC on 30 November 2026.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

// Now is the present time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the clock and returns the new time.
func (c *Clock) Add(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// New opens an empty store of its own for the test, with a clock that stands
// still. It is closed when the test ends.
func New(t testing.TB) (*store.Store, *Clock) {
	t.Helper()
	clock := NewClock()
	return Open(t, t.TempDir(), store.Options{Now: clock.Now}), clock
}

// Open opens a store in a directory. It is closed when the test ends.
func Open(t testing.TB, dir string, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Batch makes a sealed batch of one entry for each target.
func Batch(t testing.TB, s *store.Store, targets ...string) *store.Batch {
	t.Helper()
	b, err := s.CreateBatch(t.Context(), store.NewBatch{Name: "test", Sources: []string{"list.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]store.Line, len(targets))
	for i, target := range targets {
		lines[i] = store.Line{Number: int64(i + 1), Input: target, Target: target}
	}
	if _, err := s.AddLines(t.Context(), b.ID, lines); err != nil {
		t.Fatal(err)
	}
	if b, err = s.SealBatch(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	return b
}

// Targets are n profile URLs on n hosts.
func Targets(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("https://site%d.example/agentic.json", i+1)
	}
	return out
}

// Result is a believable result for a target.
func Result(target string, o report.Outcome, r report.Reason, at time.Time) *report.Result {
	status := report.Failed
	if o == report.OutcomeSuccessful || o == report.OutcomePartial {
		status = report.PublicationStatus(o)
	}
	rep := &report.Report{
		ReportVersion: report.Version, Kind: report.Kind, ObservedAt: at.UTC().Format("2006-01-02T15:04:05.000Z"), ProfileURL: target,
		Valid:     o == report.OutcomeSuccessful || o == report.OutcomePartial,
		TextIndex: report.TextIndex{URL: target[:len(target)-4] + "txt", Status: report.TextMatched},
		Checks: []report.Check{
			{ID: "json", Label: "agentic.json", Status: report.Pass, Detail: "The profile was read."},
			{ID: "linked", Label: "Linked resources", Status: report.Warn, Detail: "1 resource is linked only.", Remedy: "For information.", HelpURL: "https://ruagentic.org/"},
		},
		Publication: report.Publication{Status: status, Summary: "A summary."},
		Readme:      report.Readme{Status: report.ReadmeMatched},
	}
	if o == report.OutcomeFailed {
		rep.Checks[0].Status = report.Fail
		rep.Checks = append(rep.Checks, report.Check{ID: "resource:" + target, Label: "A document", Status: report.Fail, Detail: "It is missing."})
	}
	return &report.Result{
		Outcome: o, Reason: r, Detail: "what decided", Report: rep, RulesVersion: report.RulesVersion,
		Evidence:  []report.Evidence{{URL: target, Address: "203.0.113.1:443", Status: 200, Bytes: 10, StartedAt: at.Add(-5 * time.Millisecond), DurationMs: 5}},
		StartedAt: at.Add(-50 * time.Millisecond), FinishedAt: at,
	}
}

// FaultSites is the length of the lists that are worked on while things break;
// AGENTAUDIT_FAULT_SITES changes it (5000 is the long form).
func FaultSites(t testing.TB) int {
	t.Helper()
	v := os.Getenv("AGENTAUDIT_FAULT_SITES")
	if v == "" {
		return 200
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 100 {
		t.Fatalf("AGENTAUDIT_FAULT_SITES=%s: use a number from 100 on", v)
	}
	return n
}
