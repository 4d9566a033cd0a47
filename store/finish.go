package store

import (
	"context"
	"errors"
	"fmt"

	"agentaudit/audit/report"
)

const (
	sqlDone = `UPDATE runs SET state = 'done', attempt = $1, lost = 0, kept = false, reopened = false, worker = '', lease_until = 0
		WHERE batch = $2 AND n = $3 AND token = $4 AND state = 'running'`
	sqlResult = `INSERT INTO results (batch, run, site, entries, outcome, reason, detail, valid, publication, text_index, readme, agents,
		failing, warning, attempts, started_at, finished_at, rules)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		ON CONFLICT (batch, run) DO UPDATE SET entries = excluded.entries, outcome = excluded.outcome, reason = excluded.reason,
		detail = excluded.detail, valid = excluded.valid, publication = excluded.publication, text_index = excluded.text_index,
		readme = excluded.readme, agents = excluded.agents, failing = excluded.failing, warning = excluded.warning,
		attempts = excluded.attempts, started_at = excluded.started_at, finished_at = excluded.finished_at, rules = excluded.rules`
	sqlReport = `INSERT INTO reports (batch, run, enc, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (batch, run) DO UPDATE SET enc = excluded.enc, body = excluded.body`
	sqlWritten    = `SELECT state = 'done' AND token = $3 FROM runs WHERE batch = $1 AND n = $2`
	sqlEntryCheck = `INSERT INTO entry_checks (batch, check_class, entry, status) VALUES ($1, $2, $3, $4)`
)

// checkKey is a check that fails or warns, by its class.
type checkKey struct {
	class  string
	status report.Status
}

// verdicts are the checks of a report that are not a pass.
type verdicts struct {
	failing, warning []string // ids, in the order of the report, once each
	classes          []checkKey
}

func verdictsOf(r *report.Report) verdicts {
	var v verdicts
	seen := map[string]bool{}
	class := map[checkKey]bool{}
	for _, list := range [][]report.Check{r.Checks, r.Readme.Checks} {
		for _, c := range list {
			if c.Status == report.Pass || seen[c.ID] {
				continue
			}
			seen[c.ID] = true
			if c.Status == report.Fail {
				v.failing = append(v.failing, c.ID)
			} else {
				v.warning = append(v.warning, c.ID)
			}
			if k := (checkKey{report.CheckClass(c.ID), c.Status}); !class[k] {
				class[k] = true
				v.classes = append(v.classes, k)
			}
		}
	}
	return v
}

// FinishRun writes the final result of a run: its row for every entry, the
// documents, the counters and the site, all or nothing, and finishes the batch
// with its last run. It returns when that is committed. The error is
// [ErrStale] if the claim was overtaken; then nothing was written. After
// [ErrUnavailable] the same call can be made again: if the result was written
// after all, that is success.
func (s *Store) FinishRun(ctx context.Context, c *Claim, r *report.Result) error {
	if s.group == nil {
		return ErrReadOnly
	}
	if r.Outcome == "" || r.Report == nil {
		return fmt.Errorf("finish run %s: %w", c.Run, errors.New("a result needs an outcome and a report"))
	}
	// All that can be done outside the transaction is done here.
	p, err := s.codec.packResult(r)
	if err != nil {
		return fmt.Errorf("finish run %s: %w", c.Run, err)
	}
	defer c.end(s.group)
	f := &finish{Claim: c, Result: r, packed: p, verdicts: verdictsOf(r.Report), site: siteKey(c.Target)}
	if err := s.group.do(ctx, &groupOp{batch: c.batch, n: c.n, first: f.close, then: f.write}); err != nil {
		if errors.Is(err, ErrUnavailable) {
			c.unsure.Store(true)
		}
		return fmt.Errorf("finish: %w", err)
	}
	return nil
}

// finish is one result on its way into the database.
type finish struct {
	*Claim
	*report.Result
	packed
	verdicts
	site    []byte
	closed  bool
	written bool // by an earlier call
	entries []int64
}

// close ends the run if it is still in the hands of the claim.
func (f *finish) close(t *groupTx) error {
	f.entries = append(f.entries[:0], f.entry)
	err := t.send(sqlDone, func(rows int64) error { f.closed = rows > 0; return nil }, f.Attempt, f.batch, f.n, f.token)
	if err != nil {
		return err
	}
	f.written = false
	if f.unsure.Load() {
		// Nobody but the holder of the claim's token writes done.
		err := t.ask(sqlWritten, func(scan func(...any) error) error { return scan(&f.written) }, f.batch, f.n, f.token)
		if err != nil {
			return err
		}
	}
	return t.ask(sqlEntries, func(scan func(...any) error) error {
		var n int64
		err := scan(&n)
		f.entries = append(f.entries, n)
		return err
	}, f.batch, f.n)
}

func (f *finish) write(t *groupTx) error {
	switch {
	case f.closed:
	case f.written:
		return nil
	default:
		return stale(f.Run, "it is in other hands")
	}
	finished, started := f.FinishedAt.UnixMilli(), f.StartedAt.UnixMilli()
	for _, e := range f.entries {
		if err := t.send(sqlEntryResult, nil, f.batch, e, f.n, string(f.Outcome), string(f.Reason), finished, max(finished-started, 0)); err != nil {
			return err
		}
		for _, k := range f.classes {
			if err := t.send(sqlEntryCheck, nil, f.batch, k.class, e, string(k.status)); err != nil {
				return err
			}
		}
	}
	r := f.Report
	if err := t.send(sqlResult, nil, f.batch, f.n, f.site, len(f.entries), string(f.Outcome), string(f.Reason), text(f.Detail), r.Valid,
		string(r.Publication.Status), string(r.TextIndex.Status), string(r.Readme.Status), f.AgentsVerdict,
		encodeList(f.failing), encodeList(f.warning), f.Attempt, started, finished, f.RulesVersion); err != nil {
		return err
	}
	if err := t.send(sqlReport, nil, f.batch, f.n, f.enc, f.body); err != nil {
		return err
	}
	if f.Kept != nil {
		if err := t.send(sqlUnkeep, nil, f.batch, f.n); err != nil {
			return err
		}
	}
	k := int64(len(f.entries))
	t.count(f.batch, kindOutcome, string(f.Outcome), "", k, 1)
	t.count(f.batch, kindReason, string(f.Reason), string(f.Outcome), k, 1)
	if f.AgentsVerdict != "" {
		t.count(f.batch, kindAgents, f.AgentsVerdict, string(f.Outcome), k, 1)
	}
	for _, c := range f.classes {
		t.count(f.batch, kindCheck, c.class, string(c.status), k, 1)
	}
	t.ended[f.batch]++
	t.results = append(t.results, f)
	return nil
}

// hot lists the statements that run for every site.
var hot = []string{
	sqlClaimRead, sqlClaim, sqlStart, sqlKeptRead, sqlHeld, sqlKeep, sqlUnkeep, sqlEntries, sqlEntryResult, sqlBatchState,
	sqlDone, sqlResult, sqlReport, sqlEntryCheck, sqlCount, sqlEnded, sqlFinish,
	sqlSiteInsert, sqlSiteUpdate,
}
