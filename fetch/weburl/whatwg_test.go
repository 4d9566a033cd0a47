package weburl

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Spellings on which browsers agree and naive readers do not. The right
// column is what the WHATWG URL standard says, "" for a failure.
func TestParseReadsAsBrowsersDo(t *testing.T) {
	for in, want := range map[string]string{
		"https://EXAMPLE.com:443/a/../b":           "https://example.com/b",
		"https://example.com":                      "https://example.com/",
		"https:example.com":                        "https://example.com/",
		"https:/example.com/x":                     "https://example.com/x",
		`https:\\example.com\x`:                    "https://example.com/x",
		"https:////example.com//x":                 "https://example.com//x",
		"  https://example.com/\n":                 "https://example.com/",
		"ht\ntps://exa\tmple.com/a\rb":             "https://example.com/ab",
		"https://0x7f.1/":                          "https://127.0.0.1/",
		"https://017700000001/":                    "https://127.0.0.1/",
		"https://2130706433./":                     "https://127.0.0.1/",
		"https://0/":                               "https://0.0.0.0/",
		"https://256.1.1.1/":                       "",
		"https://1.2.3.4.5/":                       "",
		"https://0x1g.1/":                          "",
		"https://4294967296/":                      "",
		"https://ex%41mple.com/":                   "https://example.com/",
		"https://ex%00ample.com/":                  "",
		"https://ex ample.com/":                    "",
		"https://faß.de/":                          "https://xn--fa-hia.de/",
		"https://ｅｘａｍｐｌｅ．ｃｏｍ/":                     "https://example.com/",
		"https://ex\u00adample.com/":               "https://example.com/",
		"https://１２７．１/":                           "https://127.0.0.1/",
		"https://xn--a/":                           "",
		"https://[::ffff:127.0.0.1]/":              "https://[::ffff:7f00:1]/",
		"https://[0:0::1]/":                        "https://[::1]/",
		"https://[::1%25eth0]/":                    "",
		"https://[::1":                             "",
		"https://a@b@example.com/":                 "https://a%40b@example.com/",
		"https://example.com:/":                    "https://example.com/",
		"https://example.com:0443/":                "https://example.com/",
		"https://example.com:65536/":               "",
		"https://example.com:+443/":                "",
		"https://example.com/%2e%2e/a/%2E/b":       "https://example.com/a/b",
		"https://example.com/a b<>\"`{}é%zz|^":     "https://example.com/a%20b%3C%3E%22%60%7B%7D%C3%A9%zz|^",
		"https://example.com/?a='b'&c=é d":         "https://example.com/?a=%27b%27&c=%C3%A9%20d",
		"https://example.com/#a b":                 "https://example.com/#a%20b",
		"https://":                                 "",
		"https://?x":                               "",
		"//example.com/":                           "",
		"example.com":                              "",
		"https://example.com../":                   "https://example.com../",
		"https://EXAMPLE.com./":                    "https://example.com./",
		"data:text/plain,hello":                    "data:text/plain,hello",
		"https://example.com/\U0001F600":           "https://example.com/%F0%9F%98%80",
		"https://example.com\\@evil.example/":      "https://example.com/@evil.example/",
		"https://evil.example#@example.com/":       "https://evil.example/#@example.com/",
		"https://example.com%2f@evil.example/":     "https://example.com%2f@evil.example/",
		"https://example.com%2fevil.example/":      "",
		"https://example。com/":                     "https://example.com/",
		"https://example.com/a;b=c/..;/d":          "https://example.com/a;b=c/..;/d",
		"https://EXAMPLE.com/A%2fB":                "https://example.com/A%2fB",
		"https://exa<mple.com/":                    "",
		"https://a_b.example/":                     "https://a_b.example/",
		"https://example.com/" + "\u2028" + "x":    "https://example.com/%E2%80%A8x",
		"https://example.com:80/":                  "https://example.com:80/",
		"http://example.com:443/":                  "http://example.com:443/",
		"https://example.com/a\\b":                 "https://example.com/a/b",
		"https://example.com/..":                   "https://example.com/",
		"https://example.com/a/..;x":               "https://example.com/a/..;x",
		"https://example.com/%2E%2e%2fa":           "https://example.com/%2E%2e%2fa",
		"https://" + strings.Repeat("a", 64) + "/": "https://" + strings.Repeat("a", 64) + "/",
	} {
		u, err := Parse(in)
		if want == "" {
			if err == nil {
				t.Errorf("Parse(%q) = %s, want a failure", in, u)
			}
			continue
		}
		if err != nil || u.String() != want {
			t.Errorf("Parse(%q) = %v, %v; want %s", in, u, err, want)
		}
	}
}

