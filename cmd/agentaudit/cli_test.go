package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// command runs the program in the process: its exit code, standard output and
// standard error.
func command(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"agentaudit"}, args...), streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestUseErrors(t *testing.T) {
	t.Setenv("AGENTAUDIT_DATA_DIR", t.TempDir())
	for _, c := range []struct {
		args string
		want string
	}{
		{"audti site.example", `did you mean "audit"?`},
		{"schedule lst", `no command "schedule lst"; did you mean "list"?`},
		{"banana", `no command "banana"; agentaudit --help`},
		{"audit site.example --banana", "no flag --banana; agentaudit audit --help"},
		{"audit site.example --hlep", "did you mean --help?"},
		{"--version-info", "agentaudit has no flag --version-info; agentaudit --help"},
		{"audit", "one site"},
		{"audit a.example b.example", "takes one site, not 2"},
		{"audit site.example --jsn", "did you mean --json?"},
		{"audit ftp://site.example", "only https URLs"},
		{"audit https://anna:hunter2@site.example/", "user name or password"},
		{"audit site.example --readme http://raw.example/README.md", "README"},
		{"audit site.example --contact nonsense", "--contact"},
		{"audit site.example --log-level loud", "--log-level"},
		{"results", "no batches"},
		{"results --outcome fine", "--outcome"},
		{"results --reason because", "--reason"},
		{"batches a b", "one batch at the most"},
		{"cancel", "needs one batch"},
		{"validate", "takes a profile"},
		{"validate nowhere.json", "nowhere.json"},
		{"text", "needs one profile"},
		{"text nowhere.json", "nowhere.json"},
	} {
		code, out, err := command(t, strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(err, c.want) || out != "" {
			t.Errorf("%s: exit %d, output %q, error %q; want 2 and %q", c.args, code, out, err, c.want)
		}
		if strings.Contains(err, "hunter2") {
			t.Errorf("%s: the password is shown: %s", c.args, err)
		}
	}
}

// Every command explains itself with an example and without jargon flags.
func TestHelp(t *testing.T) {
	var walk func(prefix []string, commands []*cli.Command)
	walk = func(prefix []string, commands []*cli.Command) {
		for _, c := range commands {
			path := append(slices.Clone(prefix), c.Name)
			code, out, err := command(t, append(path, "--help")...)
			if code != 0 || err != "" || !strings.Contains(out, c.Usage) {
				t.Errorf("%v --help: exit %d, %q, %q", path, code, out, err)
			}
			if len(c.Subcommands) == 0 && !strings.Contains(out, "EXAMPLE\n   ") {
				t.Errorf("%v --help shows no example", path)
			}
			walk(path, c.Subcommands)
		}
	}
	walk(nil, newApp(streams{}).Commands)
	if code, out, _ := command(t, "--version"); code != 0 || !strings.Contains(out, "agentaudit version ") {
		t.Errorf("--version: exit %d, %q", code, out)
	}
}

const validProfile = `{"agentic":"1.1.0","type":"site","origin":"https://site.example","name":"Site","description":"A site.",
"resources":[{"kind":"website","url":"https://site.example/","source":"https://site.example/","availability":"retrieved"}],"apis":[]}`

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTextIsWrittenOnceAndChecked(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, dir, "agentic.json", validProfile)
	if code, out, _ := command(t, "text", path, "--check"); code != exitObjects || !strings.Contains(out, "missing") {
		t.Errorf("check of a missing file: exit %d, %q", code, out)
	}
	if code, _, err := command(t, "text", path); code != 0 {
		t.Fatalf("text: exit %d, %s", code, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "agentic.txt"))
	if err != nil || !strings.Contains(string(text), "Agentic-Text: 1.2\nProfile: https://site.example/agentic.json\n") {
		t.Fatalf("%v: %s", err, text)
	}
	if code, _, err := command(t, "text", path); code != exitUsage || !strings.Contains(err, "never overwritten") {
		t.Errorf("second time: exit %d, %q", code, err)
	}
	if code, out, _ := command(t, "text", "--check", path); code != 0 || !strings.Contains(out, "up to date") {
		t.Errorf("check: exit %d, %q", code, out)
	}
	if code, _, _ := command(t, "text", path, "--check", "--legacy"); code != exitObjects {
		t.Errorf("the other form was asked for: exit %d", code)
	}
	if code, _, err := command(t, "text", path, "--profile-url", ""); code != exitUsage {
		t.Errorf("empty --profile-url: exit %d, %q", code, err)
	}
	writeFile(t, dir, "agentic.txt", strings.Replace(string(text), "Name: \"Site\"", "Name: \"Sight\"", 1))
	if code, out, _ := command(t, "text", path, "--check"); code != exitObjects || !strings.Contains(out, "Sight") || !strings.Contains(out, "line 8") {
		t.Errorf("drift: exit %d, %q", code, out)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
}

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	good := writeFile(t, dir, "good.json", validProfile)
	if code, out, err := command(t, "validate", good); code != 0 || !strings.Contains(out, "valid site profile") {
		t.Errorf("exit %d, %q, %q", code, out, err)
	}
	bad := writeFile(t, dir, "bad.json", strings.Replace(validProfile, `"kind":"website"`, `"kind":"blog"`, 1))
	code, out, _ := command(t, "validate", bad)
	if code != exitObjects || !strings.Contains(out, "bad.json:2:") || !strings.Contains(out, "/resources/0/kind") {
		t.Errorf("exit %d, %q", code, out)
	}
	if code, out, _ := command(t, "validate", bad, "--json"); code != exitObjects || !strings.Contains(out, `"pointer": "/resources/0/kind"`) {
		t.Errorf("exit %d, %q", code, out)
	}
	big := writeFile(t, dir, "big.json", validProfile+strings.Repeat(" ", 65536))
	if code, _, err := command(t, "validate", big); code != exitUsage || !strings.Contains(err, "65536") {
		t.Errorf("exit %d, %q", code, err)
	}
}

