package store_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

func TestOneOwner(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir, store.Options{})
	_, err := store.Open(t.Context(), dir, store.Options{})
	locked, ok := errors.AsType[*store.LockedError](err)
	if !ok || locked.PID != os.Getpid() || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Fatalf("second owner: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Open(t, dir, store.Options{})
}

func TestBesideAnOwner(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	for _, a := range []store.Access{store.Shared, store.ReadOnly} {
		_, err := store.Open(ctx, dir, store.Options{Access: a})
		wantErr(t, err, store.ErrNotFound)
	}
	owner := storetest.Open(t, dir, store.Options{})
	b := storetest.Batch(t, owner, storetest.Targets(2)...)
	reader := storetest.Open(t, dir, store.Options{Access: store.ReadOnly})
	shared := storetest.Open(t, dir, store.Options{Access: store.Shared})
	finish(t, owner, claim(t, owner, take(t, owner, 1)[0].Run), report.OutcomeFailed, report.ReasonRefused, time.Now())
	if page := must[*store.Page](t)(reader.Results(ctx, store.Filter{Batch: b.ID}, "", 10)); len(page.Rows) != 1 {
		t.Fatalf("the reader sees %d rows", len(page.Rows))
	}
	if err := shared.PauseBatch(ctx, b.ID, "by hand"); err != nil {
		t.Fatal(err)
	}
	if due := take(t, owner, 10); len(due) != 0 {
		t.Fatalf("the owner did not see the pause: %v", due)
	}
	_, err := reader.CreateBatch(ctx, store.NewBatch{})
	wantErr(t, err, store.ErrReadOnly)
	wantErr(t, reader.CancelBatch(ctx, b.ID, ""), store.ErrReadOnly)
	_, err = reader.ClaimRun(ctx, store.RunID(b.ID)+"-1", "w", lease)
	wantErr(t, err, store.ErrReadOnly)
	owner.Close()
	// And when nobody owns it.
	alone := storetest.Open(t, dir, store.Options{Access: store.ReadOnly})
	if got := must[*store.Batch](t)(alone.Batch(ctx, b.ID)); got.State != store.StatePaused {
		t.Fatalf("%+v", got)
	}
}

func TestClosedStore(t *testing.T) {
	s, _ := storetest.New(t)
	b := storetest.Batch(t, s, storetest.Targets(1)...)
	s.Close()
	if _, err := s.ClaimRun(t.Context(), store.RunID(b.ID)+"-1", "w", lease); err == nil {
		t.Fatal("a closed store gave a claim")
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Fatal("a closed store answers")
	}
}

func TestBadSources(t *testing.T) {
	if _, err := store.Open(t.Context(), "mysql://x", store.Options{}); err == nil || !strings.Contains(err.Error(), "mysql") {
		t.Fatalf("unknown scheme: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agentaudit.db"), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), dir, store.Options{}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("a file that is no database: %v", err)
	}
}

func TestOddDirectoryNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%41")
	s := storetest.Open(t, dir, store.Options{})
	storetest.Batch(t, s, storetest.Targets(1)...)
	if _, err := os.Stat(filepath.Join(dir, "agentaudit.db")); err != nil {
		t.Fatalf("the database is elsewhere: %v", err)
	}
}

// A process that is killed in the middle of its writes leaves a sound store:
// what it was told is written, is written.
func TestKill(t *testing.T) {
	if os.Getenv("STORE_TEST_KILL") != "" {
		killChild(t)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$", "-test.v")
	cmd.Env = append(os.Environ(), "STORE_TEST_KILL="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	buf := make([]byte, 4096)
	for strings.Count(said.String(), "finished ") < 20 {
		n, err := out.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			t.Fatalf("the child ended: %v\n%s", err, said.String())
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	s := storetest.Open(t, dir, store.Options{})
	b := must[*store.Batch](t)(s.LatestUnfinished(t.Context()))
	told := strings.Count(said.String(), "finished ")
	if b.Done() < int64(told) || b.Done() != b.Runs-b.OpenRuns {
		t.Fatalf("the child was told of %d results, %d are there, %d open of %d", told, b.Done(), b.OpenRuns, b.Runs)
	}
	must[int64](t)(s.ResetRunning(t.Context()))
	finishAll(t, s, report.OutcomeFailed, report.ReasonRefused)
	if b = must[*store.Batch](t)(s.Batch(t.Context(), b.ID)); b.State != store.StateFinished || b.Done() != b.Entries {
		t.Fatalf("at the end: %+v", b)
	}
}

func killChild(t *testing.T) {
	s := storetest.Open(t, os.Getenv("STORE_TEST_KILL"), store.Options{})
	storetest.Batch(t, s, storetest.Targets(900)...)
	for _, d := range take(t, s, 900) {
		c := claim(t, s, d.Run)
		finish(t, s, c, report.OutcomeFailed, report.ReasonRefused, time.Now())
		os.Stdout.WriteString("finished " + string(d.Run) + "\n")
	}
	select {} // whatever happens, only a kill ends this process
}
