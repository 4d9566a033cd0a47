package agentstxt

import (
	"strings"
	"time"
)

// Resource is an agent endpoint that a site lists in the other convention,
// agentic.json.
type Resource struct {
	// Kind is "mcp" or "a2a"; others are passed over.
	Kind string
	URL  string
}

// CrossNotes says which MCP and A2A endpoints a site lists in one of the two
// conventions only, as checks of severity info. A nil declaration gives none:
// who has no agents.txt is not told to have one.
func CrossNotes(d *Declaration, resources []Resource) []Check {
	if d == nil {
		return nil
	}
	var here []Resource
	for i := range d.Capabilities {
		c := &d.Capabilities[i]
		switch c.Protocol.Value {
		case "MCP", "A2A":
			if _, ok := parseLink(c.Endpoint.Value); ok {
				here = append(here, Resource{strings.ToLower(c.Protocol.Value), c.Endpoint.Value})
			}
		}
	}
	var there []Resource
	for _, r := range resources {
		if k := strings.ToLower(r.Kind); k == "mcp" || k == "a2a" {
			there = append(there, Resource{k, r.URL})
		}
	}
	var hits []hit
	for _, r := range append(here[:len(here):len(here)], there...) {
		for _, c := range scanShapes(r.URL, time.Time{}) {
			hits = append(hits, hit{secret: r.URL[c.from:c.to]})
		}
	}
	// What is masked in the declaration of a report must be so in the other
	// list too, or the two would not compare.
	m := newMasker(hits)
	for _, list := range [][]Resource{here, there} {
		for i := range list {
			list[i].URL = m.mask(list[i].URL)
		}
	}
	var f findings
	for _, r := range missing(here, there) {
		f.add("other-convention", Info, -1, "The %s endpoint %s is listed in agents.txt, but not in agentic.json.", strings.ToUpper(r.Kind), quoted(r.URL)).
			fix("List it there as a resource of type %s.", r.Kind)
	}
	for _, r := range missing(there, here) {
		protocol := strings.ToUpper(r.Kind)
		f.add("other-convention", Info, -1, "The %s endpoint %s is listed in agentic.json, but not in agents.txt.", protocol, quoted(r.URL)).
			fix("Declare a capability with Endpoint: %s and Protocol: %s", plain(r.URL), protocol)
	}
	var out []Check
	for _, x := range f.list {
		out = append(out, x.check("", nil, m))
	}
	return out
}

// missing are the members of a that b does not list. A card (a .json file that
// describes an endpoint) stands for the endpoints of its kind on its host.
func missing(a, b []Resource) []Resource {
	type key struct{ kind, url string }
	exact, cards, hosts := map[key]bool{}, map[key]bool{}, map[key]bool{}
	for _, r := range b {
		exact[key{r.Kind, normal(r.URL)}] = true
		l, ok := parseLink(r.URL)
		if !ok {
			continue
		}
		hosts[key{r.Kind, l.hostPort}] = true
		if isCard(l) {
			cards[key{r.Kind, l.hostPort}] = true
		}
	}
	var out []Resource
	seen := map[key]bool{}
	for _, r := range a {
		k := key{r.Kind, normal(r.URL)}
		l, _ := parseLink(r.URL)
		host := key{r.Kind, l.hostPort}
		if exact[k] || seen[k] || cards[host] || isCard(l) && hosts[host] {
			continue
		}
		seen[k] = true
		out = append(out, r)
	}
	return out
}

func isCard(l link) bool { return strings.HasSuffix(l.path, ".json") }
