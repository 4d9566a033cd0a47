package producer

import (
	"context"
	"fmt"

	"agentaudit/store"
)

// Results gives the rows that a filter picks; *store.Store does.
type Results interface {
	EachResult(ctx context.Context, f store.Filter, full bool, fn func(store.Row) error) error
}

// Copy takes what a filter picks from the results of one batch into another one
// that was just created: the sites with all that their list said of them. The
// first source of the new batch stands for all; line numbers are those of the
// old list.
func Copy(ctx context.Context, from Results, f store.Filter, st Intaker, id store.BatchID) (Counts, error) {
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
	err := from.EachResult(ctx, f, false, func(r store.Row) error {
		chunk = append(chunk, store.Line{Number: r.Line, Input: r.Input, Target: r.Target, Readme: r.ReadmeURL, ID: r.ID, Label: r.Label, Tags: r.Tags})
		if len(chunk) == cap(chunk) {
			return flush()
		}
		return nil
	})
	if err == nil && len(chunk) > 0 {
		err = flush()
	}
	return c, err
}
