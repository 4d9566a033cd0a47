package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agentaudit/audit/report"
)

// The kinds of changes that a digest is made of.
const (
	kindFixed     = "fixed"
	kindNew       = "new"
	kindBroken    = "broken"
	kindUnsettled = "unsettled"
)

// tally is what was counted while the results of a batch were compared.
type tally struct {
	Compared  int64 `json:"compared"`
	Fixed     int64 `json:"fixed"`
	New       int64 `json:"new"`
	Broken    int64 `json:"broken"`
	Unsettled int64 `json:"unsettled"`
	FirstSeen int64 `json:"firstSeen"`
	Unchecked int64 `json:"unchecked"`
	// Confirming is how many runs were audited again.
	Confirming int64 `json:"confirming"`
}

// compared is the position behind the last result.
const compared = -1

// hook is a webhook in the hands of a planner.
type hook struct {
	Webhook
	s          *Store
	ctx        context.Context
	tx         *sql.Tx
	id         []byte
	batch      int64
	state      string
	round      int64
	position   int64
	tally      tally
	batchState BatchState
}

const sqlHooksOpen = ` FROM webhooks w JOIN batches b ON b.id = w.batch
	WHERE w.state <> 'told' AND b.state IN ('finished', 'cancelled') AND b.open_runs = 0`

// PlanWebhooks goes one step on with the webhook of a batch that has ended: it
// compares some results with what the receiver knows, has changed outcomes
// audited again, or makes the deliveries, in one step with noting that they are
// made. However many processes plan, the end of a batch is told once; a batch
// that is opened again ([Store.RetryBatch]) ends again. more says that there is
// something left to do.
func (s *Store) PlanWebhooks(ctx context.Context) (more bool, err error) {
	if err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1`+sqlHooksOpen+`)`).Scan(&more); err != nil || !more {
		return false, explain(err)
	}
	var again BatchID
	err = s.inLongTx(ctx, func(tx *sql.Tx) error {
		more, again = false, ""
		h, err := s.openHook(ctx, tx, sqlHooksOpen+` ORDER BY w.batch LIMIT 1`)
		if h == nil {
			return err
		}
		more = true
		switch {
		case h.position != compared:
			return h.compare()
		case h.unconfirmed():
			again = batchID(h.batch) // needs its own locks, which come first
			return nil
		}
		return h.tell()
	})
	if err == nil && again != "" {
		err = s.confirmChanges(ctx, again)
	}
	if err != nil {
		return false, fmt.Errorf("plan webhooks: %w", err)
	}
	return more, nil
}

// openHook reads and locks a webhook; it is nil where there is none.
func (s *Store) openHook(ctx context.Context, tx *sql.Tx, from string, args ...any) (*hook, error) {
	h := &hook{s: s, ctx: ctx, tx: tx}
	var rules, counted string
	err := tx.QueryRowContext(ctx, `SELECT w.batch, w.rules, w.state, w.round, w.position, w.tally, b.state`+from+s.d.forUpdate, args...).
		Scan(&h.batch, &rules, &h.state, &h.round, &h.position, &counted, &h.batchState)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w, err := hookOf(rules)
	if err == nil {
		err = json.Unmarshal([]byte(counted), &h.tally)
	}
	if err != nil {
		return nil, err
	}
	h.Webhook = *w
	key := hashKey(h.URL)
	h.id = key[:]
	return h, nil
}

// unconfirmed says that changes were found which one audit alone speaks for.
func (h *hook) unconfirmed() bool {
	return h.state == hookWaiting && h.batchState == StateFinished && h.ConfirmAfter >= 0 && h.tally.Fixed+h.tally.New > 0
}

// confirmChanges opens the runs with changes again, once for each end of the
// batch.
func (s *Store) confirmChanges(ctx context.Context, id BatchID) error {
	return s.steer(ctx, "confirm changes of", id, func(t *groupTx, batch int64) error {
		h, err := s.openHook(ctx, t.tx, sqlHooksOpen+` AND w.batch = $1`, batch)
		if err != nil || h == nil || h.position != compared || !h.unconfirmed() {
			return err // another process was faster
		}
		const changed = `(SELECT run FROM webhook_changes WHERE batch = $1 AND kind IN ('` + kindFixed + `', '` + kindNew + `'))`
		n, err := t.reopen(batch, `x.batch = $1 AND x.run IN `+changed, []any{batch})
		if err != nil {
			return err
		}
		// What was opened again has its note, and a time that it is not due before.
		if _, err := t.exec(`UPDATE runs SET state = 'waiting', due_at = $2 WHERE state = 'queued' AND n IN `+changed+` AND batch = $1`,
			batch, t.now+h.ConfirmAfter.Milliseconds()); err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE batches SET note = $2 WHERE id = $1`, batch, fmt.Sprintf("changed outcomes are confirmed (%d)", n)); err != nil {
			return err
		}
		return h.begin(hookConfirming, tally{Confirming: n})
	})
}

