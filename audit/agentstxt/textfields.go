package agentstxt

import "strings"

// aliases are the names that the reference generator writes for site fields
// (section 2.5).
var aliases = map[string]field{
	"description":    fSiteDescription,
	"contact":        fSiteContact,
	"privacy-policy": fPrivacyPolicy,
}

// top reads a top-level field; it may open a block.
func (p *textParser) top(f textField) {
	d := &p.Declaration
	switch key := strings.ToLower(f.key); key {
	case "spec-version":
		p.single(f, fSpecVersion, &d.SpecVersion)
		p.closed = append(p.closed, f.text())
	case "generated-at":
		p.single(f, fGeneratedAt, &d.GeneratedAt)
	case "declaration-type":
		p.single(f, fDeclarationType, &d.DeclarationType)
		p.closed = append(p.closed, f.text())
	case "operates-on":
		if f.value == "" {
			p.spelling(f, fOperatesOn.text)
			p.emptyValue(f.at, fOperatesOn.text)
			break
		}
		p.list(f, fOperatesOn, &d.OperatesOn)
	case "site-name":
		p.single(f, fSiteName, &d.Site.Name)
		p.free(f)
	case "site-url":
		p.single(f, fSiteURL, &d.Site.URL)
	case "site-description":
		p.single(f, fSiteDescription, &d.Site.Description)
		p.free(f)
	case "site-contact":
		p.single(f, fSiteContact, &d.Site.Contact)
	case "site-privacy-policy":
		p.single(f, fPrivacyPolicy, &d.Site.PrivacyPolicy)
	case "description", "contact", "privacy-policy":
		p.alias(f, aliases[key])
	case "agents-json":
		old := d.Metadata.Get(fAgentsJSON.text)
		p.spelling(f, fAgentsJSON.text)
		p.repeated(f, old.given())
		d.Metadata = append(d.Metadata, Field{Text{Value: fAgentsJSON.text, offset: f.at}, f.text()})
	case "allow":
		p.list(f, fAllow, &d.Access.Allow)
	case "disallow":
		p.list(f, fDisallow, &d.Access.Disallow)
	case "capability":
		p.openCapability(f)
	case "agent":
		p.openAgent(f)
	default:
		p.unknown(f, topNames)
		p.free(f)
		d.Metadata = append(d.Metadata, Field{Text{Value: f.key, offset: f.at}, f.text()})
	}
}

func (p *textParser) free(f textField) {
	p.freeText = append(p.freeText, span{f.key, f.value, f.valueAt})
}

func (p *textParser) alias(f textField, name field) {
	short := strings.TrimPrefix(name.text, "Site-")
	p.spelling(f, short)
	p.add("alias", Info, f.at, "%s is not a name of the draft. It is read as %s, as the reference library does; other readers ignore it.",
		short, name.text).fix("Write: %s: %s", name.text, plain(f.value))
	d := &p.Declaration.Site
	to := map[field]*Text{fSiteDescription: &d.Description, fSiteContact: &d.Contact, fPrivacyPolicy: &d.PrivacyPolicy}[name]
	p.repeated(f, to.given())
	*to = f.text()
	if name == fSiteDescription {
		p.free(f)
	}
}

func (p *textParser) openCapability(f textField) {
	p.spelling(f, fCapability.text)
	d := &p.Declaration
	if len(d.Capabilities) == maxCapabilities {
		p.open = beyondLimit
		p.tooMany(f.at, "capabilities", maxCapabilities)
		return
	}
	d.Capabilities = append(d.Capabilities, Capability{ID: f.text(), offset: f.at})
	p.capability, p.seenParams = len(d.Capabilities)-1, nil
	p.open = capabilityBlock
}

func (p *textParser) openAgent(f textField) {
	p.spelling(f, fAgent.text)
	d := &p.Declaration
	if f.value == "" {
		p.add("agent-name", Warn, f.at, "Agent has no name. The block is ignored.").
			fix("Write the agent's name, or * for all agents: Agent: *")
		p.lose(f.at, "an Agent block without a name")
		p.open = namelessAgent
		return
	}
	if len(d.Agents) == maxAgents {
		p.open = beyondLimit
		p.tooMany(f.at, "Agent blocks", maxAgents)
		return
	}
	name := Text{Value: strings.ToLower(f.value), offset: f.valueAt}
	if old, ok := p.agentIndex[name.Value]; ok {
		p.add("agent-duplicate", Warn, f.at, "There is an Agent block for %s already. This one replaces it as a whole.", quoted(f.value)).
			fix("Put all lines for this agent into one block.")
		p.lose(d.Agents[old].offset, "an Agent block that a later one of the same name replaces")
		if p.dropped == nil {
			p.dropped = map[int]bool{}
		}
		p.dropped[old] = true
	}
	d.Agents = append(d.Agents, Agent{Name: name, offset: f.at})
	p.agent = len(d.Agents) - 1
	p.agentIndex[name.Value] = p.agent
	p.open = agentBlock
}

func (p *textParser) tooMany(at int, what string, limit int) {
	if !p.overflow {
		p.overflow = true
		p.add("too-many", Fail, at, "The file has more than %d %s. Those from here on are not read.", limit, what).
			fix("Publish a shorter file.")
	}
}

// finish takes out the agents that were replaced.
func (p *textParser) finish() {
	if len(p.dropped) == 0 {
		return
	}
	d := &p.Declaration
	kept := d.Agents[:0]
	for i, a := range d.Agents {
		if !p.dropped[i] {
			kept = append(kept, a)
		}
	}
	d.Agents = kept
}

