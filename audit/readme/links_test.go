package readme

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"agentaudit/audit/audittest"
	"agentaudit/fetch/weburl"
)

func mustURL(t testing.TB, raw string) *weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func locations(urls []*weburl.URL) []string {
	out := []string{}
	for _, u := range urls {
		out = append(out, u.Location())
	}
	slices.Sort(out)
	return out
}

func TestLinkVectors(t *testing.T) {
	audittest.Run(t, "agentic/links", func(t *testing.T, c audittest.Case) {
		var in struct {
			Readme audittest.Text `json:"readme"`
			Base   string         `json:"base"`
		}
		var want struct {
			Links    []string `json:"links"`
			Rejected bool     `json:"rejected"`
		}
		audittest.Decode(t, c.Input, &in)
		audittest.Decode(t, c.Expect, &want)
		got, notes, err := Links(in.Readme, mustURL(t, in.Base))
		var size *SizeError
		if errors.As(err, &size) != want.Rejected {
			t.Fatalf("error %v, want rejected: %t", err, want.Rejected)
		}
		if want.Rejected {
			return
		}
		slices.Sort(want.Links)
		if !slices.Equal(locations(got), want.Links) || notes != nil {
			t.Errorf("got  %q %v\nwant %q", locations(got), notes, want.Links)
		}
	})
}

