package worker

import (
	"math/rand/v2"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
)

// Retries say how often and when a site is audited again after a passing
// trouble (pipeline specification, promise 5).
type Retries struct {
	// Attempts is the most that one audit takes, the first included.
	Attempts int
	// Delays stand before the second attempt, the third and so on; the last
	// one holds for all further ones.
	Delays []time.Duration
	// MaxRetryAfter is the longest time for which a site's Retry-After is
	// obeyed.
	MaxRetryAfter time.Duration
}

// The policies.
var (
	// QuickRetries is for people who wait: the audit and run commands.
	QuickRetries = Retries{Attempts: 3, Delays: []time.Duration{2 * time.Second, 10 * time.Second}, MaxRetryAfter: time.Minute}
	// PatientRetries is for workers that run for ever.
	PatientRetries = Retries{Attempts: 3, Delays: []time.Duration{30 * time.Second, 5 * time.Minute}, MaxRetryAfter: time.Hour}
	// NoRetries takes the first answer, whatever it is.
	NoRetries = Retries{Attempts: 1}
)

// Step is what follows an attempt.
type Step struct {
	// Final says that Result is the result; else another attempt follows
	// after Delay, and Kept is to be handed to the next decision.
	Final  bool
	Result *report.Result
	Kept   *report.Result
	Delay  time.Duration
}

// Next decides what follows an attempt. Attempts count from 1; kept is what
// the decision before has kept, nil if nothing.
//
// A definite result is kept over later attempts that get no answer. A negative
// answer of a kind that is confirmed counts when two attempts in a row find
// it; if it is first met by the last attempt, one more is granted.
func (r Retries) Next(attempt int, j audit.Judgement, kept *report.Result) Step {
	res, v := j.Result, j.Verdict
	left := attempt < r.Attempts
	switch v.Again {
	case audit.Confirm:
		confirmed := kept != nil && kept.Reason == res.Reason
		if confirmed || r.Attempts == 1 || attempt > r.Attempts {
			return Step{Final: true, Result: res}
		}
		return Step{Kept: res, Delay: r.delay(attempt, v.RetryAfter)}
	case audit.Trouble:
		if left {
			if v.Definite {
				kept = res
			}
			return Step{Kept: kept, Delay: r.delay(attempt, v.RetryAfter)}
		}
	}
	if !v.Definite && kept != nil && !unconfirmed(kept) {
		return Step{Final: true, Result: kept}
	}
	return Step{Final: true, Result: res}
}

// unconfirmed reports a negative answer that was kept only to be compared.
func unconfirmed(r *report.Result) bool {
	return r.Reason == report.ReasonNoSuchHost || r.Reason == report.ReasonBadCertificate
}

// delay spreads attempts over half the time around the planned one, so that
// sites that failed together do not come back together. Retry-After is a
// lower bound.
func (r Retries) delay(attempt int, retryAfter time.Duration) time.Duration {
	planned := r.Delays[min(attempt, len(r.Delays))-1]
	planned = planned*3/4 + rand.N(planned/2+1)
	return max(planned, min(retryAfter, r.MaxRetryAfter))
}
