package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Load counts runs on their way.
type Load struct {
	// Enqueued counts runs handed to the queue and not claimed, by class.
	Enqueued map[Class]int64
	Running  int64
	// NextDue is when the next waiting run of an open batch is due, zero if
	// none waits.
	NextDue time.Time
	// Open counts batches that have runs without a final result.
	Open int
}

// Load reads the numbers of runs on their way. They are bounded by the depth
// of the queue, and so is the cost.
func (s *Store) Load(ctx context.Context) (Load, error) {
	l := Load{Enqueued: map[Class]int64{}}
	type row struct {
		class             Class
		enqueued, running int64
		next              sql.NullInt64
	}
	rows, err := collect(ctx, s.read, `SELECT b.class,
		(SELECT count(*) FROM runs r WHERE r.batch = b.id AND r.state = 'enqueued'),
		(SELECT count(*) FROM runs r WHERE r.batch = b.id AND r.state = 'running'),
		(SELECT min(due_at) FROM runs r WHERE r.batch = b.id AND r.state = 'waiting' AND b.state IN ('queued', 'running'))
		FROM batches b WHERE b.open_runs > 0`, nil,
		func(r *sql.Rows, v *row) error { return r.Scan(&v.class, &v.enqueued, &v.running, &v.next) })
	if err != nil {
		return l, fmt.Errorf("count runs on their way: %w", err)
	}
	l.Open = len(rows)
	for _, r := range rows {
		l.Enqueued[r.class] += r.enqueued
		l.Running += r.running
		if next := instant(r.next.Int64); r.next.Valid && (l.NextDue.IsZero() || next.Before(l.NextDue)) {
			l.NextDue = next
		}
	}
	return l, nil
}

// Pulse tells whether work goes on.
type Pulse struct {
	// WaitingSince is since when the run waits that has waited longest for a
	// worker, zero if none waits. Runs of paused batches do not.
	WaitingSince time.Time
	// LastResult is when the newest result came, zero if there is none. Batches
	// older than the newest twenty are looked at only while they are open.
	LastResult time.Time
}

// Pulse reads how long runs wait and when the last result came. It costs what
// [Store.Load] does.
func (s *Store) Pulse(ctx context.Context) (Pulse, error) {
	type row struct{ enqueued, queued, waiting, result sql.NullInt64 }
	// A run waits since it was due, or since its list was complete. Of one that
	// was opened again only the handing over is known.
	rows, err := collect(ctx, s.read, `SELECT
		(SELECT min(CASE WHEN r.due_at > 0 THEN r.due_at WHEN r.reopened THEN r.enqueued_at ELSE b.sealed_at END) FROM runs r WHERE r.batch = b.id AND r.state = 'enqueued'),
		(SELECT CASE WHEN r.reopened THEN 0 ELSE b.sealed_at END FROM runs r WHERE r.batch = b.id AND r.state = 'queued' ORDER BY r.host_rank, r.n LIMIT 1),
		(SELECT min(r.due_at) FROM runs r WHERE r.batch = b.id AND r.state = 'waiting' AND r.due_at <= $1),
		(SELECT max(x.finished_at) FROM entry_results x WHERE x.batch = b.id)
		FROM batches b WHERE b.open_runs > 0 AND b.state IN ('queued', 'running')`, []any{s.now()},
		func(r *sql.Rows, v *row) error { return r.Scan(&v.enqueued, &v.queued, &v.waiting, &v.result) })
	if err != nil {
		return Pulse{}, fmt.Errorf("read how long runs wait: %w", err)
	}
	var last sql.NullInt64
	err = s.read.QueryRowContext(ctx, `SELECT max(b.newest) FROM (SELECT (SELECT max(x.finished_at) FROM entry_results x WHERE x.batch = batches.id) AS newest
		FROM batches ORDER BY id DESC LIMIT 20) b`).Scan(&last)
	if err != nil {
		return Pulse{}, fmt.Errorf("read when the last result came: %w", err)
	}
	var since int64
	for _, r := range rows {
		last.Int64 = max(last.Int64, r.result.Int64)
		for _, t := range []int64{r.enqueued.Int64, r.queued.Int64, r.waiting.Int64} {
			if t > 0 && (since == 0 || t < since) {
				since = t
			}
		}
	}
	return Pulse{WaitingSince: instant(since), LastResult: instant(last.Int64)}, nil
}
