package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
	"agentaudit/worker/mcp"
)

// world is a small internet, a store and the configuration of a server.
type world struct {
	net    *fakenet.Net
	store  *store.Store
	clock  *storetest.Clock
	config mcp.Config
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{net: fakenet.New(fakenet.Options{})}
	t.Cleanup(w.net.Close)
	w.store, w.clock = storetest.New(t)
	w.config = mcp.Config{
		Client: w.net.Client(fetch.Config{}), Retry: worker.Retry{Never: true}, Version: "1", Now: w.clock.Now,
		Working: "Nobody works on it in this test.", Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Open: func(context.Context, bool) (mcp.Store, func(), error) { return w.store, func() {}, nil },
	}
	return w
}

// connection is how a client of the SDK reaches the server.
type connection struct {
	name    string
	connect func(t *testing.T, c mcp.Config, who mcp.Caller) *sdk.ClientSession
}

var connections = []connection{
	{"stdio", func(t *testing.T, c mcp.Config, who mcp.Caller) *sdk.ClientSession {
		t.Helper()
		server, err := mcp.New(c, who.Write)
		if err != nil {
			t.Fatal(err)
		}
		// The pipes of standard input and output, as mcp.Serve has them.
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- mcp.Serve(ctx, server, fromClient, toClient) }()
		session := client(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer})
		t.Cleanup(func() {
			session.Close()
			if err := <-ended; err != nil {
				t.Errorf("the server ended with %v", err)
			}
			cancel()
		})
		return session
	}},
	{"HTTP", func(t *testing.T, c mcp.Config, who mcp.Caller) *sdk.ClientSession {
		t.Helper()
		url := serveHTTP(t, c, mcp.Rates{Requests: 1000, Visits: 1000}, func(*http.Request) mcp.Caller { return who })
		return client(t, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{"secret"}}})
	}},
}

func serveHTTP(t *testing.T, c mcp.Config, r mcp.Rates, who func(*http.Request) mcp.Caller) string {
	t.Helper()
	h, err := mcp.Handler(c, r, who)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// bearer adds a token to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func client(t *testing.T, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// call calls a tool that must do its work, checks the answer against the
// schema that the tool declares, and reads it.
func call[T any](t *testing.T, s *sdk.ClientSession, name string, args map[string]any) T {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if res.IsError {
		t.Fatalf("%s: %s", name, said(res))
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Name == name {
			conforms(t, tool, data)
		}
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func conforms(t *testing.T, tool *sdk.Tool, data []byte) {
	t.Helper()
	var schema jsonschema.Schema
	text, err := json.Marshal(tool.OutputSchema)
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	if err != nil || schema.Type != "object" {
		t.Fatalf("%s has the output schema %s (%v)", tool.Name, text, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s: %v in %s", tool.Name, err, data)
	}
}

func said(res *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// refused calls a tool that must answer with a tool error, and returns its words.
func refused(t *testing.T, s *sdk.ClientSession, name string, args map[string]any) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: a protocol error: %v", name, err)
	}
	if !res.IsError {
		t.Fatalf("%s answered %s", name, said(res))
	}
	return said(res)
}

var full = mcp.Caller{Name: "tester", Write: true}

func TestTools(t *testing.T) {
	w := newWorld(t)
	want := []string{
		"audit_agentic_url", "audit_agents_txt", "batch_status", "discover_agentic_site", "generate_agentic_profile", "get_agentic_spec",
		"get_report", "list_results", "submit_batch", "validate_agentic_profile",
	}
	for _, c := range connections {
		for _, write := range []bool{true, false} {
			s := c.connect(t, w.config, mcp.Caller{Name: "tester", Write: write})
			var names []string
			for tool, err := range s.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
				if readOnly := tool.Name != "submit_batch"; tool.Annotations == nil || tool.Annotations.ReadOnlyHint != readOnly {
					t.Errorf("%s: %s is annotated %+v", c.name, tool.Name, tool.Annotations)
				}
				if tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil {
					t.Errorf("%s: %s lacks a description or a schema", c.name, tool.Name)
				}
			}
			slices.Sort(names)
			expected := slices.Clone(want)
			if !write {
				expected = slices.DeleteFunc(expected, func(n string) bool { return n == "submit_batch" })
			}
			if !slices.Equal(names, expected) {
				t.Errorf("%s, write %v: tools %v", c.name, write, names)
			}
			if !write {
				if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "submit_batch", Arguments: map[string]any{"urls": []string{"a.example"}}}); err == nil {
					t.Errorf("%s: who may only read submitted a batch", c.name)
				}
			}
		}
	}
}

