package dashboard

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker/mcp"
)

// withTools is a dashboard with tools at /mcp, served over HTTP.
func withTools(t *testing.T, c Config) (*Server, string) {
	t.Helper()
	st := storetest.Open(t, t.TempDir(), store.Options{})
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	c.Store, c.Write = st, st
	c.MCP = &mcp.Config{
		Client: n.Client(fetch.Config{}),
		Open:   func(context.Context, bool) (mcp.Store, func(), error) { return st, func() {}, nil },
	}
	s := serve(t, c)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	return s, h.URL
}

// asToken sends a token with every request.
type asToken struct{ secret string }

func (a asToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.secret != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+a.secret)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func toolClient(t *testing.T, url, secret string) (*sdk.ClientSession, error) {
	t.Helper()
	return sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: url + mcpPath, HTTPClient: &http.Client{Transport: asToken{secret}}, MaxRetries: -1}, nil)
}

func toolNames(t *testing.T, s *sdk.ClientSession) string {
	t.Helper()
	var names []string
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func TestMCPNeedsToken(t *testing.T) {
	s, url := withTools(t, Config{Users: testUsers(t, "anna")})
	secrets := map[store.Scope]string{}
	for _, scope := range []store.Scope{store.ScopeRead, store.ScopeWrite} {
		secret, _, err := s.c.Write.NewToken(t.Context(), store.Token{Name: "agent " + string(scope), Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		secrets[scope] = secret
	}
	for scope, secret := range secrets {
		session, err := toolClient(t, url, secret)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(toolNames(t, session), "submit_batch"); got != (scope == store.ScopeWrite) {
			t.Errorf("scope %s: submit_batch is there: %v", scope, got)
		}
		if err := session.Close(); err != nil {
			t.Errorf("the session cannot be ended: %v", err)
		}
	}
	for _, secret := range []string{"", "nonsense"} {
		if _, err := toolClient(t, url, secret); err == nil {
			t.Errorf("token %q lets in", secret)
		}
	}
	// A browser that has signed in has no token.
	v := visit(t, s)
	if resp, _ := v.post("/signin", "name", "anna", "password", testPassword); resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign-in: %s", resp.Status)
	}
	if resp, _ := v.get("/settings"); resp.StatusCode != http.StatusOK {
		t.Fatalf("signed in: %s", resp.Status)
	}
	resp, body := v.get(mcpPath)
	if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(body, "settings") {
		t.Errorf("a cookie: %s, %s", resp.Status, body)
	}
}

// Without sign-in whoever reaches the dashboard has all tools; a page of
// another origin has none.
func TestMCPWithoutSignIn(t *testing.T) {
	_, url := withTools(t, Config{BasePath: "/audit"})
	session, err := toolClient(t, url+"/audit", "")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "submit_batch", Arguments: map[string]any{"urls": []string{"shop.example"}}})
	if err != nil || res.IsError {
		t.Errorf("%v, %+v", err, res)
	}
	for header, value := range map[string]string{"Origin": "https://evil.example", "Host": "evil.example"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/audit/mcp", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if req.Header.Set(header, value); header == "Host" {
			req.Host = value
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("%s %s: %s", header, value, resp.Status)
		}
	}
}

// The end of the dashboard ends streams that clients hold open.
func TestMCPStreamsEnd(t *testing.T) {
	s, url := withTools(t, Config{})
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	request := func(method, session, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+mcpPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	first := request(http.MethodPost, "", hello)
	first.Body.Close()
	stream := request(http.MethodGet, first.Header.Get("Mcp-Session-Id"), "")
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %s", stream.Status)
	}
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, stream.Body)
		close(ended)
	}()
	s.Close()
	<-ended
}

func TestNoMCP(t *testing.T) {
	if resp, _ := visit(t, serve(t, Config{Store: storetest.Open(t, t.TempDir(), store.Options{})})).get(mcpPath); resp.StatusCode != http.StatusNotFound {
		t.Errorf("without tools: %s", resp.Status)
	}
}
