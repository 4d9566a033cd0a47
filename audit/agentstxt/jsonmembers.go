package agentstxt

import (
	"encoding/json"
	"strings"
)

func (j *jsonReader) declaration(root *node) {
	d := &j.Declaration
	d.SpecVersion = j.str(root.get("specVersion"), "specVersion")
	d.GeneratedAt = j.optional(root.get("generatedAt"), "generatedAt")
	d.DeclarationType = j.optional(root.get("declarationType"), "declarationType")
	j.closed = append(j.closed, d.SpecVersion, d.DeclarationType)
	operates, given := j.list(root.get("operatesOn"), "operatesOn")
	j.operatesWrong = root.get("operatesOn") != nil && (!given || len(operates) < len(root.get("operatesOn").items))
	for _, t := range operates {
		if t.empty {
			j.add("empty-value", Info, t.offset, "An item of operatesOn is empty. It counts as absent.").fix("Remove it.")
			continue
		}
		d.OperatesOn = append(d.OperatesOn, t)
	}
	j.sameTwice("operatesOn", d.OperatesOn)
	j.site(root.get("site"))
	j.capabilities(root)
	j.access(root)
	j.agents(root)
	if m, _ := j.want(root.get("metadata"), "metadata", '{'); m != nil {
		last := m.last()
		for i, x := range m.members {
			if last[x.name] != i {
				continue
			}
			if v, _ := j.want(x.value, "metadata."+x.name, '"'); v != nil {
				d.Metadata = append(d.Metadata, Field{Text{Value: x.name, offset: x.offset}, Text{Value: trim(v.str), offset: v.offset}})
			}
		}
	}
	d.extra = j.unknown(root, "", "specVersion", "generatedAt", "declarationType", "operatesOn", "site", "capabilities", "access", "agents", "metadata")
}

// sameTwice notes exact duplicates in a list (section 2.4).
func (j *jsonReader) sameTwice(path string, list []Text) {
	seen := make(map[string]bool, len(list))
	for _, t := range list {
		if seen[t.Value] && t.Value != "" {
			j.add("repeated", Info, t.offset, "%s holds %s more than once.", path, quoted(t.Value)).fix("Remove the second one.")
		}
		seen[t.Value] = true
	}
}

func (j *jsonReader) site(n *node) {
	s := &j.Declaration.Site
	v, wrong := j.want(n, "site", '{')
	s.wrong = wrong
	if v == nil {
		return
	}
	s.Name = j.str(v.get("name"), "site.name")
	s.URL = j.str(v.get("url"), "site.url")
	s.Description = j.optional(v.get("description"), "site.description")
	s.Contact = j.optional(v.get("contact"), "site.contact")
	s.PrivacyPolicy = j.optional(v.get("privacyPolicy"), "site.privacyPolicy")
	s.extra = j.unknown(v, "site.", "name", "url", "description", "contact", "privacyPolicy")
}

// required notes a member that reference readers insist on (rule 66).
func (j *jsonReader) required(n *node, at *node, path, example string) {
	if n == nil {
		j.add("json-member", Warn, at.offset, "There is no member %s. The draft allows that, but reference readers refuse the whole file.", path).
			fix("Add: %s", plain(example))
	}
}

func (j *jsonReader) capabilities(root *node) {
	n := root.get("capabilities")
	j.required(n, root, "capabilities", `"capabilities": []`)
	v, wrong := j.want(n, "capabilities", '[')
	j.capabilitiesWrong = wrong
	if v == nil {
		return
	}
	d := &j.Declaration
	for i, x := range v.items {
		if len(d.Capabilities) == maxCapabilities {
			j.tooMany(x.offset, "capabilities", maxCapabilities)
			return
		}
		c, wrong := j.want(x, "capabilities["+itoa(i)+"]", '{')
		j.capabilitiesWrong = j.capabilitiesWrong || wrong
		if c != nil {
			d.Capabilities = append(d.Capabilities, j.capability(c, "capabilities["+itoa(i)+"]."))
		}
	}
}

func (j *jsonReader) tooMany(offset int, what string, limit int) {
	if !j.overflow {
		j.overflow = true
		j.add("too-many", Fail, offset, "The file has more than %d %s. Those from here on are not read.", limit, what).
			fix("Publish a shorter file.")
	}
}

