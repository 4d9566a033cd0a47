package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"agentaudit/audit/report"
)

// tell makes the deliveries of a batch, and keeps what the receiver then knows.
func (h *hook) tell() error {
	body, err := h.digest()
	if err != nil {
		return err
	}
	events := []string{}
	if h.Finished {
		events = append(events, EventFinished)
	}
	if h.Regressed && body.Regressed {
		events = append(events, EventRegressed)
	}
	for _, body.Event = range events {
		if h.URL == "" {
			continue
		}
		if err := h.s.insertDelivery(h.ctx, h.tx, &Delivery{Batch: body.Batch, Event: body.Event, URL: h.URL}, body); err != nil {
			return err
		}
	}
	if len(events) > 0 || h.URL == "" {
		if err := h.told(); err != nil {
			return err
		}
	}
	return h.begin(hookTold, tally{})
}

// told keeps the changes that a digest has told.
func (h *hook) told() error {
	_, err := h.tx.ExecContext(h.ctx, `INSERT INTO webhook_outcomes (hook, key, outcome, batch, round)
		SELECT $1, c.key, max(s.outcome), 0, 0 FROM webhook_changes c JOIN results s ON s.batch = c.batch AND s.run = c.run
		WHERE c.batch = $2 AND c.kind IN ('`+kindFixed+`', '`+kindNew+`') GROUP BY c.key
		ON CONFLICT (hook, key) DO UPDATE SET outcome = excluded.outcome`, h.id, h.batch)
	return err
}

// regressed says that the threshold is reached.
func (h *hook) regressed() bool {
	n := h.tally.New
	least := h.MinSites
	if least <= 0 && h.MinPercent <= 0 {
		least = 1
	}
	return n > 0 && (least > 0 && n >= least || h.MinPercent > 0 && float64(n)*100 >= h.MinPercent*float64(h.tally.Compared))
}

// digest is the body of the messages.
func (h *hook) digest() (*BatchEnd, error) {
	b, err := readBatches(h.ctx, h.tx, `WHERE id = $1`, h.batch)
	if err != nil {
		return nil, err
	}
	e := &BatchEnd{
		Batch: b[0].ID, Name: cut(b[0].Name), State: b[0].State, Note: cut(PlainText(b[0].Note)), Sources: make([]string, 0, ToldSites), URL: h.link("/batches/", string(b[0].ID)),
		CreatedAt: b[0].CreatedAt, FinishedAt: b[0].FinishedAt, Entries: b[0].Entries, Rejected: b[0].Rejected, Outcomes: map[report.Outcome]int64{},
		Regressed: h.regressed(),
		Difference: Difference{Compared: h.tally.Compared, FirstSeen: h.tally.FirstSeen, Unchecked: h.tally.Unchecked,
			Unconfirmed: max(0, h.tally.Confirming-h.tally.Fixed-h.tally.New)},
	}
	for _, source := range b[0].Sources[:min(len(b[0].Sources), ToldSites)] {
		e.Sources = append(e.Sources, cut(source))
	}
	for o, n := range b[0].Outcomes {
		e.Outcomes[o] = n.Entries
	}
	d := &e.Difference
	for _, l := range []struct {
		kind  string
		count int64
		list  *SiteList
	}{{kindFixed, h.tally.Fixed, &d.Fixed}, {kindNew, h.tally.New, &d.NewFailures}, {kindBroken, h.tally.Broken, &d.StillBroken}, {kindUnsettled, h.tally.Unsettled, &d.Unsettled}} {
		if *l.list, err = h.sites(l.kind, l.count); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// sites are the first sites of a kind.
func (h *hook) sites(kind string, count int64) (SiteList, error) {
	list, err := collect(h.ctx, h.tx, `SELECT c.run, r.target, e.ref, e.label, c.before, s.outcome, s.reason, s.detail, s.finished_at
		FROM webhook_changes c JOIN runs r ON r.batch = c.batch AND r.n = c.run JOIN entries e ON e.batch = c.batch AND e.n = r.entry
		JOIN results s ON s.batch = c.batch AND s.run = c.run WHERE c.batch = $1 AND c.kind = $2 ORDER BY c.run LIMIT $3`,
		[]any{h.batch, kind, ToldSites}, func(r *sql.Rows, v *ToldSite) error {
			var run, at int64
			err := r.Scan(&run, &v.Target, &v.ID, &v.Label, &v.Before, &v.Outcome, &v.Reason, &v.Detail, &at)
			v.ID, v.Label, v.Detail, v.CheckedAt = cut(v.ID), cut(v.Label), cut(v.Detail), instant(at)
			v.URL = h.link("/runs/", string(runID(h.batch, run)))
			return err
		})
	if list == nil {
		list = []ToldSite{}
	}
	return SiteList{Count: count, Sites: list, More: count - int64(len(list))}, err
}

func (h *hook) link(page, id string) string {
	if h.Links == "" {
		return ""
	}
	return h.Links + page + id
}

// cut bounds a text of a message.
func cut(s string) string {
	const most = 300
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// insertDelivery makes a delivery that is due now; d says what for and where.
func (s *Store) insertDelivery(ctx context.Context, tx *sql.Tx, d *Delivery, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	batch, err := d.Batch.number()
	if err != nil {
		return err
	}
	now := s.now()
	for {
		var id int64
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) + 1 FROM deliveries`).Scan(&id); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO deliveries (id, batch, event, ref, url, body, state, attempts, due_at, status, error, created_at, ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, 'due', 0, $7, 0, '', $7, 0) ON CONFLICT (id) DO NOTHING`, id, batch, d.Event, d.Ref, d.URL, string(text), now)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		// Another one that plans at the same time has this number.
	}
}
