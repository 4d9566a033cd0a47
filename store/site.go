package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"agentaudit/audit/report"
)

const (
	sqlSiteRead = `SELECT outcome, reason, since, checked_at, definite, definite_batch, definite_run, definite_at, results
		FROM sites WHERE key = $1`
	sqlSiteInsert = `INSERT INTO sites (key, target, host, outcome, reason, since, batch, run, checked_at,
		definite, definite_batch, definite_run, definite_at, results)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
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

// updateSite takes the result f, whose row is written, into its site.
func (t *groupTx) updateSite(f *finish) error {
	var was, is siteState
	at := f.FinishedAt.UnixMilli()
	err := t.queryRow(sqlSiteRead, []any{f.site}, &was.outcome, &was.reason, &was.since, &was.checkedAt,
		&was.definite, &was.defBatch, &was.defRun, &was.defAt, &was.results)
	known := err == nil
	if err != nil && err != sql.ErrNoRows {
		return err
	}
	is = was
	if f.reopened || at < was.checkedAt {
		// It replaces a result, or comes after a later one.
		if is, err = t.siteFromHistory(f.site); err != nil {
			return err
		}
	} else {
		is.add(f.batch, f.n, f.Outcome, f.Reason, at)
	}
	if known {
		_, err = t.exec(sqlSiteUpdate, string(is.outcome), string(is.reason), is.since, is.batch, is.run, is.checkedAt,
			string(is.definite), is.defBatch, is.defRun, is.defAt, is.results, f.site)
	} else {
		_, err = t.exec(sqlSiteInsert, f.site, f.Target, f.Host, string(is.outcome), string(is.reason), is.since, is.batch, is.run, is.checkedAt,
			string(is.definite), is.defBatch, is.defRun, is.defAt, is.results)
	}
	if err != nil {
		return err
	}
	if known && (was.outcome != is.outcome || was.reason != is.reason) {
		t.count(allSites, kindOutcome, string(was.outcome), "", 0, -1)
		t.count(allSites, kindReason, string(was.reason), string(was.outcome), 0, -1)
	}
	if !known || was.outcome != is.outcome || was.reason != is.reason {
		t.count(allSites, kindOutcome, string(is.outcome), "", 0, 1)
		t.count(allSites, kindReason, string(is.reason), string(is.outcome), 0, 1)
	}
	return nil
}

func (t *groupTx) siteFromHistory(key []byte) (siteState, error) {
	type row struct {
		batch, run, at int64
		outcome        report.Outcome
		reason         report.Reason
	}
	var s siteState
	rows, err := collect(t.ctx, t.tx, sqlSiteHistory, []any{key}, func(r *sql.Rows, v *row) error {
		return r.Scan(&v.batch, &v.run, &v.outcome, &v.reason, &v.at)
	})
	for _, r := range rows {
		s.add(r.batch, r.run, r.outcome, r.reason, r.at)
	}
	return s, err
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
