package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
)

// groupTx is a transaction with what it changes in rows that many others change
// too: counters, batches, sites. These are written once and at its end, so that
// their locks are held for a moment only.
type groupTx struct {
	pipe
	s       *Store
	now     int64
	counts  map[countKey]Count
	ended   map[int64]int64 // runs that got their final row, by batch
	started map[int64]bool  // batches whose first run is claimed
	results []*finish       // to be taken into their sites
}

type countKey struct {
	batch           int64
	kind, name, sub string
}

// The kinds of counters and words.
const (
	kindOutcome = "outcome"
	kindReason  = "reason"
	kindCheck   = "check"
	kindAgents  = "agents"
	kindHost    = "host"
	kindLabel   = "label"
	kindRef     = "ref"
	kindTag     = "tag"
	// allSites is the batch number under which the present state of all sites
	// is counted.
	allSites = 0
)

func (s *Store) newGroupTx(ctx context.Context, tx *sql.Tx) *groupTx {
	return &groupTx{pipe: pipe{ctx: ctx, tx: tx}, s: s, now: s.now(),
		counts: map[countKey]Count{}, ended: map[int64]int64{}, started: map[int64]bool{}}
}

func (t *groupTx) count(batch int64, kind, name, sub string, entries, runs int64) {
	k := countKey{batch, kind, name, sub}
	c := t.counts[k]
	t.counts[k] = Count{c.Entries + entries, c.Runs + runs}
}

const (
	sqlCount = `INSERT INTO counts (batch, kind, name, sub, entries, runs) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (batch, kind, name, sub) DO UPDATE SET entries = counts.entries + excluded.entries, runs = counts.runs + excluded.runs`
	sqlEnded  = `UPDATE batches SET open_runs = open_runs - $1 WHERE id = $2`
	sqlFinish = `UPDATE batches SET state = 'finished', finished_at = $1, note = ''
		WHERE id = $2 AND open_runs = 0 AND state IN ('queued', 'running', 'paused')`
)

// flush writes what stands for the end: sites, counters, and batches, which
// finish with their last run. All in one order, so that two transactions cannot
// wait for each other.
func (t *groupTx) flush() error {
	if err := t.updateSites(); err != nil {
		return err
	}
	for _, k := range slices.SortedFunc(maps.Keys(t.counts), compareCounts) {
		c := t.counts[k]
		if c == (Count{}) {
			continue
		}
		if err := t.send(sqlCount, nil, k.batch, k.kind, k.name, k.sub, c.Entries, c.Runs); err != nil {
			return err
		}
	}
	touched := maps.Clone(t.started)
	for batch := range t.ended {
		touched[batch] = true
	}
	for _, batch := range slices.Sorted(maps.Keys(touched)) {
		if t.started[batch] {
			if err := t.send(sqlStart, nil, t.now, batch); err != nil {
				return err
			}
		}
		if n := t.ended[batch]; n != 0 {
			if err := t.send(sqlEnded, nil, n, batch); err != nil {
				return err
			}
			if err := t.send(sqlFinish, nil, t.now, batch); err != nil {
				return err
			}
		}
	}
	return t.sync()
}

func compareCounts(a, b countKey) int {
	return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name), cmp.Compare(a.sub, b.sub))
}