// What the scan makes, published, is a successful publication.
func TestSiteTools(t *testing.T) {
	for _, c := range connections {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.net.Static("shop.example", "/", 200, fakenet.HTML, `<title>Shop</title><meta name="description" content="Sells things."><a href="/docs">Documentation</a>`)
			w.net.Static("shop.example", "/docs", 200, fakenet.HTML, `<title>Docs</title>`)
			w.net.Static("shop.example", "/.well-known/agents.txt", 200, fakenet.PlainText, "Spec-Version: 1.0\nSite-Name: Shop\nSite-URL: https://shop.example\n")
			s := c.connect(t, w.config, full)
			found := call[struct {
				Origin string
				Files  map[string]string
			}](t, s, "discover_agentic_site", map[string]any{"url": "shop.example"})
			if found.Origin != "https://shop.example" || len(found.Files) != 4 {
				t.Fatalf("%+v", found)
			}
			before := call[struct {
				Outcome, Reason string
				Publication     report.Publication
			}](t, s, "audit_agentic_url", map[string]any{"url": "shop.example"})
			if before.Outcome != "failed" || before.Reason != "missing-profile" || len(before.Publication.NextSteps) == 0 {
				t.Errorf("%+v", before)
			}
			w.net.Static("shop.example", "/agentic.json", 200, fakenet.JSON, found.Files["agentic.json"])
			w.net.Static("shop.example", "/agentic.txt", 200, fakenet.PlainText, found.Files["agentic.txt"])
			w.net.Static("raw.example", "/README.md", 200, fakenet.Markdown, found.Files["README.md"])
			after := call[struct {
				Outcome, ReportVersion string
				Readme                 report.Readme
			}](t, s, "audit_agentic_url", map[string]any{"url": "https://shop.example/agentic.json", "readmeUrl": "https://raw.example/README.md"})
			if after.Outcome != "successful" || after.ReportVersion != "3" || !after.Readme.ProvidedByUser {
				t.Errorf("%+v", after)
			}
			agents := call[struct {
				Verdict string
				Checks  []struct{ ID string }
			}](t, s, "audit_agents_txt", map[string]any{"url": "shop.example"})
			if agents.Verdict != "valid" || len(agents.Checks) == 0 {
				t.Errorf("%+v", agents)
			}
			if forbidden := w.net.Forbidden(); len(forbidden) != 0 {
				t.Errorf("connected to %v", forbidden)
			}
		})
	}
}

func TestProfileTools(t *testing.T) {
	for _, c := range connections {
		s := c.connect(t, newWorld(t).config, full)
		spec := call[struct {
			Site, Action struct{ Schema map[string]any }
		}](t, s, "get_agentic_spec", nil)
		if spec.Site.Schema["$id"] != "https://ruagentic.org/schemas/site-1.1.schema.json" || spec.Action.Schema["$id"] != "https://ruagentic.org/schemas/agentic-1.0.schema.json" {
			t.Errorf("%s: %v", c.name, spec)
		}
		made := call[struct {
			Profile    json.RawMessage
			Validation struct{ Valid bool }
			Files      map[string]string
		}](t, s, "generate_agentic_profile", map[string]any{"origin": "https://service.example", "actionId": "open-ticket"})
		if !made.Validation.Valid || !strings.Contains(string(made.Profile), `"open-ticket"`) || len(made.Files) != 4 {
			t.Errorf("%s: %+v", c.name, made)
		}
		verdict := call[struct {
			Valid bool
			Notes []string
		}](t, s, "validate_agentic_profile", map[string]any{"profile": string(made.Profile)})
		if !verdict.Valid || len(verdict.Notes) == 0 {
			t.Errorf("%s: %+v", c.name, verdict)
		}
		wrong := call[struct {
			Valid  bool
			Errors []struct{ File, Message string }
		}](t, s, "validate_agentic_profile", map[string]any{"profile": string(made.Profile), "openapi": "{}"})
		if wrong.Valid || len(wrong.Errors) == 0 {
			t.Errorf("%s: an empty OpenAPI document is right: %+v", c.name, wrong)
		}
	}
}

