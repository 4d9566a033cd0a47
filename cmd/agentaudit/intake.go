package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"agentaudit/audit/sitelist"
	"agentaudit/store"
)

// standardInput is the SOURCE that stands for standard input, and arguments
// the name under which sites given on the command line are kept.
const (
	standardInput = "-"
	argumentsName = "arguments"
)

// listOptions say where a batch's list comes from and how to read it. They are
// kept with the batch, so that an intake that was cut short can start again.
type listOptions struct {
	// Files are absolute paths, or "-".
	Files []string `json:"files,omitempty"`
	// Sites are targets given as arguments.
	Sites []string         `json:"sites,omitempty"`
	Read  sitelist.Options `json:"read"`
}

func listFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "list-format", Usage: "read the lists as `FORMAT`: text, csv, ndjson, json or sitemap (default: found out)"},
		&cli.StringFlag{Name: "column", Usage: "take the site from column or member `NAME` (default: url, website, site, homepage, domain, origin or link)"},
		&cli.StringFlag{Name: "pointer", Usage: "find the list in a JSON document at `POINTER`, as in /data/items"},
		&cli.StringFlag{Name: "id-column", Usage: "take the listing's own id from column or member `NAME` (default: id or slug)"},
		&cli.StringFlag{Name: "label-column", Usage: "take the label from column or member `NAME` (default: label, name or title)"},
		&cli.StringFlag{Name: "tag-column", Usage: "take tags from column or member `NAME` (default: tags or tag)"},
		&cli.StringFlag{Name: "readme-column", Usage: "take the README URL from column or member `NAME` (default: readmeUrl or readme)"},
	}
}

// newListOptions sorts the arguments into files and sites. What names neither
// is an error: a mistyped file name must not become a site that does not exist.
func newListOptions(c *cli.Context) (listOptions, error) {
	o := listOptions{Read: sitelist.Options{
		Format: sitelist.Format(c.String("list-format")), Column: c.String("column"), Pointer: c.String("pointer"),
		IDColumn: c.String("id-column"), LabelColumn: c.String("label-column"), TagColumn: c.String("tag-column"), ReadmeColumn: c.String("readme-column"),
	}}
	for _, arg := range c.Args().Slice() {
		if arg == standardInput {
			o.Files = append(o.Files, arg)
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			return o, usagef("%s is a directory; name the list in it", clean(arg))
		case err == nil:
			abs, err := filepath.Abs(arg)
			if err != nil {
				return o, usagef("%s: %v", clean(arg), err)
			}
			o.Files = append(o.Files, abs)
		case !errors.Is(err, fs.ErrNotExist) && !looksLikeSite(arg):
			return o, usagef("cannot read %s: %v", clean(arg), err)
		case looksLikeSite(arg):
			o.Sites = append(o.Sites, arg)
		default:
			return o, usagef("there is no file %s, and it does not look like a site (as in shop.example or https://shop.example/agentic.json)", clean(arg))
		}
	}
	if len(o.Files)+len(o.Sites) == 0 {
		return o, usagef("name at least one list: a file, a site, or - for standard input")
	}
	return o, nil
}

// looksLikeSite tells sites from names of files that are not there.
func looksLikeSite(arg string) bool {
	if strings.Contains(arg, "://") {
		return true
	}
	host, _, _ := strings.Cut(arg, "/")
	if !strings.Contains(host, ".") || strings.HasPrefix(host, ".") || strings.ContainsAny(host, " \\") {
		return false
	}
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".txt", ".csv", ".tsv", ".json", ".ndjson", ".jsonl", ".xml", ".gz", ".list", ".lst":
		// shop.example/agentic.json is a site, sites.json is a file.
		return strings.Contains(arg, "/") && !strings.HasPrefix(arg, "/")
	}
	return true
}

// sourceNames are the names under which the sources are kept with the batch.
func (o listOptions) sourceNames() []string {
	names := make([]string, 0, len(o.Files)+1)
	for _, f := range o.Files {
		if f == standardInput {
			names = append(names, "standard input")
			continue
		}
		names = append(names, filepath.Base(f))
	}
	if len(o.Sites) > 0 {
		names = append(names, argumentsName)
	}
	return names
}

