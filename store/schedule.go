package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ScheduleID names a schedule, in the same form as a [BatchID].
type ScheduleID string

// Schedule makes a batch of one list again and again. The store keeps when; the
// meaning of Cron is for others (package schedule of the workers).
type Schedule struct {
	ID   ScheduleID `json:"id"`
	Name string     `json:"name"`
	// Cron has five fields, Zone is the name of an IANA time zone.
	Cron string `json:"cron"`
	Zone string `json:"zone"`
	// Jitter bounds by how much a firing is put off, Spread is the time over
	// which the runs of its batch become due; both are whole milliseconds.
	Jitter time.Duration `json:"-"`
	Spread time.Duration `json:"-"`
	// Batch is the batch whose sites are audited, "" where Options say what.
	Batch BatchID `json:"batch"`
	// Sources and Options are those of the batches to be made. Sources that were
	// read from the store are plain ([PlainSource]); Options can hold secrets, in
	// the addresses of lists and receivers.
	Sources []string        `json:"sources"`
	Options json.RawMessage `json:"options"`
	// Webhook is where the ends of these batches are told, nil for nowhere. It
	// is not part of the JSON: a URL can hold a secret.
	Webhook *Webhook `json:"-"`
	Paused  bool     `json:"paused"`
	// Forced says that somebody asked for a firing now.
	Forced    bool      `json:"forced"`
	CreatedAt time.Time `json:"createdAt"`
	// NextDue is the next time by the expression, NextAt the same with jitter.
	NextDue time.Time `json:"nextDue"`
	NextAt  time.Time `json:"nextAt"`
	// The last firing: when it was due, when it was, how much later than it
	// should have been, and its batch; zero before the first. LastError says
	// why it made no batch to be audited, "" if it did.
	LastDue   time.Time     `json:"lastDue,omitzero"`
	LastAt    time.Time     `json:"lastAt,omitzero"`
	Late      time.Duration `json:"-"`
	LastBatch BatchID       `json:"lastBatch"`
	LastError string        `json:"lastError"`
	// Missed counts the times at which nobody fired it, in its whole life.
	Missed int64 `json:"missed"`
	// Filling says that the list of LastBatch is being read.
	Filling bool `json:"filling"`

	fence   int64
	sources []string // in full
}

// MarshalJSON adds jitterSeconds, spreadSeconds and lateSeconds.
func (v Schedule) MarshalJSON() ([]byte, error) {
	type plain Schedule
	return json.Marshal(struct {
		plain
		JitterSeconds float64 `json:"jitterSeconds"`
		SpreadSeconds float64 `json:"spreadSeconds"`
		LateSeconds   float64 `json:"lateSeconds"`
	}{plain(v), v.Jitter.Seconds(), v.Spread.Seconds(), v.Late.Seconds()})
}

const sqlSchedules = `SELECT id, name, cron, zone, jitter, spread, batch, sources, options, paused, forced, created_at,
	next_due, next_at, last_due, last_at, late, last_batch, last_error, missed, filling, fence, webhook FROM schedules `

