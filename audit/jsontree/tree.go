// Package jsontree reads JSON as ECMAScript's JSON.parse does and writes it as
// JSON.stringify does, and keeps what both hide: the order of members, names
// that stand twice, lone surrogates, and where each value stands in the text.
//
// Verdicts on a publication depend on those: a duplicate name is invalid
// publisher output (seed SPEC, section 2), an error names line and column of
// the published file, and generated files must agree with those of every other
// tool of the convention to the byte (specification sections 5 and 9).
//
// Strings are WTF-8: UTF-8 in which a lone surrogate is the three bytes that
// its code point would have (https://simonsapin.github.io/wtf-8/). [WellFormed]
// makes UTF-8 of them.
package jsontree

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxDepth is the number of levels that lists and objects may nest
// (specification section 7, "Stricter").
const MaxDepth = 1000

// Kind is the type of a JSON value.
type Kind uint8

// The six types of JSON values. The zero Node is null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Name is the type's name as JSON Schema spells it.
func (k Kind) Name() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// Node is one JSON value. Nodes that were parsed are not to be changed.
type Node struct {
	offset int32
	Kind   Kind
	// Bool, Num and Str are the value where Kind says so. Num is what
	// JSON.parse gives: ±Inf for numbers beyond the doubles.
	Bool bool
	Num  float64
	Str  string
	// Items are the elements of an array, Members the members of an object in
	// the order of the text. A name that stands twice is listed once: at its
	// first place, with its last value, as in an ECMAScript object.
	Items   []Node
	Members []Member
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Node

	offset int32
}

// Offset is where the value starts in [Document.Text], in bytes; 0 for nodes
// that were not parsed.
func (n *Node) Offset() int { return int(n.offset) }

// Offset is where the quoted name starts in [Document.Text], in bytes. Of a
// name that stands twice it is the last.
func (m *Member) Offset() int { return int(m.offset) }

// Get returns the value of a member, nil where n is no object or has none of
// this name.
func (n *Node) Get(name string) *Node {
	if m := n.Member(name); m != nil {
		return &m.Value
	}
	return nil
}

// Member returns a member by its name, or nil.
func (n *Node) Member(name string) *Member {
	if n == nil || n.Kind != Object {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Name == name {
			return &n.Members[i]
		}
	}
	return nil
}

// IsString reports whether n is the string s; a nil node is none.
func (n *Node) IsString(s string) bool {
	return n != nil && n.Kind == String && n.Str == s
}

// Text returns the string that n is; ok is false where it is nil or no string.
func (n *Node) Text() (s string, ok bool) {
	if n == nil || n.Kind != String {
		return "", false
	}
	return n.Str, true
}

// NewString, NewArray and NewObject make nodes for texts to be written.
func NewString(s string) Node { return Node{Kind: String, Str: s} }

// NewArray makes an array of its elements.
func NewArray(items ...Node) Node { return Node{Kind: Array, Items: items} }

// NewObject makes an object of its members, whose names must differ.
func NewObject(members ...Member) Node { return Node{Kind: Object, Members: members} }

// Equal reports whether two values are structurally equal; the order of
// members does not count.
func Equal(a, b *Node) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Bool:
		return a.Bool == b.Bool
	case Number:
		return a.Num == b.Num
	case String:
		return a.Str == b.Str
	case Array:
		if len(a.Items) != len(b.Items) {
			return false
		}
		for i := range a.Items {
			if !Equal(&a.Items[i], &b.Items[i]) {
				return false
			}
		}
	case Object:
		if len(a.Members) != len(b.Members) {
			return false
		}
		index := make(map[string]*Node, len(b.Members))
		for i := range b.Members {
			index[b.Members[i].Name] = &b.Members[i].Value
		}
		for i := range a.Members {
			v := index[a.Members[i].Name]
			if v == nil || !Equal(&a.Members[i].Value, v) {
				return false
			}
		}
	}
	return true
}

// Document is a parsed text. It is immutable and safe for concurrent use.
type Document struct {
	// Text is the text as decoded: invalid bytes are U+FFFD.
	Text string
	Root Node
	// Duplicates lists every member whose name stood in the same object
	// before, in the order of the text.
	Duplicates []Duplicate

	once  sync.Once
	lines []int32 // offsets of the first byte of each line
}

// Position is a place in a text: both count from 1, columns in code points.
type Position struct{ Line, Column int }

// Position gives the place of a byte offset in the text. Lines end with LF,
// CRLF or CR.
func (d *Document) Position(offset int) Position {
	d.once.Do(func() { d.lines = lineStarts(d.Text) })
	lo, hi := 0, len(d.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; int(d.lines[mid]) <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	offset = min(offset, len(d.Text))
	return Position{lo + 1, utf8.RuneCountInString(d.Text[d.lines[lo]:offset]) + 1}
}

func lineStarts(text string) []int32 {
	lines := []int32{0}
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "\r\n")
		if i < 0 {
			return lines
		}
		at += i + 1
		if text[at-1] == '\r' && at < len(text) && text[at] == '\n' {
			at++
		}
		lines = push(lines, int32(at))
	}
}

// Duplicate is a member whose name stood in the same object before.
type Duplicate struct {
	Name string
	// Offset and First are where this and the first member of the name start
	// in [Document.Text], in bytes.
	Offset, First int

	in *frame
}

// Pointer is the JSON Pointer of the member (RFC 6901).
func (d Duplicate) Pointer() string {
	return string(AppendToken(d.in.appendPointer(nil), d.Name))
}

// PointerLength is the length of Pointer in bytes, without building it. Names
// are counted before escaping, so it may be a little less.
func (d Duplicate) PointerLength() int {
	n := 1 + len(d.Name)
	for f := d.in; f != nil && f.parent != nil; f = f.parent {
		n += 1 + len(f.name)
	}
	return n
}
