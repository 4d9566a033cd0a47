package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// BatchWebhook is the webhook of a batch whose end is to be told.
type BatchWebhook struct {
	Batch BatchID
	// Name and Sources are those of the batch.
	Name    string
	Sources []string
	State   BatchState
	// Confirming says that changed outcomes are audited again before they are
	// told.
	Confirming bool
	Webhook    Webhook
}

// Webhooks lists up to limit batches whose end is to be told to a webhook, the
// newest first, older than before ("" = from the newest).
func (s *Store) Webhooks(ctx context.Context, before BatchID, limit int) ([]BatchWebhook, error) {
	upTo := int64(1) << 62
	if before != "" {
		var err error
		if upTo, err = before.number(); err != nil {
			return nil, err
		}
	}
	list, err := collect(ctx, s.read, `SELECT w.batch, b.name, b.sources, b.state, w.state, w.rules FROM webhooks w JOIN batches b ON b.id = w.batch
		WHERE w.state <> 'told' AND w.url <> '' AND w.batch < $1 ORDER BY w.batch DESC LIMIT $2`, []any{upTo, limit}, func(r *sql.Rows, v *BatchWebhook) error {
		var batch int64
		var sources, state, rules string
		if err := r.Scan(&batch, &v.Name, &sources, &v.State, &state, &rules); err != nil {
			return err
		}
		w, err := hookOf(rules)
		if err != nil {
			return err
		}
		v.Batch, v.Confirming, v.Webhook = batchID(batch), state == hookConfirming, *w
		v.Sources, err = decodeList(sources)
		v.Sources = plainSources(v.Sources)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return list, nil
}

// SetBatchWebhook gives a batch that is open another webhook, or with nil none.
// Changed outcomes that are written back to a directory are confirmed all the
// same. The error is [ErrNotFound], also where there is none to be taken away, or
// [ErrConflict] for a batch that has ended.
func (s *Store) SetBatchWebhook(ctx context.Context, id BatchID, w *Webhook) error {
	batch, err := id.number()
	if err == nil {
		err = s.inTx(ctx, func(tx *sql.Tx) error { return s.setBatchWebhook(ctx, tx, batch, w) })
	}
	if err != nil {
		return fmt.Errorf("set the webhook of batch %.40q: %w", string(id), err)
	}
	return nil
}

func (s *Store) setBatchWebhook(ctx context.Context, tx *sql.Tx, batch int64, w *Webhook) error {
	var state BatchState
	err := tx.QueryRowContext(ctx, `SELECT state FROM batches WHERE id = $1`+s.d.forUpdate, batch).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	var told, rules string
	err = tx.QueryRowContext(ctx, `SELECT state, rules FROM webhooks WHERE batch = $1`+s.d.forUpdate, batch).Scan(&told, &rules)
	has := err == nil
	if err := noRows(err); err != nil {
		return err
	}
	old, err := hookOf(rules)
	if err != nil {
		return err
	}
	switch {
	case !state.Open() || has && told != hookWaiting:
		return fmt.Errorf("it has ended: %w", ErrConflict)
	case w == nil && (old == nil || old.URL == ""):
		return fmt.Errorf("it has none: %w", ErrNotFound)
	case w == nil:
		var back bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM listing_sources WHERE batch = $1 AND write_back <> '')`, batch).Scan(&back); err != nil {
			return err
		}
		if !back {
			_, err := tx.ExecContext(ctx, `DELETE FROM webhooks WHERE batch = $1`, batch)
			return err
		}
		w = &Webhook{ConfirmAfter: old.ConfirmAfter}
	case !has:
		// A sender may give it one at the same moment ([Store.AdoptBatches]).
		if err := insertHook(ctx, tx, batch, w); err != nil {
			return err
		}
	}
	column, err := hookText(w)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE webhooks SET url = $1, rules = $2 WHERE batch = $3`, text(w.URL), column, batch)
	return err
}

// SetScheduleWebhook gives a schedule another webhook, or with nil none, for the
// batches that it makes from now on. The error is [ErrNotFound].
func (s *Store) SetScheduleWebhook(ctx context.Context, id ScheduleID, w *Webhook) error {
	column, err := hookText(w)
	if err != nil {
		return fmt.Errorf("set the webhook of schedule %.40q: %w", string(id), err)
	}
	return s.changeSchedule(ctx, "set the webhook of", id, `SET webhook = $2 WHERE id = $1`, column)
}
