package sitelist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// readNDJSON reads one JSON value a line. A broken line is rejected.
func readNDJSON(in *input, opt Options, to sink) error {
	lines := newLineReader(in, MaxElement)
	each := newElements(opt)
	for {
		b, long, err := lines.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if b = bytes.TrimSpace(b); len(b) == 0 {
			continue
		}
		var l Line
		if long {
			l = tooLong(lines.number, string(b), MaxElement)
		} else if v, err := oneValue(b); err != nil {
			l = rejectLine(lines.number, string(b), "this is not JSON: %s", jsonTrouble(err))
		} else {
			l = each.line(lines.number, v)
		}
		if !to(l) {
			return errStop
		}
	}
}

// oneValue checks that there is one value and nothing else.
func oneValue(b []byte) (jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(b), lenient...)
	v, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	v = v.Clone()
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("there is more behind the value")
	}
	return v, nil
}

// jsonTrouble is what a decoder says, without its own prefix and place.
func jsonTrouble(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends too early"
	case errors.As(err, &syntax) && syntax.Err != nil:
		return syntax.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

// jsonList reads one JSON document.
type jsonList struct {
	in   *input
	feed *feed
	dec  *jsontext.Decoder
	each *elements
	to   sink
	// watch says that the list was guessed from the start of the document
	// alone, so that what follows is looked at for other lists.
	watch bool
}

// readJSON reads a JSON document: a list, or one with a list in it.
func readJSON(in *input, opt Options, to sink) error {
	pointer, complete := opt.Pointer, true
	each := newElements(opt)
	if pointer == "" {
		var err error
		if pointer, complete, err = guess(in, each); err != nil {
			return err
		}
	}
	tokens, err := splitPointer(pointer)
	if err != nil {
		return in.fail(0, 0, nil, "%v", err)
	}
	j := &jsonList{in: in, feed: newFeed(in, "an element"), each: each, to: to, watch: !complete}
	j.dec = jsontext.NewDecoder(j.feed, lenient...)
	if err := j.find(tokens, nil); err != nil {
		return err
	}
	return j.rest()
}

// rest reads what follows the list, which must be JSON too: a file that was
// cut off is not complete.
func (j *jsonList) rest() error {
	for {
		depth := j.dec.StackDepth()
		j.feed.done(j.dec.InputOffset())
		if j.watch && j.dec.PeekKind() == '[' {
			if err := j.other(); err != nil {
				return err
			}
			continue
		}
		_, err := j.dec.ReadToken()
		switch {
		case err == io.EOF && depth == 0:
			return nil
		case err != nil:
			return j.fail(err)
		case depth == 0:
			return j.feed.fail(j.dec.InputOffset(), nil, "there is another value behind the document; if each line is a value of its own, say --list-format ndjson")
		}
	}
}

// other passes over a list behind the one that was read, unless it could have
// been meant as well.
func (j *jsonList) other() error {
	pointer := j.dec.StackPointer()
	if _, err := j.dec.ReadToken(); err != nil {
		return j.fail(err)
	}
	depth := j.dec.StackDepth()
	if j.dec.PeekKind() != ']' {
		v, err := j.dec.ReadValue()
		if err != nil {
			return j.fail(err)
		}
		if j.each.hasSite(v) {
			return j.feed.fail(j.dec.InputOffset(), nil, "there is another list of sites, %s, behind the one that was read; choose one with --pointer", pointer)
		}
	}
	for j.dec.StackDepth() >= depth {
		j.feed.done(j.dec.InputOffset())
		if _, err := j.dec.ReadToken(); err != nil {
			return j.fail(err)
		}
	}
	return nil
}

func (j *jsonList) fail(err error) error {
	offset := j.dec.InputOffset()
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		offset = syntax.ByteOffset
	}
	return j.feed.fail(offset, err, "this is not JSON from here on: %s", jsonTrouble(err))
}

// find goes to the list that a pointer names and reads it. at has the tokens
// that were followed.
func (j *jsonList) find(tokens, at []string) error {
	if len(tokens) == 0 {
		return j.list()
	}
	kind := j.dec.PeekKind()
	if kind != '{' && kind != '[' {
		if kind == 0 {
			_, err := j.dec.ReadToken()
			return j.fail(err)
		}
		return j.in.fail(0, 0, nil, "the pointer %q leads nowhere: at %q stands %s", joinPointer(append(at, tokens...)), joinPointer(at), kindName(kind))
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return j.fail(err)
	}
	var seen []string
	for i := 0; j.dec.PeekKind() != '}' && j.dec.PeekKind() != ']'; i++ {
		j.feed.done(j.dec.InputOffset())
		name := strconv.Itoa(i)
		if kind == '{' {
			t, err := j.dec.ReadToken()
			if err != nil {
				return j.fail(err)
			}
			name = t.String()
		}
		if name == tokens[0] {
			return j.find(tokens[1:], append(at, name))
		}
		if len(seen) < 40 {
			seen = append(seen, name)
		}
		if err := j.skip(); err != nil {
			return err
		}
	}
	if kind == '[' {
		return j.in.fail(0, 0, nil, "the pointer %q leads nowhere: the list at %q has no element %s", joinPointer(append(at, tokens...)), joinPointer(at), tokens[0])
	}
	return j.in.fail(0, 0, nil, "the pointer %q leads nowhere: the members at %q are %s", joinPointer(append(at, tokens...)), joinPointer(at), quoteAll(seen))
}

// skip passes over a value token by token, so that its size does not matter.
func (j *jsonList) skip() error {
	for depth := j.dec.StackDepth(); ; {
		if _, err := j.dec.ReadToken(); err != nil {
			return j.fail(err)
		}
		j.feed.done(j.dec.InputOffset())
		if j.dec.StackDepth() == depth {
			return nil
		}
	}
}

// list reads the elements of a list; an object is a list of itself.
func (j *jsonList) list() error {
	many := j.dec.PeekKind() == '['
	if many {
		if _, err := j.dec.ReadToken(); err != nil {
			return j.fail(err)
		}
	}
	for number := int64(1); !many || j.dec.PeekKind() != ']'; number++ {
		j.feed.done(j.dec.InputOffset())
		v, err := j.dec.ReadValue()
		if err != nil {
			return j.fail(err)
		}
		if !j.to(j.each.line(number, v)) {
			return errStop
		}
		if !many {
			return nil
		}
	}
	_, err := j.dec.ReadToken()
	if err != nil {
		return j.fail(err)
	}
	return nil
}

func splitPointer(p string) ([]string, error) {
	if p == "" {
		return nil, nil
	}
	if p[0] != '/' {
		return nil, fmt.Errorf("%q is no JSON Pointer: it must begin with /, as in /listings", p)
	}
	tokens := strings.Split(p[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

func joinPointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