func TestParts(t *testing.T) {
	u, err := Parse("https://an:na@SITE.example.:8443/a%20b/?q=1#f")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"scheme", u.Scheme(), "https"}, {"host", u.Hostname(), "site.example."}, {"port", u.Port(), "8443"}, {"path", u.Path(), "/a%20b/"},
		{"query", u.Query(), "?q=1"}, {"fragment", u.Fragment(), "#f"}, {"origin", u.Origin(), "https://site.example.:8443"},
		{"location", u.Location(), "https://an:na@site.example.:8443/a%20b/?q=1"},
	} {
		if c[1] != c[2] {
			t.Errorf("%s is %q, want %q", c[0], c[1], c[2])
		}
	}
	if !u.HasCredentials() {
		t.Error("it has credentials")
	}
	for in, want := range map[string]string{
		"https://a.example/x?#": "https://a.example/x", "https://a.example/x?#f?": "https://a.example/x",
		"https://a.example/?a?": "https://a.example/?a?", "https://a.example/??": "https://a.example/??",
	} {
		if u, err := Parse(in); err != nil || u.Location() != want {
			t.Errorf("%s: %s, want %s", in, u.Location(), want)
		}
	}
	for in, want := range map[string]string{"data:x": "null", "mailto:a@b": "null", "ftp://a.example/": "ftp://a.example", "https://[::1]/": "https://[::1]"} {
		if u, err := Parse(in); err != nil || u.Origin() != want {
			t.Errorf("%s: origin %v, want %s", in, u.Origin(), want)
		}
	}
	for in, want := range map[string]string{"https://0x7f.1/": "127.0.0.1", "https://[::1]/": "::1", "https://127.0.0.1.example/": "", "https://localhost/": ""} {
		u, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		a, ok := u.IP()
		if ok != (want != "") || ok && a.String() != want {
			t.Errorf("%s: %v %v", in, a, ok)
		}
	}
}

func TestResolve(t *testing.T) {
	base, err := Parse("https://site.example/docs/index.html?q#f")
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"":                        "https://site.example/docs/index.html?q",
		"a":                       "https://site.example/docs/a",
		"../a":                    "https://site.example/a",
		"../../../a":              "https://site.example/a",
		"/a":                      "https://site.example/a",
		"//b.example":             "https://b.example/",
		`\\b.example\x`:           "https://b.example/x",
		"?x":                      "https://site.example/docs/index.html?x",
		"#y":                      "https://site.example/docs/index.html?q#y",
		"https:c":                 "https://site.example/docs/c",
		"http://b.example/":       "http://b.example/",
		"javascript:alert(1)":     "javascript:alert(1)",
		" \t/a\n ":                "https://site.example/a",
		"//[":                     "",
		"https://b.example:99999": "",
		strings.Repeat("a", 8193): "",
	} {
		u, err := base.Resolve(ref)
		if want == "" {
			if err == nil {
				t.Errorf("%.40q became %s", ref, u)
			}
		} else if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v; want %s", ref, u, err, want)
		}
	}
}

func TestParseStart(t *testing.T) {
	for in, want := range map[string]string{
		"site.example": "https://site.example/", "site.example/docs": "https://site.example/docs", "https://site.example/README.md?": "https://site.example/README.md",
		"\ufeffsite.example\u3000": "https://site.example/", "localhost": "", "https://nas.local": "", "10.0.0.1": "", "0xa.1": "", "[::1]": "", "http://site.example": "",
		"site.example?q": "", "site.example:8443": "", "a:b@site.example": "", "": "",
	} {
		u, err := ParseStart(in)
		if want == "" {
			if err == nil {
				t.Errorf("%q became %s", in, u)
			}
		} else if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v; want %s", in, u, err, want)
		}
	}
}

func TestTheLongestURL(t *testing.T) {
	// 2,048 characters of the serialised form, file name included.
	fits := "https://site.example/" + strings.Repeat("a", 2048-len("https://site.example/"))
	if _, err := ParseTarget(fits); err != nil {
		t.Error(err)
	}
	if _, err := ParseTarget(fits + "a"); err == nil {
		t.Error("one more was accepted")
	}
	if _, err := ParseSiteLink(fits); err != nil {
		t.Error(err)
	}
	if _, err := ParseSiteLink("https://site.example/" + strings.Repeat("é", 340)); err == nil {
		t.Error("escapes count as the characters they are")
	}
}

func TestMessagesStayShortAndWhole(t *testing.T) {
	_, err := Parse("x" + strings.Repeat("é", 5000))
	if err == nil || len(err.Error()) > 1000 || !utf8.ValidString(err.Error()) {
		t.Errorf("%v", err)
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"../a", "//b", `\\c`, "https:d", "?", "#", "//[::1]:443/", "\t/\n", strings.Repeat("\xe2", 3000)} {
		f.Add(s)
	}
	base, err := Parse("https://site.example/a/b?c")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		u, err := base.Resolve(ref)
		if err != nil || u.Scheme() != "https" {
			return
		}
		again, err := Parse(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q -> %q -> %v, %v", ref, u, again, err)
		}
		if err := CheckSiteLink(u); err == nil && (u.Port() != "" || u.HasCredentials() || u.Query() != "") {
			t.Fatalf("%q passed as a site link", u)
		}
	})
}
