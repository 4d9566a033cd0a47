package worker

import (
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
)

func TestRetries(t *testing.T) {
	result := func(o report.Outcome, r report.Reason) *report.Result { return &report.Result{Outcome: o, Reason: r} }
	var (
		good      = audit.Judgement{Result: result(report.OutcomeSuccessful, report.ReasonComplete), Verdict: audit.Verdict{Definite: true}}
		partial   = audit.Judgement{Result: result(report.OutcomePartial, report.ReasonIncomplete), Verdict: audit.Verdict{Definite: true, Again: audit.Trouble}}
		timeout   = audit.Judgement{Result: result(report.OutcomeUnchecked, report.ReasonUnreachable), Verdict: audit.Verdict{Again: audit.Trouble}}
		blocked   = audit.Judgement{Result: result(report.OutcomeUnchecked, report.ReasonBlocked)}
		noHost    = audit.Judgement{Result: result(report.OutcomeFailed, report.ReasonNoSuchHost), Verdict: audit.Verdict{Definite: true, Again: audit.Confirm}}
		badCert   = audit.Judgement{Result: result(report.OutcomeFailed, report.ReasonBadCertificate), Verdict: audit.Verdict{Definite: true, Again: audit.Confirm}}
		sequences = []struct {
			name     string
			policy   Retries
			attempts []audit.Judgement
			want     *report.Result
		}{
			{"a definite answer ends it", QuickRetries, []audit.Judgement{good}, good.Result},
			{"trouble once", QuickRetries, []audit.Judgement{timeout, good}, good.Result},
			{"trouble three times", QuickRetries, []audit.Judgement{timeout, timeout, timeout}, timeout.Result},
			{"a block is not knocked at again", QuickRetries, []audit.Judgement{blocked}, blocked.Result},
			{"a definite result outlives later trouble", QuickRetries, []audit.Judgement{partial, timeout, timeout}, partial.Result},
			{"a definite result outlives a later block", QuickRetries, []audit.Judgement{partial, blocked}, partial.Result},
			{"the latest definite result counts", QuickRetries, []audit.Judgement{partial, good}, good.Result},
			{"two attempts confirm", QuickRetries, []audit.Judgement{noHost, noHost}, noHost.Result},
			{"an answer refutes", QuickRetries, []audit.Judgement{noHost, good}, good.Result},
			{"another negative has to be confirmed anew", QuickRetries, []audit.Judgement{noHost, badCert, badCert}, badCert.Result},
			{"what was not confirmed does not count", QuickRetries, []audit.Judgement{noHost, timeout, timeout}, timeout.Result},
			{"one more attempt to confirm", QuickRetries, []audit.Judgement{timeout, timeout, noHost, noHost}, noHost.Result},
			{"but not two", QuickRetries, []audit.Judgement{timeout, timeout, noHost, badCert}, badCert.Result},
			{"no retries", NoRetries, []audit.Judgement{timeout}, timeout.Result},
			{"no retries, no confirmation", NoRetries, []audit.Judgement{noHost}, noHost.Result},
		}
	)
	for _, s := range sequences {
		t.Run(s.name, func(t *testing.T) {
			var kept *report.Result
			for i, j := range s.attempts {
				step := s.policy.Next(i+1, j, kept)
				if last := i == len(s.attempts)-1; step.Final != last {
					t.Fatalf("attempt %d: final is %v", i+1, step.Final)
				}
				if kept = step.Kept; step.Final && step.Result != s.want {
					t.Fatalf("the result is %+v, want %+v", step.Result, s.want)
				}
			}
		})
	}
}

func TestDelays(t *testing.T) {
	trouble := func(retryAfter time.Duration) audit.Judgement {
		return audit.Judgement{Result: &report.Result{}, Verdict: audit.Verdict{Again: audit.Trouble, RetryAfter: retryAfter}}
	}
	for range 200 {
		for _, c := range []struct {
			attempt    int
			retryAfter time.Duration
			low, high  time.Duration
		}{
			{1, 0, 1500 * time.Millisecond, 2500 * time.Millisecond},
			{2, 0, 7500 * time.Millisecond, 12500 * time.Millisecond},
			{1, 20 * time.Second, 20 * time.Second, 20 * time.Second},
			{1, 10 * time.Minute, time.Minute, time.Minute},
		} {
			if d := QuickRetries.Next(c.attempt, trouble(c.retryAfter), nil).Delay; d < c.low || d > c.high {
				t.Fatalf("attempt %d with Retry-After %s waits %s", c.attempt, c.retryAfter, d)
			}
		}
	}
}
