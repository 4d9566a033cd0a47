package openapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
)

const seats = `{"openapi":"3.1.0","info":{"title":"Seats","version":"1","description":"Boats"},"paths":{
"/seats":{"post":{"operationId":"reserve","summary":"Reserve a seat","parameters":[{"name":"Idempotency-Key","in":"header","required":true,"schema":{"type":"string"}}],
 "requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"201":{"description":"Reserved"}}}},
"/requests/{req}":{"get":{"operationId":"state","parameters":[{"name":"req","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"State"}}}},
"/seats/{seat}":{"get":{"operationId":"read","parameters":[{"name":"seat","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"Seat"}}}}}}`

var reserve = profile.ActionItem{
	ID: "book", Submit: "reserve", Status: "state", Verify: "read",
	Bindings: profile.Bindings{StatusRequestID: "req", VerifyResourceID: "seat"},
}

func parse(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return d
}

// Each case changes one thing of a document that binds; a case with codes
// breaks exactly these rules.
func TestBindings(t *testing.T) {
	const key = `{"name":"Idempotency-Key","in":"header","required":true,"schema":{"type":"string"}}`
	const req = `{"name":"req","in":"path","required":true,"schema":{"type":"string"}}`
	const body = `"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}}`
	for _, c := range []struct {
		old, new string
		codes    []Code
	}{
		{"", "", nil},
		{`"3.1.0"`, `"3.1."`, nil}, {`"3.1.0"`, `"3.1"`, []Code{CodeVersion}}, {`"3.1.0"`, `"3.10.0"`, []Code{CodeVersion}}, {`"3.1.0"`, `3.1`, []Code{CodeVersion}},
		{`"openapi":"3.1.0",`, "", []Code{CodeVersion}}, {`"3.1.0"`, `"3.0.3"`, []Code{CodeVersion}}, {`"3.1.0"`, `" 3.1.0"`, []Code{CodeVersion}},
		{`"info"`, `"servers":[],"info"`, nil}, {`"info"`, `"servers":[{}],"info"`, []Code{CodeServers}}, {`"info"`, `"servers":null,"info"`, []Code{CodeServers}},
		{`"info"`, `"servers":{},"info"`, []Code{CodeServers}}, {`"info"`, `"servers":"/","info"`, []Code{CodeServers}},
		{`"paths"`, `"paths":[],"other"`, []Code{CodePaths}}, {`"paths"`, `"other"`, []Code{CodePaths}}, {`"paths"`, `"paths":null,"paths"`, nil},
		// Operations are found under get and post alone, by their exact id.
		{`"operationId":"reserve"`, `"operationId":"Reserve"`, []Code{CodeNotFound}}, {`"operationId":"reserve"`, `"operationId":7`, []Code{CodeNotFound}},
		{`"post":`, `"POST":`, []Code{CodeNotFound}}, {`"post":`, `"put":`, []Code{CodeNotFound}}, {`"post":`, `"get":`, []Code{CodeMethod}},
		{`"get":{"operationId":"state"`, `"post":{"operationId":"state"`, []Code{CodeMethod}},
		{`"paths":{`, `"paths":{"/x":{"put":{"operationId":"reserve"}},`, nil}, {`"paths":{`, `"paths":{"/x":{"get":{"operationId":"reserve"}},`, []Code{CodeAmbiguous}},
		{`"/seats":{`, `"/seats":{"get":{"operationId":"reserve"},`, []Code{CodeAmbiguous}},
		{`"paths":{`, `"paths":{"/x":null,"/y":"text","/z":[],"/w":{"get":5,"post":[]},"/v":{"$ref":"#/nowhere"},`, nil},
		// Nothing else can fail the document.
		{`"info":{"title":"Seats"`, `"x":{"$ref":5},"components":[],"security":"x","info":{"title":5`, nil}, {`,"responses":{"201":{"description":"Reserved"}}`, "", nil},
		// What surrounds an operation.
		{`"/seats":{`, `"/seats":{"parameters":[],`, []Code{CodePathItem}}, {`"/seats":{`, `"/seats":{"servers":[],`, []Code{CodePathItem}},
		{`"/seats":{`, `"/seats":{"servers":null,"parameters":7,`, []Code{CodePathItem, CodePathItem}}, {`"paths":{`, `"paths":{"/x":{"servers":[{}],"parameters":[{}]},`, nil},
		{`"operationId":"state"`, `"servers":[],"operationId":"state"`, nil}, {`"operationId":"state"`, `"servers":[{}],"operationId":"state"`, []Code{CodeOperationServers}},
		{`"operationId":"state"`, `"servers":false,"operationId":"state"`, []Code{CodeOperationServers}}, {`"operationId":"state"`, `"servers":null,"operationId":"state"`, []Code{CodeOperationServers}},
		// Paths.
		{`"/seats":`, `"/seats/":`, nil}, {`"/seats":`, `"/":`, nil}, {`"/seats":`, `"/a//b":`, nil}, {`"/seats":`, `"/sätze":`, nil}, {`"/seats":`, `"/.a/b.":`, nil},
		{`"/seats":`, `"seats":`, []Code{CodePath}}, {`"/seats":`, `"//seats":`, []Code{CodePath}}, {`"/seats":`, `"/a/../b":`, []Code{CodePath}}, {`"/seats":`, `"/./a":`, []Code{CodePath}},
		{`"/seats":`, `"/se%61ts":`, []Code{CodePath}}, {`"/seats":`, `"/a?":`, []Code{CodePath}}, {`"/seats":`, `"/a#":`, []Code{CodePath}}, {`"/seats":`, `"/a\\b":`, []Code{CodePath}},
		{`"/seats":`, `"/a b":`, []Code{CodePath}}, {`"/seats":`, `"/\t/b":`, []Code{CodePath}}, {`"/seats":`, `"/a\u00a0":`, []Code{CodePath}},
		{`"/seats":`, `"/{a}":`, []Code{CodePlaceholder}}, {`"/seats":`, `"/a}":`, []Code{CodePlaceholder}}, {`"/seats":`, `"/a{":`, []Code{CodePlaceholder}}, {`"/seats":`, `"/{}":`, []Code{CodePlaceholder}},
		{`"/requests/{req}":`, `"/{req}/state":`, nil}, {`"/requests/{req}":`, `"/x-{req}.json":`, nil}, {`"/requests/{req}":`, `"/requests":`, []Code{CodePlaceholder}},
		{`"/requests/{req}":`, `"/{a}/{req}":`, []Code{CodePlaceholder}}, {`"/requests/{req}":`, `"/{req}/{req}":`, []Code{CodePlaceholder}}, {`"/requests/{req}":`, `"/{Req}":`, []Code{CodePlaceholder}},
		{`"/requests/{req}":`, `"/{}/{req}":`, []Code{CodePlaceholder}}, {`"/requests/{req}":`, `"/{req}/{}":`, []Code{CodePlaceholder}}, {`"/requests/{req}":`, `"/{{req}}":`, []Code{CodePlaceholder}},
		{`"/requests/{req}":`, `"/}{req}":`, []Code{CodePlaceholder}}, {`"/requests/{req}":`, `"/{req":`, []Code{CodePlaceholder}}, {`"/requests/{req}":`, `"/ {req}":`, []Code{CodePath}},
		// The header.
		{`"Idempotency-Key"`, `"IDEMPOTENCY-key"`, nil}, {`"Idempotency-Key"`, `"Idempotency-\u212aey"`, []Code{CodeHeader}}, {`"in":"header"`, `"in":"query"`, []Code{CodeHeader}},
		{`"in":"header"`, `"in":"Header"`, []Code{CodeHeader}}, {`"in":"header","required":true`, `"in":"header"`, []Code{CodeHeader}}, {`"in":"header","required":true`, `"in":"header","required":"true"`, []Code{CodeHeader}},
		{`"in":"header","required":true`, `"in":"header","required":1`, []Code{CodeHeader}}, {key, `{"$ref":"#/components/parameters/Key"},` + key, nil}, {key, strings.Replace(key, "{", `{"$ref":"#/x",`, 1), []Code{CodeHeader}},
		{key, `null,5,[],{},` + key, nil}, {"[" + key + "]", `{"a":` + key + "}", []Code{CodeHeader}}, {key, strings.Replace(key, "true", "false", 1) + "," + key, nil},
		// The body.
		{body, `"requestBody":{"content":{"application/json":{}}}`, nil}, {body, `"requestBody":{"content":{"Application/JSON; charset=utf-8":{}}}`, nil}, {body, `"requestBody":{"content":{" application/json ;x":{}}}`, nil},
		{body, `"requestBody":{"content":{"text/plain":{},"application/json":{}}}`, nil}, {body, `"requestBody":{"content":{"application/json":null}}`, []Code{CodeBody}}, {body, `"requestBody":{"content":["application/json"]}`, []Code{CodeBody}},
		{body, `"requestBody":{"content":{"application/problem+json":{}}}`, []Code{CodeBody}}, {body, `"requestBody":{"content":{"application/jſon":{}}}`, []Code{CodeBody}}, {body, `"requestBody":{"content":{"application/json-seq":{}}}`, []Code{CodeBody}},
		{body, `"requestBody":{"$ref":"#/components/requestBodies/Seat"}`, []Code{CodeBody}}, {body, `"requestBody":{"$ref":"#/x","content":{"application/json":{}}}`, []Code{CodeBody}},
		{body, `"requestBody":[]`, []Code{CodeBody}}, {body + ",", "", []Code{CodeBody}}, {body, `"requestBody":{"content":{"application/json":{}},"required":false}`, nil},
		// The path parameter.
		{req, strings.Replace(req, "true", "false", 1), []Code{CodeParameter}}, {req, strings.Replace(req, `"path"`, `"query"`, 1), []Code{CodeParameter}}, {req, strings.Replace(req, `"req"`, `"REQ"`, 1), []Code{CodeParameter}},
		{req, `{"name":"other","in":"path","required":true},` + req, nil}, {"[" + req + "]", "null", []Code{CodeParameter}}, {`"parameters":[` + req + "],", "", []Code{CodeParameter}},
		// Members that stand twice: the last one counts.
		{`"operationId":"state"`, `"operationId":"x","operationId":"state"`, nil}, {`"operationId":"state"`, `"operationId":"state","operationId":5`, []Code{CodeNotFound}},
		{`"/seats":{`, `"/seats":{"post":{"operationId":"x"},`, nil}, {`"paths":{`, `"paths":{"/x":{"get":{"operationId":"reserve"}},"/x":{},`, nil},
		{`"paths":{`, `"paths":{"/x":{"get":{"operationId":"reserve"},"get":null},`, nil}, {body, body + `,"requestBody":null`, []Code{CodeBody}},
		{body, `"requestBody":{"content":{"application/json":{},"application/json":null}}`, []Code{CodeBody}}, {req, strings.Replace(req, `"required":true`, `"required":true,"required":0`, 1), []Code{CodeParameter}},
		{`"operationId":"state"`, `"servers":[{}],"servers":[],"operationId":"state"`, nil}, {`"info"`, `"servers":[],"servers":[1],"info"`, []Code{CodeServers}},
	} {
		if !strings.Contains(seats, c.old) {
			t.Fatalf("no %s in the document", c.old)
		}
		d := parse(t, strings.Replace(seats, c.old, c.new, 1))
		problems := CheckBindings(d, []profile.ActionItem{reserve})
		var codes []Code
		for _, p := range problems {
			codes = append(codes, p.Code)
			if p.Message == "" || p.Remedy == "" || p.Line < 1 || p.Column < 1 || strings.ContainsAny(p.String(), "\n\t") {
				t.Errorf("%q: %+v", c.new, p)
			}
		}
		if !slices.Equal(codes, c.codes) {
			t.Errorf("%.60q for %.60q: %q, want %v", c.new, c.old, Messages(problems), c.codes)
		}
	}
}

