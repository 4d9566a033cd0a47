package agentstxt

import (
	"encoding/json"
	"slices"
	"strings"
)

// Equal reports whether two declarations say the same in the same order,
// unknown fields included. Where the values stand makes no difference.
func Equal(a, b *Declaration) bool { return fingerprint(a) == fingerprint(b) }

func fingerprint(d *Declaration) string {
	model, err := json.Marshal(d)
	if err != nil {
		return err.Error() // a raw value that is no JSON: not from our parsers
	}
	var out strings.Builder
	out.Write(model)
	add := func(where string, list []extra) {
		for _, x := range list {
			row, _ := json.Marshal([]string{where, x.Name.Value, x.Value.Value, string(x.JSON)})
			out.Write(row)
		}
	}
	for _, f := range d.Metadata { // the object form shows a repeated name once
		add("metadata", []extra{{Name: f.Name, Value: f.Value}})
	}
	add("", d.extra)
	add("site", d.Site.extra)
	add("access", d.Access.extra)
	for i, c := range d.Capabilities {
		at := "capabilities/" + itoa(i)
		add(at, c.extra)
		add(at+"/auth", c.Auth.extra)
		add(at+"/rateLimit", c.RateLimit.extra)
		for j, p := range c.Parameters {
			add(at+"/parameters/"+itoa(j), p.extra)
		}
	}
	for i, g := range d.Agents {
		add("agents/"+itoa(i), g.extra)
		add("agents/"+itoa(i)+"/rateLimit", g.RateLimit.extra)
	}
	return out.String()
}

// mapped is a deep copy without unknown members, with every string replaced.
func (d *Declaration) mapped(f func(string) string) *Declaration {
	one := func(t Text) Text { return Text{Value: f(t.Value), offset: t.offset} }
	list := func(in []Text) []Text {
		out := slices.Clone(in)
		for i := range out {
			out[i] = one(out[i])
		}
		return out
	}
	limit := func(r RateLimit) RateLimit { return RateLimit{Requests: r.Requests, Window: one(r.Window)} }
	out := &Declaration{
		SpecVersion: one(d.SpecVersion), GeneratedAt: one(d.GeneratedAt), DeclarationType: one(d.DeclarationType),
		OperatesOn: list(d.OperatesOn),
		Site: Site{
			Name: one(d.Site.Name), URL: one(d.Site.URL), Description: one(d.Site.Description),
			Contact: one(d.Site.Contact), PrivacyPolicy: one(d.Site.PrivacyPolicy),
		},
		Access: Access{Allow: list(d.Access.Allow), Disallow: list(d.Access.Disallow)},
	}
	for _, c := range d.Capabilities {
		n := Capability{
			ID: one(c.ID), Description: one(c.Description), Endpoint: one(c.Endpoint), Protocol: one(c.Protocol), Method: one(c.Method),
			Auth: Auth{
				Type: one(c.Auth.Type), TokenEndpoint: one(c.Auth.TokenEndpoint), DocsURL: one(c.Auth.DocsURL), Scopes: list(c.Auth.Scopes),
			},
			Scopes: list(c.Scopes), RateLimit: limit(c.RateLimit), OpenAPI: one(c.OpenAPI), offset: c.offset,
		}
		for _, p := range c.Parameters {
			n.Parameters = append(n.Parameters, Parameter{
				Name: one(p.Name), In: one(p.In), Type: one(p.Type), Required: p.Required, Description: one(p.Description),
				Min: p.Min, Max: p.Max, Default: mapRaw(p.Default, f), offset: p.offset,
			})
		}
		out.Capabilities = append(out.Capabilities, n)
	}
	for _, g := range d.Agents {
		out.Agents = append(out.Agents, Agent{
			Name: one(g.Name), RateLimit: limit(g.RateLimit), Capabilities: list(g.Capabilities),
			AgentDeclaration: one(g.AgentDeclaration), offset: g.offset,
		})
	}
	for _, m := range d.Metadata {
		out.Metadata = append(out.Metadata, Field{one(m.Name), one(m.Value)})
	}
	return out
}

// mapRaw replaces every string, and every member name, of a JSON value.
func mapRaw(raw json.RawMessage, f func(string) string) json.RawMessage {
	if len(raw) == 0 || !strings.ContainsRune(string(raw), '"') {
		return raw
	}
	var v any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return json.RawMessage("null")
	}
	out, err := json.Marshal(mapAny(v, f))
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

func mapAny(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapAny(v[i], f)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[f(k)] = mapAny(x, f)
		}
		return out
	}
	return v
}
