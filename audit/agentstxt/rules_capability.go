package agentstxt

import (
	"strings"
)

func (r *ruleRun) capabilities() {
	d := &r.Declaration
	if len(d.Capabilities) == 0 && !r.capabilitiesWrong {
		if r.isAgentType() {
			r.add("no-capability", Warn, -1, "The agent declaration declares no capability: it does not say what the agent does.").
				fix("Declare what the agent does: %s", r.write(fCapability, "find-item"))
		} else {
			r.add("no-capability", Info, -1, "No capability is declared: the file holds access rules and policy only.").
				fix("Declare one, if agents may do something here: %s", r.write(fCapability, "find-item"))
		}
	}
	seen := make(map[string]bool, len(d.Capabilities))
	for i := range d.Capabilities {
		c := &d.Capabilities[i]
		r.capabilityID(c, seen)
		r.endpoint(c)
		r.protocol(c)
		r.method(c)
		r.auth(c)
		r.scopes(c)
		if v := c.Auth.DocsURL; v.Value != "" {
			r.document("document-url", fAuthDocs, v)
		}
		if v := c.OpenAPI; v.Value != "" {
			r.document("document-url", fOpenAPI, v)
		}
		r.limit(c.RateLimit)
		if c.Description.missing() {
			r.add("description", Warn, c.offset, "Capability %s has no %s. The draft allows that, but the reference library refuses it.",
				quoted(c.ID.Value), r.name(fDescription)).fix("Add: %s", r.write(fDescription, "what it does, in a sentence"))
		}
		r.length(c.Description, fDescription, 500)
		r.parameters(c)
	}
}

