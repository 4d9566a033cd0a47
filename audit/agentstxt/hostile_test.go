package agentstxt

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const head = "Spec-Version: 1.0\nSite-Name: x\nSite-URL: https://shop.example\n"

// fill repeats a piece until the text has n bytes.
func fill(head, piece string, n int) string {
	return head + strings.Repeat(piece, max(0, n-len(head))/len(piece))
}

// numbered is fill with a counter for %d.
func numbered(head, piece string, n int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < n-len(piece)-10; i++ {
		fmt.Fprintf(&b, piece, i)
	}
	return b.String()
}

// hostileTexts are text files that make a careless judge quadratic.
func hostileTexts(n int) map[string]string {
	half := n / 2
	return map[string]string{
		"one line":          fill(head+"Site-Description: ", "a b ", n),
		"colons":            fill(head, ":", n),
		"no colons":         fill(head, "word\n", n),
		"blank lines":       fill(head, "\n", n),
		"carriage returns":  fill("Spec-Version: 1.0\r", "a:b\r", n),
		"capabilities":      numbered(head, "Capability: c%d\n  Endpoint: https://shop.example/\n", n),
		"same capability":   fill(head, "Capability: c\n", n),
		"agents":            numbered(head, "Agent: a%d\n  Capabilities: x,y\n", n),
		"same agent":        fill(head, "Agent: a\n", n),
		"unknown fields":    numbered(head, "Field-%d: x\n", n),
		"near misses":       fill(head, "Spec-Versoin: x\n", n),
		"indented":          fill(head, " Endpoint: x\n", n),
		"long id":           fill(head+"Capability: ", "A", half) + "\n" + strings.Repeat("  Endpoint: x\n", half/14),
		"long agent":        fill(head+"Agent: ", "a", half) + "\n  Capabilities: " + strings.Repeat("x,", half/2),
		"params":            numbered(head+"Capability: c\n  Protocol: REST\n", "  Param: p%d (query, uuid)\n", n),
		"bad params":        fill(head+"Capability: c\n", "  Param: p (\n", n),
		"commas in a param": fill(head+"Capability: c\n  Param: p (", ",", n),
		"scopes":            fill(head+"Capability: c\n  Scopes: ", "a b,", n),
		"rules":             numbered(head, "Disallow: /a%d/*x*y*z$\n", half) + numbered("", "Capability: c%d\n  Endpoint: https://shop.example/aaaa\n", half),
		"stars":             fill(head+"Disallow: ", "*a", half) + "\nCapability: c\n  Endpoint: https://shop.example/" + strings.Repeat("a", half-200) + "\n",
		"long limit":        fill(head+"Capability: c\n  Rate-Limit: ", "9", n-10) + "/day\n",
		"control":           fill(head+"Site-Description: ", "\x01", n),
		"not utf-8":         fill(head+"Site-Description: ", "\xff", n),
		"token prefixes":    fill(head+"# ", "ghp_ glpat- sk-ant- :AA ", n),
		"tokens":            numbered(head, "# ghp_Gull7Rope2Mast9Pier4Sand0Kelp530%06d\n", n),
		"long token":        fill(head+"# glpat-", "Gull7Rope2Mast9Pier4", n),
		"jwt dots":          fill(head+"# ", "eyJhbGciOiJI.eyJhbGciOiJI-", n),
		"jwt dashes":        fill(head+"# ", "eyJaaaaaaaa-", n),
		"bearer":            fill(head+"# ", "bearer ", n),
		"bearer blanks":     fill(head+"# bearer", " ", n),
		"signatures":        fill(head+"# https://shop.example/?a=1", "&sig="+strings.Repeat("aB3", 14), n),
		"parameters":        fill(head+"# https://shop.example/?a=1", "&key=abcd1234", n),
		"passwords":         fill(head+"# ", "password:", n),
		"named passwords":   numbered(head, "# password: Gull7%d\n", n),
		"schemes":           fill(head+"# ", "a://b:", n),
		"at signs":          fill(head+"# a://b:", "c@", n),
		"braces":            fill(head+"Capability: c\n  Endpoint: https://shop.example/", "{a}", n),
		"yaml":              fill("a:\n", "- b\n", n),
		"markdown":          fill("# t\n\n", "- [x](y)\n", n),
		"private keys":      fill(head+"# ", "-----BEGIN "+"PRIVATE KEY----- "+strings.Repeat("aB3", 12)+" ", n),
		"json body":         fill("[", "[", n),
		"robots":            numbered("User-agent: *\n", "Disallow: /%d\n", n),
	}
}

