package store_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

func testStatus(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	storetest.Batch(t, s, append(storetest.Targets(3), storetest.Targets(1)...)...)
	finish(t, s, claim(t, s, take(t, s, 1)[0].Run), report.OutcomeFailed, report.ReasonRefused, clock.Now())
	st := must[*store.Status](t)(s.Status(t.Context()))
	if st.Batches != 1 || st.Entries != 4 || st.Runs != 3 || st.OpenRuns != 2 || st.Sites != 1 || st.Bytes < 1000 {
		t.Errorf("%+v", st)
	}
	if st.Trouble != "" || len(st.Pending) != 0 || len(st.Steps) < 2 || !strings.Contains(st.Database, "SQL") {
		t.Errorf("%+v", st)
	}
}

func TestMigrateCommandOfAnEmptyPlace(t *testing.T) {
	for name, place := range places(t) {
		t.Run(name, func(t *testing.T) {
			source := place(t)
			before, err := store.ReadStatus(t.Context(), source, store.Options{})
			if name == "PostgreSQL" && (err != nil || len(before.Steps) != 0 || len(before.Pending) == 0) {
				t.Fatalf("an empty database: %+v, %v", before, err)
			}
			if name == "SQLite" {
				wantErr(t, err, store.ErrNotFound)
			}
			steps := must[[]string](t)(store.Migrate(t.Context(), source, store.Options{}))
			after := must[*store.Status](t)(store.ReadStatus(t.Context(), source, store.Options{}))
			if len(steps) == 0 || !slices.Equal(steps, after.Steps) || len(after.Pending) != 0 {
				t.Fatalf("%v; %+v", steps, after)
			}
			if again := must[[]string](t)(store.Migrate(t.Context(), source, store.Options{})); len(again) != 0 {
				t.Fatalf("a second time: %v", again)
			}
		})
	}
}

// places are the kinds of places that a store can be in.
func places(t *testing.T) map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return t.TempDir() },
		"PostgreSQL": func(t *testing.T) string { return storetest.Postgres(t) },
	}
}

// filled makes a data directory with something in every state.
func filled(t *testing.T) (dir string, batches []store.BatchID) {
	dir = t.TempDir()
	clock := storetest.NewClock()
	s := storetest.Open(t, dir, store.Options{Now: clock.Now})
	batches = append(batches, mixed(t, s))
	b := storetest.Batch(t, s, storetest.Targets(30)...)
	batches = append(batches, b.ID)
	due := take(t, s, 20)
	for i, d := range due {
		c := claim(t, s, d.Run)
		switch i % 4 {
		case 0:
			finish(t, s, c, report.OutcomePartial, report.ReasonIncomplete, clock.Now())
		case 1:
			kept := storetest.Result(c.Target, report.OutcomeFailed, report.ReasonNoSuchHost, clock.Now())
			if err := s.RetryRun(t.Context(), c, clock.Now().Add(time.Hour), kept); err != nil {
				t.Fatal(err)
			}
		}
	}
	batches = append(batches, newBatch(t, s, "never read to its end"))
	if err := s.CancelBatch(t.Context(), storetest.Batch(t, s, storetest.Targets(4)...).ID, "not wanted"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, batches
}

func TestCopy(t *testing.T) {
	url := storetest.Postgres(t)
	dir, batches := filled(t)
	var told []store.Copied
	copied := must[[]store.Copied](t)(store.Copy(t.Context(), dir, url, store.Options{}, func(c store.Copied) { told = append(told, c) }))
	if !slices.Equal(copied, told) || len(copied) < 10 {
		t.Fatalf("%v, told %v", copied, told)
	}
	was, is := storetest.Open(t, dir, store.Options{}), storetest.Open(t, url, store.Options{})
	ctx := t.Context()
	for _, id := range batches {
		before, after := must[*store.Batch](t)(was.Batch(ctx, id)), must[*store.Batch](t)(is.Batch(ctx, id))
		if !reflect.DeepEqual(before, after) {
			t.Errorf("batch was\n%+v and is\n%+v", before, after)
		}
		if before, after := everyRow(t, was, id), everyRow(t, is, id); !slices.Equal(before, after) {
			t.Errorf("batch %s: %d rows became %d, or others", id, len(before), len(after))
		}
	}
	for _, target := range storetest.Targets(30) {
		before, e1 := was.Site(ctx, target)
		after, e2 := is.Site(ctx, target)
		if !reflect.DeepEqual(before, after) || (e1 == nil) != (e2 == nil) {
			t.Errorf("%s was %+v and is %+v (%v, %v)", target, before, after, e1, e2)
		}
	}
	// The work goes on where it was, with what was kept.
	finishAll(t, is, report.OutcomeFailed, report.ReasonRefused)
	_, err := store.Copy(ctx, dir, url, store.Options{}, nil)
	if _, locked := errors.AsType[*store.LockedError](err); !locked {
		t.Errorf("a directory in use: %v", err)
	}
	was.Close()
	_, err = store.Copy(ctx, dir, url, store.Options{}, nil)
	wantErr(t, err, store.ErrConflict)
}

// everyRow are all rows of a batch with their documents.
func everyRow(t *testing.T, s *store.Store, id store.BatchID) (rows []string) {
	t.Helper()
	err := s.EachResult(t.Context(), store.Filter{Batch: id}, true, func(r store.Row) error {
		text, err := r.MarshalJSON()
		rows = append(rows, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// A copy that breaks off in its middle leaves nothing behind, and can be made
// again.
func TestCopyIsAllOrNothing(t *testing.T) {
	url := storetest.Postgres(t)
	dir, _ := filled(t)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := store.Copy(ctx, dir, url, store.Options{}, func(store.Copied) {
		if n++; n == 5 {
			cancel()
		}
	})
	wantErr(t, err, context.Canceled)
	if st := must[*store.Status](t)(store.ReadStatus(t.Context(), url, store.Options{})); st.Batches != 0 {
		t.Fatalf("half a copy is left: %+v", st)
	}
	must[[]store.Copied](t)(store.Copy(t.Context(), dir, url, store.Options{}, nil))
}

func TestCopyOfNothing(t *testing.T) {
	dir := t.TempDir() + "/none"
	_, err := store.Copy(t.Context(), dir, storetest.Postgres(t), store.Options{}, nil)
	wantErr(t, err, store.ErrNotFound)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a directory was made: %v", err)
	}
}
