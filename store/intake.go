package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// IntakeChunk is a good number of lines for one call of [Store.AddLines]: the
// index that finds duplicates is written all over, so larger transactions
// write less, and this many lines still fit in a few megabytes.
const IntakeChunk = 10_000

// intakes holds what is only needed while a list is read: how many runs each
// host of a batch has so far.
type intakes struct {
	mu    sync.Mutex
	hosts map[int64]*sketch
}

func (i *intakes) of(batch int64) *sketch {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.hosts == nil {
		i.hosts = map[int64]*sketch{}
	}
	if i.hosts[batch] == nil {
		i.hosts[batch] = newSketch()
	}
	return i.hosts[batch]
}

func (i *intakes) drop(batch int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.hosts, batch)
}

// CreateBatch starts a batch in [StateIntake]. The error is [ErrReadOnly] or
// one of the database.
func (s *Store) CreateBatch(ctx context.Context, b NewBatch) (*Batch, error) {
	options := string(b.Options)
	if options == "" {
		options = "{}"
	}
	if !json.Valid([]byte(options)) {
		return nil, fmt.Errorf("create a batch: its options are not JSON")
	}
	id := s.now()
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		created := id
		for {
			res, err := tx.ExecContext(ctx, `INSERT INTO batches
				(id, name, state, note, class, sources, options, created_at, sealed_at, started_at, finished_at,
				 entries, duplicates, rejected, runs, open_runs)
				VALUES ($1, $2, 'intake', '', 'bulk', $3, $4, $5, 0, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING`,
				id, text(b.Name), encodeList(texts(b.Sources)), options, created)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n > 0 {
				return err
			}
			id++ // another batch of the same millisecond
		}
	})
	if err != nil {
		return nil, fmt.Errorf("create a batch: %w", err)
	}
	return s.Batch(ctx, batchID(id))
}

// runKey tells runs of one batch apart, siteKey sites for ever.
func runKey(target, readme string) []byte { return hashKey(target + "\x00" + readme) }
func siteKey(target string) []byte        { return hashKey(target) }

func hashKey(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:16]
}

// hostOf is the host of a serialised https URL.
func hostOf(target string) string {
	_, rest, ok := strings.Cut(target, "://")
	if !ok {
		rest = target
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// AddLines takes lines into a batch in [StateIntake]: all of them or none. An
// accepted line becomes an entry, and shares its run with earlier ones of the
// same target and README URL. The error is [ErrNotFound], or [ErrConflict] if
// the intake has ended.
func (s *Store) AddLines(ctx context.Context, id BatchID, lines []Line) (Added, error) {
	batch, err := id.number()
	if err != nil {
		return Added{}, err
	}
	var in *intakeTx
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		in = &intakeTx{ctx: ctx, tx: tx, batch: batch, hosts: s.intakes.of(batch)}
		return in.add(lines)
	})
	if err != nil {
		return Added{}, fmt.Errorf("add lines to batch %s: %w", id, err)
	}
	return in.added, nil
}

// intakeTx is one call of AddLines.
type intakeTx struct {
	ctx   context.Context
	tx    *sql.Tx
	batch int64
	hosts *sketch
	added Added
}

// wanted is a distinct run that lines of this call ask for.
type wanted struct {
	key  []byte
	line *Line
	run  int64
	new  bool
}

