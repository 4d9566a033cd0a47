package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
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
	// Class is the way of its batch through the queue.
	Class Class
	// Options are those of the batch.
	Options json.RawMessage

	batch, n int64
	entry    int64
	token    int64
	reopened bool
	ended    atomic.Bool
	// unsure says that it is not known whether FinishRun has written: the
	// database went away meanwhile.
	unsure atomic.Bool
}

const (
	sqlClaimRead = `SELECT r.entry, r.target, r.readme, r.host, r.state, r.due_at, r.attempt, r.token, r.lost, r.kept, r.reopened, r.lease_until,
		b.state, b.class, b.options FROM runs r JOIN batches b ON b.id = r.batch WHERE r.batch = $1 AND r.n = $2`
	// What was read must still hold: another may claim the run at the same time.
	sqlClaim = `UPDATE runs SET state = 'running', token = $1, lost = $2, worker = $3, lease_until = $4
		WHERE batch = $5 AND n = $6 AND token = $7 AND state = $8`
	sqlStart    = `UPDATE batches SET state = 'running', started_at = $1 WHERE id = $2 AND state = 'queued'`
	sqlKeptRead = `SELECT enc, body FROM run_kept WHERE batch = $1 AND run = $2`
	sqlHeld     = `UPDATE runs SET state = $1, due_at = $2, enqueued_at = 0, attempt = attempt + $3, lost = 0, kept = $4, worker = '', lease_until = 0
		WHERE batch = $5 AND n = $6 AND token = $7 AND state = 'running'`
	sqlKeep = `INSERT INTO run_kept (batch, run, enc, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (batch, run) DO UPDATE SET enc = excluded.enc, body = excluded.body`
	sqlUnkeep      = `DELETE FROM run_kept WHERE batch = $1 AND run = $2`
	sqlEntries     = `SELECT n FROM entries WHERE batch = $1 AND run = $2 AND dup = true ORDER BY n`
	sqlEntryResult = `INSERT INTO entry_results (batch, entry, run, outcome, reason, finished_at, took) VALUES ($1, $2, $3, $4, $5, $6, $7)`
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
	op := &claiming{id: id, worker: worker, lease: lease, batch: batch, n: n}
	if err := s.group.do(ctx, &groupOp{batch: batch, n: n, first: op.read, then: op.write, answer: op.answer}); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	s.group.held.Add(1)
	return op.c, nil
}

// claiming is one ClaimRun on its way.
type claiming struct {
	id       RunID
	worker   string
	lease    time.Duration
	batch, n int64

	c               *Claim // nil until its run is found
	state           string
	due, leaseUntil int64
	kept            bool
	batchState      BatchState
	options         string
	won             bool
}

func (op *claiming) read(t *groupTx) error {
	op.c, op.won = nil, false
	return t.ask(sqlClaimRead, func(scan func(...any) error) error {
		c := &Claim{Run: op.id, Worker: op.worker, batch: op.batch, n: op.n}
		op.c = c
		return scan(&c.entry, &c.Target, &c.Readme, &c.Host, &op.state, &op.due, &c.Attempt, &c.token, &c.Lost,
			&op.kept, &c.reopened, &op.leaseUntil, &op.batchState, &c.Class, &op.options)
	}, op.batch, op.n)
}

func (op *claiming) write(t *groupTx) error {
	c := op.c
	switch {
	case c == nil:
		return fmt.Errorf("run %s: %w", op.id, ErrNotFound)
	case op.batchState != StateQueued && op.batchState != StateRunning:
		return stale(op.id, "its batch is "+string(op.batchState))
	case op.state == "done" || op.state == "cancelled":
		return stale(op.id, "it is "+op.state)
	case op.state == "running" && op.leaseUntil > t.now:
		return stale(op.id, "another worker is at it")
	case op.state == "waiting" && op.due > t.now:
		return stale(op.id, "its next attempt is not due")
	case op.state == "running":
		c.Lost++
	}
	was := c.token
	c.Attempt++
	c.token++
	c.Options = json.RawMessage(op.options)
	if op.kept {
		err := t.ask(sqlKeptRead, func(scan func(...any) error) (err error) {
			var p packed
			if err := scan(&p.enc, &p.body); err != nil {
				return err
			}
			c.Kept, err = t.s.codec.unpackKept(p)
			return err
		}, op.batch, op.n)
		if err != nil {
			return err
		}
	}
	if op.batchState == StateQueued {
		t.started[op.batch] = true
	}
	return t.send(sqlClaim, func(rows int64) error { op.won = rows > 0; return nil },
		c.token, c.Lost, op.worker, t.now+op.lease.Milliseconds(), op.batch, op.n, was, op.state)
}

