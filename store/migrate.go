package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

//go:embed migrations
var migrationFiles embed.FS

const migrationFolder = "migrations"

// migration is one step of the schema, from a file NNNN_name.sql. A step that
// was released is never changed: the checksum of its file is kept.
type migration struct {
	version  int64
	name     string
	text     string
	checksum string
}

func migrations(fsys fs.FS, folder string) ([]migration, error) {
	files, err := fs.Glob(fsys, folder+"/*.sql") // in lexical order
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, f := range files {
		text, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(f[len(folder)+1:], ".sql")
		number, _, _ := strings.Cut(name, "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil || v != int64(i+1) {
			return nil, fmt.Errorf("migration %s: want number %04d", f, i+1)
		}
		sum := sha256.Sum256(text)
		all = append(all, migration{v, name, string(text), hex.EncodeToString(sum[:8])})
	}
	return all, nil
}

// migrate brings the schema up to this program's version, one transaction a step.
func (s *Store) migrate(ctx context.Context) error {
	all, err := migrations(migrationFiles, migrationFolder)
	if err != nil {
		return err
	}
	return s.migrateTo(ctx, all)
}

func (s *Store) migrateTo(ctx context.Context, all []migration) error {
	// Most processes find nothing to do, and may lack the right to do it.
	done, err := s.applied(ctx)
	if err != nil {
		return err
	}
	if err := compatible(done, all, false); err != nil || len(done) == len(all) {
		return err
	}
	for {
		var step *migration
		err := s.inLongTx(ctx, func(tx *sql.Tx) (err error) {
			step, err = s.nextStep(ctx, tx, all)
			return err
		})
		if err != nil || step == nil {
			return err
		}
		s.migrated = append(s.migrated, step.name)
		s.o.Log.InfoContext(ctx, "database migrated", "migration", step.name)
	}
}

// nextStep runs the first migration that the database lacks, if there is one.
// Other processes wait until it is done, and then find it done.
func (s *Store) nextStep(ctx context.Context, tx *sql.Tx, all []migration) (*migration, error) {
	if s.d.lockSchema != "" {
		if _, err := tx.ExecContext(ctx, s.d.lockSchema); err != nil {
			return nil, err
		}
	}
	_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (
		version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
	if err != nil {
		return nil, err
	}
	done, err := applied(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := compatible(done, all, false); err != nil || len(done) == len(all) {
		return nil, err
	}
	m := &all[len(done)]
	if _, err := tx.ExecContext(ctx, s.d.schema(m.text)); err != nil {
		return nil, fmt.Errorf("migration %s: %w", m.name, err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO schema_version (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`,
		m.version, m.name, m.checksum, s.now())
	return m, err
}

// applied lists the migrations that the database has, none where it is empty.
func (s *Store) applied(ctx context.Context) ([]migration, error) {
	db := cmp.Or(s.write, s.read)
	var some bool
	if err := db.QueryRowContext(ctx, s.d.hasTable, "schema_version").Scan(&some); err != nil || !some {
		return nil, explain(err)
	}
	return applied(ctx, db)
}

func applied(ctx context.Context, db querier) ([]migration, error) {
	return collect(ctx, db, `SELECT version, name, checksum FROM schema_version ORDER BY version`, nil,
		func(r *sql.Rows, m *migration) error { return r.Scan(&m.version, &m.name, &m.checksum) })
}

// compatible compares what the database has with what the program knows.
func compatible(done, known []migration, exact bool) error {
	for i, m := range done {
		if i >= len(known) {
			return fmt.Errorf("%w: it was written by a newer version (step %s); update the program", ErrSchema, m.name)
		}
		if k := known[i]; k.version != m.version || k.checksum != m.checksum {
			return fmt.Errorf("%w: step %s in it is not the %s of this program", ErrSchema, m.name, k.name)
		}
	}
	if exact && len(done) < len(known) {
		return fmt.Errorf("%w: it lacks step %s; run or serve brings it up to date", ErrSchema, known[len(done)].name)
	}
	return nil
}

func (s *Store) checkSchema(ctx context.Context) error {
	if s.o.anySchema {
		return nil
	}
	all, err := migrations(migrationFiles, migrationFolder)
	if err != nil {
		return err
	}
	done, err := s.applied(ctx)
	if err != nil {
		return err
	}
	if len(done) == 0 {
		return fmt.Errorf("nothing is stored there yet: %w", ErrNotFound)
	}
	return compatible(done, all, true)
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, query string, args []any, scan func(*sql.Rows, *T) error) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := scan(rows, &v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, explain(rows.Err())
}
