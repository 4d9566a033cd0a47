package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agentaudit/audit/report"
)

// The events of messages.
const (
	// EventListing is a changed outcome of a listing ([OutcomeChange]).
	EventListing = "listing.outcome-changed"
	// EventFinished is the end of a batch, EventRegressed one at which more sites
	// became worse than the threshold of the webhook allows ([BatchEnd]).
	EventFinished  = "batch.finished"
	EventRegressed = "batch.regressed"
)

// Webhook says where the end of a batch is told, and what of it.
//
// A digest compares the outcomes of a batch with those that the receiver knows:
// what it was told last of each site, or else the last definite outcome from
// before the batch. Sites that became better or worse are audited once more
// before they are told, in place, so that the batch has the confirmed results;
// it ends, for the receiver, when that is done.
type Webhook struct {
	// URL is where messages go. With "" none is sent, and changed outcomes are
	// only confirmed, for the write-backs of a listing.
	URL string `json:"url"`
	// Finished and Regressed say which events are told.
	Finished  bool `json:"finished"`
	Regressed bool `json:"regressed"`
	// MinSites and MinPercent are how many sites, or what part of those that were
	// compared, must have become worse for [EventRegressed]: one of the two is
	// enough, and 0 leaves one out. Both 0 means one site. What is below is kept
	// for the next digest that is sent.
	MinSites   int64   `json:"minSites"`
	MinPercent float64 `json:"minPercent"`
	// Settle holds a change back as long as the outcome of its site has changed
	// more than once within it. 0 holds nothing back.
	Settle time.Duration `json:"settle"`
	// ConfirmAfter is how long after the end of the batch changed outcomes are
	// audited again; less than 0 tells them as they are.
	ConfirmAfter time.Duration `json:"confirmAfter"`
	// Links is the address of the dashboard that links lead to, "" for no links.
	Links string `json:"links"`
}

// BatchEnd is the body of a message about the end of a batch. It is bounded:
// of each list the first [ToldSites] stand in it.
type BatchEnd struct {
	Event string  `json:"event"` // [EventFinished] or [EventRegressed]
	Batch BatchID `json:"batch"`
	Name  string  `json:"name"`
	// State is finished or cancelled, Note says why it is cancelled.
	State   BatchState `json:"state"`
	Note    string     `json:"note"`
	Sources []string   `json:"sources"`
	// URL is the page of the batch, "" where no dashboard was named.
	URL        string    `json:"url"`
	CreatedAt  time.Time `json:"createdAt"`
	FinishedAt time.Time `json:"finishedAt"`
	// Entries counts accepted lines, Rejected the others, Outcomes the entries
	// by outcome.
	Entries  int64                    `json:"entries"`
	Rejected int64                    `json:"rejected"`
	Outcomes map[report.Outcome]int64 `json:"outcomes"`
	// Regressed says that the threshold of the webhook was reached.
	Regressed  bool       `json:"regressed"`
	Difference Difference `json:"difference"`
}

// Difference is what a digest says of the sites of a batch, against what the
// receiver knows of them. Counts are of sites, not of entries.
type Difference struct {
	// Compared counts sites with a definite outcome now and before.
	Compared int64 `json:"compared"`
	// Fixed became better (failed to partial or successful, partial to
	// successful), NewFailures worse; StillBroken is failed as before.
	Fixed       SiteList `json:"fixed"`
	NewFailures SiteList `json:"newFailures"`
	StillBroken SiteList `json:"stillBroken"`
	// Unsettled changed back and forth within [Webhook.Settle]: they are told
	// when they have settled.
	Unsettled SiteList `json:"unsettled"`
	// FirstSeen counts sites that nothing was known of, Unchecked those without
	// a verdict this time, Unconfirmed those whose change a second audit did not
	// confirm.
	FirstSeen   int64 `json:"firstSeen"`
	Unchecked   int64 `json:"unchecked"`
	Unconfirmed int64 `json:"unconfirmed"`
}

