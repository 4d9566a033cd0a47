package discovery

import (
	"strings"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
	"agentaudit/audit/readme"
	"agentaudit/fetch/weburl"
)

const (
	titleLimit       = profile.MaxTitleLength
	descriptionLimit = profile.MaxDescriptionLength
)

// readText reads Markdown or plain text.
func readText(text string, at *weburl.URL) *page {
	p := &page{base: at}
	p.markdown(strings.TrimPrefix(text, "\uFEFF"))
	for _, u := range bareURLs(nil, text) {
		p.link(u, "")
	}
	return p
}

// readJSON reads the strings of a JSON document as text.
func readJSON(root *jsontree.Node, at *weburl.URL) *page {
	p := &page{base: at}
	var marked strings.Builder
	var bare []string
	var walk func(n *jsontree.Node)
	text := func(s string) {
		s = jsontree.WellFormed(s)
		bare = bareURLs(bare, s)
		if strings.Contains(s, "](") {
			marked.WriteString("x " + fold(s, len(s)) + "\n\n")
		}
	}
	walk = func(n *jsontree.Node) {
		switch n.Kind {
		case jsontree.String:
			text(n.Str)
		case jsontree.Array:
			for i := range n.Items {
				walk(&n.Items[i])
			}
		case jsontree.Object:
			for i := range n.Members {
				text(n.Members[i].Name)
				walk(&n.Members[i].Value)
			}
		}
	}
	walk(root)
	p.markdown(marked.String())
	for _, u := range bare {
		p.link(u, "")
	}
	return p
}

// markdown adds the Markdown links of a text.
func (p *page) markdown(text string) {
	if text == "" || p.full() {
		return
	}
	for _, l := range readme.MarkdownLinks([]byte(text), p.base, maxLinks-len(p.links)).Links {
		p.link(l.Destination, clean(l.Text, titleLimit))
	}
}

// bareURLs adds the https URLs that stand in a text to a list, at most
// maxLinks. A closing bracket belongs to a URL only if it was opened in it;
// punctuation at its end does not.
func bareURLs(list []string, text string) []string {
	const scheme = "https://"
	for len(list) < maxLinks {
		i := strings.Index(text, scheme)
		if i < 0 {
			break
		}
		text = text[i:]
		end, open := len(text), 0
	scan:
		for j, c := range text[len(scheme):] {
			switch c {
			case '(':
				open++
				continue
			case ')':
				if open--; open >= 0 {
					continue
				}
			case '<', '>', '"', '\'', '`', '\\', ']', '}':
			default:
				if !isBlank(c) {
					continue
				}
			}
			end = len(scheme) + j
			break scan
		}
		if url := strings.TrimRight(text[:end], ".,;:!?*"); len(url) > len(scheme) && len(url) <= 4*weburl.MaxLength {
			list = append(list, url)
		}
		text = text[end:]
	}
	return list
}

// fold makes one line of text, of about so many bytes at most. A blank at
// either end stays one.
func fold(s string, most int) string {
	var b strings.Builder
	blank := startsBlank(s)
	for word := range strings.FieldsSeq(s) {
		if b.Len() > most {
			break
		}
		if blank {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		blank = true
	}
	if s != strings.TrimRight(s, blanks) {
		b.WriteByte(' ')
	}
	return b.String()
}

const blanks = " \t\n\f\r"

func startsBlank(s string) bool { return s != strings.TrimLeft(s, blanks) }
