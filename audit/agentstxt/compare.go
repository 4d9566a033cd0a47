package agentstxt

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Difference is one thing that text and JSON say differently (section 5).
// Readers that follow the draft use the JSON.
type Difference struct {
	// Member is a JSON pointer into the declaration, with ids and names in
	// place of list positions: "/capabilities/find-item/endpoint".
	Member string `json:"member"`
	// Text and JSON are the two values, null where one says nothing.
	Text     *string  `json:"text"`
	JSON     *string  `json:"json"`
	Severity Severity `json:"severity"`

	// Field, Capability and Agent say the same as Member, taken apart.
	Field      string `json:"-"`
	Capability string `json:"-"`
	Agent      string `json:"-"`

	offset int // in the JSON file, -1 where it says nothing
	note   string
}

// comparison collects differences.
type comparison struct{ list []Difference }

// Compare lists what two declarations say differently, with defaults filled in
// and order left out of account.
func Compare(text, json *Declaration) []Difference {
	c := &comparison{}
	c.header(text, json)
	c.capabilities(text, json)
	c.access(text.Access, json.Access)
	c.agents(text.Agents, json.Agents)
	return c.list
}

// where says which object a value belongs to.
type where struct{ capability, agent string }

func (c *comparison) add(severity Severity, w where, field, member, text, json string, offset int) *Difference {
	d := Difference{Severity: severity, Field: field, Capability: w.capability, Agent: w.agent, offset: offset}
	switch {
	case w.capability != "":
		d.Member = "/capabilities/" + pointer(w.capability)
	case w.agent != "":
		d.Member = "/agents/" + pointer(w.agent)
	}
	if member != "" {
		d.Member += "/" + member
	}
	if text != "" {
		d.Text = &text
	}
	if json != "" {
		d.JSON = &json
	}
	c.list = append(c.list, d)
	return &c.list[len(c.list)-1]
}