func scanSchedule(r interface{ Scan(...any) error }, v *Schedule) error {
	var id, jitter, spread, batch, created, nextDue, nextAt, lastDue, lastAt, late, last int64
	var sources, options, webhook string
	err := r.Scan(&id, &v.Name, &v.Cron, &v.Zone, &jitter, &spread, &batch, &sources, &options, &v.Paused, &v.Forced, &created,
		&nextDue, &nextAt, &lastDue, &lastAt, &late, &last, &v.LastError, &v.Missed, &v.Filling, &v.fence, &webhook)
	if err != nil {
		return err
	}
	v.ID = ScheduleID(batchID(id))
	v.Jitter, v.Spread, v.Late = milliseconds(jitter), milliseconds(spread), milliseconds(late)
	if batch != 0 {
		v.Batch = batchID(batch)
	}
	if last != 0 {
		v.LastBatch = batchID(last)
	}
	v.Options, v.CreatedAt = json.RawMessage(options), instant(created)
	v.NextDue, v.NextAt, v.LastDue, v.LastAt = instant(nextDue), instant(nextAt), instant(lastDue), instant(lastAt)
	if v.Webhook, err = hookOf(webhook); err != nil {
		return err
	}
	v.sources, err = decodeList(sources)
	v.Sources = plainSources(v.sources)
	return err
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// stamp is a time as a column, 0 for the zero time.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// AddSchedule keeps a schedule: its name, what and when, with NextDue and
// NextAt; everything else is set here. The error is [ErrConflict] where the name
// is taken, and [ErrNotFound] where Batch is given and there is no such batch.
func (s *Store) AddSchedule(ctx context.Context, v Schedule) (*Schedule, error) {
	var batch int64
	if v.Batch != "" {
		if _, err := s.Batch(ctx, v.Batch); err != nil {
			return nil, fmt.Errorf("add a schedule: %w", err)
		}
		batch, _ = v.Batch.number()
	}
	options := string(v.Options)
	if options == "" {
		options = "{}"
	}
	if !json.Valid([]byte(options)) {
		return nil, errors.New("add a schedule: its options are not JSON")
	}
	webhook, err := hookText(v.Webhook)
	if err != nil {
		return nil, fmt.Errorf("add a schedule: %w", err)
	}
	id := s.now()
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		var taken bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM schedules WHERE name = $1)`, text(v.Name)).Scan(&taken); err != nil {
			return err
		}
		if taken {
			return fmt.Errorf("there is one of this name: %w", ErrConflict)
		}
		created := id
		for {
			res, err := tx.ExecContext(ctx, `INSERT INTO schedules (id, name, cron, zone, jitter, spread, batch, sources, options, paused, forced, created_at,
				next_due, next_at, last_due, last_at, late, last_batch, last_error, missed, filling, lease_until, fence, webhook)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, false, false, $10, $11, $12, 0, 0, 0, 0, '', 0, false, 0, 1, $13) ON CONFLICT (id) DO NOTHING`,
				id, text(v.Name), v.Cron, v.Zone, v.Jitter.Milliseconds(), v.Spread.Milliseconds(), batch, encodeList(texts(v.Sources)), options, created,
				stamp(v.NextDue), stamp(v.NextAt), webhook)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n > 0 {
				return err
			}
			id++ // another one of the same millisecond
		}
	})
	if err != nil {
		return nil, fmt.Errorf("add schedule %q: %w", v.Name, err)
	}
	return s.Schedule(ctx, ScheduleID(batchID(id)))
}

// Schedules lists all schedules by name.
func (s *Store) Schedules(ctx context.Context) ([]Schedule, error) {
	all, err := collect(ctx, s.read, sqlSchedules+`ORDER BY name, id`, nil, func(r *sql.Rows, v *Schedule) error { return scanSchedule(r, v) })
	if err != nil {
		return nil, fmt.Errorf("read the schedules: %w", err)
	}
	return all, nil
}

// Schedule reads one schedule. The error is [ErrNotFound].
func (s *Store) Schedule(ctx context.Context, id ScheduleID) (*Schedule, error) {
	n, err := BatchID(id).number()
	if err != nil {
		return nil, fmt.Errorf("schedule %.40q: %w", string(id), ErrNotFound)
	}
	var v Schedule
	err = scanSchedule(s.read.QueryRowContext(ctx, sqlSchedules+`WHERE id = $1`, n), &v)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("schedule %s: %w", id, ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("read schedule %s: %w", id, explain(err))
	}
	return &v, nil
}

// DueSchedules lists schedules that are to fire now, and those whose firing was
// cut short: they are Filling, and nobody holds their lease any more.
func (s *Store) DueSchedules(ctx context.Context) ([]Schedule, error) {
	all, err := collect(ctx, s.read, sqlSchedules+`WHERE (filling AND lease_until <= $1) OR (NOT filling AND next_at <= $1 AND (forced OR NOT paused))
		ORDER BY next_at, id`, []any{s.now()}, func(r *sql.Rows, v *Schedule) error { return scanSchedule(r, v) })
	if err != nil {
		return nil, fmt.Errorf("read the schedules: %w", err)
	}
	return all, nil
}

// ChangeSchedule gives a schedule another name, cron expression, zone, jitter,
// spread and next time; everything else of v is not looked at. The error is
// [ErrNotFound], or [ErrConflict] where the name is taken.
func (s *Store) ChangeSchedule(ctx context.Context, v Schedule) error {
	id, err := BatchID(v.ID).number()
	if err == nil {
		err = s.inTx(ctx, func(tx *sql.Tx) error {
			var taken bool
			if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM schedules WHERE name = $1 AND id <> $2)`, text(v.Name), id).Scan(&taken); err != nil {
				return err
			}
			if taken {
				return fmt.Errorf("there is one of this name: %w", ErrConflict)
			}
			res, err := tx.ExecContext(ctx, `UPDATE schedules SET name = $1, cron = $2, zone = $3, jitter = $4, spread = $5,
				next_due = $6, next_at = CASE WHEN forced THEN next_at ELSE cast($7 AS BIGINT) END, fence = fence + 1 WHERE id = $8`,
				text(v.Name), v.Cron, v.Zone, v.Jitter.Milliseconds(), v.Spread.Milliseconds(), stamp(v.NextDue), stamp(v.NextAt), id)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n > 0 {
				return err
			}
			return ErrNotFound
		})
	}
	if err != nil {
		return fmt.Errorf("change schedule %.40q: %w", string(v.ID), err)
	}
	return nil
}

