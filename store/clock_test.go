package store

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The time of the server counts, however far the clock of the machine is away,
// and one line in the log tells an operator.
func TestServerClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := &serverClock{log: slog.New(slog.NewTextHandler(&log, nil))}
		server := time.Now().Add(-150 * time.Second)
		c.set(time.Now(), server)
		time.Sleep(20 * time.Second)
		if got := c.now(); !got.Equal(server.Add(20 * time.Second)) {
			t.Fatalf("20 s after %v it is %v", server, got)
		}
		c.set(time.Now(), server.Add(20*time.Second))
		if out := log.String(); strings.Count(out, "\n") != 1 || !strings.Contains(out, "ahead=2m30s") {
			t.Fatalf("the log says %q", out)
		}
		c.set(time.Now(), time.Now().Add(time.Second)) // as it should be
		c.set(time.Now(), time.Now().Add(time.Hour))
		if out := log.String(); strings.Count(out, "\n") != 2 || !strings.Contains(out, "ahead=-1h0m0s") {
			t.Fatalf("the log says %q", out)
		}
	})
}
