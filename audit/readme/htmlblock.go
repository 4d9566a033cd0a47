package readme

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// htmlBlockParser finds HTML blocks by the seven start and end conditions of
// CommonMark 4.6. It stands in for goldmark's, which runs nine regular
// expressions over a line and reads several of the conditions otherwise.
type htmlBlockParser struct{}

func (htmlBlockParser) Trigger() []byte { return []byte{'<'} }

func (htmlBlockParser) CanInterruptParagraph() bool { return true }

func (htmlBlockParser) CanAcceptIndentedLine() bool { return false }

func (htmlBlockParser) Close(ast.Node, text.Reader, parser.Context) {}

func (htmlBlockParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 || at >= len(line) {
		return nil, parser.NoChildren
	}
	kind := htmlBlockKind(line[at:])
	if kind == 0 || kind == ast.HTMLBlockType7 && ast.IsParagraph(pc.LastOpenedBlock().Node) {
		return nil, parser.NoChildren
	}
	node := ast.NewHTMLBlock(kind)
	node.Lines().Append(segment)
	if endsHTMLBlock(kind, line) {
		// It ends on its first line: an empty closure says so to Continue.
		node.ClosureLine = text.NewSegment(segment.Stop, segment.Stop)
	}
	reader.AdvanceToEOL()
	return node, parser.NoChildren
}

func (htmlBlockParser) Continue(n ast.Node, reader text.Reader, _ parser.Context) parser.State {
	node := n.(*ast.HTMLBlock)
	if node.HasClosure() {
		return parser.Close
	}
	line, segment := reader.PeekLine()
	if node.HTMLBlockType >= ast.HTMLBlockType6 {
		if util.IsBlank(line) {
			return parser.Close
		}
	} else if endsHTMLBlock(node.HTMLBlockType, line) {
		node.ClosureLine = segment
		reader.AdvanceToEOL()
		return parser.Close
	}
	node.Lines().Append(segment)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

// htmlBlockKind says which start condition a line fulfils that begins with
// '<', 0 if none.
func htmlBlockKind(line []byte) ast.HTMLBlockType {
	line = bytes.TrimSuffix(line, []byte("\n"))
	closing := len(line) > 1 && line[1] == '/'
	name := tagName(line, closing)
	after := 1 + len(name)
	if closing {
		after++
	}
	follows := func(more string) bool {
		return after == len(line) || strings.IndexByte(more, line[after]) >= 0
	}
	switch {
	case bytes.HasPrefix(line, []byte("<!--")):
		return ast.HTMLBlockType2
	case bytes.HasPrefix(line, []byte("<?")):
		return ast.HTMLBlockType3
	case bytes.HasPrefix(line, []byte("<![CDATA[")):
		return ast.HTMLBlockType5
	case bytes.HasPrefix(line, []byte("<!")) && len(line) > 2 && isLetter(line[2]):
		return ast.HTMLBlockType4
	case name == "":
		return 0
	case verbatimTags[name]:
		if !closing && follows(" \t>") {
			return ast.HTMLBlockType1
		}
		return 0
	case blockTags[name] && (follows(" \t>") || bytes.HasPrefix(line[after:], []byte("/>"))):
		return ast.HTMLBlockType6
	}
	if end := scanTag(line, 0); end > 0 && len(bytes.Trim(line[end:], " \t")) == 0 {
		return ast.HTMLBlockType7
	}
	return 0
}

// endsHTMLBlock reports whether a line fulfils the end condition of the first
// five kinds.
func endsHTMLBlock(kind ast.HTMLBlockType, line []byte) bool {
	switch kind {
	case ast.HTMLBlockType1:
		for {
			i := bytes.Index(line, []byte("</"))
			if i < 0 {
				return false
			}
			name := tagName(line[i:], true)
			if line = line[i+2:]; verbatimTags[name] && len(line) > len(name) && line[len(name)] == '>' {
				return true
			}
		}
	case ast.HTMLBlockType2:
		return bytes.Contains(line, []byte("-->"))
	case ast.HTMLBlockType3:
		return bytes.Contains(line, []byte("?>"))
	case ast.HTMLBlockType4:
		return bytes.IndexByte(line, '>') >= 0
	case ast.HTMLBlockType5:
		return bytes.Contains(line, []byte("]]>"))
	}
	return false
}

// tagName is the name of a tag that begins at the start of b, in lower case,
// "" if there is none. Names longer than any that matters are cut.
func tagName(b []byte, closing bool) string {
	i := 1
	if closing {
		i = 2
	}
	end := i
	for end < len(b) && end < i+64 && (isLetter(b[end]) || end > i && (isDigit(b[end]) || b[end] == '-')) {
		end++
	}
	if end <= i {
		return ""
	}
	return strings.ToLower(string(b[i:end]))
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// verbatimTags begin a block of kind 1, blockTags one of kind 6.
var verbatimTags = setOf("script pre style textarea")

var blockTags = setOf(`address article aside base basefont blockquote body
	caption center col colgroup dd details dialog dir div dl dt fieldset
	figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header
	hr html iframe legend li link main menu menuitem nav noframes ol optgroup
	option p param search section summary table tbody td tfoot th thead title
	tr track ul`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}