// hostileJSONs are JSON files of the same mind.
func hostileJSONs(n int) map[string]string {
	const site = `{"specVersion": "1.0", "site": {"name": "x", "url": "https://shop.example"}, `
	half := n / 2
	return map[string]string{
		"depth":          fill(site+`"a": `, "[", n),
		"object depth":   fill(site+`"a": `, `{"a":`, n),
		"numbers":        fill(site+`"operatesOn": [1`, ",1", n) + "]}",
		"one string":     fill(site+`"a": "`, "x", n) + `"}`,
		"escapes":        fill(site+`"a": "`, `\u0061`, n) + `"}`,
		"duplicates":     fill(site+`"a": 1`, `,"a":1`, n) + "}",
		"members":        numbered(site+`"a": 1`, `,"a%d":1`, n) + "}",
		"capabilities":   fill(site+`"capabilities": [{}`, ",{}", n) + "]}",
		"agents":         numbered(site+`"agents": {"a": {}`, `,"a%d":{}`, n) + "}}",
		"long agent":     fill(site+`"agents": {"`, "a", half) + `": {"x": 0` + strings.Repeat(`,"x":0`, half/7) + "}}}",
		"agent case":     fill(site+`"agents": {"a": {}`, `,"A":{},"a":{}`, n) + "}}",
		"long number":    fill(site+`"capabilities": [{"id": "a", "rateLimit": {"requests": 1`, "0", n) + `, "window": "day"}}]}`,
		"large exponent": site + `"capabilities": [{"id": "a", "rateLimit": {"requests": 1e999999999, "window": "day"}}]}`,
		"secrets":        numbered(site+`"metadata": {"a": "b"`, `,"password%d": "Gull7Rope2Mast9"`, n) + "}}",
		"broken":         fill(`{"specVersion": "`, "\x01", n),
		"directory":      fill(`{"agents": [{}`, ",{}", n) + "]}",
	}
}

// Whatever a file holds, the report stays small, says what it left out, and
// every check of it is well formed.
func TestHostileFilesGiveSmallReports(t *testing.T) {
	for path, files := range map[string]map[string]string{TextPath: hostileTexts(64 << 10), JSONPath: hostileJSONs(64 << 10)} {
		for name, body := range files {
			t.Run(name, func(t *testing.T) {
				rep := judgeBody(path, body)
				out, err := json.Marshal(rep.Checks)
				if err != nil {
					t.Fatal(err)
				}
				if len(out) > 128<<10 {
					t.Errorf("the checks have %d bytes", len(out))
				}
				checkTexts(t, rep)
			})
		}
	}
}

func judgeBody(path, body string) *Report {
	kind := "text/plain; charset=utf-8"
	if path == JSONPath || path == JSONRootPath {
		kind = "application/json; charset=utf-8"
	}
	h := http.Header{}
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "max-age=300")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, OPTIONS")
	in := Input{Origin: "https://shop.example", Now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	for _, p := range []string{TextPath, TextRootPath, JSONPath, JSONRootPath} {
		r := Reply{URL: in.Origin + p, Status: 404, Header: http.Header{}}
		if p == path {
			r.Status, r.Header, r.Body = 200, h, []byte(body)
		}
		in.Replies = append(in.Replies, r)
	}
	return Judge(in)
}

