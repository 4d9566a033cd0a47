package format_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"agentaudit/audit/format"
	"agentaudit/audit/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// check is a check as audits make them.
func check(id string, st report.Status, detail string) report.Check {
	c := report.Check{ID: id, Label: "Label of " + id, Status: st, Detail: detail}
	if st != report.Pass {
		c.Remedy, c.HelpURL = "Do this for "+id+".", "https://ruagentic.org/docs/AUDIT.md"
	}
	return c
}

func entry(host string, o report.Outcome, reason report.Reason, checks ...report.Check) *format.Entry {
	at := "https://" + host + "/"
	r := &report.Report{
		ReportVersion: report.Version, Kind: report.Kind, ProfileURL: at + "agentic.json", Valid: o != report.OutcomeFailed, Checks: checks,
		TextIndex: report.TextIndex{URL: at + "agentic.txt"}, Readme: report.Readme{URL: at + "README.md"},
	}
	for _, c := range checks {
		if strings.HasPrefix(c.ID, "readme") {
			r.Readme.Checks = append(r.Readme.Checks, c)
		}
	}
	return &format.Entry{
		Target: r.ProfileURL, Outcome: o, Reason: reason, Detail: "What decided.", Report: r,
		Started: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Took: 1234 * time.Millisecond,
	}
}

const agentsReport = `{"verdict":"invalid","checks":[
	{"id":"agents:endpoint-https","rule":23,"severity":"fail","file":"/.well-known/agents.txt","line":5,"column":13,"detail":"The endpoint is http.","remedy":"Use https."},
	{"id":"agents:endpoint-https","rule":23,"severity":"fail","file":"/.well-known/agents.txt","line":9,"column":13,"detail":"The endpoint is http.","remedy":"Use https."},
	{"id":"agents:advisory","rule":null,"severity":"info","file":"","detail":"The files enforce nothing.","remedy":"Enforce on the server."}]}`

// sites are one of each kind.
func sites() []*format.Entry {
	fine := entry("fine.example", report.OutcomeSuccessful, report.ReasonComplete,
		check("json", report.Pass, "Read."), check("linked", report.Warn, "1 resource is only linked."), check("txt", report.Pass, "Same."))
	fine.ID, fine.Label, fine.Agents = "42", "Fine & Co", json.RawMessage(agentsReport)
	bad := entry("bad.example", report.OutcomeFailed, report.ReasonInvalidProfile,
		check("json", report.Pass, "Read. Not at line 7, column 7."),
		check("structure", report.Fail, `The file breaks the format: /name (line 4, column 12): too long; /x (line 9, column 1): odd.`),
		check("api:/v1/openapi.json", report.Fail, "No operation."),
		check("resource:https://bad.example/docs.md", report.Fail, "Missing."),
		check("txt", report.Fail, "line 8 differs: expected a, found b"),
		check("readme:json", report.Warn, "No link leads to line 3 of it."))
	partial := entry("partial.example", report.OutcomePartial, report.ReasonIncomplete, check("json", report.Pass, "Read."), check("txt", report.Warn, "There is none."))
	unchecked := entry("unchecked.example", report.OutcomeUnchecked, report.ReasonServerError, check("json", report.Fail, "HTTP 502."))
	cancelled := &format.Entry{Target: "https://cancelled.example/agentic.json", Outcome: "cancelled"}
	return []*format.Entry{fine, bad, partial, unchecked, cancelled}
}

