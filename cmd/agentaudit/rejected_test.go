package main

import (
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// Rejected lines come in all formats, each with all that is known of them.
func TestRejectedLinesInEveryFormat(t *testing.T) {
	dir := t.TempDir()
	list := writeFile(t, dir, "list.txt", "ftp://a.example\n=cmd|x\nhttp://b.example/\n")
	n := newNet(t)
	unpublished(n, "shop.example")
	data := filepath.Join(dir, "data")
	if code, _, errs := online(t, n, "run", list, "shop.example", "--quiet", "--data-dir", data); code != 0 {
		t.Fatal(errs)
	}
	rejected := func(args ...string) (int, string, string) {
		return command(t, append([]string{"results", "--rejected", "--data-dir", data}, args...)...)
	}
	inputs := []string{"ftp://a.example", "=cmd|x", "http://b.example/"}
	check := func(format string, lines []store.Rejected) {
		t.Helper()
		for i, r := range lines {
			if i >= len(inputs) || r.N != int64(i)+1 || r.Line != int64(i)+1 || r.Input != inputs[i] || r.Source != "list.txt" || r.Reason == "" {
				t.Errorf("%s: line %d is %+v", format, i, r)
			}
		}
		if len(lines) != len(inputs) {
			t.Errorf("%s: %d lines", format, len(lines))
		}
	}
	_, out, _ := rejected("--format", "json")
	var all []store.Rejected
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatal(err)
	}
	check("json", all)
	_, out, _ = rejected("--format", "ndjson")
	var each []store.Rejected
	for line := range strings.Lines(out) {
		var r store.Rejected
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		each = append(each, r)
	}
	check("ndjson", each)
	_, out, _ = rejected("--format", "csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 4 || !slices.Equal(rows[0], rejectedHeader) || rows[2][3] != "'=cmd|x" || rows[3][4] != all[2].Reason {
		t.Errorf("csv: %v, %q", err, rows)
	}
	if _, out, _ := rejected(); strings.Count(out, "\n") != 6 || !strings.Contains(out, "list.txt:3  http://b.example/\n    "+all[2].Reason) {
		t.Errorf("table:\n%s", out)
	}
	for _, c := range []struct{ args, want string }{
		{"--format sarif", "table, csv, ndjson or json"}, {"--outcome failed", "--outcome"}, {"--site shop.example", "--site"}, {"--limit 1", "--limit"},
	} {
		if code, out, errs := rejected(strings.Fields(c.args)...); code != exitUsage || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%s: exit %d, %q, %s", c.args, code, out, errs)
		}
	}
	// One site has rows, too, and takes no filters.
	code, out, _ := command(t, "results", "--data-dir", data, "--site", "shop.example", "--format", "csv")
	if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); code != 0 || err != nil || len(rows) != 2 || !slices.Contains(rows[1], "https://shop.example/agentic.json") {
		t.Errorf("--site as csv: exit %d, %v, %q", code, err, rows)
	}
	if code, _, errs := command(t, "results", "--data-dir", data, "--site", "shop.example", "--outcome", "failed"); code != exitUsage || !strings.Contains(errs, "leave --outcome out") {
		t.Errorf("--site with a filter: exit %d, %s", code, errs)
	}
}

// A list without a site is bad input, and says why it has none.
func TestAListWithoutSitesIsBadInput(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text, want string }{
		{"empty.txt", "", "the list is empty"},
		{"comments.txt", "# sites\n\n  \n", "the list is empty"},
		{"head.csv", "url,name\n", "the list is empty"},
		{"one.txt", "ftp://a.example\n", "its one line was rejected: "},
		{"bad.txt", "ftp://a.example\nhttp://b.example\n", "all its 2 lines were rejected, the first because of this: "},
	} {
		path := writeFile(t, dir, c.name, c.text)
		for _, name := range []string{"run", "enqueue"} {
			data := filepath.Join(dir, name+c.name)
			code, out, errs := command(t, name, path, "--data-dir", data, "--quiet")
			if code != exitUsage || out != "" || !strings.Contains(errs, c.want) {
				t.Errorf("%s %s: exit %d, %q, %s", name, c.name, code, out, errs)
			}
			if c.name != "bad.txt" {
				continue
			}
			if !strings.Contains(errs, " --rejected --data-dir "+data+" shows all") {
				t.Errorf("no hint for %s: %s", name, errs)
			}
			if code, out, _ := command(t, "results", "--rejected", "--data-dir", data); code != 0 || !strings.Contains(out, "http://b.example") {
				t.Errorf("the rejected lines are lost: exit %d, %s", code, out)
			}
		}
	}
}

// Only a terminal makes lines short.
func TestTablesOutsideTerminalsAreWhole(t *testing.T) {
	long := strings.Repeat("long ", 60) + "end"
	row := store.Row{Target: "https://" + strings.Repeat("a", 60) + ".example/agentic.json", Label: "Label", Outcome: report.OutcomeFailed, Reason: report.ReasonMissingProfile, Detail: long}
	written := func(s *screen) string {
		var b strings.Builder
		s.w = &b
		o := &table{s: s}
		if err := o.Write(row); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if out := written(newScreen(nil)); !strings.Contains(out, "Label ("+strings.Repeat("a", 60)+".example)") || !strings.Contains(out, long) || strings.Contains(out, "…") {
		t.Errorf("in a pipe:\n%s", out)
	}
	out := written(&screen{width: 80, terminal: true})
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
			t.Errorf("a line of %d on a terminal: %s", n, line)
		}
	}
	if strings.Count(out, "…") != 2 {
		t.Errorf("on a terminal:\n%s", out)
	}
}
