//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentaudit/audit/report"
)

// everySite is a site of every kind.
func everySite(t *testing.T, n *internet) []site {
	t.Helper()
	return build(t, n, append(append([]group{goodSites}, badSites...), darkSites...))
}

// command prepares the program under test; it does not outlive the tests.
func (n *internet) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = n.env, n.t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs the program under test and returns what it printed.
func (n *internet) run(args ...string) (code int, stdout, stderr string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 4*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := n.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		n.t.Errorf("agentaudit %q: %v", args, err)
		return -1, "", ""
	}
	if ctx.Err() != nil {
		n.t.Errorf("agentaudit %q did not end", args)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestAudit audits sites one by one, as people do.
func TestAudit(t *testing.T) {
	inside(t)
	n := newInternet(t)
	// A process for each takes time: every fifth site, and of the slow ones none.
	var sites []site
	for i, s := range everySite(t, n) {
		if i%5 == 0 && s.attempts == 1 {
			sites = append(sites, s)
		}
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, 8)
	for _, s := range sites {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			n.audit(s)
		})
	}
	wg.Wait()
	n.mustBehave(sites)
}

func (n *internet) audit(s site) {
	wantCode, wantStatus := 1, report.Failed
	switch s.outcome {
	case report.OutcomeSuccessful:
		wantCode, wantStatus = 0, report.Successful
	case report.OutcomePartial:
		wantStatus = report.Partial
	case report.OutcomeUnchecked:
		wantCode = 3
	}
	code, out, errs := n.run("audit", s.line, "--json", "--publication")
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		n.t.Errorf("%s (%s): exit code %d, no report: %v\n%s", s.kind, s.line, code, err, errs)
		return
	}
	if code != wantCode || r.Publication.Status != wantStatus || r.ProfileURL != s.target {
		n.t.Errorf("%s: exit code %d and %s for %s, want %d and %s for %s: %s", s.kind, code, r.Publication.Status, r.ProfileURL,
			wantCode, wantStatus, s.target, r.Publication.Summary)
	}
}
