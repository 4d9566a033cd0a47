package publication

import (
	"cmp"
	"fmt"
	"strings"

	"agentaudit/audit/profile"
	"agentaudit/audit/readme"
	"agentaudit/fetch/weburl"
)

// The two projects that a publication refers to and what is said of them,
// word for word (seed PUBLICATION, "TXT 1.2").
const (
	specificationURL  = "https://ruagentic.org"
	specificationText = "Agentic is the open file convention for describing websites, APIs, and agent connections, with specifications and tools for generation, validation, auditing, and action-result verification."
	directoryURL      = "https://ruagentic.com"
	directoryText     = "RUAGENTIC is the official Agentic directory for agentic AI MCP servers and tools."
)

const references = "- [Agentic](" + specificationURL + "): " + specificationText + "\n" +
	"- [RUAGENTIC](" + directoryURL + "): " + directoryText + "\n"

// subject is what README and LISTING say of a profile. All texts are
// Markdown already.
type subject struct {
	at          *weburl.URL // of agentic.json
	site        bool
	name        string
	short, full string // descriptions
	website     string // a link, "" where the profile names no page
	sections    []section
}

// section is a list that may be shortened.
type section struct {
	title, intro string
	items        []string
	// left stands for items that there is no room for.
	left func(n int) string
}

func describe(p profile.Profile, at *weburl.URL) *subject {
	s := &subject{at: at}
	switch p := p.(type) {
	case *profile.Site:
		s.site = true
		s.describeSite(p)
	case *profile.Action:
		s.describeAction(p)
	}
	return s
}

func (s *subject) describeSite(p *profile.Site) {
	s.name = cmp.Or(markdown(p.Name), markdown(s.at.Hostname()))
	s.short = cmp.Or(markdown(cut(plain(p.Description), 160)), s.name+" on the web.")
	s.full = cmp.Or(markdown(p.Description), s.short)
	for _, r := range p.Resources {
		if r.Kind == profile.KindWebsite && s.website == "" {
			s.website = link(r.Title, r.Link)
		}
	}
	s.add("APIs", "Operations are listed in agentic.json; the API's own document decides.", "API documents", apiItems(p))
	s.add("Agent connections", "Each connection's own rules on access hold; listing one here grants nothing.", "connections",
		resourceItems(p, profile.KindMCP, profile.KindA2A, profile.KindAgentAuth))
	s.add("Documentation", "", "documents", resourceItems(p, profile.KindDocumentation, profile.KindLLMs))
	s.add("Further pages and profiles", "", "resources", resourceItems(p, profile.KindWebsite, profile.KindAgentic))
}

func (s *subject) describeAction(p *profile.Action) {
	s.name = markdown(s.at.Hostname())
	ids := make([]string, len(p.Actions))
	items := make([]string, len(p.Actions))
	for i, a := range p.Actions {
		ids[i] = a.ID
		items[i] = "- " + cmp.Or(markdown(a.ID), "action") + ": " + cmp.Or(markdown(a.Description), "no description")
	}
	s.full = fmt.Sprintf("This service describes %s that agents can submit, track and verify: %s.",
		count(len(ids), "action", "actions"), markdown(cut(strings.Join(ids, ", "), 300)))
	s.short = fmt.Sprintf("Verifiable agent actions at %s: %s.", s.name, markdown(cut(strings.Join(ids, ", "), 100)))
	s.add("Actions", "Summaries do not authorise anything; agentic.json holds the contract.", "actions", items)
	var documents []string
	for _, path := range p.OpenAPIPaths() {
		if u, err := s.at.Resolve(path); err == nil {
			documents = append(documents, "- "+link(path, u)+" (OpenAPI 3.1, bound by the actions)")
		}
	}
	s.add("APIs", "", "API documents", documents)
}

func (s *subject) add(title, intro, what string, items []string) {
	if len(items) > 0 {
		s.sections = append(s.sections, section{title, intro, items, func(n int) string {
			return fmt.Sprintf("- %d more %s: see agentic.json\n", n, what)
		}})
	}
}

func apiItems(p *profile.Site) (items []string) {
	for _, r := range p.Resources {
		if r.Kind != profile.KindOpenAPI {
			continue
		}
		about := availability(r)
		for _, a := range p.APIs {
			if a.Link.Location() == r.Link.Location() {
				about = fmt.Sprintf("OpenAPI %s, %s listed; %s", markdown(a.OpenAPI), count(len(a.Operations), "operation", "operations"), about)
			}
		}
		items = append(items, "- "+link(r.Title, r.Link)+" ("+about+")")
	}
	return items
}

func resourceItems(p *profile.Site, kinds ...profile.ResourceKind) (items []string) {
	for _, kind := range kinds {
		for _, r := range p.Resources {
			if r.Kind == kind {
				items = append(items, "- "+link(r.Title, r.Link)+" ("+kindNames[kind]+"; "+availability(r)+")")
			}
		}
	}
	return items
}

var kindNames = map[profile.ResourceKind]string{
	profile.KindWebsite:       "web page",
	profile.KindDocumentation: "documentation",
	profile.KindLLMs:          "documentation index for language models",
	profile.KindMCP:           "MCP endpoint",
	profile.KindA2A:           "A2A agent card",
	profile.KindAgentAuth:     "Agent Auth configuration",
	profile.KindAgentic:       "Agentic profile",
}

func availability(r profile.Resource) string {
	if r.Availability == profile.Retrieved {
		return "read when this list was made"
	}
	return "linked, not tried"
}

// fileLink is a link to a published file. Where the URL is longer than what a
// README link may have, its name alone may still be short enough; a name of
// many thousand characters is no link at all.
func fileLink(name string, u *weburl.URL) string {
	target := destination(u.String())
	if len(u.String()) > readme.MaxDestination {
		path := u.Path()
		if relative := "./" + path[strings.LastIndexByte(path, '/')+1:]; len(relative) <= readme.MaxDestination {
			target = destination(relative)
		}
	}
	if len(target) > 4*readme.MaxDestination {
		return name
	}
	return "[" + name + "](" + target + ")"
}

// compose writes head, sections and tail within the limit: items that do not
// fit are counted.
func compose(head string, sections []section, tail string) string {
	const reserve = 160 // for a section's title and its count of what is left
	room := MaxSize - len(head) - len(tail)
	for _, s := range sections {
		room -= reserve + len(s.intro)
	}
	var b strings.Builder
	b.WriteString(head)
	for _, s := range sections {
		b.WriteString("\n## " + s.title + "\n\n")
		if s.intro != "" {
			b.WriteString(s.intro + "\n\n")
		}
		for i, item := range s.items {
			if room -= len(item) + 1; room < 0 {
				b.WriteString(s.left(len(s.items) - i))
				break
			}
			b.WriteString(item + "\n")
		}
	}
	b.WriteString(tail)
	return b.String()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
