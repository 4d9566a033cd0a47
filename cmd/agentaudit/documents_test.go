package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

// demoNet is the internet of the demo, and a function that runs the program
// in it.
func demoNet(t *testing.T) (*fakenet.Net, func(args ...string) (code int, out, errs string)) {
	t.Helper()
	t.Setenv("AGENTAUDIT_DATA_DIR", t.TempDir())
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	for _, site := range demoSites() {
		site.build(n, site.host)
	}
	return n, func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		s := streams{In: strings.NewReader(""), Out: &out, Err: &errs, Connect: func(cfg fetch.Config) (*fetch.Client, error) {
			cfg.Limits = demoLimits()
			return n.Client(cfg), nil
		}}
		code := run(t.Context(), append([]string{"agentaudit"}, args...), s)
		return code, out.String(), errs.String()
	}
}

func keep(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAuditDocuments(t *testing.T) {
	_, program := demoNet(t)
	code, sarif, errs := program("audit", "typo.example", "--format", "sarif", "--no-agents")
	if code != exitObjects || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	var log struct {
		Runs []struct{ Results []struct{ RuleID string } }
	}
	if err := json.Unmarshal([]byte(sarif), &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) < 2 || log.Runs[0].Results[0].RuleID != "json" {
		t.Errorf("%v in %s", err, sarif)
	}
	if _, junit, _ := program("audit", "typo.example", "--format", "junit"); xml.Unmarshal([]byte(junit), new(struct{})) != nil || !strings.Contains(junit, "<failure") {
		t.Errorf("%s", junit)
	}
	if _, summary, _ := program("audit", "typo.example", "--format", "markdown"); !strings.Contains(summary, "`https://typo.example/agentic.json` **invalid-profile**") {
		t.Errorf("%s", summary)
	}
	_, report, _ := program("audit", "typo.example", "--json")
	for _, base := range []string{keep(t, "base.sarif", sarif), keep(t, "base.json", report)} {
		code, out, errs := program("audit", "typo.example", "--publication", "--format", "sarif", "--no-agents", "--baseline", base)
		if code != exitFine || !strings.Contains(out, `"baselineState":"unchanged"`) || strings.Contains(out, `"baselineState":"new"`) || !strings.Contains(errs, "baseline") {
			t.Errorf("%s: exit %d, %s, %s", base, code, errs, out)
		}
		if code, _, _ := program("audit", "stale.example", "--publication", "--baseline", base); code != exitObjects {
			t.Errorf("another site with %s: exit %d", base, code)
		}
	}
}

func TestRunDocuments(t *testing.T) {
	n, program := demoNet(t)
	list := keep(t, "list.txt", "ferries.example\nstale.example\nnotxt.example\nstale.example\n")
	code, first, errs := program("run", list, "--format", "sarif", "--fail-on", "failed", "--quiet")
	if code != exitObjects || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	if got := strings.Count(first, `"ruleId":"txt"`); got != 2 {
		t.Errorf("%d findings about agentic.txt, want one for each of two sites: %s", got, first)
	}
	base := keep(t, "base.sarif", first)
	for _, failOn := range []string{"failed", "partial"} {
		if code, _, errs := program("run", list, "--fail-on", failOn, "--baseline", base, "--quiet"); code != exitFine {
			t.Errorf("--fail-on %s with nothing new: exit %d, %s", failOn, code, errs)
		}
	}
	_, rows, _ := program("results", "--format", "ndjson")
	if code, _, errs := program("run", list, "--fail-on", "partial", "--baseline", keep(t, "base.ndjson", rows), "--quiet"); code != exitFine {
		t.Errorf("rows as a baseline: exit %d, %s", code, errs)
	}
	// What is new at a site that was fine is objected to, by its weight.
	n.Static("ferries.example", "/README.md", 404, nil, "gone")
	n.Static("ferries.example", "/readme.md", 404, nil, "gone")
	if code, _, _ := program("run", list, "--fail-on", "failed", "--baseline", base, "--quiet"); code != exitFine {
		t.Errorf("a new warning with --fail-on failed: exit %d", code)
	}
	code, summary, _ := program("run", list, "--fail-on", "partial", "--baseline", base, "--quiet", "--format", "markdown")
	if code != exitObjects || !strings.Contains(summary, "### New findings (1)\n\n- `https://ferries.example/agentic.json`") {
		t.Errorf("a new warning with --fail-on partial: exit %d, %s", code, summary)
	}
	// Results show the same later.
	if code, again, errs := program("results", "--format", "markdown", "--baseline", base); code != 0 || !strings.Contains(again, "| **all** | **3** |") || !strings.Contains(again, "known") {
		t.Errorf("exit %d, %s, %s", code, errs, again)
	}
	if code, one, errs := program("results", "--site", "stale.example", "--format", "junit"); code != 0 || strings.Count(one, "<testsuite ") != 1 {
		t.Errorf("exit %d, %s, %s", code, errs, one)
	}
}

func TestDocumentFlags(t *testing.T) {
	_, program := demoNet(t)
	csv := keep(t, "old.csv", "batch,entry\n")
	for args, want := range map[string]string{
		"audit ferries.example --format html":          "--format",
		"audit ferries.example --json --format sarif":  "contradict",
		"audit ferries.example --baseline nowhere":     "nowhere",
		"audit ferries.example --baseline " + csv:      "no baseline",
		"run ferries.example --format table":           "--format",
		"run ferries.example --baseline nowhere":       "nowhere",
		"run ferries.example --baseline " + keepRow(t): "--fail-on",
	} {
		if code, out, errs := program(strings.Fields(args)...); code != exitUsage || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
}

func keepRow(t *testing.T) string {
	return keep(t, "row.ndjson", `{"target":"https://a.example/agentic.json","outcome":"failed"}`)
}