// PauseSchedule lets a schedule rest; a firing that was asked for by hand
// ([Store.FireScheduleNow]) comes all the same. The error is [ErrNotFound], or
// [ErrConflict] if it does already.
func (s *Store) PauseSchedule(ctx context.Context, id ScheduleID) error {
	return s.changeSchedule(ctx, "pause", id, `SET paused = true, fence = fence + 1 WHERE id = $1 AND NOT paused`)
}

// ResumeSchedule goes on with a paused schedule, next at a time: what was due
// meanwhile is not made up for. The error is [ErrNotFound], or [ErrConflict] if
// it is not paused.
func (s *Store) ResumeSchedule(ctx context.Context, id ScheduleID, nextDue, nextAt time.Time) error {
	return s.changeSchedule(ctx, "resume", id, `SET paused = false, next_due = $2, next_at = CASE WHEN forced THEN next_at ELSE cast($3 AS BIGINT) END, fence = fence + 1 WHERE id = $1 AND paused`,
		stamp(nextDue), stamp(nextAt))
}

// FireScheduleNow asks for a firing as soon as a scheduler looks, also of a
// paused schedule. The error is [ErrNotFound], or [ErrConflict] while the list of
// the last firing is being read.
func (s *Store) FireScheduleNow(ctx context.Context, id ScheduleID) error {
	return s.changeSchedule(ctx, "run", id, `SET forced = true, next_at = $2, fence = fence + 1 WHERE id = $1 AND NOT filling`, s.now())
}

// RemoveSchedule forgets a schedule; its batches stay. The error is [ErrNotFound].
func (s *Store) RemoveSchedule(ctx context.Context, id ScheduleID) error {
	n, err := BatchID(id).number()
	if err == nil {
		err = s.inTx(ctx, func(tx *sql.Tx) error {
			res, err := tx.ExecContext(ctx, `DELETE FROM schedules WHERE id = $1`, n)
			if err != nil {
				return err
			}
			if gone, err := res.RowsAffected(); err != nil || gone > 0 {
				return err
			}
			return ErrNotFound
		})
	}
	if err != nil {
		return fmt.Errorf("remove schedule %.40q: %w", string(id), err)
	}
	return nil
}

// changeSchedule updates one schedule where it is in the right state.
func (s *Store) changeSchedule(ctx context.Context, verb string, id ScheduleID, set string, args ...any) error {
	n, err := BatchID(id).number()
	if err == nil {
		err = s.inTx(ctx, func(tx *sql.Tx) error {
			res, err := tx.ExecContext(ctx, `UPDATE schedules `+set, append([]any{n}, args...)...)
			if err != nil {
				return err
			}
			if done, err := res.RowsAffected(); err != nil || done > 0 {
				return err
			}
			var there bool
			if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM schedules WHERE id = $1)`, n).Scan(&there); err != nil {
				return err
			}
			if there {
				return ErrConflict
			}
			return ErrNotFound
		})
	}
	if err != nil {
		return fmt.Errorf("%s schedule %.40q: %w", verb, string(id), err)
	}
	return nil
}
