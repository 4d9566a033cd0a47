package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agentaudit/store"
	"agentaudit/worker/writeback"
)

const hookSecretOfTests = "0123456789abcdef0123"

// hookReceiver keeps the digests that it was sent, and checks their signatures.
type hookReceiver struct {
	mu  sync.Mutex
	got []store.BatchEnd
	url string
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	t.Setenv("AGENTAUDIT_WEBHOOK_SECRET", hookSecretOfTests)
	h := &hookReceiver{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if want := "v1=" + writeback.Sign([]byte(hookSecretOfTests), r.Header.Get("Agentaudit-Timestamp"), body); r.Header.Get("Agentaudit-Signature") != want {
			t.Errorf("signed with %q", r.Header.Get("Agentaudit-Signature"))
		}
		var e store.BatchEnd
		if err := json.Unmarshal(body, &e); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, e)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL + "/hooks/s3cret?token=t0ken"
	return h
}

// take are the digests since the last call.
func (h *hookReceiver) take() []store.BatchEnd {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := h.got
	h.got = nil
	return got
}

// A run tells its end when what changed is confirmed; its file has a row for
// each entry, with the confirmed outcome.
func TestWebhookOfARun(t *testing.T) {
	n, program := demoNet(t)
	h := newHookReceiver(t)
	run := func(out string) {
		t.Helper()
		args := []string{"run", "ferries.example", "notxt.example", "stale.example", "--webhook", h.url, "--webhook-on", "finished,regressed", "--confirm-after", "0s", "--webhook-settle", "0s", "--webhook-links", "https://audit.example/"}
		if out != "" {
			args = append(args, "--out", out)
		}
		if code, _, errs := program(args...); code != 0 || !strings.Contains(errs, "told") || strings.Contains(errs, "s3cret") {
			t.Fatalf("exit %d, %s", code, errs)
		}
	}
	run("")
	if got := h.take(); len(got) != 1 || got[0].Event != store.EventFinished || got[0].Difference.FirstSeen != 3 || got[0].Regressed {
		t.Fatalf("the first time: %+v", got)
	}
	n.Static("ferries.example", "/agentic.json", 404, nil, "gone")
	out := filepath.Join(t.TempDir(), "rows.ndjson")
	run(out)
	got := h.take()
	if len(got) != 2 || got[0].Event == got[1].Event {
		t.Fatalf("%+v", got)
	}
	for _, e := range got {
		list := e.Difference.NewFailures
		if !e.Regressed || list.Count != 1 || list.Sites[0].Target != "https://ferries.example/agentic.json" || list.Sites[0].URL != "https://audit.example/runs/"+string(e.Batch)+"-1" {
			t.Errorf("%+v", e)
		}
	}
	if asked := n.Stats("ferries.example").Requests["/agentic.json"]; asked < 3 {
		t.Errorf("the profile was read %d times: the change was not confirmed", asked)
	}
	rows, err := os.ReadFile(out)
	if err != nil || strings.Count(string(rows), "\n") != 3 || strings.Count(string(rows), "missing-profile") != 1 {
		t.Errorf("%v\n%s", err, rows)
	}
	code, text, errs := program("deliveries")
	if code != 0 || strings.Count(text, "\n") != 3 || !strings.Contains(text, "batch.regressed "+string(got[0].Batch)) || strings.Contains(text, "s3cret") || strings.Contains(text, "t0ken") {
		t.Errorf("exit %d, %s, %s", code, text, errs)
	}
	if code, text, _ := program("deliveries", "--json"); code != 0 || strings.Contains(text, "s3cret") || strings.Contains(text, "t0ken") {
		t.Errorf("exit %d, %s", code, text)
	}
}

// What is handed over with a webhook, or without one to a service that has one,
// is told by the service.
func TestWebhookOfAService(t *testing.T) {
	_, program := demoNet(t)
	h := newHookReceiver(t)
	if code, _, errs := program("enqueue", "ferries.example", "--name", "handed over", "--webhook", h.url); code != 0 || strings.Contains(errs, "s3cret") {
		t.Fatalf("exit %d, %s", code, errs)
	}
	if code, _, errs := program("schedule", "add", "daily", "ferries.example", "--cron", "@daily", "--webhook", h.url); code != 0 || strings.Contains(errs, "s3cret") {
		t.Fatalf("exit %d, %s", code, errs)
	}
	if code, text, _ := program("schedule", "list", "--json"); code != 0 || strings.Contains(text, "s3cret") {
		t.Errorf("exit %d, %s", code, text)
	}
	// The run works on its own batch alone, and sends what is due of all.
	if code, _, errs := program("run", "--resume", "--webhook-secret-file", "/dev/null"); code != 0 || !strings.Contains(errs, "waits for a run or serve") || len(h.take()) != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	if code, _, errs := program("run", "notxt.example", "--webhook", h.url); code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	var names []string
	for _, e := range h.take() {
		names = append(names, e.Name)
	}
	if len(names) != 2 || !strings.Contains(strings.Join(names, ","), "handed over") {
		t.Errorf("told of %q", names)
	}
}

func TestWebhookFlags(t *testing.T) {
	_, program := demoNet(t)
	for args, want := range map[string]string{
		"run ferries.example --webhook http://elsewhere.example/hook":                              "only https",
		"run ferries.example --webhook https://anna:s3cret@elsewhere.example/":                     "password",
		"run ferries.example --webhook https://elsewhere.example/hook":                             "AGENTAUDIT_WEBHOOK_SECRET",
		"serve --webhook https://elsewhere.example/hook":                                           "AGENTAUDIT_WEBHOOK_SECRET",
		"run ferries.example --webhook-on regressed":                                               "without --webhook",
		"run ferries.example --confirm-after 1s":                                                   "without --webhook",
		"run --resume --webhook https://elsewhere.example/hook":                                    "kept with the batch",
		"enqueue ferries.example --webhook https://elsewhere.example/ --webhook-on often":          "--webhook-on",
		"enqueue ferries.example --webhook https://elsewhere.example/ --webhook-settle -1s":        "--webhook-settle",
		"enqueue ferries.example --webhook https://elsewhere.example/ --webhook-threshold 0":       "--webhook-threshold",
		"enqueue ferries.example --webhook https://elsewhere.example/ --webhook-threshold 101%":    "--webhook-threshold",
		"enqueue ferries.example --webhook https://elsewhere.example/ --webhook-links ftp://x.com": "--webhook-links",
		"schedule add daily ferries.example --cron @daily --webhook nonsense":                      "--webhook",
	} {
		if code, out, errs := program(strings.Fields(args)...); code != exitUsage || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "s3cret") {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
}
