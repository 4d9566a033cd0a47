package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/agentstxt"
)

// The demo finds at each of its sites what the site was built to show, and
// accounts for every line of its list.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	code, out, errs := command(t, "demo", "--keep", dir, "--quiet")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	code, rows, errs := command(t, "results", "--data-dir", dir, "--format", "ndjson", "--full")
	if code != 0 {
		t.Fatalf("results: exit %d, %s", code, errs)
	}
	for _, say := range []string{"of successful: 4 valid, 3 invalid, 1 other, 4 absent\n", "Fix kit  agentic.txt", "Fix kit for https://nothing.example/agentic.json"} {
		if !strings.Contains(out, say) {
			t.Errorf("the demo does not say %q", say)
		}
	}
	type row struct {
		Line                    int64
		Target, Outcome, Reason string
		Detail, Agents          string
		Attempts                int
		Report, Evidence        json.RawMessage
		AgentsReport            struct{ Verdict string }
	}
	byTarget := map[string]row{}
	lines := 0
	for line := range strings.Lines(rows) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		lines++
		if r.Detail == "" || len(r.Report) < 100 || len(r.Evidence) < 10 {
			t.Errorf("%s has no detail, report or evidence: %+v", r.Target, r)
		}
		byTarget[r.Target] = r
	}
	sites := demoSites()
	if lines != len(sites)+3 {
		t.Errorf("%d rows for %d sites and three repeated lines", lines, len(sites))
	}
	for _, s := range sites {
		r := byTarget["https://"+s.host+"/agentic.json"]
		if r.Outcome != string(s.outcome) || r.Reason != string(s.reason) {
			t.Errorf("%s (%s) is %s, %s: %s; want %s, %s", s.host, s.about, r.Outcome, r.Reason, r.Detail, s.outcome, s.reason)
		}
		if !strings.Contains(out, s.about) {
			t.Errorf("the demo does not tell that %s is about %q", s.host, s.about)
		}
	}
	// Who gives no answer, or leads elsewhere, has no verdict over agents.txt;
	// who has no file has "absent".
	unclear := []string{"moved.example", "intranet.example", "expired.example", "nobody.example", "wall.example", "login.example", "broken.example",
		"silent.example", "closed.example", "nodns.example"}
	declared := demoAgents()
	for _, s := range sites {
		want := agentstxt.VerdictAbsent
		if d, ok := declared[s.host]; ok {
			want = d.verdict
			if !strings.Contains(out, d.about) {
				t.Errorf("the demo does not tell that the agents.txt of %s is about %q", s.host, d.about)
			}
		} else if slices.Contains(unclear, s.host) {
			want = agentstxt.VerdictUnchecked
		}
		r := byTarget["https://"+s.host+"/agentic.json"]
		if r.Agents != string(want) || r.AgentsReport.Verdict != r.Agents {
			t.Errorf("agents.txt of %s is %q, its report says %q; want %s", s.host, r.Agents, r.AgentsReport.Verdict, want)
		}
	}
	for host, attempts := range map[string]int{"flaky.example": 2, "busy.example": 2, "nobody.example": 2, "expired.example": 2, "broken.example": 3, "wall.example": 1, "ferries.example": 1} {
		if got := byTarget["https://"+host+"/agentic.json"].Attempts; got != attempts {
			t.Errorf("%s took %d attempts, want %d", host, got, attempts)
		}
	}
	code, rejected, _ := command(t, "results", "--data-dir", dir, "--rejected")
	if code != 0 || strings.Count(rejected, "demo-list.txt:") != 5 || strings.Contains(rejected, "secret") {
		t.Errorf("rejected lines: exit %d, %s", code, rejected)
	}
}

func TestDemoLeavesNothingBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code := run(ctx, []string{"agentaudit", "demo", "--quiet"}, streams{In: strings.NewReader(""), Out: &strings.Builder{}, Err: &strings.Builder{}})
	left, err := os.ReadDir(tmp)
	if code != exitInterrupted || err != nil || len(left) != 0 {
		t.Errorf("exit %d, left behind: %v, %v", code, left, err)
	}
}