func linksOf(t *testing.T, src string) []string {
	t.Helper()
	got, _, err := Links([]byte(src), mustURL(t, "https://site.example/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, l := range locations(got) {
		out = append(out, strings.TrimPrefix(l, "https://site.example/"))
	}
	return out
}

func TestLinks(t *testing.T) {
	for _, c := range []struct{ about, src, want string }{
		{"bare URLs are no links", "https://h.example www.h.example", ""},
		{"a closed element hides no longer", "<code>[a](a)</code> [b](b)", "b"},
		{"an unclosed element hides to the end of its block", "x <code>[a](a)\n[b](b)\n\n[c](c)", "c"},
		{"also in a list item", "- <pre>[a](a)\n- [b](b)", "b"},
		{"every level must be closed", "x <code><code>[a](a)</code> [b](b)</code> [c](c)", "c"},
		{"elements hide what other elements close", "x <pre><code>[a](a)</pre> [b](b)", ""},
		{"a closing tag too many is none", "x </code> [a](a)", "a"},
		{"a slash does not close", "x <code/>[a](a)", ""},
		{"scripts hold text, not elements", "x <script>[a](a)<script> [b](b)</script> [c](c)", "c"},
		{"templates hide", "x <template>[a](a) <a href=b></template> <a href=c>", "c"},
		{"anchors in code", "x <code><a href=a>y</a></code> <a href=b>", "b"},
		{"anchors in an HTML block", "<div>\n<a href=a>y</a> <pre><a href=b></pre>\n<!-- <a href=c> -->\n<a href=d hidden>\n</div>", "a"},
		{"Markdown in an HTML block is text", "<div>\n[a](a)\n</div>\n\n[b](b)", "b"},
		{"an HTML block that is left open ends at the blank line", "<div><code>\n\n[a](a)", "a"},
		{"the first of two equal attributes counts", "<a href=a href=b> <a hidden href=c> <a HREF=d>", "a d"},
		{"an anchor without href", "<a name=x> <a href> <a href='e'>", " e"},
		{"comments as HTML ends them", "x <!-- y --!> <a href=a> --> z", "a"},
		{"autolinks inside link texts count both", "[a <https://site.example/b> c](d)", "b d"},
		{"anchors inside link texts count both", "[a <a href=b> c](d)", "b d"},
		{"a link in an image's text forbids the outer link", "[![[a](b)](c)](d)", ""},
		{"an image in a link's text does not", "[![a](b) ![c][x]](d)\n\n[x]: y", "d"},
		{"an element hides by where the link begins", "[<code>a](b) [c](d)", "b"},
		{"round brackets of any depth", "[a](" + strings.Repeat("(", 400) + strings.Repeat(")", 400) + ")", strings.Repeat("(", 400) + strings.Repeat(")", 400)},
		{"unbalanced brackets make none", "[a](b(c) [d](e(f)", ""},
		{"long blocks read brackets likewise", strings.Repeat("x", 600) + " [a](b(c) [d](e(f)) [g](\\(h) [i]( j)) [k]((l m))", "(h e(f) j"},
		{"controls end a destination", "[a](b\x01c) [d](e\x7ff)", ""},
		{"an angle bracket in angle brackets", "[a](<b<c>) [d](<e\\<f>)", "e%3Cf"},
		{"escapes come before references", "[a](\\&amp;b) [c](&#0;&#x41;&#99999999;&no;)", "&amp;b %EF%BF%BDA&"},
		{"a title of the next line", "[a]\n\n[a]: b\n  'c\nd'\n", "b"},
		{"a bad title on its own line is text", "[a] [c]\n\n[a]: b\n\"t\" [c]: d\n", "b"},
		{"a bad title on the same line undoes the definition", "[a]\n\n[a]: b \"t\" c\n", ""},
		{"definitions in a row", "[a] [b] [c]\n\n[a]: 1\n[b]:\n2\n[c]: <> x\n", "1 2"},
		{"definitions before a heading's bar", "[a]: 1\n[a]\n===\n", "1"},
		{"definitions in quotes and lists", "[a] [b]\n\n> [a]: 1\n\n- [b]: 2\n", "1 2"},
		{"labels of 999 code points", "[" + strings.Repeat("é", 999) + "]\n\n[" + strings.Repeat("é", 999) + "]: a", "a"},
		{"labels of 1000 code points", "[" + strings.Repeat("é", 1000) + "]\n\n[" + strings.Repeat("é", 1000) + "]: a", ""},
		{"link texts of any length", "[" + strings.Repeat("a ", 2000) + "](b)", "b"},
		{"an undefined second label", "[a][b]\n\n[a]: x", ""},
		{"three labels", "[x][a][b]\n\n[b]: y", "y"},
		{"carriage returns end lines", "```\r[a](a)\r```\r[b](b)", "b"},
		{"tabs count as the columns they span", ">\t<pre>\n> [a](a)\n> </pre>\n\n[b](b)", "b"},
		{"an instruction ends behind its own mark", "x <?> [a](a) ?> [b](b)", "b"},
		{"empty lines without number", "- a\n" + strings.Repeat("\n", 60000) + "  [b](b)", "b"},
		{"an anchor's text may be a link", "<a href=a>[b](c)</a>", "a c"},
		{"bad bytes are replaced", "[a](\xffb)", "%EF%BF%BDb"},
		{"empty destinations lead to the README", "[]() [](<>) [](#x)", "README.md"},
		{"a link that only a deep quote holds", strings.Repeat(">", 60000) + "[a](b)", "b"},
	} {
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, " ")
		}
		if c.about == "an anchor without href" {
			want = []string{"README.md", "e"}
		}
		slices.Sort(want)
		if got := linksOf(t, c.src); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.about, got, want)
		}
	}
}

