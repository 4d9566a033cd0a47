package audit

import (
	"context"
	"log/slog"
	"time"

	"agentaudit/audit/discovery"
	"agentaudit/audit/report"
	"agentaudit/fetch"
)

// Auditor audits sites over the network. It is safe for concurrent use.
type Auditor struct {
	// Client reads the files; it is required.
	Client *fetch.Client
	// Now is the clock, nil for time.Now.
	Now func() time.Time
	// Robots, if not nil, keeps what sites said in their robots.txt for the scans
	// to come.
	Robots discovery.RobotsCache
	// Log hears of our own faults in scans, which are no part of a result; nil
	// is silence.
	Log *slog.Logger
}

// Audit visits a site once: the publication, and by the same visit
// agents.txt and agents.json ([CollectAgents]) and, where the attempt's options
// ask for it, what else the site offers (package discovery). The latter two
// change nothing in the rest of the result. A publication that is failed or
// partial gets its fix kit ([FixKit]).
//
// The error is not nil only where ctx ended, and then there is no judgement.
func (a *Auditor) Audit(ctx context.Context, at Attempt) (Judgement, error) {
	var options []fetch.VisitOption
	if at.Number > 1 {
		options = append(options, fetch.Fresh())
	}
	v := a.Client.Visit(options...)
	defer v.Close()
	m := newMemory(v)
	started := a.now()
	b, err := Collect(ctx, m, at.Target, started)
	if err != nil {
		return Judgement{}, err
	}
	leaveAlone(v, b)
	if !at.Options.NoAgents {
		if err := CollectAgents(ctx, v, b); err != nil {
			return Judgement{}, err
		}
	}
	j := newJudge(b)
	weighed := j.weigh()
	res := weighed.Result
	var found *discovery.Report
	if (at.Final == nil || at.Final(weighed)) && at.Options.scans(j, weighed) {
		if found, err = a.scan(ctx, m, j, at.Options, &weighed); err != nil {
			return Judgement{}, err
		}
		res.Discovery = encoded(found)
	}
	if res.Outcome == report.OutcomeFailed || res.Outcome == report.OutcomePartial {
		res.FixKit = encoded(j.kit(res.Report, found))
	}
	res.StartedAt, res.FinishedAt = started, a.now()
	return weighed, nil
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
