package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Whether an error passes decides between waiting for the database and giving
// up: both are wrong in the wrong place.
func TestErrorsOfDatabases(t *testing.T) {
	server := func(code string) error { return &pgconn.PgError{Code: code, Message: "of the server"} }
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		err  error
		want error // nil: neither passes nor has a name
	}{
		{dial, ErrUnavailable},
		{io.ErrUnexpectedEOF, ErrUnavailable},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, ErrUnavailable},
		{fmt.Errorf("begin: %w", pgconn.ErrConnClosed), ErrUnavailable},
		{server("57P01"), ErrUnavailable}, // admin_shutdown
		{server("57P03"), ErrUnavailable}, // cannot_connect_now
		{server("57014"), ErrUnavailable}, // query_canceled, by a timeout
		{server("53300"), ErrUnavailable}, // too_many_connections
		{server("40P01"), ErrUnavailable}, // deadlock, after all tries
		{server("25006"), ErrUnavailable}, // a standby after a change of servers
		{server("53100"), ErrFull},        // disk_full
		{&fs.PathError{Op: "write", Path: "lock", Err: syscall.ENOSPC}, ErrFull},
		{server("23505"), nil}, // unique_violation
		{server("28P01"), nil}, // invalid_password
		{server("42501"), nil}, // insufficient_privilege
		{server("42P07"), nil}, // duplicate_table
		{server(""), nil},
		{&fs.PathError{Op: "open", Path: "lock", Err: syscall.EACCES}, nil},
		{&net.OpError{Op: "read", Err: context.Canceled}, nil},
	} {
		got := explain(c.err)
		if !errors.Is(got, c.err) {
			t.Errorf("%v lost its cause: %v", c.err, got)
		}
		for _, name := range []error{ErrUnavailable, ErrFull, ErrReadOnly} {
			if errors.Is(got, name) != (name == c.want) {
				t.Errorf("%v (%T) became %q", c.err, c.err, got)
			}
		}
		if again := explain(got); again.Error() != got.Error() {
			t.Errorf("%v is explained twice: %v", got, again)
		}
	}
	for code, hint := range map[string]string{"42501": "owner of the tables", "42P07": "database or a schema of its own"} {
		if got := explain(server(code)).Error(); !strings.Contains(got, hint) {
			t.Errorf("%s: %s", code, got)
		}
	}
	if !collided(fmt.Errorf("x: %w", server("40001"))) || !collided(errCollided) || collided(server("23505")) || collided(dial) {
		t.Error("collisions are not told from other errors")
	}
}
