package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"agentaudit/audit/report"
	"agentaudit/audit/robots"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

const (
	// maxRobotsRedirects is how many redirects are followed to a robots.txt
	// (RFC 9309, section 2.3.1.2).
	maxRobotsRedirects = 5
	// maxRobotsWork bounds what one scan spends on deciding, in the octets that
	// [robots.Rules.Allows] counts: about a tenth of a second for the costliest
	// rules there are, and a hundred times what honest ones need.
	maxRobotsWork = 128 << 20
)

// rules are what the robots.txt of one origin asks for.
type rules struct {
	observed  report.Observation
	redirects int
	list      *robots.Rules
	// disallow is set where nothing may be read: the rules could not be.
	disallow bool
	cached   bool // read by an earlier scan
}

// published are the files of a publication, which are there for agents:
// robots.txt has no say in them (pipeline specification, promise 4).
var published = []string{"/agentic.json", "/agentic.txt", "/README.md", "/LISTING.md"}

// allowed reports whether a document that a page links to, or that an answer
// redirects to, may be read. The rules of its origin are read when they are
// first needed.
func (s *scan) allowed(ctx context.Context, u *weburl.URL) bool {
	if s.IgnoreRobots || slices.Contains(published, u.Path()) {
		return true
	}
	r := s.rules[u.Origin()]
	if r == nil {
		r = s.rulesOf(ctx, u)
		s.rules[u.Origin()] = r
		s.noteRobots(r)
	}
	allowed := !r.disallow
	if allowed {
		var work int
		allowed, work = r.list.Allows(u.Path())
		if s.robotsWork += work; s.robotsWork > maxRobotsWork {
			r.disallow, allowed = true, false
			s.robots.Error = "its rules are too many and too intricate to be evaluated; nothing more is read"
		}
	}
	if at := u.Location(); !allowed && !slices.Contains(s.robots.Disallowed, at) {
		s.robots.Disallowed = append(s.robots.Disallowed, at)
	}
	return allowed
}

// noteRobots reports the reading of a robots.txt. There are two at most: a scan
// goes to the site and its counterpart alone.
func (s *scan) noteRobots(r *rules) {
	if s.robots == nil {
		s.robots = &Robots{Observation: r.observed, Disallowed: []string{}}
	} else {
		s.robots.Also = &r.observed
	}
	s.robots.Redirects += r.redirects
	s.robots.Cached = s.robots.Cached || r.cached
}

// readRobots reads the rules of an origin once (RFC 9309, section 2.3.1): no
// such file allows all, a file that cannot be reached nothing. Redirects are
// followed where those of other documents would be; one that leads elsewhere,
// or one too many, counts as no such file.
func readRobots(ctx context.Context, f Fetcher, of *weburl.URL, agent string) *rules {
	r := &rules{list: &robots.Rules{}}
	u, err := of.Resolve("/robots.txt")
	if err != nil {
		panic(fmt.Sprintf("discovery: %s has no robots.txt: %v", of, err)) // any https URL has one
	}
	for ; ; r.redirects++ {
		r.observed = report.Observation{URL: u.Location()}
		answer, err := f.Fetch(ctx, fetch.Request{URL: u, Accept: "text/plain", MaxBytes: robots.MaxSize})
		if err == nil {
			r.observed.Status, r.observed.ContentType, r.observed.Bytes = answer.Status, answer.ContentType, &answer.Bytes
			switch {
			case answer.Status >= 500 || answer.Status == http.StatusTooManyRequests:
				r.disallow = true
			case answer.Status == http.StatusOK:
				r.list = robots.Parse(answer.Body, agent)
			}
			return r
		}
		fe, ok := errors.AsType[*fetch.Error](err)
		if ok {
			r.observed.Status, r.observed.ContentType = fe.Status, fe.ContentType
		}
		if !ok || fe.Kind != fetch.KindRedirect {
			r.observed.Error, r.disallow = err.Error(), true
			return r
		}
		if u, err = follow(u, fe.Location); err == nil && r.redirects == maxRobotsRedirects {
			err = fmt.Errorf("it redirects more than %d times", maxRobotsRedirects)
		}
		if err != nil {
			r.observed.Error = err.Error()
			return r
		}
	}
}
