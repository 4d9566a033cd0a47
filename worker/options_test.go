package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/worker"
)

// listener is an auditor that notes what it is asked to do.
type listener struct {
	mu    sync.Mutex
	asked map[string][]string // by target
}

func (l *listener) Audit(_ context.Context, at audit.Attempt) (audit.Judgement, error) {
	target := at.Target.ProfileURL.String()
	j := trouble(target)
	if target == "https://good.example/agentic.json" {
		j = success(target)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	word := string(at.Options.Discover)
	if at.Options.IgnoreRobots {
		word += " anywhere"
	}
	if at.Final(j) {
		word += " final"
	}
	l.asked[target] = append(l.asked[target], word)
	return j, nil
}

// Every attempt is told how its batch wants sites audited, and whether it will
// be the last.
func TestAnAttemptIsToldOfItsBatch(t *testing.T) {
	s, q := newStore(t), embedded(t)
	var batches []*store.Batch
	for _, b := range []struct{ options, target string }{
		{`{"discover":"always","ignoreRobots":true,"list":{"files":["x"]}}`, "https://bad.example/agentic.json"},
		{`{"discover":"never"}`, "https://good.example/agentic.json"},
		{`{"discover":"sometimes"}`, "https://odd.example/agentic.json"},
	} {
		made, err := s.CreateBatch(t.Context(), store.NewBatch{Sources: []string{"test"}, Options: []byte(b.options)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddLines(t.Context(), made.ID, []store.Line{{Number: 1, Input: b.target, Target: b.target}}); err != nil {
			t.Fatal(err)
		}
		if made, err = s.SealBatch(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		batches = append(batches, made)
	}
	c := quick(s, q, &fake{})
	l := &listener{asked: map[string][]string{}}
	c.Auditor, c.Retry = l, worker.Retry{Delays: []time.Duration{time.Millisecond, time.Millisecond}}
	start(t, c)
	for _, b := range batches {
		ended(t, s, b.ID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := l.asked["https://bad.example/agentic.json"]; !slices.Equal(got, []string{"always anywhere", "always anywhere", "always anywhere final"}) {
		t.Errorf("the first batch: %q", got)
	}
	if got := l.asked["https://good.example/agentic.json"]; !slices.Equal(got, []string{"never final"}) {
		t.Errorf("the second batch: %q", got)
	}
	// Options that cannot be read are our own fault, and no reason to guess.
	page, err := s.Results(t.Context(), store.Filter{Batch: batches[2].ID}, "", 1)
	if err != nil || len(page.Rows) != 1 || page.Rows[0].Reason != report.ReasonInternal || l.asked["https://odd.example/agentic.json"] != nil {
		t.Errorf("the third batch: %+v, %v, %q", page, err, l.asked)
	}
}
