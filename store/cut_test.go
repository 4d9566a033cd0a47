package store_test

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// wire stands between a store and its PostgreSQL server. While cut is set, the
// next commit reaches the server, and its answer is lost with the connection.
type wire struct {
	server string
	cut    atomic.Bool
}

// between puts a wire before the server of a URL, and returns the URL of the
// wire.
func between(t *testing.T, to string) (*wire, string) {
	t.Helper()
	u := must[*url.URL](t)(url.Parse(to))
	query := u.Query()
	w := &wire{server: filepath.Join(query.Get("host"), ".s.PGSQL.5432")}
	dir, err := os.MkdirTemp("", "wire") // not t.TempDir: its names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := must[net.Listener](t)(net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")))
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return w, u.String()
}

func (w *wire) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	var lost atomic.Bool
	go func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil || lost.Load() {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.HasSuffix(buf[:n], []byte("commit\x00")) && w.cut.CompareAndSwap(true, false) {
			lost.Store(true)
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// Whoever was not told that its result is written asks again, and is told so;
// the result counts once.
func TestFinishAfterALostAnswer(t *testing.T) {
	w, url := between(t, storetest.Postgres(t))
	clock := storetest.NewClock()
	s := storetest.Open(t, url, store.Options{Now: clock.Now})
	b := storetest.Batch(t, s, storetest.Targets(2)...)
	c := claim(t, s, take(t, s, 1)[0].Run)
	result := storetest.Result(c.Target, report.OutcomeFailed, report.ReasonMissingProfile, clock.Now())
	w.cut.Store(true)
	err := s.FinishRun(t.Context(), c, result)
	if !errors.Is(err, store.ErrUnavailable) || w.cut.Load() {
		t.Fatalf("the answer was not lost: %v", err)
	}
	if err := s.FinishRun(t.Context(), c, result); err != nil {
		t.Errorf("a result that is written is called lost: %v", err)
	}
	if b = must[*store.Batch](t)(s.Batch(t.Context(), b.ID)); b.Done() != 1 || b.OpenRuns != 1 {
		t.Errorf("%d rows, %d open runs", b.Done(), b.OpenRuns)
	}
}
