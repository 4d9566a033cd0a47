package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Parse reads one JSON text as JSON.parse(new TextDecoder().decode(data)) does,
// with the nesting limited to [MaxDepth]. The error is a [*SyntaxError]. Time
// and memory are linear in the size of data.
func Parse(data []byte) (*Document, error) { return ParseText(DecodeText(data)) }

// ParseText is [Parse] for a text that was decoded already.
func ParseText(text string) (*Document, error) {
	d := &Document{Text: text}
	p := parser{text: text, dec: NewDecoder(text)}
	var err error
	if d.Root, err = p.value(); err == nil {
		err = AtEnd(p.dec)
	}
	if err != nil {
		return nil, NewSyntaxError(text, err)
	}
	slices.SortFunc(p.duplicates, func(a, b Duplicate) int { return a.Offset - b.Offset })
	d.Duplicates = p.duplicates
	return d, nil
}

// NewDecoder makes the decoder whose grammar is that of JSON.parse. Names that
// stand twice are let through: its own test takes lone surrogates for equal.
func NewDecoder(text string) *jsontext.Decoder {
	// A decoder parses the memory of a bytes.Buffer in place.
	return jsontext.NewDecoder(bytes.NewBuffer([]byte(text)),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// AtEnd returns nil where nothing but white space is left in the decoder.
func AtEnd(dec *jsontext.Decoder) error {
	offset := int(dec.InputOffset())
	rest := dec.UnreadBuffer()
	offset += len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
	switch _, err := dec.ReadToken(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	return &offsetError{offset, errTrailing}
}

// ErrDepth is the cause of an error where the text nests too deeply.
var ErrDepth = errors.New("nested too deeply")

var errTrailing = errors.New("text behind the value")

// offsetError is an error of our own with its place.
type offsetError struct {
	offset int
	err    error
}

func (e *offsetError) Error() string { return e.err.Error() }
func (e *offsetError) Unwrap() error { return e.err }

// CheckDepth is to be called after the decoder has read the start of a list or
// an object; it fails where that is one level too many.
func CheckDepth(dec *jsontext.Decoder) error {
	if dec.StackDepth() > MaxDepth {
		return &offsetError{int(dec.InputOffset()) - 1, ErrDepth}
	}
	return nil
}

type parser struct {
	text       string
	dec        *jsontext.Decoder
	duplicates []Duplicate
	// Elements and members of all open containers; take moves those of a
	// container to a slice of their own when it ends.
	items   []Node
	members []Member
	stack   []level
}

// level is an open container.
type level struct {
	name  string // in its parent
	index int    // in its parent, -1 in an object
	frame *frame // once it is needed
}

// value reads the next value. Nodes travel by value: a node that escaped to
// the heap for each call would double the cost of large texts.
func (p *parser) value() (n Node, err error) {
	switch kind := p.dec.PeekKind(); kind {
	case '{', '[':
		if _, err := p.dec.ReadToken(); err != nil {
			return n, err
		}
		n.offset = int32(p.dec.InputOffset()) - 1
		if err := CheckDepth(p.dec); err != nil {
			return n, err
		}
		if len(p.stack) == 0 {
			p.stack = append(p.stack, level{index: -1})
		}
		if kind == '{' {
			n.Kind = Object
			n.Members, err = p.object()
		} else {
			n.Kind = Array
			n.Items, err = p.array()
		}
	case '"':
		n.Kind = String
		n.Str, n.offset, err = p.string()
	case '0':
		raw, err := p.dec.ReadValue()
		if err != nil {
			return n, err
		}
		end := int(p.dec.InputOffset())
		n.Kind, n.offset = Number, int32(end-len(raw))
		// The error can only be that of the range, where JSON.parse gives
		// infinity or zero as ParseFloat does.
		n.Num, _ = strconv.ParseFloat(p.text[n.offset:end], 64)
	case 't', 'f', 'n':
		if _, err := p.dec.ReadToken(); err != nil {
			return n, err
		}
		size := len("null")
		switch kind {
		case 't':
			n.Kind, n.Bool = Bool, true
		case 'f':
			n.Kind, size = Bool, len("false")
		}
		n.offset = int32(p.dec.InputOffset()) - int32(size)
	default:
		err = p.mustFail()
	}
	return n, err
}

// mustFail returns the error for which the decoder could not tell the kind of
// the next token.
func (p *parser) mustFail() error {
	t, err := p.dec.ReadToken()
	if err == nil {
		err = &offsetError{int(p.dec.InputOffset()) - 1, fmt.Errorf("unexpected token %v", t.Kind())}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// string reads a string, which may be a name, and its offset.
func (p *parser) string() (string, int32, error) {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return "", 0, err
	}
	end := int(p.dec.InputOffset())
	return Unquote(p.text[end-len(raw) : end]), int32(end - len(raw)), nil
}

func (p *parser) array() ([]Node, error) {
	base := len(p.items)
	for p.dec.PeekKind() != ']' {
		p.stack = append(p.stack, level{index: len(p.items) - base})
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		p.stack = p.stack[:len(p.stack)-1]
		p.items = push(p.items, item)
	}
	_, err := p.dec.ReadToken()
	return take(&p.items, base), err
}

func (p *parser) object() ([]Member, error) {
	base := len(p.members)
	var names index
	for {
		kind := p.dec.PeekKind()
		if kind == '}' {
			break
		}
		if kind != '"' {
			return nil, p.mustFail()
		}
		name, offset, err := p.string()
		if err != nil {
			return nil, err
		}
		p.stack = append(p.stack, level{name: name, index: -1})
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		p.stack = p.stack[:len(p.stack)-1]
		m := Member{name, value, offset}
		at := names.find(p.members[base:], name)
		if at < 0 {
			p.members = push(p.members, m)
			continue
		}
		twin := &p.members[base+at]
		p.duplicates = push(p.duplicates, Duplicate{name, int(offset), names.first(at, twin.offset), p.frame(len(p.stack) - 1)})
		*twin = m
	}
	_, err := p.dec.ReadToken()
	return take(&p.members, base), err
}

// index finds the members of one object by name.
type index struct {
	places map[string]int // once the object has many members
	firsts map[int]int    // offsets of the first of those that stand twice
}

// find gives the place of a name among the members, or -1. It is to be called
// before each member that is added.
func (x *index) find(members []Member, name string) int {
	const few = 16
	if len(members) < few {
		for i := range members {
			if members[i].Name == name {
				return i
			}
		}
		return -1
	}
	if x.places == nil {
		x.places = make(map[string]int, 4*few)
		for i := range members {
			x.places[members[i].Name] = i
		}
	}
	if at, ok := x.places[name]; ok {
		return at
	}
	x.places[name] = len(members)
	return -1
}

func (x *index) first(at int, offset int32) int {
	if x.firsts == nil {
		x.firsts = map[int]int{}
	}
	if _, ok := x.firsts[at]; !ok {
		x.firsts[at] = int(offset)
	}
	return x.firsts[at]
}

// push is append, but doubles large slices: copying is what large texts cost.
func push[T any](s []T, v T) []T {
	if len(s) == cap(s) {
		s = slices.Grow(s, max(16, len(s)))
	}
	return append(s, v)
}

// take cuts off s[base:] and returns it as a slice of its own.
func take[T any](s *[]T, base int) []T {
	all := *s
	if base == len(all) {
		return nil
	}
	if base == 0 && len(all) > cap(all)/4 && len(all) > 64 {
		*s = nil
		return slices.Clip(all)
	}
	*s = all[:base]
	return slices.Clone(all[base:])
}

// frame gives the way to the open container at a level, and keeps it.
func (p *parser) frame(i int) *frame {
	l := &p.stack[i]
	if l.frame == nil {
		l.frame = &frame{name: l.name, index: l.index}
		if i > 0 {
			l.frame.parent = p.frame(i - 1)
		}
	}
	return l.frame
}
