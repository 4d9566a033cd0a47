package readme

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// maxOpen bounds the blocks that are open at once: 64 quotes, or 32 lists
	// with their items. Every line of a document visits all open blocks, so
	// without a bound the cost would be quadratic. Other implementations have
	// bounds of 20 to 100.
	maxOpen = 64
	// maxBlocks bounds the memory for the tree of a document, to some 30 MB.
	// A document of 64 KiB cannot reach it.
	maxBlocks = 100_000
)

// state is what one parse gathers beside the tree.
type state struct {
	// definitions by their normalised label; the first of a label wins.
	definitions map[string]definition
	blocks      int
	nested      bool
	full        bool
}

var stateKey = parser.NewContextKey()

func stateOf(pc parser.Context) *state { return pc.Get(stateKey).(*state) }

// blockParser finds the blocks alone: without inline parsers goldmark leaves
// the text of paragraphs and headings to us. It is safe for concurrent use.
var blockParser = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(bounded{parser.NewSetextHeadingParser()}, 100),
		util.Prioritized(bounded{parser.NewThematicBreakParser()}, 200),
		util.Prioritized(boundedList{bounded{parser.NewListParser()}}, 300),
		util.Prioritized(bounded{parser.NewListItemParser()}, 400),
		util.Prioritized(bounded{parser.NewCodeBlockParser()}, 500),
		util.Prioritized(bounded{parser.NewATXHeadingParser()}, 600),
		util.Prioritized(bounded{parser.NewFencedCodeBlockParser()}, 700),
		util.Prioritized(boundedQuote{bounded{parser.NewBlockquoteParser()}}, 800),
		util.Prioritized(bounded{htmlBlockParser{}}, 900),
		util.Prioritized(bounded{parser.NewParagraphParser()}, 1000),
	),
	parser.WithParagraphTransformers(util.Prioritized(definitionTransformer{}, 100)),
)

// parseBlocks gives the tree of a document with "\n" line ends.
func parseBlocks(src []byte) (ast.Node, *state) {
	st := &state{definitions: map[string]definition{}}
	pc := parser.NewContext()
	pc.Set(stateKey, st)
	return blockParser.Parse(text.NewReader(src), parser.WithContext(pc)), st
}

// bounded counts the blocks that a parser opens and opens none when there are
// enough. goldmark then ends at the next block of the top level.
type bounded struct{ parser.BlockParser }

func (b bounded) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	st := stateOf(pc)
	if st.blocks >= maxBlocks {
		st.full = true
		return nil, parser.NoChildren
	}
	node, state := b.BlockParser.Open(parent, reader, pc)
	if node != nil {
		st.blocks++
	}
	return node, state
}

// boundedList opens no list that lies too deep. Items are not bounded for
// themselves: a list without an item is none.
type boundedList struct{ bounded }

func (b boundedList) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	// The list is opened in any case, since goldmark notes things while it
	// does; it has not moved the reader yet.
	node, state := b.bounded.Open(parent, reader, pc)
	if node != nil && len(pc.OpenedBlocks()) >= maxOpen {
		stateOf(pc).nested = true
		return nil, parser.NoChildren
	}
	return node, state
}

// Continue ends a list that could get no more items.
func (b boundedList) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	if st := stateOf(pc); st.blocks >= maxBlocks {
		st.full = true
		return parser.Close
	}
	return b.bounded.Continue(node, reader, pc)
}

// boundedQuote opens no block quote that lies too deep.
type boundedQuote struct{ bounded }

func (b boundedQuote) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if len(pc.OpenedBlocks()) >= maxOpen {
		stateOf(pc).nested = true
		return nil, parser.NoChildren
	}
	return b.bounded.Open(parent, reader, pc)
}

// definitionTransformer takes the link reference definitions from the start
// of a paragraph (CommonMark 4.7). goldmark's own is quadratic in their number.
type definitionTransformer struct{}

func (definitionTransformer) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	src := reader.Source()
	first := lines.At(0)
	if v := first.Value(src); len(v) == 0 || v[skipSpaces(v, 0)%len(v)] != '[' {
		return
	}
	st := stateOf(pc)
	buf := lines.Value(src)
	taken := 0
	for taken < len(buf) {
		d, end, ok := scanDefinition(buf, taken)
		if !ok {
			break
		}
		if key := util.ToLinkReference(d.label); key != "" {
			if _, known := st.definitions[key]; !known {
				st.definitions[key] = definition{dest: d.dest, title: d.title}
			}
		}
		taken = end
	}
	if taken == 0 {
		return
	}
	rest := text.NewSegments()
	for i, at := 0, 0; i < lines.Len(); i++ {
		s := lines.At(i)
		if at >= taken {
			rest.Append(s)
		}
		at += len(s.Value(src))
	}
	if rest.Len() == 0 {
		node.Parent().RemoveChild(node.Parent(), node)
		return
	}
	node.SetLines(rest)
}
