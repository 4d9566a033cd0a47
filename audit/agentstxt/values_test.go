package agentstxt

import (
	"testing"
	"time"
)

func TestParseStamp(t *testing.T) {
	for value, want := range map[string]struct {
		kind stampKind
		at   string
	}{
		"2026-05-04T09:30:00Z":          {stampUTC, "2026-05-04T09:30:00Z"},
		"2026-05-04T09:30Z":             {stampUTC, "2026-05-04T09:30:00Z"},
		"2026-05-04T09:30:00.123Z":      {stampUTC, "2026-05-04T09:30:00Z"},
		"2026-05-04T09:30:00+02:00":     {stampISO, "2026-05-04T07:30:00Z"},
		"2026-05-04T09:30:00-0230":      {stampISO, "2026-05-04T12:00:00Z"},
		"2026-05-04T09:30:00":           {stampISO, "2026-05-04T09:30:00Z"},
		"2026-05-04 09:30:00Z":          {stampISO, "2026-05-04T09:30:00Z"},
		"2026-05-04t09:30:00z":          {stampISO, "2026-05-04T09:30:00Z"},
		"2026-05-04":                    {stampISO, "2026-05-04T00:00:00Z"},
		"20260504T093000Z":              {stampISO, "2026-05-04T09:30:00Z"},
		"2026-05":                       {stampISO, "2026-05-01T00:00:00Z"},
		"2026-W19-1":                    {stampISO, "2026-05-04T00:00:00Z"},
		"2026-124":                      {stampISO, "2026-05-04T00:00:00Z"},
		"2016-12-31T23:59:60Z":          {stampISO, "2017-01-01T00:00:00Z"},
		"2026-05-04T24:00:00Z":          {stampISO, "2026-05-05T00:00:00Z"},
		"2026-02-30T09:30:00Z":          {stampNone, ""},
		"2026-13-01":                    {stampNone, ""},
		"2026-05-04T25:00:00Z":          {stampNone, ""},
		"2026-05-04T09:60:00Z":          {stampNone, ""},
		"2026-05-04T09:30:61Z":          {stampNone, ""},
		"04.05.2026":                    {stampNone, ""},
		"Mon, 04 May 2026 09:30:00 GMT": {stampNone, ""},
		"2026-05-04T09:30:00Z # UTC":    {stampNone, ""},
		"1777887000":                    {stampNone, ""},
		"":                              {stampNone, ""},
	} {
		at, kind := parseStamp(value)
		if kind != want.kind || kind != stampNone && at.Format(time.RFC3339) != want.at {
			t.Errorf("%q is %d, %s", value, kind, at.Format(time.RFC3339))
		}
	}
}

func TestIsEmail(t *testing.T) {
	for value, want := range map[string]bool{
		"gull@shop.example": true, "g.u-l+l_7@a.b-c.example": true, "GULL@SHOP.EXAMPLE": true, "a@xn--hfen-7qa.example": true,
		"gull": false, "gull@shop": false, "@shop.example": false, "gull@.example": false, "gull@shop..example": false, ".gull@shop.example": false,
		"gull.@shop.example": false, "mailto:gull@shop.example": false, "a@shop.example b@shop.example": false, "k\u00e4pten@shop.example": false,
		"gull@shop.e": false, "gull@-shop.example": false, "gull@1.2.3.4": false, "a@b@c.example": false,
	} {
		if got := isEmail(value); got != want {
			t.Errorf("%q is %t", value, got)
		}
	}
}

func TestIsMethod(t *testing.T) {
	for value, want := range map[string]bool{
		"GET": true, "M-SEARCH": true, "VERSION-CONTROL": true, "get": true,
		"": false, "GET,POST": false, "GET POST": false, "GET/POST": false, "GET|POST": false, "*": false, "-GET": false, "GET-": false, "G3T": false,
	} {
		if got := isMethod(value); got != want {
			t.Errorf("%q is %t", value, got)
		}
	}
}

func TestRateLimitForms(t *testing.T) {
	for value, want := range map[string]string{
		"60/minute": "60/minute", "007/second": "7/second", "100000000000000000000/day": "100000000000000000000/day", "1/hour": "1/hour",
		"0/day": "", "000/day": "", "-1/day": "", "+1/day": "", "1.5/day": "", "1e3/day": "", "60 /minute": "", "60/Minute": "", "60/minutes": "",
		"60": "", "/day": "", "60/": "", "60/week": "", "60/minute/day": "", "\u0661/day": "",
	} {
		got, ok := parseRateLimit(value, 0)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q is %v, %t", value, got, ok)
		}
	}
	for raw, want := range map[string]string{
		"60": "60", "60.0": "60", "6e1": "60", "0.6E+2": "60", "1e22": "10000000000000000000000", "1": "1",
		"0": "", "-5": "", "1.5": "", "1e-3": "", "1e999": "", "0.0": "", "1e999999999": "",
	} {
		if got, ok := wholeNumber(raw); got != want || ok != (want != "") {
			t.Errorf("%s is %q, %t", raw, got, ok)
		}
	}
}

