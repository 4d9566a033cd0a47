package readme

import (
	"bytes"

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
	// freeVisits are what allowedVisits allows to any document.
	freeVisits = 64 << 10
	// maxBlocks bounds the memory for the tree of a document, to some 30 MB.
	// A document of 64 KiB cannot reach it.
	maxBlocks = 100_000
)

// state is what one parse gathers beside the tree.
type state struct {
	// definitions by their normalised label; the first of a label wins.
	definitions map[string]definition
	blocks      int
	// visits are those that are left.
	visits int
	nested bool
	full   bool
}

var stateKey = parser.NewContextKey()

func stateOf(pc parser.Context) *state { return pc.Get(stateKey).(*state) }

// blockParser finds the blocks alone: without inline parsers goldmark leaves
// the text of paragraphs and headings to us. It is safe for concurrent use.
var blockParser = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(bounded{parser.NewSetextHeadingParser()}, 100),
		util.Prioritized(bounded{parser.NewThematicBreakParser()}, 200),
		util.Prioritized(container{bounded{parser.NewListParser()}}, 300),
		util.Prioritized(bounded{parser.NewListItemParser()}, 400),
		util.Prioritized(bounded{parser.NewCodeBlockParser()}, 500),
		util.Prioritized(bounded{parser.NewATXHeadingParser()}, 600),
		util.Prioritized(bounded{parser.NewFencedCodeBlockParser()}, 700),
		util.Prioritized(container{bounded{quoteParser{parser.NewBlockquoteParser()}}}, 800),
		util.Prioritized(bounded{htmlBlockParser{}}, 900),
		util.Prioritized(bounded{parser.NewParagraphParser()}, 1000),
	),
	parser.WithParagraphTransformers(util.Prioritized(definitionTransformer{}, 100)),
)

// parseBlocks gives the tree of a document with "\n" line ends.
func parseBlocks(src []byte) (ast.Node, *state) {
	st := &state{definitions: map[string]definition{}, visits: allowedVisits(len(src))}
	pc := parser.NewContext()
	pc.Set(stateKey, st)
	return blockParser.Parse(text.NewReader(src), parser.WithContext(pc)), st
}

// allowedVisits bounds how often the lines of a document of that size visit
// open quotes and lists, which costs some 300 ns each time. Five levels of
// one-letter items need less than one visit a byte, usual texts a tenth.
func allowedVisits(size int) int {
	return freeVisits + min(size, MaxBytes) + size/2
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

// container opens no list and no block quote that lies too deep, and none at
// all when the visits are spent. Items are not bounded for themselves: a list
// without an item is none.
type container struct{ bounded }

func (b container) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	st := stateOf(pc)
	deep := len(pc.OpenedBlocks()) >= maxOpen || st.visits <= 0
	if _, quote := b.BlockParser.(quoteParser); quote && deep {
		// A quote moves the reader when it opens, and opens for sure.
		st.nested = true
		return nil, parser.NoChildren
	}
	// A list is opened in any case, since goldmark notes things while it does;
	// it does not move the reader.
	node, state := b.bounded.Open(parent, reader, pc)
	if node != nil && deep {
		st.nested = true
		return nil, parser.NoChildren
	}
	return node, state
}

func (b container) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	st := stateOf(pc)
	st.visits--
	switch {
	case st.visits <= 0:
		st.nested = true
		return parser.Close
	case st.blocks >= maxBlocks:
		// A list could get no more items.
		st.full = true
		return parser.Close
	}
	return b.bounded.Continue(node, reader, pc)
}

// quoteParser tells goldmark's parser of block quotes apart from that of lists.
type quoteParser struct{ parser.BlockParser }

// definitionTransformer takes the link reference definitions from the start
// of a paragraph (CommonMark 4.7). goldmark's own is quadratic in their number.
type definitionTransformer struct{}

func (definitionTransformer) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	src := reader.Source()
	// Most paragraphs are not worth a copy.
	first := lines.At(0)
	if !bytes.HasPrefix(bytes.TrimLeft(first.Value(src), " \t"), []byte("[")) {
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
