package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// Listing is one item of a directory's listing on its way into a batch.
type Listing struct {
	// Key tells the listings of one source apart, from one batch to the next:
	// the listing's own id, or what stands for it.
	Key string
	// ID is the listing's own id, "" for none, URL the address as the directory
	// gives it.
	ID, URL string
	Line    Line
}

// AddedListings says what became of the listings of one call.
type AddedListings struct {
	Added
	// Fresh counts those that the batch did not have.
	Fresh int64
	// Known says for each listing whether the batch had it before, or it stands
	// earlier in the same call.
	Known []bool
}

// BeginListing says that a batch in [StateIntake] is read from a listing,
// before the first page of it. writeBack is where changes of outcomes are told
// ([Store.PlanDeliveries]), "" for nowhere.
func (s *Store) BeginListing(ctx context.Context, id BatchID, source, writeBack string) error {
	batch, err := id.number()
	if err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO listing_sources (batch, source, position, write_back) VALUES ($1, $2, '', $3)`, batch, text(source), text(writeBack))
		return err
	})
	if err != nil {
		return fmt.Errorf("begin the listing of batch %s: %w", id, err)
	}
	return nil
}

// AddListings takes a page into a batch that [Store.BeginListing] began, and
// keeps the position to go on from: both or neither, so that an intake that was
// killed goes on where it was. position is told for each listing whether the
// batch has it already, in which case it is left out; it may be called more
// than once. Errors are those of [Store.AddLines] and of position.
func (s *Store) AddListings(ctx context.Context, id BatchID, page []Listing, position func(known []bool) (json.RawMessage, error)) (AddedListings, error) {
	batch, err := id.number()
	if err != nil {
		return AddedListings{}, err
	}
	var out AddedListings
	out.Added, err = s.addLines(ctx, id, func(tx *sql.Tx, conn *sql.Conn) ([]Line, error) {
		out = AddedListings{Known: make([]bool, len(page))}
		known, err := knownListings(ctx, tx, batch, page)
		if err != nil {
			return nil, err
		}
		rows := newInserter(ctx, tx, conn, "listings", "batch, key, id, url")
		var lines []Line
		for i := range page {
			key := hashKey(page[i].Key)
			if out.Known[i] = known[key]; known[key] {
				continue
			}
			known[key] = true
			out.Fresh++
			lines = append(lines, page[i].Line)
			if err := rows.add(batch, key[:], text(page[i].ID), text(page[i].URL)); err != nil {
				return nil, err
			}
		}
		if err := rows.flush(); err != nil {
			return nil, err
		}
		at, err := position(out.Known)
		if err != nil {
			return nil, err
		}
		res, err := tx.ExecContext(ctx, `UPDATE listing_sources SET position = $1 WHERE batch = $2`, text(string(at)), batch)
		if err != nil {
			return nil, err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return nil, errors.Join(err, fmt.Errorf("it is not read from a listing: %w", ErrConflict))
		}
		return lines, nil
	})
	return out, err
}

// knownListings finds those of a page that the batch has.
func knownListings(ctx context.Context, tx *sql.Tx, batch int64, page []Listing) (map[[16]byte]bool, error) {
	known := map[[16]byte]bool{}
	for from := 0; from < len(page); from += maxParams - 1 {
		part := page[from:min(from+maxParams-1, len(page))]
		args := make([]any, 0, maxParams)
		args = append(args, batch)
		for i := range part {
			key := hashKey(part[i].Key)
			args = append(args, key[:])
		}
		keys, err := collect(ctx, tx, `SELECT key FROM listings WHERE batch = $1 AND key IN `+placeholders(2, len(part)), args,
			func(r *sql.Rows, key *[]byte) error { return r.Scan(key) })
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			known[[16]byte(k)] = true
		}
	}
	return known, nil
}

// ResumeListing makes a batch whose intake was interrupted ready for more
// pages, and returns the position to go on from, nil for the beginning. The
// error is [ErrNotFound], or [ErrConflict] for a batch that is not read from a
// listing or whose intake has ended.
func (s *Store) ResumeListing(ctx context.Context, id BatchID) (json.RawMessage, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	var position string
	var memory *intakeMemory
	err = s.inConnTx(ctx, s.long, func(tx *sql.Tx, conn *sql.Conn) error {
		if err := s.d.lockToSteer(ctx, tx, batch); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `UPDATE batches SET reader = reader + 1, read_at = $2, note = `+sqlReadOn+` WHERE id = $1 AND state = 'intake'`, batch, s.now())
		if err != nil {
			return err
		}
		if err := changed(ctx, tx, res, batch); err != nil {
			return err
		}
		err = tx.QueryRowContext(ctx, `SELECT position FROM listing_sources WHERE batch = $1`, batch).Scan(&position)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("it is not read from a listing: %w", ErrConflict)
		}
		if err != nil {
			return err
		}
		if memory, err = s.remember(ctx, tx, conn, batch); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT reader FROM batches WHERE id = $1`, batch).Scan(&memory.reader)
	})
	if err != nil {
		return nil, fmt.Errorf("go on with the intake of batch %s: %w", id, err)
	}
	s.intakes.put(batch, memory)
	if position == "" {
		return nil, nil
	}
	return json.RawMessage(position), nil
}

