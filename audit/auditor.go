package audit

import (
	"context"
	"time"

	"agentaudit/audit/report"
	"agentaudit/fetch"
)

// Auditor audits sites over the network: a visit, what it reads, the
// judgement.
type Auditor struct {
	// Client reads the files; it is required.
	Client *fetch.Client
	// Now is the clock, nil for time.Now.
	Now func() time.Time
	// Agents has agents.txt and agents.json audited by the same visit
	// ([CollectAgents]). It changes nothing in the rest of the result.
	Agents bool
}

// Audit visits a site once. Attempts count from 1; later ones ask the DNS
// anew, so that a negative answer is not confirmed from a cache. The error is
// not nil only where ctx ended, and then there is no judgement.
func (a *Auditor) Audit(ctx context.Context, t Target, attempt int) (Judgement, error) {
	now := a.Now
	if now == nil {
		now = time.Now
	}
	var options []fetch.VisitOption
	if attempt > 1 {
		options = append(options, fetch.Fresh())
	}
	v := a.Client.Visit(options...)
	defer v.Close()
	started := now()
	b, err := Collect(ctx, v, t, started)
	if err != nil {
		return Judgement{}, err
	}
	if a.Agents {
		if err := CollectAgents(ctx, v, b); err != nil {
			return Judgement{}, err
		}
	}
	j := Weigh(b)
	j.Result.StartedAt, j.Result.FinishedAt = started, now()
	return j, nil
}

// Crashed is the result for a site at which an audit broke down through our
// own fault: no verdict about the site.
func Crashed(t Target, at time.Time) *report.Result {
	r := &fetch.Error{Kind: fetch.KindCancelled}
	b := &Bundle{ProfileURL: t.ProfileURL.Location(), ObservedAt: at, target: &t}
	failed := newRead(RoleProfile, t.ProfileURL, MaxSmallFile, nil, r)
	failed.Message = "the audit broke down through a fault of agentaudit itself; its log says more"
	failed.Advice = "Nothing is known about the site. Audit it again, and report the fault if it comes back."
	b.Reads = append(b.Reads, failed)
	res := Judge(b)
	res.Outcome, res.Reason, res.Detail = report.OutcomeUnchecked, report.ReasonInternal, sentence(failed.Message)
	return res
}
