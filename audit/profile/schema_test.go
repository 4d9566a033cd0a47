package profile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/jsontree"
)

// The exported limits are used to generate profiles; the schema judges them.
func TestLimitsAreThoseOfTheSchema(t *testing.T) {
	d, err := jsontree.Parse([]byte(SiteSchema))
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) *jsontree.Node {
		n := &d.Root
		for name := range strings.SplitSeq(path, ".") {
			n = n.Get(name)
		}
		if n == nil {
			t.Fatalf("the schema has no %s", path)
		}
		return n
	}
	for path, want := range map[string]int{
		"properties.name.maxLength": MaxNameLength, "properties.description.maxLength": MaxDescriptionLength, "properties.resources.maxItems": MaxResources,
		"properties.apis.maxItems": MaxAPIs, "$defs.url.maxLength": MaxURLLength, "$defs.resource.properties.title.maxLength": MaxTitleLength,
		"$defs.api.properties.openapi.maxLength": MaxOpenAPILength, "$defs.api.properties.operations.maxItems": MaxOperations,
		"$defs.operation.properties.path.maxLength": MaxPathLength, "$defs.operation.properties.operationId.maxLength": MaxOperationIDLength,
		"$defs.operation.properties.summary.maxLength": MaxSummaryLength,
	} {
		if got := at(path).Num; got != float64(want) {
			t.Errorf("%s is %v, the constant says %d", path, got, want)
		}
	}
	var methods, kinds []string
	for _, m := range at("$defs.operation.properties.method.enum").Items {
		methods = append(methods, m.Str)
	}
	for _, k := range at("$defs.resource.properties.kind.enum").Items {
		kinds = append(kinds, k.Str)
	}
	if !slices.Equal(methods, Methods) {
		t.Errorf("methods %q, want %q", methods, Methods)
	}
	if want := []ResourceKind{KindWebsite, KindDocumentation, KindLLMs, KindOpenAPI, KindMCP, KindA2A, KindAgentAuth, KindAgentic}; fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("kinds %q, want %q", kinds, want)
	}
	// What instance cuts off must not matter to any limit.
	for _, text := range []string{SiteSchema, ActionSchema} {
		for _, keyword := range []string{"maxItems", "maximum", "minimum"} {
			for part := range strings.SplitSeq(text, `"`+keyword+`": `) {
				var limit float64
				if n, _ := fmt.Sscanf(part, "%g", &limit); n == 1 && (keyword == "maxItems" && limit >= maxInstanceItems || math.Abs(limit) >= largest) {
					t.Errorf("%s %g is beyond what is handed to the validator", keyword, limit)
				}
			}
		}
	}
}

func TestSchemasAreNeverFetched(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "none is fetched") {
			t.Errorf("a schema that refers to another one compiled: %v", r)
		}
	}()
	compile("https://site.example/a", `{"$ref":"https://site.example/b"}`)
}

func TestSchemaIdentifiers(t *testing.T) {
	for id, text := range map[string]string{SiteSchemaID: SiteSchema, ActionSchemaID: ActionSchema} {
		d, err := jsontree.Parse([]byte(text))
		if err != nil || !d.Root.Get("$id").IsString(id) || !d.Root.Get("$schema").IsString("https://json-schema.org/draft/2020-12/schema") {
			t.Errorf("%s: %v", id, err)
		}
		if strings.Count(text, `"type": "object"`) != strings.Count(text, `"additionalProperties": false`) {
			t.Errorf("%s: an object lets unknown members through", id)
		}
	}
}

// Values beyond the reach of the schema are cut before the validator sees
// them; the messages speak of the file.
func TestHostileValuesAreJudgedAsTheyStand(t *testing.T) {
	deep := strings.Repeat("[", 900) + strings.Repeat("]", 900)
	for _, c := range []struct{ pointer, value, code, says string }{
		{"/resources", repeat("1", 5000), string(CodeCount), "5000 entries"}, {"/origin", deep, string(CodeType), "a list"}, {"/x", deep, string(CodeUnknown), `"x"`},
		{"/apis", `{"a":1}`, string(CodeType), "an object"}, {"/name", "1e400", string(CodeType), "too large"},
		{"/name", "-0", string(CodeType), "is 0"}, {"/name", "true", string(CodeType), "is true"},
	} {
		v := validate(t, edit(t, validSite, c.pointer, c.value), Options{})
		ok := false
		for _, p := range v.Problems {
			ok = ok || p.Pointer == c.pointer && string(p.Code) == c.code && strings.Contains(p.Message, c.says)
		}
		if !ok {
			t.Errorf("%s = %.40s: %.300q", c.pointer, c.value, v.Messages())
		}
	}
	v := validate(t, edit(t, validAction, "/actions/0/evidence/successValues", "["+deep+","+deep+",1e300,1e301,1e-300,-1e-300]"), Options{})
	for _, p := range v.Problems {
		if p.Code == CodeUnique && !strings.Contains(p.Message, "0 and 1") {
			t.Errorf("%v: only the first two are equal", p)
		}
	}
	v = validate(t, edit(t, validAction, "/actions/0/request/retentionSeconds", "1e-300"), Options{})
	if len(v.Problems) != 1 || v.Problems[0].Code != CodeType {
		t.Errorf("%q, want that it is no whole number", v.Messages())
	}
}

func TestPathFault(t *testing.T) {
	for path, fault := range map[string]bool{
		"/": false, "/a": false, "/a/": false, "/a//b": false, "/...": false, "/.a/b.": false, "/{x}": false, "/ä🚢": false, "/a;b=c": false, "/~": false, "/\u200b": false,
		"": true, "a": true, "//a": true, "/.": true, "/..": true, "/a/../b": true, "/a/./b": true, "/%2e": true, "/a?b": true, "/a#b": true, `/a\b`: true,
		"/a b": true, "/a\tb": true, "/a\nb": true, "/a\x00": true, "/a\x7f": true, "/a\u0080": true, "/a\u00a0": true, "/a\u2028": true, "/a\u3000": true, "/a\ufeff": true,
	} {
		if got := PathFault(path); (got != "") != fault {
			t.Errorf("%q: %q", path, got)
		}
	}
}
