package producer

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"agentaudit/audit"
	"agentaudit/audit/sitelist"
	"agentaudit/store"
)

// StandardInput is the file name that stands for standard input.
const StandardInput = "-"

// argumentsName is the source under which sites given one by one are kept.
const argumentsName = "arguments"

// Options are kept with a batch as its options: all that a later process needs
// to go on with it.
type Options struct {
	List List `json:"list"`
	// Options are what workers read of them, with every claim.
	audit.Options
}

// OptionsOf reads the options of a batch.
func OptionsOf(b *store.Batch) (Options, error) {
	var o Options
	if err := json.Unmarshal(b.Options, &o); err != nil {
		return o, fmt.Errorf("batch %s: its options cannot be read: %w", b.ID, err)
	}
	return o, nil
}

// List says where the lines of a batch come from and how to read them, so that
// an intake that was cut short can start again where that is possible.
type List struct {
	// Files are absolute paths, or [StandardInput].
	Files []string `json:"files,omitempty"`
	// Sites are targets given one by one.
	Sites []string `json:"sites,omitempty"`
	// Posted are the names of lists that came over HTTP.
	Posted []string `json:"posted,omitempty"`
	// From is a directory's listing API, alone or not at all; package listing
	// reads it.
	From string `json:"from,omitempty"`
	// WriteBack is where changes of outcomes are told, "" for nowhere; it stands
	// with From only.
	WriteBack string           `json:"writeBack,omitempty"`
	Read      sitelist.Options `json:"read"`
}

// SourceNames are the names under which the sources are kept with the batch, in
// the order of [List.Inputs].
func (l List) SourceNames() []string {
	names := make([]string, 0, len(l.Files)+len(l.Posted)+1)
	for _, f := range l.Files {
		if f == StandardInput {
			names = append(names, "standard input")
			continue
		}
		names = append(names, filepath.Base(f))
	}
	names = append(names, l.Posted...)
	if l.From != "" {
		names = append(names, l.From)
	}
	if len(l.Sites) > 0 {
		names = append(names, argumentsName)
	}
	return names
}

// Rereadable reports whether the lists can be read a second time.
func (l List) Rereadable() bool {
	for _, f := range l.Files {
		if f == StandardInput {
			return false
		}
	}
	return len(l.Posted) == 0
}

// Inputs opens the files one after the other and gives the sites given one by
// one last. Posted lists are not among them, who has them has their readers;
// nor is a listing API.
func (l List) Inputs(stdin io.Reader) []Input {
	var list []Input
	for _, f := range l.Files {
		if f == StandardInput {
			list = append(list, Reader("standard input", stdin))
			continue
		}
		list = append(list, Input{open: func() (sitelist.Source, io.Closer, error) { return sitelist.OpenFile(f) }})
	}
	if len(l.Sites) > 0 {
		list = append(list, Input{sites: l.Sites})
	}
	return list
}

// Input is one list to be read.
type Input struct {
	open  func() (sitelist.Source, io.Closer, error)
	sites []string
}

// Within is the list with bounds as in [sitelist.Source]; one that is longer
// ends with an error that wraps [sitelist.ErrTooLong].
func (i Input) Within(maxBytes, maxLines int64) Input {
	if open := i.open; open != nil {
		i.open = func() (sitelist.Source, io.Closer, error) {
			src, closer, err := open()
			src.MaxBytes, src.MaxLines = maxBytes, maxLines
			return src, closer, err
		}
	}
	return i
}

// Reader is a list that comes as a stream; the name helps to tell its form and
// stands in errors.
func Reader(name string, r io.Reader) Input {
	return Input{open: func() (sitelist.Source, io.Closer, error) {
		return sitelist.Source{Name: name, Reader: r}, io.NopCloser(nil), nil
	}}
}