func TestBatchTools(t *testing.T) {
	for _, c := range connections {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			s := c.connect(t, w.config, full)
			submitted := call[struct {
				Batch, State, Next            string
				Entries, Duplicates, Rejected int
				RejectedLines                 []struct{ Input, Reason string }
			}](t, s, "submit_batch", map[string]any{"urls": []string{"a.example", "ftp://b.example", "a.example"}, "name": "mine"})
			if submitted.Entries != 2 || submitted.Duplicates != 1 || submitted.Rejected != 1 || submitted.RejectedLines[0].Input != "ftp://b.example" ||
				!strings.Contains(submitted.Next, "Nobody works on it") {
				t.Fatalf("%+v", submitted)
			}
			if said := refused(t, s, "get_report", map[string]any{"site": "a.example", "batch": submitted.Batch}); !strings.Contains(said, "no result") {
				t.Errorf("%s", said)
			}
			finish(t, w, submitted.Batch)
			status := call[struct {
				Name, State string
				Done        int
				Outcomes    map[string]int
				Reasons     []struct{ Reason string }
			}](t, s, "batch_status", map[string]any{"batch": "latest"})
			if status.State != "finished" || status.Name != "mine" || status.Done != 2 || status.Outcomes["failed"] != 2 || status.Reasons[0].Reason != "missing-profile" {
				t.Errorf("%+v", status)
			}
			rows := call[struct {
				Rows []struct{ Target, Outcome string }
				Next string
			}](t, s, "list_results", map[string]any{"batch": submitted.Batch, "outcome": "failed", "limit": 1})
			if len(rows.Rows) != 1 || rows.Rows[0].Target != "https://a.example/agentic.json" || rows.Next == "" {
				t.Fatalf("%+v", rows)
			}
			rest := call[struct{ Rows []struct{ Target string } }](t, s, "list_results", map[string]any{"batch": submitted.Batch, "outcome": "failed", "cursor": rows.Next})
			if len(rest.Rows) != 1 {
				t.Errorf("%+v", rest)
			}
			none := call[struct{ Rows []json.RawMessage }](t, s, "list_results", map[string]any{"batch": "latest", "outcome": "partial"})
			if len(none.Rows) != 0 {
				t.Errorf("%+v", none)
			}
			for _, args := range []map[string]any{{"site": "a.example"}, {"site": "a.example", "batch": "latest"}} {
				got := call[struct {
					Batch, Outcome string
					Report         report.Report
				}](t, s, "get_report", args)
				if got.Batch != submitted.Batch || got.Outcome != "failed" || got.Report.ProfileURL != "https://a.example/agentic.json" {
					t.Errorf("%v: %+v", args, got)
				}
			}
		})
	}
}

