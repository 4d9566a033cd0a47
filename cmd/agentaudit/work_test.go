package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
)

// libraries is a small internet of sites that are all in order, and how to
// reach it. The sites are libraryN.example.
func libraries(t *testing.T, sites int) (*fakenet.Net, func(fetch.Config) (*fetch.Client, error), []string) {
	t.Helper()
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	var hosts []string
	for i := range sites {
		host := fmt.Sprintf("library%d.example", i)
		hosts = append(hosts, host)
		published(library, nil)(n, host)
	}
	return n, func(cfg fetch.Config) (*fetch.Client, error) { return n.Client(cfg), nil }, hosts
}

// finished waits until the service has finished a number of runs, and gives
// how often each target was.
func (u *serviceUnderTest) finished(runs int) map[string]int {
	u.t.Helper()
	times := map[string]int{}
	for range runs {
		times[u.until("a finished run", func(l logged) bool { return l.Msg == "run finished" }).Target]++
	}
	return times
}

// enqueued hands a list over and gives the id of its batch.
func enqueued(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := command(t, append([]string{"enqueue", "--quiet"}, args...)...)
	id := strings.TrimSpace(out)
	if _, err := store.ParseBatchID(id); code != 0 || err != nil {
		t.Fatalf("enqueue: exit %d, %q, %s", code, out, errs)
	}
	return id
}

// batchNamed reads a batch.
func batchNamed(t *testing.T, dir, id string) store.Batch {
	t.Helper()
	code, out, errs := command(t, "batches", id, "--json", "--data-dir", dir)
	var b store.Batch
	if err := json.Unmarshal([]byte(out), &b); code != 0 || err != nil {
		t.Fatalf("exit %d, %v, %s", code, err, errs)
	}
	return b
}