// inBlock reads an indented line of the open block.
func (p *textParser) inBlock(f textField) {
	if f.is(fCapability) || f.is(fAgent) {
		p.add("indentation", Warn, f.at, "%s stands indented inside a block, where it opens no block of its own: it is ignored.", plain(f.key)).
			fix("Write it without indentation: %s: %s", plain(f.key), plain(f.value))
		p.lose(f.at, "a block opener inside another block")
		return
	}
	switch p.open {
	case capabilityBlock:
		p.capabilityField(f)
	case agentBlock:
		p.agentField(f)
	default:
		p.free(f)
	}
}

func (p *textParser) capabilityField(f textField) {
	c := &p.Declaration.Capabilities[p.capability]
	switch strings.ToLower(f.key) {
	case "endpoint":
		p.single(f, fEndpoint, &c.Endpoint)
	case "protocol":
		p.single(f, fProtocol, &c.Protocol)
		p.closed = append(p.closed, f.text())
	case "method":
		p.single(f, fMethod, &c.Method)
		p.closed = append(p.closed, f.text())
		c.Method.Value = strings.ToUpper(c.Method.Value)
	case "auth":
		p.single(f, fAuth, &c.Auth.Type)
	case "auth-endpoint":
		p.single(f, fAuthEndpoint, &c.Auth.TokenEndpoint)
	case "auth-docs":
		p.single(f, fAuthDocs, &c.Auth.DocsURL)
	case "scopes":
		p.spelling(f, fScopes.text)
		p.repeated(f, c.Auth.Scopes != nil)
		p.scopes(f, c)
	case "rate-limit":
		p.rateLimit(f, &c.RateLimit)
	case "description":
		p.single(f, fDescription, &c.Description)
		p.free(f)
	case "openapi":
		p.single(f, fOpenAPI, &c.OpenAPI)
	case "param":
		p.param(f, c)
	default:
		p.unknown(f, capabilityNames)
		p.free(f)
		c.extra = append(c.extra, extra{Name: Text{Value: f.key, offset: f.at}, Value: f.text()})
	}
}

func (p *textParser) agentField(f textField) {
	a := &p.Declaration.Agents[p.agent]
	switch strings.ToLower(f.key) {
	case "rate-limit":
		p.rateLimit(f, &a.RateLimit)
	case "capabilities":
		p.spelling(f, fCapabilities.text)
		p.repeated(f, a.Capabilities != nil)
		var dropped int
		a.Capabilities, dropped = dropEmpty(splitList(f.value, f.valueAt))
		switch {
		case f.value == "":
			p.add("grant-empty", Warn, f.at, "Capabilities is empty. It is read as a grant of nothing; without the line, all capabilities are granted.").
				fix("List the ids that this agent may use, or remove the line to grant all.")
		case dropped > 0:
			p.add("grant-empty", Warn, f.valueAt, "The list of capabilities has an empty item.").
				fix("Write:   Capabilities: %s", plain(joinTexts(a.Capabilities)))
		}
	case "agent-declaration":
		p.single(f, fAgentDeclaration, &a.AgentDeclaration)
	default:
		p.unknown(f, agentNames)
		p.free(f)
		a.extra = append(a.extra, extra{Name: Text{Value: f.key, offset: f.at}, Value: f.text()})
	}
}

func joinTexts(list []Text) string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Value
	}
	return strings.Join(out, ", ")
}

func (p *textParser) scopes(f textField, c *Capability) {
	if f.value == "" {
		p.emptyValue(f.at, fScopes.text)
		c.Auth.Scopes = nil
		return
	}
	list, dropped := dropEmpty(splitList(f.value, f.valueAt))
	c.Auth.Scopes = list
	if dropped > 0 {
		p.add("scopes", Warn, f.valueAt, "The list of scopes has an empty item.").
			fix("Write:   Scopes: %s", plain(joinTexts(list)))
	}
}

func (p *textParser) rateLimit(f textField, to *RateLimit) {
	p.spelling(f, fRateLimit.text)
	p.repeated(f, !to.IsZero() || to.offset != 0)
	p.closed = append(p.closed, f.text())
	if f.value == "" {
		p.emptyValue(f.at, fRateLimit.text)
		*to = RateLimit{offset: f.at}
		return
	}
	limit, ok := parseRateLimit(f.value, f.valueAt)
	if !ok {
		*to = RateLimit{offset: f.at}
		p.badRateLimit(f.value, f.valueAt)
		return
	}
	*to = limit
}

func (p *textParser) param(f textField, c *Capability) {
	p.spelling(f, fParam.text)
	if f.value == "" {
		p.emptyValue(f.at, fParam.text)
		return
	}
	q := parseParam(f.value, f.valueAt)
	p.params = append(p.params, q.inside...)
	p.free(textField{fParam.text, q.Description.Value, f.at, q.Description.offset})
	if q.problem != "" {
		p.add("param", Fail, f.valueAt, "Param %s cannot be read: %s.", quoted(f.value), q.problem).
			fix("Write it like:   Param: page (query, integer, required) - which page")
		p.lose(f.at, "a Param that cannot be read")
		return
	}
	line := p.paramLine(q.Parameter)
	if q.dash != "" {
		p.add("dash", Warn, f.valueAt, "A dash (%s) stands before the text of Param %s, where the draft has a hyphen. The reference library drops the parameter.",
			q.dash, quoted(q.Name.Value)).fix("Write: %s", plain(line))
	}
	if q.bareHyphen {
		p.add("param", Info, f.valueAt, "A hyphen without a text ends Param %s. The reference library drops the parameter.", quoted(q.Name.Value)).
			fix("Write: %s", plain(line))
	}
	if q.oddName {
		p.add("param", Info, f.valueAt, "The name of Param %s is fine by the draft, but the reference library takes letters, digits, _ and . only and drops it.",
			quoted(q.Name.Value)).fix("Nothing, unless readers built on the reference library matter to you.")
	}
	p.oneParameter(c, q.Parameter)
}
