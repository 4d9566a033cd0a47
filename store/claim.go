package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"agentaudit/audit/report"
)

// Claim is the right to audit a run once. Whoever holds an older claim of the
// run can write nothing any more.
type Claim struct {
	Run    RunID
	Worker string
	// Target is the URL of the profile, Readme that of the README or "", Host
	// the host of Target.
	Target, Readme, Host string
	// Attempt counts from 1. Lost counts the claims whose worker vanished
	// without a word since the last one that ended in order: a run that takes
	// its worker down again and again shows here.
	Attempt, Lost int
	// Kept is the definite result of an earlier attempt, nil if there is none.
	Kept *report.Result
	// Options are those of the batch.
	Options json.RawMessage

	batch, n int64
	entry    int64
	token    int64
	reopened bool
}

const (
	sqlClaimRead = `SELECT r.entry, r.target, r.readme, r.host, r.state, r.due_at, r.attempt, r.token, r.lost, r.kept, r.reopened, r.lease_until,
		b.state, b.options FROM runs r JOIN batches b ON b.id = r.batch WHERE r.batch = $1 AND r.n = $2`
	sqlClaim = `UPDATE runs SET state = 'running', token = $1, lost = $2, worker = $3, lease_until = $4
		WHERE batch = $5 AND n = $6`
	sqlStart    = `UPDATE batches SET state = 'running', started_at = $1 WHERE id = $2 AND state = 'queued'`
	sqlKeptRead = `SELECT enc, body FROM run_kept WHERE batch = $1 AND run = $2`
	sqlHeld     = `UPDATE runs SET state = $1, due_at = $2, enqueued_at = 0, attempt = attempt + $3, lost = 0, kept = $4, worker = '', lease_until = 0
		WHERE batch = $5 AND n = $6 AND token = $7 AND state = 'running'`
	sqlKeep = `INSERT INTO run_kept (batch, run, enc, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (batch, run) DO UPDATE SET enc = excluded.enc, body = excluded.body`
	sqlUnkeep      = `DELETE FROM run_kept WHERE batch = $1 AND run = $2`
	sqlEntries     = `SELECT n FROM entries WHERE batch = $1 AND run = $2 AND dup = true ORDER BY n`
	sqlEntryResult = `INSERT INTO entry_results (batch, entry, run, outcome, reason) VALUES ($1, $2, $3, $4, $5)`
)

