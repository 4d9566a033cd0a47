package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// errCollided is for a collision that shows in the answers of the database.
var errCollided = errors.New("another transaction was in the way")

// collided says that a transaction was undone because others were in its way;
// it can be tried again at once.
func collided(err error) bool {
	if errors.Is(err, errCollided) {
		return true
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	// serialization_failure, deadlock_detected
	return ok && (e.Code == "40001" || e.Code == "40P01")
}

// explainPostgres gives errors of PostgreSQL and of the way to it their plain
// names (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func explainPostgres(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case e.Code == "53100":
			return fmt.Errorf("%w: free some space at the PostgreSQL server, nothing finished is lost (%w)", ErrFull, err)
		case e.Code == "42501":
			return hinted(err, "give the PostgreSQL user that right, or have the owner of the tables run agentaudit db migrate")
		case e.Code == "42P07", e.Code == "42710":
			return hinted(err, "something in this database has a name that agentaudit needs: give it a database or a schema of its own")
		case passing(e.Code):
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return err
	}
	// Not every net.Error: the numbers of the system's errors are such, too.
	_, network := errors.AsType[*net.OpError](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	if connecting || pgconn.SafeToRetry(err) || errors.Is(err, pgconn.ErrConnClosed) || network && !errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// hinted adds what to do, once.
func hinted(err error, hint string) error {
	if strings.Contains(err.Error(), hint) {
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// passing says that an error of the server says nothing about the statement:
// connection trouble, too little of something, intervention of the operator, a
// lock or a standby in the way.
func passing(code string) bool {
	switch code {
	case "40001", "40P01", "55P03", // collision, deadlock, lock not available
		"25P03", "25P02", // stood still in a transaction, and what follows from an error there
		"25006",          // a standby takes no writes: the server is being changed for another
		"57014", "58030": // statement timeout, I/O error
		return true
	}
	// Classes: connection, resources, intervention of the operator.
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "57")
}
