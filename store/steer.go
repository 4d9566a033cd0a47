package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// steer runs one step on a batch.
func (s *Store) steer(ctx context.Context, verb string, id BatchID, f func(t *groupTx, batch int64) error) error {
	batch, err := id.number()
	if err == nil {
		err = s.inLongTx(ctx, func(tx *sql.Tx) error {
			if err := s.d.lockToSteer(ctx, tx, batch); err != nil {
				return err
			}
			t := s.newGroupTx(ctx, tx)
			if err := f(t, batch); err != nil {
				return err
			}
			return t.flush()
		})
	}
	if err != nil {
		return fmt.Errorf("%s batch %s: %w", verb, id, err)
	}
	return nil
}

// PauseBatch stops handing out the runs of a batch; what is under way ends. The
// note says why. The error is [ErrNotFound], or [ErrConflict] for a batch that
// is neither queued nor running.
func (s *Store) PauseBatch(ctx context.Context, id BatchID, note string) error {
	return s.steer(ctx, "pause", id, func(t *groupTx, batch int64) error {
		res, err := t.tx.ExecContext(ctx, `UPDATE batches SET state = 'paused', note = $1 WHERE id = $2 AND state IN ('queued', 'running')`, note, batch)
		if err != nil {
			return err
		}
		if err := changed(ctx, t.tx, res, batch); err != nil {
			return err
		}
		_, err = t.exec(`UPDATE runs SET state = 'queued', enqueued_at = 0 WHERE batch = $1 AND state = 'enqueued'`, batch)
		return err
	})
}

// ResumeBatch undoes [Store.PauseBatch]. The error is [ErrNotFound], or
// [ErrConflict] for a batch that is not paused.
func (s *Store) ResumeBatch(ctx context.Context, id BatchID) error {
	return s.steer(ctx, "resume", id, func(t *groupTx, batch int64) error {
		res, err := t.tx.ExecContext(ctx, `UPDATE batches SET note = '',
			state = CASE WHEN started_at > 0 THEN 'running' ELSE 'queued' END WHERE id = $1 AND state = 'paused'`, batch)
		if err != nil {
			return err
		}
		return changed(ctx, t.tx, res, batch)
	})
}

// open are the states of runs that nobody holds.
const open = `('queued', 'waiting', 'enqueued')`

