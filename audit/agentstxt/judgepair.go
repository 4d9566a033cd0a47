package agentstxt

import "strings"

// merge takes over the findings of another list.
func (f *findings) merge(other *findings) {
	for _, x := range other.list {
		f.keep(x)
	}
}

// keep takes over one finding as it is.
func (f *findings) keep(x *finding) {
	if f.n == nil {
		f.n, f.count = map[findingKey]int{}, map[findingKey]*finding{}
	}
	key := findingKey{strings.TrimPrefix(x.id, "agents:"), x.severity}
	f.n[key]++
	f.count[key] = x
	f.list = append(f.list, x)
}

// maxDifferences bounds the list in a report; a check says how many more
// there are.
const maxDifferences = 500

// compare judges whether text and JSON say the same (rule 69).
func (j *judge) compare(text, json *place) []Difference {
	switch {
	case !text.there() || !json.there() || !text.isDraft() && !json.isDraft():
		return nil
	case !text.isDraft() || !json.isDraft():
		j.both.add("not-compared", Info, -1, "Text and JSON are not compared: one of them is of another format.").
			fix("Publish the same declaration in both forms.")
		return nil
	case json.doc.broken:
		j.both.add("not-compared", Info, -1, "Text and JSON are not compared: the JSON cannot be read.").fix("Correct the JSON.")
		return nil
	}
	list := Compare(&text.doc.Declaration, &json.doc.Declaration)
	for i := range list {
		d := &list[i]
		json.f.add("difference", d.Severity, d.offset, "%s: the JSON says %s, the text %s%s. Readers that have both use the JSON.",
			plain(d.Member), sayValue(d.JSON), sayValue(d.Text), d.note).
			fix("Say the same in both files.")
	}
	if n := len(list); n > maxDifferences {
		j.both.add("not-compared", Info, -1, "There are %d differences; the report lists the first %d.", n, maxDifferences).
			fix("Make one file from the other.")
		list = list[:maxDifferences]
	}
	return list
}

func sayValue(v *string) any {
	if v == nil {
		return "nothing"
	}
	return quoted(*v)
}

// masked is the difference as a report shows it.
func (d Difference) masked(m *masker) Difference {
	one := func(v *string) *string {
		if v == nil {
			return nil
		}
		s := show(m, *v)
		return &s
	}
	d.Text, d.JSON = one(d.Text), one(d.JSON)
	d.Member, d.Capability, d.Agent = show(m, d.Member), show(m, d.Capability), show(m, d.Agent)
	return d
}

// askedFor judges what a file points to (rules 57 and 68).
func (j *judge) askedFor(p *place) {
	if j.local || p.doc.broken {
		return
	}
	d := &p.doc.Declaration
	if p.form == TextForm {
		j.agentsJSON(p, d.Metadata.Get(fAgentsJSON.text))
	}
	for i := range d.Agents {
		a := &d.Agents[i]
		if _, ok := parseLink(a.AgentDeclaration.Value); ok {
			j.handshake(p, a)
		}
	}
}

func (j *judge) agentsJSON(p *place, v Text) {
	if v.Value == "" || j.rules.origin.host == "" {
		return
	}
	right := fAgentsJSON.text + ": " + j.report.Origin + JSONPath
	l, ok := parseLink(v.Value)
	switch {
	case !ok:
		p.f.add("agents-json", Warn, v.offset, "Agents-JSON %s is no absolute URL.", quoted(v.Value)).fix("Write: %s", right)
		return
	case l.origin() != j.rules.origin.origin():
		p.f.add("agents-json", Warn, v.offset, "Agents-JSON points to another origin, %s.", quoted(l.origin())).fix("Write: %s", right)
		return
	}
	g := j.replies.follow(v.Value)
	switch {
	case g.state == notAsked:
		p.f.add("not-checked", Info, v.offset, "What Agents-JSON points to was not asked for.").fix("Nothing.")
	case g.state != present || isHTML(string(g.reply.Body)):
		why := g.why
		if why == "" {
			why = "an HTML page was answered"
		}
		p.f.add("agents-json", Warn, v.offset, "What Agents-JSON points to is not there: %s.", plain(why)).
			fix("Publish the JSON there or remove the line.")
		return
	}
	if l.request() != JSONPath {
		p.f.add("agents-json", Info, v.offset, "Agents-JSON points to %s, not to the well-known place of the JSON, where readers look for it.", quoted(l.request())).
			fix("Write: %s", right)
	}
}

