package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// hinted is a hint of a command with flags of the program.
func hinted(t *testing.T, flags []string, words ...string) string {
	t.Helper()
	var hint string
	app := newApp(streams{})
	app.Action = func(c *cli.Context) error {
		cfg, err := newConfig(c, streams{})
		if err == nil {
			hint = cfg.hint(words...)
		}
		return err
	}
	if err := app.RunContext(t.Context(), append([]string{"agentaudit"}, flags...)); err != nil {
		t.Fatal(err)
	}
	return hint
}

// What a command suggests works on the same store and queue.
func TestHintsNameTheSamePlace(t *testing.T) {
	for _, name := range []string{"AGENTAUDIT_DATA_DIR", "AGENTAUDIT_STORE", "AGENTAUDIT_REDIS", "AGENTAUDIT_REDIS_PASSWORD_FILE"} {
		t.Setenv(name, "")
	}
	redis := []string{"--redis", "redis://anna:hunter2@127.0.0.1:6379", "--redis-password-file", "/run/pw"}
	for _, c := range []struct {
		flags, words []string
		want         string
	}{
		{nil, []string{"batches"}, "agentaudit batches"},
		{[]string{"--data-dir", "my data"}, []string{"results", "1abc", "--site", "https://shop.example/a;b"},
			"agentaudit results 1abc --site 'https://shop.example/a;b' --data-dir 'my data'"},
		{[]string{"--store", "postgres://audit@db.example/audit?sslmode=disable"}, []string{"batches"},
			"agentaudit batches --store 'postgres://audit@db.example/audit?sslmode=disable'"},
		{[]string{"--store", "postgres://audit:hunter2@db.example/audit"}, []string{"batches"},
			"agentaudit batches --store postgres://audit:PASSWORD@db.example/audit"},
		{[]string{"--store", "postgres://db.example/audit?user=audit&password=hunter2"}, []string{"batches"},
			"agentaudit batches --store 'postgres://db.example/audit?password=PASSWORD&user=audit'"},
		{redis, []string{"batches"}, "agentaudit batches"},
		{redis, []string{"run", "--resume", "1abc"}, "agentaudit run --resume 1abc --redis redis://anna:PASSWORD@127.0.0.1:6379 --redis-password-file /run/pw"},
	} {
		if got := hinted(t, c.flags, c.words...); got != c.want {
			t.Errorf("%q, %q: %s\nwant %s", c.flags, c.words, got, c.want)
		}
	}
	// What the environment says need not be said again.
	t.Setenv("AGENTAUDIT_DATA_DIR", "/srv/audits")
	if got := hinted(t, nil, "batches"); got != "agentaudit batches" {
		t.Error(got)
	}
	if got := hinted(t, []string{"--data-dir", "/tmp/other"}, "batches"); got != "agentaudit batches --data-dir /tmp/other" {
		t.Error(got)
	}
}

// The commands that the program prints are followed here to the letter.
func TestHintsCanBeFollowed(t *testing.T) {
	n := newNet(t)
	unpublished(n, "shop.example")
	tmp := t.TempDir()
	data := filepath.Join(tmp, "my data")
	code, out, errs := online(t, n, "run", "shop.example/a%20b;c/", "ftp://x", "--quiet", "--data-dir", data)
	if code != 0 {
		t.Fatal(errs)
	}
	follow := func(out, begin string, replace ...string) string {
		t.Helper()
		_, line, ok := strings.Cut(out, "  agentaudit "+begin)
		if !ok {
			_, line, ok = strings.Cut(out, "write it with: agentaudit "+begin)
		}
		line, _, _ = strings.Cut(line, "\n")
		if !ok || !strings.HasSuffix(line, " --data-dir '"+data+"'") {
			t.Fatalf("no command %s, or not for the same place:\n%s", begin, out)
		}
		// A shell would make these words of it.
		words := strings.Fields(begin + strings.TrimSuffix(line, "'"+data+"'"))
		for i, w := range words {
			words[i] = strings.NewReplacer(append(replace, "'", "")...).Replace(w)
		}
		code, out, errs := online(t, n, append(words, data)...)
		if code != 0 {
			t.Fatalf("%q: exit %d, %s", words, code, errs)
		}
		return out + errs
	}
	if failed := follow(out, "results "); !strings.Contains(failed, "shop.example/a%20b;c") {
		t.Error(failed)
	}
	_, rest, _ := strings.Cut(out, "one, in full")
	site := follow(rest, "results ", "SITE", "shop.example/a%20b;c/")
	if kit := follow(site, "results ", "DIR", filepath.Join(tmp, "kit")); !strings.Contains(kit, "wrote 1 fix kit") {
		t.Error(kit)
	}
}
