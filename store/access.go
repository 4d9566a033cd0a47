package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Secrets are made here and given out once; the store keeps their hashes. They
// have 128 random bits and more, so that a plain hash cannot be turned back.

// newSecret is a secret that says by its beginning what it is for.
func newSecret(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

func secretHash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// newShortID names a token or a share; it is no secret.
func newShortID() string { return strings.ToLower(rand.Text()[:10]) }

// Session is the time from one sign-in to its end.
type Session struct {
	User string
	// Proof is what the one who began the session wants to find unchanged.
	Proof     string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewSession keeps a session until v.ExpiresAt and gives the secret by which it
// is found. Sessions that have ended are removed.
func (s *Store) NewSession(ctx context.Context, v Session) (secret string, err error) {
	secret = newSecret("aas_")
	now := s.now()
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE expires_at <= $1`, now); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO sessions (hash, name, proof, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
			secretHash(secret), text(v.User), v.Proof, now, v.ExpiresAt.UnixMilli())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	return secret, nil
}

// Session is the session behind a secret. The error is [ErrNotFound] if there
// is none, or it has ended.
func (s *Store) Session(ctx context.Context, secret string) (*Session, error) {
	var v Session
	var created, expires int64
	err := s.read.QueryRowContext(ctx, `SELECT name, proof, created_at, expires_at FROM sessions WHERE hash = $1 AND expires_at > $2`,
		secretHash(secret), s.now()).Scan(&v.User, &v.Proof, &created, &expires)
	if err == sql.ErrNoRows {
		return nil, fmt.Errorf("session: %w", ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read a session: %w", explain(err))
	}
	v.CreatedAt, v.ExpiresAt = instant(created), instant(expires)
	return &v, nil
}

// EndSession ends the session behind a secret; it is no error if there is none.
func (s *Store) EndSession(ctx context.Context, secret string) error {
	return s.deleteOne(ctx, "end a session", `DELETE FROM sessions WHERE hash = $1`, secretHash(secret), false)
}

// Scope is what the holder of a token may do.
type Scope string

// The scopes. ScopeWrite includes to read.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
)

// Token lets a program use the dashboard and its API.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Scope     Scope     `json:"scope"`
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
	// ExpiresAt is zero for never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// UsedAt is the last use, to the hour, and not before CreatedAt; zero for
	// never.
	UsedAt time.Time `json:"usedAt,omitzero"`
}

const sqlToken = `SELECT id, name, scope, created_by, created_at, expires_at, used_at FROM tokens `

func scanToken(r interface{ Scan(...any) error }, v *Token) error {
	var created, expires, used int64
	err := r.Scan(&v.ID, &v.Name, &v.Scope, &v.CreatedBy, &created, &expires, &used)
	if used > 0 {
		used = max(used, created) // the hour of its first use may have begun earlier
	}
	v.CreatedAt, v.ExpiresAt, v.UsedAt = instant(created), instant(expires), instant(used)
	return err
}

// NewToken keeps a token and gives its secret, which cannot be read again.
// Name, Scope, CreatedBy and ExpiresAt are taken from v.
func (s *Store) NewToken(ctx context.Context, v Token) (secret string, _ *Token, err error) {
	secret = newSecret("aat_")
	v.ID, v.CreatedAt, v.UsedAt = newShortID(), instant(s.now()), time.Time{}
	v.Name, v.CreatedBy = text(v.Name), text(v.CreatedBy)
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO tokens (id, hash, name, scope, created_by, created_at, expires_at, used_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0)`, v.ID, secretHash(secret), v.Name, string(v.Scope), v.CreatedBy, v.CreatedAt.UnixMilli(), stamp(v.ExpiresAt))
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("make a token: %w", err)
	}
	return secret, &v, nil
}

// Tokens lists all tokens, the newest first.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	return collect(ctx, s.read, sqlToken+`ORDER BY created_at DESC, id`, nil, func(r *sql.Rows, v *Token) error { return scanToken(r, v) })
}

