package agentstxt

import (
	"bytes"
	"encoding/json"
	"strings"
)

// json writes the JSON form. The lists and objects that reference readers
// require stand there also when they are empty (rule 66).
func (w *writer) json() {
	d := &w.doc.Declaration
	o := w.object()
	o.text("specVersion", d.SpecVersion)
	o.text("generatedAt", d.GeneratedAt)
	o.text("declarationType", d.DeclarationType)
	o.list("operatesOn", d.OperatesOn, false)
	site := w.object()
	site.text("name", d.Site.Name)
	site.text("url", d.Site.URL)
	site.text("description", d.Site.Description)
	site.text("contact", d.Site.Contact)
	site.text("privacyPolicy", d.Site.PrivacyPolicy)
	site.extras(d.Site.extra)
	o.raw("site", site.done())
	items := make([]string, len(d.Capabilities))
	for i := range d.Capabilities {
		items[i] = w.capabilityJSON(&d.Capabilities[i])
	}
	o.raw("capabilities", "["+strings.Join(items, ",")+"]")
	access := w.object()
	access.list("allow", d.Access.Allow, true)
	access.list("disallow", d.Access.Disallow, true)
	access.extras(d.Access.extra)
	o.raw("access", access.done())
	agents := w.object()
	for i := range d.Agents {
		a := &d.Agents[i]
		g := w.object()
		g.limit(a.RateLimit)
		g.list("capabilities", a.Capabilities, a.Capabilities != nil)
		g.text("agentDeclaration", a.AgentDeclaration)
		g.extras(a.extra)
		agents.raw(a.Name.Value, g.done())
	}
	o.raw("agents", agents.done())
	if len(d.Metadata) > 0 {
		meta := w.object()
		for _, f := range d.Metadata {
			meta.member(f.Name, quoteJSON(f.Value.Value))
		}
		o.raw("metadata", meta.done())
	}
	o.extras(d.extra)

	var out bytes.Buffer
	if err := json.Indent(&out, []byte(o.done()), "", "  "); err != nil {
		w.lose(-1, "the layout: "+err.Error())
		out.Reset()
		out.WriteString(o.done())
	}
	out.WriteByte('\n')
	w.b.Write(out.Bytes())
}

func (w *writer) capabilityJSON(c *Capability) string {
	o := w.object()
	o.text("id", c.ID)
	o.text("description", c.Description)
	o.text("endpoint", c.Endpoint)
	o.text("method", c.Method)
	o.text("protocol", c.Protocol)
	if a := &c.Auth; a.given || !a.IsZero() {
		auth := w.object()
		auth.text("type", a.Type)
		auth.text("tokenEndpoint", a.TokenEndpoint)
		auth.text("docsUrl", a.DocsURL)
		auth.list("scopes", a.Scopes, false)
		auth.extras(a.extra)
		o.raw("auth", auth.done())
	}
	o.list("scopes", c.Scopes, false)
	o.limit(c.RateLimit)
	o.text("openapi", c.OpenAPI)
	if len(c.Parameters) > 0 {
		items := make([]string, len(c.Parameters))
		for i, p := range c.Parameters {
			q := w.object()
			q.text("name", p.Name)
			q.text("in", p.In)
			q.text("type", p.Type)
			if p.Required {
				q.raw("required", "true")
			}
			q.text("description", p.Description)
			for _, x := range []struct {
				name string
				raw  json.RawMessage
			}{{"default", p.Default}, {"min", p.Min}, {"max", p.Max}} {
				if x.raw != nil {
					q.raw(x.name, string(x.raw))
				}
			}
			q.extras(p.extra)
			items[i] = q.done()
		}
		o.raw("parameters", "["+strings.Join(items, ",")+"]")
	}
	o.extras(c.extra)
	return o.done()
}

// jsonObject writes one object. A name that stands there already is a loss:
// JSON readers would see one of the two only.
type jsonObject struct {
	w    *writer
	b    strings.Builder
	seen map[string]int // where the value of a name begins in order
	keys []string
	vals []string
}

func (w *writer) object() *jsonObject { return &jsonObject{w: w, seen: map[string]int{}} }

func (o *jsonObject) raw(name, value string) {
	o.seen[name] = len(o.keys)
	o.keys = append(o.keys, name)
	o.vals = append(o.vals, value)
}

// member adds a member of the file's own; of several of one name the last one
// counts, as in the file.
func (o *jsonObject) member(name Text, value string) {
	if i, ok := o.seen[name.Value]; ok {
		o.w.lose(name.offset, "an earlier value of a field that is repeated here")
		o.vals[i] = value
		return
	}
	o.raw(name.Value, value)
}

func (o *jsonObject) text(name string, t Text) {
	if t.Value != "" {
		o.raw(name, quoteJSON(t.Value))
	}
}

func (o *jsonObject) list(name string, list []Text, always bool) {
	if len(list) == 0 && !always {
		return
	}
	items := make([]string, len(list))
	for i, t := range list {
		items[i] = quoteJSON(t.Value)
	}
	o.raw(name, "["+strings.Join(items, ",")+"]")
}

func (o *jsonObject) limit(r RateLimit) {
	if r.IsZero() {
		for _, x := range r.extra {
			o.w.lose(x.Name.offset, "an unknown member of rateLimit")
		}
		return
	}
	l := o.w.object()
	l.raw("requests", r.Requests.Value)
	l.text("window", r.Window)
	l.extras(r.extra)
	o.raw("rateLimit", l.done())
}

// extras adds unknown fields. Those of the text form become strings; a name
// that has a meaning in JSON cannot be taken over.
func (o *jsonObject) extras(list []extra) {
	for _, x := range list {
		switch {
		case x.JSON != nil:
			o.member(x.Name, string(x.JSON))
		case jsonNames[x.Name.Value]:
			o.w.lose(x.Name.offset, "an unknown field whose name has a meaning in JSON")
		default:
			o.member(x.Name, quoteJSON(x.Value.Value))
		}
	}
}

// jsonNames are the members of capabilities and agents.
var jsonNames = map[string]bool{
	"id": true, "description": true, "endpoint": true, "protocol": true, "method": true, "auth": true, "scopes": true,
	"rateLimit": true, "openapi": true, "parameters": true, "capabilities": true, "agentDeclaration": true,
}

func (o *jsonObject) done() string {
	o.b.Reset()
	o.b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			o.b.WriteByte(',')
		}
		o.b.WriteString(quoteJSON(k))
		o.b.WriteByte(':')
		o.b.WriteString(o.vals[i])
	}
	o.b.WriteByte('}')
	return o.b.String()
}