// finish ends the runs of a batch as a worker does.
func finish(t *testing.T, w *world, batch string) {
	t.Helper()
	for {
		due, err := w.store.TakeDue(t.Context(), store.ClassSmall, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			return
		}
		for _, d := range due {
			claim, err := w.store.ClaimRun(t.Context(), d.Run, "test", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			err = w.store.FinishRun(t.Context(), claim, &report.Result{
				Outcome: report.OutcomeFailed, Reason: report.ReasonMissingProfile, Detail: "There is none.", RulesVersion: report.RulesVersion,
				StartedAt: w.clock.Now(), FinishedAt: w.clock.Now(), Report: &report.Report{ReportVersion: "3", ProfileURL: claim.Target, Checks: []report.Check{{ID: "json", Status: report.Fail}}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Wrong arguments are tool errors in words that say what to do.
func TestWrongArguments(t *testing.T) {
	many := slices.Repeat([]string{"a.example"}, 10_001)
	for _, c := range connections {
		s := c.connect(t, newWorld(t).config, full)
		for _, x := range []struct {
			tool string
			args map[string]any
			want string
		}{
			{"audit_agentic_url", map[string]any{}, "url"},
			{"audit_agentic_url", map[string]any{"url": 7}, "url"},
			{"audit_agentic_url", map[string]any{"url": "a.example", "urls": "b.example"}, "urls"},
			{"audit_agentic_url", map[string]any{"url": "http://a.example"}, "https"},
			{"audit_agentic_url", map[string]any{"url": "https://anna:hunter2@a.example/"}, "password"},
			{"discover_agentic_site", map[string]any{"url": "https://127.0.0.1/"}, "public"},
			{"audit_agentic_url", map[string]any{"url": "a.example", "readmeUrl": "ftp://a.example"}, "README"},
			{"audit_agents_txt", map[string]any{"url": "file:///etc/passwd"}, "https"},
			{"discover_agentic_site", map[string]any{"url": ""}, "https://shop.example"},
			{"discover_agentic_site", map[string]any{"url": "nobody.example"}, "does not exist"},
			{"generate_agentic_profile", map[string]any{"origin": "http://a.example"}, "https"},
			{"generate_agentic_profile", map[string]any{"origin": "https://a.example", "actionId": "1 2"}, "action"},
			{"validate_agentic_profile", map[string]any{"profile": strings.Repeat(" ", 65_537)}, "65537 bytes; the limit is 65536"},
			{"validate_agentic_profile", map[string]any{"profile": "{}", "openapi": strings.Repeat(" ", 262_145)}, "262145 bytes; the limit is 262144"},
			{"submit_batch", map[string]any{}, "nothing to audit"},
			{"submit_batch", map[string]any{"urls": []string{"a.example"}, "list": "a.example"}, "not both"},
			{"submit_batch", map[string]any{"urls": many}, "10000"},
			{"submit_batch", map[string]any{"list": strings.Repeat("a.example\n", 220_000)}, "limit is 2097152"},
			{"submit_batch", map[string]any{"list": `[{"url": "a.example"`}, "nothing was submitted"},
			{"list_results", map[string]any{"batch": "latest"}, "no batches yet"},
			{"list_results", map[string]any{"batch": "latest", "outcome": "fine"}, "outcome"},
			{"list_results", map[string]any{"batch": "latest", "reason": "because"}, "missing-profile"},
			{"list_results", map[string]any{"batch": "latest", "agents": "fine"}, "verdict"},
			{"list_results", map[string]any{"batch": "latest", "limit": 201}, "200"},
			{"batch_status", map[string]any{"batch": "../etc"}, "no id"},
			{"batch_status", map[string]any{"batch": "zzzzzzzzz"}, "batch"},
			{"get_report", map[string]any{"site": "a.example"}, "audit_agentic_url"},
			{"get_report", map[string]any{"site": "a.example", "batch": "latest"}, "no"},
		} {
			if x.tool == "list_results" && x.want == "no batches yet" {
				fresh := c.connect(t, newWorld(t).config, full)
				if got := refused(t, fresh, x.tool, x.args); !strings.Contains(got, x.want) {
					t.Errorf("%s: %s %v: %q", c.name, x.tool, x.args, got)
				}
				continue
			}
			got := refused(t, s, x.tool, x.args)
			if !strings.Contains(got, x.want) {
				t.Errorf("%s: %s %.80v: %q", c.name, x.tool, x.args, got)
			}
		}
	}
}

// A cancelled call leaves the site at once, and others go on.
func TestCancelledCalls(t *testing.T) {
	for _, c := range connections {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			arrived, left := make(chan struct{}), make(chan struct{})
			var once sync.Once
			w.net.Site("slow.example").Handle(fakenet.Raw(func(conn net.Conn) {
				once.Do(func() { close(arrived) })
				io.Copy(io.Discard, conn)
				close(left)
			}))
			s := c.connect(t, w.config, full)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "audit_agentic_url", Arguments: map[string]any{"url": "slow.example"}})
				ended <- err
			}()
			<-arrived
			cancel()
			if err := <-ended; err == nil {
				t.Error("a cancelled call has a result")
			}
			<-left
			if got := refused(t, s, "discover_agentic_site", map[string]any{"url": "nobody.example"}); !strings.Contains(got, "does not exist") {
				t.Errorf("after it: %s", got)
			}
		})
	}
}

func TestRates(t *testing.T) {
	w := newWorld(t)
	who := mcp.Caller{Name: "tester", Write: true}
	var mu sync.Mutex
	url := serveHTTP(t, w.config, mcp.Rates{Requests: 30, Visits: 2}, func(*http.Request) mcp.Caller {
		mu.Lock()
		defer mu.Unlock()
		return who
	})
	s := client(t, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{"secret"}}, DisableStandaloneSSE: true})
	for range 2 {
		call[any](t, s, "audit_agents_txt", map[string]any{"url": "shop.example"})
	}
	if got := refused(t, s, "submit_batch", map[string]any{"urls": []string{"a.example"}}); !strings.Contains(got, "Wait 30 seconds") {
		t.Errorf("%s", got)
	}
	w.clock.Add(30 * time.Second)
	call[any](t, s, "audit_agents_txt", map[string]any{"url": "shop.example"})
	// Others have rates of their own; requests in all are bounded, too.
	mu.Lock()
	who.Name = "other"
	mu.Unlock()
	codes := map[int]int{}
	var last *http.Response
	for range 40 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer secret")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		codes[resp.StatusCode]++
		last = resp
	}
	if codes[http.StatusTooManyRequests] != 10 || last.Header.Get("Retry-After") != "2" {
		t.Errorf("%v, Retry-After %q", codes, last.Header.Get("Retry-After"))
	}
}