func write(t *testing.T, name format.Name, o format.Options, entries ...*format.Entry) string {
	t.Helper()
	var b bytes.Buffer
	w, err := format.NewWriter(name, &b, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func baseline(t *testing.T, text string) *format.Baseline {
	t.Helper()
	b, err := format.ReadBaseline(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The known ones: the structure failed before, the TXT only warned.
const known = `{"target":"https://bad.example/agentic.json","outcome":"failed","failing":["structure"],"warning":["txt"]}` + "\n"

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		file string
		name format.Name
		o    format.Options
	}{
		{"sites.sarif", format.SARIF, format.Options{Version: "1.2.3"}},
		{"sites-baseline.sarif", format.SARIF, format.Options{Baseline: baseline(t, known)}},
		{"sites.junit.xml", format.JUnit, format.Options{Objection: format.ObjectFailed}},
		{"sites-partial.junit.xml", format.JUnit, format.Options{Objection: format.ObjectPartial, Baseline: baseline(t, known)}},
		{"sites.md", format.Markdown, format.Options{Title: "A list"}},
		{"sites-baseline.md", format.Markdown, format.Options{Objection: format.ObjectFailed, Baseline: baseline(t, known)}},
	} {
		got := write(t, c.name, c.o, sites()...)
		path := filepath.Join("testdata", c.file)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs (-update writes it anew):\n%s", c.file, got)
		}
	}
}

func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("testdata/sarif-subset.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type sarifLog struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Rules []struct{ ID, HelpURI string }
			}
		}
		Results []struct {
			RuleID              string
			RuleIndex           int
			Level               string
			Message             struct{ Text string }
			PartialFingerprints map[string]string
			BaselineState       string
			Locations           []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI string }
					Region           struct{ StartLine, StartColumn int }
				}
			}
			Properties struct{ Target, Check string }
		}
		Invocations []struct {
			ToolExecutionNotifications []struct{ Message struct{ Text string } }
		}
	}
}

func readSARIF(t *testing.T, doc string) sarifLog {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
	if err != nil {
		t.Fatalf("%v in\n%s", err, doc)
	}
	if err := sarifSchema(t).Validate(value); err != nil {
		t.Fatalf("%v in\n%s", err, doc)
	}
	var log sarifLog
	if err := json.Unmarshal([]byte(doc), &log); err != nil {
		t.Fatal(err)
	}
	return log
}

func TestSARIF(t *testing.T) {
	run := readSARIF(t, write(t, format.SARIF, format.Options{Version: "1"}, sites()...)).Runs[0]
	type found struct {
		rule, level, uri string
		line, column     int
	}
	want := []found{
		{"linked", "note", "https://fine.example/agentic.json", 0, 0},
		{"agents:endpoint-https", "error", "https://fine.example/.well-known/agents.txt", 5, 13},
		{"agents:endpoint-https", "error", "https://fine.example/.well-known/agents.txt", 9, 13},
		{"agents:advisory", "note", "https://fine.example/.well-known/agents.txt", 0, 0},
		{"structure", "error", "https://bad.example/agentic.json", 4, 12},
		{"api", "error", "https://bad.example/v1/openapi.json", 0, 0},
		{"resource", "error", "https://bad.example/docs.md", 0, 0},
		{"txt", "error", "https://bad.example/agentic.txt", 8, 0},
		{"readme:json", "warning", "https://bad.example/README.md", 0, 0},
		{"txt", "warning", "https://partial.example/agentic.txt", 0, 0},
	}
	if len(run.Results) != len(want) {
		t.Fatalf("%d results, want %d", len(run.Results), len(want))
	}
	prints := map[string]bool{}
	for i, r := range run.Results {
		l := r.Locations[0].PhysicalLocation
		got := found{r.RuleID, r.Level, l.ArtifactLocation.URI, l.Region.StartLine, l.Region.StartColumn}
		if got != want[i] {
			t.Errorf("result %d is %+v, want %+v", i, got, want[i])
		}
		if rule := run.Tool.Driver.Rules[r.RuleIndex]; rule.ID != r.RuleID || rule.HelpURI == "" {
			t.Errorf("result %d is of rule %q, its index names %+v", i, r.RuleID, rule)
		}
		if r.BaselineState != "" {
			t.Errorf("result %d has the state %q without a baseline", i, r.BaselineState)
		}
		prints[r.PartialFingerprints["agentaudit/v1"]] = true
	}
	if len(prints) != len(want) {
		t.Errorf("%d fingerprints for %d results", len(prints), len(want))
	}
	if n := run.Invocations[0].ToolExecutionNotifications; len(n) != 2 || !strings.Contains(n[0].Message.Text, "No verdict") {
		t.Errorf("sites without a verdict: %+v", n)
	}
}

