package readme

import (
	"fmt"

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
	// NoteNesting: block quotes and lists nested deeper than 64 levels were
	// read as plain text from there on; links in them still count.
	NoteNesting Note = "nesting"
	// NoteBlocks: after 100,000 blocks the rest of the document was read as
	// plain text.
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
// the text. The error is a [*SizeError].
func Links(src []byte, base *weburl.URL) ([]*weburl.URL, []Note, error) {
	return nil, nil, nil
}

// MarkdownLinks returns the visible links of a Markdown document of any size,
// with texts and titles. At most max links are returned, and [NoteMore] says
// that there are others; max 0 is no limit.
func MarkdownLinks(src []byte, base *weburl.URL, max int) Document {
	return Document{}
}