// A session belongs to the token that began it.
func TestSessionsAreBound(t *testing.T) {
	w := newWorld(t)
	url := serveHTTP(t, w.config, mcp.Rates{}, func(r *http.Request) mcp.Caller {
		return mcp.Caller{Name: r.Header.Get("Authorization"), Write: true}
	})
	post := func(token, session, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	first := post("one", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session := first.Header.Get("Mcp-Session-Id")
	if first.StatusCode != http.StatusOK || session == "" {
		t.Fatalf("%s, session %q", first.Status, session)
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if own := post("one", session, list); own.StatusCode != http.StatusOK {
		t.Errorf("its own token: %s", own.Status)
	}
	if other := post("two", session, list); other.StatusCode != http.StatusForbidden {
		t.Errorf("another token: %s", other.Status)
	}
	if large := post("one", "", `{"x":"`+strings.Repeat("x", 9<<20)+`"}`); large.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("9 MiB: %s", large.Status)
	}
}

// Our own fault is a tool error, and ends nothing.
func TestOwnFault(t *testing.T) {
	w := newWorld(t)
	w.config.Open = func(context.Context, bool) (mcp.Store, func(), error) { panic("broken") }
	for _, c := range connections {
		s := c.connect(t, w.config, full)
		if got := refused(t, s, "batch_status", map[string]any{"batch": "latest"}); !strings.Contains(got, "our own fault") || strings.Contains(got, "broken") {
			t.Errorf("%s: %s", c.name, got)
		}
		call[any](t, s, "get_agentic_spec", nil)
	}
}

func TestConfig(t *testing.T) {
	if _, err := mcp.New(mcp.Config{}, true); err == nil {
		t.Error("a server without a client")
	}
	if _, err := mcp.Handler(mcp.Config{}, mcp.Rates{}, nil); err == nil {
		t.Error("a handler without a client")
	}
}

// Session ids are half a key, and stand in no log.
func TestSessionsAreNotLogged(t *testing.T) {
	w := newWorld(t)
	var log strings.Builder
	var mu sync.Mutex
	w.config.Log = slog.New(slog.NewTextHandler(locked{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := connections[1].connect(t, w.config, full)
	call[any](t, s, "get_agentic_spec", nil)
	refused(t, s, "batch_status", map[string]any{"batch": "latest"})
	id := s.ID()
	s.Close()
	mu.Lock()
	defer mu.Unlock()
	if id == "" || strings.Contains(log.String(), id) || !strings.Contains(log.String(), "get_agentic_spec") {
		t.Errorf("session %q, log %s", id, log.String())
	}
}

// locked is a writer for several goroutines.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
