package producer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"agentaudit/audit/sitelist"
	"agentaudit/store"
)

// Intaker is what the intake needs of the store; *store.Store is one.
type Intaker interface {
	AddLines(ctx context.Context, id store.BatchID, lines []store.Line) (store.Added, error)
}

// Counts say how far an intake is, and what became of the lines.
type Counts struct {
	Lines int64
	store.Added
}

// add counts the lines of one chunk.
func (c *Counts) add(lines int, added store.Added) {
	c.Lines += int64(lines)
	c.Entries += added.Entries
	c.Runs += added.Runs
	c.Duplicates += added.Duplicates
	c.Rejected += added.Rejected
}

// ListError says that a list cannot be read, which is for whoever gave it to
// put right. All other errors are troubles of the store or the end of ctx.
type ListError struct{ Err error }

// Error names the list, the place and what to do.
func (e *ListError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *ListError) Unwrap() error { return e.Err }

// Fill reads inputs into a batch that was just created or emptied: while one
// chunk is stored the next is read. progress is told the counts so far after
// each chunk, from one goroutine; nil hears nothing. A list that cannot be read
// to its end is a [*ListError]; then, as after every other error, the caller
// drops the batch or empties it and starts again.
func Fill(ctx context.Context, st Intaker, id store.BatchID, inputs []Input, read sitelist.Options, progress func(Counts)) (Counts, error) {
	g, ctx := errgroup.WithContext(ctx)
	chunks := make(chan []store.Line)
	// Chunks are used again and again, so that memory does not grow.
	free := make(chan []store.Line, 2)
	free <- make([]store.Line, 0, store.IntakeChunk)
	free <- make([]store.Line, 0, store.IntakeChunk)
	g.Go(func() error {
		defer close(chunks)
		in := &intaker{ctx: ctx, chunks: chunks, free: free}
		return in.read(inputs, read)
	})
	var c Counts
	g.Go(func() error {
		for chunk := range chunks {
			added, err := st.AddLines(ctx, id, chunk)
			if err != nil {
				return fmt.Errorf("cannot store the list: %w", err)
			}
			c.add(len(chunk), added)
			clear(chunk)
			free <- chunk[:0]
			if progress != nil {
				progress(c)
			}
		}
		return nil
	})
	err := g.Wait()
	return c, err
}

// intaker reads lists into chunks.
type intaker struct {
	ctx    context.Context
	chunks chan<- []store.Line
	free   <-chan []store.Line
	chunk  []store.Line
}

func (in *intaker) read(inputs []Input, opt sitelist.Options) error {
	for source, input := range inputs {
		if err := in.input(source, input, opt); err != nil {
			return err
		}
	}
	return in.flush()
}

func (in *intaker) input(source int, input Input, opt sitelist.Options) error {
	if input.open == nil {
		return in.lines(source, sitelist.ReadArgs(input.sites))
	}
	src, closer, err := input.open()
	if err != nil {
		return &ListError{fmt.Errorf("cannot read the list: %w", err)}
	}
	defer closer.Close()
	return in.lines(source, sitelist.Read(in.ctx, src, opt))
}

func (in *intaker) lines(source int, lines iter.Seq2[sitelist.Line, error]) error {
	for line, err := range lines {
		if bad, ok := errors.AsType[*sitelist.Error](err); ok {
			return &ListError{bad}
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

// Line is a line of a list as the store takes it; source is an index into the
// sources of the batch.
func Line(source int, l sitelist.Line) store.Line {
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
	return line
}

func (in *intaker) add(source int, l sitelist.Line) error {
	if in.chunk == nil {
		select {
		case in.chunk = <-in.free:
		case <-in.ctx.Done():
			return in.ctx.Err()
		}
	}
	in.chunk = append(in.chunk, Line(source, l))
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
