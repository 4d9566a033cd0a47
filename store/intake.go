package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// IntakeChunk is a good number of lines for one call of [Store.AddLines]: the
// index that finds duplicates is written all over, so larger transactions
// write less, and this many lines still fit in a few megabytes.
const IntakeChunk = 10_000

// CreateBatch starts a batch in [StateIntake]. The error is [ErrReadOnly] or
// one of the database.
func (s *Store) CreateBatch(ctx context.Context, b NewBatch) (*Batch, error) {
	var id int64
	err := s.inTx(ctx, func(tx *sql.Tx) (err error) {
		id, err = insertBatch(ctx, tx, b, s.now())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create a batch: %w", err)
	}
	s.intakes.begin(id, 0)
	return s.Batch(ctx, batchID(id))
}

// insertBatch makes the row of a batch; its id is the time, or a little more
// where another batch has that.
func insertBatch(ctx context.Context, tx *sql.Tx, b NewBatch, now int64) (id int64, err error) {
	options := string(b.Options)
	if options == "" {
		options = "{}"
	}
	if !json.Valid([]byte(options)) {
		return 0, errors.New("its options are not JSON")
	}
	for id = now; ; id++ {
		res, err := tx.ExecContext(ctx, `INSERT INTO batches
			(id, name, state, note, class, sources, options, created_at, sealed_at, started_at, finished_at,
			 entries, duplicates, rejected, runs, open_runs, read_at)
			VALUES ($1, $2, 'intake', '', 'bulk', $3, $4, $5, 0, 0, 0, 0, 0, 0, 0, 0, $5) ON CONFLICT (id) DO NOTHING`,
			id, text(b.Name), encodeList(texts(b.Sources)), options, now)
		if err != nil {
			return 0, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return 0, err
		}
		if n > 0 {
			return id, insertHook(ctx, tx, id, b.Webhook)
		}
	}
}

// AddLines takes lines into a batch in [StateIntake]: all of them or none. An
// accepted line becomes an entry, and shares its run with earlier ones of the
// same target and README URL. The error is [ErrNotFound], or [ErrConflict] if
// the intake has ended, or was interrupted and must be discarded first.
func (s *Store) AddLines(ctx context.Context, id BatchID, lines []Line) (Added, error) {
	return s.addLines(ctx, id, func(*sql.Tx, *sql.Conn) ([]Line, error) { return lines, nil })
}

// addLines adds what lines gives, in the same transaction as what that does.
func (s *Store) addLines(ctx context.Context, id BatchID, lines func(*sql.Tx, *sql.Conn) ([]Line, error)) (Added, error) {
	batch, err := id.number()
	if err != nil {
		return Added{}, err
	}
	in := &intakeTx{ctx: ctx, batch: batch, memory: s.intakes.get(batch)}
	if in.memory != nil {
		in.memory.mu.Lock()
		defer in.memory.mu.Unlock()
	}
	err = s.inConnTx(ctx, s.long, func(tx *sql.Tx, conn *sql.Conn) error {
		in.tx, in.conn, in.added, in.fresh = tx, conn, Added{}, nil
		if err := s.d.lockToSteer(ctx, tx, batch); err != nil {
			return err
		}
		listed, err := lines(tx, conn)
		if err != nil {
			return err
		}
		return in.add(listed)
	})
	if err != nil {
		return Added{}, fmt.Errorf("add lines to batch %s: %w", id, err)
	}
	for _, w := range in.fresh {
		in.memory.keys[w.key] = w.run
	}
	if len(in.memory.keys) > s.o.IntakeKeys {
		if err := s.inConnTx(ctx, s.long, func(tx *sql.Tx, conn *sql.Conn) error { return in.memory.flush(ctx, tx, conn, batch) }); err != nil {
			return Added{}, fmt.Errorf("add lines to batch %s: %w", id, err)
		}
		in.memory.clear()
	}
	return in.added, nil
}

// intakeTx is one call of AddLines.
type intakeTx struct {
	ctx    context.Context
	tx     *sql.Tx
	conn   *sql.Conn
	batch  int64
	memory *intakeMemory // nil after an interruption
	added  Added
	fresh  []*wanted
}

// wanted is a distinct run that lines of this call ask for.
type wanted struct {
	key   [16]byte
	line  *Line
	run   int64
	entry int64 // of a new run
}

func (in *intakeTx) add(lines []Line) error {
	var state BatchState
	var entries, runs, rejected, reader int64
	var names string
	var held bool
	err := in.tx.QueryRowContext(in.ctx, `SELECT state, entries, runs, rejected, sources, held, reader FROM batches WHERE id = $1`, in.batch).
		Scan(&state, &entries, &runs, &rejected, &names, &held, &reader)
	if err == sql.ErrNoRows {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	if state == StateCancelled {
		return fmt.Errorf("it was cancelled meanwhile: %w", ErrConflict)
	}
	if state != StateIntake {
		return fmt.Errorf("its list is complete (%s): %w", state, ErrConflict)
	}
	if held {
		return fmt.Errorf("its list is complete (waiting to be confirmed): %w", ErrConflict)
	}
	if err := in.memory.current(reader); err != nil {
		return err
	}
	sources, err := decodeList(names)
	if err != nil {
		return err
	}
	wants := map[[16]byte]*wanted{}
	of := make([]*wanted, len(lines)) // nil for rejected lines
	n := entries
	for i := range lines {
		l := &lines[i]
		if l.Source < 0 || l.Source >= max(len(sources), 1) {
			return fmt.Errorf("line %d names source %d of %d", l.Number, l.Source, len(sources))
		}
		if l.Reject != "" {
			continue
		}
		if l.Target == "" {
			return fmt.Errorf("line %d has neither a target nor a reason for rejection", l.Number)
		}
		n++
		key := runKey(l.Target, l.Readme)
		w := wants[key]
		if w == nil {
			w = &wanted{key: key, line: l, entry: n, run: in.memory.keys[key]}
			wants[key] = w
		}
		of[i] = w
	}
	if in.memory.flushed {
		if err := in.findRuns(wants); err != nil {
			return err
		}
	}
	// New runs are numbered in the order of their lines.
	rows := newInserter(in.ctx, in.tx, in.conn, "runs", "batch, n, entry, target, readme, host, host_rank",
		constant{"state", "queued"}, constant{"due_at", 0}, constant{"enqueued_at", 0}, constant{"attempt", 0}, constant{"token", 0}, constant{"lost", 0},
		constant{"kept", false}, constant{"reopened", false}, constant{"worker", ""}, constant{"lease_until", 0})
	for _, w := range of {
		if w == nil || w.run != 0 {
			continue
		}
		runs++
		w.run = runs
		in.fresh = append(in.fresh, w)
		host := hostOf(w.line.Target)
		if err := rows.add(in.batch, w.run, w.entry, w.line.Target, w.line.Readme, host, in.memory.hosts.add(host)); err != nil {
			return err
		}
	}
	in.added.Runs = int64(len(in.fresh))
	if err := rows.flush(); err != nil {
		return err
	}
	for _, w := range wants {
		if w.run <= runs-in.added.Runs {
			w.entry = 0 // an older run, which has its first entry
		}
	}
	if err := in.addEntries(lines, of, entries, rejected); err != nil {
		return err
	}
	_, err = in.tx.ExecContext(in.ctx, `UPDATE batches SET entries = entries + $1, duplicates = duplicates + $2,
		rejected = rejected + $3, runs = runs + $4, open_runs = open_runs + $4 WHERE id = $5`,
		in.added.Entries, in.added.Duplicates, in.added.Rejected, in.added.Runs, in.batch)
	return err
}

// findRuns looks up in run_keys which of the wanted runs exist.
func (in *intakeTx) findRuns(wants map[[16]byte]*wanted) error {
	var keys [][16]byte
	for k, w := range wants {
		if w.run == 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	for part := range slices.Chunk(keys, maxParams) {
		args := make([]any, 0, maxParams+1)
		args = append(args, in.batch)
		for i := range part {
			args = append(args, part[i][:])
		}
		rows, err := in.tx.QueryContext(in.ctx, `SELECT key, run FROM run_keys WHERE batch = $1 AND key IN `+placeholders(2, len(part)), args...)
		if err != nil {
			return err
		}
		for rows.Next() {
			var key sql.RawBytes
			var run int64
			if err := rows.Scan(&key, &run); err != nil {
				rows.Close()
				return err
			}
			wants[[16]byte(key)].run = run
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (in *intakeTx) addEntries(lines []Line, of []*wanted, entries, rejected int64) error {
	accepted := newInserter(in.ctx, in.tx, in.conn, "entries", "batch, n, run, source, line, input, ref, label, tags, notes, dup")
	refused := newInserter(in.ctx, in.tx, in.conn, "rejected", "batch, n, source, line, input, reason")
	tags := newInserter(in.ctx, in.tx, in.conn, "entry_words", "batch, kind, word, entry")
	for i := range lines {
		l := &lines[i]
		if of[i] == nil {
			rejected++
			in.added.Rejected++
			if err := refused.add(in.batch, rejected, l.Source, l.Number, text(l.Input), text(l.Reject)); err != nil {
				return err
			}
			continue
		}
		entries++
		in.added.Entries++
		dup := of[i].entry != entries
		if dup {
			in.added.Duplicates++
		}
		listed := texts(l.Tags)
		err := accepted.add(in.batch, entries, of[i].run, l.Source, l.Number, text(l.Input), text(l.ID), text(l.Label),
			encodeList(listed), encodeList(texts(l.Notes)), dup)
		if err != nil {
			return err
		}
		for j, tag := range listed {
			if slices.Contains(listed[:j], tag) {
				continue
			}
			if err := tags.add(in.batch, kindTag, tag, entries); err != nil {
				return err
			}
		}
	}
	for _, x := range []*inserter{accepted, refused, tags} {
		if err := x.flush(); err != nil {
			return err
		}
	}
	return nil
}

// SealBatch ends the intake and opens the batch to workers. A batch without
// runs is finished at once. It is for who read the list, and knows that it was
// read to its end; all others take [Store.SealHeld]. The error is [ErrNotFound]
// or [ErrConflict].
func (s *Store) SealBatch(ctx context.Context, id BatchID) (*Batch, error) {
	return s.seal(ctx, id, false)
}

// SealHeld is [Store.SealBatch] for a list that is held: one that is still being
// read is not audited by halves, but gives [ErrConflict].
func (s *Store) SealHeld(ctx context.Context, id BatchID) (*Batch, error) {
	return s.seal(ctx, id, true)
}

func (s *Store) seal(ctx context.Context, id BatchID, heldOnly bool) (*Batch, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	now := s.now()
	memory := s.intakes.get(batch)
	if memory != nil {
		memory.mu.Lock()
		defer memory.mu.Unlock()
	}
	err = s.inConnTx(ctx, s.long, func(tx *sql.Tx, conn *sql.Conn) error {
		if err := s.d.lockToSteer(ctx, tx, batch); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `UPDATE batches SET sealed_at = $1, note = `+sqlReadOn+`,
			state       = CASE WHEN runs = 0 THEN 'finished' ELSE 'queued' END,
			finished_at = CASE WHEN runs = 0 THEN cast($1 AS BIGINT) ELSE 0 END,
			class       = CASE WHEN runs <= $2 THEN 'small' ELSE 'bulk' END
			WHERE id = $3 AND state = 'intake'`, now, s.o.SmallBatch, batch)
		if err != nil {
			return err
		}
		if err := changed(ctx, tx, res, batch); err != nil {
			return err
		}
		if memory != nil {
			if err := wantReader(ctx, tx, batch, memory); err != nil {
				return err
			}
		}
		if heldOnly {
			if err := s.wantHeld(ctx, tx, batch); err != nil {
				return err
			}
		}
		if memory == nil {
			if memory, err = s.heldMemory(ctx, tx, conn, batch); err != nil {
				return err
			}
		}
		if err := memory.flush(ctx, tx, conn, batch); err != nil {
			return err
		}
		if s.d.sortSmall != "" {
			if _, err := tx.ExecContext(ctx, s.d.sortSmall); err != nil {
				return err
			}
			defer tx.ExecContext(ctx, s.d.sortAsBefore)
		}
		// Sorted, so that they are written from one end to the other.
		for _, q := range []string{
			`INSERT INTO entry_words (batch, kind, word, entry) SELECT e.batch, 'host', r.host, e.n
				FROM entries e CROSS JOIN runs r WHERE e.batch = $1 AND r.batch = e.batch AND r.n = e.run ORDER BY r.host, e.n`,
			`INSERT INTO entry_words (batch, kind, word, entry) SELECT batch, 'label', lower(label), n
				FROM entries WHERE batch = $1 AND label <> '' ORDER BY lower(label), n`,
			`INSERT INTO entry_words (batch, kind, word, entry) SELECT batch, 'ref', lower(ref), n
				FROM entries WHERE batch = $1 AND ref <> '' ORDER BY lower(ref), n`,
		} {
			if _, err := tx.ExecContext(ctx, q, batch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("end the intake of batch %s: %w", id, err)
	}
	s.intakes.drop(batch)
	b, err := s.Batch(ctx, id)
	if err == nil && s.d.analyze != "" && b.Runs >= IntakeChunk {
		// The batch is sealed whatever comes of this.
		if _, err := s.long.ExecContext(ctx, s.d.analyze); err != nil {
			s.o.Log.WarnContext(ctx, "tables not analysed after an intake", "batch", id, "err", err)
		}
	}
	return b, err
}

// wantHeld gives [ErrConflict] for a list that is not held.
func (s *Store) wantHeld(ctx context.Context, tx *sql.Tx, batch int64) error {
	var held bool
	err := tx.QueryRowContext(ctx, `SELECT held FROM batches WHERE id = $1`, batch).Scan(&held)
	switch {
	case err == sql.ErrNoRows:
		return ErrNotFound
	case err != nil || held:
		return err
	case s.intakes.get(batch) != nil:
		return fmt.Errorf("its list is still being read: %w", ErrConflict)
	}
	return fmt.Errorf("its intake was interrupted and must begin again: %w", ErrConflict)
}

// heldMemory makes the memory of an intake anew for a list that is held.
func (s *Store) heldMemory(ctx context.Context, tx *sql.Tx, conn *sql.Conn, batch int64) (*intakeMemory, error) {
	if err := s.wantHeld(ctx, tx, batch); err != nil {
		return nil, err
	}
	return s.remember(ctx, tx, conn, batch)
}

// DiscardIntake empties a batch in [StateIntake], for instance one whose
// intake was interrupted, for a fresh start under the same id. The error is
// [ErrNotFound] or [ErrConflict].
func (s *Store) DiscardIntake(ctx context.Context, id BatchID) error {
	batch, err := id.number()
	if err != nil {
		return err
	}
	var reader int64
	err = s.inLongTx(ctx, func(tx *sql.Tx) (err error) {
		reader, err = s.emptyIntake(ctx, tx, batch, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("discard the intake of batch %s: %w", id, err)
	}
	s.intakes.begin(batch, reader)
	return nil
}

// AbandonIntake gives up the list of a batch in [StateIntake] that cannot be
// read to its end: what was read is removed, and the batch is cancelled with a
// note. Where another process began to read the list anew, or ended the batch,
// there is nothing to give up. Nobody is said to read the list any more, also
// where the database does not answer.
func (s *Store) AbandonIntake(ctx context.Context, id BatchID, note string) error {
	batch, err := id.number()
	if err != nil {
		return err
	}
	memory := s.intakes.get(batch)
	if memory != nil {
		memory.mu.Lock()
		defer memory.mu.Unlock()
		defer s.intakes.dropThis(batch, memory)
	}
	err = s.inLongTx(ctx, func(tx *sql.Tx) error {
		_, err := s.emptyIntake(ctx, tx, batch, memory)
		return err
	})
	if err == nil {
		err = s.CancelBatch(ctx, id, note)
	}
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("give up the intake of batch %s: %w", id, err)
	}
	return nil
}

// current gives [ErrConflict] unless the reading is the one with a number.
func (m *intakeMemory) current(reader int64) error {
	switch {
	case m == nil:
		return fmt.Errorf("its intake was interrupted and must begin again: %w", ErrConflict)
	case m.reader != reader:
		return fmt.Errorf("another process has begun to read its list anew: %w", ErrConflict)
	}
	return nil
}

// wantReader gives [ErrConflict] where a list is read by others now.
func wantReader(ctx context.Context, tx *sql.Tx, batch int64, m *intakeMemory) error {
	var reader int64
	err := tx.QueryRowContext(ctx, `SELECT reader FROM batches WHERE id = $1`, batch).Scan(&reader)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	return m.current(reader)
}

// emptyIntake removes what was read, and returns the number of a new reading. The
// error is [ErrConflict] unless the reading is own, where that is not nil.
func (s *Store) emptyIntake(ctx context.Context, tx *sql.Tx, batch int64, own *intakeMemory) (reader int64, err error) {
	if err := s.d.lockToSteer(ctx, tx, batch); err != nil {
		return 0, err
	}
	if own != nil {
		if err := wantReader(ctx, tx, batch, own); err != nil {
			return 0, err
		}
	}
	res, err := tx.ExecContext(ctx, `UPDATE batches SET entries = 0, duplicates = 0, rejected = 0, runs = 0, open_runs = 0, held = false,
		reader = reader + 1, read_at = $2, note = `+sqlReadOn+` WHERE id = $1 AND state = 'intake'`, batch, s.now())
	if err != nil {
		return 0, err
	}
	if err := changed(ctx, tx, res, batch); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE listing_sources SET position = '' WHERE batch = $1`, batch); err != nil {
		return 0, err
	}
	for _, table := range []string{"entries", "entry_words", "rejected", "runs", "run_keys", "listings"} {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE batch = $1`, batch); err != nil {
			return 0, err
		}
	}
	return reader, tx.QueryRowContext(ctx, `SELECT reader FROM batches WHERE id = $1`, batch).Scan(&reader)
}

// changed says why an update of a batch in a certain state met no row.
func changed(ctx context.Context, tx *sql.Tx, res sql.Result, batch int64) error {
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	var state BatchState
	err := tx.QueryRowContext(ctx, `SELECT state FROM batches WHERE id = $1`, batch).Scan(&state)
	if err == sql.ErrNoRows {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("it is %s: %w", state, ErrConflict)
}
