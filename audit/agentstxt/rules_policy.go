package agentstxt

import (
	"strings"

	"agentaudit/audit/robots"
)

func (r *ruleRun) accessRules() {
	a := &r.Declaration.Access
	allowed := make(map[string]bool, len(a.Allow))
	for _, p := range a.Allow {
		r.pattern(p, fAllow)
		allowed[robots.NormalPattern(p.Value)] = true
	}
	for _, p := range a.Disallow {
		r.pattern(p, fDisallow)
		if p.Value != "" && allowed[robots.NormalPattern(p.Value)] {
			r.add("pattern-conflict", Warn, p.offset, "The pattern %s is both allowed and disallowed. Allow wins.", quoted(p.Value)).
				fix("Leave only one of the two.")
		}
	}
	if r.isAgentType() {
		return
	}
	m := newMatcher(*a)
	for i := range r.Declaration.Capabilities {
		c := &r.Declaration.Capabilities[i]
		l, ok := parseLink(c.Endpoint.Value)
		if !ok {
			continue
		}
		d := m.decide(l.request())
		if m.exhausted {
			r.add("not-checked", Info, -1, "There are too many rules and endpoints to look whether the file disallows its own endpoints.").
				fix("Publish fewer rules.")
			return
		}
		if d.matched && !d.allowed {
			where := ""
			if r.siteOK && l.host != r.siteLink.host {
				where = " (the endpoint is on another host, but rules are about paths)"
			}
			r.add("endpoint-disallowed", Warn, c.Endpoint.offset, "The path of capability %s is disallowed by the file itself: %s: %s%s. Readers may take it as not usable.",
				quoted(c.ID.Value), r.name(fDisallow), plain(d.rule.Value), where).
				fix("Add: %s", plain(r.write(fAllow, l.path)))
		}
	}
}

func (r *ruleRun) pattern(p Text, f field) {
	v := p.Value
	switch {
	case v == "":
		r.add("pattern-empty", Info, p.offset, "%s has no pattern. It matches nothing, but it is a rule: what no rule matches is allowed.", r.name(f)).
			fix("If all paths are meant, write: %s", r.write(f, "/"))
		return
	case v[0] == '/' || v[0] == '*':
	default:
		fixed := "/" + v
		why := "begins with neither / nor *: it matches nothing"
		if l, ok := parseLink(v); ok {
			fixed = l.request()
			why = "is a whole URL; patterns are paths"
		}
		r.add("pattern", Warn, p.offset, "The pattern %s %s.", quoted(v), why).fix("Write: %s", plain(r.write(f, fixed)))
	}
	if i := strings.IndexByte(v, '$'); i >= 0 && i < len(v)-1 {
		r.add("wildcard", Info, p.offset, "The pattern %s has a $ inside. Only at the end it is an anchor; here it is an ordinary character.", quoted(v)).
			fix("Remove the $, or percent-encode it if it is part of the path.")
	}
}

func (r *ruleRun) agentBlocks() {
	d := &r.Declaration
	declared := make(map[string]bool, len(d.Capabilities))
	for i := range d.Capabilities {
		declared[d.Capabilities[i].ID.Value] = true
	}
	star, named := false, -1
	for i := range d.Agents {
		a := &d.Agents[i]
		if star = star || a.Name.Value == "*"; a.Name.Value != "*" && named < 0 {
			named = a.Name.offset
		}
		if strings.ContainsFunc(a.Name.Value, isSpace) || strings.Contains(a.Name.Value, "/") {
			token := firstToken(a.Name.Value)
			if token == "" {
				token = "name"
			}
			r.add("agent-name", Warn, a.Name.offset, "The agent name %s can match no User-Agent: only its part up to the first blank or / is compared.", quoted(a.Name.Value)).
				fix("Write the first part alone: %s", plain(r.write(fAgent, token)))
		}
		r.limit(a.RateLimit)
		if !r.capabilitiesWrong {
			for _, c := range a.Capabilities {
				if !declared[c.Value] {
					r.unknownGrant(a, c)
				}
			}
		}
		r.agentDeclaration(a.AgentDeclaration)
	}
	if named >= 0 {
		r.add("first-token", Info, named, "A block of a name applies to agents whose User-Agent begins with it. Many agents send Mozilla/5.0 first and their name in a remark: for them the block of * applies.").
			fix("Write the block of * so that it suits them.")
	}
	if !star && !r.agentsWrong {
		r.add("agent-default", Info, -1, "There is no block for all other agents. They have all capabilities, and no limits but those of the capabilities.").
			fix("Add one to say it: %s", map[Form]string{TextForm: "Agent: *", JSONForm: `"*": {}`}[r.Form])
	}
}

func (r *ruleRun) unknownGrant(a *Agent, c Text) {
	full := r.findings.full("grant-unknown", Warn)
	x := r.add("grant-unknown", Warn, c.offset, "Agent %s is granted %s, which is not declared. The grant has no effect.", quoted(a.Name.Value), quoted(c.Value))
	if full {
		return
	}
	names := make([]string, 0, 100)
	for i := range r.Declaration.Capabilities {
		if id := r.Declaration.Capabilities[i].ID.Value; id != "" && len(id) <= 100 && len(names) < 100 {
			names = append(names, id)
		}
	}
	x.fix("Declare the capability or remove it from the list.")
	if w := didYouMean(c.Value, names); w != "" {
		x.fix("Did you mean %s?", plain(w))
	}
}

func (r *ruleRun) agentDeclaration(v Text) {
	if v.Value == "" {
		return
	}
	l, ok := parseLink(v.Value)
	switch {
	case !ok:
		r.add("agent-declaration", Fail, v.offset, "%s %s is no absolute URL with a host.", r.name(fAgentDeclaration), quoted(v.Value)).
			fix("Write: %s", r.write(fAgentDeclaration, "https://operator.example/.well-known/agents.txt"))
	case l.scheme != "https":
		r.add("agent-declaration", Warn, v.offset, "%s %s is not https.", r.name(fAgentDeclaration), quoted(v.Value)).
			fix("Give the https address.")
	}
}

// firstToken is the part of a User-Agent that is compared with agent names:
// up to the first / or white space (section 6).
func firstToken(userAgent string) string {
	s := trim(userAgent)
	if i := strings.IndexFunc(s, func(r rune) bool { return r == '/' || isSpace(r) }); i >= 0 {
		s = s[:i]
	}
	return s
}
