package agentstxt

import (
	"strings"
)

// PipelineRequests is how many requests an audit in the pipeline may spend on
// this convention (issue 4).
const PipelineRequests = 4

// maxDeclarations is how many operators' declarations are asked for.
const maxDeclarations = 5

// collector asks for the places of one site, in the order of their weight, as
// long as there are requests left.
type collector struct {
	origin string
	left   int
	get    func(url string) Reply
	list   []Reply
}

// ask makes one request, unless it was made already or none is left.
func (c *collector) ask(url string) {
	if c.left <= 0 || indexReplies(c.list)[location(url)] != nil {
		return
	}
	c.left--
	r := c.get(url)
	r.URL = url
	c.list = append(c.list, r)
}

// place asks for a URL and follows redirects.
func (c *collector) place(url string) got {
	for {
		g := indexReplies(c.list).follow(url)
		if g.state != notAsked || c.left <= 0 || len(g.hops) > maxHops {
			return g
		}
		c.ask(g.url)
	}
}

func (c *collector) run() {
	// Both well-known places first: redirects must not use up the requests.
	c.ask(c.origin + TextPath)
	c.ask(c.origin + JSONPath)
	text := c.place(c.origin + TextPath)
	json := c.place(c.origin + JSONPath)
	if !isFile(text) {
		text = c.place(c.origin + TextRootPath)
	}
	if !isFile(json) {
		json = c.place(c.origin + JSONRootPath)
	}
	for _, url := range c.targets(text, json) {
		c.place(url)
	}
	// A second copy that differs is a warning only, so it comes last.
	if isFile(text) {
		c.place(c.origin + TextRootPath)
	}
	if isFile(json) {
		c.place(c.origin + JSONRootPath)
	}
}

// isFile reports whether an answer is a file, not a page or nothing.
func isFile(g got) bool {
	if g.state != present {
		return g.state == tooLarge
	}
	body := string(g.reply.Body)
	return trim(strings.TrimPrefix(body, "\ufeff")) != "" && !isHTML(body)
}

// targets are what the files point to: the JSON of Agents-JSON on the same
// origin, and operators' declarations.
func (c *collector) targets(text, json got) []string {
	var out []string
	seen := map[string]bool{}
	add := func(url string) {
		if !seen[url] && len(seen) <= maxDeclarations {
			seen[url] = true
			out = append(out, url)
		}
	}
	origin, _ := parseLink(c.origin)
	for i, g := range []got{text, json} {
		if g.state != present || len(g.reply.Body) > MaxBody {
			continue
		}
		var d *Document
		if i == 0 {
			d = ParseText(g.reply.Body)
			if textFormat(d) != Draft {
				continue
			}
			if l, ok := parseLink(d.Declaration.Metadata.Get(fAgentsJSON.text).Value); ok && l.origin() == origin.origin() {
				add(l.origin() + l.request())
			}
		} else {
			d = ParseJSON(g.reply.Body)
			if jsonFormat(d) != Draft {
				continue
			}
		}
		for _, a := range d.Declaration.Agents {
			if l, ok := parseLink(a.AgentDeclaration.Value); ok && (l.scheme == "https" || l.scheme == "http") && !l.user {
				add(l.origin() + l.request())
			}
		}
	}
	return out
}
