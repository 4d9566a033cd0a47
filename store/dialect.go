package store

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
)

// dialect is all in which the databases differ. The zero value of a field
// means that the database needs nothing there.
type dialect struct {
	name string
	// schema turns the text of a migration into that of the database.
	schema func(text string) string
	// about gives the version of the database and its size in bytes.
	about string
	// hasTable says whether a table ($1) is there.
	hasTable string
	// forUpdate stands at the end of a SELECT whose rows are changed in the
	// same transaction; skipLocked at the end of one that takes rows of a table
	// with the alias r which nobody else is at.
	forUpdate, skipLocked string
	// lockBatch and shareBatch lock a batch ($1) until the transaction ends.
	lockBatch, shareBatch string
	// lockSchema lets one process migrate at a time.
	lockSchema string
	// sortSmall and sortAsBefore bound the memory of a large sort in a
	// transaction; what does not fit goes to temporary files.
	sortSmall, sortAsBefore string
	// wholeLists is said in a transaction that joins all rows of long lists.
	wholeLists string
	// analyze lets the planner know what a large intake has brought.
	analyze string
	// snapshot is the isolation in which a transaction sees one moment.
	snapshot sql.IsolationLevel
	// prepared says that hot statements are prepared by the grouper; the driver
	// of PostgreSQL does that by itself.
	prepared bool
}

var sqliteDialect = &dialect{
	name:     "SQLite",
	about:    "SELECT sqlite_version(), (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())",
	schema:   func(text string) string { return section(text, "sqlite") },
	hasTable: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1)",
	// A sort takes three times the cache.
	sortSmall:    "PRAGMA cache_size = -6144",
	sortAsBefore: "PRAGMA cache_size = " + writerCache,
	prepared:     true,
}

var postgresDialect = &dialect{
	name:       "PostgreSQL",
	about:      "SELECT current_setting('server_version'), pg_database_size(current_database())",
	schema:     postgresSchema,
	hasTable:   "SELECT to_regclass($1) IS NOT NULL",
	forUpdate:  " FOR UPDATE",
	skipLocked: " FOR UPDATE OF r SKIP LOCKED",
	// Keys of advisory locks are shared by all that use the database; the first
	// three bytes, "aga", keep them apart.
	lockBatch:  "SELECT pg_advisory_xact_lock(cast(x'6167610000000000' AS BIGINT) + $1)",
	shareBatch: "SELECT pg_advisory_xact_lock_shared(cast(x'6167610000000000' AS BIGINT) + $1)",
	lockSchema: "SELECT pg_advisory_xact_lock(cast(x'6167610000000000' AS BIGINT))",
	analyze:    "ANALYZE entries, entry_words, runs, run_keys",
	wholeLists: "SET LOCAL enable_mergejoin = on",
	snapshot:   sql.LevelRepeatableRead,
}

// section leaves out what a migration marks as meant for another database: the
// lines between "-- only NAME" and "-- both".
func section(text, name string) string {
	if !strings.Contains(text, "\n-- only ") && !strings.HasPrefix(text, "-- only ") {
		return text
	}
	var b strings.Builder
	keep := true
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		if only, ok := strings.CutPrefix(word, "-- only "); ok {
			keep = only == name
		} else if word == "-- both" {
			keep = true
		} else if keep {
			b.WriteString(line)
		}
	}
	return b.String()
}

var (
	comment    = regexp.MustCompile(`--[^\n]*`)
	textColumn = regexp.MustCompile(`(?m)^(\s+\w+\s+)TEXT\b`)
	noRowID    = regexp.MustCompile(`\)\s*WITHOUT\s+ROWID\s*;`)
)

// postgresSchema gives texts the order of their bytes, as SQLite has it
// everywhere, whatever the locale of the database.
func postgresSchema(text string) string {
	text = comment.ReplaceAllString(section(text, "postgres"), "")
	text = noRowID.ReplaceAllString(text, ");")
	return textColumn.ReplaceAllString(text, `${1}TEXT COLLATE "C"`)
}

// lockBatches keeps batches from being steered (paused, cancelled, opened
// again, filled) until the transaction ends. Batches are locked before
// anything else, in the order of their numbers, and all at once.
func (d *dialect) lockBatches(ctx context.Context, tx *sql.Tx, batches ...int64) error {
	if d.shareBatch == "" {
		return nil
	}
	slices.Sort(batches)
	for _, b := range slices.Compact(batches) {
		if _, err := tx.ExecContext(ctx, d.shareBatch, b); err != nil {
			return err
		}
	}
	return nil
}

// lockToSteer waits until nobody works on a batch and keeps all others from it
// until the transaction ends. It comes before anything else in a transaction.
func (d *dialect) lockToSteer(ctx context.Context, tx *sql.Tx, batch int64) error {
	if d.lockBatch == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, d.lockBatch, batch)
	return err
}