// SiteList is how many sites there are, the first of them, and how many more
// there are than these.
type SiteList struct {
	Count int64      `json:"count"`
	Sites []ToldSite `json:"sites"`
	More  int64      `json:"more"`
}

// ToldSites is how many sites a list of a digest names.
const ToldSites = 20

// ToldSite is a site in a digest. ID and Label are what the list says of its
// first entry; texts longer than 300 characters are cut, and end in "…".
type ToldSite struct {
	Target string `json:"target"`
	ID     string `json:"id"`
	Label  string `json:"label"`
	// Before is the outcome that the receiver knew, Outcome the one now.
	Before    report.Outcome `json:"before"`
	Outcome   report.Outcome `json:"outcome"`
	Reason    report.Reason  `json:"reason"`
	Detail    string         `json:"detail"`
	CheckedAt time.Time      `json:"checkedAt"`
	// URL is the page of the result, "" where no dashboard was named.
	URL string `json:"url"`
}

// The states of a webhook row.
const (
	hookWaiting    = "waiting"
	hookConfirming = "confirming"
	hookTold       = "told"
)

const sqlHookInsert = `INSERT INTO webhooks (batch, url, rules, state, round, position, tally) VALUES ($1, $2, $3, '` + hookWaiting + `', 0, 0, '{}')
	ON CONFLICT (batch) DO NOTHING`

// insertHook gives a batch its webhook; nil is none.
func insertHook(ctx context.Context, tx *sql.Tx, batch int64, w *Webhook) error {
	if w == nil {
		return nil
	}
	rules, err := json.Marshal(w)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlHookInsert, batch, text(w.URL), text(string(rules)))
	return err
}

// hookText is a webhook as a column, "" for none; hookOf reads it.
func hookText(w *Webhook) (string, error) {
	if w == nil {
		return "", nil
	}
	b, err := json.Marshal(w)
	return text(string(b)), err
}

func hookOf(column string) (*Webhook, error) {
	if column == "" {
		return nil, nil
	}
	w := new(Webhook)
	if err := json.Unmarshal([]byte(column), w); err != nil {
		return nil, fmt.Errorf("the database is damaged: a webhook column holds %.60q", column)
	}
	return w, nil
}

// WebhookOf is the webhook of a batch. The error is [ErrNotFound] where the
// batch has none.
func (s *Store) WebhookOf(ctx context.Context, id BatchID) (*Webhook, error) {
	batch, err := id.number()
	if err != nil {
		return nil, err
	}
	var rules string
	err = s.read.QueryRowContext(ctx, `SELECT rules FROM webhooks WHERE batch = $1`, batch).Scan(&rules)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("batch %s has no webhook: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read the webhook of batch %s: %w", id, explain(err))
	}
	return hookOf(rules)
}

// AdoptBatches gives a webhook to all batches that have none and are open, or
// were made at a time or later. It returns how many there were.
func (s *Store) AdoptBatches(ctx context.Context, w Webhook, since time.Time) (adopted int64, err error) {
	rules, err := hookText(&w)
	if err != nil {
		return 0, err
	}
	const without = ` FROM batches b WHERE (b.state IN ('intake', 'queued', 'running', 'paused') OR b.id >= $1)
		AND NOT EXISTS (SELECT 1 FROM webhooks h WHERE h.batch = b.id)`
	var some bool // to ask first costs less, where there is nothing to write
	if err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1`+without+`)`, since.UnixMilli()).Scan(&some); err != nil || !some {
		return 0, explain(err)
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO webhooks (batch, url, rules, state, round, position, tally)
			SELECT b.id, cast($2 AS TEXT), cast($3 AS TEXT), '`+hookWaiting+`', 0, 0, '{}'`+without+` ON CONFLICT (batch) DO NOTHING`,
			since.UnixMilli(), text(w.URL), rules)
		if err != nil {
			return err
		}
		adopted, err = res.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("give batches a webhook: %w", err)
	}
	return adopted, nil
}
