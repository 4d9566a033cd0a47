package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/fetch/fakenet"
	"agentaudit/store"
)

// A schedule from the command line to its results, over the sites of a batch.
func TestScheduleCommands(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, connect, hosts := libraries(t, 3)
	of := enqueued(t, append([]string{"--data-dir", dir, "--name", "the list"}, hosts...)...)
	code, _, errs := command(t, "schedule", "add", "weekly", "--batch", of, "--cron", "30 3 * * 1", "--zone", "Europe/Berlin", "--jitter", "20m", "--data-dir", dir)
	if code != 0 || !strings.Contains(errs, "Monday, ") || !strings.Contains(errs, " CE") {
		t.Fatalf("add: exit %d, %s", code, errs)
	}
	schedules := func() store.Schedule {
		t.Helper()
		code, out, errs := command(t, "schedule", "list", "--json", "--data-dir", dir)
		var all []store.Schedule
		if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil || len(all) != 1 {
			t.Fatalf("list: exit %d, %v, %s, %s", code, err, out, errs)
		}
		return all[0]
	}
	before := schedules()
	if off := before.NextAt.Sub(before.NextDue); off < 0 || off >= 20*time.Minute || !strings.Contains(errs, before.NextAt.In(berlin(t)).Format("15:04")) {
		t.Errorf("next is %s, put off by %s; the command said %s", before.NextAt, off, errs)
	}
	u := startService(t, connect, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--log-level", "debug")
	u.finished(3) // of the list itself
	if code, _, errs := command(t, "schedule", "pause", "weekly", "--data-dir", dir); code != 0 || !strings.Contains(errs, "rests") {
		t.Fatalf("pause: exit %d, %s", code, errs)
	}
	if code, _, errs := command(t, "schedule", "pause", "weekly", "--data-dir", dir); code != exitUsage || !strings.Contains(errs, "already") {
		t.Errorf("a second pause: exit %d, %s", code, errs)
	}
	if code, out, _ := command(t, "schedule", "list", "--data-dir", dir); code != 0 || !strings.Contains(out, "paused") || !strings.Contains(out, "the sites of batch "+of) {
		t.Errorf("list: exit %d, %s", code, out)
	}
	if code, _, errs := command(t, "schedule", "run", "weekly", "--data-dir", dir); code != 0 {
		t.Fatalf("run: exit %d, %s", code, errs)
	}
	if times := u.finished(3); len(times) != 3 {
		t.Errorf("the firing audited %v", times)
	}
	after := schedules()
	b := batchNamed(t, dir, string(after.LastBatch))
	if b.Name != "weekly" || b.Entries != 3 || b.State != store.StateFinished || !strings.Contains(string(b.Options), `"discover": "always"`) {
		t.Errorf("the batch of the firing: %+v", b)
	}
	if code, _, errs := command(t, "schedule", "resume", "weekly", "--data-dir", dir); code != 0 {
		t.Errorf("resume: exit %d, %s", code, errs)
	}
	if code, out, _ := command(t, "schedule", "list", "--data-dir", dir); code != 0 || !strings.Contains(out, "CET") && !strings.Contains(out, "CEST") || !strings.Contains(out, string(after.LastBatch)) {
		t.Errorf("list: exit %d, %s", code, out)
	}
	if code := u.end(); code != exitFine {
		t.Errorf("serve: exit %d", code)
	}
	if code, _, errs := command(t, "schedule", "remove", "weekly", "--data-dir", dir); code != 0 {
		t.Errorf("remove: exit %d, %s", code, errs)
	}
	if code, _, errs := command(t, "schedule", "remove", "weekly", "--data-dir", dir); code != exitUsage || !strings.Contains(errs, "no schedule") {
		t.Errorf("remove again: exit %d, %s", code, errs)
	}
}

// A schedule over a directory's API reads it anew each time; one that cannot be
// read is told, and tried again.
func TestScheduleOverAnAPI(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n, connect, hosts := libraries(t, 2)
	n.Handle("dir.example", pages("a="+hosts[0], "b="+hosts[1]))
	n.Static("odd.example", "/api", 200, fakenet.JSON, `{"nothing": 1}`)
	for name, from := range map[string]string{"good": "https://dir.example/api", "bad": "https://odd.example/api"} {
		if code, _, errs := command(t, "schedule", "add", name, "--from", from, "--cron", "@monthly", "--data-dir", dir); code != 0 {
			t.Fatal(errs)
		}
		if code, _, errs := command(t, "schedule", "run", name, "--data-dir", dir); code != 0 {
			t.Fatal(errs)
		}
	}
	u := startService(t, connect, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--log-level", "debug")
	// Which of the two comes first is open.
	told, audited := false, 0
	u.until("the listing that cannot be read, and both audits of the other", func(l logged) bool {
		told = told || strings.Contains(l.Text, "the list of a schedule cannot be read")
		if strings.Contains(l.Text, `"run finished"`) {
			audited++
		}
		return told && audited == 2
	})
	code, out, _ := command(t, "schedule", "list", "--data-dir", dir)
	if code != 0 || !strings.Contains(out, "cannot read https://odd.example/api") {
		t.Errorf("list: exit %d, %s", code, out)
	}
	if code := u.end(); code != exitFine {
		t.Errorf("serve: exit %d", code)
	}
	_, rows, _ := command(t, "batches", "--json", "--data-dir", dir)
	if !strings.Contains(rows, `"name": "good"`) {
		t.Errorf("the good one made no batch: %s", rows)
	}
}

// A schedule over a directory's API tells the directory what has changed from
// one firing to the next.
func TestScheduleWritesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n, connect, hosts := libraries(t, 2)
	n.Handle("dir.example", pages("a="+hosts[0], "b="+hosts[1]))
	told := make(chan store.OutcomeChange, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var c store.OutcomeChange
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			t.Error(err)
		}
		told <- c
	}))
	t.Cleanup(receiver.Close)
	t.Setenv("AGENTAUDIT_WRITE_BACK_SECRET", "0123456789abcdef0123")
	if code, _, errs := command(t, "schedule", "add", "listings", "--from", "https://dir.example/api", "--write-back", receiver.URL, "--confirm-after", "0s",
		"--discover", "never", "--cron", "@monthly", "--data-dir", dir); code != 0 {
		t.Fatal(errs)
	}
	u := startService(t, connect, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--log-level", "debug")
	for round := range 2 {
		if code, _, errs := command(t, "schedule", "run", "listings", "--data-dir", dir); code != 0 {
			t.Fatal(errs)
		}
		u.finished(2)
		if round == 0 {
			n.Static(hosts[0], "/agentic.json", 404, nil, "gone")
		}
	}
	if c := <-told; c.ID != "a" || c.Before != report.OutcomeSuccessful || c.Outcome != report.OutcomeFailed {
		t.Errorf("told: %+v", c)
	}
	if code := u.end(); code != exitFine {
		t.Errorf("serve: exit %d", code)
	}
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	l, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestScheduleRefusals(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"add": "needs a name", "add weekly a.example": "--cron", "add weekly --cron @daily": "at least one list",
		"add weekly - --cron @daily": "standard input", "add weekly a.example --cron daily": "five fields", "add weekly a.example --cron @daily --zone Mars": "time zone",
		"add weekly a.example --cron @hourly --jitter 2h": "jitter", "add weekly a.example --batch latest --cron @daily": "not both",
		"add weekly --batch latest --write-back https://dir.example/hook --cron @daily": "--from",
		"add weekly --batch latest --cron @daily":                                       "no batches", "add weekly a.example --cron @daily --discover perhaps": "--discover", "pause": "needs one schedule", "list x": "no arguments",
	} {
		if code, _, errs := command(t, append([]string{"schedule"}, append(strings.Fields(args), "--data-dir", dir)...)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("schedule %s: exit %d, %s; want %q", args, code, errs, want)
		}
	}
	if code, _, errs := command(t, "schedule", "add", "weekly", "a.example", "--cron", "@daily", "--data-dir", dir); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := command(t, "schedule", "add", "weekly", "b.example", "--cron", "@daily", "--data-dir", dir); code != exitUsage || !strings.Contains(errs, "already") {
		t.Errorf("a second one of the name: exit %d, %s", code, errs)
	}
}
