package store

import (
	"context"
	"fmt"
)

// Status is what can be said of a database without working with it.
type Status struct {
	// Database is the kind with its version: "PostgreSQL 15.8".
	Database string `json:"database"`
	// Bytes is its size, with indexes.
	Bytes int64 `json:"bytes"`
	// Steps are the migrations that it has, Pending those of this program that it
	// lacks. Without any step it is empty.
	Steps   []string `json:"steps"`
	Pending []string `json:"pending"`
	// Trouble says why this program cannot work with it, "" if it can: it was
	// written by a newer version, or by none of this program.
	Trouble string `json:"trouble"`
	// What it holds: OpenRuns are runs without a final result.
	Batches  int64 `json:"batches"`
	Entries  int64 `json:"entries"`
	Runs     int64 `json:"runs"`
	OpenRuns int64 `json:"openRuns"`
	Sites    int64 `json:"sites"`
}

// ReadStatus looks at the store in a directory or database ([Open]), whatever
// its version. The error is [ErrNotFound] for a directory without one.
func ReadStatus(ctx context.Context, source string, o Options) (*Status, error) {
	o.Access, o.anySchema = ReadOnly, true
	s, err := Open(ctx, source, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Status(ctx)
}

// Status is [ReadStatus] of an open store.
func (s *Store) Status(ctx context.Context) (*Status, error) {
	st, err := s.status(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the database: %w", explain(err))
	}
	return st, nil
}

func (s *Store) status(ctx context.Context) (*Status, error) {
	st := &Status{Steps: []string{}, Pending: []string{}}
	var version string
	if err := s.read.QueryRowContext(ctx, s.d.about).Scan(&version, &st.Bytes); err != nil {
		return nil, err
	}
	st.Database = s.d.name + " " + version
	done, err := s.applied(ctx)
	if err != nil {
		return nil, err
	}
	known, err := migrations(migrationFiles, migrationFolder)
	if err != nil {
		return nil, err
	}
	for _, m := range done {
		st.Steps = append(st.Steps, m.name)
	}
	if err := compatible(done, known, false); err != nil {
		st.Trouble = err.Error()
	} else {
		for _, m := range known[len(done):] {
			st.Pending = append(st.Pending, m.name)
		}
	}
	if len(done) == 0 {
		return st, nil
	}
	return st, s.read.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(entries), 0), coalesce(sum(runs), 0), coalesce(sum(open_runs), 0),
		(SELECT coalesce(sum(runs), 0) FROM counts WHERE batch = 0 AND kind = 'outcome') FROM batches`).
		Scan(&st.Batches, &st.Entries, &st.Runs, &st.OpenRuns, &st.Sites)
}

// Migrate makes or updates the tables of the store in a directory or database,
// and returns the steps that it took: those that were missing and that no other
// process took meanwhile. Every process that opens a store as its owner does the
// same; this is for whoever wants it done before. The error is a [*LockedError]
// for a directory in use, or [ErrSchema] for a database that this program is too
// old for.
func Migrate(ctx context.Context, source string, o Options) ([]string, error) {
	o.Access = Own
	s, err := Open(ctx, source, o)
	if err != nil {
		return nil, err
	}
	return s.migrated, s.Close()
}
