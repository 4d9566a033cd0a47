package discovery

import (
	"strings"

	"golang.org/x/net/html"

	"agentaudit/fetch/weburl"
)

// maxLinks is how many links of a page count, those among them that lead
// nowhere (specification sections 8 and 9).
const maxLinks = 1000

// page is what a document says of itself and what it links to.
type page struct {
	// title and description are cleaned and cut, "" where there are none.
	title, description string
	// base is what links resolve against.
	base  *weburl.URL
	links []pageLink
}

// pageLink is a link as written, with the title that the page gives it.
type pageLink struct{ href, title string }

func (p *page) full() bool { return len(p.links) >= maxLinks }

func (p *page) link(href, title string) {
	if !p.full() {
		p.links = append(p.links, pageLink{href, title})
	}
}

// readHTML reads a page as the HTML Standard says, as far as a tokenizer can:
// comments, scripts, styles and templates hold no links; the first title and
// the first base count, and of two equal attributes the first. No tree is
// built, so that the cost stays linear whatever the nesting.
func readHTML(text string, at *weburl.URL) *page {
	r := &htmlPage{page: page{base: at}, z: html.NewTokenizer(strings.NewReader(text)), anchor: -1}
	for typ := r.z.Next(); typ != html.ErrorToken; typ = r.z.Next() {
		switch typ {
		case html.TextToken:
			r.text()
		case html.StartTagToken, html.SelfClosingTagToken:
			r.start(typ == html.SelfClosingTagToken)
		case html.EndTagToken:
			r.end()
		}
	}
	r.closeAnchor()
	r.endBlock()
	r.page.markdown(r.marked.String())
	for _, u := range r.bare {
		r.page.link(u, "")
	}
	return &r.page
}

// htmlPage is the reading of one page.
type htmlPage struct {
	page
	z *html.Tokenizer
	// raw is the element whose whole content is the next text: script, title
	// and their like; "" elsewhere.
	raw string
	// template and foreign count open templates and open svg or math elements.
	template, foreign int
	// inTitle is set within the first title.
	hasTitle, inTitle, hasBase bool
	// anchor is the index of the link whose text is being read, -1 outside.
	anchor       int
	anchorTitled bool
	anchorText   strings.Builder
	// block is the text of the current block, marked what of earlier ones may
	// hold Markdown links.
	block, marked strings.Builder
	bare          []string
}

// rawElements hold text alone; the text of those that map to false is not
// shown.
var rawElements = map[string]bool{
	"script": false, "style": false, "iframe": false, "noembed": false, "noframes": false,
	"title": false, "textarea": true, "xmp": true, "plaintext": true,
}

func (r *htmlPage) text() {
	raw := r.raw
	r.raw = ""
	if r.template > 0 {
		return
	}
	shown, isRaw := rawElements[raw]
	if raw == "title" && r.inTitle {
		r.title = clean(string(r.z.Text()), titleLimit)
	}
	if isRaw && !shown {
		return
	}
	text := string(r.z.Text())
	r.bare = bareURLs(r.bare, text)
	if r.anchor >= 0 && r.anchorText.Len() < 4*titleLimit {
		// A text that is longer than it needs to be is not kept.
		r.anchorText.WriteString(fold(text, 4*titleLimit))
	}
	r.block.WriteString(text)
}