// begin has the results compared from the first.
func (h *hook) begin(state string, counted tally) error {
	h.state, h.position, h.tally = state, 0, counted
	if _, err := h.tx.ExecContext(h.ctx, `DELETE FROM webhook_changes WHERE batch = $1`, h.batch); err != nil {
		return err
	}
	return h.keep()
}

func (h *hook) keep() error {
	counted, err := json.Marshal(h.tally)
	if err != nil {
		return err
	}
	_, err = h.tx.ExecContext(h.ctx, `UPDATE webhooks SET state = $1, position = $2, tally = $3 WHERE batch = $4`, h.state, h.position, string(counted), h.batch)
	return err
}

// judged is a result that is compared.
type judged struct {
	run            int64
	target, readme string
	site           []byte
	outcome        report.Outcome
	finished       int64
	key            [16]byte
	before         report.Outcome
}

// compare compares some results.
func (h *hook) compare() error {
	list, err := collect(h.ctx, h.tx, `SELECT s.run, r.target, r.readme, s.site, s.outcome, s.finished_at
		FROM results s JOIN runs r ON r.batch = s.batch AND r.n = s.run
		WHERE s.batch = $1 AND s.run > $2 AND r.state = 'done' ORDER BY s.run LIMIT $3`, []any{h.batch, h.position, planned}, func(r *sql.Rows, v *judged) error {
		return r.Scan(&v.run, &v.target, &v.readme, &v.site, &v.outcome, &v.finished)
	})
	if err != nil {
		return err
	}
	for i := range list {
		list[i].key = runKey(list[i].target, list[i].readme)
	}
	all, err := h.known(list)
	if err != nil {
		return err
	}
	for i := range list {
		v := &list[i]
		if v.outcome == report.OutcomeUnchecked {
			h.tally.Unchecked++
			continue
		}
		k, told := all[v.key]
		if !told {
			// What is known from now on does not change with the history.
			if k, err = h.learn(v); err != nil {
				return err
			}
			all[v.key] = k
		}
		if k.batch == h.batch && k.round == h.round {
			h.tally.FirstSeen++
			continue
		}
		v.before = k.outcome
		if err := h.compareOne(v); err != nil {
			return err
		}
	}
	if h.position = compared; len(list) == planned {
		h.position = list[len(list)-1].run
	}
	return h.keep()
}

// known is what a receiver knows of a site, and where it was seen first.
type known struct {
	outcome      report.Outcome
	batch, round int64
}

