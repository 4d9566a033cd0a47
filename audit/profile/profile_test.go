package profile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agentaudit/audit/jsontree"
)

const validSite = `{"$schema":"https://ruagentic.org/schemas/site-1.1.schema.json","agentic":"1.1.0","type":"site",
"origin":"https://site.example","name":"Ferries","description":"Boats.","resources":[
{"kind":"openapi","url":"https://site.example/o.json","source":"https://site.example/","availability":"retrieved","title":"API"},
{"kind":"mcp","url":"https://tools.example/mcp","source":"https://site.example/","availability":"linked"}],
"apis":[{"document":"https://site.example/o.json","openapi":"3.1.0","operations":[
{"method":"GET","path":"/a","operationId":"readA","summary":"Read"},{"method":"POST","path":"/a"}]}]}`

const validAction = `{"$schema":"x","agentic":"1.0.0","origin":"https://site.example","actions":[{"id":"reserve","description":"Reserve.",
"openapi":"/openapi.json","submit":"a","status":"b","verify":"c",
"request":{"header":"Idempotency-Key","scope":"principal-action","retentionSeconds":3600},
"bindings":{"statusRequestId":"req","verifyResourceId":"seat"},
"evidence":{"resourceIdPointer":"/id","requestIdPointer":"/req","statePointer":"/state","successValues":["done"],
"inputBindings":[{"inputPointer":"/a","resourcePointer":"/a"}]},
"recovery":{"maxChecks":4,"checkDelayMs":250,"timeoutMs":2500,"retry":"never-automatically"}}]}`

