package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Backlog counts runs without a final result by what stands between them and it.
// Each run is counted once.
type Backlog struct {
	// Due runs can be handed to the queue now.
	Due int64
	// Waiting runs are due later: they are tried again, confirmed or spread over
	// time. Runs of lists that are still being read wait, too.
	Waiting int64
	// Paused runs belong to paused batches and are not running.
	Paused int64
	// Enqueued runs were handed to the queue and not claimed, by class.
	Enqueued map[Class]int64
	Running  int64
}

// mostCounted bounds what is counted one by one in a batch.
const mostCounted = 50_000

// Backlog counts the runs of all open batches. It reads what [Store.Load] reads,
// and up to 100,000 runs more in batches of which many are due later: with more
// of both kinds, Due and Waiting are bounds and only their sum is exact.
func (s *Store) Backlog(ctx context.Context) (Backlog, error) {
	l := Backlog{Enqueued: map[Class]int64{}}
	type row struct {
		id                             int64
		state                          BatchState
		class                          Class
		open, enqueued, running, later int64
	}
	now := s.now()
	rows, err := collect(ctx, s.read, `SELECT b.id, b.state, b.class, b.open_runs,
		(SELECT count(*) FROM runs r WHERE r.batch = b.id AND r.state = 'enqueued'),
		(SELECT count(*) FROM runs r WHERE r.batch = b.id AND r.state = 'running'),
		CASE WHEN b.state IN ('queued', 'running') THEN
			(SELECT count(*) FROM (SELECT 1 AS one FROM runs r WHERE r.batch = b.id AND r.state = 'waiting' AND r.due_at > $1 LIMIT $2) later)
		ELSE 0 END
		FROM batches b WHERE b.open_runs > 0`, []any{now, mostCounted},
		func(r *sql.Rows, v *row) error {
			return r.Scan(&v.id, &v.state, &v.class, &v.open, &v.enqueued, &v.running, &v.later)
		})
	if err != nil {
		return l, fmt.Errorf("count runs: %w", err)
	}
	for _, r := range rows {
		l.Running += r.running
		rest := max(r.open-r.enqueued-r.running, 0)
		switch r.state {
		case StatePaused:
			l.Paused += rest + r.enqueued
			continue
		case StateIntake:
			l.Waiting += rest
		case StateQueued, StateRunning:
			later := r.later
			if later == mostCounted {
				var due int64
				err := s.read.QueryRowContext(ctx, `SELECT
					(SELECT count(*) FROM (SELECT 1 AS one FROM runs WHERE batch = $1 AND state = 'queued' LIMIT $3) a)
					+ (SELECT count(*) FROM (SELECT 1 AS one FROM runs WHERE batch = $1 AND state = 'waiting' AND due_at <= $2 LIMIT $3) b)`,
					r.id, now, mostCounted).Scan(&due)
				if err != nil {
					return l, fmt.Errorf("count due runs: %w", err)
				}
				later = max(rest-due, 0)
			}
			later = min(later, rest)
			l.Waiting += later
			l.Due += rest - later
		}
		l.Enqueued[r.class] += r.enqueued
	}
	return l, nil
}
