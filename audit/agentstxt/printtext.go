package agentstxt

import (
	"strings"
)

// Print writes the document in its own form, unknown fields included.
// Comments, and what the parser could not read, are not in it; see
// [Document.Convert] for what that is.
func (d *Document) Print() []byte {
	out, _ := d.Convert(d.Form)
	return out
}

// Convert writes the document in a form. What that form cannot hold is not
// dropped in silence: it is in the losses, as is what the parser had to throw
// away. The output is the file itself: credentials in it are not masked.
func (d *Document) Convert(to Form) ([]byte, []Loss) {
	losses := append([]Loss(nil), d.Losses...)
	if d.Comments > 0 {
		losses = append(losses, Loss{What: itoa(d.Comments) + " comment lines"})
	}
	w := &writer{doc: d, losses: losses}
	if to == JSONForm {
		w.json()
	} else {
		w.text()
	}
	return []byte(w.b.String()), w.losses
}

type writer struct {
	b      strings.Builder
	doc    *Document
	losses []Loss
}

func (w *writer) lose(offset int, what string) {
	w.losses = appendLoss(w.losses, w.doc.src, offset, what)
}

// line writes a field; an empty value is written as such.
func (w *writer) line(indent, key string, t Text) {
	v := t.Value
	if strings.ContainsAny(v, "\r\n") && (w.doc.Form == JSONForm || strings.Contains(v, "\n")) {
		v = strings.Join(strings.FieldsFunc(v, func(r rune) bool { return r == '\r' || r == '\n' }), " ")
		w.lose(t.offset, "the line breaks inside "+key)
	}
	w.b.WriteString(indent)
	w.b.WriteString(key)
	w.b.WriteByte(':')
	if v != "" {
		w.b.WriteByte(' ')
		w.b.WriteString(v)
	}
	w.b.WriteByte('\n')
}

// field writes a field that has a value.
func (w *writer) field(f field, t Text) {
	if t.Value == "" {
		return
	}
	indent := "  "
	if f.top {
		indent = ""
	}
	w.line(indent, f.text, t)
}

// text writes the text form: header, site, own fields, capabilities, access
// rules, agents.
func (w *writer) text() {
	d := &w.doc.Declaration
	w.field(fSpecVersion, d.SpecVersion)
	w.field(fGeneratedAt, d.GeneratedAt)
	w.field(fDeclarationType, d.DeclarationType)
	for _, t := range d.OperatesOn {
		w.field(fOperatesOn, t)
	}
	w.field(fSiteName, d.Site.Name)
	w.field(fSiteURL, d.Site.URL)
	w.field(fSiteDescription, d.Site.Description)
	w.field(fSiteContact, d.Site.Contact)
	w.field(fPrivacyPolicy, d.Site.PrivacyPolicy)
	for _, m := range d.Metadata {
		w.own("", m.Name, m.Value, topFolded)
	}
	w.extras("", d.extra, topFolded)
	w.homeless("site", d.Site.extra)
	for i := range d.Capabilities {
		w.capability(&d.Capabilities[i])
	}
	if !d.Access.IsZero() {
		w.b.WriteByte('\n')
	}
	for _, t := range d.Access.Allow {
		w.line("", fAllow.text, t)
	}
	for _, t := range d.Access.Disallow {
		w.line("", fDisallow.text, t)
	}
	w.homeless("access", d.Access.extra)
	for i := range d.Agents {
		a := &d.Agents[i]
		w.b.WriteByte('\n')
		w.line("", fAgent.text, a.Name)
		w.limit(a.RateLimit)
		if a.Capabilities != nil {
			w.list(fCapabilities, a.Capabilities)
		}
		w.field(fAgentDeclaration, a.AgentDeclaration)
		w.extras("  ", a.extra, agentFolded)
	}
}

