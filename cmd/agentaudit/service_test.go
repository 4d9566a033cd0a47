package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentaudit/fetch"
)

// programEnv makes the test binary the program (TestMain), for tests that need
// a process.
const programEnv = "AGENTAUDIT_TEST_IS_PROGRAM"

// logged is one line of a service's log, or of its output where it is no JSON.
type logged struct {
	Text                             string `json:"-"`
	Level, Msg, URL, Target, Metrics string
}

// service is a service under test inside the process.
type serviceUnderTest struct {
	t *testing.T
	// lines has room for all that a service of a test says: nobody may read
	// while a test asks for pages.
	lines chan logged
	stop  context.CancelFunc
	ended chan int
}

// startService starts the program with JSON log; connect may be nil.
func startService(t *testing.T, connect func(fetch.Config) (*fetch.Client, error), args ...string) *serviceUnderTest {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	lines := make(chan logged, 100_000)
	u := &serviceUnderTest{t: t, lines: lines, stop: stop, ended: make(chan int, 1)}
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			l := logged{Text: s.Text()}
			_ = json.Unmarshal(s.Bytes(), &l) // what is no JSON has its text
			if _, rest, ok := strings.Cut(l.Text, "The dashboard is at "); ok {
				l.URL, _, _ = strings.Cut(rest, " ")
			}
			lines <- l
		}
	}()
	go func() {
		u.ended <- run(ctx, append([]string{"agentaudit"}, args...), streams{In: strings.NewReader(""), Out: w, Err: w, Connect: connect})
		w.Close()
	}()
	t.Cleanup(func() {
		stop()
		for range u.lines { // what it still has to say
		}
	})
	return u
}

// until reads the log up to the line that ok finds.
func (u *serviceUnderTest) until(what string, ok func(logged) bool) logged {
	u.t.Helper()
	var seen []string
	patience := time.After(time.Minute)
	for {
		select {
		case l, more := <-u.lines:
			switch {
			case !more:
				u.t.Fatalf("the service ended without %s:\n%s", what, strings.Join(seen, "\n"))
			case ok(l):
				return l
			}
			seen = append(seen, l.Text)
		case <-patience:
			u.t.Fatalf("no %s:\n%s", what, strings.Join(seen, "\n"))
		}
	}
}

// url waits until the dashboard is open.
func (u *serviceUnderTest) url() string {
	u.t.Helper()
	return u.until("an open dashboard", func(l logged) bool { return l.URL != "" }).URL
}

// metrics waits until the private listener is open, and gives its address.
func (u *serviceUnderTest) metrics() string {
	u.t.Helper()
	at := u.until("an open listener for operators", func(l logged) bool { return l.Metrics != "" }).Metrics
	return strings.TrimSuffix(at, "/metrics")
}

// end stops the service and gives its exit code.
func (u *serviceUnderTest) end() int {
	u.t.Helper()
	u.stop()
	for range u.lines { // a pipe that nobody reads would hold it up
	}
	return <-u.ended
}

// page reads a page: its status and text.
func page(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// keptDemo is a data directory with the results of the demo.
func keptDemo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "kept")
	if code, _, errs := command(t, "demo", "--keep", dir, "--quiet"); code != 0 {
		t.Fatal(errs)
	}
	return dir
}

// The dashboard shows what is there, below its base path, and says on its
// private listener how it is. When it is told to stop it ends with 0, although
// a page still watches.
func TestDashboardCommand(t *testing.T) {
	dir := keptDemo(t)
	u := startService(t, nil, "dashboard", "--data-dir", dir, "--listen", "127.0.0.1:0", "--base-path", "/audits/", "--metrics-listen", "127.0.0.1:0")
	url := u.url()
	if !strings.HasSuffix(url, "/audits/") {
		t.Errorf("the base path is missing in %s", url)
	}
	if code, body := page(t, url+"batches"); code != 200 || !strings.Contains(body, "demo") {
		t.Errorf("batches: %d, %s", code, body)
	}
	private := u.metrics()
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/debug/pprof/": 200, "/batches": 404} {
		if code, body := page(t, private+path); code != want {
			t.Errorf("%s: %d, %s", path, code, body)
		}
	}
	// Nothing of it is open to the readers of the dashboard.
	for _, path := range []string{"metrics", "healthz", "debug/pprof/"} {
		if code, _ := page(t, url+path); code != 404 {
			t.Errorf("the dashboard answers /%s: %d", path, code)
		}
	}
	res, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if code := u.end(); code != exitFine {
		t.Errorf("exit %d", code)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("somebody still listens")
	}
}

