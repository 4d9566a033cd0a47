package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"agentaudit/audit/profile"
	"agentaudit/audit/textindex"
	"agentaudit/fetch/fakenet"
)

// showcase is what a site of the demo publishes: complete and right when
// made, and then changed by the site's own story before it goes online.
type showcase struct {
	// origin and dir say where the files are; dir ends in a slash.
	origin, dir string
	// profile is the JSON as a value, which stories may change.
	profile map[string]any
	// json, text and readme are the files as published; where they are ""
	// they are generated from profile when the site goes online.
	json, text, readme string
	// types are the media types by file name, files the other documents by path.
	types map[string]string
	files map[string]file
	// gone lists files that are not published.
	gone map[string]bool
}

type file struct{ contentType, body string }

const (
	fileJSON   = "agentic.json"
	fileText   = "agentic.txt"
	fileReadme = "README.md"
)

func newPublication(host string, value map[string]any) *showcase {
	return &showcase{
		origin: "https://" + host, dir: "/", profile: value, files: map[string]file{}, gone: map[string]bool{},
		types: map[string]string{fileJSON: "application/json", fileText: "text/plain; charset=utf-8", fileReadme: "text/markdown; charset=utf-8"},
	}
}

// newSite is the publication of a site with a start page, a documentation
// page and, where operations are given, an API.
func newSite(host, name, description string, operations ...string) *showcase {
	origin := "https://" + host
	p := newPublication(host, map[string]any{
		"agentic": "1.1.0", "type": "site", "origin": origin, "name": name, "description": description,
		"resources": []any{}, "apis": []any{},
	})
	p.document("website", "/", "text/html; charset=utf-8", "<!doctype html><title>"+name+"</title><h1>"+name+"</h1><p><a href=/docs>Documentation</a>")
	p.document("documentation", "/docs", "text/markdown; charset=utf-8", "# "+name+"\n\n"+description+"\n")
	if len(operations) > 0 {
		p.api("/openapi.json", operations...)
	}
	return p
}

// document adds a retrieved resource and the file behind it.
func (p *showcase) document(kind, path, contentType, body string) {
	p.resource(kind, p.origin+path, "retrieved")
	p.files[path] = file{contentType, body}
}

func (p *showcase) resource(kind, url, availability string) {
	p.profile["resources"] = append(p.profile["resources"].([]any), map[string]any{
		"kind": kind, "url": url, "source": p.origin + "/", "availability": availability,
	})
}

// api adds an OpenAPI document with operations such as "GET /sailings
// listSailings", and its index.
func (p *showcase) api(path string, operations ...string) {
	paths := map[string]map[string]any{}
	var index []any
	for _, o := range operations {
		f := strings.Fields(o)
		if paths[f[1]] == nil {
			paths[f[1]] = map[string]any{}
		}
		paths[f[1]][strings.ToLower(f[0])] = map[string]any{"operationId": f[2], "responses": map[string]any{"200": map[string]any{"description": "OK"}}}
		index = append(index, map[string]any{"method": f[0], "path": f[1], "operationId": f[2]})
	}
	p.document("openapi", path, "application/json", text(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": p.profile["name"], "version": "1.0"}, "paths": paths,
	}))
	p.profile["apis"] = append(p.profile["apis"].([]any), map[string]any{"document": p.origin + path, "openapi": "3.1.0", "operations": index})
}

// newAction is the publication of a service that takes requests: one action,
// bound to one OpenAPI document.
func newAction(host, id, noun string) *showcase {
	p := newPublication(host, map[string]any{"agentic": "1.0.0", "origin": "https://" + host, "actions": []any{ticketAction(id, "/openapi.json", noun)}})
	p.files["/openapi.json"] = file{"application/json", ticketAPI(noun, true)}
	return p
}

