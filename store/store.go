package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Access says what a process wants with the store.
type Access int

const (
	// Own is for the one process that feeds and works (run, serve). It takes
	// DIR/lock and creates and migrates what is missing. The error for a
	// directory in use is a [*LockedError].
	Own Access = iota
	// Shared reads and writes beside an owner (pause, cancel, retry). It
	// creates nothing.
	Shared
	// ReadOnly only reads, also beside an owner (results, batches).
	ReadOnly
)

// Options are the settings of a store; the zero value owns the directory.
type Options struct {
	Access Access
	// Now is the clock; nil is time.Now, with PostgreSQL that of the server
	// ([Store.Now]).
	Now func() time.Time
	// Log hears of migrations and of clocks that differ; nil is silence.
	Log *slog.Logger
	// SmallBatch is the number of runs up to which a batch is [ClassSmall];
	// 0 is 200: what a few workers do in seconds.
	SmallBatch int
	// MaxLooked bounds the entries that pass one filter and are read for one page:
	// an eighth is looked at whether they pass the others, a fifth is sorted; 0 is
	// 8,000, which takes some ten milliseconds.
	MaxLooked int
	// IntakeKeys is how many runs an intake remembers before it asks the
	// database; 0 is 150,000: about 8 MB.
	IntakeKeys int
	// GroupEvery is the least time between two shared transactions of the
	// small writes (claims, results) with 64 open claims or more; 0 is 40 ms. It
	// makes groups of what would be a transaction each. With fewer claims the time
	// is shorter in proportion, and with less than eight writes do not wait.
	GroupEvery time.Duration
	// Patience is how long a PostgreSQL server may take to answer a small write
	// before it counts as away; 0 is 30 s. Reads may take twice as long.
	Patience time.Duration

	// anySchema opens a database whatever its version.
	anySchema bool
}

// Store is an open store, safe for concurrent use.
type Store struct {
	o       Options
	d       *dialect
	lock    *fileLock
	write   *sql.DB // nil when read-only
	read    *sql.DB
	long    *sql.DB // for writes that take minutes, nil when read-only
	group   *grouper
	clock   *serverClock // nil where the clock is this machine's
	codec   *codec
	intakes intakes
	// migrated are the steps that this process took.
	migrated []string
	readers  *regular // nil for a reader of the store
	// only is the batch that TakeDue is restricted to, 0 for none.
	only atomic.Int64
}

// databaseFile is the name of the SQLite file in a data directory.
const databaseFile = "agentaudit.db"

// Open opens the store in a data directory, or the one in the PostgreSQL
// database that a URL names ([postgres://USER@HOST/DATABASE]). With [Shared] and
// [ReadOnly] a place without a store is [ErrNotFound], and one written by another
// version of the program is [ErrSchema]. A server that does not answer is
// [ErrUnavailable].
//
// What the URL leaves out comes from the environment, as with all programs of
// PostgreSQL (PGPASSWORD, PGPASSFILE, PGSSLMODE and so on); a password in it is
// never shown.
//
// [postgres://USER@HOST/DATABASE]: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
func Open(ctx context.Context, source string, o Options) (_ *Store, err error) {
	given := o.Now != nil
	if !given {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.SmallBatch == 0 {
		o.SmallBatch = 200
	}
	if o.IntakeKeys == 0 {
		o.IntakeKeys = 150_000
	}
	if o.MaxLooked == 0 {
		o.MaxLooked = 8000
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.GroupEvery == 0 {
		o.GroupEvery = 40 * time.Millisecond
	}
	s := &Store{o: o, d: sqliteDialect}
	open, place := s.openSQLite, source
	if scheme, _, ok := strings.Cut(source, "://"); ok {
		switch scheme {
		case "postgres", "postgresql":
			s.d, place = postgresDialect, shownURL(source)
			open = func(ctx context.Context, source string) error { return s.openPostgres(ctx, source, !given) }
		default:
			return nil, fmt.Errorf("%s:// stores are not supported; give a data directory or a postgres:// URL", scheme)
		}
	}
	defer func() {
		if err != nil {
			s.Close()
			err = fmt.Errorf("open the store in %s: %w", place, explain(err))
		}
	}()
	if s.codec, err = newCodec(); err != nil {
		return nil, err
	}
	if err := open(ctx, source); err != nil {
		return nil, err
	}
	if s.write != nil {
		if s.group, err = newGrouper(ctx, s); err != nil {
			return nil, err
		}
		s.startReaders()
	}
	return s, nil
}

func (s *Store) openSQLite(ctx context.Context, dir string) (err error) {
	file := filepath.Join(dir, databaseFile)
	if s.o.Access == Own {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if s.lock, err = lockDir(dir); err != nil {
			return err
		}
	} else if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("nothing is stored there yet: %w", ErrNotFound)
	} else if err != nil {
		return err
	}
	if s.o.Access != ReadOnly {
		s.write, err = sql.Open("sqlite", sqliteDSN(file, false))
		if err != nil {
			return err
		}
		// SQLite has one writer; a second connection would only wait.
		s.write.SetMaxOpenConns(1)
		s.long = s.write
		if s.o.Access == Own {
			if err := s.migrate(ctx); err != nil {
				return err
			}
		}
	}
	if err := s.openReader(sqliteDSN(file, true)); err != nil {
		return err
	}
	if s.o.Access == ReadOnly {
		if err := s.openStill(ctx, file); err != nil {
			return err
		}
	}
	return s.checkSchema(ctx)
}

// writerCache is the page cache of the writer, negative in KiB. The index that
// finds duplicates is written all over during intake: this much holds it for a
// list of a million.
const writerCache = "-24576"

// sqliteDSN gives each connection its pragmas: set once on an open pool they
// would reach one connection only.
func sqliteDSN(file string, read bool) string {
	var b strings.Builder
	b.WriteString("file:")
	// In a file: URI these have a meaning of their own.
	b.WriteString(strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file))
	b.WriteString("?_pragma=busy_timeout(10000)")
	if read {
		// temp_store 2: a sort must not need a writable temp directory.
		b.WriteString("&_pragma=query_only(1)&_pragma=cache_size(-8192)&_pragma=temp_store(2)")
	} else {
		// NORMAL in WAL mode: a crash of the process loses nothing, a power
		// cut at most the last moments, and the file stays sound either way.
		b.WriteString("&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(normal)")
		b.WriteString("&_pragma=cache_size(" + writerCache + ")&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(67108864)")
	}
	return b.String()
}

