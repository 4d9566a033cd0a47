package worker

import (
	"context"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
)

// Audit audits one site without a queue, with as many attempts as are granted,
// and keeps the last definite result; at says what to audit, and how. again, if
// not nil, hears of an attempt that is not final and when the next one begins.
// The error is not nil only where ctx ended.
func (r Retry) Audit(ctx context.Context, a Auditor, at audit.Attempt, again func(attempt *report.Result, after time.Duration)) (*report.Result, error) {
	var kept *report.Result
	at.Final = func(j audit.Judgement) bool { return r.Next(j, at.Number, kept).Result == j.Result }
	for at.Number = 1; ; at.Number++ {
		j, err := a.Audit(ctx, at)
		if err != nil {
			return nil, err
		}
		next := r.Next(j, at.Number, kept)
		if next.Result != nil {
			return next.Result, nil
		}
		kept = next.Kept
		if again != nil {
			again(j.Result, next.After)
		}
		select {
		case <-time.After(next.After):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