func (j *jsonReader) capability(n *node, path string) Capability {
	c := Capability{offset: n.offset}
	c.ID = j.str(n.get("id"), path+"id")
	c.Description = j.str(n.get("description"), path+"description")
	c.Endpoint = j.str(n.get("endpoint"), path+"endpoint")
	c.Protocol = j.str(n.get("protocol"), path+"protocol")
	c.Method = j.str(n.get("method"), path+"method")
	j.closed = append(j.closed, c.Protocol, c.Method)
	if up := strings.ToUpper(c.Method.Value); up != c.Method.Value && isMethod(up) {
		j.add("method", Info, c.Method.offset, "%s is %s; methods are in upper case.", plain(path+"method"), quoted(c.Method.Value)).
			fix(`Write: "method": %s`, plain(quoteJSON(up)))
	}
	c.Method.Value = strings.ToUpper(c.Method.Value)
	c.OpenAPI = j.optional(n.get("openapi"), path+"openapi")
	c.Auth = j.auth(n.get("auth"), path+"auth")
	c.Scopes = j.scopes(n.get("scopes"), path+"scopes")
	c.RateLimit = j.rateLimit(n.get("rateLimit"), path+"rateLimit")
	if v, _ := j.want(n.get("parameters"), path+"parameters", '['); v != nil {
		seen := map[string]bool{}
		for i, x := range v.items {
			at := path + "parameters[" + itoa(i) + "]"
			if o, _ := j.want(x, at, '{'); o != nil {
				j.parameter(&c, o, at, seen)
			}
		}
	}
	c.extra = j.unknown(n, path, "id", "description", "endpoint", "protocol", "method", "auth", "scopes", "rateLimit", "openapi", "parameters")
	return c
}

func (j *jsonReader) auth(n *node, path string) Auth {
	v, wrong := j.want(n, path, '{')
	a := Auth{given: n != nil, wrong: wrong}
	if v == nil {
		return a
	}
	path += "."
	a.Type = j.optional(v.get("type"), path+"type")
	a.TokenEndpoint = j.str(v.get("tokenEndpoint"), path+"tokenEndpoint")
	a.DocsURL = j.optional(v.get("docsUrl"), path+"docsUrl")
	a.Scopes = j.scopes(v.get("scopes"), path+"scopes")
	a.extra = j.unknown(v, path, "type", "tokenEndpoint", "docsUrl", "scopes")
	return a
}