func TestCleanDisarmsTerminals(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcode":      "plain ünïcode",
		"\x1b[31mred\x1b[0m": "[31mred[0m",
		"a\nb\tc":            "a b c",
		"\u202eevil":         "evil",
		"zero\u200bwidth":    "zerowidth",
		"bad \xff byte":      "bad \ufffd byte",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestInterruptedExit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"agentaudit", "audit", "site.example"}, streams{Out: &stdout, Err: &stderr})
	if code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
}

// Wrong flags leave no batch behind, and neither does a list that cannot be
// read to its end.
func TestWrongUseLeavesNoWork(t *testing.T) {
	dir := t.TempDir()
	list := writeFile(t, dir, "list.txt", "site.example\n")
	taken := writeFile(t, dir, "taken.csv", "mine")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--redis", "redis://user:hunter2@127.0.0.1:1"}, exitUndone, "127.0.0.1:1"},
		{[]string{"--redis", "http://127.0.0.1:1"}, exitUsage, "--redis"},
		{[]string{"--out", taken}, exitUsage, "never overwritten"},
		{[]string{"--out", filepath.Join(dir, "nowhere", "o.csv")}, exitUndone, "nowhere"},
		{[]string{"--out", filepath.Join(dir, "o.txt")}, exitUsage, ".ndjson"},
	} {
		data := t.TempDir()
		code, _, err := command(t, append([]string{"run", list, "--data-dir", data}, c.args...)...)
		if code != c.code || !strings.Contains(err, c.want) || strings.Contains(err, "hunter2") {
			t.Errorf("%v: exit %d, %q", c.args, code, err)
		}
		if _, out, _ := command(t, "batches", "--json", "--data-dir", data); strings.Trim(out, " \n[]") != "" {
			t.Errorf("%v leaves batches behind: %s", c.args, out)
		}
	}
	if data, err := os.ReadFile(taken); err != nil || string(data) != "mine" {
		t.Errorf("the file was touched: %s, %v", data, err)
	}
}

func TestErrorsAreCleaned(t *testing.T) {
	if _, _, err := command(t, "validate", "\x1b[31mfile"); strings.Contains(err, "\x1b") {
		t.Errorf("an escape sequence reaches the terminal: %q", err)
	}
}
