package publication

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"agentaudit/audit/jsontree"
)

// hostile are texts that try to be more than text.
var hostile = []string{
	"x", "X",
	"[x](https://evil.example)", "![x](https://evil.example/i.png)", "<https://evil.example>", "https://evil.example/a", "www.evil.example", "WWW.evil.example/x",
	"see www.evil.example.", "(www.evil.example)", "mail a@evil.example now", "a+b@c.d", "mailto:a@b.c", "xmpp:a@b.c/d", "ftp://evil.example", "HTTP://EVIL.EXAMPLE",
	"# heading", "## heading ##", "heading #", "a\n# b", "a\n===", "a\n---", "=", "-", "---", "***", "___", "- item", "* item", "+ item", "1. item", "1) item", "123456789. item",
	"> quote", "```", "```js\ncode", "~~~", "    code", "\tcode", "`code`", "``a`b``", "*a*", "**a**", "_a_", "__a__", "~~a~~", "\\", "a\\", "\\[", "[a][b]", "[a]", "[a]: https://evil.example",
	"[ ] task", "<b>x</b>", "<script>alert(1)</script>", "<!-- a", "-->", "<img src=x onerror=y>", "</h1>", "&lt;b&gt;", "&#60;b&#62;", "&amp;", "&copy;", "|a|b|", "| - | - |", "a|b",
	"{{ x }}", "{% x %}", "{#id}", "$x$", "$$x$$", ":smile:", "^1", "[^1]", "[^1]: note", "@user", "a @user", "#1", "GH-1", "a://b", "://", "://x", "https:/", "https://",
	"]", ")", "](", "[](", "![", "](https://evil.example)", "x](https://evil.example) y", "<a href=https://evil.example>x", "a\u0000b", "\x1b[31mred\x1b[0m", "\u009b31m", "\a\b", "a\rb",
	"\u202eabc\u202c", "\u2066a\u2069", "\u200b", "\u200d", "\ufeff", "\u00ad", "\u2028a", "\u2029", "a\u0085b", "\U000E0041\U000E0042", "  a  b  ", "", " ", "\xed\xa0\x80", "\uFFFD",
	"Fähre 渡船", "👩\u200d🚀 🇩🇪", "عبّارة", "C#", "A & B, Inc.", "Node.js", "10% off!", "\"a\" 'b'", "www.", "www", "awww.x", "a@", "@a", "@", "foo@@bar",
	strings.Repeat("[", 160), strings.Repeat("&", 160), strings.Repeat("<", 600), strings.Repeat("`", 160),
}

// commonMark is the standard alone, gfm with everything that makes more of a
// text: links of bare URLs, tables, strikethrough, tasks, footnotes and
// definitions.
var (
	commonMark = goldmark.New()
	gfm        = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))
)

// inert fails unless a Markdown line shows want as plain text and nothing more.
func inert(t testing.TB, line, want string) {
	t.Helper()
	for name, md := range map[string]goldmark.Markdown{"CommonMark": commonMark, "GFM": gfm} {
		source := []byte(line + "\n")
		root := md.Parser().Parse(text.NewReader(source))
		blocks := 0
		var shown bytes.Buffer
		_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.Document:
			case *ast.Paragraph:
				blocks++
			case *ast.Text:
				shown.Write(n.Segment.Value(source))
			case *ast.String:
				shown.Write(n.Value)
			default:
				t.Errorf("%s: %q holds a %s", name, line, n.Kind())
			}
			return ast.WalkContinue, nil
		})
		if blocks > 1 {
			t.Errorf("%s: %q is %d blocks", name, line, blocks)
		}
		var html bytes.Buffer
		if err := md.Convert(source, &html); err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer("<p>", "", "</p>\n", "", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").Replace(html.String())
		if got != want {
			t.Errorf("%s: %q shows %q, want %q", name, line, got, want)
		}
	}
	if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || r == '\u202E' }) {
		t.Errorf("%q holds a control", line)
	}
}

// shown is what the plain text looks like where addresses are broken up.
func shown(s string) string {
	s = plain(s)
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '@' && isMailbox(s, i):
			b.WriteString(" (at) ")
		case r == ':' && strings.HasPrefix(s[i+1:], "//"):
			b.WriteString(": ")
		case r == '.' && !isNumber(s[:i]) && isWWW(s[:i]) && i+1 < len(s) && s[i+1] != ' ':
			b.WriteString(". ")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// checkNoAddress looks for what renderers and terminals make links of in
// finished text, whatever its source was.
func checkNoAddress(t testing.TB, s string) {
	t.Helper()
	lower := strings.ToLower(s)
	if strings.Contains(lower, "://") {
		t.Errorf("%q holds a URL", s)
	}
	for i := range lower {
		if rest := lower[i:]; strings.HasPrefix(rest, "www.") && len(rest) > 4 && rest[4] != ' ' && isWWW(lower[:i+3]) {
			t.Errorf("%q holds a www address", s)
		}
		if lower[i] == '@' && isMailbox(lower, i) {
			t.Errorf("%q holds a mail address", s)
		}
	}
}

func TestUntrustedTextStaysText(t *testing.T) {
	for _, s := range hostile {
		want := shown(s)
		checkNoAddress(t, want)
		inert(t, markdown(s), want)
		if want != "" {
			inert(t, "word "+markdown(s)+" word", "word "+want+" word")
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{a, a + b, a + " " + b} {
			s = jsontree.DecodeText([]byte(s))
			if strings.Contains(shown(s), "  ") {
				continue // breaking an address up beside a blank
			}
			checkNoAddress(t, shown(s))
			inert(t, markdown(s), shown(s))
		}
	})
}
