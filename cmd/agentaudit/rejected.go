package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"

	"agentaudit/store"
)

// rejectedHeader names the columns of rejected lines as their JSON names its
// members.
var rejectedHeader = []string{"n", "source", "line", "input", "reason"}

// listRejected shows all rejected lines of a batch, with their reasons.
func listRejected(ctx context.Context, s streams, st *store.Store, b *store.Batch, format string) error {
	out := bufio.NewWriter(s.Out)
	rows, err := newFlatRows(format, out, rejectedHeader, func(r store.Rejected) []string {
		return []string{strconv.FormatInt(r.N, 10), r.Source, strconv.FormatInt(r.Line, 10), r.Input, r.Reason}
	})
	if err != nil {
		return err
	}
	if rows == nil {
		rows = &flatRows[store.Rejected]{func(r store.Rejected) error {
			_, err := fmt.Fprintf(out, "%s:%d  %s\n    %s\n", clean(r.Source), r.Line, clean(r.Input), clean(r.Reason))
			return err
		}, func() error { return nil }}
	}
	const atOnce = 500
	var after int64
	for {
		lines, err := st.RejectedLines(ctx, b.ID, after, atOnce)
		if err != nil {
			return undone(err)
		}
		for _, r := range lines {
			after = r.N
			if err := rows.write(r); err != nil {
				return undone(err)
			}
		}
		if len(lines) < atOnce {
			break
		}
	}
	if after == 0 {
		fmt.Fprintln(s.Err, "no line of this batch was rejected")
	}
	if err := errors.Join(rows.end(), out.Flush()); err != nil {
		return undone(err)
	}
	return nil
}