// ClaimRun takes a run for a worker until the lease ends or is renewed. The
// error is [ErrNotFound], or [ErrStale] when there is nothing to do: the run is
// done, cancelled, not due, in the hands of another, or its batch is paused.
func (s *Store) ClaimRun(ctx context.Context, id RunID, worker string, lease time.Duration) (*Claim, error) {
	batch, n, err := id.numbers()
	if err != nil {
		return nil, err
	}
	if s.group == nil {
		return nil, ErrReadOnly
	}
	var c *Claim
	err = s.group.do(ctx, func(t *groupTx) (err error) {
		c, err = t.claim(id, batch, n, worker, lease)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	s.group.held.Add(1)
	return c, nil
}

func (t *groupTx) claim(id RunID, batch, n int64, worker string, lease time.Duration) (*Claim, error) {
	c := &Claim{Run: id, Worker: worker, batch: batch, n: n}
	var state string
	var batchState BatchState
	var due, leaseUntil int64
	var kept bool
	var options string
	err := t.queryRow(sqlClaimRead, []any{batch, n}, &c.entry, &c.Target, &c.Readme, &c.Host, &state, &due, &c.Attempt, &c.token, &c.Lost,
		&kept, &c.reopened, &leaseUntil, &batchState, &options)
	if err == sql.ErrNoRows {
		return nil, fmt.Errorf("run %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case batchState != StateQueued && batchState != StateRunning:
		return nil, stale(id, "its batch is "+string(batchState))
	case state == "done" || state == "cancelled":
		return nil, stale(id, "it is "+state)
	case state == "running" && leaseUntil > t.now:
		return nil, stale(id, "another worker is at it")
	case state == "waiting" && due > t.now:
		return nil, stale(id, "its next attempt is not due")
	case state == "running":
		c.Lost++
	}
	c.Attempt++
	c.token++
	c.Options = json.RawMessage(options)
	if kept {
		var p packed
		if err := t.queryRow(sqlKeptRead, []any{batch, n}, &p.enc, &p.body); err != nil {
			return nil, err
		}
		if c.Kept, err = t.s.codec.unpackKept(p); err != nil {
			return nil, err
		}
	}
	if _, err := t.exec(sqlClaim, c.token, c.Lost, worker, t.now+lease.Milliseconds(), batch, n); err != nil {
		return nil, err
	}
	if batchState == StateQueued && !t.started[batch] {
		t.started[batch] = true
		if _, err := t.exec(sqlStart, t.now, batch); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// RetryRun ends an attempt without a final result: the run is due again at a
// time, with its attempt counted. kept is a definite result to fall back on;
// nil leaves what an earlier attempt kept. The error is [ErrStale] if the
// claim was overtaken.
func (s *Store) RetryRun(ctx context.Context, c *Claim, due time.Time, kept *report.Result) error {
	var p packed
	if kept != nil {
		var err error
		if p, err = s.codec.packKept(kept); err != nil {
			return fmt.Errorf("keep a result of run %s: %w", c.Run, err)
		}
	}
	return s.giveBack(ctx, c, due, 1, p)
}

// ReleaseRun gives a run back as if it had not been claimed, due at a time:
// for a host that is busy, or a worker that stops. The error is [ErrStale] if
// the claim was overtaken.
func (s *Store) ReleaseRun(ctx context.Context, c *Claim, due time.Time) error {
	return s.giveBack(ctx, c, due, 0, packed{})
}

func (s *Store) giveBack(ctx context.Context, c *Claim, due time.Time, counted int, keep packed) error {
	if s.group == nil {
		return ErrReadOnly
	}
	defer s.group.held.Add(-1)
	err := s.group.do(ctx, func(t *groupTx) error {
		var batchState BatchState
		if err := t.queryRow(sqlBatchState, []any{c.batch}, &batchState); err != nil {
			return err
		}
		state := "waiting"
		if due.UnixMilli() <= t.now {
			state = "queued"
		}
		has := c.Kept != nil || keep.body != nil
		n, err := t.exec(sqlHeld, state, due.UnixMilli(), counted, has, c.batch, c.n, c.token)
		if err != nil {
			return err
		}
		if n == 0 {
			return stale(c.Run, "it is in other hands")
		}
		if batchState == StateCancelled {
			return t.cancelRun(c.batch, c.n, c.entry)
		}
		if keep.body != nil {
			_, err = t.exec(sqlKeep, c.batch, c.n, keep.enc, keep.body)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("give back: %w", err)
	}
	return nil
}

const sqlBatchState = `SELECT state FROM batches WHERE id = $1`

// cancelRun gives an open run its final rows without a result.
func (t *groupTx) cancelRun(batch, n, first int64) error {
	if _, err := t.exec(`UPDATE runs SET state = 'cancelled', kept = false, worker = '', lease_until = 0 WHERE batch = $1 AND n = $2`, batch, n); err != nil {
		return err
	}
	if _, err := t.exec(sqlUnkeep, batch, n); err != nil {
		return err
	}
	entries, err := t.entriesOf(batch, n, first)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := t.exec(sqlEntryResult, batch, e, n, string(Cancelled), ""); err != nil {
			return err
		}
	}
	t.count(batch, kindOutcome, string(Cancelled), "", int64(len(entries)), 1)
	t.ended[batch]++
	return nil
}

// entriesOf lists the entries of a run whose first is known.
func (t *groupTx) entriesOf(batch, run, first int64) ([]int64, error) {
	rows, err := t.query(sqlEntries, batch, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []int64{first}
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}
