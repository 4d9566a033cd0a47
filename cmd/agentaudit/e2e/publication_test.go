//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"agentaudit/audit/profile"
	"agentaudit/audit/textindex"
	"agentaudit/fetch/fakenet"
)

// publication is what a site publishes. It is complete and right until its
// site's story changes it; files that the story leaves nil are generated.
type publication struct {
	t      *testing.T
	origin string
	// dir is where the files are, with a slash at its end; name is the JSON's.
	dir, name string
	value     map[string]any
	// json, txt and readme are the files where the story has set them.
	json, txt, readme *file
	// more are all other files, by path.
	more map[string]*file
}

// file is an answer with status 200; a nil handler and body are what the
// story put in their place.
type file struct {
	mediaType, body string
	handler         http.Handler // instead of body
}

const (
	typeJSON     = "application/json"
	typeText     = "text/plain; charset=utf-8"
	typeMarkdown = "text/markdown; charset=utf-8"
	typeHTML     = "text/html; charset=utf-8"
)

// base is the kind of publication that a story starts from.
type base byte

// The bases.
const (
	plain   base = 'p' // a site profile without an API
	indexed base = 'i' // a site profile with an API and its OpenAPI document
	acting  base = 'a' // an action profile with its OpenAPI document
	small   base = 's' // a site profile that names no other file
)

func newPublication(t *testing.T, origin string, b base) *publication {
	p := &publication{t: t, origin: origin, dir: "/", name: "agentic.json", more: map[string]*file{}}
	if b == acting {
		p.value = map[string]any{"agentic": "1.0.0", "origin": origin, "actions": []any{order("place-order", "/openapi.json")}}
		p.put("/openapi.json", typeJSON, orderAPI())
		return p
	}
	p.value = map[string]any{
		"agentic": "1.1.0", "type": "site", "origin": origin, "name": "Seaside Bakery",
		"description": "Bread, opening hours and orders of a small bakery by the sea.", "resources": []any{}, "apis": []any{},
	}
	if b == small {
		p.resource("agentic", origin+"/agentic.json", "retrieved")
		return p
	}
	p.document("website", "/", typeHTML, "<!doctype html><title>Seaside Bakery</title><h1>Bread</h1>")
	p.document("documentation", "/guide", typeMarkdown, "# How to order\n")
	if b == indexed {
		p.api("/openapi.json", map[string]string{"/loaves": "listLoaves", "/orders": "listOrders"})
	}
	return p
}

// put publishes one more file.
func (p *publication) put(path, mediaType, body string) {
	p.more[path] = &file{mediaType: mediaType, body: body}
}

// resource names a resource in the profile.
func (p *publication) resource(kind, url, availability string) {
	p.value["resources"] = append(p.value["resources"].([]any), map[string]any{
		"kind": kind, "url": url, "source": p.origin + "/", "availability": availability,
	})
}

// document publishes a file and names it as a retrieved resource.
func (p *publication) document(kind, path, mediaType, body string) {
	p.resource(kind, p.origin+path, "retrieved")
	p.put(path, mediaType, body)
}

// api publishes an OpenAPI document with GET operations, and indexes it.
func (p *publication) api(path string, operations map[string]string) {
	paths, index := map[string]any{}, []any{}
	for at, id := range operations {
		paths[at] = map[string]any{"get": map[string]any{"operationId": id, "responses": done}}
		index = append(index, map[string]any{"method": "GET", "path": at, "operationId": id})
	}
	p.document("openapi", path, typeJSON, p.text(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Bakery", "version": "1"}, "paths": paths,
	}))
	p.value["apis"] = append(p.value["apis"].([]any), map[string]any{"document": p.origin + path, "openapi": "3.1.0", "operations": index})
}

var done = map[string]any{"200": map[string]any{"description": "Done"}}

// order is an action bound to the operations of orderAPI.
func order(id, openapi string) map[string]any {
	return map[string]any{
		"id": id, "description": "Order bread and see it baked.", "openapi": openapi,
		"submit": "submitOrder", "status": "orderStatus", "verify": "readOrder",
		"request":  map[string]any{"header": "Idempotency-Key", "scope": "principal-action", "retentionSeconds": 3600},
		"bindings": map[string]any{"statusRequestId": "request", "verifyResourceId": "order"},
		"evidence": map[string]any{
			"resourceIdPointer": "/id", "requestIdPointer": "/request", "statePointer": "/state", "successValues": []any{"baked"},
			"inputBindings": []any{map[string]any{"inputPointer": "/loaf", "resourcePointer": "/loaf"}},
		},
		"recovery": map[string]any{"maxChecks": 5, "checkDelayMs": 200, "timeoutMs": 2000, "retry": "never-automatically"},
	}
}