func (r *htmlPage) start(selfClosing bool) {
	r.raw = ""
	rawName, more := r.z.TagName()
	name := string(rawName)
	var attr map[string]string
	if wanted, ok := wantedAttributes[name]; ok && more {
		attr = r.attributes(wanted)
	}
	if name == "noscript" || r.foreign > 0 && selfClosing {
		r.z.NextIsNotRawText()
	} else if _, ok := rawElements[name]; ok {
		r.raw = name
	}
	switch {
	case name == "template":
		r.template++
		return
	case r.template > 0:
		return
	case name == "svg" || name == "math":
		if !selfClosing {
			r.foreign++
		}
	case blockElements[name]:
		r.foreign = 0 // these break out of foreign content
		r.endBlock()
	}
	r.space()
	switch name {
	case "title":
		r.inTitle = r.foreign == 0 && !r.hasTitle
		r.hasTitle = r.hasTitle || r.inTitle
	case "base":
		if href, ok := attr["href"]; ok && !r.hasBase {
			r.hasBase = true
			if u, err := r.base.Resolve(href); err == nil && u.Origin() == r.base.Origin() {
				r.base = u
			}
		}
	case "meta":
		if r.description == "" && (isDescription(attr["name"]) || isDescription(attr["property"])) {
			r.description = clean(attr["content"], descriptionLimit)
		}
	case "a":
		r.closeAnchor()
		if href := attr["href"]; href != "" && !r.full() {
			title := clean(attr["title"], titleLimit)
			r.anchor, r.anchorTitled = len(r.links), title != ""
			r.link(href, title)
		}
	case "link":
		if href := attr["href"]; href != "" && hasWantedRel(attr["rel"]) {
			r.link(href, clean(attr["title"], titleLimit))
		}
	}
}

func (r *htmlPage) end() {
	r.raw = ""
	rawName, _ := r.z.TagName()
	name := string(rawName)
	switch {
	case name == "template":
		r.template = max(0, r.template-1)
		return
	case r.template > 0:
		return
	case name == "svg" || name == "math":
		r.foreign = max(0, r.foreign-1)
	case name == "a":
		r.closeAnchor()
	case blockElements[name]:
		r.endBlock()
	}
	r.space()
}

var wantedAttributes = map[string][]string{
	"a": {"href", "title"}, "link": {"href", "rel", "title"}, "base": {"href"},
	"meta": {"name", "property", "content"},
}

// attributes reads the wanted attributes of the current tag; of equal ones the
// first counts.
func (r *htmlPage) attributes(wanted []string) map[string]string {
	attr := map[string]string{}
	for more := true; more; {
		var key, value []byte
		key, value, more = r.z.TagAttr()
		for _, w := range wanted {
			if _, known := attr[w]; w == string(key) && !known {
				attr[w] = string(value)
			}
		}
	}
	return attr
}

func isDescription(s string) bool {
	s = strings.Trim(s, " \t\n\f\r")
	return strings.EqualFold(s, "description") || strings.EqualFold(s, "og:description")
}

func hasWantedRel(rel string) bool {
	for word := range strings.FieldsSeq(rel) {
		switch strings.ToLower(word) {
		case "alternate", "describedby", "service-desc":
			return true
		}
	}
	return false
}

// closeAnchor gives the link that is open its text as title, unless it has an
// attribute for it.
func (r *htmlPage) closeAnchor() {
	if r.anchor >= 0 && !r.anchorTitled {
		r.links[r.anchor].title = clean(r.anchorText.String(), titleLimit)
	}
	r.anchor = -1
	r.anchorText.Reset()
}

// space separates the texts before and after a tag.
func (r *htmlPage) space() {
	r.block.WriteByte(' ')
	if r.anchor >= 0 {
		r.anchorText.WriteByte(' ')
	}
}

// endBlock keeps the text of a block if there may be a Markdown link in it. The
// word before it keeps it a paragraph, whatever it begins with: a page's text
// has no lists or code fences that would reach into the next block.
func (r *htmlPage) endBlock() {
	if text := r.block.String(); strings.Contains(text, "](") && !r.full() {
		r.marked.WriteString("x " + markupEscaper.Replace(fold(text, len(text))) + "\n\n")
	}
	r.block.Reset()
}

var markupEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;")

// blockElements end a paragraph of text and break out of svg and math (HTML
// Standard, "the rules for parsing tokens in foreign content", and those that
// are blocks by default).
var blockElements = setOf(`address article aside blockquote body br center dd details dialog dir div dl dt fieldset figcaption
	figure footer form h1 h2 h3 h4 h5 h6 head header hr html legend li main menu nav ol option p pre search section select
	summary table tbody td tfoot th thead tr ul`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
