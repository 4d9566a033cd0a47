package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/temoto/robotstxt"

	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// MaxRobots is the size of a robots.txt in bytes (RFC 9309, section 2.5).
const MaxRobots = 500 << 10

// maxWildcards bounds the rules with wildcards, in bytes: they become regular
// expressions that are tried on every path.
const maxWildcards = 16 << 10

// robots is what a site's robots.txt asks for.
type robots struct {
	Robots
	group    *robotstxt.Group // nil: all is allowed
	disallow bool             // nothing is allowed
}

func (r *robots) observed() *Robots {
	if r == nil {
		return nil
	}
	return &r.Robots
}

// allowed reports whether a linked document may be read. The rules are read
// when they are first needed.
func (s *scan) allowed(ctx context.Context, u *weburl.URL) bool {
	if s.IgnoreRobots {
		return true
	}
	if s.robots == nil {
		s.robots = s.readRobots(ctx)
	}
	r := s.robots
	if !r.disallow && (r.group == nil || r.group.Test(u.Path())) {
		return true
	}
	r.Disallowed = append(r.Disallowed, u.Location())
	return false
}

// readRobots reads the rules once (RFC 9309, section 2.3.1): no such file
// allows all, a file that cannot be reached nothing. A redirect is not
// followed, as the scan has its limits; it counts as no such file.
func (s *scan) readRobots(ctx context.Context) *robots {
	r := &robots{Robots: Robots{Disallowed: []string{}}}
	u, err := s.originURL.Resolve("/robots.txt")
	if err != nil {
		return r
	}
	r.URL = u.Location()
	answer, err := s.f.Fetch(ctx, fetch.Request{URL: u, Accept: "text/plain", MaxBytes: MaxRobots})
	if err != nil {
		r.Error = err.Error()
		r.disallow = true
		if fe, ok := errors.AsType[*fetch.Error](err); ok {
			r.Status, r.ContentType = fe.Status, fe.ContentType
			r.disallow = fe.Kind != fetch.KindRedirect
		}
		return r
	}
	r.Observation = report.Observation{URL: u.Location(), Status: answer.Status, ContentType: answer.ContentType, Bytes: &answer.Bytes}
	switch {
	case answer.Status >= 500 || answer.Status == 429:
		r.disallow = true
	case answer.Status == 200:
		rules, err := rulesOf(answer.Body)
		if err != nil {
			r.Error, r.disallow = err.Error(), true
			return r
		}
		r.group = rules.FindGroup(s.Agent)
	}
	return r
}

// rulesOf parses the lines that say who is meant and what is allowed; nothing
// else in the file can spoil them. More wildcards than any honest site needs
// are an error.
func rulesOf(body []byte) (*robotstxt.RobotsData, error) {
	var kept bytes.Buffer
	wildcards, begun := 0, false
	for line := range bytes.Lines(bytes.ReplaceAll(bytes.TrimPrefix(body, []byte("\uFEFF")), []byte("\r"), []byte("\n"))) {
		line, _, _ := strings.Cut(string(line), "#")
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch {
		case !ok:
			continue
		case key == "user-agent":
			begun = true
		case key == "allow" || key == "disallow":
			if !begun {
				continue
			}
			if strings.ContainsAny(strings.TrimRight(value, "*"), "*$") {
				wildcards += len(value)
			}
		default:
			continue
		}
		fmt.Fprintf(&kept, "%s: %s\n", key, value)
	}
	if wildcards > maxWildcards {
		return nil, fmt.Errorf("it has more than %d bytes of rules with wildcards, which are not evaluated", maxWildcards)
	}
	return robotstxt.FromBytes(kept.Bytes())
}
