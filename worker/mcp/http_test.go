package mcp_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentaudit/worker/mcp"
)

func TestRates(t *testing.T) {
	w := newWorld(t)
	who := mcp.Caller{ID: "tester", Write: true}
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
	who.ID = "other"
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
		return mcp.Caller{ID: r.Header.Get("Authorization"), Write: true}
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
