package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentaudit/fetch/fakenet"
	"agentaudit/store"
	"agentaudit/worker/writeback"
)

// pages is a listing API of one listing a page.
func pages(sites ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := 0
		fmt.Sscan(r.URL.Query().Get("cursor"), &at)
		next := "null"
		if at+1 < len(sites) {
			next = fmt.Sprintf(`"%d"`, at+1)
		}
		id, site, _ := strings.Cut(sites[at], "=")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"data": [{"slug": %q, "website": %q, "title": "Title of %s"}], "meta": {"next_cursor": %s}}`, id, site, id, next)
	})
}

func TestRunFrom(t *testing.T) {
	n, program := demoNet(t)
	n.Handle("dir.example", pages("a=ferries.example", "b=https://{tenant}.example", "c=stale.example", "d=ferries.example"))
	code, out, errs := program("run", "--from", "https://dir.example/api")
	if code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	for _, want := range []string{"listings in /data, the site at /website, the id at /slug, the label at /title", "the next by cursor=1", "3 entries, 1 repeated, 1 rejected"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q is not in %s", want, errs)
		}
	}
	if strings.Contains(errs, "since batch") || !strings.Contains(out, "stale.example") && out == "" {
		t.Errorf("%s\n%s", errs, out)
	}
	code, rows, _ := program("results", "--format", "csv")
	if code != 0 || !strings.Contains(rows, ",a,Title of a,") || !strings.Contains(rows, ",c,Title of c,") {
		t.Errorf("%s", rows)
	}
	// The next time it tells what has changed.
	n.Handle("dir.example", pages("a=notxt.example", "c=stale.example", "e=ferries.example"))
	_, _, errs = program("run", "--from", "https://dir.example/api")
	if !strings.Contains(errs, "1 new, 2 gone, 1 with another address") || !strings.Contains(errs, "moved  a notxt.example, was ferries.example") {
		t.Errorf("%s", errs)
	}
}

func TestRunFromGoesOn(t *testing.T) {
	n, program := demoNet(t)
	n.Handle("dir.example", pages("a=ferries.example", "b=notxt.example", "c=stale.example"))
	n.Site("dir.example").Path("/api?cursor=2", fakenet.OnceThen(1, fakenet.Text(404, "not now"), pages("a=ferries.example", "b=notxt.example", "c=stale.example")))
	code, out, errs := program("run", "--from", "https://dir.example/api")
	if code != exitUndone || out != "" || !strings.Contains(errs, "2 listings were taken; agentaudit run --resume") {
		t.Fatalf("exit %d, %s, %s", code, out, errs)
	}
	code, _, errs = program("run", "--resume")
	if code != 0 || !strings.Contains(errs, "going on where it was") || !strings.Contains(errs, "3 entries") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if asked := n.Stats("dir.example").Requests; asked["/api"] != 1 || asked["/api?cursor=1"] != 1 {
		t.Errorf("pages were read again: %v", asked)
	}
}

func TestFromFlags(t *testing.T) {
	n, program := demoNet(t)
	n.Static("dir.example", "/", 200, fakenet.JSON, `{"hello": "world"}`)
	n.Handle("other.example", pages("a=ferries.example"))
	for args, want := range map[string]string{
		"run --from nonsense":                                        "mcp-registry",
		"run --from https://dir.example/ shop.example":               "leave out shop.example",
		"run --from https://dir.example/ --list-format csv":          "--list-format",
		"run --from https://dir.example/":                            "--pointer",
		"run --from https://other.example/api --pointer /nowhere":    "no list at /nowhere",
		"enqueue --from http://dir.example/":                         "only https",
		"enqueue --from https://dir.example/ --contact nonsense":     "--contact",
		"run --from https://anna:hunter2@dir.example/ --column /url": "password",
	} {
		code, out, errs := program(strings.Fields(args)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "hunter2") {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
	code, out, errs := program("enqueue", "--from", "https://other.example/api")
	if code != 0 || len(strings.Fields(out)) != 1 {
		t.Errorf("exit %d, %s, %s", code, out, errs)
	}
}

// A directory hears of the listings whose outcome has changed, under their own
// ids, and the log shows it.
func TestWriteBack(t *testing.T) {
	n, program := demoNet(t)
	var got []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		timestamp := r.Header.Get("Agentaudit-Timestamp")
		if r.Header.Get("Agentaudit-Signature") != "v1="+writeback.Sign([]byte("0123456789abcdef0123"), timestamp, body) {
			t.Errorf("signed with %q", r.Header.Get("Agentaudit-Signature"))
		}
		var c store.OutcomeChange
		if err := json.Unmarshal(body, &c); err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s>%s", c.ID, c.Before, c.Outcome))
	}))
	t.Cleanup(receiver.Close)
	t.Setenv("AGENTAUDIT_WRITE_BACK_SECRET", "0123456789abcdef0123")
	n.Handle("dir.example", pages("a=ferries.example", "b=notxt.example", "c=stale.example"))
	args := []string{"run", "--from", "https://dir.example/api", "--write-back", receiver.URL, "--confirm-after", "0s"}
	if code, _, errs := program(args...); code != 0 || !strings.Contains(errs, "0 changed outcomes written back") || len(got) != 0 {
		t.Fatalf("the first time: exit %d, %s, %q", code, errs, got)
	}
	n.Static("ferries.example", "/agentic.json", 404, nil, "gone")
	code, _, errs := program(args...)
	if code != 0 || !strings.Contains(errs, "1 changed outcome written back") || strings.Join(got, ",") != "a successful>failed" {
		t.Errorf("exit %d, %s, %q", code, errs, got)
	}
	if code, out, errs := program("deliveries", "--state", "done"); code != 0 || !strings.Contains(out, "listing a  to "+receiver.URL) {
		t.Errorf("exit %d, %s, %s", code, out, errs)
	}
	if code, out, _ := program("deliveries", "--json"); code != 0 || strings.Count(out, "\n") != 1 || strings.Contains(out, "0123456789abcdef") {
		t.Errorf("exit %d, %s", code, out)
	}
	n.Static("notxt.example", "/agentic.json", 404, nil, "gone")
	if code, _, errs := program(args...); code != 0 || len(got) != 2 {
		t.Errorf("exit %d, %s, %q", code, errs, got)
	}
	if code, out, errs := program("deliveries", "--limit", "1", "--state", "done"); code != 0 || strings.Count(out, "\n") != 1 || !strings.Contains(errs, "there are older ones: agentaudit deliveries --limit 5 --state done") {
		t.Errorf("a limit: exit %d, %s, %s", code, out, errs)
	}
	if _, out, errs := program("deliveries", "--limit", "2"); strings.Count(out, "\n") != 2 || errs != "" {
		t.Errorf("all of them: %s, %s", out, errs)
	}
	for args, want := range map[string]string{
		"run ferries.example --write-back " + receiver.URL:                              "--from",
		"run --from https://dir.example/api --write-back http://elsewhere.example/hook": "only https",
		"deliveries --state lost": "--state",
	} {
		if code, out, errs := program(strings.Fields(args)...); code != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
	t.Setenv("AGENTAUDIT_WRITE_BACK_SECRET", "short")
	if code, _, errs := program(args...); code != exitUsage || !strings.Contains(errs, "16 bytes") || strings.Contains(errs, `"short"`) {
		t.Errorf("a short secret: exit %d, %s", code, errs)
	}
}