func TestParseLink(t *testing.T) {
	for raw, want := range map[string]string{
		"https://shop.example": "https://shop.example/", "HTTPS://Shop.Example:443": "https://shop.example/", "https://shop.example:8443/a?b#c": "https://shop.example:8443/a?b",
		"https://b\u00fccher.example/x": "https://xn--bcher-kva.example/x", "wss://shop.example/feed": "wss://shop.example/feed",
		"https://u:p@shop.example/": "https://shop.example/", "https://[::1]:3000/": "https://[::1]:3000/", "foo://bar:7/x": "foo://bar:7/x",
		"https:///shop": "", "https:shop.example": "", "https:/shop.example": "", "https://": "", "https://user@": "", "https://:443/": "",
		"https://shop example/": "", "shop.example": "", "//shop.example/": "", "mailto:a@b.example": "", "javascript:alert(1)": "", "/x": "", "": "",
		"https://shop.example\\x": "", "1http://shop.example": "", "https://shop.example:99999/": "", "https://a\x00b.example/": "",
	} {
		l, ok := parseLink(raw)
		if ok != (want != "") || ok && l.origin()+l.request() != want {
			t.Errorf("%q is %q, %t", raw, l.origin()+l.request(), ok)
		}
	}
}

func TestNormalURLs(t *testing.T) {
	for _, same := range [][2]string{
		{"https://shop.example", "HTTPS://SHOP.example:443/"}, {"http://a.example:80/x", "http://a.example/x"}, {"https://u@A.example/", "https://u@a.example"},
	} {
		if normal(same[0]) != normal(same[1]) {
			t.Errorf("%q and %q differ", normal(same[0]), normal(same[1]))
		}
	}
	for _, other := range [][2]string{
		{"https://shop.example/a", "https://shop.example/A"}, {"https://shop.example/a", "https://shop.example/a/"}, {"https://shop.example/%7Ea", "https://shop.example/~a"},
		{"http://shop.example", "https://shop.example"}, {"https://shop.example/?", "https://shop.example/"}, {"https://u@a.example/", "https://a.example/"},
	} {
		if normal(other[0]) == normal(other[1]) {
			t.Errorf("%q and %q are the same", other[0], other[1])
		}
	}
}

func TestDomains(t *testing.T) {
	for _, row := range []struct {
		host, site string
		want       bool
	}{
		{"shop.example", "www.shop.example", true}, {"api.eu.shop.example", "www.shop.example", true}, {"other.example", "shop.example", false},
		{"a.co.uk", "b.co.uk", false}, {"x.a.co.uk", "a.co.uk", true}, {"a.github.io", "b.github.io", false}, {"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10.0.0.2", false}, {"localhost", "localhost", true}, {"evilshop.example", "shop.example", false},
	} {
		if got := sameDomain(row.host, row.site); got != row.want {
			t.Errorf("%s for %s is %t", row.host, row.site, got)
		}
	}
}

// Positions count characters, in long lines too, and lines of every ending.
func TestPositions(t *testing.T) {
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	for _, row := range []struct {
		text         string
		offset       int
		line, column int
	}{
		{"a\nb", 2, 2, 1}, {"a\r\nbc", 4, 2, 2}, {"a\rb", 2, 2, 1}, {"\u00e4\U0001f41fx", 6, 1, 3}, {"a\n", 2, 2, 1}, {"", 0, 1, 1}, {"ab", 99, 1, 3}, {"ab", -1, 1, 1},
		{string(long) + "\u00e4" + string(long), 9000, 1, 9000}, {"\ufeffab", 1, 1, 2},
	} {
		if l, c := newSource([]byte(row.text)).position(row.offset); l != row.line || c != row.column {
			t.Errorf("%.20q at %d is %d:%d, want %d:%d", row.text, row.offset, l, c, row.line, row.column)
		}
	}
}

func TestDocumentKnowsItsPlaces(t *testing.T) {
	d := ParseText([]byte("\ufeffSpec-Version: 1.0\r\n\r\nSite-Name:  \u00c4 b\r\n"))
	if l, c := d.Position(d.Declaration.Site.Name); l != 3 || c != 13 || d.Line(3) != "Site-Name:  \u00c4 b" || d.Line(0) != "" || d.Line(99) != "" {
		t.Errorf("%d:%d %q", l, c, d.Line(3))
	}
	j := ParseJSON([]byte("{\"specVersion\": \"1.0\",\n \"site\": {\"name\": \"\u00c4 b\"}}"))
	if l, c := j.Position(j.Declaration.Site.Name); l != 2 || c != 19 {
		t.Errorf("%d:%d", l, c)
	}
}