// A fingerprint stays when lines move and words change.
func TestFingerprintsAreStable(t *testing.T) {
	one := entry("bad.example", report.OutcomeFailed, report.ReasonInvalidProfile, check("structure", report.Fail, "At (line 4, column 1)."))
	two := entry("bad.example", report.OutcomeFailed, report.ReasonInvalidProfile, check("json-type", report.Warn, "odd"), check("structure", report.Fail, "Now at (line 5, column 1)."))
	a := readSARIF(t, write(t, format.SARIF, format.Options{}, one)).Runs[0].Results[0]
	b := readSARIF(t, write(t, format.SARIF, format.Options{}, two)).Runs[0].Results[1]
	if a.PartialFingerprints["agentaudit/v1"] != b.PartialFingerprints["agentaudit/v1"] || a.Locations[0].PhysicalLocation.Region.StartLine == b.Locations[0].PhysicalLocation.Region.StartLine {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestEmpty(t *testing.T) {
	readSARIF(t, write(t, format.SARIF, format.Options{}))
	if got := write(t, format.JUnit, format.Options{}); xml.Unmarshal([]byte(got), new(struct{})) != nil {
		t.Errorf("no XML: %s", got)
	}
	if got := write(t, format.Markdown, format.Options{}); !strings.Contains(got, "| **all** | **0** |") {
		t.Errorf("%s", got)
	}
	if _, err := format.NewWriter("html", nil, format.Options{}); !errors.Is(err, format.ErrName) {
		t.Errorf("an unknown form: %v", err)
	}
}

// The counts that readers of JUnit add up are those of the cases.
func TestJUnitCounts(t *testing.T) {
	for _, o := range []format.Options{{}, {Objection: format.ObjectPartial}, {Objection: format.ObjectPartial, Baseline: baseline(t, known)}} {
		var doc struct {
			XMLName xml.Name `xml:"testsuites"`
			Suites  []struct {
				Name      string  `xml:"name,attr"`
				Tests     int     `xml:"tests,attr"`
				Failures  int     `xml:"failures,attr"`
				Errors    int     `xml:"errors,attr"`
				Skipped   int     `xml:"skipped,attr"`
				Time      float64 `xml:"time,attr"`
				Timestamp string  `xml:"timestamp,attr"`
				Cases     []struct {
					Name    string    `xml:"name,attr"`
					Class   string    `xml:"classname,attr"`
					Time    float64   `xml:"time,attr"`
					Failure *struct{} `xml:"failure"`
					Skipped *struct{} `xml:"skipped"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(write(t, format.JUnit, o, sites()...)), &doc); err != nil {
			t.Fatal(err)
		}
		var failures, skipped int
		for _, s := range doc.Suites {
			f, k := 0, 0
			for _, c := range s.Cases {
				if c.Name == "" || c.Class == "" {
					t.Errorf("a case of %s without name or class", s.Name)
				}
				if c.Failure != nil {
					f++
				}
				if c.Skipped != nil {
					k++
				}
			}
			if s.Tests != len(s.Cases) || s.Failures != f || s.Skipped != k || s.Errors != 0 || s.Tests == 0 {
				t.Errorf("%s counts %d, %d, %d, its cases are %d, %d, %d", s.Name, s.Tests, s.Failures, s.Skipped, len(s.Cases), f, k)
			}
			if _, err := time.Parse("2006-01-02T15:04:05", s.Timestamp); err != nil && s.Timestamp != "" {
				t.Error(err)
			}
			failures, skipped = failures+f, skipped+k
		}
		want := [2]int{6, 4} // 2 of agents.txt, 4 of bad; linked, advisory, unchecked, cancelled
		if o.Objection == format.ObjectPartial {
			want[0] += 2 // the warnings of bad and partial
		}
		if o.Baseline != nil {
			want[0], want[1] = want[0]-1, want[1]+1
		}
		if len(doc.Suites) != 5 || failures != want[0] || skipped != want[1] {
			t.Errorf("%d suites, %d failures, %d skipped; want 5 and %v", len(doc.Suites), failures, skipped, want)
		}
	}
}

// hostile is text that wants to be more than text, in every form at once.
var hostile = "x](https://evil.example) [click](https://evil.example) ![i](https://evil.example/i.png) <script>alert(1)</script> <img src=x onerror=y> " +
	"`code` ``` | a | b | https://evil.example www.evil.example mail@evil.example @team #1 &lt; ]]> \x1b[31m \u202e\u200b \x00 \xff *b* _u_ ~~s~~ $x$\n# heading\n- item\n\n> quote\r\n```\nfence\n```\n"

func hostileEntries() []*format.Entry {
	e := entry("bad.example", report.OutcomeFailed, report.ReasonInvalidProfile, check("structure", report.Fail, hostile), check("resource:"+hostile, report.Fail, hostile))
	for i := range e.Report.Checks {
		e.Report.Checks[i].Remedy = hostile
	}
	e.Label, e.ID, e.Detail = hostile, hostile, hostile
	u := entry("unchecked.example", report.OutcomeUnchecked, report.ReasonBlocked)
	u.Label, u.Detail = hostile, hostile
	return []*format.Entry{e, u}
}

func TestHostileMarkdown(t *testing.T) {
	doc := write(t, format.Markdown, format.Options{Title: hostile}, hostileEntries()...)
	source := []byte(doc)
	// With bare URLs, tables and strike-through, as GitHub renders it.
	tree := goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Strikethrough)).Parser().Parse(text.NewReader(source))
	headings := 0
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if !strings.HasPrefix(string(n.Destination), "https://ruagentic.org/docs/") {
				t.Errorf("a link to %s", n.Destination)
			}
		case *ast.AutoLink, *ast.Image, *ast.RawHTML, *ast.HTMLBlock, *ast.FencedCodeBlock, *ast.CodeBlock, *ast.Blockquote, *ast.ThematicBreak:
			t.Errorf("the text became a %s", n.Kind())
		case *ast.Heading:
			headings++
		}
		return ast.WalkContinue, nil
	})
	if err != nil || headings != 3 {
		t.Errorf("%d headings, want the title, Failed and No verdict (%v)", headings, err)
	}
	if strings.ContainsAny(doc, "\x1b\u202e\u200b\x00\r") {
		t.Errorf("control characters in %q", doc)
	}
	if t.Failed() {
		t.Log(doc)
	}
}

func TestHostileSARIF(t *testing.T) {
	run := readSARIF(t, write(t, format.SARIF, format.Options{}, hostileEntries()[0])).Runs[0]
	for _, r := range run.Results {
		for _, part := range strings.Split(r.Message.Text, "[")[:strings.Count(r.Message.Text, "[")] {
			if !strings.HasSuffix(part, `\`) {
				t.Errorf("a bracket could begin a link: %q", r.Message.Text)
			}
		}
		if strings.ContainsAny(r.Message.Text, "\x1b\u202e\u200b\x00\n") {
			t.Errorf("control characters in %q", r.Message.Text)
		}
	}
}

func TestHostileXML(t *testing.T) {
	doc := write(t, format.JUnit, format.Options{}, hostileEntries()...)
	elements := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(doc))
	for {
		tok, err := d.Token()
		if tok == nil {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	if len(elements) != 5 || elements["testsuite"] != 2 || elements["testcase"] != 3 || elements["failure"] != 2 || elements["skipped"] != 1 {
		t.Errorf("elements are %v in %s", elements, doc)
	}
}
