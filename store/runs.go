package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"
)

// Due is a run to be handed to the queue.
type Due struct {
	Run RunID
	// Token belongs into the id of the task: it changes with every claim, so
	// that a task which is still being acknowledged is not taken for the one
	// of the next attempt.
	Token int64
	Host  string
}

// WorkOn makes TakeDue of this store hand out the runs of one batch alone, for
// a process that was started for that batch; "" lifts the restriction.
func (s *Store) WorkOn(id BatchID) error {
	if id == "" {
		s.only.Store(0)
		return nil
	}
	n, err := id.number()
	if err != nil {
		return err
	}
	s.only.Store(n)
	return nil
}

// TakeDue marks up to limit due runs of a class as enqueued and returns them,
// for the caller to hand to the queue. All open batches get the same share, in
// turn; what small ones leave goes to the larger. Inside a batch the hosts
// take turns: the first run of every host, then the second.
func (s *Store) TakeDue(ctx context.Context, class Class, limit int) ([]Due, error) {
	if limit <= 0 {
		return nil, nil
	}
	now := s.now()
	ids, err := collect(ctx, s.read, `SELECT id FROM batches WHERE state IN ('queued', 'running') AND class = $1 AND open_runs > 0
		AND (id = $2 OR $2 = 0) ORDER BY open_runs, id`, []any{string(class), s.only.Load()}, func(r *sql.Rows, id *int64) error { return r.Scan(id) })
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	// Most calls find nothing to do; they must not take the writer's lock.
	some := false
	for _, id := range ids {
		err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE batch = $1 AND state = 'queued')
			OR EXISTS (SELECT 1 FROM runs WHERE batch = $1 AND state = 'waiting' AND due_at <= $2)`, id, now).Scan(&some)
		if err != nil {
			return nil, explain(err)
		}
		if some {
			break
		}
	}
	if !some {
		return nil, nil
	}
	var taken [][]Due
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		taken = nil
		if err := s.d.lockBatches(ctx, tx, slices.Clone(ids)...); err != nil {
			return err
		}
		left := limit
		for i, id := range ids {
			share := (left + len(ids) - i - 1) / (len(ids) - i)
			runs, err := s.takeDue(ctx, tx, id, now, share)
			if err != nil {
				return err
			}
			left -= len(runs)
			taken = append(taken, runs)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take due runs: %w", err)
	}
	return deal(taken), nil
}

// Of the runs that others are at this very moment none is due: they are passed
// over where the database has many writers.
const (
	sqlWaiting = `SELECT r.n FROM runs r WHERE r.batch = $1 AND r.state = 'waiting' AND r.due_at <= $2`
	sqlQueued  = `SELECT r.n FROM runs r WHERE r.batch = $1 AND r.state = 'queued' ORDER BY r.host_rank, r.n LIMIT $2`
)

func (s *Store) takeDue(ctx context.Context, tx *sql.Tx, batch, now int64, limit int) ([]Due, error) {
	if limit <= 0 {
		return nil, nil
	}
	// The state is read again here: the batch may have been paused since.
	var open bool
	err := tx.QueryRowContext(ctx, `SELECT state IN ('queued', 'running') FROM batches WHERE id = $1`, batch).Scan(&open)
	if err != nil || !open {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `WITH due AS (`+sqlWaiting+s.d.skipLocked+`)
		UPDATE runs SET state = 'queued' FROM due WHERE runs.batch = $1 AND runs.n = due.n`, batch, now); err != nil {
		return nil, err
	}
	type row struct {
		n, rank int64
		Due
	}
	runs, err := collect(ctx, tx, `WITH due AS (`+sqlQueued+s.d.skipLocked+`)
		UPDATE runs SET state = 'enqueued', enqueued_at = $3 FROM due WHERE runs.batch = $1 AND runs.n = due.n
		RETURNING runs.n, runs.host_rank, runs.token, runs.host`,
		[]any{batch, limit, now}, func(r *sql.Rows, v *row) error {
			err := r.Scan(&v.n, &v.rank, &v.Token, &v.Host)
			v.Run = runID(batch, v.n)
			return err
		})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(runs, func(a, b row) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.n, b.n)) })
	due := make([]Due, len(runs))
	for i, r := range runs {
		due[i] = r.Due
	}
	return due, nil
}

// deal mixes the runs of several batches, one of each in turn.
func deal(hands [][]Due) []Due {
	var out []Due
	for i := 0; ; i++ {
		some := false
		for _, h := range hands {
			if i < len(h) {
				out = append(out, h[i])
				some = true
			}
		}
		if !some {
			return out
		}
	}
}

type dueKey struct {
	batch, n int64
	Due
}

// keysOf gives the keys of runs in the one order in which rows are locked.
func keysOf(runs []Due) ([]dueKey, error) {
	keys := make([]dueKey, len(runs))
	for i, d := range runs {
		batch, n, err := d.Run.numbers()
		if err != nil {
			return nil, err
		}
		keys[i] = dueKey{batch, n, d}
	}
	slices.SortFunc(keys, func(a, b dueKey) int { return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.n, b.n)) })
	return keys, nil
}

// Unqueue puts runs back that [Store.TakeDue] gave and the queue did not take.
// Runs that were claimed meanwhile are left alone.
func (s *Store) Unqueue(ctx context.Context, runs []Due) error {
	if len(runs) == 0 {
		return nil
	}
	keys, err := keysOf(runs)
	if err != nil {
		return fmt.Errorf("put runs back: %w", err)
	}
	err = s.inPipe(ctx, func(p *pipe) error {
		for _, k := range keys {
			if err := p.send(`UPDATE runs SET state = 'queued', enqueued_at = 0
				WHERE batch = $1 AND n = $2 AND token = $3 AND state = 'enqueued'`, nil, k.batch, k.n, k.Token); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put runs back: %w", err)
	}
	return nil
}

// Unclaimed lists runs of a class that were handed to the queue at a time or
// before it and not claimed since, longest first. They are no more than the
// queue is deep.
func (s *Store) Unclaimed(ctx context.Context, class Class, before time.Time) ([]Due, error) {
	due, err := collect(ctx, s.read, `SELECT r.batch, r.n, r.token, r.host FROM batches b CROSS JOIN runs r
		WHERE b.state IN ('queued', 'running') AND b.class = $1
		AND r.batch = b.id AND r.state = 'enqueued' AND r.enqueued_at <= $2 ORDER BY r.enqueued_at, r.batch, r.n`,
		[]any{string(class), before.UnixMilli()}, func(r *sql.Rows, d *Due) error {
			var batch, n int64
			err := r.Scan(&batch, &n, &d.Token, &d.Host)
			d.Run = runID(batch, n)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("list runs that nobody claimed: %w", err)
	}
	return due, nil
}

// HandOverAgain marks runs of [Store.Unclaimed] as handed to the queue now, and
// returns those which were still unclaimed, and were last handed over at the time
// before or earlier: the caller alone enqueues them again.
func (s *Store) HandOverAgain(ctx context.Context, runs []Due, before time.Time) ([]Due, error) {
	failed := func(err error) error { return fmt.Errorf("hand runs over again: %w", err) }
	keys, err := keysOf(runs)
	if err != nil {
		return nil, failed(err)
	}
	var again []Due
	err = s.inPipe(ctx, func(p *pipe) error {
		again = nil
		for _, k := range keys {
			err := p.send(`UPDATE runs SET enqueued_at = $1
				WHERE batch = $2 AND n = $3 AND token = $4 AND state = 'enqueued' AND enqueued_at <= $5`,
				func(rows int64) error {
					if rows > 0 {
						again = append(again, k.Due)
					}
					return nil
				}, s.now(), k.batch, k.n, k.Token, before.UnixMilli())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, failed(err)
	}
	return again, nil
}

// RenewLeases prolongs the leases of claims, and returns how many of them still
// hold. A run that its worker no longer knows is not prolonged.
func (s *Store) RenewLeases(ctx context.Context, claims []*Claim, lease time.Duration) (int64, error) {
	if len(claims) == 0 {
		return 0, nil
	}
	claims = slices.SortedFunc(slices.Values(claims), func(a, b *Claim) int { return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.n, b.n)) })
	var held int64
	err := s.inPipe(ctx, func(p *pipe) error {
		held = 0
		until := s.now() + lease.Milliseconds()
		for _, c := range claims {
			err := p.send(`UPDATE runs SET lease_until = $1 WHERE batch = $2 AND n = $3 AND token = $4 AND state = 'running'`,
				func(rows int64) error { held += rows; return nil }, until, c.batch, c.n, c.token)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("renew leases: %w", err)
	}
	return held, nil
}

// ExpireLeases puts runs back whose lease has ended: their worker is gone. It
// returns how many there were.
func (s *Store) ExpireLeases(ctx context.Context) (int64, error) {
	return s.putBack(ctx, s.now())
}

// ResetRunning puts back all runs that are marked as enqueued or running. It is
// for the sole owner of a store at its start: nobody can hold them any more.
// It returns how many runs were under way.
func (s *Store) ResetRunning(ctx context.Context) (int64, error) {
	// The token grows also for runs that were only enqueued: a task that a
	// dead process had taken and not yet claimed still stands in Redis under
	// the old one, and a new task of the same name would wait for it.
	return s.putBack(ctx, math.MaxInt64, `UPDATE runs SET state = 'queued', enqueued_at = 0, token = token + 1 WHERE state = 'enqueued'`)
}

// putBack puts runs back whose lease ends at a time or earlier.
func (s *Store) putBack(ctx context.Context, until int64, also ...string) (int64, error) {
	var lost int64
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		busy, err := collect(ctx, tx, `SELECT id FROM batches WHERE open_runs > 0`, nil, func(r *sql.Rows, id *int64) error { return r.Scan(id) })
		if err != nil {
			return err
		}
		if err := s.d.lockBatches(ctx, tx, busy...); err != nil {
			return err
		}
		t := s.newGroupTx(ctx, tx)
		type row struct {
			batch, n, entry int64
			state           BatchState
		}
		rows, err := collect(ctx, tx, `SELECT r.batch, r.n, r.entry, b.state FROM runs r JOIN batches b ON b.id = r.batch WHERE r.state = 'running' AND r.lease_until <= $1
			ORDER BY r.batch, r.n`+s.d.skipLocked, []any{until}, func(r *sql.Rows, v *row) error { return r.Scan(&v.batch, &v.n, &v.entry, &v.state) })
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.state == StateCancelled {
				if err := t.cancelRun(r.batch, r.n, r.entry); err != nil {
					return err
				}
				continue
			}
			if _, err := t.exec(`UPDATE runs SET state = 'queued', lost = lost + 1, worker = '', lease_until = 0 WHERE batch = $1 AND n = $2`, r.batch, r.n); err != nil {
				return err
			}
		}
		lost = int64(len(rows))
		for _, q := range also {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				return err
			}
		}
		return t.flush()
	})
	if err != nil {
		return 0, fmt.Errorf("put back runs of workers that are gone: %w", err)
	}
	return lost, nil
}
