package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"agentaudit/audit/report"
)

const batchColumns = `id, name, state, note, class, sources, options, created_at, sealed_at, started_at, finished_at,
	entries, duplicates, rejected, runs, open_runs, held`

func scanBatch(scan func(...any) error, b *Batch) error {
	var id, created, sealed, started, finished int64
	var sources, options string
	err := scan(&id, &b.Name, &b.State, &b.Note, &b.Class, &sources, &options, &created, &sealed, &started, &finished,
		&b.Entries, &b.Duplicates, &b.Rejected, &b.Runs, &b.OpenRuns, &b.Held)
	if err != nil {
		return err
	}
	b.ID, b.Options = batchID(id), json.RawMessage(options)
	b.CreatedAt, b.SealedAt, b.StartedAt, b.FinishedAt = instant(created), instant(sealed), instant(started), instant(finished)
	b.Sources, err = decodeList(sources)
	b.Sources, b.Origin = list(plainSources(b.Sources)), hashKey(sources)
	return err
}

// snapshot runs f in one read transaction, so that numbers which belong
// together are of one moment.
func (s *Store) snapshot(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.d.snapshot})
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback()
	return explain(f(tx))
}

// Batch reads one batch with its counts. The error is [ErrNotFound].
func (s *Store) Batch(ctx context.Context, id BatchID) (*Batch, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	list, err := s.batches(ctx, `WHERE id = $1`, batch)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read batch %s: %w", id, err)
	}
	return &list[0], nil
}

// Batches lists up to limit batches, newest first, older than before ("" =
// from the newest).
func (s *Store) Batches(ctx context.Context, before BatchID, limit int) ([]Batch, error) {
	upTo := int64(1) << 62
	if before != "" {
		var err error
		if upTo, err = before.number(); err != nil {
			return nil, err
		}
	}
	list, err := s.batches(ctx, `WHERE id < $1 ORDER BY id DESC LIMIT $2`, upTo, limit)
	if err != nil {
		return nil, fmt.Errorf("list batches: %w", err)
	}
	return list, nil
}

// LatestUnfinished is the newest batch whose state is [BatchState.Open]. The
// error is [ErrNotFound] if there is none.
func (s *Store) LatestUnfinished(ctx context.Context) (*Batch, error) {
	list, err := s.batches(ctx, `WHERE state IN ('intake', 'queued', 'running', 'paused') ORDER BY id DESC LIMIT 1`)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("look for an unfinished batch: %w", err)
	}
	return &list[0], nil
}

func (s *Store) batches(ctx context.Context, where string, args ...any) (list []Batch, err error) {
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		list, err = readBatches(ctx, tx, where, args...)
		return err
	})
	return list, err
}

func readBatches(ctx context.Context, tx *sql.Tx, where string, args ...any) ([]Batch, error) {
	list, err := collect(ctx, tx, `SELECT `+batchColumns+` FROM batches `+where, args,
		func(r *sql.Rows, b *Batch) error { return scanBatch(r.Scan, b) })
	if err != nil {
		return nil, err
	}
	for i := range list {
		b := &list[i]
		batch, err := b.ID.number()
		if err != nil {
			return nil, err
		}
		counts, err := collect(ctx, tx, `SELECT name, entries, runs FROM counts WHERE batch = $1 AND kind = 'outcome' AND runs <> 0`,
			[]any{batch}, func(r *sql.Rows, v *outcomeCount) error { return r.Scan(&v.outcome, &v.Entries, &v.Runs) })
		if err != nil {
			return nil, err
		}
		b.Outcomes = make(map[report.Outcome]Count, len(counts))
		for _, c := range counts {
			b.Outcomes[c.outcome] = c.Count
		}
	}
	return list, nil
}

type outcomeCount struct {
	outcome report.Outcome
	Count
}

// TopReasons lists up to limit pairs of outcome and reason, the most frequent
// first.
func (s *Store) TopReasons(ctx context.Context, id BatchID, limit int) ([]ReasonCount, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	return s.reasons(ctx, batch, limit)
}

func (s *Store) reasons(ctx context.Context, batch int64, limit int) ([]ReasonCount, error) {
	all, err := collect(ctx, s.read, `SELECT sub, name, entries, runs FROM counts WHERE batch = $1 AND kind = 'reason' AND runs > 0
		ORDER BY entries DESC, runs DESC, name, sub LIMIT $2`, []any{batch, limit},
		func(r *sql.Rows, v *ReasonCount) error { return r.Scan(&v.Outcome, &v.Reason, &v.Entries, &v.Runs) })
	if err != nil {
		return nil, fmt.Errorf("count reasons: %w", err)
	}
	return all, nil
}

// AgentsCounts counts the verdicts over agents.txt by outcome; sites without
// such an audit are in none.
func (s *Store) AgentsCounts(ctx context.Context, id BatchID) ([]AgentsCount, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	all, err := collect(ctx, s.read, `SELECT name, sub, entries, runs FROM counts WHERE batch = $1 AND kind = 'agents' AND runs > 0
		ORDER BY name, sub`, []any{batch},
		func(r *sql.Rows, v *AgentsCount) error { return r.Scan(&v.Verdict, &v.Outcome, &v.Entries, &v.Runs) })
	if err != nil {
		return nil, fmt.Errorf("count verdicts over agents.txt: %w", err)
	}
	return all, nil
}

// TopChecks lists up to limit checks that fail and then those that warn, each
// the most frequent first.
func (s *Store) TopChecks(ctx context.Context, id BatchID, limit int) ([]CheckCount, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	all, err := collect(ctx, s.read, `SELECT name, sub, entries, runs FROM counts WHERE batch = $1 AND kind = 'check' AND runs > 0
		ORDER BY sub, entries DESC, name LIMIT $2`, []any{batch, limit},
		func(r *sql.Rows, v *CheckCount) error { return r.Scan(&v.Check, &v.Status, &v.Entries, &v.Runs) })
	if err != nil {
		return nil, fmt.Errorf("count checks: %w", err)
	}
	return all, nil
}

// RejectedLines lists up to limit rejected lines of a batch whose number is
// above after (0 = from the first).
func (s *Store) RejectedLines(ctx context.Context, id BatchID, after int64, limit int) ([]Rejected, error) {
	b, err := s.Batch(ctx, id)
	if err != nil {
		return nil, err
	}
	batch, _ := id.number()
	all, err := collect(ctx, s.read, `SELECT n, source, line, input, reason FROM rejected WHERE batch = $1 AND n > $2 ORDER BY n LIMIT $3`,
		[]any{batch, after, limit}, func(r *sql.Rows, v *Rejected) error {
			var source int
			err := r.Scan(&v.N, &source, &v.Line, &v.Input, &v.Reason)
			v.Source = sourceName(b.Sources, source)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("list rejected lines of batch %s: %w", id, err)
	}
	return all, nil
}

// sourceName is the name of a list; sources are plain already.
func sourceName(sources []string, i int) string {
	if i < 0 || i >= len(sources) {
		return ""
	}
	return sources[i]
}
