package worker

import (
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
)

func TestDecide(t *testing.T) {
	result := func(o report.Outcome, r report.Reason) *report.Result { return &report.Result{Outcome: o, Reason: r} }
	good := result(report.OutcomeSuccessful, report.ReasonComplete)
	partial := result(report.OutcomePartial, report.ReasonIncomplete)
	down := result(report.OutcomeUnchecked, report.ReasonUnreachable)
	blocked := result(report.OutcomeUnchecked, report.ReasonBlocked)
	noHost := result(report.OutcomeFailed, report.ReasonNoSuchHost)
	badCert := result(report.OutcomeFailed, report.ReasonBadCertificate)
	retry := Retry{Delays: []time.Duration{2 * time.Second, 10 * time.Second}, MaxRetryAfter: time.Minute}
	never := Retry{Never: true}
	trouble := func(r *report.Result, definite bool) audit.Judgement {
		return audit.Judgement{Result: r, Verdict: audit.Verdict{Again: audit.Trouble, Definite: definite}}
	}
	confirm := func(r *report.Result) audit.Judgement {
		return audit.Judgement{Result: r, Verdict: audit.Verdict{Again: audit.Confirm, Definite: true}}
	}
	final := func(r *report.Result, definite bool) audit.Judgement {
		return audit.Judgement{Result: r, Verdict: audit.Verdict{Definite: definite}}
	}
	for _, c := range []struct {
		name    string
		r       Retry
		j       audit.Judgement
		attempt int
		kept    *report.Result
		final   *report.Result // nil: again
		keeps   *report.Result
	}{
		{"a good result stands", retry, final(good, true), 1, nil, good, nil},
		{"no answer, first attempt", retry, trouble(down, false), 1, nil, nil, nil},
		{"no answer, second attempt", retry, trouble(down, false), 2, nil, nil, nil},
		{"no answer, last attempt", retry, trouble(down, false), 3, nil, down, nil},
		{"partial that might be more is kept", retry, trouble(partial, true), 1, nil, nil, partial},
		{"partial to the end", retry, trouble(partial, true), 3, partial, partial, nil},
		{"no answer does not overturn what was kept", retry, trouble(down, false), 3, partial, partial, nil},
		{"nor does a wall", retry, final(blocked, false), 2, partial, partial, nil},
		{"a wall at once", retry, final(blocked, false), 1, nil, blocked, nil},
		{"a later definite answer replaces what was kept", retry, final(good, true), 2, partial, good, nil},
		{"no such host must be seen twice", retry, confirm(noHost), 1, nil, nil, noHost},
		{"no such host, seen twice", retry, confirm(noHost), 2, noHost, noHost, nil},
		{"another negative answer confirms nothing", retry, confirm(badCert), 2, noHost, nil, badCert},
		{"seen for the first time at the last attempt: once more", retry, confirm(noHost), 3, nil, nil, noHost},
		{"and not without end", retry, confirm(badCert), 4, noHost, badCert, nil},
		{"what was not confirmed is no fallback", retry, trouble(down, false), 3, noHost, down, nil},
		{"a partial result confirms nothing", retry, confirm(noHost), 2, partial, nil, noHost},
		{"never: no answer", never, trouble(down, false), 1, nil, down, nil},
		{"never: no such host", never, confirm(noHost), 1, nil, noHost, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.r.decide(c.j, c.attempt, c.kept)
			if d.final != c.final || d.kept != c.keeps {
				t.Fatalf("final %+v, kept %+v; want %+v, %+v", d.final, d.kept, c.final, c.keeps)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	r := RetryRun
	for _, c := range []struct {
		attempt  int
		asked    time.Duration
		min, max time.Duration
	}{
		{1, 0, 1600 * time.Millisecond, 2400 * time.Millisecond},
		{2, 0, 8 * time.Second, 12 * time.Second},
		{3, 0, 8 * time.Second, 12 * time.Second}, // a confirmation
		{1, 20 * time.Second, 20 * time.Second, 22 * time.Second},
		{1, time.Hour, time.Minute, 66 * time.Second},
		{2, time.Second, 8 * time.Second, 12 * time.Second},
	} {
		seen := map[time.Duration]bool{}
		for range 200 {
			d := r.delay(c.attempt, c.asked)
			if d < c.min || d > c.max {
				t.Fatalf("attempt %d, Retry-After %v: %v, want %v to %v", c.attempt, c.asked, d, c.min, c.max)
			}
			seen[d] = true
		}
		if len(seen) < 50 {
			t.Errorf("attempt %d: only %d different delays", c.attempt, len(seen))
		}
	}
	if d := RetryWorkers.delay(1, 2*time.Hour); d < time.Hour || d > 66*time.Minute {
		t.Errorf("workers obey Retry-After up to an hour: %v", d)
	}
}