// pointer escapes a name for a JSON pointer.
func pointer(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

func (c *comparison) value(severity Severity, w where, field, member string, text, json Text) {
	if text.Value != json.Value {
		c.add(severity, w, field, member, text.Value, json.Value, json.offset)
	}
}

func (c *comparison) url(severity Severity, w where, field, member string, text, json Text) {
	if text.Value != json.Value && normal(text.Value) != normal(json.Value) {
		c.add(severity, w, field, member, text.Value, json.Value, json.offset)
	}
}

// set compares two lists as sets.
func (c *comparison) set(severity Severity, w where, field, member string, text, json []Text, form func(string) string) {
	a, b := setOf(text, form), setOf(json, form)
	if !maps.Equal(a, b) {
		offset := -1
		if len(json) > 0 {
			offset = json[0].offset
		}
		c.add(severity, w, field, member, joinSet(a, b), joinSet(b, a), offset)
	}
}

func setOf(list []Text, form func(string) string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, t := range list {
		v := t.Value
		if form != nil {
			v = form(v)
		}
		m[v] = true
	}
	return m
}

// joinSet is a set in words: what the other side lacks stands first, for the
// report cuts long values.
func joinSet(s, other map[string]bool) string {
	keys := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		if d := b2i(other[a]) - b2i(other[b]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, k := range keys {
		if k == "" {
			keys[i] = "(empty)"
		}
	}
	return strings.Join(keys, ", ")
}

func withDefault(t Text, value string) Text {
	if t.Value == "" {
		t.Value = value
	}
	return t
}

func (c *comparison) header(a, b *Declaration) {
	top := where{}
	c.value(Fail, top, "specVersion", "specVersion", a.SpecVersion, b.SpecVersion)
	c.value(Fail, top, "declarationType", "declarationType", withDefault(a.DeclarationType, "platform"), withDefault(b.DeclarationType, "platform"))
	c.set(Warn, top, "operatesOn", "operatesOn", a.OperatesOn, b.OperatesOn, normal)
	if x, kindA := parseStamp(a.GeneratedAt.Value); kindA != stampNone {
		if y, kindB := parseStamp(b.GeneratedAt.Value); kindB != stampNone && x.Sub(y).Abs() > 24*time.Hour {
			c.add(Info, top, "generatedAt", "generatedAt", a.GeneratedAt.Value, b.GeneratedAt.Value, b.GeneratedAt.offset)
		}
	}
	c.value(Warn, top, "site.name", "site/name", a.Site.Name, b.Site.Name)
	c.url(Warn, top, "site.url", "site/url", a.Site.URL, b.Site.URL)
	c.value(Info, top, "site.description", "site/description", a.Site.Description, b.Site.Description)
	c.value(Info, top, "site.contact", "site/contact", a.Site.Contact, b.Site.Contact)
	c.url(Info, top, "site.privacyPolicy", "site/privacyPolicy", a.Site.PrivacyPolicy, b.Site.PrivacyPolicy)
}

// capabilities compares by id; the nth of one id with the nth of the same.
func (c *comparison) capabilities(a, b *Declaration) {
	type key struct {
		id string
		n  int
	}
	index := func(d *Declaration) ([]key, map[key]*Capability) {
		var order []key
		m := map[key]*Capability{}
		count := map[string]int{}
		for i := range d.Capabilities {
			x := &d.Capabilities[i]
			k := key{x.ID.Value, count[x.ID.Value]}
			count[x.ID.Value]++
			order = append(order, k)
			m[k] = x
		}
		return order, m
	}
	orderA, inA := index(a)
	orderB, inB := index(b)
	for _, k := range orderA {
		if inB[k] == nil {
			c.add(Fail, where{capability: k.id}, "capability", "", k.id, "", -1)
			continue
		}
		c.capability(where{capability: k.id}, inA[k], inB[k])
	}
	for _, k := range orderB {
		if inA[k] == nil {
			c.add(Fail, where{capability: k.id}, "capability", "", "", k.id, inB[k].offset)
		}
	}
}

func (c *comparison) capability(w where, a, b *Capability) {
	c.url(Fail, w, "endpoint", "endpoint", a.Endpoint, b.Endpoint)
	c.value(Fail, w, "protocol", "protocol", a.Protocol, b.Protocol)
	method := func(x *Capability) Text {
		if x.Protocol.Value == "REST" {
			return withDefault(x.Method, "GET")
		}
		return x.Method
	}
	c.value(Fail, w, "method", "method", method(a), method(b))
	c.value(Fail, w, "auth", "auth/type", withDefault(a.Auth.Type, "none"), withDefault(b.Auth.Type, "none"))
	c.url(Fail, w, "authEndpoint", "auth/tokenEndpoint", a.Auth.TokenEndpoint, b.Auth.TokenEndpoint)
	c.url(Info, w, "authDocs", "auth/docsUrl", a.Auth.DocsURL, b.Auth.DocsURL)
	c.set(Fail, w, "scopes", "auth/scopes", a.allScopes(), b.allScopes(), nil)
	c.limit(w, a.RateLimit, b.RateLimit)
	c.value(Info, w, "description", "description", a.Description, b.Description)
	c.url(Warn, w, "openapi", "openapi", a.OpenAPI, b.OpenAPI)
	c.parameters(w, a.Parameters, b.Parameters)
}

func (c *comparison) limit(w where, a, b RateLimit) {
	text := func(r RateLimit) string {
		if r.IsZero() {
			return ""
		}
		return r.String()
	}
	if text(a) == text(b) {
		return
	}
	d := c.add(Warn, w, "rateLimit", "rateLimit", text(a), text(b), b.offset)
	if !a.IsZero() && !b.IsZero() && a.perSecond().Cmp(b.perSecond()) == 0 {
		d.note = " (the same average)"
	}
}

// parameters are one difference for each capability, of the worst severity.
func (c *comparison) parameters(w where, a, b []Parameter) {
	index := func(list []Parameter) map[string]Parameter {
		m := make(map[string]Parameter, len(list))
		for _, p := range list {
			m[p.In.Value+" "+p.Name.Value] = p
		}
		return m
	}
	inA, inB := index(a), index(b)
	keys := maps.Clone(inA)
	maps.Copy(keys, inB)
	severity, offset := Info, -1
	var text, json []string
	show := func(p Parameter, ok bool) string {
		if !ok {
			return ""
		}
		return paramValue(p)
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		x, okA := inA[k]
		y, okB := inB[k]
		rules := okA && okB && x.Type.Value == y.Type.Value && x.Required == y.Required
		if rules && x.Description.Value == y.Description.Value {
			continue
		}
		if !rules {
			severity = Warn
		}
		if okB {
			offset = y.offset
		}
		if s := show(x, okA); s != "" {
			text = append(text, s)
		}
		if s := show(y, okB); s != "" {
			json = append(json, s)
		}
	}
	if len(text)+len(json) > 0 {
		c.add(severity, w, "parameters", "parameters", strings.Join(text, "; "), strings.Join(json, "; "), offset)
	}
}

// access: no rules in the text equals allow = [*] in the JSON, which is what
// the reference converter writes for it.
func (c *comparison) access(a, b Access) {
	if a.IsZero() && len(b.Disallow) == 0 && len(setOf(b.Allow, nil)) == 1 && b.Allow[0].Value == "*" {
		return
	}
	c.set(Fail, where{}, "allow", "access/allow", a.Allow, b.Allow, nil)
	c.set(Fail, where{}, "disallow", "access/disallow", a.Disallow, b.Disallow, nil)
}

// agents: no block at all equals a bare "*".
func (c *comparison) agents(a, b Agents) {
	bare := func(g Agents) bool {
		return len(g) == 1 && g[0].Name.Value == "*" && g[0].RateLimit.IsZero() && g[0].Capabilities == nil && g[0].AgentDeclaration.IsZero()
	}
	if (len(a) == 0 || bare(a)) && (len(b) == 0 || bare(b)) {
		return
	}
	index := func(g Agents) map[string]*Agent {
		m := make(map[string]*Agent, len(g))
		for i := range g {
			m[g[i].Name.Value] = &g[i]
		}
		return m
	}
	inA, inB := index(a), index(b)
	for i := range a {
		x, w := &a[i], where{agent: a[i].Name.Value}
		y := inB[w.agent]
		if y == nil {
			c.add(Fail, w, "agent", "", w.agent, "", -1)
			continue
		}
		c.limit(w, x.RateLimit, y.RateLimit)
		if (x.Capabilities == nil) != (y.Capabilities == nil) || !maps.Equal(setOf(x.Capabilities, nil), setOf(y.Capabilities, nil)) {
			c.add(Fail, w, "agentCapabilities", "capabilities", grantText(x.Capabilities), grantText(y.Capabilities), y.offset)
		}
		c.url(Warn, w, "agentDeclaration", "agentDeclaration", x.AgentDeclaration, y.AgentDeclaration)
	}
	for i := range b {
		if w := (where{agent: b[i].Name.Value}); inA[w.agent] == nil {
			c.add(Fail, w, "agent", "", "", w.agent, b[i].offset)
		}
	}
}

func grantText(list []Text) string {
	switch {
	case list == nil:
		return "(all)"
	case len(list) == 0:
		return "(none)"
	}
	return joinTexts(list)
}