func TestMarkdownLinksTellTextAndTitle(t *testing.T) {
	src := "# Title\n\n[Some *strong* `code` &amp; \\* text](a \"A &quot;title&quot;\") <https://h.example/b>\n" +
		"[![Logo](l.png)](c) <a href=d title=D>inline **bold**</a> [snake_case_name](e)\n\n" +
		"<p><a href=f title=F>in <b>a</b>\n block</a> no <a href='http://x'></a></p>\n"
	want := `a|Some strong code & * text|A "title"
https://h.example/b|https://h.example/b|
c|Logo|
d|inline bold|D
e|snake_case_name|
f|in a block|F
http://x|| (does not count)
`
	var got strings.Builder
	for _, l := range MarkdownLinks([]byte(src), mustURL(t, "https://site.example/README.md"), 0).Links {
		fmt.Fprintf(&got, "%s|%s|%s", l.Destination, l.Text, l.Title)
		if l.URL == nil {
			got.WriteString(" (does not count)")
		}
		got.WriteByte('\n')
	}
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

func TestMarkdownLinksStopAtTheLimit(t *testing.T) {
	base := mustURL(t, "https://site.example/README.md")
	for _, src := range []string{"[a](b) ", "<a href=b>x</a> ", "<p><a href=b>\n\n", "<https://h.example> "} {
		five := []byte(strings.Repeat(src, 5))
		if d := MarkdownLinks(five, base, 5); len(d.Links) != 5 || d.Notes != nil {
			t.Errorf("%q: %d links of 5, notes %v", src, len(d.Links), d.Notes)
		}
		if d := MarkdownLinks(five, base, 4); len(d.Links) != 4 || !slices.Equal(d.Notes, []Note{NoteMore}) {
			t.Errorf("%q: %d links of at most 4, notes %v", src, len(d.Links), d.Notes)
		}
	}
}

func TestTooManyBlocks(t *testing.T) {
	src := strings.Repeat("[a](b)\n\n", maxBlocks) + "[c](d)"
	d := MarkdownLinks([]byte(src), mustURL(t, "https://site.example/README.md"), 0)
	if len(d.Links) != maxBlocks || !slices.Equal(d.Notes, []Note{NoteBlocks}) {
		t.Errorf("%d links, notes %v", len(d.Links), d.Notes)
	}
	for _, unit := range []string{"- a\n", "> # a\n\n", "<p>\n\n"} {
		if d := MarkdownLinks([]byte(strings.Repeat(unit, maxBlocks+1)), mustURL(t, "https://site.example/"), 0); !slices.Equal(d.Notes, []Note{NoteBlocks}) {
			t.Errorf("%q: notes %v", unit, d.Notes)
		}
	}
}

// Where goldmark follows CommonMark to the letter, the links must be the same
// as its own. The words leave out what it reads otherwise: unbalanced round
// brackets, '<' in destinations, bad titles behind definitions, tabs.
func TestSameLinksAsGoldmark(t *testing.T) {
	words := []string{"[", "]", "](/u)", "](<v> \"t\")", "![", "[c]", "[a][c]", "\n\n[c]: <d> (t)\n\n", ">", "`", "``", "\\",
		"a", "b", " ", "  ", "\n", "\n\n", "[a]", "\n\n[a]: /x\n\n", "(/u)", "[b][a]", "[A][]", "<http://x>", "<i b='", "'>", "-->",
		"*", "\n> ", "\n- ", "\n1. ", "\n    ", "\n```\n", "&amp;", "\n# ", "\n===\n", "\n---\n", "\n<div>\n", "</i>", "é"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var b strings.Builder
		for n := r.IntN(16) + 1; n > 0; n-- {
			b.WriteString(words[r.IntN(len(words))])
		}
		src := normalise([]byte(b.String()))
		root := goldmark.DefaultParser().Parse(text.NewReader(src))
		want := []string{}
		_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.Link:
				want = append(want, unescape(n.Destination))
			case *ast.AutoLink:
				want = append(want, string(n.URL(src)))
			case *ast.Image:
				return ast.WalkSkipChildren, nil
			}
			return ast.WalkContinue, nil
		})
		got := []string{}
		for _, l := range MarkdownLinks(src, mustURL(t, "https://site.example/"), 0).Links {
			got = append(got, l.Destination)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q\ngot      %q\ngoldmark %q", src, got, want)
		}
	}
}

func FuzzLinks(f *testing.F) {
	for _, unit := range hostile {
		f.Add([]byte(unit))
		f.Add(repeated(unit, 300))
	}
	f.Add([]byte("[a](b \"t\") <a href='c' hidden>\n\n> - <code>[d][e]\n\n[e]: f\n"))
	base := func() *weburl.URL { u, _ := weburl.Parse("https://site.example/README.md"); return u }()
	f.Fuzz(func(t *testing.T, src []byte) {
		links, _, err := Links(src, base)
		if (err != nil) != (len(src) > MaxBytes) {
			t.Fatalf("%d bytes: %v", len(src), err)
		}
		seen := map[string]bool{}
		for _, l := range links {
			if l.Scheme() != "https" || l.HasCredentials() || seen[l.Location()] {
				t.Fatalf("%s", l)
			}
			seen[l.Location()] = true
		}
		for _, l := range MarkdownLinks(src, base, 0).Links {
			if len(l.Text) > maxText || len(l.Title) > maxText {
				t.Fatalf("%+v", l)
			}
		}
	})
}