func (w *writer) capability(c *Capability) {
	w.b.WriteByte('\n')
	w.line("", fCapability.text, c.ID)
	w.field(fEndpoint, c.Endpoint)
	w.field(fProtocol, c.Protocol)
	w.field(fMethod, c.Method)
	w.field(fAuth, c.Auth.Type)
	w.field(fAuthEndpoint, c.Auth.TokenEndpoint)
	w.field(fAuthDocs, c.Auth.DocsURL)
	if scopes := c.allScopes(); len(scopes) > 0 {
		w.list(fScopes, scopes)
	}
	w.homeless("auth", c.Auth.extra)
	w.limit(c.RateLimit)
	w.field(fDescription, c.Description)
	w.field(fOpenAPI, c.OpenAPI)
	for _, p := range c.Parameters {
		w.param(p)
	}
	w.extras("  ", c.extra, capabilityFolded)
}

func (w *writer) limit(r RateLimit) {
	if !r.IsZero() {
		w.field(fRateLimit, Text{Value: r.String(), offset: r.offset})
	}
	w.homeless("rateLimit", r.extra)
}

// list writes a comma list; an item with a comma has no place in it.
func (w *writer) list(f field, list []Text) {
	var items []string
	for _, t := range list {
		if strings.Contains(t.Value, ",") {
			w.lose(t.offset, "an item of "+f.text+" that has a comma")
			continue
		}
		items = append(items, t.Value)
	}
	offset := -1
	if len(list) > 0 {
		offset = list[0].offset
	}
	w.line("  ", f.text, Text{Value: strings.Join(items, ", "), offset: offset})
}

func (w *writer) param(p Parameter) {
	if p.Min != nil || p.Max != nil || p.Default != nil {
		w.lose(p.offset, "default, min or max of a parameter, which the text form cannot hold")
	}
	w.homeless("parameters", p.extra)
	line := Text{Value: paramValue(p), offset: p.offset}
	// Only a value that reads back as the same parameter may be written.
	back := parseParam(line.Value, 0)
	if back.problem != "" || back.Name.Value != p.Name.Value || back.In.Value != p.In.Value || back.Type.Value != p.Type.Value ||
		back.Description.Value != p.Description.Value && !strings.ContainsAny(p.Description.Value, "\r\n") ||
		strings.ContainsAny(p.Name.Value+p.Type.Value, "\r\n") {
		w.lose(p.offset, "a parameter whose name or type has characters that a Param line cannot hold")
		return
	}
	w.field(fParam, line)
}

// homeless reports unknown members of an object that the text form has no
// block for.
func (w *writer) homeless(object string, list []extra) {
	for _, x := range list {
		w.lose(x.Name.offset, "an unknown member of "+object)
	}
}

func (w *writer) extras(indent string, list []extra, known map[string]bool) {
	for _, x := range list {
		v := x.Value
		if x.JSON != nil {
			n, bad := parseTree(string(x.JSON))
			if bad != nil || !n.is('"') {
				w.lose(x.Name.offset, "an unknown member that is no string")
				continue
			}
			v = Text{Value: trim(n.str), offset: x.Name.offset}
		}
		w.own(indent, x.Name, v, known)
	}
}

// own writes a field that the draft does not define, if its name can be one.
func (w *writer) own(indent string, name, value Text, known map[string]bool) {
	n := name.Value
	if n == "" || n != trim(n) || n[0] == '#' || strings.ContainsAny(n, ":\n") || w.doc.Form == JSONForm && strings.Contains(n, "\r") || known[strings.ToLower(n)] {
		w.lose(name.offset, "an unknown member whose name cannot be a field name here")
		return
	}
	w.line(indent, n, value)
}

// The names that have a meaning at a place, in lower case.
var (
	topFolded = fold(append(topNames[:len(topNames):len(topNames)], "Description", "Contact", "Privacy-Policy"), "Agents-JSON")
	// A block cannot hold the openers of other blocks either.
	capabilityFolded = fold(append(capabilityNames[:len(capabilityNames):len(capabilityNames)], "Capability", "Agent"), "")
	agentFolded      = fold(append(agentNames[:len(agentNames):len(agentNames)], "Capability", "Agent"), "")
)

func fold(names []string, except string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		if n != except {
			m[strings.ToLower(n)] = true
		}
	}
	return m
}