// handshake looks whether an operator's own declaration agrees (section 6).
func (j *judge) handshake(p *place, a *Agent) {
	v := a.AgentDeclaration
	g := j.replies.follow(v.Value)
	warn := func(format string, args ...any) {
		p.f.add("agent-handshake", Warn, v.offset, format, args...).
			fix("Have the operator publish a declaration of type agent with: Operates-On: %s", j.report.Origin)
	}
	switch g.state {
	case notAsked:
		p.f.add("not-checked", Info, v.offset, "The operator's declaration %s was not asked for.", quoted(v.Value)).fix("Nothing.")
		return
	case unchecked:
		p.f.add("not-checked", Info, v.offset, "The operator's declaration %s could not be looked at: %s.", quoted(v.Value), plain(g.why)).fix("Nothing.")
		return
	case absent, tooLarge:
		warn("The operator's declaration %s is not there: %s.", quoted(v.Value), plain(g.why))
		return
	}
	key := location(g.url)
	d := j.targets[key]
	if d == nil {
		if strings.HasPrefix(trim(string(g.reply.Body[:min(512, len(g.reply.Body))])), "{") {
			d = ParseJSON(g.reply.Body)
			d.broken = d.broken || jsonFormat(d) != Draft
		} else {
			d = ParseText(g.reply.Body)
			d.broken = textFormat(d) != Draft
		}
		j.targets[key] = d
	}
	switch {
	case d.broken:
		warn("What stands at %s is no declaration of the draft.", quoted(v.Value))
	case !isAgentDeclaration(d):
		warn("The operator's declaration %s is of type platform, not agent.", quoted(v.Value))
	case !j.operatesHere(d, p.doc):
		warn("The operator's declaration %s does not name this site in Operates-On.", quoted(v.Value))
	case a.Capabilities != nil:
		j.withinGrant(p, a, d)
	}
}

func isAgentDeclaration(d *Document) bool { return d.Declaration.DeclarationType.Value == "agent" }

// operatesHere reports whether a declaration lists this site, by the origin
// that was asked or the one that the file gives.
func (j *judge) operatesHere(d, here *Document) bool {
	var sites []link
	sites = append(sites, j.rules.origin)
	if l, ok := parseLink(here.Declaration.Site.URL.Value); ok {
		sites = append(sites, l)
	}
	for _, t := range d.Declaration.OperatesOn {
		l, ok := parseLink(t.Value)
		if !ok {
			continue
		}
		for _, s := range sites {
			if l.origin() == s.origin() {
				return true
			}
		}
	}
	return false
}

// withinGrant notes capabilities that the operator uses here without a grant.
func (j *judge) withinGrant(p *place, a *Agent, d *Document) {
	granted, declared := map[string]bool{}, map[string]bool{}
	for _, c := range a.Capabilities {
		granted[c.Value] = true
	}
	for i := range p.doc.Declaration.Capabilities {
		declared[p.doc.Declaration.Capabilities[i].ID.Value] = true
	}
	for i := range d.Declaration.Capabilities {
		id := d.Declaration.Capabilities[i].ID.Value
		if declared[id] && !granted[id] {
			p.f.add("agent-handshake", Info, a.AgentDeclaration.offset, "The operator's declaration uses %s, which agent %s is not granted.",
				quoted(id), quoted(a.Name.Value)).fix("Add it to the agent's list, if it is meant to be granted.")
		}
	}
}
