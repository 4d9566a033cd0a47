//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/report"
)

// row is a result as the program writes it; see pipeline.md.
type row struct {
	Batch, Input, Target, ID string
	Entry, Line              int
	Outcome                  report.Outcome
	Reason                   report.Reason
	Detail                   string
	Publication              report.PublicationStatus
	Attempts                 int
	Failing, Warning         []string
	Agents                   string
}

// batch is what batches --json says.
type batch struct {
	ID, State                           string
	Entries, Runs, Duplicates, Rejected int
	Outcomes                            map[string]struct{ Entries, Runs int }
}

// readRows reads NDJSON.
func readRows(t *testing.T, text string) (rows []row) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		rows = append(rows, r)
	}
	return rows
}

// mustRun runs a command that must end well, and returns what it printed.
func (n *internet) mustRun(args ...string) string {
	n.t.Helper()
	code, out, errs := n.run(args...)
	if code != 0 {
		n.t.Fatalf("agentaudit %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// junk are lines that name no site.
var junk = []string{
	"not a site", "ftp://files.example/agentic.json", "http://plain.example/", "https://user:secret@shop.example/", "https://shop.example:8443/",
	"https://shop.example/?page=1", "https://shop.example/#top", "https://{tenant}.example/", "https://256.256.256.256/", "https://[::1/",
	"javascript:alert(1)", "https://" + strings.Repeat("long.", 500) + "example/",
}

// list is a text file of sites with what else stands in such files.
type list struct {
	path string
	// sites and rejected are by line number. Sites may stand there again.
	sites    map[int]site
	rejected map[int]string
}

// newList writes the sites in an order that the seed decides, with repetitions,
// junk, comments and blank lines between them.
func newList(t *testing.T, sites []site, repeated int, seed uint64) list {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 0))
	type line struct {
		text string
		site *site
	}
	var lines []line
	for i := range sites {
		lines = append(lines, line{sites[i].line, &sites[i]})
	}
	for range repeated {
		s := &sites[chance.IntN(len(sites))]
		lines = append(lines, line{s.target, s})
	}
	for _, j := range junk {
		lines = append(lines, line{text: j})
	}
	chance.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	l := list{path: filepath.Join(t.TempDir(), "sites.txt"), sites: map[int]site{}, rejected: map[int]string{}}
	text := []string{"# Sites of every kind.", ""}
	for i, line := range lines {
		if i%40 == 0 {
			text = append(text, "", fmt.Sprintf("# %d lines so far", i))
		}
		text = append(text, line.text)
		if line.site != nil {
			l.sites[len(text)] = *line.site
		} else {
			l.rejected[len(text)] = line.text
		}
	}
	if err := os.WriteFile(l.path, []byte(strings.Join(text, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return l
}

// targets counts the sites, however often they stand in the list.
func (l list) targets() int {
	seen := map[string]bool{}
	for _, s := range l.sites {
		seen[s.target] = true
	}
	return len(seen)
}

// check holds rows against the list: each line of a site has one, and it is
// the expected one.
func (l list) check(t *testing.T, rows []row) {
	t.Helper()
	seen := map[int]int{}
	for _, r := range rows {
		s, ok := l.sites[r.Line]
		if seen[r.Line]++; !ok {
			t.Errorf("line %d (%s) got a row, and is no site", r.Line, r.Input)
			continue
		}
		var faults []string
		if r.Outcome != s.outcome || r.Reason != s.reason {
			faults = append(faults, fmt.Sprintf("%s %s, want %s %s", r.Outcome, r.Reason, s.outcome, s.reason))
		}
		if r.Attempts != s.attempts && s.attempts != unknown {
			faults = append(faults, fmt.Sprintf("%d attempts, want %d", r.Attempts, s.attempts))
		}
		if r.Target != s.target {
			faults = append(faults, fmt.Sprintf("the target is %s, want %s", r.Target, s.target))
		}
		if s.agents != "" && r.Agents != s.agents {
			faults = append(faults, fmt.Sprintf("agents.txt is %q, want %s", r.Agents, s.agents))
		}
		if !strings.Contains(r.Detail, s.detail) || r.Detail == "" {
			faults = append(faults, fmt.Sprintf("want %q in the detail", s.detail))
		}
		if faults != nil {
			t.Errorf("%s (line %d): %s. Detail: %s", s.kind, r.Line, strings.Join(faults, "; "), r.Detail)
		}
	}
	for line, s := range l.sites {
		if seen[line] != 1 {
			t.Errorf("line %d (%s) has %d rows", line, s.line, seen[line])
		}
	}
}

// checkBatch holds the totals against the rows.
func (l list) checkBatch(t *testing.T, b batch, rows []row) {
	t.Helper()
	want := map[report.Outcome]int{}
	for _, r := range rows {
		want[r.Outcome]++
	}
	for o, n := range want {
		if got := b.Outcomes[string(o)].Entries; got != n {
			t.Errorf("the batch counts %d %s, its rows %d", got, o, n)
		}
	}
	runs := 0
	for _, c := range b.Outcomes {
		runs += c.Runs
	}
	targets := l.targets()
	if b.State != "finished" || b.Entries != len(l.sites) || b.Runs != targets || runs != targets || b.Duplicates != len(l.sites)-targets || b.Rejected != len(l.rejected) {
		t.Errorf("the list has %d lines of %d sites and %d others; the batch is %s with %+v", len(l.sites), targets, len(l.rejected), b.State, b)
	}
}

// showBatch reads the totals of the newest batch.
func (n *internet) showBatch(data string) (b batch) {
	n.t.Helper()
	if err := json.Unmarshal([]byte(n.mustRun("batches", "latest", "--json", "--data-dir", data)), &b); err != nil {
		n.t.Fatal(err)
	}
	return b
}

// TestList audits a list of sites of every kind.
func TestList(t *testing.T) {
	inside(t)
	n := newInternet(t)
	sites := append(everySite(t, n), neighbours(t, n)...)
	if len(sites) < 300 {
		t.Errorf("there are only %d sites", len(sites))
	}
	reasons := map[report.Reason]bool{}
	for _, s := range sites {
		reasons[s.reason] = true
	}
	for _, r := range report.Reasons {
		if !reasons[r] && r != report.ReasonInternal {
			t.Errorf("no site is %s", r)
		}
	}
	l := newList(t, sites, 30, 1)
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "results.ndjson")
	summary := n.mustRun("run", l.path, "--out", out, "--data-dir", data, "--quiet", "--concurrency", "128")
	written, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rows := readRows(t, string(written))
	l.check(t, rows)
	l.checkBatch(t, n.showBatch(data), rows)
	n.mustBehave(sites)

	// What was written as it came is what is kept, in another order.
	kept := n.mustRun("results", "--format", "ndjson", "--data-dir", data)
	if !slices.Equal(sorted(string(written)), sorted(kept)) {
		t.Error("the rows of --out are not those of agentaudit results")
	}
	rejected := map[int]string{}
	scanner := bufio.NewScanner(strings.NewReader(n.mustRun("results", "--rejected", "--format", "ndjson", "--data-dir", data)))
	for scanner.Scan() {
		var r struct {
			Line          int
			Input, Reason string
		}
		if err := json.Unmarshal(scanner.Bytes(), &r); err != nil || r.Reason == "" {
			t.Errorf("%v: %s", err, scanner.Bytes())
		}
		rejected[r.Line] = r.Input
	}
	for line, input := range l.rejected {
		// Very long lines are kept cut, and passwords not at all.
		input = strings.Replace(input, "secret", "***", 1)
		if got := rejected[line]; got == "" || !strings.HasPrefix(input, strings.TrimRight(got, "… ")) {
			t.Errorf("line %d is %q and was rejected as %q", line, input, got)
		}
	}
	if len(rejected) != len(l.rejected) {
		t.Errorf("%d lines were rejected, want %d", len(rejected), len(l.rejected))
	}
	if t.Failed() {
		t.Log(summary)
	}
}

func sorted(text string) []string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}
