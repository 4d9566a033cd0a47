package readme

import (
	"strings"
	"testing"
)

// hostile are texts on which parsers of Markdown are known to be quadratic or
// worse. Each is repeated up to the size that is wanted.
var hostile = map[string]string{
	"quotes":             ">",
	"quotes-blank":       "> ",
	"links-open":         "[a](",
	"links-open-angle":   "[a](<b",
	"links-open-parens":  "[a](b(c(d(",
	"links-empty-open":   "[](xxxx",
	"links":              "[a](b)",
	"emphasis":           "*a_",
	"emphasis-strong":    "**a __b",
	"lists":              "1) ",
	"lists-bullet":       "- ",
	"lists-mixed":        "- 1. ",
	"list-lines":         "-\n",
	"list-quotes":        "> - ",
	"brackets":           "[",
	"brackets-both":      "[]",
	"brackets-close":     "]",
	"close-open":         "](",
	"images":             "![",
	"images-closed":      "![a](b)",
	"image-links":        "[![a](b)](c)",
	"titles":             "[a](b \"",
	"titles-paren":       "[a](b (",
	"titles-single":      "[a](b 'c\"",
	"references":         "[a][b]",
	"references-open":    "[a][b",
	"definitions":        "[a]:b\n",
	"definitions-use":    "[a]: b\n\n[a] ",
	"definitions-titles": "[a]: b \"c\n",
	"definitions-open":   "[a\n",
	"code":               "`a``b```c",
	"code-open":          "`` ` ",
	"escapes":            "\\[",
	"entities":           "&#1;&amp",
	"autolinks":          "<https://a.example/>",
	"autolinks-open":     "<https:",
	"emails-open":        "<a@b.",
	"tags":               "<a>",
	"tags-open":          "<a b=\"",
	"tags-quotes":        "<a b='\" ",
	"tags-attributes":    "<a b ",
	"tags-code":          "<code>",
	"anchors":            "<a href=/>",
	"comments":           "<!--",
	"comments-short":     "<!-->",
	"instructions":       "<?",
	"declarations":       "<!A",
	"cdata":              "<![CDATA[",
	"html-blocks":        "<div>\n",
	"html-blocks-apart":  "<div>\n\n",
	"html-verbatim":      "<pre>\n",
	"html-verbatim-end":  "</pre ",
	"html-tags-lines":    "<x\n",
	"fences":             "```\n",
	"fences-open":        "```a ",
	"headings":           "# a\n",
	"setext":             "a\n=\n",
	"setext-bars":        "=\n",
	"rules":              "* * * a\n",
	"rules-long":         "* ",
	"indented":           "    a\n",
	"tabs":               "\t",
	"blank-lines":        "\n",
	"paragraphs":         "a\n\n",
	"breaks":             "a  \n",
	"cr":                 "\r",
	"nul":                "\x00",
	"not-utf8":           "\xff",
	"at-signs":           "[](https://@@@@@@@@@@@@@@@@@@@@@@@@@@@@)",
	"nested-labels":      "[a[b]",
	"bang-brackets":      "![[a](b)",
	"lazy":               "> a\nb\n",
	"plain":              "The quick brown fox jumps over the lazy dog. ",
	"plain-lines":        "The quick brown fox\njumps over [the](dog) ",
	"html-text":          "<a href='https://a.example/'>x</a> ",
	"link-text-emphasis": "[*a_*a_*a_*a_](b)",
	"parens":             "(",
	"links-open-escape":  "[a](\\(",
	"definition-labels":  "[\\[",
	"many-code-lengths":  "` `` ``` ```` ````` `````` ",
	"email-long":         "<aaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"deep-then-blank":    "> > > > - - - - \n>\n>\n>\n>\n",
	"percent":            "[](%41)",
	"hosts":              "[](//xn--a)",
}

func repeated(unit string, size int) []byte {
	return []byte(strings.Repeat(unit, size/len(unit)))
}

// shaped are hostile texts with a head or tail of their own.
func shaped(size int) map[string][]byte {
	half := size / 2
	return map[string][]byte{
		"deep list, then blank lines":     []byte(strings.Repeat("1) ", 40) + "a\n" + strings.Repeat("\n", size-200)),
		"deep list in a quote, blank":     []byte("> " + strings.Repeat("- ", 40) + "a\n" + strings.Repeat(">\n", size/2-200)),
		"deep quotes, then lazy lines":    []byte(strings.Repeat(">", 64) + "a\n" + strings.Repeat("a\n", size/2-64)),
		"open brackets, then links":       append(repeated("[", half), repeated("[a](b)", half)...),
		"open images, then links":         append(repeated("![", half), repeated("[a](b)", half)...),
		"open brackets, then closed":      append(repeated("[", half), repeated("]", half)...),
		"backticks of every length":       everyRun(size),
		"parens, then links":              append([]byte("[a]("), append(repeated("(", half-9), repeated(")", half)...)...),
		"script, then anchors":            append([]byte("x <script>"), repeated("<a href=x>", size-20)...),
		"comment, then anchors":           append([]byte("<div><!-- "), repeated("<a href=x>", size-20)...),
		"one long destination":            append([]byte("[a](https://h.example/"), repeated("@", size-40)...),
		"one long attribute":              append([]byte("<a href=\""), repeated("a", size-40)...),
		"definitions, then references":    append(repeated("[a]: b\n", half), append([]byte("\n"), repeated("[a]", half)...)...),
		"deep list, lines at every depth": staircase(size),
	}
}

func everyRun(size int) []byte {
	var b []byte
	for n := 1; len(b)+n+1 < size; n++ {
		b = append(append(b, repeated("`", n)...), ' ')
	}
	return b
}

func staircase(size int) []byte {
	var b []byte
	for n := 0; ; n = (n + 1) % 40 {
		line := strings.Repeat("  ", n) + "- a\n"
		if len(b)+len(line) > size {
			return b
		}
		b = append(b, line...)
	}
}

// go test -bench Hostile shows that no text costs more than a fixed price a
// byte: compare the MB/s of the two sizes.
func BenchmarkHostile(b *testing.B) {
	base := mustURL(b, "https://site.example/README.md")
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64K", MaxBytes}, {"1M", 1 << 20}} {
		texts := shaped(size.bytes)
		for name, unit := range hostile {
			texts[name] = repeated(unit, size.bytes)
		}
		for name, src := range texts {
			b.Run(size.name+"/"+strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					MarkdownLinks(src, base, 1000)
				}
			})
		}
		for name, src := range texts {
			b.Run("links"+size.name+"/"+strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					MarkdownLinks(src, base, 0)
				}
			})
		}
	}
}

// No hostile text makes us give up more than nesting.
func TestHostileTexts(t *testing.T) {
	base := mustURL(t, "https://site.example/README.md")
	texts := shaped(MaxBytes)
	for name, unit := range hostile {
		texts[name] = repeated(unit, MaxBytes)
	}
	for name, src := range texts {
		if _, notes, err := Links(src, base); err != nil || len(notes) > 1 || len(notes) == 1 && notes[0] != NoteNesting {
			t.Errorf("%s: %v %v", name, notes, err)
		}
	}
}
