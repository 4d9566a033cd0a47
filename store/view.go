package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// OpenBatches lists up to limit batches whose state is [BatchState.Open],
// newest first.
func (s *Store) OpenBatches(ctx context.Context, limit int) ([]Batch, error) {
	list, err := s.batches(ctx, `WHERE state IN ('intake', 'queued', 'running', 'paused') ORDER BY id DESC LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list open batches: %w", err)
	}
	return list, nil
}

// Run is one audit of one target in a batch, whether it has its result or not.
type Run struct {
	ID RunID `json:"id"`
	// Target is the URL of the profile, Readme that of the README that the list
	// gave, "" for none.
	Target string `json:"target"`
	Readme string `json:"readme"`
	Host   string `json:"host"`
	// State is one of the words in the package documentation.
	State string `json:"state"`
	// Attempts counts the attempts that have ended. DueAt is when the next one
	// is due, zero if it is due at once or never.
	Attempts int       `json:"attempts"`
	DueAt    time.Time `json:"dueAt,omitzero"`
	// Label is what the first entry of the run is called, "" for nothing.
	Label string `json:"label"`
}

// Run reads where a run stands. The error is [ErrNotFound].
func (s *Store) Run(ctx context.Context, id RunID) (*Run, error) {
	batch, n, err := id.numbers()
	if err != nil {
		return nil, err
	}
	r := &Run{ID: id}
	var due int64
	err = s.read.QueryRowContext(ctx, `SELECT r.target, r.readme, r.host, r.state, r.attempt, r.due_at, e.label
		FROM runs r JOIN entries e ON e.batch = r.batch AND e.n = r.entry WHERE r.batch = $1 AND r.n = $2`, batch, n).
		Scan(&r.Target, &r.Readme, &r.Host, &r.State, &r.Attempts, &due, &r.Label)
	if err == sql.ErrNoRows {
		return nil, fmt.Errorf("run %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, explain(err))
	}
	if r.State == "waiting" {
		r.DueAt = instant(due)
	}
	return r, nil
}
