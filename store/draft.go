package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Entry is one accepted line of a batch.
type Entry struct {
	// N counts the accepted lines of the batch from 1.
	N      int64  `json:"n"`
	Source string `json:"source"`
	Line   int64  `json:"line"`
	Input  string `json:"input"`
	Target string `json:"target"`
	// Readme is the README URL that the list gave, "" for none.
	Readme string   `json:"-"`
	ID     string   `json:"id"`
	Label  string   `json:"label"`
	Tags   []string `json:"tags"`
	// Notes say what was done to the text before it was read.
	Notes []string `json:"notes"`
	// Duplicate says that an earlier line has the same target.
	Duplicate bool `json:"duplicate"`
}

// Entries lists up to limit accepted lines of a batch whose number is above
// after (0 = from the first), also while the list is being read.
func (s *Store) Entries(ctx context.Context, id BatchID, after int64, limit int) ([]Entry, error) {
	b, err := s.Batch(ctx, id)
	if err != nil {
		return nil, err
	}
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	all, err := collect(ctx, s.read, `SELECT e.n, e.source, e.line, e.input, r.target, r.readme, e.ref, e.label, e.tags, e.notes, e.dup
		FROM entries e JOIN runs r ON r.batch = e.batch AND r.n = e.run
		WHERE e.batch = $1 AND e.n > $2 ORDER BY e.n LIMIT $3`, []any{batch, after, limit}, func(r *sql.Rows, v *Entry) error {
		var source int
		var tags, notes string
		if err := r.Scan(&v.N, &source, &v.Line, &v.Input, &v.Target, &v.Readme, &v.ID, &v.Label, &tags, &notes, &v.Duplicate); err != nil {
			return err
		}
		v.Source = sourceName(b.Sources, source)
		var err error
		if v.Tags, err = decodeList(tags); err != nil {
			return err
		}
		v.Notes, err = decodeList(notes)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the entries of batch %s: %w", id, err)
	}
	return all, nil
}

// HoldIntake says that the list of a batch in [StateIntake] was read to its end.
// Nothing is added to it any more, and whoever opens the store, also later, can
// seal it. The error is [ErrNotFound], or [ErrConflict] for a list that is
// complete or whose intake was interrupted.
func (s *Store) HoldIntake(ctx context.Context, id BatchID) error {
	batch, err := id.number()
	if err != nil {
		return err
	}
	if memory := s.intakes.get(batch); memory != nil {
		memory.mu.Lock()
		defer memory.mu.Unlock()
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		if err := s.d.lockToSteer(ctx, tx, batch); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `UPDATE batches SET held = true, note = `+sqlReadOn+` WHERE id = $1 AND state = 'intake'`, batch)
		if err != nil {
			return err
		}
		if err := changed(ctx, tx, res, batch); err != nil {
			return err
		}
		return wantReader(ctx, tx, batch, s.intakes.get(batch))
	})
	if err != nil {
		return fmt.Errorf("hold batch %s: %w", id, err)
	}
	s.intakes.drop(batch) // it is made anew from the runs when it is needed
	return nil
}

// RemoveIntake removes a batch in [StateIntake], as if it had never been. Who is
// still reading its list hears [ErrNotFound] with the next lines. The error is
// [ErrNotFound] or [ErrConflict].
func (s *Store) RemoveIntake(ctx context.Context, id BatchID) error {
	batch, err := id.number()
	if err != nil {
		return err
	}
	if memory := s.intakes.get(batch); memory != nil {
		memory.mu.Lock()
		defer memory.mu.Unlock()
	}
	// Nobody is said to read it any more, also where the database does not answer.
	defer s.intakes.drop(batch)
	// In one transaction: lines that came between two would be all that is left
	// of the list.
	err = s.inLongTx(ctx, func(tx *sql.Tx) error {
		if _, err := s.emptyIntake(ctx, tx, batch, nil); err != nil {
			return err
		}
		for _, q := range []string{`DELETE FROM batches WHERE id = $1`, `DELETE FROM listing_sources WHERE batch = $1`, `DELETE FROM webhooks WHERE batch = $1`} {
			if _, err := tx.ExecContext(ctx, q, batch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove batch %s: %w", id, err)
	}
	return nil
}
