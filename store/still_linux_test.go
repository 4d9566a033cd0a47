package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// asAnybody runs f as somebody who may not write what root has made. Only this
// thread asks for files as another user, so f must not leave it to others.
func asAnybody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f() // permissions mean something to this user
		return
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	f()
	if err := syscall.Setfsuid(0); err != nil {
		t.Fatal(err)
	}
	runtime.UnlockOSThread()
}

// A copy in a place that takes no writes can be looked at.
func TestADirectoryThatTakesNoWrites(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir, store.Options{})
	b := storetest.Batch(t, s, storetest.Targets(3)...)
	copied := func(files ...string) string {
		t.Helper()
		to := t.TempDir()
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(to, f), data, 0o444); err != nil {
				t.Fatal(err)
			}
		}
		for path, mode := range map[string]os.FileMode{filepath.Dir(to): 0o755, to: 0o555} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { _ = os.Chmod(to, 0o755) })
		return to
	}
	// While the owner works, changes stand in the log alone.
	torn := copied("agentaudit.db", "agentaudit.db-wal")
	asAnybody(t, func() {
		_, err := store.Open(t.Context(), torn, store.Options{Access: store.ReadOnly})
		if err == nil || !strings.Contains(err.Error(), "copy the directory to where files can be written") {
			t.Errorf("with changes in the log: %v", err)
		}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	still := copied("agentaudit.db")
	asAnybody(t, func() {
		reader := storetest.Open(t, still, store.Options{Access: store.ReadOnly})
		if got, err := reader.Batch(t.Context(), b.ID); err != nil || got.Runs != 3 {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := store.ReadStatus(t.Context(), still, store.Options{}); err != nil {
			t.Errorf("status: %v", err)
		}
		if _, err := store.Open(t.Context(), still, store.Options{Access: store.Shared}); err == nil {
			t.Error("it was opened for writing")
		}
	})
	if left, err := os.ReadDir(still); err != nil || len(left) != 1 {
		t.Errorf("%d files, %v", len(left), err)
	}
}