// TokenOf is the token behind a secret, and notes its use. The error is
// [ErrNotFound] if there is none, or it has expired.
func (s *Store) TokenOf(ctx context.Context, secret string) (*Token, error) {
	var v Token
	now := s.now()
	err := scanToken(s.read.QueryRowContext(ctx, sqlToken+`WHERE hash = $1 AND (expires_at = 0 OR expires_at > $2)`, secretHash(secret), now), &v)
	if err == sql.ErrNoRows {
		return nil, fmt.Errorf("token: %w", ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read a token: %w", explain(err))
	}
	// A write for each request would cost more than the request.
	hour := max(now-now%time.Hour.Milliseconds(), stamp(v.CreatedAt))
	if s.write != nil && hour > stamp(v.UsedAt) {
		err := s.inTx(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE tokens SET used_at = $1 WHERE id = $2`, hour, v.ID)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("note the use of token %s: %w", v.ID, err)
		}
		v.UsedAt = instant(hour)
	}
	return &v, nil
}

// RevokeToken ends a token. The error is [ErrNotFound].
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	return s.deleteOne(ctx, "revoke token "+id, `DELETE FROM tokens WHERE id = $1`, id, true)
}

// Share is a link by which strangers can read one result or one view.
type Share struct {
	ID string `json:"id"`
	// Run is the one result, or "" for a view: Batch and Query, which are the
	// batch and the filters as the dashboard writes them.
	Run       RunID     `json:"run,omitempty"`
	Batch     BatchID   `json:"batch,omitempty"`
	Query     string    `json:"query,omitempty"`
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

const sqlShare = `SELECT id, batch, run, query, created_by, created_at, expires_at FROM shares `

func scanShare(r interface{ Scan(...any) error }, v *Share) error {
	var created, expires int64
	err := r.Scan(&v.ID, &v.Batch, &v.Run, &v.Query, &v.CreatedBy, &created, &expires)
	v.CreatedAt, v.ExpiresAt = instant(created), instant(expires)
	return err
}

// NewShare keeps a share until v.ExpiresAt and gives the secret of its link,
// which cannot be read again. Shares that have expired are removed.
func (s *Store) NewShare(ctx context.Context, v Share) (secret string, _ *Share, err error) {
	secret = newSecret("")
	v.ID, v.CreatedAt, v.CreatedBy = newShortID(), instant(s.now()), text(v.CreatedBy)
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM shares WHERE expires_at <= $1`, s.now()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO shares (id, hash, batch, run, query, created_by, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, v.ID, secretHash(secret), string(v.Batch), string(v.Run), text(v.Query), v.CreatedBy, v.CreatedAt.UnixMilli(), stamp(v.ExpiresAt))
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("share: %w", err)
	}
	return secret, &v, nil
}

// Shares lists all shares that have not expired, the newest first.
func (s *Store) Shares(ctx context.Context) ([]Share, error) {
	return collect(ctx, s.read, sqlShare+`WHERE expires_at > $1 ORDER BY created_at DESC, id`, []any{s.now()}, func(r *sql.Rows, v *Share) error { return scanShare(r, v) })
}

// ShareOf is the share behind the secret of a link. The error is [ErrNotFound]
// if there is none, or it was revoked or has expired.
func (s *Store) ShareOf(ctx context.Context, secret string) (*Share, error) {
	var v Share
	err := scanShare(s.read.QueryRowContext(ctx, sqlShare+`WHERE hash = $1 AND expires_at > $2`, secretHash(secret), s.now()), &v)
	if err == sql.ErrNoRows {
		return nil, fmt.Errorf("share: %w", ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read a share: %w", explain(err))
	}
	return &v, nil
}

// RevokeShare ends a share. The error is [ErrNotFound].
func (s *Store) RevokeShare(ctx context.Context, id string) error {
	return s.deleteOne(ctx, "revoke share "+id, `DELETE FROM shares WHERE id = $1`, id, true)
}

func (s *Store) deleteOne(ctx context.Context, what, query, key string, must bool) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, query, key)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 || !must {
			return err
		}
		return ErrNotFound
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
