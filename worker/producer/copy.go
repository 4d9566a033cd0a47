package producer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"agentaudit/store"
)

// Copy takes lines into a batch that was just created: those of another batch,
// as [Entries] and [Picked] give them. The first source of the new batch stands
// for all; line numbers are those of the old list. An error of lines is returned
// as it is.
func Copy(ctx context.Context, lines iter.Seq2[store.Line, error], st Intaker, id store.BatchID) (Counts, error) {
	var c Counts
	chunk := make([]store.Line, 0, store.IntakeChunk)
	flush := func() error {
		added, err := st.AddLines(ctx, id, chunk)
		if err != nil {
			return fmt.Errorf("cannot store the list: %w", err)
		}
		c.add(len(chunk), added)
		clear(chunk)
		chunk = chunk[:0]
		return nil
	}
	for line, err := range lines {
		if err != nil {
			return c, err
		}
		if chunk = append(chunk, line); len(chunk) < cap(chunk) {
			continue
		}
		if err := flush(); err != nil {
			return c, err
		}
	}
	if len(chunk) == 0 {
		return c, nil
	}
	return c, flush()
}

// Lister gives the entries of a batch; *store.Store does.
type Lister interface {
	Entries(ctx context.Context, id store.BatchID, after int64, limit int) ([]store.Entry, error)
}

// Entries are all accepted lines of a batch, with all that their list said of
// them.
func Entries(ctx context.Context, from Lister, id store.BatchID) iter.Seq2[store.Line, error] {
	const atOnce = 2000
	return func(yield func(store.Line, error) bool) {
		for after := int64(0); ; {
			entries, err := from.Entries(ctx, id, after, atOnce)
			if err != nil {
				yield(store.Line{}, err)
				return
			}
			if len(entries) == 0 {
				return
			}
			for _, e := range entries {
				if !yield(store.Line{Number: e.Line, Input: e.Input, Target: e.Target, Readme: e.Readme, ID: e.ID, Label: e.Label, Tags: e.Tags, Notes: e.Notes}, nil) {
					return
				}
			}
			after = entries[len(entries)-1].N
		}
	}
}

// Results gives the rows that a filter picks; *store.Store does.
type Results interface {
	EachResult(ctx context.Context, f store.Filter, full bool, fn func(store.Row) error) error
}

// Picked are the lines behind the results that a filter picks, with all that
// their list said of them.
func Picked(ctx context.Context, from Results, f store.Filter) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		err := from.EachResult(ctx, f, false, func(r store.Row) error {
			if !yield(store.Line{Number: r.Line, Input: r.Input, Target: r.Target, Readme: r.ReadmeURL, ID: r.ID, Label: r.Label, Tags: r.Tags, Notes: r.Notes}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && err != errEnough {
			yield(store.Line{}, err)
		}
	}
}

// errEnough ends the reading of results that nobody wants any more.
var errEnough = errors.New("enough")
