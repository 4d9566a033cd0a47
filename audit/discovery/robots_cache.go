package discovery

import (
	"context"
	"encoding/json"
	"time"

	"agentaudit/audit/report"
	"agentaudit/audit/robots"
	"agentaudit/fetch/weburl"
)

// RobotsCache keeps for a while what origins said in their robots.txt, so that
// scans of many listings on one host ask for it once (RFC 9309, section 2.4).
// It may lose what it likes, and its trouble is no business of a scan: then it
// has nothing. It is safe for concurrent use.
type RobotsCache interface {
	// Get is what was put for an origin, nil if there is nothing.
	Get(ctx context.Context, origin string) []byte
	// Put keeps something for an origin, at most for a time.
	Put(ctx context.Context, origin string, data []byte, ttl time.Duration)
}

const (
	// robotsFor is how long rules are kept: long enough for the listings of a
	// batch, and no owner who mends his file waits longer. The RFC allows a day.
	robotsFor = time.Hour
	// robotsTroubleFor is how long it is kept that they could not be read.
	robotsTroubleFor = time.Minute
)

// cachedRules are [rules] in a cache, with the rules for everyone.
type cachedRules struct {
	// Version is raised when the meaning of the other members changes: programs
	// of several versions may share a cache.
	Version  int                `json:"version"`
	Agent    string             `json:"agent"`
	Observed report.Observation `json:"observed"`
	Disallow bool               `json:"disallow,omitempty"`
	Rules    string             `json:"rules"`
}

const cachedRulesVersion = 1

// rulesOf are the rules of the origin of a URL, from the cache or the site.
func (s *scan) rulesOf(ctx context.Context, u *weburl.URL) *rules {
	if s.RobotsCache == nil {
		return readRobots(ctx, s.f, u, s.Agent)
	}
	var known cachedRules
	data := s.RobotsCache.Get(ctx, u.Origin())
	if data != nil && json.Unmarshal(data, &known) == nil && known.Version == cachedRulesVersion && known.Agent == s.Agent {
		return &rules{observed: known.Observed, disallow: known.Disallow, list: robots.Parse([]byte(known.Rules), s.Agent), cached: true}
	}
	r := readRobots(ctx, s.f, u, s.Agent)
	ttl := robotsFor
	switch {
	case r.observed.Status == 0:
		return r // no answer, for which we may be to blame
	case r.disallow:
		ttl = robotsTroubleFor
	}
	data, err := json.Marshal(cachedRules{cachedRulesVersion, s.Agent, r.observed, r.disallow, r.list.String()})
	if err == nil {
		s.RobotsCache.Put(ctx, u.Origin(), data, ttl)
	}
	return r
}