// Close waits for writes under way and gives up the lock.
func (s *Store) Close() error {
	var errs []error
	if s.readers != nil {
		s.readers.close()
	}
	if s.group != nil {
		s.group.close()
	}
	if s.clock != nil {
		s.clock.close()
	}
	for _, db := range []*sql.DB{s.read, s.write, s.long} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.codec != nil {
		s.codec.close()
	}
	if s.lock != nil {
		errs = append(errs, s.lock.unlock())
	}
	return errors.Join(errs...)
}

// Sole reports whether no other process can work on what is in the store as
// long as this one has it open: it owns a data directory.
func (s *Store) Sole() bool { return s.lock != nil }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return explain(s.read.QueryRowContext(ctx, `SELECT 1 FROM schema_version LIMIT 1`).Scan(&one))
}

// Now is the time by which the store reckons: with PostgreSQL that of the
// server, so that what workers on several machines say of leases, of what is due
// and of lateness agrees, however their own clocks go.
func (s *Store) Now() time.Time { return s.o.Now() }

func (s *Store) now() int64 { return s.o.Now().UnixMilli() }

// instant is the time behind a column, the zero time for 0.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// inTx runs f in a transaction: all of it or nothing. Where several write at
// once (PostgreSQL) f may run more than once, when another transaction was in
// its way; it must not add to what it leaves outside.
func (s *Store) inTx(ctx context.Context, f func(tx *sql.Tx) error) error {
	return s.inTxOf(ctx, s.write, f)
}

// inLongTx is inTx for what may take minutes.
func (s *Store) inLongTx(ctx context.Context, f func(tx *sql.Tx) error) error {
	return s.inTxOf(ctx, s.long, f)
}

// maxTries bounds how often a transaction is begun again.
const maxTries = 10

func (s *Store) inTxOf(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	return s.inConnTx(ctx, db, func(tx *sql.Tx, _ *sql.Conn) error { return f(tx) })
}

// inConnTx is inTx with the connection of the transaction, for what the driver
// can do beyond database/sql; it is nil for SQLite.
func (s *Store) inConnTx(ctx context.Context, db *sql.DB, f func(tx *sql.Tx, conn *sql.Conn) error) error {
	if db == nil {
		return ErrReadOnly
	}
	for try := 1; ; try++ {
		err := s.once(ctx, db, f)
		if err == nil || try == maxTries || !collided(err) || ctx.Err() != nil {
			return explain(err)
		}
	}
}

func (s *Store) once(ctx context.Context, db *sql.DB, f func(tx *sql.Tx, conn *sql.Conn) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	raw := conn
	if s.d == sqliteDialect {
		raw = nil
	}
	if err := f(tx, raw); err != nil {
		return err
	}
	return tx.Commit()
}
