package main

import (
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"agentaudit/queue"
	"agentaudit/queue/queuetest"
	"agentaudit/store/storetest"
)

// sample reads one number of a page of metrics; it must be there.
func sample(t *testing.T, page, name string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("there is no %s in\n%s", name, page)
	}
	return m[1]
}

// What a service does can be counted, and nothing of a site is in it.
func TestMetrics(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, connect, hosts := libraries(t, 4)
	rest := enqueued(t, "--data-dir", dir, "resting.example", "resting2.example")
	if code, _, errs := command(t, "pause", rest, "--data-dir", dir); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := command(t, "schedule", "add", "weekly", "a.example", "--cron", "@weekly", "--data-dir", dir); code != 0 {
		t.Fatal(errs)
	}
	u := startService(t, connect, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--log-level", "debug")
	private := u.metrics()
	enqueued(t, append([]string{"--data-dir", dir}, hosts...)...)
	u.finished(4)
	code, body := page(t, private+"/metrics")
	if code != 200 {
		t.Fatalf("%d, %s", code, body)
	}
	for name, want := range map[string]string{
		`agentaudit_audits_finished_total{outcome="successful"}`: "4", `agentaudit_audits_finished_total{outcome="failed"}`: "0",
		`agentaudit_attempts_total{result="final"}`: "4", `agentaudit_attempts_total{result="retry"}`: "0",
		`agentaudit_audit_duration_seconds_count`: "4", `agentaudit_runs{state="due"}`: "0", `agentaudit_runs{state="paused"}`: "2", `agentaudit_runs{state="waiting"}`: "0", `agentaudit_runs_workable`: "0", `agentaudit_runs{state="running"}`: "0",
		`agentaudit_batches{state="paused"}`: "1", `agentaudit_schedule_overdue_seconds{schedule="weekly"}`: "0", `agentaudit_schedule_missed_total{schedule="weekly"}`: "0",
		`agentaudit_up{what="store"}`: "1", `agentaudit_up{what="queue"}`: "1", `agentaudit_runs_enqueued{class="small"}`: "0", `agentaudit_worker_parked`: "0",
	} {
		if got := sample(t, body, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{`agentaudit_queue_tasks{class="small",state="pending"}`, "agentaudit_worker_in_flight", "go_goroutines", "process_start_time_seconds"} {
		sample(t, body, name)
	}
	if !strings.Contains(body, `agentaudit_build_info{`) || strings.Contains(body, ".example") || strings.Contains(body, rest) {
		t.Errorf("the metrics lack the program, or name a site or a batch:\n%s", body)
	}
	if code := u.end(); code != exitFine {
		t.Errorf("exit %d", code)
	}
}

// A process whose queue is gone lives, and says that it is not ready.
func TestNotReadyWithoutQueue(t *testing.T) {
	redis := queuetest.Redis(t)
	dir := filepath.Join(t.TempDir(), "data")
	_, connect, _ := libraries(t, 0)
	u := startService(t, connect, "worker", "--redis", redis.URL, "--data-dir", dir, "--metrics-listen", "127.0.0.1:0")
	private := u.metrics()
	redis.Kill()
	if code, body := page(t, private+"/readyz"); code != 503 || !strings.Contains(body, "queue") {
		t.Errorf("readyz without a queue: %d, %s", code, body)
	}
	if code, _ := page(t, private+"/healthz"); code != 200 {
		t.Errorf("healthz: %d", code)
	}
	if _, body := page(t, private+"/metrics"); sample(t, body, `agentaudit_up{what="queue"}`) != "0" || sample(t, body, `agentaudit_up{what="store"}`) != "1" {
		t.Error("the metrics say that the queue is up, or the store down")
	}
}

// A queue that answers but takes nothing is not ready either, and no process
// starts on it.
func TestNotReadyWithQueueThatTakesNothing(t *testing.T) {
	redis := queuetest.Redis(t)
	admin := redis.Client()
	defer admin.Close()
	dir := filepath.Join(t.TempDir(), "data")
	_, connect, _ := libraries(t, 0)
	u := startService(t, connect, "worker", "--redis", redis.URL, "--data-dir", dir, "--metrics-listen", "127.0.0.1:0")
	private := u.metrics()
	if code, body := page(t, private+"/readyz"); code != 200 {
		t.Errorf("readyz: %d, %s", code, body)
	}
	if err := admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if code, body := page(t, private+"/readyz"); code != 503 || !strings.Contains(body, "queue") {
		t.Errorf("readyz with a replica: %d, %s", code, body)
	}
	if _, body := page(t, private+"/metrics"); sample(t, body, `agentaudit_up{what="queue"}`) != "0" || sample(t, body, `agentaudit_up{what="store"}`) != "1" {
		t.Error("the metrics say that the queue is up, or the store down")
	}
	if code, _, errs := command(t, "worker", "--redis", redis.URL, "--data-dir", dir); code == exitFine || !strings.Contains(errs, "is a replica") {
		t.Errorf("a worker on a replica: exit %d, %s", code, errs)
	}
}

// What the store tells is there while a queue hangs.
func TestHangingQueueHidesNoStore(t *testing.T) {
	server := queuetest.Redis(t)
	q, err := queue.Connect(t.Context(), queue.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	m := newMetrics(slog.New(slog.DiscardHandler))
	m.queue = q
	m.store, _ = storetest.New(t)
	server.Freeze(t)
	told := make(chan prometheus.Metric, 1000)
	go func() {
		defer close(told)
		m.Collect(told)
	}()
	values := map[string]float64{}
	for metric := range told {
		var d dto.Metric
		if metric.Desc() != up || metric.Write(&d) != nil {
			continue
		}
		values[d.Label[0].GetValue()] = d.Gauge.GetValue()
		if len(values) == 1 {
			server.Thaw(t)
		}
	}
	if values["store"] != 1 {
		t.Errorf("agentaudit_up is %v while the queue alone hangs", values)
	}
}

func TestProfilesAreLocal(t *testing.T) {
	u := startService(t, nil, "dashboard", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--metrics-listen", "0.0.0.0:0")
	if code, _ := page(t, u.metrics()+"/debug/pprof/"); code != 404 {
		t.Errorf("profiles can be read from everywhere: %d", code)
	}
	u = startService(t, nil, "dashboard", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--metrics-listen", "0.0.0.0:0", "--pprof")
	if code, _ := page(t, u.metrics()+"/debug/pprof/"); code != 200 {
		t.Errorf("profiles that were asked for: %d", code)
	}
	if code, _, errs := command(t, "dashboard", "--pprof", "--data-dir", t.TempDir()); code != exitUsage || !strings.Contains(errs, "--metrics-listen") {
		t.Errorf("exit %d, %s", code, errs)
	}
}
