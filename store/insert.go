package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// inserter collects rows of a table and inserts many at once.
type inserter struct {
	ctx     context.Context
	tx      *sql.Tx
	conn    *sql.Conn // of PostgreSQL, for COPY; nil for others
	table   string
	columns string // names with commas, those of constants last
	each    int    // values that add takes for a row
	same    []any  // the values of the constants
	perStmt int
	args    []any
	full    *sql.Stmt
}

// constant is a column with the same value in all rows that are inserted.
type constant struct {
	column string
	value  any // string, int64 or bool
}

// maxParams bounds the parameters of one statement. SQLite's driver looks each
// up by its name in a list, so that a thousand cost ten times what ten times a
// hundred do; below that the statements themselves are the cost.
const maxParams = 80

// newInserter takes the columns that add gives a value for, with commas, and
// those that are the same in each row.
func newInserter(ctx context.Context, tx *sql.Tx, conn *sql.Conn, table, columns string, same ...constant) *inserter {
	x := &inserter{ctx: ctx, tx: tx, conn: conn, table: table, columns: columns, each: strings.Count(columns, ",") + 1}
	for _, c := range same {
		x.columns += ", " + c.column
		x.same = append(x.same, c.value)
	}
	x.perStmt = max(1, maxParams/x.each)
	return x
}

// text is the statement for a number of rows. Constants stand in it as they
// are, which is cheaper than a parameter.
func (x *inserter) text(rows int) string {
	var tail strings.Builder
	for _, v := range x.same {
		tail.WriteString("," + literal(v))
	}
	tail.WriteByte(')')
	var b strings.Builder
	b.WriteString("INSERT INTO " + x.table + " (" + x.columns + ") VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.TrimSuffix(placeholders(1+i*x.each, x.each), ")"))
		b.WriteString(tail.String())
	}
	return b.String()
}

func (x *inserter) add(values ...any) error {
	x.args = append(x.args, values...)
	if x.conn != nil || len(x.args) < x.each*x.perStmt {
		return nil
	}
	if x.full == nil {
		stmt, err := x.tx.PrepareContext(x.ctx, x.text(x.perStmt))
		if err != nil {
			return err
		}
		x.full = stmt
	}
	_, err := x.full.ExecContext(x.ctx, x.args...)
	x.args = x.args[:0]
	return err
}

// flush inserts what is left.
func (x *inserter) flush() error {
	if x.full != nil {
		defer x.full.Close()
	}
	if len(x.args) == 0 {
		return nil
	}
	if x.conn != nil {
		return x.copy()
	}
	_, err := x.tx.ExecContext(x.ctx, x.text(len(x.args)/x.each), x.args...)
	x.args = x.args[:0]
	return err
}

// copy brings all rows in with one COPY.
func (x *inserter) copy() error {
	columns := strings.Split(strings.ReplaceAll(x.columns, " ", ""), ",")
	row := make([]any, 0, len(columns))
	n := 0
	return x.conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(x.ctx, pgx.Identifier{x.table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
			if n == len(x.args) {
				return nil, nil
			}
			row = append(append(row[:0], x.args[n:n+x.each]...), x.same...)
			n += x.each
			return row, nil
		}))
		x.args = nil
		return err
	})
}

// literal is a constant in a statement; none of them is of foreign text.
func literal(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "true"
		}
		return "false"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return fmt.Sprint(v)
}
