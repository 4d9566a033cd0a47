package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"agentaudit/store"
)

// program calls the API and holds every call and every answer against the
// description that the dashboard itself serves.
type program struct {
	*visitor
	router routers.Router
	// answered counts good answers by operation.
	answered map[string]int
	key      string // Idempotency-Key of the next call
}

func newProgram(t *testing.T, s *Server) *program {
	t.Helper()
	v := visit(t, s)
	res, body := v.get("/openapi.json")
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	// The router wants a server with a host.
	doc.Servers = openapi3.Servers{{URL: "http://localhost"}}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &program{visitor: v, router: router, answered: map[string]int{}}
}

// call sends a request; body is a string that is sent as it is with mediaType,
// or anything else as JSON.
func (p *program) call(method, path string, body any, mediaType string) (*http.Response, string) {
	p.t.Helper()
	var sent []byte
	switch b := body.(type) {
	case nil:
	case string:
		sent = []byte(b)
	default:
		var err error
		if sent, err = json.Marshal(b); err != nil {
			p.t.Fatal(err)
		}
		mediaType = "application/json"
	}
	request := func() *http.Request {
		r := httptest.NewRequest(method, "http://localhost"+apiPath+path, bytes.NewReader(sent))
		if mediaType != "" {
			r.Header.Set("Content-Type", mediaType)
		}
		if p.key != "" {
			r.Header.Set("Idempotency-Key", p.key)
		}
		return r
	}
	res, got := p.send(request())
	r := request()
	route, params, err := p.router.FindRoute(r)
	if err != nil {
		if res.StatusCode < 400 {
			p.t.Errorf("%s %s is not described: %v", method, path, err)
		}
		return res, got
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
			ExcludeRequestBody: mediaType != "application/json"}}
	if res.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			p.t.Errorf("%s %s was answered, but is not described: %v", method, path, err)
		}
		p.answered[route.Operation.OperationID]++
	} else if got := res.Header.Get("Content-Type"); got != "application/problem+json" {
		p.t.Errorf("%s %s: %d as %s", method, path, res.StatusCode, got)
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode, Header: res.Header,
		Body: io.NopCloser(strings.NewReader(got)), Options: in.Options}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		p.t.Errorf("%s %s: the answer is not as described: %v\n%s", method, path, err, got)
	}
	return res, got
}

// do wants a status, and decodes the answer into to unless that is nil.
func (p *program) do(method, path string, body any, status int, to any) {
	p.t.Helper()
	mediaType := ""
	if _, ok := body.(string); ok {
		mediaType = "text/csv"
	}
	res, got := p.call(method, path, body, mediaType)
	if res.StatusCode != status {
		p.t.Fatalf("%s %s: %d, want %d\n%s", method, path, res.StatusCode, status, got)
	}
	if to != nil {
		if err := json.Unmarshal([]byte(got), to); err != nil {
			p.t.Fatal(err)
		}
	}
}