func (r *ruleRun) capabilityID(c *Capability, seen map[string]bool) {
	id := c.ID
	if id.wrong {
		return
	}
	if id.Value == "" {
		r.add("capability-id-missing", Fail, c.offset, "A capability has no id. The reference library drops it.").
			fix("Write: %s", r.write(fCapability, "find-item"))
		return
	}
	if strings.ContainsFunc(id.Value, func(c rune) bool { return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') }) {
		r.add("capability-id", Fail, id.offset, "The capability id %s has characters other than a-z, 0-9 and hyphens.", quoted(id.Value)).
			fix("Write: %s", plain(r.write(fCapability, slug(id.Value))))
	}
	switch n := len([]rune(id.Value)); {
	case id.Value[0] == '-':
		r.add("capability-id-form", Warn, id.offset, "The capability id %s begins with a hyphen. The reference library refuses it.", quoted(id.Value)).
			fix("Write: %s", plain(r.write(fCapability, slug(id.Value))))
	case n > 100:
		r.add("capability-id-form", Warn, id.offset, "The capability id %s has %d characters. The reference library takes 100 at most.", quoted(id.Value), n).
			fix("Shorten it.")
	}
	if seen[id.Value] {
		r.add("capability-duplicate", Fail, id.offset, "The capability id %s is declared more than once.", quoted(id.Value)).
			fix("Give each capability an id of its own: %s", plain(r.write(fCapability, slug(cutBytes(id.Value))+"-2")))
	}
	seen[id.Value] = true
}

// slug is a right id that resembles a wrong one.
func slug(s string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(cutBytes(s)) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if out := strings.TrimRight(b.String(), "-"); out != "" {
		return out
	}
	return "find-item"
}

func (r *ruleRun) endpoint(c *Capability) {
	v := c.Endpoint
	if v.wrong {
		return
	}
	if v.Value == "" {
		r.add("endpoint-missing", Fail, c.offset, "Capability %s has no %s.", quoted(c.ID.Value), r.name(fEndpoint)).
			fix("Add: %s", r.write(fEndpoint, "https://site.example/api/find"))
		return
	}
	l, ok := parseLink(v.Value)
	if !ok {
		r.add("endpoint", Fail, v.offset, "%s %s is no absolute URL with a host.", r.name(fEndpoint), quoted(v.Value)).
			fix("Write the whole address: %s", r.write(fEndpoint, "https://site.example/api/find"))
		return
	}
	switch {
	case l.scheme == "https", l.scheme == "wss" && c.Protocol.Value == "WebSocket":
	case (l.scheme == "http" || l.scheme == "ws") && isDevHost(l.host):
		r.add("endpoint-https", Warn, v.offset, "%s %s is not encrypted, which is fine on a development host only.", r.name(fEndpoint), quoted(v.Value)).
			fix("Publish an https address.")
	default:
		why := ""
		if c.Auth.Type.Value != "" && c.Auth.Type.Value != "none" {
			why = " It asks for credentials, and agents must not send any without https."
		}
		if l.scheme == "wss" {
			why = " wss belongs to the protocol WebSocket." + why
		}
		_, rest, _ := strings.Cut(v.Value, "://")
		secure := "https://"
		if l.scheme == "ws" && c.Protocol.Value == "WebSocket" {
			secure = "wss://"
		}
		r.add("endpoint-https", Fail, v.offset, "%s %s is not https.%s", r.name(fEndpoint), quoted(v.Value), why).
			fix("Write: %s", plain(r.write(fEndpoint, secure+rest)))
	}
	if r.siteOK && !r.isAgentType() && !sameDomain(l.host, r.siteLink.host) {
		r.add("endpoint-domain", Warn, v.offset, "%s is on %s, another domain than the site's, %s. Agents may not trust it.",
			r.name(fEndpoint), quoted(l.host), quoted(r.siteLink.host)).fix("Serve it under the site's own domain, for instance api.%s.", plain(bare(r.siteLink.host)))
	}
	if names := undeclared(l.path, c.Parameters); len(names) > 0 {
		r.add("placeholder", Info, v.offset, "The path of %s has placeholders without a path parameter: %s.", r.name(fEndpoint), quoted(strings.Join(names, ", "))).
			fix("Declare it: %s", plain(r.paramExample(names[0])))
	}
}

func (r *ruleRun) paramExample(name string) string {
	q := Parameter{Name: Text{Value: name}, In: Text{Value: "path"}, Type: Text{Value: "string"}, Required: true}
	if r.Form == JSONForm {
		return `{"name": ` + quoteJSON(name) + `, "in": "path", "type": "string", "required": true}`
	}
	return r.paramLine(q)
}

// undeclared are the placeholders of a path, :id and {id}, that no path
// parameter declares (rule 25).
func undeclared(path string, params []Parameter) []string {
	if !strings.ContainsAny(path, ":{") {
		return nil
	}
	declared := map[string]bool{}
	for _, p := range params {
		if p.In.Value == "path" {
			declared[p.Name.Value] = true
		}
	}
	var out []string
	for _, name := range placeholders(path) {
		if !declared[name] && len(out) < 10 {
			out = append(out, name)
			declared[name] = true
		}
	}
	return out
}

func placeholders(path string) []string {
	var out []string
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, ":"); ok {
			if name = name[:nameEnd(name)]; name != "" {
				out = append(out, name)
			}
			continue
		}
		for {
			_, rest, ok := strings.Cut(segment, "{")
			if !ok {
				break
			}
			name, after, ok := strings.Cut(rest, "}")
			if !ok {
				break
			}
			segment = after
			if strings.HasPrefix(name, "?") || strings.HasPrefix(name, "&") || strings.HasPrefix(name, "#") {
				continue // a template of the query, not of the path
			}
			if name = strings.Trim(name, "+./;* "); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

func nameEnd(s string) int {
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '_' && s[i] != '-' {
			return i
		}
	}
	return len(s)
}

func (r *ruleRun) protocol(c *Capability) {
	v := c.Protocol
	switch {
	case v.wrong:
	case v.Value == "":
		r.add("protocol-missing", Fail, c.offset, "Capability %s has no %s.", quoted(c.ID.Value), r.name(fProtocol)).
			fix("Add one of REST, MCP, A2A, GraphQL, WebSocket: %s", r.write(fProtocol, "REST"))
	case !contains(protocols, v.Value):
		w := nearest(protocols, v.Value)
		if w == "" {
			w = "REST"
		}
		r.add("protocol", Fail, v.offset, "%s %s is not one of REST, MCP, A2A, GraphQL, WebSocket%s.", r.name(fProtocol), quoted(v.Value),
			closedHint(protocols, v.Value)).fix("Write: %s", r.write(fProtocol, w))
	}
}

func (r *ruleRun) method(c *Capability) {
	v := c.Method
	switch {
	case v.wrong || !v.given():
		return
	case v.Value == "":
		r.add("method", Info, v.offset, "%s has no value. It counts as absent, which means GET.", r.name(fMethod)).
			fix("Write: %s", r.write(fMethod, "GET"))
		return
	case !isMethod(v.Value):
		first := v.Value[:nameEnd(v.Value)]
		if !isMethod(first) {
			first = "GET"
		}
		r.add("method", Warn, v.offset, "%s %s is not one HTTP method.", r.name(fMethod), quoted(v.Value)).
			fix("Declare one capability for each method, each with one: %s", plain(r.write(fMethod, first)))
	}
	if contains(protocols, c.Protocol.Value) && c.Protocol.Value != "REST" {
		r.add("method-protocol", Info, v.offset, "%s has a meaning with REST only, the protocol here is %s.", r.name(fMethod), c.Protocol.Value).
			fix("Remove it.")
	}
}

func (r *ruleRun) auth(c *Capability) {
	a := &c.Auth
	if a.wrong || a.Type.wrong {
		return
	}
	endpoint := a.TokenEndpoint
	if endpoint.Value != "" {
		l, ok := parseLink(endpoint.Value)
		switch {
		case !ok:
			r.add("auth-endpoint", Fail, endpoint.offset, "%s %s is no absolute URL with a host.", r.name(fAuthEndpoint), quoted(endpoint.Value)).
				fix("Write the whole address: %s", r.write(fAuthEndpoint, "https://site.example/token"))
		case l.scheme != "https":
			_, rest, _ := strings.Cut(endpoint.Value, "://")
			r.add("auth-endpoint", Fail, endpoint.offset, "%s %s is not https: tokens would be sent in the clear.", r.name(fAuthEndpoint), quoted(endpoint.Value)).
				fix("Write: %s", plain(r.write(fAuthEndpoint, "https://"+rest)))
		}
	}
	switch t := a.Type.Value; t {
	case "bearer-token", "oauth2":
		if endpoint.missing() {
			r.add("auth-endpoint-missing", Fail, a.Type.offset, "%s is %s, but %s is missing: agents cannot get a token.", r.name(fAuth), t, r.name(fAuthEndpoint)).
				fix("Add: %s", r.write(fAuthEndpoint, "https://site.example/token"))
		}
	case "", "none", "api-key", "hmac":
		if endpoint.Value != "" {
			r.add("auth-endpoint-unused", Warn, endpoint.offset, "%s stands with bearer-token or oauth2 only. The reference library takes it for bearer-token where Auth is missing.",
				r.name(fAuthEndpoint)).fix("Declare the type, %s, or remove the endpoint.", r.inline(fAuth, "bearer-token"))
		}
		if (t == "api-key" || t == "hmac") && !a.DocsURL.given() {
			r.add("auth-docs", Info, a.Type.offset, "%s is %s, but nothing says how to get and use it.", r.name(fAuth), t).
				fix("Add: %s", r.write(fAuthDocs, "https://site.example/docs/auth"))
		}
	default:
		w := nearest(authTypes, t)
		if w == "" {
			w = "bearer-token"
		}
		r.add("auth", Fail, a.Type.offset, "%s %s is not one of none, api-key, bearer-token, oauth2, hmac%s. Readers take the capability as open.",
			r.name(fAuth), quoted(t), closedHint(authTypes, t)).fix("Write: %s", r.write(fAuth, w))
	}
}

func (r *ruleRun) scopes(c *Capability) {
	list := c.allScopes()
	for _, s := range list {
		if strings.ContainsFunc(s.Value, isSpace) {
			r.add("scopes", Warn, s.offset, "The scope %s has white space inside; scopes are separated by commas.", quoted(s.Value)).
				fix("Write: %s", plain(r.write(fScopes, strings.Join(strings.Fields(cutBytes(s.Value)), ", "))))
		}
	}
	if len(list) == 0 || c.Auth.wrong || c.Auth.Type.wrong {
		return
	}
	switch t := c.Auth.Type.Value; {
	case t == "oauth2" || t != "" && !contains(authTypes, t):
	case t == "bearer-token":
		r.add("scopes-unused", Info, list[0].offset, "Scopes are OAuth 2 scopes; the type here is bearer-token.").
			fix("If tokens come from an OAuth 2 server, write: %s", r.write(fAuth, "oauth2"))
	default:
		r.add("scopes-unused", Warn, list[0].offset, "Scopes stand with oauth2 only. The reference library takes them for oauth2 where Auth is missing.").
			fix("Declare the type, %s, or remove the scopes.", r.inline(fAuth, "oauth2"))
	}
}

func (r *ruleRun) limit(l RateLimit) {
	if !l.IsZero() && overBillion(l.Requests.Value) {
		r.add("rate-limit", Warn, l.Requests.offset, "%s allows %s requests a %s, which is no limit.", r.name(fRateLimit), plain(l.Requests.Value), l.Window.Value).
			fix("Give a limit that the server keeps, or none.")
	}
}

func (r *ruleRun) parameters(c *Capability) {
	rest := c.Protocol.Value == "REST"
	other := !rest && contains(protocols, c.Protocol.Value)
	method := c.Method.Value
	reads := method == "" && !c.Method.wrong || method == "GET" || method == "HEAD"
	for i := range c.Parameters {
		p := &c.Parameters[i]
		at := p.Name.offset
		if !contains(paramTypes, p.Type.Value) {
			severity := Warn
			if r.strict {
				severity = Fail
			}
			r.add("param-type", severity, p.Type.offset, "The type of parameter %s is %s; the draft has string, integer, number, boolean.",
				quoted(p.Name.Value), quoted(p.Type.Value)).fix("Take the nearest of the four, in most cases string.")
		}
		if other {
			r.add("param-protocol", Info, at, "Parameter %s: parameters describe REST endpoints, the protocol here is %s.", quoted(p.Name.Value), c.Protocol.Value).
				fix("Remove it.")
		}
		if rest && p.In.Value == "path" && !p.Required {
			r.add("param-use", Info, at, "The path parameter %s is not marked required, but no path is complete without it.", quoted(p.Name.Value)).
				fix("Mark it: %s", plain(r.paramExample(p.Name.Value)))
		}
		if rest && p.In.Value == "body" && reads {
			r.add("param-use", Info, at, "Parameter %s is in the body, but GET and HEAD have none.", quoted(p.Name.Value)).
				fix("Declare the method, %s, or another location.", r.inline(fMethod, "POST"))
		}
	}
}
