package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// placeholders is a list of n parameters from $first on: ($2, $3).
func placeholders(first, n int) string {
	var b strings.Builder
	b.WriteByte('(')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(first + i))
	}
	b.WriteByte(')')
	return b.String()
}

// inserter collects rows and inserts many with one statement.
type inserter struct {
	ctx     context.Context
	tx      *sql.Tx
	query   string
	columns int
	tail    string
	perStmt int
	args    []any
	full    *sql.Stmt
}

// maxParams bounds the parameters of one statement. SQLite's driver looks each
// up by its name in a list, so that a thousand cost ten times what ten times a
// hundred do; below that the statements themselves are the cost.
const maxParams = 80

// newInserter takes a statement up to and with VALUES. A row has that many
// parameters, and behind them the same constants in each.
func newInserter(ctx context.Context, tx *sql.Tx, query string, columns int, constants ...string) *inserter {
	tail := ""
	for _, c := range constants {
		tail += "," + c
	}
	return &inserter{ctx: ctx, tx: tx, query: query, columns: columns, tail: tail + ")", perStmt: max(1, maxParams/columns)}
}

func (x *inserter) text(rows int) string {
	var b strings.Builder
	b.WriteString(x.query)
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.TrimSuffix(placeholders(1+i*x.columns, x.columns), ")"))
		b.WriteString(x.tail)
	}
	return b.String()
}

func (x *inserter) add(values ...any) error {
	x.args = append(x.args, values...)
	if len(x.args) < x.columns*x.perStmt {
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
	_, err := x.tx.ExecContext(x.ctx, x.text(len(x.args)/x.columns), x.args...)
	x.args = x.args[:0]
	return err
}

// encodeList is a list of strings as JSON text.
func encodeList(l []string) string {
	if len(l) == 0 {
		return "[]"
	}
	b, err := json.Marshal(l)
	if err != nil { // strings cannot fail
		panic(err)
	}
	return string(b)
}

// decodeList undoes encodeList; it returns nil for the empty list.
func decodeList(s string) ([]string, error) {
	if s == "[]" {
		return nil, nil
	}
	var l []string
	if err := json.Unmarshal([]byte(s), &l); err != nil {
		return nil, fmt.Errorf("the database is damaged: a list column holds %.60q", s)
	}
	return l, nil
}

// text makes foreign text fit for every database: U+FFFD stands for bytes that
// are not UTF-8 and for NUL, which PostgreSQL does not take.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func texts(l []string) []string {
	if len(l) == 0 {
		return nil
	}
	out := make([]string, len(l))
	for i, s := range l {
		out[i] = text(s)
	}
	return out
}
