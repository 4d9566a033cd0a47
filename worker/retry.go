package worker

import (
	"math/rand/v2"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
)

// Retry says when an attempt that is not final is followed by another
// (pipeline specification, promise 5).
type Retry struct {
	// Never makes the first attempt final, whatever it finds (--no-retry).
	Never bool
	// Delays are the times before the second, third … attempt, about: a fifth
	// more or less by chance. Their number bounds the attempts.
	Delays []time.Duration
	// MaxRetryAfter bounds what a site asks for with Retry-After.
	MaxRetryAfter time.Duration
}

var (
	// RetryRun is for somebody who waits for the end (run, audit).
	RetryRun = Retry{Delays: []time.Duration{2 * time.Second, 10 * time.Second}, MaxRetryAfter: time.Minute}
	// RetryWorkers is for workers with time.
	RetryWorkers = Retry{Delays: []time.Duration{30 * time.Second, 5 * time.Minute}, MaxRetryAfter: time.Hour}
)

// decision is what becomes of a run after an attempt: a final result, or
// another attempt after a time, with what is kept for it.
type decision struct {
	final *report.Result
	after time.Duration
	kept  *report.Result
}

// decide looks at an attempt (counted from 1) and at what an earlier one kept.
//
//	again     attempts left   then
//	final     -               this result, or the kept one if this is none
//	trouble   yes             again; a definite result is kept
//	trouble   no              this result if definite, else the kept one, else this
//	confirm   -               this result if the kept one says the same
//	confirm   yes             again, kept
//	confirm   no              once more: what was seen once is not confirmed
func (r Retry) decide(j audit.Judgement, attempt int, kept *report.Result) decision {
	res, v := j.Result, j.Verdict
	if r.Never {
		return decision{final: res}
	}
	fallback := res
	if !v.Definite && kept != nil && !needsConfirmation(kept) {
		fallback = kept
	}
	most := 1 + len(r.Delays)
	switch v.Again {
	case audit.Trouble:
		if attempt >= most {
			return decision{final: fallback}
		}
	case audit.Confirm:
		if kept != nil && kept.Reason == res.Reason || attempt > most {
			return decision{final: res}
		}
	default:
		return decision{final: fallback}
	}
	d := decision{after: r.delay(attempt, v.RetryAfter)}
	if v.Definite {
		d.kept = res
	}
	return d
}

// needsConfirmation tells results that count only when a second attempt finds
// the same.
func needsConfirmation(r *report.Result) bool {
	return r.Reason == report.ReasonNoSuchHost || r.Reason == report.ReasonBadCertificate
}

func (r Retry) delay(attempt int, retryAfter time.Duration) time.Duration {
	var d time.Duration
	if len(r.Delays) > 0 {
		d = r.Delays[min(attempt, len(r.Delays))-1]
	}
	// What a site asks for is the least: chance only adds to it.
	asked := min(retryAfter, r.MaxRetryAfter)
	return max(jitter(d), asked+rand.N(asked/10+1))
}

// jitter is a fifth more or less than d.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d - d/5 + rand.N(2*d/5+1)
}
