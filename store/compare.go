package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"

	"agentaudit/audit/report"
)

// Change says what became of a site between two batches.
type Change string

// The changes. Only definite outcomes can be better or worse than each other:
// where one of the two is unchecked or cancelled there is no verdict.
const (
	// Repair: successful where it was partial or failed, or partial where it
	// was failed. Regression is the contrary.
	Repair     Change = "repair"
	Regression Change = "regression"
	// StillFailing: failed both times. Unchanged: another outcome both times.
	StillFailing Change = "still-failing"
	Unchanged    Change = "unchanged"
	NoVerdict    Change = "no-verdict"
	// OnlyBefore and OnlyAfter: in one of the two lists alone.
	OnlyBefore Change = "only-before"
	OnlyAfter  Change = "only-after"
	// Pending: in both lists, but without a final result in one of them yet.
	Pending Change = "pending"
)

// Changes lists all changes, those that ask for action first.
var Changes = []Change{Regression, Repair, StillFailing, Unchanged, NoVerdict, Pending, OnlyBefore, OnlyAfter}

// comparedOutcomes gives outcomes small numbers: 0 is no final result, and of
// definite outcomes the better has the larger.
var comparedOutcomes = []report.Outcome{"", report.OutcomeFailed, report.OutcomePartial, report.OutcomeSuccessful, report.OutcomeUnchecked, Cancelled}

// Pair is one run in two batches. A run is the same when its target and README
// URL are. An ID is "" where that batch lacks the run, an outcome is "" where
// it has no final result.
type Pair struct {
	Before, After               RunID
	OutcomeBefore, OutcomeAfter report.Outcome
	Change                      Change
}

// Comparison is what changed from one batch to another, of the moment when it
// was made. It holds about ten bytes for each run.
type Comparison struct {
	Before, After BatchID
	before, after int64
	pairs         []pair // in the order of the later list; what only the earlier has stands behind
}

type pair struct {
	before, after uint32 // numbers of runs, 0 for none
	was, is       uint8  // indexes into comparedOutcomes
}

func (p pair) change() Change {
	was, is := comparedOutcomes[p.was], comparedOutcomes[p.is]
	definite := func(o report.Outcome) bool { return o != report.OutcomeUnchecked && o != Cancelled }
	switch {
	case p.after == 0:
		return OnlyBefore
	case p.before == 0:
		return OnlyAfter
	case was == "" || is == "":
		return Pending
	case !definite(was) || !definite(is):
		return NoVerdict
	case p.was < p.is:
		return Repair
	case p.was > p.is:
		return Regression
	case was == report.OutcomeFailed:
		return StillFailing
	}
	return Unchanged
}

