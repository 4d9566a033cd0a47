package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

func mcpClient(t *testing.T, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func mcpCall(t *testing.T, s *sdk.ClientSession, name string, args map[string]any, into any) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	data, _ := json.Marshal(res.StructuredContent)
	if res.IsError || json.Unmarshal(data, into) != nil {
		t.Fatalf("%s: %+v", name, res.Content)
	}
}

// A real process speaks the protocol on standard output and nothing else, and
// ends when its input does.
func TestMCPProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "mcp", "--log-level", "debug", "--data-dir", t.TempDir())
	cmd.Env = append(os.Environ(), programEnv+"=1")
	var logs, out bytes.Buffer
	cmd.Stderr = &logs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := mcpClient(t, &sdk.IOTransport{Reader: io.NopCloser(io.TeeReader(stdout, &out)), Writer: in})
	var made struct{ Validation struct{ Valid bool } }
	mcpCall(t, s, "generate_agentic_profile", map[string]any{"origin": "https://service.example"}, &made)
	if !made.Validation.Valid {
		t.Errorf("%+v", made)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("standard output holds %q", line)
		}
	}
	if logs.Len() == 0 {
		t.Error("nothing was logged at level debug")
	}
}

// Batches are audited in the process where nobody else does.
func TestMCPAuditsBatches(t *testing.T) {
	t.Setenv("AGENTAUDIT_DATA_DIR", t.TempDir())
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	n.Site("shop.example")
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	logs, errs := io.Pipe()
	audited := make(chan struct{})
	go func() {
		for s := bufio.NewScanner(logs); s.Scan(); {
			if strings.Contains(s.Text(), "all submitted batches are audited") {
				close(audited)
			}
		}
	}()
	ended := make(chan int, 1)
	go func() {
		ended <- run(context.Background(), []string{"agentaudit", "mcp", "--discover", "never", "--no-retry", "--log-level", "info"}, streams{In: fromClient, Out: toClient, Err: errs,
			Connect: func(cfg fetch.Config) (*fetch.Client, error) { return n.Client(cfg), nil }})
	}()
	s := mcpClient(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer})
	var batch struct{ Batch string }
	mcpCall(t, s, "submit_batch", map[string]any{"urls": []string{"shop.example", "nobody.example"}}, &batch)
	<-audited
	var status struct {
		State    string
		Outcomes map[string]int
	}
	mcpCall(t, s, "batch_status", map[string]any{"batch": batch.Batch}, &status)
	if status.State != "finished" || status.Outcomes["failed"] != 2 {
		t.Errorf("%+v", status)
	}
	var report struct{ Reason string }
	mcpCall(t, s, "get_report", map[string]any{"site": "nobody.example"}, &report)
	if report.Reason != "no-such-host" {
		t.Errorf("%+v", report)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != exitFine {
		t.Errorf("exit %d", code)
	}
	// The data directory is free again.
	if code, out, errs := command(t, "results", "--format", "ndjson"); code != 0 || strings.Count(out, "\n") != 2 {
		t.Errorf("exit %d, %s, %s", code, out, errs)
	}
}

func TestMCPTakesNoArguments(t *testing.T) {
	if code, out, errs := command(t, "mcp", "shop.example"); code != exitUsage || out != "" || !strings.Contains(errs, "no arguments") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}
