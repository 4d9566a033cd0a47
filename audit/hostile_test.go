package audit

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentaudit/fetch/weburl"
)

// bundleOf is the bundle of the good publication with some answers replaced:
// by path, with their bodies.
func bundleOf(t testing.TB, profile, openapi string, bodies map[string]string) *Bundle {
	t.Helper()
	u, err := weburl.ParseTarget(host)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bundle{ProfileURL: u.Location(), ObservedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	add := func(role Role, path, mediaType, body string, limit int64) {
		if replaced, ok := bodies[path]; ok {
			body = replaced
		}
		if int64(len(body)) > limit {
			t.Fatalf("%s has %d bytes", path, len(body))
		}
		b.Reads = append(b.Reads, Read{Role: role, URL: "https://" + host + path, Status: 200, ContentType: mediaType, Body: []byte(body), Bytes: int64(len(body)), Limit: limit, Started: b.ObservedAt})
	}
	limit := int64(MaxSiteDocument)
	if !strings.Contains(profile, `"type":"site"`) {
		limit = MaxActionDocument
	}
	add(RoleProfile, "/agentic.json", "application/json", profile, MaxSmallFile)
	add(RoleText, "/agentic.txt", "text/plain", "Agentic-Text: 1.2\n", MaxSmallFile)
	add(RoleReadme, "/README.md", "text/markdown", readmeFor(host), MaxSmallFile)
	add(RoleDocument, "/openapi.json", "application/json", openapi, limit)
	add(RoleDocument, "/guide", "text/html", "x", limit)
	return b
}

// fill repeats one between open and end up to a size.
func fill(size int, open, one, end string) string {
	return open + strings.Repeat(one, max(0, size-len(open)-len(end))/len(one)) + end
}

// many joins numbered pieces up to a size.
func many(size int, open, format, end string) string {
	var b strings.Builder
	b.WriteString(open)
	for i := 0; ; i++ {
		piece := fmt.Sprintf(format, i)
		if b.Len()+len(piece)+len(end) > size {
			break
		}
		b.WriteString(piece)
	}
	return b.String() + end
}

// hostileJSON are texts that are JSON, or nearly, and costly to careless
// readers.
func hostileJSON(size int) map[string]string {
	deep := min(size/2-2, 10_000)
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	return map[string]string{
		"10,000 levels":             nest(deep),
		"10,000 objects":            strings.Repeat(`{"a":`, deep/4) + "1" + strings.Repeat("}", deep/4),
		"open brackets":             strings.Repeat("[", size),
		"1,000 levels, often":       fill(size, `{"x":[`, nest(990)+",", "1]}"),
		"huge exponents":            fill(size, `{"x":[`, "1e1000000,", "1]}"),
		"tiny exponents":            fill(size, `{"x":[`, "1e-1000000,", "1]}"),
		"one long number":           fill(size, `{"x":`, "9", "}"),
		"one long fraction":         fill(size, `{"x":0.`, "9", "}"),
		"one long exponent":         fill(size, `{"x":1e`, "9", "}"),
		"duplicates":                fill(size, "{", `"":1,`, `"":1}`),
		"duplicates of long names":  fill(size, "{", `"`+strings.Repeat("n", 500)+`":1,`, `"":1}`),
		"duplicates, deep":          fill(size, `{"x":[`, strings.Repeat(`{"":1,"":`, 900)+"1"+strings.Repeat("}", 900)+",", "1]}"),
		"duplicates under a name":   fill(size, `{"`+strings.Repeat("a", size/2)+`":{`, `"":1,`, `"":1}}`),
		"members":                   many(size, "{", `"%x":1,`, `"":1}`),
		"members that hash alike":   many(size, "{", `"%08d":1,`, `"":1}`),
		"surrogates":                fill(size, `{"x":"`, `\ud800`, `"}`),
		"escapes":                   fill(size, `{"x":"`, `\u0000`, `"}`),
		"escaped names":             many(size, "{", `"\u0061%d":1,`, `"":1}`),
		"invalid bytes":             fill(size, `{"x":"`, "\xed\xa0", `"}`),
		"line ends":                 fill(size, "{", "\n", "}"),
		"CRs":                       fill(size, "{", "\r", "}"),
		"NULs":                      strings.Repeat("\x00", size),
		"blanks, then an error":     fill(size, "", " ", "x"),
		"an error at the end":       fill(size, `{"x":[`, `{"a":"b"},`, "x]}"),
		"one long string":           fill(size, `{"x":"`, "a", `"}`),
		"one long string, open":     fill(size, `{"x":"`, "a", ""),
		"empty lists":               fill(size, `{"x":[`, "[],", "1]}"),
		"empty objects":             fill(size, `{"x":[`, "{},", "1]}"),
		"BOMs":                      strings.Repeat("\ufeff", size/3),
		"an HTML page":              fill(size, "<!doctype html>", "<a href='", ""),
		"a page of captcha":         fill(size, "<!doctype html>", "g-recaptch", ""),
		"wide characters":           fill(size, `{"x":"`, "\U0001f6a2", `"}`),
		"a million names, one long": fill(size, "{", `"a":{},`, `"`+strings.Repeat("b", size/4)+`":1}`),
	}
}

// hostileSites are profiles that the schema lets through, or that break it as
// often as possible.
func hostileProfiles() map[string]string {
	const size = MaxSmallFile
	site := func(resources, apis string) string {
		return `{"agentic":"1.1.0","type":"site","origin":"https://site.example","name":"n","description":"d","resources":[` + resources + `],"apis":[` + apis + `]}`
	}
	resource := `{"kind":"openapi","url":"https://site.example/openapi.json","source":"https://site.example/","availability":"retrieved"}`
	ats := strings.Repeat(`{"kind":"website","url":"https://`+strings.Repeat("@", 1500)+`x/","source":"https://a/","availability":"retrieved"},`, 39) + resource
	dots := strings.Repeat(`{"kind":"website","url":"https://site.example/`+strings.Repeat("../", 480)+`","source":"https://site.example/","availability":"linked"},`, 39) + resource
	percent := strings.Repeat(`{"kind":"website","url":"https://`+strings.Repeat("%61", 480)+`/","source":"https://a/","availability":"retrieved"},`, 39) + resource
	idn := strings.Repeat(`{"kind":"website","url":"https://`+strings.Repeat("ä.", 450)+`example/","source":"https://a/","availability":"retrieved"},`, 39) + resource
	puny := strings.Repeat(`{"kind":"website","url":"https://`+strings.Repeat("xn--a.", 240)+`example/","source":"https://a/","availability":"retrieved"},`, 39) + resource
	ops := many(size-1200, `{"document":"https://site.example/openapi.json","openapi":"3.1.0","operations":[`, `{"method":"GET","path":"/%d"},`, `{"method":"GET","path":"/"}]}`)
	fiveAPIs := strings.TrimSuffix(strings.Repeat(many(12000, `{"document":"https://site.example/openapi.json","openapi":"3.1.0","operations":[`, `{"method":"GET","path":"/%d","operationId":"x"},`, `{"method":"GET","path":"/"}]}`)+",", 5), ",")
	var forty []string
	for i := range 40 {
		forty = append(forty, fmt.Sprintf(`{"kind":"openapi","url":"https://site.example/%d","source":"https://site.example/","availability":"retrieved"}`, i))
	}
	controls := `"` + fill(4000, "", `\u202e\u0000\n`, "") + `"`
	actions := func(n int, change ...string) string {
		paths := slices.Repeat([]string{"/openapi.json"}, n)
		return strings.NewReplacer(change...).Replace(actionProfile(host, paths...))
	}
	return map[string]string{
		"URLs of @": site(ats, ""), "URLs of dots": site(dots, ""), "URLs of percents": site(percent, ""), "URLs of umlauts": site(idn, ""), "URLs of punycode": site(puny, ""),
		"too many operations": site(resource, ops), "five APIs of one document": site(resource, fiveAPIs), "forty documents": site(strings.Join(forty, ","), ""),
		"resources of numbers":  site(fill(size-300, "", "1,", "1"), ""),
		"resources, all wrong":  site(fill(size-300, "", `{"a":1},`, resource), ""),
		"control characters":    strings.Replace(site(resource, ""), `"n"`, controls, 1),
		"unknown members":       many(size, `{"type":"site",`, `"%x":1,`, `"agentic":"1.1.0"}`),
		"unknown members, long": many(size, `{"type":"site",`, `"`+strings.Repeat("u", 300)+`%d":1,`, `"agentic":"1.1.0"}`),
		"32 actions":            actions(32), "32 actions, wrong ids": actions(32, `"reserve"`, `"nothing"`), "32 equal actions": actions(32, "book1", "book0", "book2", "book0"),
		"actions of numbers": `{"agentic":"1.0.0","origin":"https://site.example","actions":[` + fill(size-100, "", "1,", "1") + "]}",
		"success values":     actions(1, `["reserved"]`, fill(size-2000, "[", `"a",`, `"a"]`)),
		"pointers":           actions(1, `"/state"`, `"`+fill(size-2000, "", "/~0~1", "")+`"`),
		"pointers, bad":      actions(1, `"/state"`, `"`+fill(size-2000, "", "/~0", "~")+`"`),
		"patterns":           actions(1, `"book0"`, `"`+strings.Repeat("a", size-2000)+`!"`),
	}
}

// hostileOpenAPI are documents of the shape of OpenAPI.
func hostileOpenAPI(size int) map[string]string {
	return map[string]string{
		"50,000 paths":          many(size, `{"openapi":"3.1.0","paths":{`, `"/%d":{"get":{}},`, `"/":{}}}`),
		"paths, all equal":      fill(size, `{"openapi":"3.1.0","paths":{`, `"/":{"get":{}},`, `"/":{}}}`),
		"one id everywhere":     many(size, `{"openapi":"3.1.0","paths":{`, `"/%d":{"get":{"operationId":"reserve"}},`, `"/":{}}}`),
		"operations, equal":     fill(size, `{"openapi":"3.1.0","paths":{"/boats":{`, `"get":{},`, `"post":{}}}}`),
		"parameters":            fill(size, `{"openapi":"3.1.0","paths":{"/reserve":{"post":{"operationId":"reserve","parameters":[`, "{},", "{}]}}}}"),
		"equal media types":     fill(size, `{"openapi":"3.1.0","paths":{"/reserve":{"post":{"operationId":"reserve","requestBody":{"content":{`, `"":{},`, `"a":{}}}}}}}`),
		"media types":           many(size, `{"openapi":"3.1.0","paths":{"/reserve":{"post":{"operationId":"reserve","requestBody":{"content":{`, `"%d":{},`, `"a":{}}}}}}}`),
		"a long path":           fill(size, `{"openapi":"3.1.0","paths":{"/`, "x", `":{"post":{"operationId":"reserve"}}}}`),
		"braces":                fill(size, `{"openapi":"3.1.0","paths":{"/`, "{}", `":{"get":{"operationId":"state"}}}}`),
		"a long id":             fill(size, `{"openapi":"3.1.0","paths":{"/boats":{"get":{"operationId":"`, "x", `"}}}}`),
		"paths with controls":   fill(size, `{"openapi":"3.1.0","paths":{"/`, `\u0000`, `":{"post":{"operationId":"reserve"}}}}`),
		"references in rings":   many(size, `{"openapi":"3.1.0","paths":{"/boats":{"$ref":"#/paths/~1boats"}},"components":{`, `"a%d":{"$ref":"#"},`, `"b":1}}`),
		"servers":               fill(size, `{"openapi":"3.1.0","servers":[`, "{},", `{}],"paths":{}}`),
		"paths again and again": fill(size, `{"openapi":"3.1.0",`, `"paths":{"/boats":{"get":{}}},`, `"paths":{}}`),
	}
}

// hostileText are texts for the README and the text index.
func hostileText(size int) map[string]string {
	out := map[string]string{}
	for _, unit := range []string{
		"[](", "[]", "[", "](", "![", "> ", "- ", "1) ", "*a_", "`` ` ", "<a b=\"", "<a href=/>", "<!--", "<div>\n", "[a]: b\n\n[a] ", "[a](b \"", "&#1;", "\\[", "\n", "\r\n", "\x00", "\xff",
		"<code>", "<a@b.", "[a][b]", "[![a](b)](c)", "Agentic-Text: ", "Agentic-Text: 1.2\n", " \n", "\t\n", "\nReference: ", "[](https://@@@@@@@@)", "[](//xn--a)", "\ufeff",
	} {
		out[fmt.Sprintf("%q", unit)] = fill(size, "", unit, "")
	}
	out["brackets, then links"] = strings.Repeat("[", size/2) + fill(size/2, "", "[a](b)", "")
	out["a thousand open links"] = strings.Repeat("[](", 1000) + fill(size-3000, "", "x", "")
	return out
}

// hostileBundles are all of them, each as the one bad file of a publication.
func hostileBundles(t testing.TB) iter.Seq2[string, *Bundle] {
	return func(yield func(string, *Bundle) bool) { eachHostile(t, yield) }
}

func eachHostile(t testing.TB, yield func(string, *Bundle) bool) {
	more := true
	site, action := siteProfile(host), actionProfile(host, slices.Repeat([]string{"/openapi.json"}, 32)...)
	add := func(kind, name, profile, openapi, path, body string) {
		more = more && yield(kind+"/"+name, bundleOf(t, profile, openapi, map[string]string{path: body}))
	}
	for name, text := range hostileJSON(MaxSmallFile) {
		add("profile", name, site, siteOpenAPI, "/agentic.json", text)
		add("profile", name+", as a site", site, siteOpenAPI, "/agentic.json", strings.Replace(text, "{", `{"type":"site",`, 1)[:min(len(text), MaxSmallFile)])
		add("txt", name, site, siteOpenAPI, "/agentic.txt", text)
		add("readme", name, site, siteOpenAPI, "/README.md", text)
	}
	for name, text := range hostileProfiles() {
		openapi := siteOpenAPI
		if strings.Contains(name, "action") {
			openapi = actionOpenAPI
		}
		add("profile", name, site, openapi, "/agentic.json", text)
	}
	for name, text := range hostileText(MaxSmallFile) {
		add("txt", name, site, siteOpenAPI, "/agentic.txt", text)
		add("readme", name, site, siteOpenAPI, "/README.md", text)
	}
	for _, size := range []int{MaxActionDocument, MaxSiteDocument} {
		texts := hostileOpenAPI(size)
		for name, text := range hostileJSON(size) {
			texts[name] = text
		}
		for name, text := range texts {
			if size == MaxActionDocument {
				add("action", name, action, actionOpenAPI, "/openapi.json", text)
			} else {
				add("site", name, site, siteOpenAPI, "/openapi.json", text)
				if strings.Contains(name, "page") || name == "NULs" { // no others are looked into
					add("document", name, site, siteOpenAPI, "/guide", text)
				}
			}
		}
	}
}

// Whatever stands in a file: it is judged, the report keeps to its rules, stays
// small enough to be kept, and the same bytes give the same report again.
func TestHostileDocuments(t *testing.T) {
	for name, b := range hostileBundles(t) {
		t.Run(name, func(t *testing.T) {
			res := Judge(b)
			checkInvariants(t, res)
			if !strings.HasPrefix(name, "site/") && !strings.HasPrefix(name, "document/") { // for the time it takes
				checkRejudged(t, b, res)
			}
			text, err := json.Marshal(res.Report)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > 256<<10 {
				t.Errorf("the report has %d bytes", len(text))
			}
			if res.Outcome == "successful" || res.Outcome == "unchecked" && !strings.Contains(name, "captcha") {
				t.Errorf("%s %s: %s", res.Outcome, res.Reason, res.Detail)
			}
		})
	}
}

// The limit is 250 ms of CPU for one document: see the column cpu-ms/doc.
func BenchmarkHostileDocuments(b *testing.B) {
	for name, bundle := range hostileBundles(b) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			size := 0
			before := cpu(b)
			for b.Loop() {
				text, err := json.Marshal(Judge(bundle).Report)
				if err != nil {
					b.Fatal(err)
				}
				size = len(text)
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/doc")
			b.ReportMetric(float64(size)/1024, "report-KiB")
		})
	}
}

// cpu is the time that this process has spent in its own code and the kernel.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
