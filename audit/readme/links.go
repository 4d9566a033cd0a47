package readme

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"agentaudit/fetch/weburl"
)

const (
	// MaxBytes is the size of a README that is still read, in bytes
	// (specification section 2).
	MaxBytes = 64 << 10
	// MaxDestination is the longest link destination that counts, in code
	// points, after escapes and character references are resolved.
	MaxDestination = 2048
)

// SizeError says that a README is larger than [MaxBytes].
type SizeError struct {
	// Bytes is the size of the text, Limit what is allowed.
	Bytes, Limit int
}

// Error is one sentence for people.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the text has %d bytes, more than the %d that are read", e.Bytes, e.Limit)
}

// Note names a bound that was reached while reading a document, so that what
// was not read as Markdown is said and not dropped.
type Note string

// The bounds. Honest documents reach none of them.
const (
	// NoteNesting: block quotes and lists nested deeper than 64 levels, or
	// deeply over very many lines, were read as plain text; links in them
	// still count.
	NoteNesting Note = "nesting"
	// NoteBlocks: after 100,000 blocks the rest of the document was not read.
	// A README of [MaxBytes] cannot have so many.
	NoteBlocks Note = "blocks"
	// NoteMore: there are more links than were asked for.
	NoteMore Note = "more"
)

// Link is one visible link.
type Link struct {
	// Destination is where the link leads as written, escapes and character
	// references resolved.
	Destination string
	// URL is the destination resolved against the document's URL, fragment
	// included. It is nil for what does not count: no URL, not https, with
	// credentials, or longer than [MaxDestination].
	URL *weburl.URL
	// Text is the link's text without markup, white space folded, at most 500
	// bytes. Title is its title, "" if it has none.
	Text, Title string
}

// Document is what [MarkdownLinks] finds.
type Document struct {
	// Links has the visible links in the order of the text.
	Links []Link
	// Notes has the bounds that were reached, each once; nil for honest text.
	Notes []Note
}

// Links returns the URLs of the visible links of a README that count
// (specification section 6), each once, without fragments, in the order of
// the text, and the bounds that were reached. The error is a [*SizeError].
func Links(src []byte, base *weburl.URL) ([]*weburl.URL, []Note, error) {
	return linksTo(src, base)
}

// linksTo is [Links], and lets destinations of any length count that lead to
// one of some files: a publication whose own address is longer than
// [MaxDestination] can still be linked to.
func linksTo(src []byte, base *weburl.URL, files ...*weburl.URL) ([]*weburl.URL, []Note, error) {
	if len(src) > MaxBytes {
		return nil, nil, &SizeError{len(src), MaxBytes}
	}
	c := collector{base: base}
	for _, f := range files {
		if len(f.Location()) > MaxDestination {
			c.long = append(c.long, f)
		}
	}
	c.read(src)
	seen := map[string]bool{}
	var urls []*weburl.URL
	for _, l := range c.doc.Links {
		if l.URL == nil || seen[l.URL.Location()] {
			continue
		}
		seen[l.URL.Location()] = true
		urls = append(urls, l.URL)
	}
	return urls, c.doc.Notes, nil
}

// MarkdownLinks returns the visible links of a Markdown document of any size,
// with texts and titles. At most limit links are returned, those that do not
// count among them, and [NoteMore] says that there are others; 0 is no limit.
func MarkdownLinks(src []byte, base *weburl.URL, limit int) Document {
	c := collector{base: base, limit: limit, texts: true}
	c.read(src)
	return c.doc
}

// collector gathers the links of one document.
type collector struct {
	base  *weburl.URL
	limit int
	// texts says that texts and titles are wanted.
	texts bool
	full  bool
	doc   Document
	// long are files that may be linked to by destinations of any length.
	long []*weburl.URL
	// urls remembers what destinations resolve to: parsing is what costs most.
	urls map[string]*weburl.URL
}

func (c *collector) read(src []byte) {
	src = normalise(src)
	root, st := parseBlocks(src)
	c.urls = map[string]*weburl.URL{}
	// The walk's only errors are those of its function.
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case c.full:
			return ast.WalkStop, nil
		case !entering:
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			text := n.Lines().Value(src)
			if n.HasClosure() {
				text = append(text, n.ClosureLine.Value(src)...)
			}
			c.htmlBlock(text)
		case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
			text := n.Lines().Value(src)
			c.inline(text, scanInline(text, st.definitions))
		default:
			return ast.WalkContinue, nil
		}
		return ast.WalkSkipChildren, nil
	})
	if st.nested {
		c.doc.Notes = append(c.doc.Notes, NoteNesting)
	}
	if st.full {
		c.doc.Notes = append(c.doc.Notes, NoteBlocks)
	}
	if c.full {
		c.doc.Notes = append(c.doc.Notes, NoteMore)
	}
}

// add takes a link and reports whether there was room for it.
func (c *collector) add(dest, title string) bool {
	if c.limit > 0 && len(c.doc.Links) == c.limit {
		c.full = true
		return false
	}
	u, known := c.urls[dest]
	if !known {
		u = c.resolve(dest)
		c.urls[dest] = u
	}
	c.doc.Links = append(c.doc.Links, Link{Destination: dest, URL: u, Title: title})
	return true
}

// resolve gives nil for a destination that does not count.
func (c *collector) resolve(dest string) *weburl.URL {
	long := utf8.RuneCountInString(dest) > MaxDestination
	if long && len(c.long) == 0 {
		return nil
	}
	u, err := c.base.Resolve(dest)
	if err != nil || u.Scheme() != "https" || u.HasCredentials() {
		return nil
	}
	if long && !slices.ContainsFunc(c.long, func(f *weburl.URL) bool { return sameFile(f) == sameFile(u) }) {
		return nil
	}
	return u
}
