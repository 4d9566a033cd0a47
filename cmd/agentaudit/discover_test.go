package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/weburl"
)

// What a scan writes can be published as it is and then passes the audit.
func TestDiscoveredFilesPass(t *testing.T) {
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	site := n.Site("shop.example")
	site.Static("/", 200, header("text/html"), `<!doctype html><title>Shop \x1b[31m</title><a href="/docs">Documentation</a><a href="https://mcp.shop.example/mcp">MCP</a>`)
	site.Static("/docs", 200, header("text/markdown"), "# Docs\n")
	client := n.Client(fetch.Config{UserAgent: "test"})
	start, err := weburl.ParseStart("shop.example")
	if err != nil {
		t.Fatal(err)
	}
	v := client.Visit()
	defer v.Close()
	r, err := scan(t.Context(), v, start, false)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	s := streams{Out: &stdout, Err: &stderr}
	out := filepath.Join(t.TempDir(), "files")
	if err := giveReport(s, r, out, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"https://shop.example/docs", "https://mcp.shop.example/mcp", "agentaudit audit https://shop.example/agentic.json", "Only linked"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the summary does not say %q:\n%s", want, &stdout)
		}
	}
	for name, contentType := range map[string]string{"agentic.json": "application/json", "agentic.txt": "text/plain; charset=utf-8", "README.md": "text/markdown"} {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		site.Static("/"+name, http.StatusOK, header(contentType), string(data))
	}
	for _, name := range []string{"LISTING.md", "discovery-report.json"} {
		if data, err := os.ReadFile(filepath.Join(out, name)); err != nil || len(data) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, o, e := command(t, "validate", filepath.Join(out, "agentic.json")); code != 0 {
		t.Errorf("validate: exit %d, %s%s", code, o, e)
	}
	if code, o, _ := command(t, "text", "--check", filepath.Join(out, "agentic.json")); code != 0 {
		t.Errorf("text --check: exit %d, %s", code, o)
	}
	if err := giveReport(s, r, out, false); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the directory was written over: %v", err)
	}
}

func TestBundleAndInit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agentic.json")
	if code, _, err := command(t, "init", "--origin", "https://service.example", "--action-id", "open-case", "--out", path); code != 0 {
		t.Fatalf("init: exit %d, %s", code, err)
	}
	if code, _, err := command(t, "init", "--origin", "https://service.example", "--out", path); code != exitUsage || !strings.Contains(err, "never overwritten") {
		t.Errorf("init again: exit %d, %s", code, err)
	}
	if code, out, _ := command(t, "validate", path); code != 0 || !strings.Contains(out, "action profile") {
		t.Errorf("validate: exit %d, %s", code, out)
	}
	out := filepath.Join(dir, "files")
	if code, _, err := command(t, "bundle", path, "--out", out, "--profile-url", "https://service.example/contracts/agentic.json"); code != 0 {
		t.Fatalf("bundle: exit %d, %s", code, err)
	}
	text, err := os.ReadFile(filepath.Join(out, "agentic.txt"))
	if err != nil || !strings.Contains(string(text), "Profile: https://service.example/contracts/agentic.json\n") || !strings.Contains(string(text), `Action: "open-case"`) {
		t.Errorf("%v: %s", err, text)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, c := range []struct{ args, want string }{
		{"bundle " + path + " --out " + out, "exists already"},
		{"bundle " + path, "out"},
		{"bundle " + path + " --out " + dir + "/x --profile-url=", "empty"},
		{"bundle " + path + " --out " + dir + "/x --profile-url=https://other.example/agentic.json", "origin"},
		{"init --origin https://service.example/path --out " + dir + "/y", "origin"},
		{"init", "origin"},
		{"discover", "one site"},
		{"discover shop.example", "--out DIR"},
		{"discover http://shop.example --json", "https"},
		{"discover localhost --json", "local"},
	} {
		if code, _, err := command(t, strings.Fields(c.args)...); code != exitUsage || !strings.Contains(err, c.want) {
			t.Errorf("%s: exit %d, %s; want %q", c.args, code, err, c.want)
		}
	}
}
