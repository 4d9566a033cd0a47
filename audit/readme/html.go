package readme

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// htmlReader reads the tags of one block as a browser does and tells which
// links are visible in it. What one block leaves open does not reach into the
// next (specification section 9).
type htmlReader struct {
	z *html.Tokenizer
	// at is the place of the current token in the input.
	at int
	// hidden counts the open elements of each kind that hide what they hold.
	// Those with text content alone (script, style, textarea, xmp, title,
	// iframe, …) need no count: the tokenizer gives no tags in them.
	hidden map[string]int
}

// hidingTags hide what they hold and may stand in each other.
var hidingTags = setOf("code pre template")

func newHTMLReader(src []byte) *htmlReader {
	return &htmlReader{z: html.NewTokenizer(bytes.NewReader(src)), hidden: map[string]int{}}
}

// anchor is an <a> with href that is not marked as hidden.
type anchor struct {
	href, title string
	ok          bool
}

// next reads one token. at is where it begins and visible whether what stands
// there is; typ is html.ErrorToken at the end.
func (r *htmlReader) next() (at int, typ html.TokenType, name string, a anchor, visible bool) {
	typ = r.z.Next()
	at = r.at
	r.at += len(r.z.Raw())
	visible = true
	for _, n := range r.hidden {
		visible = visible && n == 0
	}
	if typ != html.StartTagToken && typ != html.SelfClosingTagToken && typ != html.EndTagToken {
		return at, typ, "", a, visible
	}
	raw, more := r.z.TagName()
	name = string(raw)
	switch {
	case typ == html.EndTagToken:
		if r.hidden[name] > 0 {
			r.hidden[name]--
		}
	case hidingTags[name]:
		// "<code/>" opens an element all the same: it is not a void one.
		r.hidden[name]++
	case name == "a":
		a = readAnchor(r.z, more)
	}
	return at, typ, name, a, visible
}

// readAnchor reads the attributes of an anchor; the first of two equal ones
// counts.
func readAnchor(z *html.Tokenizer, more bool) anchor {
	var a anchor
	hidden, titled := false, false
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href":
			if !a.ok {
				a.href, a.ok = string(value), true
			}
		case "title":
			if !titled {
				a.title, titled = string(value), true
			}
		case "hidden":
			hidden = true
		}
	}
	a.ok = a.ok && !hidden
	return a
}

// htmlBlock hands on the visible links of an HTML block.
func (c *collector) htmlBlock(src []byte) {
	if !bytes.Contains(src, []byte("<a")) && !bytes.Contains(src, []byte("<A")) {
		return
	}
	r := newHTMLReader(src)
	open := -1 // the index of the link whose text is being read
	var words strings.Builder
	finish := func() {
		if open >= 0 {
			c.doc.Links[open].Text = foldSpaces(words.String())
		}
		open = -1
		words.Reset()
	}
	defer finish()
	for !c.full {
		_, typ, name, a, visible := r.next()
		switch {
		case typ == html.ErrorToken:
			return
		case typ == html.TextToken && open >= 0 && words.Len() < maxText:
			words.Write(r.z.Text())
		case typ == html.EndTagToken && name == "a":
			finish()
		case a.ok && visible:
			finish()
			if c.add(a.href, foldSpaces(a.title)) {
				open = len(c.doc.Links) - 1
			}
		}
	}
}

// inline hands on the visible links of a paragraph or heading.
func (c *collector) inline(b []byte, events []event) {
	if !hasHTML(events) {
		for _, e := range events {
			c.markdownLink(e)
		}
		return
	}
	// The raw HTML is read in one piece, in which an empty anchor stands for
	// each Markdown link: where the tokenizer finds it, the link is visible.
	var page []byte
	starts := make([]int, len(events))
	for i, e := range events {
		starts[i] = len(page)
		if e.link {
			page = append(page, "<a>"...)
		} else {
			page = append(page, b[e.from:e.to]...)
		}
	}
	r := newHTMLReader(page)
	open, openedAt := -1, 0
	for i := 0; !c.full; {
		at, typ, name, a, visible := r.next()
		if typ == html.ErrorToken {
			return
		}
		for i+1 < len(events) && starts[i+1] <= at {
			i++
		}
		switch e := events[i]; {
		case e.link:
			if starts[i] == at && visible && typ == html.StartTagToken {
				c.markdownLink(e)
			}
		case typ == html.EndTagToken && name == "a" && open >= 0:
			if c.texts {
				c.doc.Links[open].Text = plainText(b[openedAt:e.from])
			}
			open = -1
		case a.ok && visible:
			open = -1
			if c.add(a.href, foldSpaces(a.title)) {
				open, openedAt = len(c.doc.Links)-1, e.to
			}
		}
	}
}

func hasHTML(events []event) bool {
	for _, e := range events {
		if !e.link {
			return true
		}
	}
	return false
}

func (c *collector) markdownLink(e event) {
	if e.auto {
		if c.add(string(e.dest), "") && c.texts {
			c.doc.Links[len(c.doc.Links)-1].Text = foldSpaces(string(e.label))
		}
		return
	}
	title := ""
	if c.texts {
		title = foldSpaces(unescape(e.title))
	}
	if c.add(unescape(e.dest), title) && c.texts {
		c.doc.Links[len(c.doc.Links)-1].Text = plainText(e.label)
	}
}
