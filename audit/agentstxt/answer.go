package agentstxt

import (
	"math/big"
	"strings"
	"time"

	"agentaudit/audit/robots"
)

// Permission is what an agent may do with a path (section 6).
type Permission string

// The permissions.
const (
	// Allowed: the access rules let anyone fetch the path.
	Allowed Permission = "allowed"
	// Disallowed: neither the rules nor a granted capability permit it.
	Disallowed Permission = "disallowed"
	// OnlyAsCapability: the rules do not, but the path is the endpoint of a
	// capability that this agent is granted.
	OnlyAsCapability Permission = "only-as-capability"
)

// Decision is the answer to a question. It is advice: nothing in these files
// enforces anything.
type Decision struct {
	Allowed Permission `json:"allowed"`
	// Capabilities are the ids granted to the agent, in file order.
	Capabilities []string `json:"capabilities"`
	// RateLimit is the strictest limit that concerns the request, nil for none.
	RateLimit *RateLimit `json:"rateLimit"`
	// Agent is the name of the block that applies: the agent's own, "*", or ""
	// where no block does.
	Agent string `json:"agent"`
	// Used are the granted capabilities whose endpoint has the path.
	Used []string `json:"used"`
	// Line is the line of the file that decides, from 1, 0 where it is the
	// absence of a line; DecidedBy is its text, Why the reason in a sentence.
	Line      int    `json:"line"`
	DecidedBy string `json:"decidedBy"`
	Why       string `json:"why"`
	// Notes say what to know besides, in sentences.
	Notes []string `json:"notes"`
}

// Answer says what an agent, known by its User-Agent header, may do with a
// path (with its query) and which capabilities and limit it gets.
func Answer(d *Document, userAgent, method, path string) Decision {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	path, _, _ = strings.Cut(path, "#")
	mask := newMasker(scanDocument(d, time.Time{}))
	out := Decision{Capabilities: []string{}, Used: []string{}, Notes: []string{}}
	decl := &d.Declaration

	agent := decl.Agents.Find(strings.ToLower(firstToken(userAgent)))
	if agent == nil {
		agent = decl.Agents.Find("*")
	}
	var limits []RateLimit
	var granted map[string]bool
	if agent != nil {
		out.Agent = show(mask, agent.Name.Value)
		if !agent.RateLimit.IsZero() {
			limits = append(limits, agent.RateLimit)
		}
		if agent.Capabilities != nil {
			granted = map[string]bool{}
			for _, c := range agent.Capabilities {
				granted[c.Value] = true
			}
		}
	}
	var used, denied *Capability
	bare, _, _ := strings.Cut(path, "?")
	listed := map[string]bool{}
	for i := range decl.Capabilities {
		c := &decl.Capabilities[i]
		l, ok := parseLink(c.Endpoint.Value)
		hit := ok && matchEndpoint(l.path, bare)
		if granted != nil && !granted[c.ID.Value] {
			if hit && denied == nil {
				denied = c
			}
			continue
		}
		id := show(mask, c.ID.Value)
		if c.ID.Value != "" && !listed[c.ID.Value] {
			listed[c.ID.Value] = true
			out.Capabilities = append(out.Capabilities, id)
		}
		if !hit {
			continue
		}
		if used == nil {
			used = c
		}
		out.Used = append(out.Used, id)
		if want := restMethod(c); want != "" && !equalFold(want, method) {
			out.Notes = append(out.Notes, "Capability "+id+" is declared for "+show(mask, want)+", not for "+strings.ToUpper(cutBytes(method))+".")
		} else if !c.RateLimit.IsZero() {
			limits = append(limits, c.RateLimit)
		}
		if s, ok := parseLink(decl.Site.URL.Value); ok && s.host != l.host {
			out.Notes = append(out.Notes, "The endpoint of "+id+" is on "+show(mask, l.host)+"; rules are about paths, whatever the host.")
		}
	}
	out.RateLimit = strictest(limits)
	if equalFold(firstToken(userAgent), "Mozilla") {
		out.Notes = append(out.Notes, "The first token of this User-Agent is Mozilla: blocks for the agent's own name do not match.")
	}
	d.permission(&out, path, used, denied, agent, mask)
	return out
}