// edit sets the value at a JSON Pointer without escapes; "" removes it.
func edit(t *testing.T, text, pointer, value string) string {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	at := root
	tokens := strings.Split(pointer, "/")[1:]
	for _, token := range tokens[:len(tokens)-1] {
		if list, ok := at.([]any); ok {
			i, _ := strconv.Atoi(token)
			at = list[i]
		} else {
			at = at.(map[string]any)[token]
		}
	}
	last := tokens[len(tokens)-1]
	if list, ok := at.([]any); ok {
		i, _ := strconv.Atoi(last)
		list[i] = json.RawMessage(value)
	} else if value == "" {
		delete(at.(map[string]any), last)
	} else {
		at.(map[string]any)[last] = json.RawMessage(value)
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func validate(t *testing.T, text string, o Options) *Validation {
	t.Helper()
	d, err := Decode([]byte(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	v := d.Validate(o)
	if v.Valid() != (v.Profile != nil) || v.Valid() != (len(v.Messages()) == 0) {
		t.Fatalf("%.200s: valid %v, profile %v, messages %v", text, v.Valid(), v.Profile, v.Messages())
	}
	if err := v.Err(); v.Valid() != (err == nil) || err != nil && !strings.Contains(err.Error(), v.Messages()[0]) {
		t.Fatalf("%.200s: error %v, messages %v", text, err, v.Messages())
	}
	return v
}

func chars(n int) string { return `"` + strings.Repeat("a", n) + `"` }
func ships(n int) string { return `"` + strings.Repeat("🚢", n) + `"` }

// repeat makes a list of a JSON value; {n} in it is the index.
func repeat(value string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(value, "{n}", strconv.Itoa(i))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// Every rule of the tables, on both sides. A case with a code breaks exactly
// that rule at that pointer.
func TestSiteRules(t *testing.T) {
	resource := func(i string) string { return "/resources/0/" + i }
	op := "/apis/0/operations/0/"
	const retrieved = `{"kind":"website","url":"https://site.example/{n}","source":"https://site.example/","availability":"retrieved"}`
	api := `{"kind":"openapi","url":"https://site.example/o.json","source":"https://site.example/","availability":"retrieved"},`
	index := `{"document":"https://site.example/o.json","openapi":"3","operations":[]}`
	for _, c := range []struct {
		pointer, value string
		code           Code
		at             string // pointer of the problem where it is another
	}{
		{"/$schema", "", "", ""}, {"/$schema", `"https://ruagentic.org/schemas/site-1.1.schema.json#"`, CodeConst, ""}, {"/$schema", "null", CodeConst, ""},
		{"/agentic", `"1.1"`, CodeConst, ""}, {"/agentic", "1.1", CodeConst, ""}, {"/agentic", "", CodeRequired, "the document"},
		{"/name", chars(160), "", ""}, {"/name", ships(160), "", ""}, {"/name", chars(161), CodeLength, ""}, {"/name", ships(161), CodeLength, ""},
		{"/name", `""`, CodeLength, ""}, {"/name", `" "`, "", ""}, {"/name", "7", CodeType, ""}, {"/name", "", CodeRequired, "the document"},
		{"/description", ships(600), "", ""}, {"/description", ships(601), CodeLength, ""}, {"/description", `""`, CodeLength, ""},
		{"/x", "1", CodeUnknown, ""}, {"/resources/0/x", "1", CodeUnknown, ""}, {"/apis/0/x", "1", CodeUnknown, ""}, {op + "x", "{}", CodeUnknown, ""},
		{"/resources", repeat(retrieved, 1), CodeDocument, "/apis/0/document"}, {"/resources", "[]", CodeCount, ""},
		{"/resources", "[" + api + repeat(retrieved, 39)[1:], "", ""}, {"/resources", "[" + api + repeat(retrieved, 40)[1:], CodeCount, ""},
		{"/resources", "{}", CodeType, ""}, {"/resources/0", "null", CodeType, ""},
		{resource("kind"), `"OpenAPI"`, CodeEnum, ""}, {resource("kind"), "", CodeRequired, "/resources/0"},
		{resource("availability"), `"Retrieved"`, CodeEnum, ""}, {resource("availability"), `"linked"`, CodeRetrieved, "/resources"},
		{resource("title"), chars(160), "", ""}, {resource("title"), ships(161), CodeLength, ""}, {resource("title"), `""`, CodeLength, ""}, {resource("title"), "", "", ""},
		{"/resources/1/url", `"https://tools.example/` + strings.Repeat("a", 2026) + `"`, "", ""},
		{"/resources/1/url", `"https://tools.example/` + strings.Repeat("a", 2027) + `"`, CodeLength, ""},
		// 2048 characters as written, more when serialised.
		{"/resources/1/url", `"https://tools.example/` + strings.Repeat("ä", 2026) + `"`, CodeLink, ""},
		{"/resources/1/url", `"/mcp"`, CodeLink, ""}, {"/resources/1/url", `"tools.example/mcp"`, CodeLink, ""}, {"/resources/1/url", `"https://localhost./"`, CodeLink, ""},
		{"/resources/1/source", `"https://10.0.0.1/"`, CodeLink, ""}, {"/resources/1/source", `"https://site.example/?a"`, CodeLink, ""},
		{"/resources/1/url", `" https://tools.example\\mcp "`, "", ""}, {"/resources/1/url", `"https://tools.example/\ud800"`, "", ""},
		{"/resources/1", `{"kind":"openapi","url":"https://SITE.example/x/../o.json","source":"https://site.example/","availability":"linked"}`, CodeUniqueResource, ""},
		{"/resources/1", `{"kind":"openapi","url":"https://site.example/o.json#","source":"https://site.example/","availability":"linked"}`, CodeUniqueResource, ""},
		{"/resources/1", `{"kind":"llms","url":"https://site.example/o.json","source":"https://site.example/","availability":"linked"}`, "", ""},
		{"/apis", "[]", "", ""}, {"/apis", "", CodeRequired, "the document"}, {"/apis", repeat(index, 5), "", ""}, {"/apis", repeat(index, 6), CodeCount, ""},
		{"/apis/0/document", `"https://SITE.example:443/./o.json"`, "", ""}, {"/apis/0/document", `"https://site.example/O.json"`, CodeDocument, ""},
		{"/apis/0/document", `"https://tools.example/mcp"`, CodeDocument, ""}, {"/apis/0/document", `"o.json"`, CodeDocument, ""},
		{"/apis/0/openapi", ships(32), "", ""}, {"/apis/0/openapi", chars(33), CodeLength, ""}, {"/apis/0/openapi", `""`, CodeLength, ""},
		{"/apis/0/operations", "[]", "", ""}, {"/apis/0/operations", "", CodeRequired, "/apis/0"},
		{"/apis/0/operations", repeat(`{"method":"GET","path":"/{n}"}`, 160), "", ""}, {"/apis/0/operations", repeat(`{"method":"GET","path":"/{n}"}`, 161), CodeCount, ""},
		{op + "method", `"get"`, CodeEnum, ""}, {op + "method", `"TRACE"`, "", ""}, {op + "method", `"POST"`, CodeUniqueOperation, "/apis/0/operations/1"},
		{op + "path", `"` + "/" + strings.Repeat("🚢", 511) + `"`, "", ""}, {op + "path", `"` + "/" + strings.Repeat("🚢", 512) + `"`, CodeLength, ""},
		{op + "path", `"//a"`, CodeOperationPath, ""}, {op + "path", `"/a?"`, CodeOperationPath, ""}, {op + "path", `"/a#b"`, CodeOperationPath, ""},
		{op + "path", `"/a\\b"`, CodeOperationPath, ""}, {op + "path", `"a"`, CodeOperationPath, ""}, {op + "path", `"/a//b%2f/../{x} \t"`, "", ""}, {op + "path", `"/"`, "", ""},
		{op + "operationId", ships(160), "", ""}, {op + "operationId", chars(161), CodeLength, ""}, {op + "operationId", `""`, CodeLength, ""},
		{op + "summary", ships(240), "", ""}, {op + "summary", chars(241), CodeLength, ""}, {op + "summary", `""`, CodeLength, ""}, {op + "summary", "null", CodeType, ""},
		{"/origin", `"https://site.example/"`, CodeOrigin, ""}, {"/origin", `"https://Site.example"`, CodeOrigin, ""}, {"/origin", `"https://site.example:443"`, CodeOrigin, ""},
		{"/origin", `"http://site.example"`, CodeOrigin, ""}, {"/origin", `"https://localhost."`, CodeOrigin, ""}, {"/origin", `"https://site.example."`, "", ""},
		{"/origin", `"https://8.8.8.8"`, "", ""}, {"/origin", `"https://192.168.1.1"`, CodeOrigin, ""}, {"/origin", chars(2049), CodeLength, ""},
	} {
		v := validate(t, edit(t, validSite, c.pointer, c.value), Options{})
		check(t, v, c.pointer, c.value, c.code, c.at)
		if v.Type != SiteType {
			t.Errorf("%s: type %s", c.pointer, v.Type)
		}
	}
}

func check(t *testing.T, v *Validation, pointer, value string, code Code, at string) {
	t.Helper()
	switch at {
	case "":
		at = pointer
	case "the document":
		at = ""
	}
	if code == "" {
		if !v.Valid() {
			t.Errorf("%s = %.80s: %v, want valid", pointer, value, v.Messages())
		}
		return
	}
	if len(v.Problems) != 1 || v.Problems[0].Code != code || v.Problems[0].Pointer != at {
		t.Errorf("%s = %.80s: %v, want the rule %s broken at %q alone", pointer, value, v.Messages(), code, at)
	}
}

func TestActionRules(t *testing.T) {
	const a = "/actions/0/"
	name := func(member string) (out [][3]string) {
		for value, code := range map[string]Code{
			chars(64): "", chars(65): CodeLength, `""`: CodeLength, `"9a"`: CodePattern, `"_a"`: CodePattern, `"Z_-9"`: "", `"a b"`: CodePattern,
			`"ä"`: CodePattern, `"a\n"`: CodePattern, "1": CodeType,
		} {
			out = append(out, [3]string{a + member, value, string(code)})
		}
		return out
	}
	pointer := func(member string) (out [][3]string) {
		for value, code := range map[string]Code{
			`"/` + strings.Repeat("a", 199) + `"`: "", `"/` + strings.Repeat("a", 200) + `"`: CodeLength, `""`: CodeLength, `"a"`: CodePattern,
			`"/"`: "", `"//"`: "", `"/~0~1/ä\n"`: "", `"/~"`: CodePattern, `"/~2"`: CodePattern, `"/a\ud800"`: "", `"#/a"`: CodePattern,
		} {
			out = append(out, [3]string{a + member, value, string(code)})
		}
		return out
	}
	whole := func(member string, low, high int) (out [][3]string) {
		for value, code := range map[string]Code{
			fmt.Sprint(low): "", fmt.Sprint(high): "", fmt.Sprint(low - 1): CodeRange, fmt.Sprint(high + 1): CodeRange, fmt.Sprintf("%d.0", low): "",
			fmt.Sprintf("%d.5", low): CodeType, "1e400": CodeRange, "-1e400": CodeRange, "1e30": CodeRange, `"100"`: CodeType, fmt.Sprintf("%de0", high): "",
		} {
			out = append(out, [3]string{a + member, value, string(code)})
		}
		return out
	}
	for _, rows := range [][][3]string{
		name("id"), name("submit"), name("status"), name("verify"), name("bindings/statusRequestId"), name("bindings/verifyResourceId"),
		pointer("evidence/resourceIdPointer"), pointer("evidence/requestIdPointer"), pointer("evidence/statePointer"),
		pointer("evidence/inputBindings/0/inputPointer"), pointer("evidence/inputBindings/0/resourcePointer"),
		whole("request/retentionSeconds", 60, 604800), whole("recovery/maxChecks", 1, 10), whole("recovery/checkDelayMs", 0, 5000), whole("recovery/timeoutMs", 100, 10000),
		{
			{"/$schema", "", ""}, {"/$schema", `"https://evil.example/"`, ""}, {"/$schema", `""`, string(CodeLength)}, {"/$schema", "1", string(CodeType)},
			{"/agentic", `"1.1.0"`, string(CodeConst)}, {"/actions", "[]", string(CodeCount)},
			{"/type", `"action"`, string(CodeUnknown)}, {a + "x", "1", string(CodeUnknown)}, {a + "request/x", "1", string(CodeUnknown)}, {a + "bindings/x", "1", string(CodeUnknown)},
			{a + "evidence/x", "1", string(CodeUnknown)}, {a + "evidence/inputBindings/0/x", "1", string(CodeUnknown)}, {a + "recovery/x", "1", string(CodeUnknown)},
			{a + "description", ships(300), ""}, {a + "description", ships(301), string(CodeLength)}, {a + "description", `""`, string(CodeLength)},
			{a + "request/header", `"idempotency-key"`, string(CodeConst)}, {a + "request/scope", `"global"`, string(CodeConst)}, {a + "recovery/retry", `"once"`, string(CodeConst)},
			{a + "evidence/successValues", "[]", string(CodeCount)}, {a + "evidence/successValues", repeat(`"{n}"`, 10), ""}, {a + "evidence/successValues", repeat(`"{n}"`, 11), string(CodeCount)},
			{a + "evidence/successValues", `["a","A"]`, ""}, {a + "evidence/successValues", `["a","\u0061"]`, string(CodeUnique)}, {a + "evidence/successValues", "[" + ships(64) + "]", ""},
			{a + "evidence/successValues/0", chars(65), string(CodeLength)}, {a + "evidence/successValues/0", `""`, string(CodeLength)},
			// Lone surrogates are different strings, though no UTF-8 can tell.
			{a + "evidence/successValues", `["\ud800","\ud801","\ufffd"]`, ""}, {a + "evidence/successValues", `["\ud800","\ud801","\ud800"]`, string(CodeUnique)},
			{a + "evidence/inputBindings", "[]", string(CodeCount)}, {a + "evidence/inputBindings", repeat(`{"inputPointer":"/a","resourcePointer":"/a"}`, 20), ""},
			{a + "evidence/inputBindings", repeat(`{"inputPointer":"/a","resourcePointer":"/a"}`, 21), string(CodeCount)},
			{a + "openapi", `"/` + strings.Repeat("a", 255) + `"`, ""}, {a + "openapi", `"/` + strings.Repeat("a", 256) + `"`, string(CodeLength)},
			{a + "openapi", `"/"`, string(CodePattern)}, {a + "openapi", `"/a/"`, string(CodePattern)}, {a + "openapi", `"//a"`, string(CodePattern)}, {a + "openapi", `"/a//b"`, string(CodePattern)},
			{a + "openapi", `"a"`, string(CodePattern)}, {a + "openapi", `"/a?"`, string(CodePattern)}, {a + "openapi", `"/a\\b"`, string(CodePattern)},
			{a + "openapi", `"/a/b.json"`, ""}, {a + "openapi", `"/.a/..b/c."`, ""}, {a + "openapi", `"/./a"`, string(CodeOpenAPIPath)}, {a + "openapi", `"/a/.."`, string(CodeOpenAPIPath)},
			{a + "openapi", `"/a%20b"`, string(CodeOpenAPIPath)}, {a + "openapi", `"/\t/host"`, string(CodeOpenAPIPath)}, {a + "openapi", `"/a\u0085"`, string(CodeOpenAPIPath)},
			{a + "openapi", `"/a\u00a0b"`, string(CodeOpenAPIPath)}, {a + "openapi", `"/\ufeffb"`, string(CodeOpenAPIPath)}, {a + "openapi", `"/\u3000"`, string(CodeOpenAPIPath)}, {a + "openapi", `"/ä"`, ""},
			{"/origin", `"https://site.example:8443"`, ""}, {"/origin", `"https://localhost"`, ""}, {"/origin", `"https://10.0.0.1"`, ""}, {"/origin", `"https://[::1]"`, ""},
			{"/origin", `"https://site.example:443"`, string(CodeOrigin)}, {"/origin", `"https://Site.example"`, string(CodeOrigin)}, {"/origin", `"http://site.example"`, string(CodeOrigin)},
			{"/origin", `"http://localhost"`, string(CodeOrigin)}, {"/origin", `"https://site.example?x"`, string(CodeOrigin)}, {"/origin", `"https://a@site.example"`, string(CodeOrigin)},
			{"/origin", `"https://site.example/"`, string(CodePattern)}, {"/origin", `"ftp://site.example"`, string(CodePattern)}, {"/origin", `"https://"`, string(CodePattern)},
			{"/origin", `"https://` + strings.Repeat("a.", 122) + `aaaa"`, ""}, {"/origin", `"https://` + strings.Repeat("a.", 122) + `aaaaa"`, string(CodeLength)},
		},
	} {
		for _, c := range rows {
			check(t, validate(t, edit(t, validAction, c[0], c[1]), Options{}), c[0], c[1], Code(c[2]), "")
		}
	}
	for _, missing := range []string{
		"agentic", "origin", "actions", "actions/0/id", "actions/0/description", "actions/0/openapi", "actions/0/submit", "actions/0/status", "actions/0/verify",
		"actions/0/request", "actions/0/request/header", "actions/0/request/scope", "actions/0/request/retentionSeconds", "actions/0/bindings",
		"actions/0/bindings/statusRequestId", "actions/0/bindings/verifyResourceId", "actions/0/evidence", "actions/0/evidence/resourceIdPointer",
		"actions/0/evidence/requestIdPointer", "actions/0/evidence/statePointer", "actions/0/evidence/successValues", "actions/0/evidence/inputBindings",
		"actions/0/evidence/inputBindings/0/inputPointer", "actions/0/evidence/inputBindings/0/resourcePointer", "actions/0/recovery",
		"actions/0/recovery/maxChecks", "actions/0/recovery/checkDelayMs", "actions/0/recovery/timeoutMs", "actions/0/recovery/retry",
	} {
		p := "/" + missing
		parent := p[:strings.LastIndex(p, "/")]
		if parent == "" {
			parent = "the document"
		}
		check(t, validate(t, edit(t, validAction, p, ""), Options{}), p, "nothing", CodeRequired, parent)
	}
}

func TestAllBrokenRulesOfActionsAreReported(t *testing.T) {
	second := strings.Replace(validAction[strings.Index(validAction, `[{"id"`)+1:strings.LastIndex(validAction, "]}")], `"submit":"a","status":"b"`, `"submit":"a","status":"a"`, 1)
	text := strings.Replace(edit(t, validAction, "/origin", `"https://Site.example"`), `]}]}`, `]}]}`, 1)
	text = strings.TrimSuffix(text, "]"+text[strings.LastIndex(text, "]")+1:]) + "," + second + text[strings.LastIndex(text, "]"):]
	text = strings.Replace(text, `"openapi":"/openapi.json"`, `"openapi":"/a/../b"`, 1)
	v := validate(t, text, Options{})
	var codes []Code
	for _, p := range v.Problems {
		codes = append(codes, p.Code)
	}
	slices.Sort(codes)
	if want := []Code{CodeDistinct, CodeOpenAPIPath, CodeOrigin, CodeUniqueID}; !slices.Equal(codes, want) {
		t.Errorf("%v, want the rules %v", v.Messages(), want)
	}
	for _, p := range v.Problems {
		if (p.Code == CodeDistinct || p.Code == CodeOpenAPIPath) && !strings.HasPrefix(p.Message, "reserve: ") {
			t.Errorf("%s does not name its action first", p)
		}
	}
	for _, same := range [][2]string{{"status", "a"}, {"verify", "a"}, {"verify", "b"}} {
		check(t, validate(t, edit(t, validAction, "/actions/0/"+same[0], `"`+same[1]+`"`), Options{}), "/actions/0/"+same[0], same[1], CodeDistinct, "")
	}
}

func TestLocalOrigins(t *testing.T) {
	for origin, allowed := range map[string]bool{
		"http://localhost": true, "http://localhost:3000": true, "http://127.0.0.1:8080": true, "http://[::1]:1": true, "https://localhost:1": true,
		"http://127.0.0.2": false, "http://localhost.": false, "http://a.localhost": false, "http://127.1": false, "http://localhost:80": false, "http://[0::1]": false,
	} {
		v := validate(t, edit(t, validAction, "/origin", `"`+origin+`"`), Options{AllowLocal: true})
		if v.Valid() != allowed {
			t.Errorf("%s: %v, want valid %v", origin, v.Messages(), allowed)
		}
	}
	if validate(t, edit(t, validSite, "/origin", `"http://localhost"`), Options{AllowLocal: true}).Valid() {
		t.Error("a site profile has no local origin, whatever is allowed")
	}
}

func TestFirstBrokenRuleOfASite(t *testing.T) {
	text := validSite
	for _, step := range []struct {
		pointer, value string
		code           Code
	}{ // each breaks an earlier rule than the one before
		{"/apis/0/operations/1/method", `"GET"`, CodeUniqueOperation}, {"/apis/0/operations/1/path", `"a"`, CodeOperationPath},
		{"/apis/0/document", `"https://other.example/"`, CodeDocument},
		{"/resources/1", `{"kind":"openapi","url":"https://site.example/o.json","source":"https://site.example/","availability":"linked"}`, CodeUniqueResource},
		{"/resources/1/source", `"x"`, CodeLink}, {"/resources/0/availability", `"linked"`, CodeRetrieved}, {"/origin", `"x"`, CodeOrigin}, {"/name", "1", CodeType},
	} {
		text = edit(t, text, step.pointer, step.value)
		if v := validate(t, text, Options{}); len(v.Problems) != 1 || v.Problems[0].Code != step.code {
			t.Errorf("with %s wrong too: %v, want only %s", step.pointer, v.Messages(), step.code)
		}
	}
}

func TestCompactSizeOfASite(t *testing.T) {
	build := func(pad int) string {
		var ops []string
		for i := range 127 {
			ops = append(ops, fmt.Sprintf(`{"method":"GET","path":"/%03d%s"}`, i, strings.Repeat("a", 480)))
		}
		text := strings.ReplaceAll(edit(t, validSite, "/apis/0/operations", "["+strings.Join(ops, ",")+"]"), "\n", "")
		d, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		missing := MaxSize + pad - jsontree.CompactSize(&d.Tree.Root) + len("Boats.")
		return edit(t, text, "/description", chars(missing))
	}
	if v := validate(t, build(0)+strings.Repeat(" ", 1000), Options{}); !v.Valid() {
		t.Errorf("65,536 bytes and white space: %v", v.Messages())
	}
	check(t, validate(t, build(1), Options{}), "", "65,537 bytes", CodeSize, "the document")
	if CheckSize(make([]byte, MaxSize)) != nil || CheckSize(make([]byte, MaxSize+1)) == nil {
		t.Error("CheckSize draws the line elsewhere")
	}
}

func TestTypeIsWhatTheDocumentSays(t *testing.T) {
	for text, want := range map[string]Type{
		`{"type":"site"}`: SiteType, `{"type":"Site"}`: ActionType, `{"type":["site"]}`: ActionType, `{}`: ActionType, `[]`: ActionType, "null": ActionType,
		`"site"`: ActionType, `{"t\u0079pe":"s\u0069te"}`: SiteType, `{"type":"x","type":"site"}`: SiteType,
	} {
		d, err := Decode([]byte(text))
		if err != nil || d.Type != want {
			t.Errorf("%s: %v, %v, want %s", text, d.Type, err, want)
		}
	}
}

func TestDuplicatesInvalidate(t *testing.T) {
	v := validate(t, strings.Replace(validAction, `"id":"reserve"`, `"id":"reserve","id":"reserve"`, 1), Options{})
	if len(v.Problems) != 1 || v.Problems[0].Code != CodeDuplicate || v.Problems[0].Pointer != "/actions/0/id" || !strings.Contains(v.Messages()[0], `"id"`) {
		t.Errorf("%v", v.Messages())
	}
	v = validate(t, "{"+strings.Repeat(`"a":1,`, 500)+`"a":1}`, Options{})
	if len(v.Problems) != MaxProblems || v.More != 400 || !strings.Contains(v.Messages()[MaxProblems], "400 more") {
		t.Errorf("%d problems and %d more, %q", len(v.Problems), v.More, v.Messages()[MaxProblems])
	}
	v = validate(t, `{"`+strings.Repeat("b", 30_000)+`":{`+strings.Repeat(`"a":1,`, 50)+`"a":1}}`, Options{})
	if len(v.Problems) != 2 || v.More != 48 {
		t.Errorf("long pointers: %d problems and %d more", len(v.Problems), v.More)
	}
}

func TestProblemsAreSortedAndPlaced(t *testing.T) {
	v := validate(t, "{\"x\":1,\n \"actions\":[ 5,\n{}], \"a/~b\":\"\u202e\"}", Options{})
	var got []string
	for _, p := range v.Problems {
		if p.Code != CodeRequired {
			got = append(got, fmt.Sprintf("%s %d:%d", p.Pointer, p.Line, p.Column))
		}
	}
	if want := []string{"/x 1:2", "/actions/0 2:14", "/a~1~0b 3:6"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMessagesNeverRepeatMuchOfTheFile(t *testing.T) {
	long := strings.Repeat("\u202e🚢", 5000)
	for _, text := range []string{
		`{"` + long + `":1}`, `{"type":"` + long + `"}`, `{"type":"site","agentic":"` + long + `"}`, `{"` + long + `":1,"` + long + `":2}`,
		edit(t, validAction, "/origin", `"https://`+strings.Repeat("\u202e", 200)+`"`), edit(t, validSite, "/resources/0/url", `"`+strings.Repeat("\u202e🚢", 1000)+`"`),
		edit(t, validSite, "/resources/0/kind", `"\n\u0000`+long+`"`), edit(t, validSite, "/apis/0/operations/0/path", `"\n`+strings.Repeat("\u202e🚢", 200)+`"`),
	} {
		v := validate(t, text, Options{})
		if v.Valid() {
			t.Errorf("%.100s is valid", text)
		}
		for _, m := range v.Messages() {
			if len(m) > 1800 || strings.ContainsAny(m, "\u202e\n\x00") {
				t.Errorf("%d bytes: %.300q", len(m), m)
			}
		}
	}
}

func TestTypedResult(t *testing.T) {
	s := validate(t, validSite, Options{}).Profile.(*Site)
	if s.ServingOrigin() != "https://site.example" || len(s.Resources) != 2 || s.Resources[0].Title != "API" || s.Resources[1].Title != "" ||
		s.Resources[1].Link.String() != "https://tools.example/mcp" || s.Resources[0].SourceLink.String() != "https://site.example/" ||
		s.APIs[0].Link.String() != "https://site.example/o.json" || s.APIs[0].Operations[0] != (Operation{"GET", "/a", "readA", "Read"}) {
		t.Errorf("%+v", s)
	}
	again := validate(t, jsontree.Stringify(s.Node(), "  "), Options{})
	if !again.Valid() || jsontree.Stringify(again.Profile.(*Site).Node(), "") != strings.ReplaceAll(validSite, "\n", "") {
		t.Errorf("Node writes another profile: %s", jsontree.Stringify(s.Node(), ""))
	}
	a := validate(t, validAction, Options{}).Profile.(*Action)
	item := a.Actions[0]
	if a.Type() != ActionType || item.Evidence.SuccessValues[0] != "done" || item.Recovery != (Recovery{4, 250, 2500, "never-automatically"}) ||
		item.Bindings != (Bindings{"req", "seat"}) || item.Request.RetentionSeconds != 3600 || item.Evidence.InputBindings[0].ResourcePointer != "/a" ||
		!slices.Equal(a.OpenAPIPaths(), []string{"/openapi.json"}) || len(a.ActionsOf("/openapi.json")) != 1 || len(a.ActionsOf("/x")) != 0 {
		t.Errorf("%+v", a)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{validSite, validAction, "{}", `{"type":"site"}`, `{"a":1,"a":2}`, `[1e999]`, `{"type":"site","resources":[{"url":"\ud800"}]}`, "\xff"} {
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, local bool) {
		d, err := Decode(data)
		if err != nil {
			return
		}
		v := d.Validate(Options{AllowLocal: local})
		if v.Valid() != (v.Profile != nil) {
			t.Fatalf("valid %v with profile %v", v.Valid(), v.Profile)
		}
		for i, p := range v.Problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" || p.Code == "" || strings.Contains(p.Message, "\n") {
				t.Fatalf("%+v", p)
			}
			if i > 0 && v.Problems[i-1].Line > p.Line {
				t.Fatalf("not sorted: %v", v.Problems)
			}
		}
		if s, ok := v.Profile.(*Site); ok {
			if again, err := Decode([]byte(jsontree.Stringify(s.Node(), ""))); err != nil || !again.Validate(Options{}).Valid() {
				t.Fatalf("Node of a valid profile is not valid: %v", err)
			}
		}
	})
}
