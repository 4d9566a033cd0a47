package store

import (
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

// dialect is all in which the databases differ.
type dialect struct {
	name   string
	folder string
	// sortSmall and sortAsBefore bound the memory of a large sort in a
	// transaction; what does not fit goes to temporary files.
	sortSmall, sortAsBefore string
}

var sqliteDialect = dialect{
	name:   "sqlite",
	folder: "migrations/sqlite",
	// A sort takes three times the cache.
	sortSmall:    "PRAGMA cache_size = -6144",
	sortAsBefore: "PRAGMA cache_size = " + writerCache,
}

// migration is one step of the schema, from a file NNNN_name.sql. A step that
// was released is never changed: the checksum of what ran is kept.
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
	all, err := migrations(migrationFiles, s.d.folder)
	if err != nil {
		return err
	}
	return s.migrateTo(ctx, all)
}

func (s *Store) migrateTo(ctx context.Context, all []migration) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (
			version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
		return err
	})
	if err != nil {
		return err
	}
	done, err := applied(ctx, s.write)
	if err != nil {
		return err
	}
	if err := compatible(done, all, false); err != nil {
		return err
	}
	for _, m := range all[len(done):] {
		err := s.inTx(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, m.text); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO schema_version (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`,
				m.version, m.name, m.checksum, s.now())
			return err
		})
		if err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
		s.o.Log.InfoContext(ctx, "database migrated", "migration", m.name)
	}
	return nil
}

func applied(ctx context.Context, db *sql.DB) ([]migration, error) {
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
	all, err := migrations(migrationFiles, s.d.folder)
	if err != nil {
		return err
	}
	done, err := applied(ctx, s.read)
	if err != nil {
		return err
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