// A file of more than 1 MiB is refused, one of exactly 1 MiB is not.
func TestSizeLimit(t *testing.T) {
	exact := fill(head, "# "+strings.Repeat("x ", 20)+"\n", MaxBody)
	exact += strings.Repeat("\n", MaxBody-len(exact))
	if rep := judgeBody(TextPath, exact); rep.Verdict != VerdictValid {
		t.Errorf("1 MiB is %s", rep.Verdict)
	}
	rep := judgeBody(TextPath, exact+"\n")
	if rep.Verdict != VerdictInvalid || len(rep.Checks) != 1 || rep.Checks[0].ID != "agents:too-large" || rep.Checks[0].Severity != Fail {
		t.Errorf("1 MiB and a byte: %s, %v", rep.Verdict, rep.Checks)
	}
	in := Input{Origin: "https://shop.example", Replies: []Reply{{URL: "https://shop.example" + TextPath, Status: 200, Kind: "too-large", Bytes: 2 << 20}}}
	if rep := Judge(in); rep.Verdict != VerdictInvalid || rep.Files[0].Bytes != 2<<20 {
		t.Errorf("a body that the fetcher refused: %+v", rep)
	}
}

// What lies beyond the protective limits is said to be left out.
func TestProtectiveLimitsAreSaid(t *testing.T) {
	for name, body := range map[string]string{
		"lines":        head + strings.Repeat("#\n", maxLines),
		"capabilities": numbered(head, "Capability: c%d\n", 20*maxCapabilities),
		"agents":       numbered(head, "Agent: a%d\n", 16*maxAgents),
	} {
		rep := judgeBody(TextPath, body)
		if !hasCheck(rep, "agents:too-many", Fail) {
			t.Errorf("%s: nothing is said", name)
		}
	}
	if rep := judgeBody(TextPath, head+strings.Repeat("#\n", maxLines-10)); hasCheck(rep, "agents:too-many", Fail) {
		t.Error("a file within the limits is complained of")
	}
	few := numbered(head, "X-%d: y\n", 2000)
	n := 0
	for _, c := range judgeBody(TextPath, few).Checks {
		if c.ID == "agents:unknown" {
			n++
			if n == maxPerCheck && !strings.Contains(c.Detail, "more like this") {
				t.Error("the last of many findings does not say that there are more")
			}
		}
	}
	if n != maxPerCheck {
		t.Errorf("%d findings of one kind", n)
	}
}

func hasCheck(rep *Report, id string, s Severity) bool {
	for _, c := range rep.Checks {
		if c.ID == id && c.Severity == s {
			return true
		}
	}
	return false
}

func BenchmarkHostile(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		for path, files := range map[string]map[string]string{TextPath: hostileTexts(size), JSONPath: hostileJSONs(size)} {
			for name, body := range files {
				b.Run(fmt.Sprintf("%s/%dKiB", strings.ReplaceAll(name, " ", "-"), size>>10), func(b *testing.B) {
					b.SetBytes(int64(len(body)))
					for b.Loop() {
						judgeBody(path, body)
					}
				})
			}
		}
	}
}

// BenchmarkJudge is one usual site: a text and its JSON.
func BenchmarkJudge(b *testing.B) {
	text := ParseText([]byte(fullText))
	js, _ := text.Convert(JSONForm)
	in := Input{Origin: "https://shop.example", Replies: []Reply{
		{URL: "https://shop.example" + TextPath, Status: 200, Header: plainUTF8, Body: []byte(fullText)},
		{URL: "https://shop.example" + JSONPath, Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: js},
		{URL: "https://shop.example" + TextRootPath, Status: 404}, {URL: "https://shop.example" + JSONRootPath, Status: 404},
	}}
	b.SetBytes(int64(len(fullText) + len(js)))
	b.ReportAllocs()
	for b.Loop() {
		Judge(in)
	}
}
