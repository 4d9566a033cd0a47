package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"agentaudit/audit/report"
)

const (
	sqlSitesRead = `SELECT key, outcome, reason, since, batch, run, checked_at, definite, definite_batch, definite_run, definite_at, results
		FROM sites WHERE key IN `
	sqlSiteInsert = `INSERT INTO sites (key, target, host, outcome, reason, since, batch, run, checked_at,
		definite, definite_batch, definite_run, definite_at, results)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (key) DO NOTHING`
	sqlSiteUpdate = `UPDATE sites SET outcome = $1, reason = $2, since = $3, batch = $4, run = $5, checked_at = $6,
		definite = $7, definite_batch = $8, definite_run = $9, definite_at = $10, results = $11 WHERE key = $12`
	sqlSiteHistory = `SELECT batch, run, outcome, reason, finished_at FROM results WHERE site = $1 ORDER BY finished_at, batch, run`
)

// siteState is the row of a site without its name.
type siteState struct {
	outcome    report.Outcome
	reason     report.Reason
	since      int64
	batch, run int64
	checkedAt  int64
	definite   report.Outcome
	defBatch   int64
	defRun     int64
	defAt      int64
	results    int64

	known, changed bool
	// before is what the counters say of the site.
	outcomeBefore report.Outcome
	reasonBefore  report.Reason
}

// add takes in the next result in time.
func (s *siteState) add(batch, run int64, o report.Outcome, r report.Reason, at int64) {
	if s.outcome != o {
		s.since = at
	}
	s.outcome, s.reason, s.batch, s.run, s.checkedAt = o, r, batch, run, at
	if o != report.OutcomeUnchecked {
		s.definite, s.defBatch, s.defRun, s.defAt = o, batch, run, at
	}
	s.results++
}

// sitesAtOnce is how many sites one statement reads.
const sitesAtOnce = 64

