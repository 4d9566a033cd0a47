package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agentaudit/audit/agentstxt"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// AgentsBudget bounds the reading of agents.txt and agents.json, behind
// [Budget].
const AgentsBudget = 20 * time.Second

// The kinds of replies that stand for requests that were not made.
const (
	// kindElsewhere: the address is not the site's own. Nothing that a site
	// publishes leads an audit to another host.
	kindElsewhere = "elsewhere"
	// kindSpared: the site gave no answer to anything else.
	kindSpared = "spared"
)

// CollectAgents reads the site's agents.txt and agents.json into a bundle of
// [Collect], over the same visit and with at most
// [agentstxt.PipelineRequests] requests, all of them to the site itself. A site
// that gave no answer to anything before is not asked; one that leaves a
// request without an answer is asked no more.
//
// The error is not nil only where the caller's context ended; whatever the
// site does is part of the bundle.
func CollectAgents(ctx context.Context, f Fetcher, b *Bundle) error {
	t, err := b.parsedTarget()
	if err != nil {
		return err
	}
	origin := t.ProfileURL.Origin()
	b.Agents = []agentstxt.Reply{}
	if silent := b.silent(origin); silent != nil {
		b.Agents = append(b.Agents, agentstxt.Reply{URL: origin + agentstxt.TextPath, Kind: kindSpared,
			Message: "the site gave no answer to anything else: " + stopped(silent.Message)})
		return ctx.Err()
	}
	own, stop := context.WithTimeout(ctx, AgentsBudget)
	defer stop()
	replies, _ := agentstxt.Collect(own, &siteOnly{f: f, origin: origin, stop: stop}, t.ProfileURL, agentstxt.PipelineRequests)
	for _, r := range replies {
		if u, err := weburl.Parse(r.URL); err == nil && elsewhere(u, origin) {
			r.Kind, r.Evidence = kindElsewhere, report.Evidence{}
		}
		if r.Kind == string(fetch.KindCancelled) {
			r.Kind, r.Message = string(fetch.KindTimeout), "the site was so slow that the time for agents.txt was used up"
			r.Evidence.Error, r.Evidence.Message = r.Kind, r.Message
		}
		b.Agents = append(b.Agents, r)
	}
	return ctx.Err()
}

var errElsewhere = errors.New("it is on another host, where this audit does not look")

// silent is the read of the profile where no read of the origin got an
// answer, else nil.
func (b *Bundle) silent(origin string) *Read {
	for i := range b.Reads {
		if r := &b.Reads[i]; r.Status != 0 && strings.HasPrefix(r.URL, origin+"/") {
			return nil
		}
	}
	return b.first(RoleProfile)
}

// siteOnly asks one site and nobody else, as long as it answers.
type siteOnly struct {
	f      Fetcher
	origin string
	stop   context.CancelFunc
}

func (s *siteOnly) Fetch(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	if elsewhere(req.URL, s.origin) {
		return nil, errElsewhere
	}
	resp, err := s.f.Fetch(ctx, req)
	if e, ok := errors.AsType[*fetch.Error](err); ok && e.Status == 0 && e.Kind != fetch.KindRefused {
		s.stop()
	}
	return resp, err
}

// elsewhere reports whether a URL is for another host. Addresses that are no
// https never reach the network, and are refused in so many words.
func elsewhere(u *weburl.URL, origin string) bool {
	return u.Scheme() == "https" && u.Origin() != origin
}

// agents judges what [CollectAgents] read, beside the result and without a
// word in its verdict.
func (j *judge) agents(res *report.Result) {
	if j.b.Agents == nil {
		return
	}
	r := agentstxt.Judge(agentstxt.Input{Origin: j.t.ProfileURL.Origin(), Now: j.b.ObservedAt, Replies: j.b.Agents})
	if j.s.site != nil && j.s.ownOrigin {
		r.Checks = append(r.Checks, agentstxt.CrossNotes(r.Declaration, agentResources(j.s))...)
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("audit: the agents.txt report of %s is no JSON: %v", r.Origin, err))
	}
	res.AgentsVerdict, res.Agents = string(r.Verdict), data
	for i := range j.b.Agents {
		e := j.b.Agents[i].Evidence
		if e.URL == "" {
			continue // the request was not made
		}
		// The observations have every credential masked.
		o := r.Observations[i]
		e.URL, e.MediaType = o.URL, printable(o.ContentType)
		if e.Error != "" {
			e.Message = o.Error
		}
		res.Evidence = append(res.Evidence, e)
		if end := e.StartedAt.Add(time.Duration(e.DurationMs) * time.Millisecond); end.After(res.FinishedAt) {
			res.FinishedAt = end
		}
	}
}

// agentResources are the resources of a site profile that the other
// convention may declare as capabilities.
func agentResources(s *subject) []agentstxt.Resource {
	var out []agentstxt.Resource
	for _, r := range s.site.Resources {
		out = append(out, agentstxt.Resource{Kind: string(r.Kind), URL: r.URL})
	}
	return out
}

// agentsRequests bounds the requests for one site that somebody waits for:
// all places, their redirects, and what the files point to.
const agentsRequests = 20

// ReadAgents reads the agents.txt and agents.json of one site that somebody
// waits for: other than in [CollectAgents], redirects and what the files point
// to are followed, also to other hosts. It takes at most [Budget]. What comes
// back is ready for [agentstxt.Judge]. The error is not nil only where the
// caller's context ended.
func ReadAgents(ctx context.Context, f Fetcher, t Target, now time.Time) (agentstxt.Input, error) {
	in := agentstxt.Input{Origin: t.ProfileURL.Origin(), Now: now}
	within, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	var err error
	if in.Replies, err = agentstxt.Collect(within, f, t.ProfileURL, agentsRequests); ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
		return in, err
	}
	for i := range in.Replies {
		if r := &in.Replies[i]; r.Kind == string(fetch.KindCancelled) {
			r.Kind, r.Message = string(fetch.KindTimeout), "the site was so slow that the time for one audit was used up"
		}
	}
	return in, nil
}