func (j *jsonReader) scopes(n *node, path string) []Text {
	list, _ := j.list(n, path)
	kept, dropped := dropEmpty(list)
	if dropped > 0 {
		j.add("scopes", Warn, n.offset, "%s has an empty item.", plain(path)).fix("Remove it.")
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// rateLimit reads an object of requests and window. A wrong type is rule 65
// and all there is to say of that member; a wrong content is rule 38.
func (j *jsonReader) rateLimit(n *node, path string) RateLimit {
	v, _ := j.want(n, path, '{')
	if v == nil {
		return RateLimit{offset: offsetOf(n)}
	}
	r := RateLimit{offset: v.offset}
	requests, window := v.get("requests"), v.get("window")
	num, wrongNumber := j.want(requests, path+".requests", '0')
	r.Window = j.str(window, path+".window")
	j.closed = append(j.closed, r.Window)
	bad := false
	complain := func(offset int, what string, value string) {
		bad = true
		x := j.add("rate-limit", Fail, offset, "%s %s.", plain(path), plain(what+value))
		x.fix(`Write it like: "rateLimit": {"requests": 60, "window": "minute"}`)
	}
	switch {
	case num != nil:
		whole, ok := wholeNumber(num.raw)
		if !ok {
			complain(num.offset, "needs a whole number of 1 or more for requests, not ", num.raw)
		}
		r.Requests = Text{Value: whole, offset: num.offset}
	case !wrongNumber:
		complain(v.offset, "has no requests", "")
	}
	switch {
	case r.Window.wrong:
	case r.Window.Value == "":
		complain(v.offset, "has no window", "")
	case !contains(windows, r.Window.Value):
		complain(r.Window.offset, "needs second, minute, hour or day for window, not ", quoteJSON(r.Window.Value))
	}
	r.extra = j.unknown(v, path+".", "requests", "window")
	if bad || wrongNumber || r.Window.wrong {
		j.lose(v.offset, "a rate limit that cannot be read")
		return RateLimit{offset: v.offset}
	}
	return r
}

func (j *jsonReader) parameter(c *Capability, n *node, path string, seen map[string]bool) {
	path += "."
	p := Parameter{offset: n.offset}
	p.Name = j.str(n.get("name"), path+"name")
	p.In = j.str(n.get("in"), path+"in")
	p.Type = j.str(n.get("type"), path+"type")
	p.Description = j.optional(n.get("description"), path+"description")
	j.params = append(j.params, p.In, p.Type)
	if v, _ := j.want(n.get("required"), path+"required", 't'); v != nil {
		p.Required = v.kind == 't'
	}
	num := func(name string) json.RawMessage {
		if v, _ := j.want(n.get(name), path+name, '0'); v != nil {
			return json.RawMessage(v.raw)
		}
		return nil
	}
	p.Min, p.Max = num("min"), num("max")
	if v := n.get("default"); v != nil {
		p.Default = v.source(j.src.text)
	}
	p.extra = j.unknown(n, path, "name", "in", "type", "required", "description", "default", "min", "max")
	bad := p.Name.wrong || p.In.wrong || p.Type.wrong
	complain := func(offset int, format string, args ...any) {
		bad = true
		j.add("param", Fail, offset, format, args...).
			fix(`Write it like: {"name": "page", "in": "query", "type": "integer", "required": true}`)
	}
	for _, m := range []struct {
		t    Text
		name string
	}{{p.Name, "name"}, {p.In, "in"}, {p.Type, "type"}} {
		if m.t.missing() {
			complain(n.offset, "The parameter has no %s.", m.name)
		}
	}
	if p.In.Value != "" && !contains(locations, p.In.Value) {
		complain(p.In.offset, "%s is %s; a parameter is in query, path, header or body.", plain(path+"in"), quoted(p.In.Value))
	}
	if bad {
		j.lose(n.offset, "a parameter that cannot be read")
		return
	}
	if k := p.In.Value + " " + p.Name.Value; seen[k] {
		j.add("repeated", Warn, n.offset, "The %s parameter %s stands in this capability already.", p.In.Value, quoted(p.Name.Value)).
			fix("Leave one of the two.")
	} else {
		seen[k] = true
	}
	c.Parameters = append(c.Parameters, p)
}

func (j *jsonReader) access(root *node) {
	n := root.get("access")
	j.required(n, root, "access", `"access": {"allow": [], "disallow": []}`)
	v, _ := j.want(n, "access", '{')
	if v == nil {
		return
	}
	a := &j.Declaration.Access
	j.required(v.get("allow"), v, "access.allow", `"allow": []`)
	j.required(v.get("disallow"), v, "access.disallow", `"disallow": []`)
	a.Allow, _ = j.list(v.get("allow"), "access.allow")
	a.Disallow, _ = j.list(v.get("disallow"), "access.disallow")
	j.sameTwice("access.allow", a.Allow)
	j.sameTwice("access.disallow", a.Disallow)
	a.extra = j.unknown(v, "access.", "allow", "disallow")
}

func (j *jsonReader) agents(root *node) {
	n := root.get("agents")
	j.required(n, root, "agents", `"agents": {"*": {}}`)
	v, wrong := j.want(n, "agents", '{')
	j.agentsWrong = wrong
	if v == nil {
		return
	}
	d := &j.Declaration
	// Of one name in any case the last member counts.
	last, exact := map[string]int{}, map[string]string{}
	for i, m := range v.members {
		name := strings.ToLower(trim(m.name))
		if old, ok := exact[name]; ok && old != m.name {
			j.add("json-duplicate", Warn, m.offset, "There is an agent %s already, in other case. This one replaces it as a whole.", quoted(m.name)).
				fix("Put both into one member.")
			j.lose(m.offset, "an earlier agent of the same name")
		}
		last[name], exact[name] = i, m.name
	}
	for i, m := range v.members {
		name := strings.ToLower(trim(m.name))
		if last[name] != i {
			continue
		}
		path := "agents." + cutBytes(m.name)
		if name == "" {
			j.add("agent-name", Warn, m.offset, "An agent has no name. It is ignored.").
				fix(`Write the agent's name, or * for all agents: "*": {...}`)
			j.lose(m.offset, "an agent without a name")
			continue
		}
		if len(d.Agents) == maxAgents {
			j.tooMany(m.offset, "agents", maxAgents)
			return
		}
		o, wrong := j.want(m.value, path, '{')
		j.agentsWrong = j.agentsWrong || wrong
		if o != nil {
			d.Agents = append(d.Agents, j.agent(o, Text{Value: name, offset: m.offset}, path+"."))
		}
	}
}

func (j *jsonReader) agent(n *node, name Text, path string) Agent {
	a := Agent{Name: name, offset: name.offset}
	a.RateLimit = j.rateLimit(n.get("rateLimit"), path+"rateLimit")
	if list, given := j.list(n.get("capabilities"), path+"capabilities"); given {
		var dropped int
		a.Capabilities, dropped = dropEmpty(list)
		if dropped > 0 {
			j.add("grant-empty", Warn, n.get("capabilities").offset, "%s has an empty item.", plain(path+"capabilities")).fix("Remove it.")
		}
	}
	a.AgentDeclaration = j.optional(n.get("agentDeclaration"), path+"agentDeclaration")
	a.extra = j.unknown(n, path, "rateLimit", "capabilities", "agentDeclaration")
	return a
}