// Filters, formats and the page of one site, on the data of the demo.
func TestResultsOfDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	if code, _, errs := command(t, "demo", "--keep", dir, "--quiet"); code != 0 {
		t.Fatal(errs)
	}
	results := func(args ...string) (int, string, string) {
		return command(t, append([]string{"results", "--data-dir", dir}, args...)...)
	}
	for _, c := range []struct {
		args string
		rows int
	}{
		{"--outcome failed", 21}, {"--reason unreachable", 3}, {"--check readme:json", 1}, {"--check api", 2}, {"--host ferries.example", 2},
		{"--outcome partial --check txt", 1}, {"--agents valid", 4}, {"--agents invalid --outcome successful", 3}, {"--search ferr", 2}, {"--limit 7", 7}, {"--outcome cancelled", 0},
	} {
		code, out, _ := results(append(strings.Fields(c.args), "--format", "csv")...)
		if got := strings.Count(out, "\n") - 1; code != 0 || got != c.rows {
			t.Errorf("%s: exit %d, %d rows, want %d\n%s", c.args, code, got, c.rows, out)
		}
	}
	// Pages of a table join without gap or overlap.
	var seen []string
	cursor := ""
	for {
		args := []string{"--limit", "20", "--format", "ndjson"}
		if cursor != "" {
			args = append(args, "--after", cursor)
		}
		_, out, note := results(args...)
		for line := range strings.Lines(out) {
			var r struct{ Entry json.Number }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, r.Entry.String())
		}
		_, rest, more := strings.Cut(note, "--after ")
		if !more {
			break
		}
		cursor, _, _ = strings.Cut(rest, ",")
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(seen))); len(seen) != 46 || len(unique) != 46 {
		t.Errorf("%d rows on all pages, %d different", len(seen), len(unique))
	}
	if code, out, _ := results("--format", "json"); code != 0 || !json.Valid([]byte(out)) {
		t.Errorf("json: exit %d", code)
	}
	if code, out, _ := results("--site", "stale.example"); code != 0 || !strings.Contains(out, "FAILED  https://stale.example/agentic.json") || !strings.Contains(out, "agentaudit text agentic.json") {
		t.Errorf("--site: exit %d, %s", code, out)
	}
	if code, out, _ := results("--site", "lostdocs.example"); code != 0 || !strings.Contains(out, "published one, with 1 change:\n  · https://lostdocs.example/docs is left out") {
		t.Errorf("a profile that the kit changes: exit %d, %s", code, out)
	}
	if code, out, _ := results("--site", "stale.example", "--format", "json"); code != 0 || !strings.Contains(out, `"reportVersion":"3"`) {
		t.Errorf("--site as JSON: exit %d, %s", code, out)
	}
	if code, _, errs := results("--site", "elsewhere.example"); code != exitUsage || !strings.Contains(errs, "is not in batch") {
		t.Errorf("a site of another list: exit %d, %s", code, errs)
	}
	if code, _, errs := results("--full"); code != exitUsage || !strings.Contains(errs, "--format ndjson") {
		t.Errorf("--full in a table: exit %d, %s", code, errs)
	}
	if code, out, _ := command(t, "batches", "--data-dir", dir); code != 0 || !strings.Contains(out, "demo") || !strings.Contains(out, "finished") {
		t.Errorf("batches: exit %d, %s", code, out)
	}
	if code, out, _ := command(t, "batches", "latest", "--json", "--data-dir", dir); code != 0 || !strings.Contains(out, `"state": "finished"`) {
		t.Errorf("one batch: exit %d, %s", code, out)
	}
	if code, _, errs := command(t, "cancel", "latest", "--data-dir", dir); code != exitUsage || !strings.Contains(errs, "finished") {
		t.Errorf("cancel of a finished batch: exit %d, %s", code, errs)
	}
	if code, out, errs := command(t, "batches", "zzzz", "--data-dir", dir); code != exitUsage || !strings.Contains(errs, `no batch "zzzz"`) {
		t.Errorf("an unknown batch: exit %d, %s, %s", code, out, errs)
	}
}
