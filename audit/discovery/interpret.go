package discovery

import (
	"cmp"
	"net/http"
	"strings"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/openapi"
	"agentaudit/audit/profile"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// candidate is a document that waits to be read.
type candidate struct {
	url  *weburl.URL
	kind profile.ResourceKind
	// linked is set where a document refers to it; source and title are those
	// of the first that did.
	linked        bool
	source, title string
	// free is set for what robots.txt has no say in: conventional paths, and
	// what a published profile names.
	free bool
}

// content is a document that answered 200.
type content struct {
	at     *weburl.URL // final
	body   []byte
	header http.Header
	media  string // type in lower case, without parameters
	text   string
	root   *jsontree.Document // nil where it is no JSON
}

func newContent(at *weburl.URL, answer *fetch.Response) *content {
	media, _, _ := strings.Cut(answer.ContentType, ";")
	c := &content{
		at: at, body: answer.Body, header: answer.Header,
		media: strings.ToLower(strings.TrimSpace(media)), text: jsontree.DecodeText(answer.Body),
	}
	if start := strings.TrimLeft(c.text, " \t\r\n"); start != "" && strings.IndexByte(`{["`, start[0]) >= 0 {
		c.root, _ = jsontree.ParseText(c.text)
	}
	return c
}

// get is a member of the JSON object that the content is, or nil.
func (c *content) get(name string) *jsontree.Node {
	if c.root == nil {
		return nil
	}
	return c.root.Root.Get(name)
}

func (c *content) isHTML() bool {
	switch c.media {
	case "text/html", "application/xhtml+xml":
		return true
	case "text/markdown", "text/x-markdown":
		return false
	}
	return c.startsWith("<")
}

// startsWith reports whether the text begins with one of some characters,
// white space aside.
func (c *content) startsWith(chars string) bool {
	s := strings.TrimLeftFunc(c.text, isBlank)
	return s != "" && strings.IndexByte(chars, s[0]) >= 0
}

// isPage reports whether a first document can be read (specification section
// 8).
func (c *content) isPage() bool {
	return strings.HasPrefix(c.media, "text/") || strings.Contains(c.media, "json") || c.startsWith("<{#")
}

// page reads what a document says and links to.
func (c *content) page() *page {
	switch {
	case c.isHTML():
		return readHTML(c.text, c.at)
	case c.root != nil:
		return readJSON(&c.root.Root, c.at)
	}
	return readText(c.text, c.at)
}

// interpret makes of a document what it is, and lists it; first is set for the
// start.
func (s *scan) interpret(c *content, taken *candidate, first bool) {
	kind := taken.kind
	isAgentic := c.get("agentic").IsString(actionVersion) ||
		c.get("agentic").IsString(profile.SiteVersion) && c.get("type").IsString(string(profile.SiteType))
	if isAgentic {
		kind = profile.KindAgentic
	}
	api := c.openapi()
	if api != nil {
		kind = profile.KindOpenAPI
		s.index(c.at, api)
	}
	switch {
	case kind == profile.KindOpenAPI && api == nil,
		kind == profile.KindAgentic && !s.profile(c, isAgentic, first),
		kind == profile.KindA2A && !(isText(c.get("name")) && isKind(c.get("skills"), jsontree.Array)),
		kind == profile.KindAgentAuth && !(isText(c.get("issuer")) && isKind(c.get("endpoints"), jsontree.Object)),
		kind == profile.KindLLMs && (c.isHTML() || c.startsWith("<")):
		return // it stays linked where it was
	}
	var p page
	if kind != profile.KindOpenAPI && kind != profile.KindAgentic {
		p = *c.page()
	}
	if first {
		s.name = cutText(strings.TrimSpace(siteName(p.title)), profile.MaxNameLength)
		s.description = p.description
	}
	found := Source{Kind: kind, URL: c.at.Location(), Source: c.at.Location(), Title: cmp.Or(p.title, taken.title)}
	if taken.linked {
		found.Source = taken.source
	}
	s.found.retrieve(found, !first && !taken.linked, taken.kind, taken.url.Location())
	for _, l := range p.links {
		s.follow(p.base, l.href, l.title, c.at)
	}
	if kind != profile.KindOpenAPI && kind != profile.KindAgentic {
		targets := headerLinks(c.header.Values("Link"))
		for _, target := range targets[:min(len(targets), maxLinks-len(p.links))] {
			s.follow(c.at, target, "", c.at)
		}
	}
}

const actionVersion = "1.0.0"

func isText(n *jsontree.Node) bool { return isKind(n, jsontree.String) }

func isKind(n *jsontree.Node, k jsontree.Kind) bool { return n != nil && n.Kind == k }

// openapi is the OpenAPI 3 document that the content is, or nil.
func (c *content) openapi() *openapi.Document {
	version, _ := c.get("openapi").Text()
	if !strings.HasPrefix(version, "3.") || !isKind(c.get("paths"), jsontree.Object) {
		return nil
	}
	d, err := openapi.Parse(c.body)
	if err != nil {
		return nil
	}
	return d
}

// index lists the operations of an OpenAPI document.
func (s *scan) index(at *weburl.URL, d *openapi.Document) {
	all := d.Operations()
	for i := range all {
		all[i].Summary = cleanJSON(all[i].Summary, profile.MaxSummaryLength)
	}
	url := at.Location()
	s.indexes[url] = all
	s.titleOfAPI = cmp.Or(s.titleOfAPI, cleanJSON(d.T.Info.Title, profile.MaxNameLength))
	s.descriptionOfAPI = cmp.Or(s.descriptionOfAPI, cleanJSON(d.T.Info.Description, profile.MaxDescriptionLength))
	if len(all) > profile.MaxOperations {
		all, s.cutAPIs = all[:profile.MaxOperations:profile.MaxOperations], true
	}
	api := profile.API{Document: url, OpenAPI: cutText(d.T.OpenAPI, profile.MaxOpenAPILength), Operations: all}
	for i := range s.apis {
		if s.apis[i].Document == url {
			s.apis[i] = api
			return
		}
	}
	if len(s.apis) == profile.MaxAPIs {
		s.cutAPIs = true
		return
	}
	s.apis = append(s.apis, api)
}

// profile looks at a published profile and reports whether it is one: valid,
// and of this origin if it is an action profile. Such a one is kept.
func (s *scan) profile(c *content, isAgentic, first bool) bool {
	if !isAgentic || profile.CheckSize(c.body) != nil {
		return false
	}
	doc := profile.FromTree(c.root)
	v := doc.Validate(profile.Options{})
	if !v.Valid() {
		return false
	}
	a, ok := v.Profile.(*profile.Action)
	if !ok {
		return true
	}
	if a.Origin != s.origin {
		return false
	}
	rank := rankNested
	switch {
	case c.at.Origin() != s.origin:
		rank = rankNone // it came from the www counterpart: not its serving origin
	case first:
		rank = rankStart
	case c.at.Path() == "/agentic.json":
		rank = rankRoot
	}
	if rank > s.existing.rank {
		s.existing = existing{rank, doc, a, c.at}
	}
	for _, path := range a.OpenAPIPaths() {
		if u, err := s.originURL.Resolve(path); err == nil {
			s.advertise(&candidate{url: u, kind: profile.KindOpenAPI, source: c.at.Location(), free: true})
		}
	}
	return true
}

// existing is the action profile to be preserved.
type existing struct {
	rank int
	doc  *profile.Document
	a    *profile.Action
	at   *weburl.URL
}

// Which action profile is preserved where there are several: the higher rank,
// and of equal ones the first.
const (
	rankNone = iota
	rankNested
	rankRoot
	rankStart
)