// Compare sets the runs of two batches against each other. It reads both lists
// once: about a tenth of a second for 20,000 runs. The error is [ErrNotFound],
// or [ErrConflict] for a batch whose list was not read to its end.
func (s *Store) Compare(ctx context.Context, before, after BatchID) (*Comparison, error) {
	c := &Comparison{Before: before, After: after}
	err := s.snapshot(ctx, func(tx *sql.Tx) error {
		if s.d.wholeLists != "" {
			if _, err := tx.ExecContext(ctx, s.d.wholeLists); err != nil {
				return err
			}
		}
		var was, is []uint8
		for _, x := range []struct {
			id       BatchID
			number   *int64
			outcomes *[]uint8
		}{{before, &c.before, &was}, {after, &c.after, &is}} {
			var err error
			if *x.number, err = x.id.number(); err != nil {
				return err
			}
			if *x.outcomes, err = outcomesOfRuns(ctx, tx, *x.number); err != nil {
				return fmt.Errorf("batch %s: %w", x.id, err)
			}
		}
		same, err := sameRuns(ctx, tx, c.before, c.after, len(is))
		if err != nil {
			return err
		}
		both := make([]bool, len(was))
		for n := 1; n < len(is); n++ {
			p := pair{before: same[n], after: uint32(n), is: is[n]}
			if p.before != 0 {
				p.was, both[p.before] = was[p.before], true
			}
			c.pairs = append(c.pairs, p)
		}
		for n := 1; n < len(was); n++ {
			if !both[n] {
				c.pairs = append(c.pairs, pair{before: uint32(n), was: was[n]})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compare batch %s with %s: %w", before, after, err)
	}
	return c, nil
}

// outcomesOfRuns is the final outcome of every run of a batch by its number.
func outcomesOfRuns(ctx context.Context, tx *sql.Tx, batch int64) ([]uint8, error) {
	var runs, sealed int64
	err := tx.QueryRowContext(ctx, `SELECT runs, sealed_at FROM batches WHERE id = $1`, batch).Scan(&runs, &sealed)
	if err == sql.ErrNoRows {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if sealed == 0 {
		return nil, fmt.Errorf("its list was not read to the end: %w", ErrConflict)
	}
	number := "CASE outcome"
	for i, o := range comparedOutcomes {
		number += fmt.Sprintf(" WHEN '%s' THEN %d", o, i)
	}
	rows, err := tx.QueryContext(ctx, `SELECT run, `+number+` END FROM entry_results WHERE batch = $1`, batch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make([]uint8, runs+1)
	for rows.Next() {
		var n int64
		var o uint8
		if err := rows.Scan(&n, &o); err != nil {
			return nil, err
		}
		all[n] = o
	}
	return all, rows.Err()
}

// sameRuns says for each run of the later batch which run of the earlier one
// it repeats. Both sides come in the order of the keys.
func sameRuns(ctx context.Context, tx *sql.Tx, before, after int64, runs int) ([]uint32, error) {
	rows, err := tx.QueryContext(ctx, `SELECT a.run, b.run FROM run_keys a CROSS JOIN run_keys b WHERE a.batch = $1 AND b.batch = $2 AND b.key = a.key`, before, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	same := make([]uint32, runs)
	for rows.Next() {
		var a, b int64
		if err := rows.Scan(&a, &b); err != nil {
			return nil, err
		}
		same[b] = uint32(a)
	}
	return same, rows.Err()
}

// Counts is the number of runs behind each change.
func (c *Comparison) Counts() map[Change]int64 {
	counts := map[Change]int64{}
	for _, p := range c.pairs {
		counts[p.change()]++
	}
	return counts
}

// Matrix counts the runs that have a final result in both batches, by their
// outcome before and then after.
func (c *Comparison) Matrix() map[report.Outcome]map[report.Outcome]int64 {
	var sums [8][8]int64
	for _, p := range c.pairs {
		if p.before != 0 && p.after != 0 {
			sums[p.was][p.is]++
		}
	}
	m := map[report.Outcome]map[report.Outcome]int64{}
	for i, was := range comparedOutcomes[1:] {
		m[was] = map[report.Outcome]int64{}
		for j, is := range comparedOutcomes[1:] {
			m[was][is] = sums[i+1][j+1]
		}
	}
	return m
}

// Pairs walks over the runs behind a change from position on (0 is the first),
// in the order of the later list. It gives each with the position behind it.
func (c *Comparison) Pairs(change Change, from int) iter.Seq2[int, Pair] {
	return func(yield func(int, Pair) bool) {
		for i := max(from, 0); i < len(c.pairs); i++ {
			p := c.pairs[i]
			if p.change() != change {
				continue
			}
			full := Pair{OutcomeBefore: comparedOutcomes[p.was], OutcomeAfter: comparedOutcomes[p.is], Change: change}
			if p.before != 0 {
				full.Before = runID(c.before, int64(p.before))
			}
			if p.after != 0 {
				full.After = runID(c.after, int64(p.after))
			}
			if !yield(i+1, full) {
				return
			}
		}
	}
}

// RunResult is a run with its result; Outcome is "" where it has none.
type RunResult struct {
	// Target is the URL of the profile, Label what the first entry of the run
	// is called.
	Target string
	Label  string
	SiteResult
}

// RunResults reads runs of one batch, in the order of ids. Runs that were
// opened again show their last result. The error is [ErrNotFound] if one does
// not exist or is of another batch.
func (s *Store) RunResults(ctx context.Context, id BatchID, ids []RunID) ([]RunResult, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	found := map[RunID]RunResult{}
	for part := range slices.Chunk(ids, maxParams) {
		args := []any{batch}
		for _, run := range part {
			of, n, err := run.numbers()
			if err != nil || of != batch {
				return nil, fmt.Errorf("run %s of batch %s: %w", run, id, ErrNotFound)
			}
			args = append(args, n)
		}
		rows, err := collect(ctx, s.read, `SELECT r.n, r.target, e.label, coalesce(s.outcome, ''), coalesce(s.reason, ''), coalesce(s.detail, ''),
			coalesce(s.failing, '[]'), coalesce(s.warning, '[]'), coalesce(s.attempts, 0), coalesce(s.finished_at, 0)
			FROM runs r JOIN entries e ON e.batch = r.batch AND e.n = r.entry LEFT JOIN results s ON s.batch = r.batch AND s.run = r.n
			WHERE r.batch = $1 AND r.n IN `+placeholders(2, len(part)), args, func(r *sql.Rows, v *RunResult) error {
			var n, finished int64
			var failing, warning string
			err := r.Scan(&n, &v.Target, &v.Label, &v.Outcome, &v.Reason, &v.Detail, &failing, &warning, &v.Attempts, &finished)
			if err != nil {
				return err
			}
			v.Run, v.FinishedAt = runID(batch, n), instant(finished)
			if v.Failing, err = decodeList(failing); err != nil {
				return err
			}
			v.Warning, err = decodeList(warning)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read runs of batch %s: %w", id, err)
		}
		for _, r := range rows {
			found[r.Run] = r
		}
	}
	all := make([]RunResult, len(ids))
	for i, run := range ids {
		r, ok := found[run]
		if !ok {
			return nil, fmt.Errorf("run %s: %w", run, ErrNotFound)
		}
		all[i] = r
	}
	return all, nil
}

// ParseChange reads one of [Changes].
func ParseChange(s string) (Change, error) {
	if c := Change(s); slices.Contains(Changes, c) {
		return c, nil
	}
	words := make([]string, len(Changes))
	for i, c := range Changes {
		words[i] = string(c)
	}
	return "", fmt.Errorf("%.40q is no change; there are %s", s, strings.Join(words, ", "))
}
