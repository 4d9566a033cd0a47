package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Copied is how many rows of a table were copied.
type Copied struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Copy copies the store in a data directory into an empty PostgreSQL database:
// all of it, or nothing if it does not come to its end. It owns the directory
// as long as it takes, and leaves it as it is, but for runs under way, which are
// due again. told, if not nil, hears of each table. The error is a [*LockedError]
// for a directory in use, and [ErrConflict] for a database that holds something.
func Copy(ctx context.Context, dir, url string, o Options, told func(Copied)) ([]Copied, error) {
	o.Access = Own
	if strings.Contains(dir, "://") || !strings.Contains(url, "://") {
		return nil, errors.New("copying goes from a data directory into a PostgreSQL database")
	}
	if _, err := ReadStatus(ctx, dir, o); err != nil {
		return nil, err // before a directory is made
	}
	from, err := Open(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := Open(ctx, url, o)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	if _, err := from.ResetRunning(ctx); err != nil {
		return nil, err
	}
	var all []Copied
	err = to.inConnTx(ctx, to.long, func(tx *sql.Tx, conn *sql.Conn) (err error) {
		all, err = copyAll(ctx, from, tx, conn, told)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("copy into %s: %w; nothing was copied", shownURL(url), err)
	}
	// Without it the first queries would be planned for an empty database.
	if _, err := to.long.ExecContext(ctx, "ANALYZE"); err != nil {
		return all, fmt.Errorf("everything is copied, but the tables could not be analysed: %w", explain(err))
	}
	return all, nil
}

func copyAll(ctx context.Context, from *Store, tx *sql.Tx, conn *sql.Conn, told func(Copied)) ([]Copied, error) {
	// Nobody else writes meanwhile, or fills the database, too.
	if _, err := tx.ExecContext(ctx, postgresDialect.lockSchema); err != nil {
		return nil, err
	}
	tables, err := copiedTables(ctx, from, tx)
	if err != nil {
		return nil, err
	}
	var all []Copied
	for _, t := range tables {
		if _, err := tx.ExecContext(ctx, `LOCK TABLE `+t.name+` IN EXCLUSIVE MODE`); err != nil {
			return nil, err
		}
		var some bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+t.name+`)`).Scan(&some); err != nil {
			return nil, err
		}
		if some {
			return nil, fmt.Errorf("its table %s is not empty: %w", t.name, ErrConflict)
		}
	}
	for _, t := range tables {
		c, err := t.copy(ctx, from, tx, conn)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		all = append(all, c)
		if told != nil {
			told(c)
		}
	}
	return all, nil
}

// copiedTable is a table with its columns and which of them are boolean.
type copiedTable struct {
	name    string
	columns []string
	boolean []bool
}

// copiedTables lists the tables of the program, which must be the same in both
// databases.
func copiedTables(ctx context.Context, from *Store, tx *sql.Tx) ([]copiedTable, error) {
	type column struct{ table, name, kind string }
	columns, err := collect(ctx, tx, `SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c
		JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
		WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.table_name <> 'schema_version' ORDER BY c.table_name, c.ordinal_position`,
		nil, func(r *sql.Rows, v *column) error { return r.Scan(&v.table, &v.name, &v.kind) })
	if err != nil {
		return nil, err
	}
	there, err := collect(ctx, from.read, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> 'schema_version' ORDER BY name`,
		nil, func(r *sql.Rows, name *string) error { return r.Scan(name) })
	if err != nil {
		return nil, err
	}
	var tables []copiedTable
	for _, c := range columns {
		if len(tables) == 0 || tables[len(tables)-1].name != c.table {
			if !slices.Contains(there, c.table) {
				continue // somebody else's, in the same schema
			}
			tables = append(tables, copiedTable{name: c.table})
		}
		t := &tables[len(tables)-1]
		t.columns, t.boolean = append(t.columns, c.name), append(t.boolean, c.kind == "boolean")
	}
	for _, name := range there {
		if !slices.ContainsFunc(tables, func(t copiedTable) bool { return t.name == name }) {
			return nil, fmt.Errorf("%w: it has no table %s", ErrSchema, name)
		}
	}
	return tables, nil
}

func (t *copiedTable) copy(ctx context.Context, from *Store, tx *sql.Tx, conn *sql.Conn) (Copied, error) {
	rows, err := from.read.QueryContext(ctx, `SELECT `+strings.Join(t.columns, ", ")+` FROM `+t.name)
	if err != nil {
		return Copied{}, err
	}
	defer rows.Close()
	values, dest := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range values {
		dest[i] = &values[i]
	}
	var read int64
	err = conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromFunc(func() ([]any, error) {
			if !rows.Next() {
				return nil, rows.Err()
			}
			if err := rows.Scan(dest...); err != nil {
				return nil, err
			}
			for i, v := range values {
				if n, ok := v.(int64); ok && t.boolean[i] {
					values[i] = n != 0
				}
			}
			read++
			return values, nil
		}))
		return err
	})
	if err != nil {
		return Copied{}, err
	}
	var there, here int64
	if err := from.read.QueryRowContext(ctx, `SELECT count(*) FROM `+t.name).Scan(&there); err != nil {
		return Copied{}, err
	}
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM `+t.name).Scan(&here); err != nil {
		return Copied{}, err
	}
	if here != there || here != read {
		return Copied{}, fmt.Errorf("of %d rows %d were read and %d arrived", there, read, here)
	}
	return Copied{t.name, here}, nil
}
