package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a scan writes can be published as it is and then passes the audit.
func TestDiscoveredFilesPass(t *testing.T) {
	n := newNet(t)
	site := n.Site("shop.example")
	site.Static("/", 200, header("text/html"), `<!doctype html><title>Shop \x1b[31m</title><a href="/docs">Documentation</a><a href="https://mcp.shop.example/mcp">MCP</a>`)
	site.Static("/docs", 200, header("text/markdown"), "# Docs\n")
	out := filepath.Join(t.TempDir(), "files")
	code, stdout, stderr := online(t, n, "discover", "shop.example", "--out", out)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for _, want := range []string{"https://shop.example/docs", "https://mcp.shop.example/mcp", "agentaudit audit https://shop.example/agentic.json", "Only linked"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the summary does not say %q:\n%s", want, stdout)
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
	// What exists is refused before the site is asked for anything.
	asked := n.Stats("shop.example").Requests["/"]
	if code, _, stderr := online(t, n, "discover", "shop.example", "--out", out); code != exitUsage || !strings.Contains(stderr, "exists already") || n.Stats("shop.example").Requests["/"] != asked {
		t.Errorf("the directory again: exit %d, %d requests more, %s", code, n.Stats("shop.example").Requests["/"]-asked, stderr)
	}
	// A scan that fails leaves nothing behind.
	site.Static("/", http.StatusNotFound, header("text/html"), "gone")
	if code, _, stderr := online(t, n, "discover", "shop.example", "--out", out+"2"); code != exitUndone || stderr == "" {
		t.Errorf("a site without a page: exit %d, %s", code, stderr)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Whether a page may not be read or nobody could say so is told apart.
func TestDiscoverSaysWhatRobotsKeptItFrom(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		body         string
		says, silent []string
	}{
		"rules":    {200, "User-agent: *\nDisallow: /guide/", []string{"robots.txt forbids it", "https://shop.example/guide/a"}, []string{"cannot be had"}},
		"no rules": {404, "", nil, []string{"robots.txt"}},
		"trouble":  {503, "later", []string{"robots.txt forbids it", "https://shop.example/guide/a", "https://shop.example/robots.txt: HTTP 503; rules that cannot be had allow nothing"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t)
			site := n.Site("shop.example")
			site.Static("/", 200, header("text/html"), `<title>Shop</title><a href="/guide/a">Guide</a>`)
			site.Static("/guide/a", 200, header("text/html"), "a")
			site.Static("/robots.txt", c.status, header("text/plain"), c.body)
			code, out, errs := online(t, n, "discover", "shop.example", "--out", filepath.Join(t.TempDir(), "files"))
			if code != 0 {
				t.Fatalf("exit %d, %s", code, errs)
			}
			for _, s := range c.says {
				if !strings.Contains(out, s) {
					t.Errorf("it does not say %q:\n%s", s, out)
				}
			}
			for _, s := range c.silent {
				if strings.Contains(out, s) {
					t.Errorf("it says %q:\n%s", s, out)
				}
			}
		})
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