func ticketAction(id, openapi, noun string) map[string]any {
	return map[string]any{
		"id": id, "description": "Create a " + noun + " and verify the result.", "openapi": openapi,
		"submit": "create", "status": "requestStatus", "verify": "read",
		"request":  map[string]any{"header": "Idempotency-Key", "scope": "principal-action", "retentionSeconds": 86400},
		"bindings": map[string]any{"statusRequestId": "requestId", "verifyResourceId": "id"},
		"evidence": map[string]any{
			"resourceIdPointer": "/id", "requestIdPointer": "/requestId", "statePointer": "/state", "successValues": []any{"open"},
			"inputBindings": []any{map[string]any{"inputPointer": "/subject", "resourcePointer": "/subject"}},
		},
		"recovery": map[string]any{"maxChecks": 3, "checkDelayMs": 100, "timeoutMs": 3000, "retry": "never-automatically"},
	}
}

// ticketAPI describes create, requestStatus and read; required says whether the
// Idempotency-Key is.
func ticketAPI(noun string, required bool) string {
	pathParameter := func(name string) []any {
		return []any{map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"}}}
	}
	ok := map[string]any{"200": map[string]any{"description": "OK"}}
	return text(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": noun + "s", "version": "1.0"},
		"paths": map[string]any{
			"/" + noun + "s": map[string]any{"post": map[string]any{
				"operationId": "create", "responses": ok,
				"parameters":  []any{map[string]any{"name": "Idempotency-Key", "in": "header", "required": required, "schema": map[string]any{"type": "string"}}},
				"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"type": "object"}}}},
			}},
			"/requests/{requestId}": map[string]any{"get": map[string]any{"operationId": "requestStatus", "responses": ok, "parameters": pathParameter("requestId")}},
			"/" + noun + "s/{id}":   map[string]any{"get": map[string]any{"operationId": "read", "responses": ok, "parameters": pathParameter("id")}},
		},
	})
}

// text is a value as JSON with the indentation that people use.
func text(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("demo: %v", err))
	}
	return b.String()
}

func (p *showcase) url(name string) string { return p.origin + p.dir + name }

// generate makes the files that the story has not set.
func (p *showcase) generate() {
	if p.json == "" {
		p.json = text(p.profile)
	}
	if p.text == "" {
		p.text = p.index(textindex.Publication)
	}
	if p.readme == "" {
		p.readme = p.page("[agentic.json]("+p.url(fileJSON)+")", "[agentic.txt]("+p.url(fileText)+")", "[Agentic](https://ruagentic.org)", "[RUAGENTIC](https://ruagentic.com)")
	}
}

// index is the text index that the profile generates.
func (p *showcase) index(form textindex.Form) string {
	doc, err := profile.Decode([]byte(text(p.profile)))
	if err != nil {
		panic(fmt.Sprintf("demo: %s: %v", p.origin, err))
	}
	v := doc.Validate(profile.Options{})
	if !v.Valid() {
		return "# This index was generated before the profile was broken.\n"
	}
	out, err := textindex.Build(v.Profile, v.Profile.ServingOrigin()+p.dir+fileJSON, form)
	if err != nil {
		panic(fmt.Sprintf("demo: %s: %v", p.origin, err))
	}
	return string(out)
}

// page is a README with the given links.
func (p *showcase) page(links ...string) string {
	return "# " + strings.TrimPrefix(p.origin, "https://") + "\n\nWhat we publish for agents, and where it is explained:\n\n- " + strings.Join(links, "\n- ") + "\n"
}

// online puts the files on a site of the fake internet.
func (p *showcase) online(s *fakenet.Site) {
	p.generate()
	for name, body := range map[string]string{fileJSON: p.json, fileText: p.text, fileReadme: p.readme} {
		if !p.gone[name] {
			s.Static(p.dir+name, http.StatusOK, header(p.types[name]), body)
		}
	}
	for path, f := range p.files {
		s.Static(path, http.StatusOK, header(f.contentType), f.body)
	}
}

func header(contentType string) http.Header {
	if contentType == "" {
		return http.Header{}
	}
	return http.Header{"Content-Type": {contentType}}
}
