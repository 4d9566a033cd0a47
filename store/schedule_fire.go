package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Firing is one firing of a schedule, held by who reads its list.
type Firing struct {
	// Schedule is as it was seen due. Due is the time that the firing is for, and
	// Late how much later it is than it should have been.
	Schedule *Schedule
	Due      time.Time
	Late     time.Duration
	// Missed counts times since the last firing at which nobody fired.
	Missed int64
	// NextDue and NextAt are the following time, without and with jitter.
	NextDue, NextAt time.Time
	// Lease is how long the firing holds without a sign of life.
	Lease time.Duration

	batch int64
	fence int64
}

// Fire takes a firing for the caller and makes its batch, in one step: one of
// all who see the schedule due gets it, the others [ErrStale]. A schedule that
// was Filling gets a new batch for the same firing, and the old one is dropped;
// Due, Late, Missed and the next times are then not looked at. The caller reads
// the list, and ends with [Store.EndFiring].
func (s *Store) Fire(ctx context.Context, f *Firing) (*Batch, error) {
	v := f.Schedule
	id, err := BatchID(v.ID).number()
	if err != nil {
		return nil, err
	}
	now := s.now()
	complete := false
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		if v.Filling {
			// Who was at it may have come to the end of the list, and no further.
			var err error
			if complete, err = endComplete(ctx, tx, v, id); err != nil || complete {
				return err
			}
		}
		var err error
		if f.batch, err = insertBatch(ctx, tx, NewBatch{Name: v.Name, Sources: v.sources, Options: v.Options, Webhook: v.Webhook}, now); err != nil {
			return err
		}
		query := `UPDATE schedules SET filling = true, lease_until = $1, last_batch = $2, last_error = '', fence = fence + 1`
		args := []any{now + f.Lease.Milliseconds(), f.batch, id, v.fence}
		where := ` WHERE id = $3 AND fence = $4 AND filling AND lease_until <= $5`
		if v.Filling {
			args = append(args, now)
		} else {
			query += `, forced = false, last_due = $5, last_at = $6, late = $7, missed = missed + $8, next_due = $9, next_at = $10`
			args = append(args, stamp(f.Due), now, max(f.Late, 0).Milliseconds(), f.Missed, stamp(f.NextDue), stamp(f.NextAt))
			where = ` WHERE id = $3 AND fence = $4 AND NOT filling`
		}
		res, err := tx.ExecContext(ctx, query+where, args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return ErrStale // and the batch goes with the transaction
	})
	if err == nil && complete {
		err = ErrStale
	}
	if err != nil {
		return nil, fmt.Errorf("fire schedule %s: %w", v.ID, err)
	}
	f.fence = v.fence + 1
	s.intakes.begin(f.batch, 0)
	if v.Filling && v.LastBatch != "" {
		// Whoever was at it finds its batch gone.
		if err := s.RemoveIntake(ctx, v.LastBatch); err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrConflict) {
			s.o.Log.WarnContext(ctx, "the batch of a firing that was cut short was not removed", "batch", v.LastBatch, "err", err)
		}
	}
	return s.Batch(ctx, batchID(f.batch))
}

// endComplete ends a firing whose batch has its list, or was cancelled.
func endComplete(ctx context.Context, tx *sql.Tx, v *Schedule, id int64) (bool, error) {
	batch, err := v.LastBatch.number()
	if err != nil {
		return false, err
	}
	var state BatchState
	err = tx.QueryRowContext(ctx, `SELECT state FROM batches WHERE id = $1`, batch).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) || err == nil && state == StateIntake {
		return false, nil
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE schedules SET filling = false WHERE id = $1 AND fence = $2 AND filling`, id, v.fence)
	}
	return err == nil, err
}

// RenewFiring keeps a firing for another lease. The error is [ErrStale] where
// others have taken it over, or the schedule was removed.
func (s *Store) RenewFiring(ctx context.Context, f *Firing) error {
	return s.holdFiring(ctx, f, "renew", `lease_until = $3`, s.now()+f.Lease.Milliseconds())
}

// ReleaseFiring gives a firing to whoever looks next, because its holder stops.
// The error is that of [Store.RenewFiring].
func (s *Store) ReleaseFiring(ctx context.Context, f *Firing) error {
	return s.holdFiring(ctx, f, "release", `lease_until = $3`, s.now())
}

// EndFiring says that the batch is in the hands of the workers, or why there is
// none to be audited. The error is that of [Store.RenewFiring].
func (s *Store) EndFiring(ctx context.Context, f *Firing, trouble string) error {
	return s.holdFiring(ctx, f, "end", `filling = false, last_error = $3`, text(trouble))
}

func (s *Store) holdFiring(ctx context.Context, f *Firing, verb, set string, arg any) error {
	id, err := BatchID(f.Schedule.ID).number()
	if err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		// Pausing and the like move the fence; only another firing moves the batch.
		res, err := tx.ExecContext(ctx, `UPDATE schedules SET `+set+` WHERE id = $1 AND last_batch = $2 AND filling`, id, f.batch, arg)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return ErrStale
	})
	if err != nil {
		return fmt.Errorf("%s the firing of schedule %s: %w", verb, f.Schedule.ID, err)
	}
	return nil
}

// SpreadRuns lets the runs of a batch in [StateIntake] become due one after the
// other, evenly over a time from now on. The error is [ErrNotFound] or
// [ErrConflict].
func (s *Store) SpreadRuns(ctx context.Context, id BatchID, over time.Duration) error {
	batch, err := id.number()
	if err != nil {
		return err
	}
	err = s.inLongTx(ctx, func(tx *sql.Tx) error {
		if err := s.d.lockToSteer(ctx, tx, batch); err != nil {
			return err
		}
		var runs int64
		var state BatchState
		err := tx.QueryRowContext(ctx, `SELECT runs, state FROM batches WHERE id = $1`, batch).Scan(&runs, &state)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotFound
		case err != nil:
			return err
		case state != StateIntake:
			return fmt.Errorf("its list is complete (%s): %w", state, ErrConflict)
		case runs == 0:
			return nil
		}
		_, err = tx.ExecContext(ctx, `UPDATE runs SET state = 'waiting', due_at = $1 + (n - 1) * $2 / $3 WHERE batch = $4 AND state = 'queued'`,
			s.now(), over.Milliseconds(), runs, batch)
		return err
	})
	if err != nil {
		return fmt.Errorf("spread the runs of batch %s: %w", id, err)
	}
	return nil
}