// rereadable reports whether the lists can be read a second time.
func (o listOptions) rereadable() bool {
	for _, f := range o.Files {
		if f == standardInput {
			return false
		}
	}
	return true
}

// intake reads all lists into a batch, chunk by chunk: while one chunk is
// stored the next is read. Trouble with one list ends the intake with an
// error; progress is told the number of lines so far.
func (o listOptions) intake(ctx context.Context, st *store.Store, id store.BatchID, stdin io.Reader, progress func(lines int64)) error {
	g, ctx := errgroup.WithContext(ctx)
	chunks := make(chan []store.Line)
	// Chunks are used again and again, so that memory does not grow.
	free := make(chan []store.Line, 2)
	free <- make([]store.Line, 0, store.IntakeChunk)
	free <- make([]store.Line, 0, store.IntakeChunk)
	g.Go(func() error {
		defer close(chunks)
		in := &intaker{ctx: ctx, chunks: chunks, free: free}
		return in.read(o, stdin)
	})
	g.Go(func() error {
		var lines int64
		for chunk := range chunks {
			if _, err := st.AddLines(ctx, id, chunk); err != nil {
				return fmt.Errorf("cannot store the list: %w", err)
			}
			lines += int64(len(chunk))
			clear(chunk)
			free <- chunk[:0]
			if progress != nil {
				progress(lines)
			}
		}
		return nil
	})
	return g.Wait()
}

// intaker reads lists into chunks.
type intaker struct {
	ctx    context.Context
	chunks chan<- []store.Line
	free   <-chan []store.Line
	chunk  []store.Line
}

func (in *intaker) read(o listOptions, stdin io.Reader) error {
	for i, name := range o.Files {
		if err := in.file(i, name, stdin, o.Read); err != nil {
			return err
		}
	}
	if len(o.Sites) > 0 {
		if err := in.lines(len(o.Files), sitelist.ReadArgs(o.Sites)); err != nil {
			return err
		}
	}
	return in.flush()
}

func (in *intaker) file(source int, name string, stdin io.Reader, opt sitelist.Options) error {
	src := sitelist.Source{Name: "standard input", Reader: stdin}
	if name != standardInput {
		file, closer, err := sitelist.OpenFile(name)
		if err != nil {
			return usagef("cannot read the list: %v", err)
		}
		defer closer.Close()
		src = file
	}
	return in.lines(source, sitelist.Read(in.ctx, src, opt))
}

func (in *intaker) lines(source int, lines iter.Seq2[sitelist.Line, error]) error {
	for line, err := range lines {
		if bad, ok := errors.AsType[*sitelist.Error](err); ok {
			// The lines before the trouble are good, but a list must not be
			// audited by halves unnoticed: the caller drops the batch.
			return usagef("%v; nothing of the list was audited, correct it and run it again", bad)
		}
		if err == nil {
			err = in.add(source, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *intaker) add(source int, l sitelist.Line) error {
	line := store.Line{
		Source: source, Number: l.Number, Input: l.Text, Reject: l.Reject, ID: l.ID, Label: l.Label, Tags: l.Tags, Notes: l.Notes,
	}
	if l.File != "" {
		line.Notes = append(line.Notes, "from "+l.File)
	}
	if l.Target != nil {
		line.Target = l.Target.String()
	}
	if l.ReadmeURL != nil {
		line.Readme = l.ReadmeURL.String()
	}
	if in.chunk == nil {
		select {
		case in.chunk = <-in.free:
		case <-in.ctx.Done():
			return in.ctx.Err()
		}
	}
	in.chunk = append(in.chunk, line)
	if len(in.chunk) == cap(in.chunk) {
		return in.flush()
	}
	return nil
}

func (in *intaker) flush() error {
	if len(in.chunk) == 0 {
		return nil
	}
	select {
	case in.chunks <- in.chunk:
	case <-in.ctx.Done():
		return in.ctx.Err()
	}
	in.chunk = nil
	return nil
}