// CancelBatch ends a batch. Runs that nobody holds are cancelled: their entries
// get rows with [Cancelled] for an outcome, and no result. Runs under way still
// get theirs. The error is [ErrNotFound], or [ErrConflict] for a batch that has
// ended.
func (s *Store) CancelBatch(ctx context.Context, id BatchID, note string) error {
	err := s.steer(ctx, "cancel", id, func(t *groupTx, batch int64) error {
		res, err := t.tx.ExecContext(ctx, `UPDATE batches SET state = 'cancelled', note = $1, finished_at = $2
			WHERE id = $3 AND state IN ('intake', 'queued', 'running', 'paused')`, note, t.now, batch)
		if err != nil {
			return err
		}
		if err := changed(ctx, t.tx, res, batch); err != nil {
			return err
		}
		entries, err := t.exec(`INSERT INTO entry_results (batch, entry, run, outcome, reason)
			SELECT e.batch, e.n, e.run, 'cancelled', '' FROM entries e CROSS JOIN runs r
			WHERE e.batch = $1 AND r.batch = e.batch AND r.n = e.run AND r.state IN `+open+` ORDER BY e.n`, batch)
		if err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM run_kept WHERE batch = $1 AND run IN
			(SELECT n FROM runs WHERE batch = $1 AND state IN `+open+`)`, batch); err != nil {
			return err
		}
		runs, err := t.exec(`UPDATE runs SET state = 'cancelled', kept = false WHERE batch = $1 AND state IN `+open, batch)
		if err != nil {
			return err
		}
		t.count(batch, kindOutcome, string(Cancelled), "", entries, runs)
		t.ended[batch] += runs
		return nil
	})
	if batch, bad := id.number(); err == nil && bad == nil {
		s.intakes.drop(batch)
	}
	return err
}

// RetryBatch opens the selected runs of a batch again, in place, and returns
// how many: they leave the rows and counters and start with attempt 1, and a
// batch that had ended goes on. Their old results stay readable by run, and
// count for their sites, until the new ones replace them. The error is
// [ErrNotFound], or [ErrConflict] for a batch whose list is still being read.
func (s *Store) RetryBatch(ctx context.Context, id BatchID, sel Selection) (int64, error) {
	var reopened int64
	err := s.steer(ctx, "retry", id, func(t *groupTx, batch int64) error {
		var state BatchState
		err := t.tx.QueryRowContext(ctx, sqlBatchState, batch).Scan(&state)
		if err == sql.ErrNoRows {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if state == StateIntake {
			return fmt.Errorf("its list is still being read: %w", ErrConflict)
		}
		where, args := sel.where(batch)
		if reopened, err = t.reopen(batch, where, args); err != nil || reopened == 0 {
			return err
		}
		// The new end of the batch is told, too.
		if _, err := t.exec(`DELETE FROM webhook_changes WHERE batch = $1`, batch); err != nil {
			return err
		}
		_, err = t.exec(`UPDATE webhooks SET state = '`+hookWaiting+`', round = round + 1, position = 0, tally = '{}' WHERE batch = $1`, batch)
		return err
	})
	return reopened, err
}

// where is the condition for what is selected of entry_results x, with $1 for
// the batch.
func (sel Selection) where(batch int64) (where string, args []any) {
	where, args = "x.batch = $1", []any{batch}
	for _, c := range []struct {
		column string
		words  []string
	}{{"outcome", words(sel.Outcomes)}, {"reason", words(sel.Reasons)}} {
		if len(c.words) > 0 {
			where += " AND x." + c.column + " IN " + placeholders(len(args)+1, len(c.words))
			for _, w := range c.words {
				args = append(args, w)
			}
		}
	}
	return where, args
}

// reopen opens the runs behind rows of entry_results x again.
func (t *groupTx) reopen(batch int64, where string, args []any) (int64, error) {
	type row struct {
		name, sub     string
		entries, runs int64
	}
	scan := func(r *sql.Rows, v *row) error { return r.Scan(&v.name, &v.sub, &v.entries, &v.runs) }
	outcomes, err := collect(t.ctx, t.tx, `SELECT x.outcome, x.reason, count(*), count(DISTINCT x.run) FROM entry_results x
		WHERE `+where+` GROUP BY x.outcome, x.reason`, args, scan)
	if err != nil {
		return 0, err
	}
	checks, err := collect(t.ctx, t.tx, `SELECT c.check_class, c.status, count(*), count(DISTINCT x.run)
		FROM entry_results x JOIN entry_checks c ON c.batch = x.batch AND c.entry = x.entry
		WHERE `+where+` GROUP BY c.check_class, c.status`, args, scan)
	if err != nil {
		return 0, err
	}
	agents, err := collect(t.ctx, t.tx, `SELECT r.agents, x.outcome, count(*), count(DISTINCT x.run)
		FROM entry_results x JOIN results r ON r.batch = x.batch AND r.run = x.run
		WHERE `+where+` AND r.agents <> '' AND x.outcome <> '`+string(Cancelled)+`' GROUP BY r.agents, x.outcome`, args, scan)
	if err != nil {
		return 0, err
	}
	var runs int64
	for _, o := range outcomes {
		t.count(batch, kindOutcome, o.name, "", -o.entries, -o.runs)
		if o.name != string(Cancelled) {
			t.count(batch, kindReason, o.sub, o.name, -o.entries, -o.runs)
		}
		runs += o.runs
	}
	for _, a := range agents {
		t.count(batch, kindAgents, a.name, a.sub, -a.entries, -a.runs)
	}
	for _, c := range checks {
		t.count(batch, kindCheck, c.name, c.sub, -c.entries, -c.runs)
	}
	if runs == 0 {
		return 0, nil
	}
	for _, q := range []string{
		`UPDATE runs SET state = 'queued', due_at = 0, enqueued_at = 0, attempt = 0, lost = 0, reopened = true
			WHERE batch = $1 AND n IN (SELECT x.run FROM entry_results x WHERE ` + where + `)`,
		`DELETE FROM entry_checks WHERE batch = $1 AND entry IN (SELECT x.entry FROM entry_results x WHERE ` + where + `)`,
		`DELETE FROM entry_results AS x WHERE ` + where,
	} {
		if _, err := t.exec(q, args...); err != nil {
			return 0, err
		}
	}
	// The new outcomes are told, too, where they differ from those told before.
	if _, err := t.exec(`UPDATE listing_sources SET told = 0 WHERE batch = $1`, batch); err != nil {
		return 0, err
	}
	_, err = t.exec(`UPDATE batches SET open_runs = open_runs + $1, finished_at = 0,
		note  = CASE WHEN state = 'paused' THEN note ELSE '' END,
		state = CASE WHEN state = 'paused' THEN 'paused' WHEN started_at > 0 THEN 'running' ELSE 'queued' END
		WHERE id = $2`, runs, batch)
	return runs, err
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = strings.TrimSpace(string(w))
	}
	return out
}
