package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/publication"
	"agentaudit/fetch/fakenet"
	"agentaudit/store"
)

// unpublished is a site with pages and an API that publishes nothing for
// agents, or only some files of it.
func unpublished(n *fakenet.Net, host string, files ...string) *fakenet.Site {
	p := ferry(host)
	p.gone = map[string]bool{fileJSON: true, fileText: true, fileReadme: true}
	for _, f := range files {
		delete(p.gone, f)
	}
	p.online(n.Site(host))
	return n.Site(host)
}

// publishKit puts the files of a kit's folder where its index says.
func publishKit(t *testing.T, site *fakenet.Site, dir string) (files int) {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, publication.NameIndex))
	if err != nil {
		t.Fatal(err)
	}
	var name, at string
	for line := range strings.Lines(string(index)) {
		line = strings.TrimSuffix(line, "\n")
		if s, ok := strings.CutPrefix(line, "- "); ok {
			name = s
		}
		if s, ok := strings.CutPrefix(line, "  at https://"+site.Host()); ok {
			at = s
		}
		if s, ok := strings.CutPrefix(line, "  as "); ok {
			body, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			site.Static(at, http.StatusOK, header(s), string(body))
			files++
		}
	}
	return files
}

func TestAuditWritesAFixKit(t *testing.T) {
	n := newNet(t)
	site := unpublished(n, "shop.example")
	dir := filepath.Join(t.TempDir(), "kit")
	code, out, errs := online(t, n, "audit", "shop.example", "--fix-kit", dir)
	if code != exitObjects || !strings.Contains(out, "What the site offers") || !strings.Contains(out, "\n  it goes to "+dir+"\n") || !strings.Contains(errs, publication.NameIndex) {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	if got := publishKit(t, site, dir); got != 4 {
		t.Fatalf("%d files", got)
	}
	asked := n.Stats("shop.example").Requests["/agentic.json"]
	if code, _, errs := online(t, n, "audit", "shop.example", "--fix-kit", dir); code != exitUsage || !strings.Contains(errs, "exists already") || n.Stats("shop.example").Requests["/agentic.json"] != asked {
		t.Errorf("over an old kit: exit %d, %s", code, errs)
	}
	// Now there is nothing to fix, and no scan.
	next := filepath.Join(t.TempDir(), "kit")
	code, out, errs = online(t, n, "audit", "shop.example", "--publication", "--fix-kit", next)
	if code != 0 || strings.Contains(out, "What the site offers") || !strings.Contains(errs, "nothing has to be fixed") {
		t.Errorf("mended: exit %d\n%s\n%s", code, out, errs)
	}
	left, err := os.ReadDir(filepath.Dir(next))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// With a scan all the same it says what is new; that changes nothing.
	code, out, _ = online(t, n, "audit", "shop.example", "--publication", "--discover", "always")
	if code != 0 || !strings.Contains(out, "agentic.json lists all of it") {
		t.Errorf("--discover always: exit %d\n%s", code, out)
	}
	if code, _, errs := online(t, n, "audit", "shop.example", "--discover", "often"); code != exitUsage || !strings.Contains(errs, "always, missing or never") {
		t.Errorf("--discover often: exit %d, %s", code, errs)
	}
}

func TestABatchWritesFixKits(t *testing.T) {
	n := newNet(t)
	hosts := map[string]int{"nothing.example": 4, "notxt.example": 1, "xn--fhre-loa.example": 2}
	unpublished(n, "nothing.example")
	unpublished(n, "notxt.example", fileJSON, fileReadme)
	unpublished(n, "xn--fhre-loa.example", fileJSON)
	unpublished(n, "good.example", fileJSON, fileText, fileReadme)
	tmp := t.TempDir()
	data, kits := filepath.Join(tmp, "data"), filepath.Join(tmp, "kits")
	lines := []string{"run", "nothing.example", "notxt.example", "xn--fhre-loa.example", "good.example", "nothing.example", "--quiet"}
	if code, _, errs := online(t, n, append(lines, "--data-dir", data)...); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := online(t, n, "results", "--data-dir", data, "--fix-kit", kits)
	if code != 0 || out != "" || !strings.Contains(errs, "wrote 3 fix kits") {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	index, err := os.ReadFile(filepath.Join(kits, kitIndex))
	if err != nil || strings.Count(string(index), ".example/  ") != 3 {
		t.Errorf("%v\n%s", err, index)
	}
	for host, files := range hosts {
		if got := publishKit(t, n.Site(host), filepath.Join(kits, host)); got != files {
			t.Errorf("%s: %d files, want %d", host, got, files)
		}
	}
	if code, _, errs := online(t, n, append(lines, "--data-dir", filepath.Join(tmp, "again"), "--fail-on", "partial")...); code != 0 {
		t.Errorf("with the kits: exit %d, %s", code, errs)
	}
	if code, _, errs := online(t, n, "results", "--data-dir", filepath.Join(tmp, "again"), "--fix-kit", filepath.Join(tmp, "none")); code != 0 || !strings.Contains(errs, "no result has a fix kit") {
		t.Errorf("nothing to fix: exit %d, %s", code, errs)
	}
	one := filepath.Join(tmp, "one")
	if code, _, errs := online(t, n, "results", "--data-dir", data, "--site", "notxt.example", "--fix-kit", one); code != 0 || !strings.Contains(errs, "wrote 1 fix kit ") {
		t.Errorf("--site: exit %d, %s", code, errs)
	}
	if code, _, errs := online(t, n, "results", "--data-dir", data, "--format", "csv", "--fix-kit", one); code != exitUsage || !strings.Contains(errs, "--format") {
		t.Errorf("--format: exit %d, %s", code, errs)
	}
	// The scan stands in the rows, with its files by name.
	code, out, _ = online(t, n, "results", "--data-dir", data, "--host", "nothing.example", "--format", "ndjson", "--full", "--limit", "1")
	var row struct {
		Discovery struct {
			Kind  string
			Files map[string]string
			Drift *json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(out), &row); err != nil || code != 0 || row.Discovery.Kind != "public-site-discovery" || row.Discovery.Files["agentic.json"] == "" || row.Discovery.Drift != nil {
		t.Errorf("%v: %.300s", err, out)
	}
}

// The options of a batch hold for whoever works on it.
func TestABatchKeepsHowItScans(t *testing.T) {
	for _, c := range []struct {
		flags []string
		pages int // requests for the page that robots.txt forbids
		start int // requests for the start page
	}{
		{nil, 0, 1}, {[]string{"--discover", "never"}, 0, 0}, {[]string{"--ignore-robots"}, 1, 1}, {[]string{"--discover", "always"}, 0, 1},
	} {
		n := newNet(t)
		site := unpublished(n, "shop.example")
		site.Static("/robots.txt", 200, header("text/plain"), "User-agent: *\nDisallow: /docs/private\n")
		site.Static("/", 200, header("text/html"), `<title>Shop</title><a href="/docs/private">Documentation</a>`)
		data := t.TempDir()
		args := append([]string{"run", "shop.example", "--quiet", "--data-dir", data}, c.flags...)
		if code, _, errs := online(t, n, args...); code != 0 {
			t.Fatal(errs)
		}
		check := func(times int) {
			if got := n.Stats("shop.example").Requests; got["/docs/private"] != times*c.pages || got["/"] != times*c.start {
				t.Errorf("%v, %d times: requests %v", c.flags, times, got)
			}
		}
		check(1)
		// Another process goes on with it, without the flags.
		if code, _, errs := online(t, n, "retry", "latest", "--outcome", "failed", "--quiet", "--data-dir", data); code != 0 {
			t.Fatal(errs)
		}
		check(2)
		if code, _, errs := online(t, n, "run", "--resume", "--discover", "never", "--data-dir", data); code != exitUsage || !strings.Contains(errs, "--discover") {
			t.Errorf("--resume with a flag: exit %d, %s", code, errs)
		}
	}
}

// Listings on one host are scanned one by one, and its robots.txt is read once.
func TestAWorkerRemembersRobots(t *testing.T) {
	n := newNet(t)
	site := unpublished(n, "shop.example")
	site.Static("/robots.txt", 200, header("text/plain"), "User-agent: *\nDisallow: /docs/private\n")
	site.Static("/", 200, header("text/html"), `<title>Shop</title><a href="/docs/private">Documentation</a>`)
	if code, _, errs := online(t, n, "run", "shop.example", "shop.example/b/agentic.json", "--quiet", "--data-dir", t.TempDir()); code != 0 {
		t.Fatal(errs)
	}
	if got := n.Stats("shop.example").Requests; got["/"] != 2 || got["/robots.txt"] != 1 || got["/docs/private"] != 0 {
		t.Errorf("requests %v", got)
	}
}

// Results that are older than fix kits are told apart from those without need.
func TestResultsWithoutKits(t *testing.T) {
	n := newNet(t)
	unpublished(n, "shop.example")
	data := t.TempDir()
	if code, _, errs := online(t, n, "run", "shop.example", "--quiet", "--data-dir", data); code != 0 {
		t.Fatal(errs)
	}
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b, err := findBatch(t.Context(), nil, st, latest)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDir(filepath.Join(t.TempDir(), "kits"), "--fix-kit")
	if err != nil {
		t.Fatal(err)
	}
	defer d.drop()
	w := newKits(d, b, &strings.Builder{})
	err = st.EachResult(t.Context(), store.Filter{Batch: b.ID}, true, func(r store.Row) error {
		r.Parts.FixKit = nil // as older programs left it
		return w.write(r)
	})
	if err != nil || w.old != 1 || w.kits != 0 {
		t.Errorf("%v: %d kits, %d without", err, w.kits, w.old)
	}
}

func TestFoldersAreNamedByTheirSite(t *testing.T) {
	for target, want := range map[string]string{
		"https://shop.example/agentic.json":                "shop.example",
		"https://shop.example/a/b/agentic.json":            "shop.example-a-b",
		"https://shop.example/A/x.json":                    "shop.example-a-x.json",
		"https://shop.example/%2e%2e/agentic.json":         "shop.example--2e-2e",
		"https://[2600::1]/agentic.json":                   "2600--1",
		"https://shop.example./agentic.json":               "shop.example",
		"https://con.example/agentic.json":                 "site-con.example", // devices of Windows
		"https://NUL/agentic.json":                         "site-nul",
		"https://com1.lpt1.example/a/agentic.json":         "site-com1.lpt1.example-a",
		"https://console.example/agentic.json":             "console.example",
		"https://-/agentic.json":                           "site",
		"https://xn--fhre-loa.example/agentic.json":        "xn--fhre-loa.example",
		"https://shop.example/" + strings.Repeat("x", 300): "shop.example-" + strings.Repeat("x", 87),
	} {
		if got := folderOf(target); got != want {
			t.Errorf("%s is in %s, want %s", target, got, want)
		}
	}
	// Names that meet take each other's numbers in no order.
	taken := folderNames{"index.txt": 1}
	var got []string
	for _, wish := range []string{"a", "a", "a-2", "a", "a-2", "index.txt", "a-3"} {
		got = append(got, taken.next(wish))
	}
	if want := []string{"a", "a-2", "a-2-2", "a-3", "a-2-3", "index.txt-2", "a-3-2"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	n := newNet(t)
	for _, host := range []string{"shop.example", "shop.example-a.example"} {
		unpublished(n, host)
	}
	data, kits := t.TempDir(), filepath.Join(t.TempDir(), "kits")
	if code, _, errs := online(t, n, "run", "https://shop.example/a/", "https://shop.example/A/", "https://shop.example/", "--quiet", "--data-dir", data); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := online(t, n, "results", "--data-dir", data, "--fix-kit", kits); code != 0 {
		t.Fatal(errs)
	}
	var names []string
	entries, err := os.ReadDir(kits)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{kitIndex, "shop.example", "shop.example-a", "shop.example-a-2"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("folders %q, want %q, %v", names, want, err)
	}
}
