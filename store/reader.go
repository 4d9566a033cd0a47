package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	// ReaderBeat is how often a process that reads lists says that it lives.
	ReaderBeat = 20 * time.Second
	// readerSilent is how long after its last sign of life nobody is known to
	// read a list any more: longer than a database may be frozen or restarted.
	readerSilent = 5 * time.Minute
	// readerGone is when a list is given up. Until then a run that was
	// interrupted can be taken up again.
	readerGone = 24 * time.Hour
)

const (
	noteSilent = "nobody reads its list any more: whoever did was stopped. Hand the list over again (or go on with agentaudit run --resume, where the list is a file), and cancel this batch"
	noteGone   = "its list was not read to its end: whoever read it was stopped more than a day ago. Hand the list over again"
)

// sqlReadOn is the note of a batch whose list is read on.
const sqlReadOn = `CASE WHEN note = '` + noteSilent + `' THEN '' ELSE note END`

// sqlSeen is when somebody read the list last, as far as is known: a program that
// does not know signs of life gives none.
const sqlSeen = `CASE WHEN read_at > created_at THEN read_at ELSE created_at END`

// startReaders says of the lists that this process reads that somebody does.
func (s *Store) startReaders() {
	s.readers = regularly(ReaderBeat, func(ctx context.Context) {
		if err := s.beatIntakes(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.LogAttrs(ctx, slog.LevelDebug, "no sign of life of who reads a list", slog.Any("err", err))
		}
	})
}

// beatIntakes gives a sign of life for each list that this process reads.
func (s *Store) beatIntakes(ctx context.Context) error {
	batches := s.intakes.all()
	if len(batches) == 0 {
		return nil
	}
	return s.inTx(ctx, func(tx *sql.Tx) error {
		for batch, memory := range batches {
			res, err := tx.ExecContext(ctx, `UPDATE batches SET read_at = $1, note = `+sqlReadOn+` WHERE id = $2 AND state = 'intake' AND NOT held AND reader = $3`,
				s.now(), batch, memory.reader)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			if n == 0 { // others ended the batch, or read its list anew
				s.intakes.dropThis(batch, memory)
			}
		}
		return nil
	})
}

// ReaderSeen is when whoever reads the list of a batch in [StateIntake] last gave
// a sign of life, which comes each [ReaderBeat]. The error is [ErrNotFound].
func (s *Store) ReaderSeen(ctx context.Context, id BatchID) (time.Time, error) {
	batch, err := id.number()
	if err != nil {
		return time.Time{}, err
	}
	var seen int64
	err = s.read.QueryRowContext(ctx, `SELECT `+sqlSeen+` FROM batches WHERE id = $1`, batch).Scan(&seen)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look whether somebody reads the list of batch %s: %w", id, explain(err))
	}
	return instant(seen), nil
}

// TendIntakes looks after batches in [StateIntake] whose list was not read to
// its end and whose reader has given no sign of life for some minutes: their
// note says so and, when it has said so for a while and a day is over, they are
// cancelled. It returns the batches that were noted or cancelled by this call.
func (s *Store) TendIntakes(ctx context.Context) (silent, cancelled []BatchID, err error) {
	now := s.now()
	silentSince, goneSince := now-readerSilent.Milliseconds(), now-readerGone.Milliseconds()
	type row struct {
		id, readAt int64
		noted      bool
	}
	rows, err := collect(ctx, s.read, `SELECT id, seen, note = $2 FROM
		(SELECT id, note, `+sqlSeen+` AS seen FROM batches WHERE state = 'intake' AND NOT held) b
		WHERE seen < $1 AND (note <> $2 OR seen < $3) ORDER BY id`,
		[]any{silentSince, noteSilent, goneSince}, func(r *sql.Rows, v *row) error { return r.Scan(&v.id, &v.readAt, &v.noted) })
	if err != nil {
		return nil, nil, fmt.Errorf("look for lists that nobody reads: %w", err)
	}
	for _, r := range rows {
		// Not at once: after a day without a database, who reads the list may be
		// about to give a sign of life.
		gone := r.noted && r.readAt < goneSince
		var still bool
		err := s.inTx(ctx, func(tx *sql.Tx) error {
			if err := s.d.lockToSteer(ctx, tx, r.id); err != nil {
				return err
			}
			// Whoever reads it may have come back, or another process was here.
			res, err := tx.ExecContext(ctx, `UPDATE batches SET note = $1 WHERE id = $2 AND state = 'intake' AND NOT held AND read_at <= $3 AND (note = $1) = $4`,
				noteSilent, r.id, r.readAt, r.noted)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			still = n > 0
			return err
		})
		if err == nil && still && gone {
			err = s.CancelBatch(ctx, batchID(r.id), noteGone)
			if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
				still, err = false, nil
			}
		}
		switch {
		case err != nil:
			return silent, cancelled, fmt.Errorf("tend batch %s, whose list nobody reads: %w", batchID(r.id), err)
		case !still:
		case gone:
			cancelled = append(cancelled, batchID(r.id))
		default:
			silent = append(silent, batchID(r.id))
		}
	}
	return silent, cancelled, nil
}
