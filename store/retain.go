package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrDropped is the error for documents that were there and are kept no longer
// ([Store.DropReports]). It is also [ErrNotFound]. The row of the result stays.
var ErrDropped = fmt.Errorf("its documents were dropped, as their time was over; what the row says stays: %w", ErrNotFound)

// Retention says which documents of results are kept: reports, kits, scans and
// evidence, which make up most of a store. Rows, counts and histories are kept
// for ever.
type Retention struct {
	// Age is how old the result may be. 0 keeps everything.
	Age time.Duration
	// Last is how many results of each site keep their documents however old
	// they are; at least 1, so that every site can be explained.
	Last int
}

// dropChunk is how many results are looked at for one transaction.
const dropChunk = 1000

// DropReports drops the documents of results that need not be kept, and returns
// how many there were. It goes through the store in small steps, between which
// others come to write, and can be stopped anywhere.
func (s *Store) DropReports(ctx context.Context, keep Retention) (dropped int64, err error) {
	if keep.Age <= 0 {
		return 0, nil
	}
	before := s.o.Now().Add(-keep.Age).UnixMilli()
	last := max(keep.Last, 1)
	type key struct {
		batch, run int64
		drop       bool
	}
	var at key
	for {
		// The id of a batch is the time when it was made: no younger one can hold
		// an old result.
		keys, err := collect(ctx, s.read, `SELECT p.batch, p.run, coalesce(r.finished_at < $3 AND EXISTS (
				SELECT 1 FROM results n WHERE n.site = r.site AND n.finished_at > r.finished_at ORDER BY n.finished_at LIMIT 1 OFFSET $4), false)
			FROM (SELECT batch, run FROM reports WHERE (batch > $1 OR batch = $1 AND run > $2) AND batch < $3 ORDER BY batch, run LIMIT $5) p
			LEFT JOIN results r ON r.batch = p.batch AND r.run = p.run ORDER BY p.batch, p.run`,
			[]any{at.batch, at.run, before, last - 1, dropChunk}, func(r *sql.Rows, k *key) error { return r.Scan(&k.batch, &k.run, &k.drop) })
		if err == nil && len(keys) > 0 {
			var here int64
			err = s.inTx(ctx, func(tx *sql.Tx) error {
				here = 0
				for _, k := range keys {
					if !k.drop {
						continue
					}
					// A run that was audited again meanwhile has a younger result.
					res, err := tx.ExecContext(ctx, `DELETE FROM reports WHERE batch = $1 AND run = $2
						AND EXISTS (SELECT 1 FROM results WHERE batch = $1 AND run = $2 AND finished_at < $3)`, k.batch, k.run, before)
					if err != nil {
						return err
					}
					n, err := res.RowsAffected()
					if err != nil {
						return err
					}
					here += n
				}
				return nil
			})
			if err == nil {
				dropped += here
			}
		}
		if err != nil {
			return dropped, fmt.Errorf("drop old reports: %w", explain(err))
		}
		if len(keys) < dropChunk {
			return dropped, nil
		}
		at = keys[len(keys)-1]
	}
}

// noDocuments is the error for a run without documents: they were dropped, or
// there never were any.
func (s *Store) noDocuments(ctx context.Context, id RunID, batch, n int64) error {
	var one int
	err := s.read.QueryRowContext(ctx, `SELECT 1 FROM results WHERE batch = $1 AND run = $2`, batch, n).Scan(&one)
	switch {
	case err == nil:
		return fmt.Errorf("run %s: %w", id, ErrDropped)
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("run %s has no result: %w", id, ErrNotFound)
	}
	return fmt.Errorf("read the result of run %s: %w", id, explain(err))
}