// remember makes the memory of an intake anew from its runs.
func (s *Store) remember(ctx context.Context, tx *sql.Tx, conn *sql.Conn, batch int64) (*intakeMemory, error) {
	m := newIntakeMemory()
	if _, err := tx.ExecContext(ctx, `DELETE FROM run_keys WHERE batch = $1`, batch); err != nil {
		return nil, err
	}
	type run struct {
		n              int64
		target, readme string
	}
	for last := int64(0); ; {
		runs, err := collect(ctx, tx, `SELECT n, target, readme FROM runs WHERE batch = $1 AND n > $2 ORDER BY n LIMIT 10000`, []any{batch, last},
			func(r *sql.Rows, v *run) error { return r.Scan(&v.n, &v.target, &v.readme) })
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			return m, nil
		}
		for _, r := range runs {
			m.keys[runKey(r.target, r.readme)] = r.n
			m.hosts.add(hostOf(r.target))
			last = r.n
		}
		if len(m.keys) > s.o.IntakeKeys {
			if err := m.flush(ctx, tx, conn, batch); err != nil {
				return nil, err
			}
			m.clear()
		}
	}
}

// ListingChange is a listing that differs from one batch to the next. Before
// and After are its addresses, "" where it is not there.
type ListingChange struct {
	ID     string `json:"id"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// ListingChanges is how the listings of a batch differ from those of an earlier
// batch of the same source.
type ListingChanges struct {
	Before BatchID `json:"before"`
	After  BatchID `json:"after"`
	// New, Gone and Moved count listings; Moved has another address.
	New   int64 `json:"new"`
	Gone  int64 `json:"gone"`
	Moved int64 `json:"moved"`
	// The first of each, at most as many as were asked for.
	NewListings   []ListingChange `json:"newListings"`
	GoneListings  []ListingChange `json:"goneListings"`
	MovedListings []ListingChange `json:"movedListings"`
}

// ListingChanges compares a batch that was read from a listing with the last
// one before it of the same source whose list was read to its end. The error is
// [ErrNotFound] where there is none, or where the batch has no listing.
func (s *Store) ListingChanges(ctx context.Context, id BatchID, most int) (*ListingChanges, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	var before int64
	err = s.read.QueryRowContext(ctx, `SELECT old.batch FROM listing_sources now
		JOIN listing_sources old ON old.source = now.source AND old.batch < now.batch
		JOIN batches b ON b.id = old.batch AND b.sealed_at > 0
		WHERE now.batch = $1 ORDER BY old.batch DESC LIMIT 1`, batch).Scan(&before)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("batch %s has no earlier one of the same listing: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, explain(err)
	}
	c := &ListingChanges{Before: batchID(before), After: id}
	for _, part := range []struct {
		n     *int64
		list  *[]ListingChange
		cols  string
		query string
	}{
		{&c.New, &c.NewListings, "a.id, '', a.url", `FROM listings a WHERE a.batch = $1 AND NOT EXISTS (SELECT 1 FROM listings b WHERE b.batch = $2 AND b.key = a.key)`},
		{&c.Gone, &c.GoneListings, "b.id, b.url, ''", `FROM listings b WHERE b.batch = $2 AND NOT EXISTS (SELECT 1 FROM listings a WHERE a.batch = $1 AND a.key = b.key)`},
		{&c.Moved, &c.MovedListings, "a.id, b.url, a.url", `FROM listings a JOIN listings b ON b.batch = $2 AND b.key = a.key WHERE a.batch = $1 AND a.url <> b.url`},
	} {
		if err := s.read.QueryRowContext(ctx, `SELECT count(*) `+part.query, batch, before).Scan(part.n); err != nil {
			return nil, explain(err)
		}
		*part.list, err = collect(ctx, s.read, `SELECT `+part.cols+` `+part.query+` ORDER BY 1, 2, 3 LIMIT $3`, []any{batch, before, most},
			func(r *sql.Rows, v *ListingChange) error { return r.Scan(&v.ID, &v.Before, &v.After) })
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}