func (op *claiming) answer() error {
	if !op.won {
		return stale(op.id, "another worker was faster")
	}
	return nil
}

// Halted returns those of some claims whose batch was paused or cancelled since.
// They still hold.
func (s *Store) Halted(ctx context.Context, claims []*Claim) ([]*Claim, error) {
	halts := map[int64]bool{}
	var out []*Claim
	for _, c := range claims {
		halted, known := halts[c.batch]
		if !known {
			var state BatchState
			err := s.read.QueryRowContext(ctx, sqlBatchState, c.batch).Scan(&state)
			if err != nil && !errors.Is(err, sql.ErrNoRows) { // a deleted batch goes on nowhere
				return nil, fmt.Errorf("look whether batches go on: %w", explain(err))
			}
			halted = state != StateQueued && state != StateRunning
			halts[c.batch] = halted
		}
		if halted {
			out = append(out, c)
		}
	}
	return out, nil
}

// end says that the claim will be written no more, or once again after a
// failure.
func (c *Claim) end(g *grouper) {
	if c.ended.CompareAndSwap(false, true) {
		g.held.Add(-1)
	}
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
	defer c.end(s.group)
	op := &giving{Claim: c, due: due.UnixMilli(), counted: counted, keep: keep}
	if err := s.group.do(ctx, &groupOp{batch: c.batch, n: c.n, first: op.free, then: op.write}); err != nil {
		return fmt.Errorf("give back: %w", err)
	}
	return nil
}

// giving is one run on its way back.
type giving struct {
	*Claim
	due     int64
	counted int
	keep    packed

	batchState BatchState
	held       bool
}

func (op *giving) free(t *groupTx) error {
	err := t.ask(sqlBatchState, func(scan func(...any) error) error { return scan(&op.batchState) }, op.batch)
	if err != nil {
		return err
	}
	state := "waiting"
	if op.due <= t.now {
		state = "queued"
	}
	return t.send(sqlHeld, func(rows int64) error { op.held = rows > 0; return nil },
		state, op.due, op.counted, op.Kept != nil || op.keep.body != nil, op.batch, op.n, op.token)
}

func (op *giving) write(t *groupTx) error {
	switch {
	case !op.held:
		return stale(op.Run, "it is in other hands")
	case op.batchState == StateCancelled:
		return t.cancelRun(op.batch, op.n, op.entry)
	case op.keep.body != nil:
		return t.send(sqlKeep, nil, op.batch, op.n, op.keep.enc, op.keep.body)
	}
	return nil
}

const sqlCancelRun = `UPDATE runs SET state = 'cancelled', kept = false, worker = '', lease_until = 0 WHERE batch = $1 AND n = $2`

const sqlBatchState = `SELECT state FROM batches WHERE id = $1`

// cancelRun gives an open run its final rows without a result.
func (t *groupTx) cancelRun(batch, n, first int64) error {
	if err := t.send(sqlCancelRun, nil, batch, n); err != nil {
		return err
	}
	if err := t.send(sqlUnkeep, nil, batch, n); err != nil {
		return err
	}
	entries := []int64{first}
	rows, err := t.query(sqlEntries, batch, n)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e int64
		if err := rows.Scan(&e); err != nil {
			return err
		}
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, e := range entries {
		if err := t.send(sqlEntryResult, nil, batch, e, n, string(Cancelled), "", 0, 0); err != nil {
			return err
		}
	}
	t.count(batch, kindOutcome, string(Cancelled), "", int64(len(entries)), 1)
	t.ended[batch]++
	return nil
}