// known is what the receiver knows, by the keys of results.
func (h *hook) known(list []judged) (map[[16]byte]known, error) {
	type row struct {
		key []byte
		known
	}
	all := map[[16]byte]known{}
	for part := range slices.Chunk(list, maxParams-1) {
		args := []any{h.id}
		for i := range part {
			args = append(args, part[i].key[:])
		}
		rows, err := collect(h.ctx, h.tx, `SELECT key, outcome, batch, round FROM webhook_outcomes WHERE hook = $1 AND key IN `+placeholders(2, len(part)), args,
			func(r *sql.Rows, v *row) error { return r.Scan(&v.key, &v.outcome, &v.batch, &v.round) })
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			all[[16]byte(r.key)] = r.known
		}
	}
	return all, nil
}

// learn keeps what is known of a site that the receiver was told nothing of:
// its last definite outcome from before, or the one now.
func (h *hook) learn(v *judged) (known, error) {
	before, err := h.history(v)
	k := known{outcome: before}
	if before == "" {
		k = known{v.outcome, h.batch, h.round}
	}
	if err == nil {
		_, err = h.tx.ExecContext(h.ctx, `INSERT INTO webhook_outcomes (hook, key, outcome, batch, round) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (hook, key) DO NOTHING`,
			h.id, v.key[:], string(k.outcome), k.batch, k.round)
	}
	return k, err
}

// sqlPast are the definite results of the same site from other batches before a
// result, the newest first.
const sqlPast = `SELECT s.outcome, s.finished_at FROM results s JOIN runs r ON r.batch = s.batch AND r.n = s.run
	WHERE s.site = $1 AND s.batch <> $2 AND s.finished_at <= $3 AND s.outcome <> 'unchecked' AND r.readme = $4
	ORDER BY s.finished_at DESC, s.batch DESC LIMIT `

// history is the last definite outcome of a site before a result, "" for none.
func (h *hook) history(v *judged) (o report.Outcome, err error) {
	var at int64
	err = h.tx.QueryRowContext(h.ctx, sqlPast+`1`, v.site, h.batch, v.finished, v.readme).Scan(&o, &at)
	return o, noRows(err)
}

// compareOne counts a definite result, and keeps it where a digest names it.
func (h *hook) compareOne(v *judged) error {
	h.tally.Compared++
	was, is := slices.Index(comparedOutcomes, v.before), slices.Index(comparedOutcomes, v.outcome)
	kind := ""
	switch change := (pair{before: 1, after: 1, was: uint8(was), is: uint8(is)}).change(); {
	case change == StillFailing:
		if h.tally.Broken++; h.tally.Broken <= ToldSites {
			kind = kindBroken
		}
	case change == Repair || change == Regression:
		unsettled, err := h.unsettled(v)
		switch {
		case err != nil:
			return err
		case unsettled:
			h.tally.Unsettled++
			kind = kindUnsettled
		case change == Repair:
			h.tally.Fixed++
			kind = kindFixed
		default:
			h.tally.New++
			kind = kindNew
		}
	}
	if kind == "" {
		return nil
	}
	_, err := h.tx.ExecContext(h.ctx, `INSERT INTO webhook_changes (batch, run, kind, before, key) VALUES ($1, $2, $3, $4, $5)`,
		h.batch, v.run, kind, string(v.before), v.key[:])
	return err
}

// mostPast bounds how many results of a site are looked at.
const mostPast = 200

// unsettled reports whether the outcome of a site has changed more than once in
// the time within which it has to settle, this result included.
func (h *hook) unsettled(v *judged) (bool, error) {
	if h.Settle <= 0 {
		return false, nil
	}
	type result struct {
		outcome report.Outcome
		at      int64
	}
	past, err := collect(h.ctx, h.tx, fmt.Sprint(sqlPast, mostPast), []any{v.site, h.batch, v.finished, v.readme},
		func(r *sql.Rows, p *result) error { return r.Scan(&p.outcome, &p.at) })
	if err != nil {
		return false, err
	}
	since, later, changes := v.finished-h.Settle.Milliseconds(), result{v.outcome, v.finished}, 0
	for _, p := range past {
		if later.at < since {
			break
		}
		if p.outcome != later.outcome {
			changes++
		}
		later = p
	}
	return changes > 1, nil
}
