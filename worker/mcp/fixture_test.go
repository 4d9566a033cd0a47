package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
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

// full may do everything.
var full = mcp.Caller{ID: "tester", Write: true}
