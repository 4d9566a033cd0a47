package agentstxt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value with its place.
type node struct {
	kind   jsontext.Kind
	offset int
	// str is the value of a string, raw the text of any other scalar.
	str, raw string
	items    []*node
	members  []member
	end      int
}

type member struct {
	name   string
	offset int // of the name
	value  *node
}

// maxDepth bounds the nesting of JSON; the draft needs five levels.
const maxDepth = 200

// syntaxError says why a text is no JSON, and where that shows.
type syntaxError struct {
	offset int
	reason string
}

// parseTree reads one JSON document. Duplicate names are kept.
func parseTree(text string) (*node, *syntaxError) {
	t := &treeReader{text: text, dec: jsontext.NewDecoder(strings.NewReader(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	n, err := t.value(0)
	if err == nil {
		if _, e := t.dec.ReadToken(); !errors.Is(e, io.EOF) {
			err = &syntaxError{t.start(), "something follows the end of the JSON document"}
		}
	}
	return n, err
}

type treeReader struct {
	text string
	dec  *jsontext.Decoder
}

// start is the offset of the next token.
func (t *treeReader) start() int {
	i := int(t.dec.InputOffset())
	for i < len(t.text) && strings.IndexByte(" \t\r\n,:", t.text[i]) >= 0 {
		i++
	}
	return i
}

func (t *treeReader) fail(err error) *syntaxError {
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &syntaxError{int(s.ByteOffset), fmt.Sprint(s.Err)}
	}
	return &syntaxError{t.start(), "the document breaks off"}
}

func (t *treeReader) value(depth int) (*node, *syntaxError) {
	n := &node{offset: t.start()}
	tok, err := t.dec.ReadToken()
	if err != nil {
		return nil, t.fail(err)
	}
	n.kind = tok.Kind()
	if depth > maxDepth {
		return nil, &syntaxError{n.offset, fmt.Sprintf("the document is nested more than %d levels deep", maxDepth)}
	}
	switch n.kind {
	case '"':
		n.str = tok.String()
	case '{':
		for t.dec.PeekKind() != '}' {
			m := member{offset: t.start()}
			name, err := t.dec.ReadToken()
			if err != nil {
				return nil, t.fail(err)
			}
			m.name = name.String()
			v, bad := t.value(depth + 1)
			if bad != nil {
				return nil, bad
			}
			m.value = v
			n.members = append(n.members, m)
		}
	case '[':
		for t.dec.PeekKind() != ']' {
			v, bad := t.value(depth + 1)
			if bad != nil {
				return nil, bad
			}
			n.items = append(n.items, v)
		}
	default:
		n.raw = tok.String()
	}
	if n.kind == '{' || n.kind == '[' {
		if _, err := t.dec.ReadToken(); err != nil {
			return nil, t.fail(err)
		}
	}
	n.end = int(t.dec.InputOffset())
	return n, nil
}

// get is the member of that name; of several the last one counts.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// last is the index of the member that counts, by name.
func (n *node) last() map[string]int {
	m := make(map[string]int, len(n.members))
	for i := range n.members {
		m[n.members[i].name] = i
	}
	return m
}

// is reports whether n is there and of that kind: '{', '[', '"', '0', 't'
// (any boolean) or 'n'.
func (n *node) is(kind jsontext.Kind) bool {
	return n != nil && (n.kind == kind || kind == 't' && n.kind == 'f')
}

// text is the value of a string, "" for all else.
func (n *node) text() string {
	if n.is('"') {
		return n.str
	}
	return ""
}

// source is the JSON text of the node, without blanks between tokens.
func (n *node) source(text string) json.RawMessage {
	v := jsontext.Value(text[n.offset:n.end])
	if v.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return json.RawMessage(text[n.offset:n.end])
	}
	return json.RawMessage(v)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	}
	return "null"
}

// quoteJSON is a string as JSON, without the escapes that only HTML needs.
func quoteJSON(s string) string {
	out, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	if err != nil {
		return `""`
	}
	return string(out)
}