// permission sets what is allowed and the line that decides.
func (d *Document) permission(out *Decision, path string, used, denied *Capability, agent *Agent, mask *masker) {
	m := newMatcher(d.Declaration.Access)
	m.work = 0
	rule := m.decide(path)
	decides := func(t Text, why string) {
		out.Line, _ = d.src.position(t.offset)
		from := d.src.starts[out.Line-1]
		if d.Form == JSONForm { // a line may hold the whole file
			from = t.offset
		}
		out.DecidedBy = show(mask, trim(d.src.line(out.Line - 1)[from-d.src.starts[out.Line-1]:]))
		out.Why = why
	}
	noRules := d.Declaration.Access.IsZero()
	switch {
	case rule.matched && rule.allowed:
		out.Allowed = Allowed
		decides(rule.rule, "The longest pattern that matches allows it.")
	case !rule.matched && !noRules:
		out.Allowed = Allowed
		out.Why = "No pattern matches. What no rule matches is allowed, as the file has rules."
	case used != nil:
		out.Allowed = OnlyAsCapability
		why := "The file has no access rules, so only the endpoints of capabilities are permitted; this is one."
		if rule.matched {
			why = "A pattern disallows the path, but a declared capability stays usable at its endpoint."
		}
		decides(used.Endpoint, why)
	case rule.matched:
		out.Allowed = Disallowed
		decides(rule.rule, "The longest pattern that matches disallows it.")
	case denied != nil && agent != nil:
		out.Allowed = Disallowed
		at := Text{offset: agent.offset}
		if len(agent.Capabilities) > 0 {
			at = agent.Capabilities[0]
		}
		decides(at, "The path is a capability's endpoint, but this agent is not granted the capability.")
	default:
		out.Allowed = Disallowed
		out.Why = "The file has no access rules, so only the endpoints of capabilities are permitted; this is none."
	}
}

// restMethod is the method of a REST capability, "" for other protocols.
func restMethod(c *Capability) string {
	if c.Protocol.Value != "REST" {
		return ""
	}
	if c.Method.Value == "" {
		return "GET"
	}
	return c.Method.Value
}

// matchEndpoint reports whether a path is that of an endpoint; a template
// segment, {id} or :id, stands for one segment (section 10).
func matchEndpoint(endpoint, path string) bool {
	if endpoint == "" {
		endpoint = "/"
	}
	if !strings.ContainsAny(endpoint, "{:") {
		return robots.NormalPath(endpoint) == robots.NormalPath(path)
	}
	for {
		a, restA, moreA := strings.Cut(endpoint, "/")
		b, restB, moreB := strings.Cut(path, "/")
		if !matchSegment(a, b) || moreA != moreB {
			return false
		}
		if !moreA {
			return true
		}
		endpoint, path = restA, restB
	}
}

func matchSegment(template, segment string) bool {
	if strings.HasPrefix(template, ":") && nameEnd(template[1:]) > 0 {
		return segment != ""
	}
	before, rest, ok := strings.Cut(template, "{")
	if !ok {
		return robots.NormalPath(template) == robots.NormalPath(segment)
	}
	_, after, ok := strings.Cut(rest, "}")
	if !ok {
		return robots.NormalPath(template) == robots.NormalPath(segment)
	}
	segment = robots.NormalPath(segment)
	segment, ok = strings.CutPrefix(segment, robots.NormalPath(before))
	if !ok || segment == "" {
		return false
	}
	if i := strings.IndexByte(after, '{'); i >= 0 { // more than one template in a segment
		next := robots.NormalPath(after[:i])
		j := strings.Index(segment[1:], next)
		return j >= 0 && matchSegment(after[i:], segment[1+j+len(next):])
	}
	after = robots.NormalPath(after)
	return len(segment) > len(after) && strings.HasSuffix(segment, after)
}

var windowSeconds = map[string]int64{"second": 1, "minute": 60, "hour": 3600, "day": 86400}

// perSecond is the average of a limit.
func (r RateLimit) perSecond() *big.Rat {
	digits := r.Requests.Value
	if len(digits) > 400 { // any number of this size is beyond all others
		digits = digits[:400]
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || windowSeconds[r.Window.Value] == 0 {
		return new(big.Rat)
	}
	return new(big.Rat).SetFrac(n, big.NewInt(windowSeconds[r.Window.Value]))
}

// strictest is the limit with the fewest requests per second, nil for none.
func strictest(limits []RateLimit) *RateLimit {
	var best *RateLimit
	for i := range limits {
		if best == nil || limits[i].perSecond().Cmp(best.perSecond()) < 0 {
			best = &limits[i]
		}
	}
	return best
}
