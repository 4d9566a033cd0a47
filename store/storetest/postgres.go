package storetest

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"

	"agentaudit/queue/queuetest"
)

// Server is a PostgreSQL server on a unix socket in a folder of its own.
type Server struct {
	bin, dir string
	as       *syscall.Credential // whom it runs as, nil for this user
	cmd      *exec.Cmd
	ended    chan struct{}
}

// shared is the server that all tests of a test binary use.
var shared = sync.OnceValues(func() (*Server, error) {
	s, err := newServer("fsync=off", "synchronous_commit=off", "full_page_writes=off")
	if err == nil {
		started.Store(s)
	}
	return s, err
})

// spaces counts schemas and databases.
var spaces atomic.Int64

// Postgres makes an empty schema for the test, in a server that all tests of
// the binary share, and returns the URL that leads there. Where there is no PostgreSQL the test
// is skipped ([queuetest.Require], name "postgres"). A package whose tests call
// this has a TestMain that ends with [StopPostgres].
func Postgres(t testing.TB) string {
	t.Helper()
	if err := available(); err != nil {
		queuetest.Require(t, "postgres", err.Error())
	}
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	// A schema is made in a moment, a database is not.
	name := "test" + strconv.FormatInt(spaces.Add(1), 10)
	s.exec(t, `CREATE SCHEMA `+name)
	return s.url("postgres", "search_path", name)
}

// StopPostgres ends the shared server, if there is one.
func StopPostgres() {
	if s := started.Load(); s != nil {
		s.remove()
	}
}

var started atomic.Pointer[Server]

// PostgresServer starts a server for the test alone, which can be stopped and
// started again. It is gone when the test ends.
func PostgresServer(t testing.TB) *Server {
	t.Helper()
	if err := available(); err != nil {
		queuetest.Require(t, "postgres", err.Error())
	}
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

// available says why no server can be started here.
func available() error {
	_, err := postgresBin()
	if err == nil && os.Getuid() == 0 {
		_, err = unprivileged()
	}
	return err
}

// postgresBin is the folder with the newest server on this machine. Debian
// keeps it out of the way, where PATH does not lead.
func postgresBin() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	best, version := "", 0
	for _, path := range found {
		if n, _ := strconv.Atoi(strings.Split(path, "/")[4]); n > version {
			best, version = filepath.Dir(path), n
		}
	}
	if best == "" {
		return "", fmt.Errorf("no program postgres in PATH or /usr/lib/postgresql (apt-get install postgresql)")
	}
	return best, nil
}

func newServer(settings ...string) (*Server, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	// Not t.TempDir: its names are too long for a socket.
	parent := ""
	if os.Getuid() == 0 {
		parent = "/tmp" // another user must get there
	}
	dir, err := os.MkdirTemp(parent, "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if os.Getuid() == 0 { // which PostgreSQL refuses to run as
		if s.as, err = unprivileged(); err != nil {
			return nil, err
		}
		if err := os.Chown(dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return nil, err
		}
	}
	init := s.command("initdb", "-D", s.data(), "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	conf := strings.Join(append([]string{"", "listen_addresses=''", "unix_socket_directories='" + dir + "'", "max_connections=300",
		"shared_buffers=64MB", "max_wal_size=1GB", "log_min_messages=fatal", "log_min_error_statement=fatal"}, settings...), "\n") + "\n"
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(conf)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	return s, s.start()
}

func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		// In a user namespace there may be no user but us.
		if mapped, err := os.ReadFile("/proc/self/uid_map"); err == nil && !slices.ContainsFunc(strings.Split(string(mapped), "\n"), func(line string) bool {
			var first, outside, count uint64
			n, _ := fmt.Sscan(line, &first, &outside, &count)
			return n == 3 && first <= uid && uid-first < count
		}) {
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("there is no user postgres or nobody to run the server as, and it does not run as root")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	// It must not outlive a test that is killed, nor see its Ctrl-C.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT, Credential: s.as}
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	return cmd
}

func (s *Server) start() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = s.command("postgres", "-D", s.data())
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	deadline := time.Now().Add(20 * time.Second)
	for err = db.Ping(); err != nil; err = db.Ping() {
		select {
		case <-s.ended:
		default:
			if time.Now().Before(deadline) {
				time.Sleep(5 * time.Millisecond)
				continue
			}
		}
		said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, said)
	}
	return nil
}

// Start starts the server again after Kill or Stop.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server in order, and all its connections.
func (s *Server) Stop() { s.signal(syscall.SIGINT) }

// Kill ends the server at once, as a machine does that loses its power.
func (s *Server) Kill() { s.signal(syscall.SIGQUIT) }

func (s *Server) signal(sig syscall.Signal) {
	if s.cmd != nil && s.cmd.Process != nil {
		s.cmd.Process.Signal(sig)
		<-s.ended
	}
}

// Freeze stops the server and all its processes until Thaw; connections stay
// open and nothing is answered.
func (s *Server) Freeze(t testing.TB) { s.signalAll(t, syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (s *Server) Thaw(t testing.TB) { s.signalAll(t, syscall.SIGCONT) }

func (s *Server) signalAll(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.signalTree(sig); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) signalTree(sig syscall.Signal) error {
	pid := s.cmd.Process.Pid
	if err := syscall.Kill(pid, sig); err != nil { // first, so that no process is added
		return err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	for child := range strings.FieldsSeq(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			syscall.Kill(n, sig) // it may have ended
		}
	}
	return nil
}

func (s *Server) remove() {
	s.signalTree(syscall.SIGCONT) // a frozen server would not end
	s.Stop()
	os.RemoveAll(s.dir)
}

func (s *Server) url(database string, settings ...string) string {
	query := url.Values{"host": {s.dir}}
	for pair := range slices.Chunk(settings, 2) {
		query.Set(pair[0], pair[1])
	}
	return (&url.URL{Scheme: "postgres", User: url.User("test"), Path: "/" + database, RawQuery: query.Encode()}).String()
}

// Database makes an empty database and returns its URL. It goes away when the
// test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "test" + strconv.FormatInt(spaces.Add(1), 10)
	s.exec(t, `CREATE DATABASE `+name)
	t.Cleanup(func() {
		select {
		case <-s.ended:
		default:
			s.exec(t, `DROP DATABASE `+name+` WITH (FORCE)`)
		}
	})
	return s.url(name)
}

func (s *Server) exec(t testing.TB, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", s.url("postgres"))
	if err == nil {
		defer db.Close()
		_, err = db.Exec(statement)
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
