package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentaudit/audit/report"
	"agentaudit/fetch/fakenet"
	"agentaudit/store"
	"agentaudit/worker/mcp"
)

func TestTools(t *testing.T) {
	w := newWorld(t)
	want := []string{
		"audit_agentic_url", "audit_agents_txt", "batch_status", "discover_agentic_site", "generate_agentic_profile", "get_agentic_spec",
		"get_report", "list_results", "submit_batch", "validate_agentic_profile",
	}
	for _, c := range connections {
		for _, write := range []bool{true, false} {
			s := c.connect(t, w.config, mcp.Caller{ID: "tester", Write: write})
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
			{"generate_agentic_profile", map[string]any{"origin": "https://a.example", "actionId": "1 2"}, "create-ticket"},
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

// unsealed is a store that goes away at the end of an intake.
type unsealed struct{ mcp.Store }

func (unsealed) SealBatch(context.Context, store.BatchID) (*store.Batch, error) {
	return nil, errors.New("the database is gone")
}

// A list that cannot be completed leaves no open batch behind.
func TestIntakeThatDoesNotEnd(t *testing.T) {
	w := newWorld(t)
	open := w.config.Open
	w.config.Open = func(ctx context.Context, write bool) (mcp.Store, func(), error) {
		st, done, err := open(ctx, write)
		if write {
			st = unsealed{st}
		}
		return st, done, err
	}
	s := connections[0].connect(t, w.config, full)
	if got := refused(t, s, "submit_batch", map[string]any{"urls": []string{"shop.example"}}); !strings.Contains(got, "the database is gone") {
		t.Errorf("it says %s", got)
	}
	if got := call[struct{ State store.BatchState }](t, s, "batch_status", map[string]any{"batch": "latest"}); got.State != store.StateCancelled {
		t.Errorf("the batch is %s", got.State)
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
