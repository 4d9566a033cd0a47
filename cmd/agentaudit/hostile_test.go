package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"agentaudit/audit/publication"
	"agentaudit/fetch/fakenet"
)

// hostileTexts try to be more than text on a terminal.
var hostileTexts = []string{
	"\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;https://evil.example\x1b\\link", "\u009b31m", "a\rb", "a\bb", "\u202eevil", "\u2066a\u2069", "\u200b", "\ufeff", "a\u2028b",
	"\U000E0041", "\x00", "\x7f", "\xff\xfe", "a\nSUCCESSFUL  https://shop.example", "%1b[2J", "&#27;[31m",
}

// inertText fails where a text holds what a terminal does not show as text.
func inertText(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			t.Errorf("%s holds %U: %q", what, r, text[max(0, i-60):min(len(text), i+20)])
			return
		}
	}
}

// What a site says in any place reaches terminals and indexes as text alone.
func TestTextsOfSitesStayTextOnTerminals(t *testing.T) {
	for i, s := range hostileTexts {
		n := newNet(t)
		host := fmt.Sprintf("shop%d.example", i)
		site := unpublished(n, host, fileJSON)
		site.Static("/", 200, http.Header{"Content-Type": {"text/html"}, "Link": {"</docs/" + strings.ToValidUTF8(clean(s), "") + ">; rel=service-desc"}},
			"<title>"+s+"</title><meta name=description content='"+s+"'><a href='/docs/"+s+"'>"+s+"</a><a href='https://"+s+"/mcp'>"+s+"</a><a href='https://mcp.example/mcp?"+s+"'>m</a>")
		site.Static("/docs/a", 200, http.Header{"Content-Type": {"text/html; charset=" + clean(s)}}, s)
		site.Path("/llms.txt", fakenet.Redirect(301, "https://evil.example/"+clean(s)))
		quoted := fmt.Sprintf("%q", strings.ToValidUTF8(s, "?"))
		if strings.Contains(quoted, `\U`) || strings.Contains(quoted, `\x`) {
			quoted = `"\u001b[31m"`
		}
		site.Static("/openapi.json", 200, fakenet.JSON, `{"openapi":"3.1.0","info":{"title":`+quoted+`},"paths":{"/x":{"get":{"operationId":`+quoted+`,"summary":`+quoted+`}},`+quoted[:1]+"/"+quoted[1:]+`:{"post":{}}}}`)
		tmp := t.TempDir()
		kit, files, data, kits := filepath.Join(tmp, "kit"), filepath.Join(tmp, "files"), filepath.Join(tmp, "data"), filepath.Join(tmp, "kits")
		for _, args := range [][]string{
			{"audit", host, "--discover", "always", "--fix-kit", kit},
			{"discover", host, "--out", files},
			{"run", host, "--data-dir", data, "--discover", "always", "--quiet"},
			{"results", "--data-dir", data, "--site", host},
			{"results", "--data-dir", data, "--fix-kit", kits},
		} {
			code, out, errs := online(t, n, args...)
			if code == exitUsage {
				t.Fatalf("%q: %s", args, errs)
			}
			inertText(t, fmt.Sprintf("%s for %q", args[0], s), out+errs)
		}
		for _, name := range []string{filepath.Join(kit, publication.NameIndex), filepath.Join(kits, kitIndex), filepath.Join(kits, host, publication.NameIndex)} {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			inertText(t, fmt.Sprintf("%s for %q", filepath.Base(name), s), string(text))
		}
	}
}
