package store_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

func TestPostgresSecretsAreNotShown(t *testing.T) {
	for _, url := range []string{
		"postgres://me:s3cret@127.0.0.1:1/db?connect_timeout=1",
		"postgres://me@127.0.0.1:1/db?password=s3cret&connect_timeout=1",
		"postgres://me:s3cret@127.0.0.1:x/db",
		"postgres://me:s3cret@127.0.0.1/db?sslmode=nonsense",
		"postgres://me:s3%zzcret@127.0.0.1/db",
		"mysql://me:s3cret@127.0.0.1/db",
	} {
		_, err := store.Open(t.Context(), url, store.Options{})
		if err == nil {
			t.Fatalf("%s was opened", url)
		}
		if strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestPostgresThatIsAway(t *testing.T) {
	_, err := store.Open(t.Context(), "postgres://me@127.0.0.1:1/db", store.Options{})
	wantErr(t, err, store.ErrUnavailable)
	if !strings.Contains(err.Error(), "127.0.0.1:1/db") {
		t.Errorf("it does not say where: %v", err)
	}
}

// All processes reckon by the clock of the server, not by that of their machine.
func TestPostgresClock(t *testing.T) {
	url := storetest.Postgres(t)
	s := storetest.Open(t, url, store.Options{})
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	server := func() (at time.Time) {
		if err := db.QueryRowContext(t.Context(), `SELECT clock_timestamp()`).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	// An answer that takes long sets the clock by half of that at most.
	const unsure = 10 * time.Second
	before, got, after := server(), s.Now(), server()
	if got.Before(before.Add(-unsure)) || got.After(after.Add(unsure)) {
		t.Fatalf("between %v and %v by the server it is %v", before, after, got)
	}
	given := storetest.NewClock()
	if other := storetest.Open(t, url, store.Options{Now: given.Now}); !other.Now().Equal(given.Now()) {
		t.Fatalf("with a clock of its own it is %v", other.Now())
	}
}

func TestPostgresBesideOthers(t *testing.T) {
	url := storetest.Postgres(t)
	for _, a := range []store.Access{store.Shared, store.ReadOnly} {
		_, err := store.Open(t.Context(), url, store.Options{Access: a})
		wantErr(t, err, store.ErrNotFound)
	}
	one := storetest.Open(t, url, store.Options{})
	two := storetest.Open(t, url, store.Options{})
	if one.Sole() || two.Sole() {
		t.Fatal("one of two owners says that it is alone")
	}
	b := storetest.Batch(t, one, storetest.Targets(1)...)
	if due := take(t, two, 5); len(due) != 1 || due[0].Run.Batch() != b.ID {
		t.Fatalf("the other process sees %v", due)
	}
	reader := storetest.Open(t, url, store.Options{Access: store.ReadOnly})
	_, err := reader.CreateBatch(t.Context(), store.NewBatch{})
	wantErr(t, err, store.ErrReadOnly)
	wantErr(t, reader.CancelBatch(t.Context(), b.ID, ""), store.ErrReadOnly)
}

// Many processes that find an empty database make its tables together, and each
// tells of the steps that it took.
func TestPostgresMigratedByMany(t *testing.T) {
	url := storetest.Postgres(t)
	var g errgroup.Group
	var steps [8][]string
	for i := range steps {
		g.Go(func() (err error) {
			steps[i], err = store.Migrate(t.Context(), url, store.Options{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(slices.Values(slices.Concat(steps[:]...)))
	if st := must[*store.Status](t)(store.ReadStatus(t.Context(), url, store.Options{})); !slices.Equal(all, st.Steps) {
		t.Errorf("told %q, there are %q", all, st.Steps)
	}
}

// A database of a newer program is left alone, and one that is not up to date
// by those that may not change it.
func TestPostgresOfAnotherVersion(t *testing.T) {
	url := storetest.Postgres(t)
	storetest.Open(t, url, store.Options{}).Close()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	change := func(statement string) {
		t.Helper()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	change(`INSERT INTO schema_version (version, name, checksum, applied_at) VALUES (9999, '9999_later', 'x', 0)`)
	for _, a := range []store.Access{store.Own, store.Shared, store.ReadOnly} {
		_, err := store.Open(t.Context(), url, store.Options{Access: a})
		if wantErr(t, err, store.ErrSchema); !strings.Contains(err.Error(), "update the program") {
			t.Errorf("it does not say what to do: %v", err)
		}
	}
	if st := must[*store.Status](t)(store.ReadStatus(t.Context(), url, store.Options{})); !strings.Contains(st.Trouble, "newer") {
		t.Errorf("%+v", st)
	}
	change(`DELETE FROM schema_version WHERE version >= (SELECT max(version) FROM schema_version WHERE version < 9999)`)
	_, err = store.Open(t.Context(), url, store.Options{Access: store.ReadOnly})
	wantErr(t, err, store.ErrSchema)
	if st := must[*store.Status](t)(store.ReadStatus(t.Context(), url, store.Options{})); len(st.Pending) != 1 || st.Trouble != "" {
		t.Errorf("%+v", st)
	}
}
