package sitelist

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// guess finds the list in a JSON document that is an object: the one list
// whose first element names a site. It gives a JSON Pointer, "" for the
// document itself; complete says that the whole document was looked at.
func guess(in *input, each *elements) (pointer string, complete bool, err error) {
	head, err := in.peek(bufferSize)
	if err != nil {
		return "", false, err
	}
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) == 0 || head[0] != '{' {
		return "", true, nil
	}
	// What is looked at is read again from memory afterwards.
	seen, err := io.ReadAll(io.LimitReader(in.r, guessBytes))
	rest := io.Reader(in.r)
	if err != nil {
		rest = failingReader{err}
	}
	in.r = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(seen), rest), bufferSize)

	g := guesser{dec: jsontext.NewDecoder(bytes.NewReader(seen), lenient...), each: each}
	// An error here is one of the reading proper too, or the end of what is
	// looked at.
	complete = g.object(nil) == nil
	switch {
	case len(g.lists) == 1:
		return g.lists[0], complete, nil
	case len(g.lists) > 1:
		return "", false, in.fail(0, 0, nil, "there is more than one list of sites: %s; choose one with --pointer", strings.Join(g.lists, ", "))
	case g.site || !complete && len(seen) < guessBytes:
		return "", true, nil // one site, or broken JSON that the reader will tell of
	case len(g.empty) == 1:
		return g.empty[0], complete, nil
	}
	others := "it has no lists at all"
	if found := append(g.others, g.empty...); len(found) > 0 {
		others = "its lists are " + strings.Join(found, ", ")
	}
	if !complete {
		others += fmt.Sprintf(" (in the first %d bytes)", guessBytes)
	}
	return "", false, in.fail(0, 0, nil, "no list of sites is found in the document: none has elements that are URLs or objects with %s; %s; name the list with --pointer and the member with --column", strings.Join(each.site, ", "), others)
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// guesser looks for lists in the objects of a document.
type guesser struct {
	dec  *jsontext.Decoder
	each *elements
	// lists name sites, empty have no elements, others have other elements.
	lists, empty, others []string
	// site says that the document itself names one.
	site bool
}

// maxGuessDepth is how deep a list may lie to be found without a pointer.
const maxGuessDepth = 8

func (g *guesser) object(at []string) error {
	if _, err := g.dec.ReadToken(); err != nil {
		return err
	}
	for g.dec.PeekKind() == '"' {
		t, err := g.dec.ReadToken()
		if err != nil {
			return err
		}
		name := t.String()
		here := append(at[:len(at):len(at)], name)
		switch kind := g.dec.PeekKind(); {
		case kind == '[':
			err = g.list(joinPointer(here))
		case kind == '{' && len(here) < maxGuessDepth:
			err = g.object(here)
		default:
			g.site = g.site || len(at) == 0 && kind == '"' && slices.Contains(g.each.site, columnName(name))
			err = g.dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := g.dec.ReadToken()
	return err
}

func (g *guesser) list(pointer string) error {
	if _, err := g.dec.ReadToken(); err != nil {
		return err
	}
	depth := g.dec.StackDepth()
	if g.dec.PeekKind() == ']' {
		g.empty = append(g.empty, pointer)
	} else {
		v, err := g.dec.ReadValue()
		if err != nil {
			return err
		}
		if g.each.hasSite(v) {
			g.lists = append(g.lists, pointer)
		} else if len(g.others) < 40 {
			g.others = append(g.others, pointer)
		}
	}
	for g.dec.StackDepth() >= depth {
		if _, err := g.dec.ReadToken(); err != nil {
			return err
		}
	}
	return nil
}
