// Package queuetest gives tests a real redis-server of their own.
package queuetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Require reports whether a test can go on without what it needs from outside.
// It skips the test, and says why; but where the environment variable
// AGENTAUDIT_REQUIRE lists the name (names are separated by commas, "all" is
// every one), as in CI, the test fails.
func Require(t testing.TB, name, why string) {
	t.Helper()
	listed := strings.Split(os.Getenv("AGENTAUDIT_REQUIRE"), ",")
	if slices.Contains(listed, name) || slices.Contains(listed, "all") {
		t.Fatalf("%s is required (AGENTAUDIT_REQUIRE): %s", name, why)
	}
	t.Skipf("needs %s: %s", name, why)
}

// Server is a redis-server on a unix socket in a folder of its own.
type Server struct {
	// URL is for queue.Options.
	URL string

	dir     string
	cmd     *exec.Cmd
	durable bool
}

// Redis starts a redis-server for the test, or skips it where there is none
// ([Require]). It is gone when the test ends.
func Redis(t testing.TB) *Server {
	t.Helper()
	return start(t, false)
}

// DurableRedis is [Redis] with a server that keeps what it holds through Kill.
func DurableRedis(t testing.TB) *Server {
	t.Helper()
	return start(t, true)
}

func start(t testing.TB, durable bool) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		Require(t, "redis", err.Error())
	}
	// Not t.TempDir: its names are too long for a socket.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: "unix://" + filepath.Join(dir, "s"), dir: dir, durable: durable}
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
	})
	s.Start(t)
	return s
}

// Start starts the server; after Kill it is empty, unless it is durable.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", filepath.Join(s.dir, "s"), "--save", "", "--appendonly", map[bool]string{false: "no", true: "yes"}[s.durable], "--appendfsync", "always",
		"--dir", s.dir, "--logfile", filepath.Join(s.dir, "log"))
	// It must not outlive a test that is killed, nor see its Ctrl-C.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := s.Client()
	defer c.Close()
	deadline := time.Now().Add(10 * time.Second)
	for c.Ping(context.Background()).Err() != nil {
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			t.Fatalf("redis-server does not answer:\n%s", log)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Kill ends the server at once, with all it holds.
func (s *Server) Kill() {
	if s.cmd.Process != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// Freeze lets the server hang until Thaw: it takes connections and answers
// nothing.
func (s *Server) Freeze(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// Client is a connection for the test itself; the caller closes it.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: filepath.Join(s.dir, "s"), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
}

// FlushAll empties the server.
func (s *Server) FlushAll(t testing.TB) {
	t.Helper()
	c := s.Client()
	defer c.Close()
	if err := c.FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
}

// Usage is the CPU time that the server has used so far, and the most memory
// that it held at a time, in bytes.
func (s *Server) Usage(t testing.TB) (cpu time.Duration, peak int64) {
	t.Helper()
	c := s.Client()
	defer c.Close()
	info, err := c.InfoMap(context.Background(), "cpu", "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cpu += time.Duration(seconds * float64(time.Second))
	}
	if peak, err = strconv.ParseInt(info["Memory"]["used_memory_peak"], 10, 64); err != nil {
		t.Fatal(err)
	}
	return cpu, peak
}