func orderAPI() string {
	in := func(where, name string) map[string]any {
		return map[string]any{"name": name, "in": where, "required": true, "schema": map[string]any{"type": "string"}}
	}
	get := func(id, parameter string) map[string]any {
		return map[string]any{"get": map[string]any{"operationId": id, "responses": done, "parameters": []any{in("path", parameter)}}}
	}
	return indent(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Orders", "version": "1"},
		"paths": map[string]any{
			"/orders": map[string]any{"post": map[string]any{
				"operationId": "submitOrder", "responses": done, "parameters": []any{in("header", "Idempotency-Key")},
				"requestBody": map[string]any{"content": map[string]any{typeJSON: map[string]any{"schema": map[string]any{"type": "object"}}}},
			}},
			"/requests/{request}": get("orderStatus", "request"),
			"/orders/{order}":     get("readOrder", "order"),
		},
	})
}

// indent is a value as JSON with the indentation that people use.
func indent(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic(err) // only for values that no test writes
	}
	return b.String()
}

func (p *publication) text(v any) string { return indent(v) }

// url is the address of a file beside the JSON.
func (p *publication) url(name string) string { return p.origin + p.dir + name }

// index is the text index of the profile as it is now.
func (p *publication) index(form textindex.Form) string {
	p.t.Helper()
	doc, err := profile.Decode([]byte(indent(p.value)))
	if err != nil {
		p.t.Fatalf("%s: %v", p.origin, err)
	}
	v := doc.Validate(profile.Options{})
	if !v.Valid() {
		p.t.Fatalf("%s: its profile is invalid before it is to be: %v", p.origin, v.Problems)
	}
	out, err := textindex.Build(v.Profile, p.url(p.name), form)
	if err != nil {
		p.t.Fatalf("%s: %v", p.origin, err)
	}
	return string(out)
}

// page is a README with the given links.
func page(links ...string) string {
	return "# Seaside Bakery\n\nWhat we publish for agents:\n\n- " + strings.Join(links, "\n- ") + "\n"
}

// The links that a README should have; the first two are relative.
const (
	linkJSON      = "[agentic.json](agentic.json)"
	linkText      = "[agentic.txt](agentic.txt)"
	linkSpec      = "[Agentic](https://ruagentic.org)"
	linkDirectory = "[RUAGENTIC](https://ruagentic.com)"
)

// generate makes the files that are not there yet, each from the value as it
// is now; stories that break one of them generate first.
func (p *publication) generate() {
	p.t.Helper()
	if p.json == nil {
		p.json = &file{mediaType: typeJSON, body: indent(p.value)}
	}
	if p.txt == nil {
		p.txt = &file{mediaType: typeText, body: p.index(textindex.Publication)}
	}
	if p.readme == nil {
		p.readme = &file{mediaType: typeMarkdown, body: page("["+p.name+"]("+p.url(p.name)+")", "[agentic.txt]("+p.url("agentic.txt")+")", linkSpec, linkDirectory)}
	}
}

// online puts the files on the host.
func (p *publication) online(h *host) {
	p.t.Helper()
	p.generate()
	for path, f := range p.files() {
		if f.handler != nil {
			h.paths[path] = f.handler
		} else {
			h.paths[path] = static(f.mediaType, f.body)
		}
	}
}

func (p *publication) files() map[string]*file {
	all := map[string]*file{p.dir + p.name: p.json, p.dir + "agentic.txt": p.txt, p.dir + "README.md": p.readme}
	for path, f := range p.more {
		all[path] = f
	}
	return all
}

// static answers with status 200.
func static(mediaType, body string) http.Handler {
	header := http.Header{}
	if mediaType != "" {
		header.Set("Content-Type", mediaType)
	}
	return fakenet.Reply(http.StatusOK, header, body)
}

// instead is a file whose place a handler takes.
func instead(h http.Handler) *file { return &file{handler: h} }

// missingFile is a file that is not there.
func missingFile() *file { return instead(fakenet.Text(http.StatusNotFound, "Missing")) }