func TestProblemsNameThePlace(t *testing.T) {
	text := strings.Replace(strings.Replace(seats, `"in":"header"`, `"in":"query"`, 1), `"operationId":"read"`, `"operationId":"rea"`, 1)
	problems := CheckBindings(parse(t, text), []profile.ActionItem{reserve, {ID: "other", Submit: "reserve", Status: "state", Verify: "state", Bindings: reserve.Bindings}})
	if len(problems) != 5 {
		t.Fatalf("%q", Messages(problems))
	}
	p := problems[0]
	if p.Action != "book" || p.OperationID != "reserve" || p.Method != "POST" || p.Path != "/seats" || p.Pointer != "/paths/~1seats/post" || p.Line != 2 || p.Column != 11 ||
		!strings.HasPrefix(p.String(), "book: submit (reserve, POST ") || !strings.Contains(p.Remedy, "Idempotency-Key") {
		t.Errorf("%+v", p)
	}
	if p := problems[1]; p.OperationID != "read" || p.Pointer != "/paths" || p.Line != 1 || p.Column < 70 {
		t.Errorf("%+v", p)
	}
	if p := problems[4]; p.Action != "other" || p.Code != CodeParameter {
		t.Errorf("%+v", p)
	}
}

func TestDocumentsThatAreNone(t *testing.T) {
	for text, kind := range map[string]jsontree.Kind{"null": jsontree.Null, "[]": jsontree.Array, `"3.1.0"`: jsontree.String, "3.1": jsontree.Number, "false": jsontree.Bool} {
		_, err := Parse([]byte(text))
		if e, ok := errors.AsType[*KindError](err); !ok || e.Kind != kind || !strings.Contains(err.Error(), kind.Name()) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", " ", "openapi: 3.1.0", "\ufeff" + seats, seats + "x", seats[:len(seats)-1], `{"a":01}`, "<html>", `{"a" 1}`, "[1,]", `{"paths":{"/a":{"get":{"x":"\q"}}}}`} {
		_, err := Parse([]byte(text))
		if e, ok := errors.AsType[*jsontree.SyntaxError](err); !ok || e.Line < 1 {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, where := range []string{`{"x":%s}`, `{"paths":%s}`, `{"paths":{"/a":%s}}`, `{"paths":{"/a":{"get":{"parameters":%s}}}}`, `{"servers":%s}`} {
		levels := strings.Count(where, "{")
		parse(t, fmt.Sprintf(where, nest(1000-levels)))
		_, err := Parse([]byte(fmt.Sprintf(where, nest(1001-levels))))
		if e, ok := errors.AsType[*jsontree.SyntaxError](err); !ok || !e.Depth {
			t.Errorf("%s, 1,001 levels: %v", where, err)
		}
	}
}

func TestIndex(t *testing.T) {
	op := func(method, path, id string) profile.Operation {
		return profile.Operation{Method: method, Path: path, OperationID: id}
	}
	for _, c := range []struct {
		text string
		ops  []profile.Operation
		want []Code
	}{
		{seats, nil, nil}, {seats, []profile.Operation{op("POST", "/seats", "reserve"), op("GET", "/seats/{seat}", "")}, nil},
		{seats, []profile.Operation{op("POST", "/seat", ""), op("GET", "/seats", ""), op("POST", "/seats", "Reserve"), op("POST", "/seats", "")}, []Code{CodePathMissing, CodeMethodMissing, CodeOperationID}},
		{`{"openapi":"3.","paths":{}}`, nil, nil}, {`{"openapi":"3.2.0","paths":{}}`, nil, nil}, {`{"openapi":"3","paths":{}}`, nil, []Code{CodeVersion}},
		{`{"swagger":"2.0","paths":{}}`, nil, []Code{CodeVersion}}, {`{"openapi":3.1,"paths":{}}`, nil, []Code{CodeVersion}}, {`{"openapi":"3.0.3"}`, nil, []Code{CodePaths}},
		{`{"openapi":"3.0.3","paths":null}`, nil, []Code{CodePaths}}, {`{"openapi":"3.0.3","paths":[]}`, nil, []Code{CodePaths}}, {`{}`, nil, []Code{CodeVersion, CodePaths}},
		{`{"openapi":"3.0.3","servers":[{}],"paths":{"/a":{"trace":{},"x":{}},"/b":null,"/c":{"get":null},"/d":{"get":[]},"\u002fe":{"get":{"operationId":"\ud800"}}}}`,
			[]profile.Operation{op("TRACE", "/a", ""), op("GET", "/b", ""), op("GET", "/c", ""), op("GET", "/d", ""), op("GET", "/e", "\xed\xa0\x80"), op("GET", "/e", "\uFFFD")},
			[]Code{CodeMethodMissing, CodeMethodMissing, CodeMethodMissing, CodeOperationID}},
		{`{"openapi":"3.0.3","paths":{"/a":{"get":{}},"/a":{"put":{}}}}`, []profile.Operation{op("PUT", "/a", ""), op("GET", "/a", ""), op("PUT", "/a", "x")}, []Code{CodeMethodMissing, CodeOperationID}},
	} {
		problems := CheckIndex(parse(t, c.text), profile.API{Operations: c.ops})
		var codes []Code
		for _, p := range problems {
			codes = append(codes, p.Code)
			if p.Remedy == "" || p.Line < 1 || p.Action != "" {
				t.Errorf("%+v", p)
			}
		}
		if !slices.Equal(codes, c.want) {
			t.Errorf("%.60s: %q, want %v", c.text, Messages(problems), c.want)
		}
	}
}

func TestOperationsAreListedInOrder(t *testing.T) {
	long := strings.Repeat("🚢", 511)
	d := parse(t, `{"openapi":"3.0.0","info":{"title":"T","description":"D"},"paths":{
"/b":{"trace":{},"put":{"summary":"s\n","operationId":""},"get":{"operationId":"`+long[:160*4]+`"},"post":{"operationId":"`+long[:161*4]+`","summary":7},"head":null,"PATCH":{}},
"//x":{"get":{}},"x":{"get":{}},"/q?":{"get":{}},"/h#":{"get":{}},"/a\\b":{"get":{}},"/`+long+`":{"get":{}},"/🚢`+long+`":{"get":{}},"/z":null,"/a":{"delete":{},"options":{},"patch":{},"head":{}},
"/b2":{"get":{}},"/b2":{"$ref":"#/x"}}}`)
	want := []profile.Operation{
		{Method: "GET", Path: "/b", OperationID: long[:160*4]}, {Method: "POST", Path: "/b"}, {Method: "PUT", Path: "/b", Summary: "s\n"}, {Method: "TRACE", Path: "/b"}, {Method: "GET", Path: "/" + long},
		{Method: "PATCH", Path: "/a"}, {Method: "DELETE", Path: "/a"}, {Method: "HEAD", Path: "/a"}, {Method: "OPTIONS", Path: "/a"},
	}
	if got := d.Operations(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if d.T.Info.Title != "T" || d.T.Info.Description != "D" || d.T.OpenAPI != "3.0.0" {
		t.Errorf("%+v", d.T)
	}
	if d := parse(t, `{"info":[],"paths":{}}`); d.T.Info.Title != "" || d.Operations() != nil {
		t.Errorf("%+v", d.T)
	}
}

// On our own fixtures the loader of kin-openapi must see the same operations.
func TestLoaderAgrees(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(seats))
	if err != nil {
		t.Fatal(err)
	}
	d := parse(t, seats)
	if len(d.Paths) != doc.Paths.Len() || d.T.OpenAPI != doc.OpenAPI || d.T.Info.Title != doc.Info.Title {
		t.Errorf("%d paths, want %d", len(d.Paths), doc.Paths.Len())
	}
	for _, p := range d.Paths {
		theirs := doc.Paths.Value(p.Name)
		if theirs == nil || len(theirs.Operations()) != len(p.Item.Operations()) {
			t.Fatalf("%s: %v", p.Name, theirs)
		}
		for method, op := range p.Item.Operations() {
			want := theirs.GetOperation(method)
			if op.OperationID != want.OperationID || op.Summary != want.Summary || len(op.Parameters) != len(want.Parameters) || takesJSON(op) != takesJSON(want) {
				t.Errorf("%s %s: %+v, want %+v", method, p.Name, op, want)
			}
			for i, param := range op.Parameters {
				if w := want.Parameters[i].Value; param.Value.Name != w.Name || param.Value.In != w.In || param.Value.Required != w.Required {
					t.Errorf("%s %s: parameter %+v, want %+v", method, p.Name, param.Value, w)
				}
			}
		}
	}
}

func TestFiles(t *testing.T) {
	action := strings.NewReplacer("\n", "").Replace(`{"agentic":"1.0.0","origin":"https://site.example","actions":[{"id":"book","description":"Book.","openapi":"/a.json",
"submit":"reserve","status":"state","verify":"read","request":{"header":"Idempotency-Key","scope":"principal-action","retentionSeconds":60},
"bindings":{"statusRequestId":"req","verifyResourceId":"seat"},"evidence":{"resourceIdPointer":"/i","requestIdPointer":"/r","statePointer":"/s","successValues":["x"],
"inputBindings":[{"inputPointer":"/a","resourcePointer":"/b"}]},"recovery":{"maxChecks":1,"checkDelayMs":0,"timeoutMs":100,"retry":"never-automatically"}}]}`)
	item := action[strings.Index(action, `{"id"`) : len(action)-2]
	two := strings.Replace(action, item, item+","+strings.NewReplacer(`"book"`, `"second"`, "/a.json", "/b.json").Replace(item), 1)
	site := `{"agentic":"1.1.0","type":"site","origin":"https://site.example","name":"a","description":"b","apis":[],"resources":[{"kind":"website","url":"https://site.example/","source":"https://site.example/","availability":"retrieved"}]}`
	pad := func(s string, n int) string { return s + strings.Repeat(" ", n-len(s)) }
	for _, c := range []struct {
		about, profile, openapi string // openapi "-" is none
		valid                   bool
		file                    string // of the first error
		warnings, notes         int
	}{
		{"action alone", action, "-", true, "", 0, 1}, {"action and document", action, seats, true, "", 0, 0}, {"site alone", site, "-", true, "", 0, 0},
		{"two documents", two, seats, true, "", 1, 0}, {"two documents, none binds", two, `{"openapi":"3.1.0","paths":{}}`, false, FileOpenAPI, 1, 0},
		{"site and nonsense", site, `["nonsense"]`, true, "", 0, 1}, {"site and object", site, `{"a":1,"a":2}`, true, "", 0, 1}, {"site and no JSON", site, "a: b", false, FileOpenAPI, 0, 0},
		{"action and list", action, "[]", false, FileOpenAPI, 0, 0}, {"action and empty file", action, "", false, FileOpenAPI, 0, 0}, {"action and BOM", action, "\ufeff" + seats, false, FileOpenAPI, 0, 0},
		{"wrong action", strings.Replace(action, "1.0.0", "1", 1), seats, false, FileProfile, 0, 1}, {"no JSON", "x", seats, false, FileProfile, 0, 1}, {"no JSON twice", "x", "y", false, FileProfile, 0, 0},
		{"duplicate", strings.Replace(action, `"agentic"`, `"agentic":1,"agentic"`, 1), "-", false, FileProfile, 0, 0},
		{"64 KiB", pad(action, profile.MaxSize), "-", true, "", 0, 1}, {"64 KiB and one byte", pad(action, profile.MaxSize+1), "-", false, FileProfile, 0, 0},
		{"256 KiB", action, pad(seats, profile.MaxOpenAPISize), true, "", 0, 0}, {"256 KiB and one byte", action, pad(seats, profile.MaxOpenAPISize+1), false, FileOpenAPI, 0, 0},
	} {
		v := ValidateFiles(Files{Profile: []byte(c.profile), OpenAPI: []byte(c.openapi), HasOpenAPI: c.openapi != "-"})
		if v.Valid != c.valid || v.Valid != (len(v.Errors) == 0) || len(v.Warnings) != c.warnings || len(v.Notes) != c.notes {
			t.Errorf("%s: %+v", c.about, v)
		}
		if c.file != "" && (len(v.Errors) == 0 || v.Errors[0].File != c.file) {
			t.Errorf("%s: %+v, want an error of the %s", c.about, v.Errors, c.file)
		}
	}
}