// A dashboard for a data directory that nothing was done in yet is empty, and
// works beside an owner.
func TestDashboardBesideServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	serving := startService(t, nil, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0")
	first := serving.url()
	second := startService(t, nil, "dashboard", "--data-dir", dir, "--listen", "127.0.0.1:0")
	for _, url := range []string{first, second.url()} {
		if code, body := page(t, url); code != 200 || !strings.Contains(body, "agentaudit") {
			t.Errorf("%s: %d, %s", url, code, body)
		}
		// The health stands there before there is any work; only the process with
		// the queue sees the workers.
		_, body := page(t, url)
		if !strings.Contains(body, "Queue and workers") || strings.Contains(body, "not seen from here") != (url != first) {
			t.Errorf("%s tells of queue and workers: %s", url, body)
		}
		if _, body := page(t, url+"settings"); strings.Contains(body, "for 30 days, and those of the last 2 results") != (url == first) || !strings.Contains(body, keptFact) {
			t.Errorf("%s tells of retention: %s", url, body)
		}
	}
	// But nobody else can own it.
	if code, _, errs := command(t, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0"); code != exitUndone || !strings.Contains(errs, dir) {
		t.Errorf("a second owner: exit %d, %s", code, errs)
	}
	if code := second.end(); code != exitFine {
		t.Errorf("dashboard: exit %d", code)
	}
	if code := serving.end(); code != exitFine {
		t.Errorf("serve: exit %d", code)
	}
}

func TestDemoServes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	u := startService(t, nil, "demo", "--serve", "--quiet", "--listen", "127.0.0.1:0")
	url := u.url()
	if code, body := page(t, url); code != 200 || !strings.Contains(body, "demo") {
		t.Errorf("%d, %s", code, body)
	}
	if code, body := page(t, url+"settings"); code != 200 || !strings.Contains(body, "until the demo ends") {
		t.Errorf("settings: %d, %s", code, body)
	}
	if code := u.end(); code != exitFine {
		t.Errorf("exit %d", code)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Nobody gets a dashboard that others can reach, by accident, and nobody waits
// for one whose address is taken.
func TestListenIsChecked(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, command1 := range []string{"serve", "dashboard", "demo --serve"} {
		for _, c := range []struct {
			args string
			code int
			want string
		}{
			{"--listen :8080", exitUsage, "nobody would have to sign in"},
			{"--listen 0.0.0.0:8080", exitUsage, "nobody would have to sign in"},
			{"--listen [::]:8080", exitUsage, "nobody would have to sign in"},
			{"--listen 192.0.2.1:8080", exitUsage, "nobody would have to sign in"},
			{"--listen localhost.example:8080", exitUsage, "nobody would have to sign in"},
			{"--listen 8080", exitUsage, "HOST:PORT"},
			{"--listen 127.0.0.1:", exitUsage, "HOST:PORT"},
			{"--listen " + taken.Addr().String(), exitUndone, "--listen 127.0.0.1:0 takes any free port"},
		} {
			dir := filepath.Join(t.TempDir(), "data")
			code, _, errs := command(t, append(strings.Fields(command1+" "+c.args), "--data-dir", dir)...)
			if code != c.code || !strings.Contains(errs, c.want) {
				t.Errorf("%s %s: exit %d, %s; want %d and %q", command1, c.args, code, errs, c.code, c.want)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s %s: the data directory was made", command1, c.args)
			}
		}
	}
	if code, _, errs := command(t, "dashboard", "--base-path", "nowhere", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir()); code != exitUsage || !strings.Contains(errs, "/audit") {
		t.Errorf("base path: exit %d, %s", code, errs)
	}
	if code, _, errs := command(t, "serve", "list.txt"); code != exitUsage || !strings.Contains(errs, "enqueue") {
		t.Errorf("serve with a list: exit %d, %s", code, errs)
	}
}

// A service that is told to stop ends in order and with 0, a process as a
// whole (promise 7).
func TestServiceEndsWithSignal(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
		cmd.Env = append(os.Environ(), programEnv+"=1")
		cmd.WaitDelay = 10 * time.Second
		out, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var seen strings.Builder
		for s := bufio.NewScanner(out); s.Scan(); {
			seen.WriteString(s.Text() + "\n")
			if strings.Contains(s.Text(), `"msg":"started"`) {
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(seen.String(), `"msg":"stopped"`) {
			t.Errorf("%v: %v\n%s", signal, err, seen.String())
		}
	}
}