func (in *intakeTx) add(lines []Line) error {
	var state BatchState
	var entries, runs, rejected, sources int64
	var names string
	err := in.tx.QueryRowContext(in.ctx, `SELECT state, entries, runs, rejected, sources FROM batches WHERE id = $1`, in.batch).
		Scan(&state, &entries, &runs, &rejected, &names)
	if err == sql.ErrNoRows {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	if state != StateIntake {
		return fmt.Errorf("its list is complete (%s): %w", state, ErrConflict)
	}
	named, err := decodeList(names)
	if err != nil {
		return err
	}
	sources = int64(len(named))
	wants := map[string]*wanted{}
	of := make([]*wanted, len(lines)) // nil for rejected lines
	for i := range lines {
		l := &lines[i]
		if int64(l.Source) < 0 || int64(l.Source) >= max(sources, 1) {
			return fmt.Errorf("line %d names source %d of %d", l.Number, l.Source, sources)
		}
		if l.Reject != "" {
			continue
		}
		if l.Target == "" {
			return fmt.Errorf("line %d has neither a target nor a reason for rejection", l.Number)
		}
		key := runKey(l.Target, l.Readme)
		w := wants[string(key)]
		if w == nil {
			w = &wanted{key: key, line: l}
			wants[string(key)] = w
		}
		of[i] = w
	}
	if err := in.findRuns(wants); err != nil {
		return err
	}
	// New runs are numbered in the order of their lines.
	rows := newInserter(in.ctx, in.tx, `INSERT INTO runs (batch, n, target, readme, host, host_rank, state, due_at, enqueued_at,
		attempt, token, lost, kept, reopened, worker, lease_until) VALUES `, 16)
	var fresh []*wanted
	for _, w := range of {
		if w == nil || w.run != 0 {
			continue
		}
		runs++
		w.run, w.new = runs, true
		fresh = append(fresh, w)
		host := hostOf(w.line.Target)
		if err := rows.add(in.batch, w.run, w.line.Target, w.line.Readme, host, in.hosts.add(host), "queued", 0, 0,
			0, 0, 0, false, false, "", 0); err != nil {
			return err
		}
	}
	in.added.Runs = int64(len(fresh))
	if err := rows.flush(); err != nil {
		return err
	}
	// Keys in their own order touch each page of the index once.
	slices.SortFunc(fresh, func(a, b *wanted) int { return bytes.Compare(a.key, b.key) })
	keys := newInserter(in.ctx, in.tx, `INSERT INTO run_keys (batch, key, run) VALUES `, 3)
	for _, w := range fresh {
		if err := keys.add(in.batch, w.key, w.run); err != nil {
			return err
		}
	}
	if err := keys.flush(); err != nil {
		return err
	}
	if err := in.addEntries(lines, of, entries, rejected); err != nil {
		return err
	}
	_, err = in.tx.ExecContext(in.ctx, `UPDATE batches SET entries = entries + $1, duplicates = duplicates + $2,
		rejected = rejected + $3, runs = runs + $4, open_runs = open_runs + $4 WHERE id = $5`,
		in.added.Entries, in.added.Duplicates, in.added.Rejected, in.added.Runs, in.batch)
	return err
}

// findRuns looks up which of the wanted runs exist.
func (in *intakeTx) findRuns(wants map[string]*wanted) error {
	const most = 500
	keys := make([][]byte, 0, len(wants))
	for _, w := range wants {
		keys = append(keys, w.key)
	}
	slices.SortFunc(keys, bytes.Compare)
	for part := range slices.Chunk(keys, most) {
		args := make([]any, 0, most+1)
		args = append(args, in.batch)
		for _, k := range part {
			args = append(args, k)
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
			wants[string(key)].run = run
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (in *intakeTx) addEntries(lines []Line, of []*wanted, entries, rejected int64) error {
	accepted := newInserter(in.ctx, in.tx, `INSERT INTO entries (batch, n, run, source, line, input, ref, label, tags, notes) VALUES `, 10)
	refused := newInserter(in.ctx, in.tx, `INSERT INTO rejected (batch, n, source, line, input, reason) VALUES `, 6)
	tags := newInserter(in.ctx, in.tx, `INSERT INTO entry_words (batch, kind, word, entry) VALUES `, 4)
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
		if w := of[i]; !w.new || w.line != l {
			in.added.Duplicates++
		}
		listed := texts(l.Tags)
		err := accepted.add(in.batch, entries, of[i].run, l.Source, l.Number, text(l.Input), text(l.ID), text(l.Label),
			encodeList(listed), encodeList(texts(l.Notes)))
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
// runs is finished at once. The error is [ErrNotFound] or [ErrConflict].
func (s *Store) SealBatch(ctx context.Context, id BatchID) (*Batch, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	now := s.now()
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE batches SET sealed_at = $1,
			state       = CASE WHEN runs = 0 THEN 'finished' ELSE 'queued' END,
			finished_at = CASE WHEN runs = 0 THEN $1 ELSE 0 END,
			class       = CASE WHEN runs <= $2 THEN 'small' ELSE 'bulk' END
			WHERE id = $3 AND state = 'intake'`, now, s.o.SmallBatch, batch)
		if err != nil {
			return err
		}
		if err := changed(ctx, tx, res, batch); err != nil {
			return err
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
	return s.Batch(ctx, id)
}

// DiscardIntake empties a batch in [StateIntake], for instance one whose
// intake was interrupted, for a fresh start under the same id. The error is
// [ErrNotFound] or [ErrConflict].
func (s *Store) DiscardIntake(ctx context.Context, id BatchID) error {
	batch, err := id.number()
	if err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE batches SET entries = 0, duplicates = 0, rejected = 0, runs = 0, open_runs = 0
			WHERE id = $1 AND state = 'intake'`, batch)
		if err != nil {
			return err
		}
		if err := changed(ctx, tx, res, batch); err != nil {
			return err
		}
		for _, table := range []string{"entries", "entry_words", "rejected", "runs", "run_keys"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE batch = $1`, batch); err != nil {
				return err
			}
		}
		return nil
	})
	s.intakes.drop(batch)
	if err != nil {
		return fmt.Errorf("discard the intake of batch %s: %w", id, err)
	}
	return nil
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
