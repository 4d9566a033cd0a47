package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Answer is what a request was answered, kept so that the same request, sent
// again, does nothing twice.
type Answer struct {
	// Fingerprint tells whether a request is the same; the caller makes it.
	Fingerprint string
	Status      int
	Location    string
	Body        []byte
}

const (
	// answerLife is how long answers are kept.
	answerLife = 24 * time.Hour
	// answerPatience is how long after the last sign of life a request counts as
	// lost ([Store.KeepAnswer]).
	answerPatience = time.Minute
)

// BeginAnswer notes that a request with a key is under way, and returns nil; or
// it returns what such a request was answered before. The error is
// [ErrConflict] while another one is under way, which is so for a minute unless
// it is said to last ([Store.KeepAnswer]): a process that was killed holds a key
// no longer. Answers are forgotten after a day.
func (s *Store) BeginAnswer(ctx context.Context, key string) (*Answer, error) {
	hash, now := secretHash(key), s.now()
	var a *Answer
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		a = nil
		if _, err := tx.ExecContext(ctx, `DELETE FROM answers WHERE created_at <= $1`, now-answerLife.Milliseconds()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM answers WHERE hash = $1 AND status = 0 AND created_at <= $2`, hash, now-answerPatience.Milliseconds()); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO answers (hash, fingerprint, status, location, body, created_at) VALUES ($1, '', 0, '', NULL, $2)
			ON CONFLICT (hash) DO NOTHING`, hash, now)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		var found Answer
		err = tx.QueryRowContext(ctx, `SELECT fingerprint, status, location, body FROM answers WHERE hash = $1`, hash).
			Scan(&found.Fingerprint, &found.Status, &found.Location, &found.Body)
		if err == nil && found.Status == 0 {
			return fmt.Errorf("a request with this key is under way: %w", ErrConflict)
		}
		a = &found
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for an earlier answer: %w", err)
	}
	return a, nil
}

// KeepAnswer says that a request that was begun is still under way.
func (s *Store) KeepAnswer(ctx context.Context, key string) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE answers SET created_at = $1 WHERE hash = $2 AND status = 0`, s.now(), secretHash(key))
		return err
	})
	if err != nil {
		return fmt.Errorf("keep a request under way: %w", err)
	}
	return nil
}

// EndAnswer keeps the answer to a request that was begun; nil forgets the
// request, which can then be sent again under the same key.
func (s *Store) EndAnswer(ctx context.Context, key string, a *Answer) error {
	if a == nil {
		return s.deleteOne(ctx, "forget a request", `DELETE FROM answers WHERE hash = $1 AND status = 0`, secretHash(key), false)
	}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE answers SET fingerprint = $1, status = $2, location = $3, body = $4 WHERE hash = $5`,
			a.Fingerprint, a.Status, a.Location, a.Body, secretHash(key))
		return err
	})
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return nil
}
