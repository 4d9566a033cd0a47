package audit

import (
	"context"
	"net/http"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// Fetcher reads one public file: one GET that follows nothing. Its errors are
// [*fetch.Error] values. A visit of package fetch is one.
type Fetcher interface {
	Fetch(ctx context.Context, req fetch.Request) (*fetch.Response, error)
}

// Collect reads the files of one publication, one after the other over the
// connection that the visit keeps: the profile, the text index, the README,
// the documents that the profile names, and llms.txt beside an action
// profile. now is the time that the report will show.
//
// The error is not nil only where the caller's context ended; whatever the
// site does is part of the bundle.
func Collect(ctx context.Context, f Fetcher, t Target, now time.Time) (*Bundle, error) {
	b := &Bundle{ProfileURL: t.ProfileURL.Location(), ObservedAt: now, target: &t}
	if t.ReadmeURL != nil {
		b.ReadmeURL = t.ReadmeURL.Location()
	}
	c := &collector{caller: ctx, f: f, b: b}
	budget, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	c.ctx = budget

	c.read(RoleProfile, t.ProfileURL, MaxSmallFile)
	// Without the profile there is no verdict, so that the other files can wait
	// as well as this one.
	leaveAlone(f, b)
	b.subject = newSubject(b, t)
	c.read(RoleText, t.TextURL(), MaxSmallFile)
	for _, u := range t.readmeURLs() {
		if !c.read(RoleReadme, u, MaxSmallFile).answered(http.StatusNotFound) {
			break
		}
	}
	for _, d := range b.subject.documents {
		if have := b.document(d.url.Location()); have == nil {
			c.read(RoleDocument, d.url, d.limit)
		}
	}
	if b.subject.llms != nil {
		c.read(RoleLLMs, b.subject.llms, MaxSmallFile)
	}
	return b, ctx.Err()
}

// A rester is a Fetcher that can leave a host alone, as [fetch.Visit.Rest] does.
type rester interface {
	Rest(host string, d time.Duration)
}

// leaveAlone has nothing more read at hosts that asked for that. Where stored
// answers are read, there is nobody to leave alone.
func leaveAlone(f Fetcher, b *Bundle) {
	visit, ok := f.(rester)
	if !ok {
		return
	}
	var v Verdict
	for i := range b.Reads {
		v.rest(&b.Reads[i])
	}
	for _, r := range v.Rests {
		visit.Rest(r.Host, r.For)
	}
}

type collector struct {
	caller context.Context
	ctx    context.Context
	f      Fetcher
	b      *Bundle
}

func (c *collector) read(role Role, u *weburl.URL, limit int64) *Read {
	resp, err := c.f.Fetch(c.ctx, fetch.Request{URL: u, Accept: Accept, MaxBytes: limit})
	r := newRead(role, u, limit, resp, err)
	if c.ctx.Err() != nil && c.caller.Err() == nil && r.Kind == fetch.KindCancelled {
		// The audit's own budget ended, not the caller's patience.
		r.Kind = fetch.KindTimeout
		r.Message = "the site was so slow that the time for one audit was used up before this file was read"
		r.Advice = "Look for what makes the site slow and audit it again."
	}
	c.b.Reads = append(c.b.Reads, r)
	return &c.b.Reads[len(c.b.Reads)-1]
}
