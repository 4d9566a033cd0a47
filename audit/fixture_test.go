package audit

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/audit/profile"
	"agentaudit/audit/textindex"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

// The two publications that the tests of this package start from: both are
// successful, and each test breaks one thing.

const siteOpenAPI = `{"openapi":"3.1.0","info":{"title":"Boats","version":"1"},"paths":{
"/boats":{"get":{"operationId":"listBoats","responses":{}},"post":{"operationId":"addBoat","responses":{}}},
"/boats/{id}":{"get":{"operationId":"readBoat","responses":{}}}}}`

const actionOpenAPI = `{"openapi":"3.1.0","info":{"title":"Seats","version":"1"},"paths":{
"/reserve":{"post":{"operationId":"reserve","parameters":[{"name":"Idempotency-Key","in":"header","required":true,"schema":{"type":"string"}}],"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{}}},
"/requests/{req}":{"get":{"operationId":"state","parameters":[{"name":"req","in":"path","required":true,"schema":{"type":"string"}}],"responses":{}}},
"/seats/{seat}":{"get":{"operationId":"read","parameters":[{"name":"seat","in":"path","required":true,"schema":{"type":"string"}}],"responses":{}}}}}`

func siteProfile(host string) string {
	return strings.ReplaceAll(`{"agentic":"1.1.0","type":"site","origin":"https://HOST","name":"Boats","description":"Boats for hire.",
"resources":[{"kind":"openapi","url":"https://HOST/openapi.json","source":"https://HOST/","availability":"retrieved"},
{"kind":"documentation","url":"https://HOST/guide","source":"https://HOST/","availability":"retrieved","title":"Guide"},
{"kind":"mcp","url":"https://HOST/mcp","source":"https://HOST/guide","availability":"linked"}],
"apis":[{"document":"https://HOST/openapi.json","openapi":"3.1.0","operations":[
{"method":"GET","path":"/boats","operationId":"listBoats","summary":"All boats"},{"method":"POST","path":"/boats"},{"method":"GET","path":"/boats/{id}","operationId":"readBoat"}]}]}`, "HOST", host)
}

func actionProfile(host string, openapi ...string) string {
	if len(openapi) == 0 {
		openapi = []string{"/openapi.json"}
	}
	var actions []string
	for i, path := range openapi {
		actions = append(actions, fmt.Sprintf(`{"id":"book%d","description":"Book a seat.","openapi":%q,"submit":"reserve","status":"state","verify":"read",
"request":{"header":"Idempotency-Key","scope":"principal-action","retentionSeconds":86400},"bindings":{"statusRequestId":"req","verifyResourceId":"seat"},
"evidence":{"resourceIdPointer":"/id","requestIdPointer":"/request","statePointer":"/state","successValues":["reserved"],"inputBindings":[{"inputPointer":"/seat","resourcePointer":"/seat"}]},
"recovery":{"maxChecks":3,"checkDelayMs":1000,"timeoutMs":5000,"retry":"never-automatically"}}`, i, path))
	}
	return `{"agentic":"1.0.0","origin":"https://` + host + `","actions":[` + strings.Join(actions, ",") + `]}`
}

// textFor is the agentic.txt of a profile, in the publication form.
func textFor(t testing.TB, json string) string {
	t.Helper()
	doc, err := profile.Decode([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	v := doc.Validate(profile.Options{})
	if !v.Valid() {
		t.Fatal(v.Err())
	}
	text, err := textindex.Build(v.Profile, textindex.DefaultURL(v.Profile), textindex.Publication)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readmeFor(host string) string {
	return "# Boats\n\nBoats for hire.\n\n[agentic.json](https://" + host + "/agentic.json) [agentic.txt](https://" + host + "/agentic.txt)\n" +
		"[Agentic](https://ruagentic.org) [RUAGENTIC](https://ruagentic.com)\n"
}

// world is a fake internet with one publication on it.
type world struct {
	*fakenet.Net
	site  *fakenet.Site
	files map[string]string // by path, as published at first
}

const host = "site.example"

func newWorld(t testing.TB, n *fakenet.Net, json, openapi string) *world {
	t.Helper()
	w := &world{Net: n, site: n.Site(host), files: map[string]string{
		"/agentic.json": json, "/agentic.txt": textFor(t, json), "/README.md": readmeFor(host), "/openapi.json": openapi,
		"/guide": "<!doctype html><title>Guide</title><p>How to hire a boat.", "/llms.txt": "# Boats\n",
	}}
	types := map[string]http.Header{
		"/agentic.json": fakenet.JSON, "/openapi.json": fakenet.JSON, "/agentic.txt": fakenet.PlainText, "/llms.txt": fakenet.PlainText,
		"/README.md": fakenet.Markdown, "/guide": fakenet.HTML,
	}
	for path, body := range w.files {
		w.site.Static(path, 200, types[path], body)
	}
	return w
}

// client reads this internet.
func (w *world) client() *fetch.Client { return w.Client(fetch.Config{UserAgent: "test"}) }

// publicationOnly is an attempt at the publication and nothing else.
func publicationOnly(target Target, number int) Attempt {
	return Attempt{Target: target, Number: number, Options: Options{NoAgents: true, Discover: DiscoverNever}}
}

// audit audits a target of this internet, with attempt 1 or a later one.
func (w *world) audit(t testing.TB, input, readme string, attempt int) Judgement {
	t.Helper()
	target, err := ParseTarget(input, readme)
	if err != nil {
		t.Fatal(err)
	}
	a := Auditor{Client: w.client()}
	j, err := a.Audit(t.Context(), publicationOnly(target, attempt))
	if err != nil {
		t.Fatal(err)
	}
	if tt, ok := t.(*testing.T); ok {
		checkInvariants(tt, j.Result)
	}
	return j
}

// bubble runs f with a fake internet on a clock that costs no time; a
// connection to anything but a public address on port 443 fails the test.
func bubble(t *testing.T, f func(t *testing.T, n *fakenet.Net)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := fakenet.New(fakenet.Options{})
		defer func() {
			n.Close()
			if bad := n.Forbidden(); len(bad) > 0 {
				t.Errorf("forbidden connections were tried: %v", bad)
			}
		}()
		f(t, n)
	})
}

// verdict is a judgement's verdict in one line, as in "trouble 30s" or
// "confirm definite".
func (j Judgement) verdict() string {
	words := []string{}
	add := func(is bool, word string) {
		if is {
			words = append(words, word)
		}
	}
	add(j.Verdict.Again != Final, string(j.Verdict.Again))
	add(j.Verdict.RetryAfter != 0, j.Verdict.RetryAfter.Round(time.Second).String())
	add(j.Verdict.Definite, "definite")
	add(j.Verdict.Network, "network")
	return strings.Join(words, " ")
}

// word is the outcome with its reason, as in "failed redirected".
func (j Judgement) word() string { return string(j.Result.Outcome) + " " + string(j.Result.Reason) }

// detail is the detail of a check, "" where it passed or is not there.
func (j Judgement) detail(id string) string {
	for _, c := range j.Result.Report.Checks {
		if c.ID == id && c.Status != "pass" {
			return c.Detail
		}
	}
	return ""
}