// A list that is handed over is audited by who serves, now or later, each
// batch with its own options.
func TestServeAuditsEnqueuedLists(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, connect, hosts := libraries(t, 5)
	// Nobody works yet: the command says so, and the batch waits.
	code, out, errs := command(t, append([]string{"enqueue", "--no-agents", "--data-dir", dir}, hosts[:3]...)...)
	if code != 0 || !strings.Contains(errs, "agentaudit serve") {
		t.Fatalf("exit %d, %s", code, errs)
	}
	first := strings.TrimSpace(out)
	u := startService(t, connect, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--log-level", "debug")
	url := u.url()
	u.finished(3)
	second := enqueued(t, append([]string{"--data-dir", dir}, hosts[3:]...)...)
	u.finished(2)
	for id, want := range map[string]struct {
		entries int64
		agents  string
	}{first: {3, ""}, second: {2, "absent"}} {
		b := batchNamed(t, dir, id)
		if b.State != store.StateFinished || b.Done() != want.entries {
			t.Errorf("batch %s: %+v", id, b)
		}
		if code, body := page(t, url+"batches/"+id); code != 200 || !strings.Contains(body, id) {
			t.Errorf("its page: %d", code)
		}
		_, rows, _ := command(t, "results", id, "--format", "csv", "--data-dir", dir)
		if strings.Count(rows, ",complete,") != int(want.entries) || strings.Contains(rows, ",absent,") != (want.agents == "absent") {
			t.Errorf("batch %s: the options of the batch were not kept:\n%s", id, rows)
		}
	}
	if code := u.end(); code != exitFine {
		t.Errorf("exit %d", code)
	}
}

// Workers share a list through Redis and one data directory; pausing stops
// all of them, for that batch alone.
func TestWorkersShareLists(t *testing.T) {
	redis := queuetest.Redis(t)
	dir := filepath.Join(t.TempDir(), "data")
	n, connect, hosts := libraries(t, 30)
	resting := enqueued(t, append([]string{"--redis", redis.URL, "--data-dir", dir}, hosts[:20]...)...)
	if code, _, errs := command(t, "pause", resting, "--note", "until Monday", "--data-dir", dir); code != 0 || !strings.Contains(errs, "0 of 20") {
		t.Fatalf("pause: exit %d, %s", code, errs)
	}
	args := []string{"worker", "--redis", redis.URL, "--data-dir", dir, "--concurrency", "4", "--log-level", "debug"}
	one, two := startService(t, connect, args...), startService(t, connect, args...)
	merged := make(chan string)
	for _, u := range []*serviceUnderTest{one, two} {
		lines := u.lines
		u.lines = make(chan logged)
		close(u.lines)
		go func() {
			for l := range lines {
				if l.Msg == "run finished" {
					merged <- l.Target
				}
			}
		}()
	}
	times := map[string]int{}
	enqueued(t, append([]string{"--redis", redis.URL, "--data-dir", dir}, hosts[20:]...)...)
	for range 10 {
		times[<-merged]++
	}
	if b := batchNamed(t, dir, resting); b.State != store.StatePaused || b.Done() != 0 || b.Note != "until Monday" {
		t.Errorf("the batch that was paused: %+v", b)
	}
	if code, _, errs := command(t, "pause", resting, "--data-dir", dir); code != exitUsage || !strings.Contains(errs, "paused") {
		t.Errorf("a second pause: exit %d, %s", code, errs)
	}
	if code, _, errs := command(t, "resume", resting, "--data-dir", dir); code != 0 {
		t.Fatalf("resume: exit %d, %s", code, errs)
	}
	for range 20 {
		times[<-merged]++
	}
	if b := batchNamed(t, dir, resting); b.State != store.StateFinished || b.Done() != 20 {
		t.Errorf("the batch that was resumed: %+v", b)
	}
	for target, n := range times {
		if n != 1 {
			t.Errorf("%s was finished %d times", target, n)
		}
	}
	for _, host := range hosts {
		if asked := n.Stats(host).Requests["/agentic.json"]; asked != 1 {
			t.Errorf("%s was asked %d times", host, asked)
		}
	}
	if code := one.end() + two.end(); code != exitFine {
		t.Errorf("exit codes add up to %d", code)
	}
}

func TestWorkerNeedsAQueueToShare(t *testing.T) {
	dir := t.TempDir()
	if code, _, errs := command(t, "worker", "--data-dir", dir); code != exitUsage || !strings.Contains(errs, "--redis") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if code, _, errs := command(t, "worker", "--redis", "redis://user:hunter2@127.0.0.1:1", "--data-dir", dir); code != exitUndone || strings.Contains(errs, "hunter2") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// An enqueue that fails leaves no work behind and prints no id.
func TestEnqueueOfABadList(t *testing.T) {
	dir := t.TempDir()
	list := writeFile(t, dir, "list.csv", "name,town\nOne,Here\n")
	data := filepath.Join(dir, "data")
	code, out, errs := command(t, "enqueue", list, "--data-dir", data)
	if code != exitUsage || out != "" || !strings.Contains(errs, "list.csv") {
		t.Errorf("exit %d, %q, %s", code, out, errs)
	}
	_, out, _ = command(t, "batches", "--json", "--data-dir", data)
	var all []store.Batch
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 || all[0].State != store.StateCancelled {
		t.Errorf("%v, %s", err, out)
	}
}

// Two batches of one list, with a change in between.
func TestCompareCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n, connect, hosts := libraries(t, 4)
	published(library, func(p *showcase) { p.gone[fileReadme] = true })(n, "mended.example")
	audited := func(hosts ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		args := append([]string{"agentaudit", "run", "--quiet", "--data-dir", dir}, hosts...)
		if code := run(t.Context(), args, streams{In: strings.NewReader(""), Out: &out, Err: &errs, Connect: connect}); code != 0 {
			t.Fatalf("run: exit %d, %s", code, &errs)
		}
	}
	audited(append(hosts[:3:3], "mended.example")...)
	before := batchNamed(t, dir, latest).ID
	n.Site(hosts[0]).Static("/agentic.txt", 404, nil, "gone")
	published(library, nil)(n, "mended.example")
	audited(append(hosts[:2:2], "mended.example", hosts[3])...)
	after := batchNamed(t, dir, latest).ID

	code, out, errs := command(t, "compare", string(before), latest, "--data-dir", dir)
	for _, want := range []string{"       1  Worse than before", "       1  Better than before", "       1  As before", "       1  Only in the earlier list",
		"library0.example", "successful (complete) → partial (incomplete); new: txt", "fixed: readme"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, %s; %q is missing in\n%s", code, errs, want, out)
		}
	}
	want := map[string]string{"library0.example": "regression", "library1.example": "unchanged", "mended.example": "repair", "library2.example": "only-before", "library3.example": "only-after"}
	_, out, _ = command(t, "compare", string(before), string(after), "--format", "csv", "--data-dir", dir)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 1+len(want) {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, row := range rows[1:] {
		host := strings.TrimSuffix(strings.TrimPrefix(row[1], "https://"), "/agentic.json")
		if want[host] != row[0] || len(row) != len(changeHeader) {
			t.Errorf("%s is %s, want %s", host, row[0], want[host])
		}
	}
	var array []map[string]any
	_, out, _ = command(t, "compare", string(before), string(after), "--format", "json", "--change", "regression", "--data-dir", dir)
	if err := json.Unmarshal([]byte(out), &array); err != nil || len(array) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range changeHeader {
		if _, ok := array[0][name]; !ok || len(array[0]) != len(changeHeader) {
			t.Errorf("the JSON row lacks %s or has more: %v", name, array[0])
		}
	}
	if code, out, _ := command(t, "compare", string(before), string(after), "--format", "ndjson", "--data-dir", dir); code != 0 || strings.Count(out, "\n") != len(want) {
		t.Errorf("ndjson: exit %d\n%s", code, out)
	}
	for args, want := range map[string]string{"latest": "two batches", "latest latest": "both are batch", "latest " + string(before) + " --change worse": "--change", "latest " + string(before) + " --format xml": "--format"} {
		if code, _, errs := command(t, append([]string{"compare", "--data-dir", dir}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("compare %s: exit %d, %s", args, code, errs)
		}
	}
}
