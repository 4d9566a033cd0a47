package store

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrNotFound is the error for an id that names nothing.
	ErrNotFound = errors.New("not found")
	// ErrConflict is the error for a step that the present state of a batch
	// does not allow, such as to resume what is not paused.
	ErrConflict = errors.New("not possible in its present state")
	// ErrStale is the error for a claim, or an attempt at one, that others
	// have overtaken: the run is done, cancelled, paused, not due or in other
	// hands. Nothing was written; the caller drops what it holds.
	ErrStale = errors.New("overtaken")
	// ErrReadOnly is the error for a write through a store that was opened
	// with [ReadOnly], or on a medium that takes no writes.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrFull is the error for a disk or quota that is full.
	ErrFull = errors.New("the disk is full")
	// ErrUnavailable is the error for a database server that does not answer, or
	// not now: it restarts, the network is away, it is overloaded. The same call
	// may succeed later; whether a write was done is not known.
	ErrUnavailable = errors.New("the database is not available")
	// ErrSchema is the error for a database of another version of the program.
	ErrSchema = errors.New("the database is of another version")
)

// LockedError says that another process owns the data directory.
type LockedError struct {
	Dir string
	// PID is the process that holds it, 0 if it did not leave its number.
	PID int
}

// Error says who holds the directory and what can be done.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("the data directory %s is in use by %s; wait for it, stop it, or give another --data-dir", e.Dir, who)
}

func stale(id RunID, why string) error { return fmt.Errorf("run %s: %s: %w", id, why, ErrStale) }

// explain gives errors of the database their plain names.
func explain(err error) error {
	if errors.Is(err, ErrFull) || errors.Is(err, ErrReadOnly) || errors.Is(err, ErrUnavailable) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: free some space in the data directory (%w)", ErrFull, err)
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return explainPostgres(err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: free some space in the data directory and start again, nothing finished is lost (%w)", ErrFull, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: check the permissions of the data directory (%w)", ErrReadOnly, err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("another process has kept the database busy for too long: %w", err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the database file is damaged or no database; restore a copy, or give another --data-dir: %w", err)
	}
	return err
}
