package dashboard

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// find gives the elements that a selector picks: parts separated by blanks,
// each a tag, .class, #id or [attr=value], or several of them joined.
func find(n *html.Node, selector string) []*html.Node {
	found := []*html.Node{n}
	for part := range strings.FieldsSeq(selector) {
		var next []*html.Node
		seen := map[*html.Node]bool{}
		for _, in := range found {
			for d := range in.Descendants() {
				if d.Type == html.ElementNode && !seen[d] && matches(d, part) {
					seen[d] = true
					next = append(next, d)
				}
			}
		}
		found = next
	}
	return found
}

func matches(n *html.Node, part string) bool {
	for part != "" {
		end := strings.IndexAny(part[1:], ".#[") + 1
		if end == 0 {
			end = len(part)
		}
		if part[0] == '[' {
			end = strings.IndexByte(part, ']') + 1
		}
		one := part[:end]
		part = part[end:]
		ok := false
		switch one[0] {
		case '.':
			for c := range strings.FieldsSeq(attr(n, "class")) {
				ok = ok || c == one[1:]
			}
		case '#':
			ok = attr(n, "id") == one[1:]
		case '[':
			name, value, equal := strings.Cut(one[1:len(one)-1], "=")
			for _, a := range n.Attr {
				ok = ok || a.Key == name && (!equal || a.Val == value)
			}
		default:
			ok = n.Data == one
		}
		if !ok {
			return false
		}
	}
	return true
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is the text of an element with its white space folded.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// want checks the texts of all elements that a selector picks.
func want(t *testing.T, n *html.Node, selector string, texts ...string) {
	t.Helper()
	var got []string
	for _, e := range find(n, selector) {
		got = append(got, text(e))
	}
	if strings.Join(got, "\n") != strings.Join(texts, "\n") {
		t.Errorf("%s\n got %q\nwant %q", selector, got, texts)
	}
}

// has checks that some element of a selector holds a text.
func has(t *testing.T, n *html.Node, selector, part string) {
	t.Helper()
	var got []string
	for _, e := range find(n, selector) {
		got = append(got, text(e))
		if strings.Contains(got[len(got)-1], part) {
			return
		}
	}
	t.Errorf("no %s holds %q: %q", selector, part, got)
}

// links gives the targets of all links that a selector picks.
func links(n *html.Node, selector string) (all []string) {
	for _, e := range find(n, selector) {
		all = append(all, attr(e, "href"))
	}
	return all
}
