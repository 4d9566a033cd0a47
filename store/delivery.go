package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"agentaudit/audit/report"
)

// DeliveryState is how far a delivery is.
type DeliveryState string

// The states of a delivery. DeliveryFailed is final, too.
const (
	DeliveryDue    DeliveryState = "due"
	DeliveryDone   DeliveryState = "done"
	DeliveryFailed DeliveryState = "failed"
)

// Delivery is one message to a directory, or to a webhook.
type Delivery struct {
	ID    int64   `json:"id"`
	Batch BatchID `json:"batch"`
	// Event is what the message is about ([EventListing] and so on).
	Event string `json:"event"`
	// Ref is the listing's own id, "" for messages about batches; URL is where
	// the message goes, Body what it says ([OutcomeChange], [BatchEnd]).
	Ref  string          `json:"ref"`
	URL  string          `json:"url"`
	Body json.RawMessage `json:"body"`

	State DeliveryState `json:"state"`
	// Attempts counts the attempts that have begun; Status and Error are what
	// came of the last, 0 and "" for nothing.
	Attempts int    `json:"attempts"`
	Status   int    `json:"status"`
	Error    string `json:"error"`
	// DueAt is when the next attempt is due, EndedAt when the last one ended.
	DueAt     time.Time `json:"dueAt,omitzero"`
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// Origin is the receiver, scheme, host and port, as they stand in URL.
func (d Delivery) Origin() string {
	scheme, rest, _ := strings.Cut(d.URL, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest
}

// OutcomeChange is the body of a delivery: what is told of a listing.
type OutcomeChange struct {
	Event string `json:"event"` // always [EventListing]
	// ID is the listing's own id, Source the address of the listing without what
	// may be secret in it ([PlainAddress]).
	ID     string  `json:"id"`
	Label  string  `json:"label"`
	Source string  `json:"source"`
	Target string  `json:"target"`
	Batch  BatchID `json:"batch"`
	// Before is the last definite outcome before, Outcome the one now; both are
	// never unchecked.
	Before    report.Outcome `json:"before"`
	Outcome   report.Outcome `json:"outcome"`
	Reason    report.Reason  `json:"reason"`
	Detail    string         `json:"detail"`
	CheckedAt time.Time      `json:"checkedAt"`
}

// planned is how many entries one transaction of PlanDeliveries compares.
const planned = 500

// PlanDeliveries compares the outcomes of a finished batch that is to be written
// back with the last definite ones of its listings, some entries at a time, and
// makes a delivery of each that has changed: exactly one, however many processes
// plan. A listing that has no outcome from before is only remembered. A batch
// with a webhook is compared when that has told its end ([Store.PlanWebhooks]):
// then its changed outcomes are confirmed. more says that there is something
// left to compare.
func (s *Store) PlanDeliveries(ctx context.Context) (made int64, more bool, err error) {
	err = s.inLongTx(ctx, func(tx *sql.Tx) error {
		made, more = 0, false
		p := planner{s: s, ctx: ctx, tx: tx}
		err := tx.QueryRowContext(ctx, `SELECT ls.batch, ls.source, ls.write_back, ls.told FROM listing_sources ls JOIN batches b ON b.id = ls.batch
			WHERE ls.write_back <> '' AND ls.told >= 0 AND b.state = 'finished'
			AND NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.batch = ls.batch AND w.state <> 'told') ORDER BY ls.batch LIMIT 1`+s.d.forUpdate).
			Scan(&p.batch, &p.source, &p.url, &p.told)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		more = true
		made, err = p.plan()
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("plan deliveries: %w", err)
	}
	return made, more, nil
}

// planner makes the deliveries of some entries.
type planner struct {
	s           *Store
	ctx         context.Context
	tx          *sql.Tx
	batch, told int64
	source, url string
}

// outcomeRow is an entry with its outcome.
type outcomeRow struct {
	n        int64
	change   OutcomeChange
	finished int64
}

func (p *planner) plan() (made int64, err error) {
	rows, err := collect(p.ctx, p.tx, `SELECT e.n, e.ref, e.label, r.target, x.outcome, x.reason, coalesce(res.detail, ''), coalesce(res.finished_at, 0)
		FROM entries e JOIN runs r ON r.batch = e.batch AND r.n = e.run
		JOIN entry_results x ON x.batch = e.batch AND x.entry = e.n
		LEFT JOIN results res ON res.batch = e.batch AND res.run = e.run
		WHERE e.batch = $1 AND e.n > $2 ORDER BY e.n LIMIT $3`, []any{p.batch, p.told, planned}, func(r *sql.Rows, v *outcomeRow) error {
		c := &v.change
		return r.Scan(&v.n, &c.ID, &c.Label, &c.Target, &c.Outcome, &c.Reason, &c.Detail, &v.finished)
	})
	if err != nil {
		return 0, err
	}
	for i := range rows {
		told, err := p.tell(&rows[i])
		if err != nil {
			return 0, err
		}
		if told {
			made++
		}
	}
	told := int64(-1)
	if len(rows) == planned {
		told = rows[len(rows)-1].n
	}
	_, err = p.tx.ExecContext(p.ctx, `UPDATE listing_sources SET told = $1 WHERE batch = $2`, told, p.batch)
	return made, err
}

// tell remembers the outcome of a listing, and makes a delivery if it changed.
func (p *planner) tell(row *outcomeRow) (bool, error) {
	c := row.change
	if c.ID == "" || c.Outcome == report.OutcomeUnchecked || c.Outcome == Cancelled {
		return false, nil
	}
	key := hashKey(c.ID)
	err := p.tx.QueryRowContext(p.ctx, `SELECT outcome FROM listing_outcomes WHERE source = $1 AND key = $2`, p.source, key[:]).Scan(&c.Before)
	known := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) || known && c.Before == c.Outcome {
		return false, noRows(err)
	}
	_, err = p.tx.ExecContext(p.ctx, `INSERT INTO listing_outcomes (source, key, outcome) VALUES ($1, $2, $3)
		ON CONFLICT (source, key) DO UPDATE SET outcome = excluded.outcome`, p.source, key[:], string(c.Outcome))
	if err != nil || !known {
		return false, err
	}
	c.Event, c.Source, c.Batch, c.CheckedAt = EventListing, PlainSource(p.source), batchID(p.batch), time.UnixMilli(row.finished).UTC()
	err = p.s.insertDelivery(p.ctx, p.tx, &Delivery{Batch: c.Batch, Event: c.Event, Ref: c.ID, URL: p.url}, c)
	return err == nil, err
}

// noRows is nil for a query that found nothing.
func noRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

const deliveryColumns = `id, batch, event, ref, url, body, state, attempts, due_at, status, error, created_at, ended_at`

func scanDelivery(r *sql.Rows, v *Delivery) error {
	var batch, due, created, ended int64
	var body string
	if err := r.Scan(&v.ID, &batch, &v.Event, &v.Ref, &v.URL, &body, &v.State, &v.Attempts, &due, &v.Status, &v.Error, &created, &ended); err != nil {
		return err
	}
	v.Batch, v.Body, v.CreatedAt = batchID(batch), json.RawMessage(body), time.UnixMilli(created).UTC()
	if v.State == DeliveryDue {
		v.DueAt = time.UnixMilli(due).UTC()
	}
	if ended > 0 {
		v.EndedAt = time.UnixMilli(ended).UTC()
	}
	return nil
}

// TakeDeliveries takes up to limit deliveries that are due for an attempt: those
// about batches, or those about listings, and none to the receivers ([Delivery.Origin])
// in except. Others take them again when the lease has ended without
// [Store.EndDelivery].
func (s *Store) TakeDeliveries(ctx context.Context, batches bool, limit int, lease time.Duration, except ...string) ([]Delivery, error) {
	var taken []Delivery
	var others strings.Builder
	var origins []any
	for _, o := range except {
		// The origin is what stands before the path.
		n := 4 + len(origins)
		fmt.Fprintf(&others, ` AND NOT (substr(url, 1, $%d) = $%d AND substr(url, $%d + 1, 1) IN ('', '/', '?', '#'))`, n, n+1, n)
		origins = append(origins, utf8.RuneCountInString(o), o)
	}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		taken = nil
		now := s.now()
		due, err := collect(ctx, tx, `SELECT `+deliveryColumns+` FROM deliveries WHERE state = 'due' AND due_at <= $1 AND (event = '`+EventListing+`') <> $3`+others.String()+` ORDER BY due_at, id LIMIT $2`,
			append([]any{now, limit, batches}, origins...), scanDelivery)
		if err != nil {
			return err
		}
		for _, d := range due {
			res, err := tx.ExecContext(ctx, `UPDATE deliveries SET attempts = attempts + 1, due_at = $1 WHERE id = $2 AND state = 'due' AND attempts = $3`,
				now+lease.Milliseconds(), d.ID, d.Attempts)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				if err != nil {
					return err
				}
				continue // another process was faster
			}
			d.Attempts++
			taken = append(taken, d)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take deliveries: %w", err)
	}
	return taken, nil
}

// EndDelivery keeps what came of the attempt that [Store.TakeDeliveries] gave:
// the state, with again as the time of the next attempt for [DeliveryDue]. The
// error is [ErrStale] if another attempt has begun since.
func (s *Store) EndDelivery(ctx context.Context, d Delivery, again time.Time) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = $1, status = $2, error = $3, due_at = $4, ended_at = $5
			WHERE id = $6 AND attempts = $7 AND state = 'due'`, string(d.State), d.Status, text(d.Error), max(again.UnixMilli(), 0), s.now(), d.ID, d.Attempts)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return ErrStale
	})
	if err != nil {
		return fmt.Errorf("end delivery %d: %w", d.ID, err)
	}
	return nil
}

// Deliveries lists up to limit deliveries, newest first, older than before (0 =
// from the newest); state "" is any.
func (s *Store) Deliveries(ctx context.Context, state DeliveryState, before int64, limit int) ([]Delivery, error) {
	if before == 0 {
		before = 1 << 62
	}
	return collect(ctx, s.read, `SELECT `+deliveryColumns+` FROM deliveries WHERE id < $1 AND ($2 = '' OR state = $2) ORDER BY id DESC LIMIT $3`,
		[]any{before, string(state), limit}, scanDelivery)
}
