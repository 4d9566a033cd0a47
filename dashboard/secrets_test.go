package dashboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentaudit/fetch"
	"agentaudit/store"
	"agentaudit/worker/mcp"
)

// hush stands in all that must not be told: in addresses behind the path and as a
// password, in paths of files, behind the host of a webhook.
const hush = "s3cret"

const (
	hushFrom = "https://directory.example/api/listings?key=s3cret"
	hushFile = "/srv/s3cret/shops.csv"
	hushHook = "https://chat.example/hooks/s3cret?token=s3cret"
)

// secretive is a store with a secret in every field that can hold one.
type secretive struct {
	*seeded
	// files is a batch whose list is a file; it is open, and has a rejected line.
	files store.BatchID
	// broken are schedules whose list could not be read.
	broken []store.ScheduleID
}

func seedSecrets(t *testing.T) *secretive {
	t.Helper()
	x := &secretive{seeded: seed(t)}
	x.written(t) // with the batches of a directory
	ctx := t.Context()
	hook := &store.Webhook{URL: hushHook, Finished: true, ConfirmAfter: -1}
	optionsOf := func(list string) []byte {
		return []byte(`{"list":` + list + `,"read":{},"later":["https://u:s3cret@new.example/#s3cret"]}`)
	}
	files := optionsOf(fmt.Sprintf(`{"files":[%q,"-"],"posted":["list.csv"]}`, hushFile))
	from := optionsOf(fmt.Sprintf(`{"from":%q,"writeBack":%q}`, hushFrom, hookURL))

	// A batch that was told to a webhook, of sources that are addresses.
	told, err := x.CreateBatch(ctx, store.NewBatch{Sources: []string{hushFrom, hushFile}, Options: files, Webhook: hook})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.AddLines(ctx, told.ID, []store.Line{{Number: 1, Input: "?", Reject: "no URL"}, {Source: 1, Number: 1, Input: "?", Reject: "no URL"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.SealBatch(ctx, told.ID); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		if more, err = x.PlanWebhooks(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if sent, err := x.FindDeliveries(ctx, store.DeliveryFilter{Batch: told.ID}, 0, 10); err != nil || len(sent) != 1 {
		t.Fatalf("%+v, %v", sent, err)
	}

	b, err := x.CreateBatch(ctx, store.NewBatch{Sources: []string{hushFile, hushFrom}, Options: files, Webhook: hook})
	if err != nil {
		t.Fatal(err)
	}
	x.files = b.ID
	lines := append(seedLines(0, 3), store.Line{Source: 1, Number: 1, Input: "?", Reject: "no URL"})
	if _, err := x.AddLines(ctx, b.ID, lines); err != nil {
		t.Fatal(err)
	}
	if _, err := x.SealBatch(ctx, b.ID); err != nil {
		t.Fatal(err)
	}
	if err := x.PauseBatch(ctx, b.ID, "cannot read "+hushFrom+": no answer; nor "+hushFile); err != nil {
		t.Fatal(err)
	}

	for name, options := range map[string][]byte{"A file": files, "A directory": from} {
		trouble := map[string]string{"A file": "open " + hushFile + ": no such file", "A directory": "cannot read " + hushFrom + ": no answer"}[name]
		v, err := x.AddSchedule(ctx, store.Schedule{Name: name, Cron: "@daily", Zone: "UTC", Sources: []string{hushFrom, hushFile}, Options: options, Webhook: hook,
			NextDue: x.clock.Now(), NextAt: x.clock.Now()})
		if err != nil {
			t.Fatal(err)
		}
		x.broken = append(x.broken, v.ID)
		f := &store.Firing{Schedule: v, Lease: time.Minute, Due: x.clock.Now(), NextDue: x.clock.Now().Add(time.Hour), NextAt: x.clock.Now().Add(time.Hour)}
		made, err := x.Fire(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.DiscardIntake(ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		if err := x.CancelBatch(ctx, made.ID, trouble); err != nil {
			t.Fatal(err)
		}
		if err := x.EndFiring(ctx, f, trouble); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// fill puts all values into a pattern such as /batches/{batch}.
func (x *secretive) fill(pattern string) []string {
	values := map[string][]string{
		"batch": {string(x.listed), string(x.listedBefore), string(x.files), string(x.after), string(x.draft)},
		"run":   {string(x.listed) + "-1", string(x.files) + "-1", string(x.failed)}, "schedule": {string(x.schedule)},
		"document": {"report.json", "evidence.json"}, "$": {""},
		"secret": {strings.TrimPrefix(x.sharedRun, "/share/"), strings.TrimPrefix(x.sharedView, "/share/")}, "file": {"report.json", "results.csv"},
	}
	for _, id := range x.broken {
		values["schedule"] = append(values["schedule"], string(id))
	}
	all := []string{pattern}
	for name, list := range values {
		var next []string
		for _, p := range all {
			if !strings.Contains(p, "{"+name+"}") {
				next = append(next, p)
				continue
			}
			for _, v := range list {
				next = append(next, strings.ReplaceAll(p, "{"+name+"}", v))
			}
		}
		all = next
	}
	return all
}

// queries are the parameters without which a pattern shows nothing.
func (x *secretive) query(pattern string) string {
	switch strings.TrimPrefix(pattern, apiPath) {
	case "/site", "/badge", "/badge.svg", "/badge.json":
		host, _ := seedSite(3)
		return "?target=" + host
	case "/site/difference":
		return "?was=" + string(x.failed) + "&is=" + string(x.failed)
	case "/compare":
		return "?before=" + string(x.listedBefore) + "&after=" + string(x.listed)
	case "/batches/{batch}/results.ndjson":
		return "?full=1"
	}
	return ""
}

// wantHushed fails where an answer tells a secret.
func wantHushed(t *testing.T, what, body string) {
	t.Helper()
	if i := strings.Index(body, hush); i >= 0 {
		t.Errorf("%s tells a secret: …%s…", what, body[max(0, i-80):min(len(body), i+40)])
	}
}

// No page, no answer of the API and no line of the log tells what may be secret
// in the addresses and paths of lists and receivers. All patterns are walked, so
// that new ones are as well.
func TestNothingTellsSecrets(t *testing.T) {
	x := seedSecrets(t)
	var log bytes.Buffer
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	source, err := os.ReadFile("server.go")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, m := range regexp.MustCompile(`mux, "GET (/[^"]+)"`).FindAllStringSubmatch(strings.ReplaceAll(string(source), `"+kitName`, kitName+`"`), -1) {
		patterns = append(patterns, m[1])
	}
	for _, e := range endpoints {
		if e.method == "GET" {
			patterns = append(patterns, apiPath+e.path)
		}
	}
	if len(patterns) < 50 {
		t.Fatalf("only %d patterns were found", len(patterns))
	}
	for _, pattern := range patterns {
		if pattern == "/events" {
			continue // endless; see below
		}
		answered := 0
		for _, path := range x.fill(pattern) {
			res, body := get(t, s, path+x.query(pattern))
			if res.StatusCode == http.StatusOK {
				answered++
			}
			wantHushed(t, "GET "+path, body)
		}
		// Seeds have no scans and no kits.
		if answered == 0 && !strings.HasSuffix(pattern, "/discovery") && !strings.Contains(pattern, "/fix-kit") && !strings.HasSuffix(pattern, "/agents") {
			t.Errorf("GET %s never showed anything", pattern)
		}
	}

	// What was changed is told as well.
	p := newProgram(t, s)
	for _, c := range []struct {
		path   string
		body   any
		status int
	}{
		{"/batches/" + string(x.files) + "/resume", nil, 200}, {"/batches/" + string(x.files) + "/pause", nil, 200}, {"/batches/" + string(x.files) + "/cancel", nil, 200},
		{"/batches/" + string(x.listed) + "/again", map[string]any{"draft": true}, 201}, {"/batches/" + string(x.listed) + "/again", map[string]any{}, 201},
		{"/batches/" + string(x.draft) + "/start", nil, 200}, {"/schedules", map[string]any{"name": "Of a directory", "batch": x.listed, "cron": "@daily"}, 201},
		{"/schedules/" + string(x.broken[0]) + "/pause", nil, 200}, {"/schedules/" + string(x.broken[0]) + "/resume", nil, 200}, {"/schedules/" + string(x.broken[0]) + "/run", nil, 200},
		{"/schedules/" + string(x.broken[1]), map[string]any{"cron": "@weekly"}, 200},
		{"/schedules/" + string(x.schedule) + "/webhook", map[string]any{"url": hushHook}, 200}, {"/batches/" + string(x.running) + "/webhook", map[string]any{"url": hushHook}, 200},
		{"/schedules/" + string(x.schedule) + "/webhook", map[string]any{"url": "http://chat.example/s3cret"}, 400},
		{"/shares", map[string]any{"batch": x.files, "days": 1}, 201},
	} {
		res, body := p.call("POST", c.path, c.body, "")
		if res.StatusCode != c.status {
			t.Errorf("POST %s: %d %s", c.path, res.StatusCode, body)
		}
		if c.path != "/shares" { // which tells its own secret
			wantHushed(t, "POST "+c.path, body)
		}
	}
	_, page := p.visitor.post("/schedules", "name", "") // shown again, with what is wrong
	wantHushed(t, "POST /schedules", page)

	web := httptest.NewServer(s.Handler())
	defer web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", web.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	told := false
	for lines := bufio.NewScanner(res.Body); !told && lines.Scan(); {
		told = strings.HasPrefix(lines.Text(), "data:")
		wantHushed(t, "GET /events", lines.Text())
	}
	if !told {
		t.Error("there were no live numbers")
	}
	cancel()
	web.Close()
	s.Close()
	wantHushed(t, "the log", log.String())
}

// Nor do the tools for agents.
func TestToolsTellNoSecrets(t *testing.T) {
	x := seedSecrets(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, MCP: &mcp.Config{
		Client: x.net.Client(fetch.Config{}), Open: func(context.Context, bool) (mcp.Store, func(), error) { return x.Store, func() {}, nil }}})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	session, err := toolClient(t, web.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	host, _ := seedSite(3)
	for _, id := range []store.BatchID{x.listed, x.files, "latest"} {
		for tool, input := range map[string]map[string]any{"batch_status": {"batch": id}, "list_results": {"batch": id}, "get_report": {"site": host}} {
			res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: input})
			if err != nil || res.IsError {
				t.Fatalf("%s of %s: %+v, %v", tool, id, res, err)
			}
			body, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			wantHushed(t, tool+" of "+string(id), string(body))
		}
	}
}
