package store

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipe runs the statements of a transaction. Where the way to the database is
// long (PostgreSQL) it collects them, and sync sends all at once: what they
// bring is there after that. Otherwise each runs when it is given.
type pipe struct {
	ctx   context.Context
	tx    *sql.Tx
	conn  *sql.Conn            // nil: nothing is collected
	stmts map[string]*sql.Stmt // prepared, nil for none
	queue pgx.Batch
}

// inPipe is inTx with a pipe, which is empty at the end.
func (s *Store) inPipe(ctx context.Context, f func(p *pipe) error) error {
	return s.inConnTx(ctx, s.write, func(tx *sql.Tx, conn *sql.Conn) error {
		p := &pipe{ctx: ctx, tx: tx, conn: conn}
		if err := f(p); err != nil {
			return err
		}
		return p.sync()
	})
}

// send runs a statement; done hears how many rows it met, nil if nobody asks.
func (p *pipe) send(query string, done func(rows int64) error, args ...any) error {
	if p.conn != nil {
		q := p.queue.Queue(query, args...)
		if done != nil {
			q.Exec(func(tag pgconn.CommandTag) error { return done(tag.RowsAffected()) })
		}
		return nil
	}
	n, err := p.exec(query, args...)
	if err != nil || done == nil {
		return err
	}
	return done(n)
}

// ask runs a query; row is called for each row with what scans it.
func (p *pipe) ask(query string, row func(scan func(dest ...any) error) error, args ...any) error {
	if p.conn != nil {
		p.queue.Queue(query, args...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := row(rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		return nil
	}
	rows, err := p.query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// sync waits until all that was given before is done.
func (p *pipe) sync() error {
	if p.queue.Len() == 0 {
		return nil
	}
	queue := p.queue
	p.queue = pgx.Batch{}
	return p.conn.Raw(func(driver any) error {
		return driver.(*stdlib.Conn).Conn().SendBatch(p.ctx, &queue).Close()
	})
}

// exec and query run a statement at once, before what send and ask collected.

func (p *pipe) exec(query string, args ...any) (int64, error) {
	var res sql.Result
	var err error
	if st := p.stmts[query]; st != nil {
		res, err = p.tx.StmtContext(p.ctx, st).ExecContext(p.ctx, args...)
	} else {
		res, err = p.tx.ExecContext(p.ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (p *pipe) query(query string, args ...any) (*sql.Rows, error) {
	if st := p.stmts[query]; st != nil {
		return p.tx.StmtContext(p.ctx, st).QueryContext(p.ctx, args...)
	}
	return p.tx.QueryContext(p.ctx, query, args...)
}