type listOf[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// Everything that the pages do, and each answer as /openapi.json says.
func TestAPI(t *testing.T) {
	x := seed(t)
	p := newProgram(t, serve(t, Config{Store: x, Write: x, Now: x.clock.Now, Version: "1.2"}))
	p.do("GET", "/me", nil, 200, nil)
	var overview struct {
		AsOf  time.Time
		Sites []store.ReasonCount
		Open  []struct{ ID store.BatchID }
	}
	p.do("GET", "/overview", nil, 200, &overview)
	if len(overview.Open) != 1 || overview.Open[0].ID != x.running || !overview.AsOf.Equal(x.clock.Now()) || len(overview.Sites) < 5 {
		t.Errorf("%+v", overview)
	}

	// All pages of a list together are the list.
	var all []store.BatchID
	for next := ""; ; {
		var page listOf[struct{ ID store.BatchID }]
		p.do("GET", "/batches?limit=2&after="+next, nil, 200, &page)
		for _, b := range page.Items {
			all = append(all, b.ID)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if want := fmt.Sprint([]store.BatchID{x.running, x.empty, x.cancelled, x.after, x.before}); fmt.Sprint(all) != want {
		t.Errorf("batches %v, want %s", all, want)
	}
	after := "/batches/" + string(x.after)
	p.do("GET", after, nil, 200, nil)
	var entries listOf[store.Entry]
	var rejected listOf[store.Rejected]
	p.do("GET", after+"/entries?limit=3", nil, 200, &entries)
	p.do("GET", after+"/entries?limit=3&after="+entries.Next, nil, 200, &entries)
	p.do("GET", after+"/rejected", nil, 200, &rejected)
	if len(entries.Items) != 3 || entries.Items[0].N != 4 || len(rejected.Items) == 0 || rejected.Next != "" {
		t.Errorf("%+v, %+v", entries, rejected)
	}
	p.do("GET", after+"/reasons?limit=3", nil, 200, nil)
	p.do("GET", after+"/checks", nil, 200, nil)

	// The rows of a view are those of its export.
	var rows []string
	for next := ""; ; {
		var page listOf[json.RawMessage]
		p.do("GET", after+"/results?outcome=failed&limit=4&after="+next, nil, 200, &page)
		for _, row := range page.Items {
			var r struct{ Run store.RunID }
			if err := json.Unmarshal(row, &r); err != nil || r.Run.Batch() != x.after {
				t.Fatal(string(row), err)
			}
			rows = append(rows, strings.Replace(string(row), fmt.Sprintf(`"run":%q,`, r.Run), "", 1))
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if _, export := p.get("/batches/" + string(x.after) + "/results.ndjson?outcome=failed"); strings.Join(rows, "\n")+"\n" != export || len(rows) < 5 {
		t.Errorf("the API has\n%s\nthe export\n%s", strings.Join(rows, "\n"), export)
	}

	run := "/runs/" + string(x.failed)
	var one struct {
		Target string
		Rows   []struct{ Outcome string }
	}
	p.do("GET", run, nil, 200, &one)
	if len(one.Rows) == 0 || one.Rows[0].Outcome != "failed" {
		t.Errorf("%+v", one)
	}
	for _, doc := range []string{"report", "evidence"} {
		p.do("GET", run+"/"+doc, nil, 200, nil)
	}
	p.do("GET", "/sites?outcome=failed&limit=5", nil, 200, nil)
	p.do("GET", "/sites?since=2026-01-01&sort=changed", nil, 200, nil)
	var site struct {
		History []store.SiteResult
		Next    string
	}
	p.do("GET", "/site?limit=1&target="+one.Target, nil, 200, &site)
	if len(site.History) != 1 || site.History[0].Run != x.failed || site.Next == "" {
		t.Errorf("%+v", site)
	}
	p.do("GET", "/site?limit=1&target="+one.Target+"&before="+site.Next, nil, 200, &site)
	if len(site.History) != 1 || site.History[0].Run.Batch() != x.before {
		t.Fatalf("%+v", site)
	}
	var pair struct {
		Target            string
		Before, After     *store.SiteResult
		Fixed, New, Still []string
	}
	older := site.History[0]
	p.do("GET", "/site/difference?was="+string(older.Run)+"&is="+string(x.failed), nil, 200, &pair)
	want := store.DiffChecks(&older, pair.After)
	if pair.Target != one.Target || pair.Before.Run != older.Run || pair.After.Run != x.failed || len(want.New)+len(want.Fixed)+len(want.Still) == 0 ||
		!slices.Equal(pair.Fixed, want.Fixed) || !slices.Equal(pair.New, want.New) || !slices.Equal(pair.Still, want.Still) {
		t.Errorf("%+v, want %+v", pair, want)
	}
	// Back again, what was new is fixed.
	fixed := pair.New
	p.do("GET", "/site/difference?is="+string(older.Run)+"&was="+string(x.failed), nil, 200, &pair)
	if !slices.Equal(pair.Fixed, fixed) {
		t.Errorf("%+v, want %v fixed", pair, fixed)
	}
	var compared struct {
		Counts map[store.Change]int64
		Items  []struct{ Before, After *store.SiteResult }
	}
	p.do("GET", "/compare?show=regression&before="+string(x.before)+"&after="+string(x.after), nil, 200, &compared)
	if n := compared.Counts[store.Regression]; n == 0 || int64(len(compared.Items)) != n {
		t.Errorf("%+v", compared)
	}

	// Lists come in every form, and as drafts.
	var made struct {
		ID                store.BatchID
		State             store.BatchState
		Entries, Rejected int64
		Name              string
	}
	p.do("POST", "/batches", map[string]any{"name": "mine", "urls": []any{"a.example", map[string]any{"url": "b.example", "label": "B"}, "ftp://c"}, "discover": "never"}, 201, &made)
	if made.State != store.StateQueued || made.Entries != 2 || made.Rejected != 1 || made.Name != "mine" {
		t.Errorf("%+v", made)
	}
	p.do("POST", "/batches?draft=true&name=csv&filename=l.csv&noAgents=true", "id,site\n7,d.example\n", 201, &made)
	if made.State != store.StateIntake || made.Entries != 1 {
		t.Errorf("%+v", made)
	}
	// Columns go by the names that the page has for them, and text/csv says the form.
	p.do("POST", "/batches?draft=true&column=a&idColumn=b&labelColumn=c&tagColumn=d&readmeColumn=e", "a,b,c,d,e\nd.example,7,D,x|y,d.example/r.md\n", 201, &made)
	columns := map[string]any{"list": "a,b,c,d,e\nd.example,7,D,x|y,d.example/r.md\n", "draft": true, "format": "csv", "column": "a", "idColumn": "b", "labelColumn": "c", "tagColumn": "d", "readmeColumn": "e"}
	p.do("POST", "/batches", columns, 201, &made)
	if batches, err := x.Batches(t.Context(), "", 2); err != nil {
		t.Error(err)
	} else {
		for _, b := range batches {
			entries, err := x.Entries(t.Context(), b.ID, 0, 10)
			if err != nil || len(entries) != 1 || entries[0].ID != "7" || entries[0].Label != "D" || strings.Join(entries[0].Tags, " ") != "x y" || entries[0].Readme != "https://d.example/r.md" {
				t.Errorf("%+v, %v", entries, err)
			}
		}
	}
	p.do("POST", "/batches?draft=true&name=csv&filename=l.csv&noAgents=true", "id,site\n7,d.example\n", 201, &made)
	draft := "/batches/" + string(made.ID)
	p.do("POST", draft+"/start", nil, 200, &made)
	p.do("POST", draft+"/pause", nil, 200, &made)
	if made.State != store.StatePaused {
		t.Errorf("%+v", made)
	}
	p.do("POST", draft+"/resume", nil, 200, nil)
	p.do("POST", draft+"/cancel", nil, 200, &made)
	if made.State != store.StateCancelled {
		t.Errorf("%+v", made)
	}
	p.do("POST", draft+"/cancel", nil, 409, nil)
	p.do("POST", "/batches", map[string]any{"list": "e.example\nf.example\n", "draft": true}, 201, &made)
	p.do("DELETE", "/batches/"+string(made.ID), nil, 204, nil)
	p.do("GET", "/batches/"+string(made.ID), nil, 404, nil)
	var retried apiRetried
	p.do("POST", after+"/retry", map[string]any{"reason": "no-such-host"}, 200, &retried)
	if retried.Runs == 0 {
		t.Error("nothing is audited again")
	}
	p.do("POST", after+"/again", map[string]any{"outcome": "failed", "draft": true}, 201, &made)
	if made.State != store.StateIntake || made.Entries == 0 {
		t.Errorf("%+v", made)
	}

	// What was made can be used, and no longer when it is revoked.
	var secret struct {
		Secret, Link string
		Token        store.Token
		Share        store.Share
	}
	p.do("POST", "/tokens", map[string]any{"name": "bot", "scope": "read", "days": 7}, 201, &secret)
	bot := newProgram(t, p.s)
	bot.header.Set("Authorization", "Bearer "+secret.Secret)
	bot.do("GET", "/batches", nil, 200, nil)
	bot.do("POST", "/batches", map[string]any{"urls": []string{"a.example"}}, 403, nil)
	bot.do("GET", "/tokens", nil, 403, nil)
	p.do("GET", "/tokens", nil, 200, nil)
	p.do("DELETE", "/tokens/"+secret.Token.ID, nil, 204, nil)
	bot.do("GET", "/batches", nil, 401, nil)
	p.do("POST", "/shares", map[string]any{"run": x.failed, "days": 1}, 201, &secret)
	if res, _ := visit(t, p.s).get(strings.TrimPrefix(secret.Link, "http://localhost")); res.StatusCode != 200 {
		t.Errorf("%s: %d", secret.Link, res.StatusCode)
	}
	p.do("GET", "/shares", nil, 200, nil)
	p.do("DELETE", "/shares/"+secret.Share.ID, nil, 204, nil)
	p.do("POST", "/shares", map[string]any{"batch": x.after, "outcome": "failed", "days": 1}, 201, nil)

	moreOfTheAPI(t, x, p)
	for _, e := range endpoints {
		// Seeds have no scans and no kits; their documents are those of others.
		if id := operationID(e); p.answered[id] == 0 && !strings.HasSuffix(e.path, "/discovery") && !strings.Contains(e.path, "/fix-kit") && !strings.HasSuffix(e.path, "/agents") {
			t.Errorf("%s was never called with success", id)
		}
	}
}

func TestAPIErrors(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, Users: testUsers(t, "anna"), BasePath: "/audit"})
	stranger := visit(t, s)
	res, body := stranger.get("/audit" + apiPath + "/batches")
	var problem Problem
	if err := json.Unmarshal([]byte(body), &problem); err != nil || res.StatusCode != 401 || problem.Status != 401 || problem.Advice == "" || !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer") {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	if res, _ := stranger.get("/audit/openapi.json"); res.StatusCode != 200 {
		t.Errorf("the description: %d", res.StatusCode)
	}
	// A page of another origin cannot use the session of who reads it.
	anna := visit(t, s)
	anna.do("/audit/signin", "name", "anna", "password", testPassword)
	r := httptest.NewRequest("POST", "http://localhost/audit"+apiPath+"/batches", strings.NewReader(`{"urls":["a.example"]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "https://evil.example")
	if res, body := anna.send(r); res.StatusCode != 403 || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s", res.StatusCode, body)
	}

	p := newProgram(t, serve(t, Config{Store: x, Write: x, Now: x.clock.Now}))
	for _, c := range []struct {
		method, path string
		body         any
		mediaType    string
		status       int
		detail       string
	}{
		{"GET", "/nothing", nil, "", 404, "no page"},
		{"POST", "/overview", nil, "", 405, "only be read"},
		{"GET", "/batches/x", nil, "", 404, "not in the store"},
		{"GET", "/batches?limit=0", nil, "", 400, "1 to 1000"},
		{"GET", "/batches?limit=1001", nil, "", 400, "1 to 1000"},
		{"GET", "/batches?after=x", nil, "", 400, "no cursor"},
		{"GET", "/batches?outcome=failed", nil, "", 400, "no parameter"},
		{"GET", "/batches/" + string(x.after) + "/results?outcome=bad", nil, "", 400, "no outcome"},
		{"GET", "/batches/" + string(x.after) + "/results?after=x", nil, "", 400, "does not have"},
		{"GET", "/batches/" + string(x.after) + "/entries?after=-1", nil, "", 400, "no cursor"},
		{"GET", "/runs/" + string(x.failed) + "/discovery", nil, "", 404, "no such document"},
		{"GET", "/site", nil, "", 400, "missing"},
		{"GET", "/site?target=ftp://x", nil, "", 400, "no site"},
		{"GET", "/site?target=a.example&before=x", nil, "", 400, "a time"},
		{"GET", "/site/difference?was=" + string(x.failed), nil, "", 400, "is is missing"},
		{"GET", "/site/difference?was=nonsense&is=" + string(x.failed), nil, "", 404, "no result"},
		{"GET", "/site/difference?was=" + string(x.failed) + "&is=" + string(x.after) + "-1", nil, "", 400, "not one of"},
		{"GET", "/compare?before=" + string(x.before), nil, "", 400, "missing"},
		{"POST", "/batches", "x", "", 415, "Content-Type"},
		{"POST", "/batches", `{"urls":["a.example"],"draft":true}`, "application/x-www-form-urlencoded", 415, "nothing was started"},
		{"POST", "/batches", "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\na.example\r\n--x--\r\n", "multipart/form-data; boundary=x", 415, "multipart/form-data"},
		{"POST", "/batches", "a.example", "image/png", 415, "image/png"},
		{"POST", "/batches", "a.example,9,y\nb.example,8,x\n", "text/csv", 422, "no column is named"},
		{"POST", "/batches", "a.example,9,y\nb.example,8,x\n", "text/plain", 422, "all its 2 lines were rejected"},
		{"POST", "/batches", "ftp://a.example", "text/plain", 422, "its one line was rejected"},
		{"POST", "/batches", "", "text/plain", 422, "empty"},
		{"POST", "/batches", "# nothing\n", "text/plain", 422, "empty"},
		{"POST", "/batches", "url,id\n", "text/csv", 422, "empty"},
		{"POST", "/batches", map[string]any{"list": "\n", "draft": true}, "", 422, "empty"},
		{"POST", "/batches", "{", "application/json", 400, "cannot be read: it ends before"},
		{"POST", "/batches", "", "application/json", 400, "cannot be read: it ends before"},
		{"POST", "/batches", `{"urls":[}`, "application/json", 400, "it is not JSON from byte 10 on: "},
		{"POST", "/batches", `{"urls":"a.example"}`, "application/json", 400, "the member urls must be an array; it is of the type string."},
		{"POST", "/batches", `{"urls":["a.example"],"name":1.5}`, "application/json", 400, "the member name must be a string; it is of the type number."},
		{"POST", "/batches", `{"urls":["a.example"],"draft":"yes"}`, "application/json", 400, "the member draft must be true or false; it is of the type string."},
		{"POST", "/batches", `[]`, "application/json", 400, "the body must be an object; it is of the type array."},
		{"POST", "/tokens", `{"name":"x","scope":"read","days":1.5}`, "application/json", 400, "the member days must be a whole number within bounds, not 1.5."},
		{"POST", "/batches", `{"urls":["a.example"]} x`, "application/json", 400, "cannot be read"},
		{"POST", "/batches", map[string]any{"ulrs": []string{"a.example"}}, "", 400, "ulrs"},
		{"POST", "/batches", map[string]any{}, "", 400, "no list"},
		{"POST", "/batches", map[string]any{"urls": []string{"a.example"}, "list": "b.example"}, "", 400, "not both"},
		{"POST", "/batches", map[string]any{"urls": []string{"a.example"}, "discover": "sometimes"}, "", 400, "sometimes"},
		{"POST", "/batches?name=x", map[string]any{"urls": []string{"a.example"}}, "", 400, "not in the address"},
		{"POST", "/batches?draft=maybe", "a.example", "text/plain", 400, "true or false"},
		{"POST", "/batches?format=json", "a.example", "text/plain", 422, ""},
		{"POST", "/batches/" + string(x.after) + "/start", nil, "", 409, ""},
		{"POST", "/batches/" + string(x.after) + "/retry", "outcome=failed", "application/x-www-form-urlencoded", 415, "JSON"},
		{"POST", "/batches/" + string(x.after) + "/again", map[string]any{"host": "nowhere"}, "", 409, "nothing"},
		{"POST", "/tokens", map[string]any{"name": "x", "scope": "all"}, "", 400, "no scope"},
		{"POST", "/shares", map[string]any{"run": x.failed, "batch": x.after, "days": 1}, "", 400, "not both"},
		{"DELETE", "/tokens/none", nil, "", 404, ""},
		{"DELETE", "/batches/" + string(x.after), nil, "", 409, ""},
	} {
		before, err := x.Batches(t.Context(), "", 100)
		if err != nil {
			t.Fatal(err)
		}
		res, body := p.call(c.method, c.path, c.body, c.mediaType)
		if after, err := x.Batches(t.Context(), "", 100); err != nil || len(after) != len(before) {
			t.Errorf("%s %s leaves a batch behind: %d, %v", c.method, c.path, len(after)-len(before), err)
		}
		if c.status == 415 && c.path == "/batches" && !strings.Contains(res.Header.Get("Accept"), "application/json, text/plain, text/csv") {
			t.Errorf("%s %s does not say what is taken: %q", c.method, c.path, res.Header.Get("Accept"))
		}
		var problem Problem
		if err := json.Unmarshal([]byte(body), &problem); err != nil || res.StatusCode != c.status || problem.Status != c.status || !strings.Contains(problem.Detail, c.detail) {
			t.Errorf("%s %s: %d %s", c.method, c.path, res.StatusCode, body)
		}
	}
}

// A request that is sent again does nothing twice.
func TestAPIIdempotency(t *testing.T) {
	x := seed(t)
	p := newProgram(t, serve(t, Config{Store: x, Write: x, Now: x.clock.Now}))
	list := map[string]any{"urls": []string{"a.example"}}
	p.key = "k1"
	res, first := p.call("POST", "/batches", list, "")
	again, second := p.call("POST", "/batches", list, "")
	if res.StatusCode != 201 || again.StatusCode != 201 || first != second || again.Header.Get("Idempotency-Replayed") != "true" || again.Header.Get("Location") != res.Header.Get("Location") {
		t.Fatalf("%d %s\n%d %s", res.StatusCode, first, again.StatusCode, second)
	}
	p.do("POST", "/batches", map[string]any{"urls": []string{"b.example"}}, 422, nil)
	p.do("POST", "/batches?name=other", "a.example", 422, nil)
	// What failed was not done, and may be sent again in a better form.
	p.key = "k2"
	p.do("POST", "/batches", map[string]any{"urls": []string{}}, 400, nil)
	p.do("POST", "/batches?filename=l.csv", "site\nc.example\n", 201, nil)
	p.do("POST", "/batches?filename=l.csv", "site\nc.example\n", 201, nil)
	p.key = "k3"
	p.do("POST", "/tokens", map[string]any{"name": "bot", "scope": "read"}, 201, nil)
	p.do("POST", "/tokens", map[string]any{"name": "bot", "scope": "read"}, 409, nil)
	p.key = strings.Repeat("k", 256)
	p.do("POST", "/batches", list, 400, nil)
	batches, err := x.Batches(t.Context(), "", 100)
	if err != nil || len(batches) != 7 {
		t.Errorf("%d batches, %v", len(batches), err)
	}
	tokens, err := x.Tokens(t.Context())
	if err != nil || len(tokens) != 1 {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
}
