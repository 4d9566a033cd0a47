package main

import (
	"encoding/json"
	"strings"
	"testing"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

func TestDatabaseMovesToPostgres(t *testing.T) {
	url := storetest.Postgres(t)
	dir := t.TempDir()
	s := storetest.Open(t, dir, store.Options{})
	b := storetest.Batch(t, s, storetest.Targets(3)...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := command(t, "db", "status", "--store", url); code != exitUndone || !strings.Contains(out, "PostgreSQL") || !strings.Contains(out, "none yet") {
		t.Errorf("an empty database: %d\n%s", code, out)
	}
	code, out, errs := command(t, "db", "copy", "--data-dir", dir, "--store", url)
	if code != 0 || !strings.Contains(out, "copied") || !strings.Contains(errs, "entries") {
		t.Fatalf("copy: %d\n%s%s", code, out, errs)
	}
	code, out, _ = command(t, "db", "status", "--json", "--store", url)
	var st store.Status
	if err := json.Unmarshal([]byte(out), &st); err != nil || code != 0 || st.Batches != 1 || st.OpenRuns != 3 {
		t.Errorf("after the copy: %d, %v\n%s", code, err, out)
	}
	if code, out, _ := command(t, "db", "migrate", "--store", url); code != 0 || !strings.Contains(out, "nothing to do") {
		t.Errorf("migrate: %d\n%s", code, out)
	}
	if code, out, _ := command(t, "batches", string(b.ID), "--store", url); code != 0 || !strings.Contains(out, string(b.ID)) {
		t.Errorf("the batch: %d\n%s", code, out)
	}
	if code, _, errs := command(t, "db", "copy", "--data-dir", dir, "--store", url); code != exitUndone || !strings.Contains(errs, "not empty") {
		t.Errorf("a second copy: %d\n%s", code, errs)
	}
}

func TestDatabaseCommandsRefuse(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"db", "status", "--data-dir", dir}, exitUndone, "no database"},
		{[]string{"db", "copy", "--data-dir", dir}, exitUsage, "--store"},
		{[]string{"db", "copy", "--data-dir", dir, "--store", "postgres://me:s3cret@127.0.0.1:1/db"}, exitUsage, "no store in"},
		{[]string{"db", "status", "--store", "postgres://me:s3cret@127.0.0.1:1/db"}, exitUndone, "not available"},
		{[]string{"db", "status", "--store", "mysql://me:s3cret@127.0.0.1:1/db"}, exitUsage, "postgres://"},
		{[]string{"db", "migrate", "now"}, exitUsage, "no arguments"},
	} {
		code, out, errs := command(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.says) || strings.Contains(out+errs, "s3cret") {
			t.Errorf("%v: exit code %d\n%s", c.args, code, errs)
		}
	}
}

// A list whose reader was killed stays unread: whoever steers it hears what to do.
func TestResumeOfUnreadList(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir, store.Options{})
	b, err := s.CreateBatch(t.Context(), store.NewBatch{Sources: []string{"list.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"resume", "pause"} {
		if code, _, errs := command(t, verb, string(b.ID), "--data-dir", dir); code != exitUsage || !strings.Contains(errs, "not read to its end") || !strings.Contains(errs, "agentaudit cancel "+string(b.ID)) {
			t.Errorf("%s: exit %d, %s", verb, code, errs)
		}
	}
	if code, _, errs := command(t, "cancel", string(b.ID), "--data-dir", dir); code != exitFine {
		t.Errorf("cancel: exit %d, %s", code, errs)
	}
}
