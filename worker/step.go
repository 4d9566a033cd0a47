package worker

import (
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
)

// Step is what follows an attempt, for those who audit one site without a
// queue.
type Step struct {
	// Result is the final result, nil where another attempt follows.
	Result *report.Result
	// After is the time until then, Kept what is to be handed to the next
	// decision.
	After time.Duration
	Kept  *report.Result
}

// Next decides what follows an attempt, counted from 1, in the same way as for
// the runs of a batch. kept is what the decision before has kept, nil if
// nothing.
func (r Retry) Next(j audit.Judgement, attempt int, kept *report.Result) Step {
	d := r.decide(j, attempt, kept)
	return Step{Result: d.final, After: d.after, Kept: d.kept}
}