// updateSites takes the results of the transaction, whose rows are written,
// into their sites.
func (t *groupTx) updateSites() error {
	if len(t.results) == 0 {
		return nil
	}
	// Sites are locked in the order of their keys; two results of one site are
	// taken in as they came.
	slices.SortStableFunc(t.results, func(a, b *finish) int { return bytes.Compare(a.site, b.site) })
	sites := make(map[string]*siteState, len(t.results))
	for part := range slices.Chunk(t.results, sitesAtOnce) {
		if err := t.readSites(part, sites); err != nil {
			return err
		}
	}
	if err := t.sync(); err != nil {
		return err
	}
	for _, f := range t.results {
		key := string(f.site)
		is := sites[key]
		if is == nil {
			is = &siteState{}
			sites[key] = is
		}
		at := f.FinishedAt.UnixMilli()
		later := cmp.Or(cmp.Compare(at, is.checkedAt), cmp.Compare(f.batch, is.batch), cmp.Compare(f.n, is.run)) > 0
		if is.changed || f.reopened || !later {
			// It replaces a result, or comes after a later one.
			if err := t.siteFromHistory(f.site, is); err != nil {
				return err
			}
		} else {
			is.add(f.batch, f.n, f.Outcome, f.Reason, at)
		}
		is.changed = true
	}
	for _, f := range t.results {
		if is := sites[string(f.site)]; is.changed {
			is.changed = false
			if err := t.writeSite(f, is); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSites reads and locks the sites of some results.
func (t *groupTx) readSites(results []*finish, sites map[string]*siteState) error {
	// A power of two of keys, the last one several times, so that there are few
	// different statements.
	n := 1
	for n < len(results) {
		n *= 2
	}
	args := make([]any, n)
	for i := range args {
		args[i] = results[min(i, len(results)-1)].site
	}
	return t.ask(sqlSitesRead+placeholders(1, n)+` ORDER BY key`+t.s.d.forUpdate, func(scan func(...any) error) error {
		var key []byte
		v := &siteState{known: true}
		err := scan(&key, &v.outcome, &v.reason, &v.since, &v.batch, &v.run, &v.checkedAt,
			&v.definite, &v.defBatch, &v.defRun, &v.defAt, &v.results)
		v.outcomeBefore, v.reasonBefore = v.outcome, v.reason
		sites[string(key)] = v
		return err
	}, args...)
}

// writeSite writes a site and counts its change; f is a result of it.
func (t *groupTx) writeSite(f *finish, is *siteState) (err error) {
	if is.known {
		err = t.send(sqlSiteUpdate, nil, string(is.outcome), string(is.reason), is.since, is.batch, is.run, is.checkedAt,
			string(is.definite), is.defBatch, is.defRun, is.defAt, is.results, f.site)
	} else {
		err = t.send(sqlSiteInsert, func(rows int64) error {
			if rows == 0 {
				return errCollided // another transaction has just made it
			}
			return nil
		}, f.site, f.Target, f.Host, string(is.outcome), string(is.reason), is.since, is.batch, is.run, is.checkedAt,
			string(is.definite), is.defBatch, is.defRun, is.defAt, is.results)
	}
	if err != nil {
		return err
	}
	if is.known && is.outcomeBefore == is.outcome && is.reasonBefore == is.reason {
		return nil
	}
	if is.known {
		t.count(allSites, kindOutcome, string(is.outcomeBefore), "", 0, -1)
		t.count(allSites, kindReason, string(is.reasonBefore), string(is.outcomeBefore), 0, -1)
	}
	t.count(allSites, kindOutcome, string(is.outcome), "", 0, 1)
	t.count(allSites, kindReason, string(is.reason), string(is.outcome), 0, 1)
	return nil
}

// siteFromHistory makes the state of a site anew from all its results.
func (t *groupTx) siteFromHistory(key []byte, is *siteState) error {
	type row struct {
		batch, run, at int64
		outcome        report.Outcome
		reason         report.Reason
	}
	rows, err := collect(t.ctx, t.tx, sqlSiteHistory, []any{key}, func(r *sql.Rows, v *row) error {
		return r.Scan(&v.batch, &v.run, &v.outcome, &v.reason, &v.at)
	})
	if err != nil {
		return err
	}
	*is = siteState{known: is.known, outcomeBefore: is.outcomeBefore, reasonBefore: is.reasonBefore}
	for _, r := range rows {
		is.add(r.batch, r.run, r.outcome, r.reason, r.at)
	}
	return nil
}

// Site reads a target over time. The error is [ErrNotFound] for a target that
// never had a result.
func (s *Store) Site(ctx context.Context, target string) (*Site, error) {
	var v Site
	var since, checked, defAt, batch, run, defBatch, defRun int64
	err := s.read.QueryRowContext(ctx, `SELECT target, host, outcome, reason, since, batch, run, checked_at,
		definite, definite_batch, definite_run, definite_at, results FROM sites WHERE key = $1`, siteKey(target)).
		Scan(&v.Target, &v.Host, &v.Outcome, &v.Reason, &since, &batch, &run, &checked, &v.Definite, &defBatch, &defRun, &defAt, &v.Results)
	if err == sql.ErrNoRows {
		return nil, fmt.Errorf("site %.200q: %w", target, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read site %.200q: %w", target, explain(err))
	}
	v.Since, v.CheckedAt, v.DefiniteAt = instant(since), instant(checked), instant(defAt)
	v.LastRun = runID(batch, run)
	if v.Definite != "" {
		v.DefiniteRun = runID(defBatch, defRun)
	}
	return &v, nil
}

// SiteHistory lists results of a target in all batches, newest first, up to
// limit, finished before a time (zero: from the newest).
func (s *Store) SiteHistory(ctx context.Context, target string, before time.Time, limit int) ([]SiteResult, error) {
	upTo := int64(1) << 62
	if !before.IsZero() {
		upTo = before.UnixMilli()
	}
	all, err := collect(ctx, s.read, `SELECT batch, run, outcome, reason, detail, valid, publication, text_index, readme, agents,
		failing, warning, attempts, started_at, finished_at, rules FROM results
		WHERE site = $1 AND finished_at < $2 ORDER BY finished_at DESC, batch DESC, run DESC LIMIT $3`,
		[]any{siteKey(target), upTo, limit}, func(r *sql.Rows, v *SiteResult) error {
			var batch, run, started, finished int64
			var failing, warning string
			err := r.Scan(&batch, &run, &v.Outcome, &v.Reason, &v.Detail, &v.Valid, &v.Publication, &v.TextIndex, &v.Readme, &v.Agents,
				&failing, &warning, &v.Attempts, &started, &finished, &v.Rules)
			if err != nil {
				return err
			}
			v.Run, v.StartedAt, v.FinishedAt = runID(batch, run), instant(started), instant(finished)
			if v.Failing, err = decodeList(failing); err != nil {
				return err
			}
			v.Warning, err = decodeList(warning)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the history of %.200q: %w", target, err)
	}
	return all, nil
}

// SiteCounts counts all sites by their present outcome and reason, most first.
func (s *Store) SiteCounts(ctx context.Context) ([]ReasonCount, error) {
	return s.reasons(ctx, allSites, 1000)
}
