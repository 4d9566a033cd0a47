package discovery

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agentaudit/audit/profile"
	"agentaudit/audit/report"
)

func siteOf(t *testing.T, text string) *profile.Site {
	t.Helper()
	doc, err := profile.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v := doc.Validate(profile.Options{})
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return v.Profile.(*profile.Site)
}

func driftWeb(operations string) map[string]answer {
	return map[string]answer{
		"/":             pageOf(`<title>A</title><a href="/docs/a">a</a>`),
		"/docs/a":       pageOf("a"),
		"/openapi.json": jsonOf(`{"openapi":"3.1.0","paths":{` + operations + `}}`),
	}
}

func TestAFreshProfileHasNoDrift(t *testing.T) {
	r := newWeb(driftWeb(`"/a":{"get":{}}`)).mustScan(t, Options{})
	if d := Compare(siteOf(t, r.Files.JSON), r, nil); !d.Empty() {
		t.Errorf("drift %s", asJSON(t, d))
	}
}

func TestDriftNamesWhatChanged(t *testing.T) {
	before := newWeb(driftWeb(`"/a":{"get":{}},"/b":{"get":{},"post":{}}`)).mustScan(t, Options{})
	now := driftWeb(`"/c":{"put":{}},"/b":{"get":{}}`)
	now["/"] = pageOf(`<a href="/docs/a">a</a><a href="https://tools.example/mcp">m</a><a href="/v2/openapi.json">v2</a>`)
	now["/docs/a"] = answer{status: 410}
	now["/v2/openapi.json"] = jsonOf(`{"openapi":"3.0.0","paths":{}}`)
	after := newWeb(now).mustScan(t, Options{})
	d := Compare(siteOf(t, before.Files.JSON), after, nil)
	const doc = site + "/openapi.json"
	want := Drift{
		OperationsAdded:     []DriftOperation{{doc, "PUT", "/c"}},
		OperationsGone:      []DriftOperation{{doc, "GET", "/a"}, {doc, "POST", "/b"}},
		ConnectionsUnlisted: []Source{{profile.KindMCP, "https://tools.example/mcp", site + "/", profile.Linked, "m"}},
		DocumentsUnlisted:   []Source{{profile.KindOpenAPI, site + "/v2/openapi.json", site + "/", profile.Retrieved, "v2"}},
		DocumentsVanished:   []Source{{profile.KindDocumentation, site + "/docs/a", site + "/", profile.Retrieved, "a"}},
	}
	if asJSON(t, d) != asJSON(t, want) {
		t.Errorf("got  %s\nwant %s", asJSON(t, d), asJSON(t, want))
	}
	lines := strings.Join(d.Lines(1), "\n")
	for _, say := range []string{"+ PUT /c is new in " + doc, "- GET /a is gone from " + doc, "… and 1 more", "+ mcp https://tools.example/mcp is advertised", "- documentation " + site + "/docs/a has vanished"} {
		if !strings.Contains(lines, say) {
			t.Errorf("%q is not said:\n%s", say, lines)
		}
	}
	if found := after.Found(); found != "1 mcp (only linked), 2 openapi, 1 website" && !strings.Contains(found, "1 mcp (only linked)") {
		t.Errorf("found %s", found)
	}
	// A report that was kept as JSON still tells most of it.
	var kept Report
	if err := json.Unmarshal([]byte(asJSON(t, after)), &kept); err != nil {
		t.Fatal(err)
	}
	if again := Compare(siteOf(t, before.Files.JSON), &kept, nil); asJSON(t, again) != asJSON(t, want) {
		t.Errorf("from JSON: %s", asJSON(t, again))
	}
}

func TestWhatTheScanDidNotSeeIsNoDrift(t *testing.T) {
	before := newWeb(driftWeb(`"/a":{"get":{}}`)).mustScan(t, Options{})
	now := driftWeb(`"/a":{"get":{}}`)
	now["/openapi.json"] = answer{err: errReset}
	now["/docs/a"] = answer{status: 503}
	if d := Compare(siteOf(t, before.Files.JSON), newWeb(now).mustScan(t, Options{}), nil); !d.Empty() {
		t.Errorf("drift %s", asJSON(t, d))
	}
}

func TestAnIndexThatWasCutIsNoDrift(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf(`"/%d":{"get":{}}`, i))
	}
	r := newWeb(driftWeb(strings.Join(many, ","))).mustScan(t, Options{})
	p := siteOf(t, r.Files.JSON)
	if n := len(p.APIs[0].Operations); n != profile.MaxOperations {
		t.Fatalf("%d operations", n)
	}
	if d := Compare(p, r, nil); !d.Empty() {
		t.Errorf("drift %.300s", asJSON(t, d))
	}
	// Shortened for size.
	for i := range many {
		many[i] = fmt.Sprintf(`"/%d%s":{"get":{}}`, i, strings.Repeat("p", 480))
	}
	r = newWeb(driftWeb(strings.Join(many, ","))).mustScan(t, Options{})
	if d := Compare(siteOf(t, r.Files.JSON), r, nil); !d.Empty() {
		t.Errorf("drift %.300s", asJSON(t, d))
	}
	// An index that is short for no such reason has drifted.
	p.APIs[0].Operations = p.APIs[0].Operations[:100]
	if d := Compare(p, r, nil); len(d.OperationsAdded) == 0 {
		t.Error("no drift")
	}
}

// A page that is gone is seldom still linked to: then only who reads what the
// profile lists notices.
func TestDocumentsVanishForWhoeverReadsThem(t *testing.T) {
	before := newWeb(driftWeb(`"/a":{"get":{}}`)).mustScan(t, Options{})
	now := driftWeb(`"/a":{"get":{}}`)
	now["/"] = pageOf("<title>A</title>")
	delete(now, "/docs/a")
	after := newWeb(now).mustScan(t, Options{})
	published := siteOf(t, before.Files.JSON)
	if d := Compare(published, after, nil); !d.Empty() {
		t.Fatalf("the scan alone: %s", asJSON(t, d))
	}
	read := func(path string, status int) report.Observation {
		return report.Observation{URL: site + path, Status: status}
	}
	for name, tc := range map[string]struct {
		reads    []report.Observation
		vanished bool
	}{
		"missing":                      {[]report.Observation{read("/docs/a", 404)}, true},
		"gone":                         {[]report.Observation{read("/", 200), read("/docs/a", 410)}, true},
		"there":                        {[]report.Observation{read("/docs/a", 200)}, false},
		"no verdict":                   {[]report.Observation{read("/docs/a", 503), read("/docs/a", 0)}, false},
		"no answer, then missing":      {[]report.Observation{read("/docs/a", 0), read("/docs/a", 404)}, true},
		"another":                      {[]report.Observation{read("/docs/b", 404)}, false},
		"missing, but there in a scan": {[]report.Observation{read("/openapi.json", 404)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := Compare(published, after, tc.reads)
			if d.Empty() == tc.vanished || tc.vanished && d.DocumentsVanished[0].URL != site+"/docs/a" {
				t.Errorf("drift %s", asJSON(t, d))
			}
		})
	}
}
