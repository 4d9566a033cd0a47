package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func (s *Store) openReader(dsn string) (err error) {
	if s.read, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(8)
	s.read.SetMaxIdleConns(4)
	return nil
}

// openStill sees to a database on a medium that takes no writes, such as a
// backup. Readers share an index of the log with the writer, a file that they
// would make; where they cannot, and no log holds changes, the file is read as
// one that nobody changes (https://www.sqlite.org/wal.html, "Read-Only Databases").
func (s *Store) openStill(ctx context.Context, file string) error {
	var n int
	err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&n)
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok || e.Code()&0xff != sqlite3.SQLITE_CANTOPEN && e.Code()&0xff != sqlite3.SQLITE_READONLY {
		return err
	}
	if f, openErr := os.Open(file); openErr != nil {
		return openErr // it may not even be read
	} else if err := f.Close(); err != nil {
		return err
	}
	switch log, statErr := os.Stat(file + "-wal"); {
	case statErr == nil && log.Size() > 0:
		return fmt.Errorf("nothing can be written there, and the newest changes have not been taken from %s-wal into the database yet: copy the directory to where files can be written, and open that: %w", databaseFile, err)
	case statErr != nil && !errors.Is(statErr, fs.ErrNotExist):
		return statErr
	}
	if err := s.read.Close(); err != nil {
		return err
	}
	s.o.Log.LogAttrs(ctx, slog.LevelInfo, "nothing can be written beside the database; it is read as it is now, whoever changes it", slog.String("file", file))
	return s.openReader(sqliteDSN(file, true) + "&immutable=1")
}
