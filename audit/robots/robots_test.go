package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, row := range []struct {
		pattern, path string
		want          bool
	}{
		{"/a", "/abc", true}, {"/a$", "/abc", false}, {"/a$", "/a", true}, {"/a/", "/a", false}, {"", "/", false}, {"*", "/", true}, {"*$", "/a", true},
		{"/*/b", "/a/b/c", true}, {"/*/b$", "/a/b/c", false}, {"/*b$", "/ab/b", true}, {"/a*a$", "/a", false}, {"/a*a$", "/aa", true},
		{"a", "/a", false}, {"*.gif", "/x.gif?y", true}, {"*.gif$", "/x.gif?y", false}, {"$", "/", false}, {"/$", "/", true},
		{"/**/x", "/a/x", true}, {"/a*b*c", "/axbxc", true}, {"/a*b*c", "/axcxb", false}, {"/A", "/a", false},
		// A rule begins where the path does, also one with wildcards.
		{"/public/*.md", "/private/public/x.md", false}, {"/a/*.md", "/docs/a/x.md", false},
		// Spellings of one octet (RFC 9309, section 2.2.2).
		{"/%7euser", "/~user", true}, {"/~user", "/%7Euser", true}, {"/a%2fb", "/a%2Fb", true}, {"/a%2fb", "/a/b", false},
		{"/th\u00e9", "/th%c3%a9", true}, {"/foo/bar/\u30c4", "/foo/bar/%E3%83%84", true}, {"/foo/bar/%E3%83%84", "/foo/bar/\u30c4", true},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz", true}, {"/%zz", "/%zz", true}, {"/%", "/%", true}, {"/100%", "/100%25", true}, {"/\xff", "/%FF", true}, {"/\x00", "/%00", true},
		{"/a b", "/a%20b", true},
		// The characters themselves (section 2.2.3).
		{"/file-%2A.html", "/file-*.html", true}, {"/file-%2A.html", "/file-x.html", false}, {"/foo-%24", "/foo-$", true}, {"/foo-%24$", "/foo-$x", false},
		{"/a$b", "/a$b", true}, {"/a$b", "/a", false}, {"/a*b", "/a*b", true},
	} {
		if got := Match(NormalPattern(row.pattern), NormalPath(row.path)); got != row.want {
			t.Errorf("%q on %q is %t", row.pattern, row.path, got)
		}
	}
}

func TestParse(t *testing.T) {
	const everyone = "User-agent: *\n"
	for name, tc := range map[string]struct {
		file    string
		allowed string // of the paths /docs/a, /docs/a.md and /private/public/x.md
	}{
		"nothing":                         {"", "ymx"},
		"everything":                      {everyone + "Disallow: /", ""},
		"everything, by a star":           {everyone + "Disallow: *", ""},
		"everything, by a star and end":   {everyone + "Disallow: /*$", ""},
		"an empty rule":                   {everyone + "Disallow:", "ymx"},
		"a beginning":                     {everyone + "Disallow: /docs", "x"},
		"an end":                          {everyone + "Disallow: /*.md$", "y"},
		"a place that is not there":       {everyone + "Disallow: /a", "ymx"},
		"a pattern that is no path":       {everyone + "Disallow: docs\nDisallow: https://site.example/docs", "ymx"},
		"the longest, though first":       {everyone + "Allow: /docs/a\nDisallow: /docs", "ymx"},
		"the longest, though last":        {everyone + "Disallow: /docs\nAllow: /docs/a$", "yx"},
		"the longest, by a wildcard":      {everyone + "Disallow: /private/\nAllow: /public/*.md", "ym"},
		"the longest in normal form":      {everyone + "Disallow: /%64%6f%63%73\nAllow: /docs/", "ymx"},
		"Allow among equals":              {everyone + "Disallow: /docs\nAllow: /docs\nDisallow: /docs", "ymx"},
		"Allow all among equals":          {everyone + "Allow: /\nDisallow: /", "ymx"},
		"ours":                            {"User-agent: AgentAudit\nDisallow: /docs\n\nUser-agent: *\nDisallow: /", "x"},
		"ours, without a rule":            {"User-agent: agentaudit\nDisallow:\n\nUser-agent: *\nDisallow: /", "ymx"},
		"ours, with a version":            {"User-agent: agentaudit/1.0 (+https://x.example)\nDisallow: /docs", "x"},
		"ours, with a remark":             {"User-agent: agentaudit bot\nDisallow: /docs", "x"},
		"ours twice":                      {"User-agent: agentaudit\nDisallow: /docs/a$\n\nUser-agent: other\nDisallow: /private\n\nUser-agent: agentaudit\nDisallow: /docs/a.md", "x"},
		"everyone's twice":                {everyone + "Disallow: /docs/a$\nUser-agent: other\nDisallow: /private\n" + everyone + "Disallow: /docs/a.md", "x"},
		"several names":                   {"User-agent: other\nUser-agent: agentaudit\nUser-agent: third\nDisallow: /docs", "x"},
		"names with lines between":        {"User-agent: other\n\n# and\nCrawl-delay: 5\nSitemap: /docs\nUser-agent: agentaudit\nDisallow: /docs", "x"},
		"rules with lines between":        {"User-agent: agentaudit\nDisallow: /docs/a$\n\nSitemap: https://site.example/s\nnonsense\nDisallow: /docs/a.md", "x"},
		"ours among everyone's":           {everyone + "User-agent: agentaudit\nDisallow: /docs\nUser-agent: *\nDisallow: /private", "x"},
		"others alone":                    {"User-agent: GPTBot\nDisallow: /", "ymx"},
		"everyone's, then others'":        {everyone + "Disallow:\n\nUser-agent: GPTBot\nDisallow: /", "ymx"},
		"a beginning of our name":         {"User-agent: agent\nDisallow: /", "ymx"},
		"a name that begins like ours":    {"User-agent: agentaudit2\nUser-agent: agentaudit-x\nDisallow: /", "ymx"},
		"a name with a star":              {"User-agent: agent*\nUser-agent: **\nDisallow: /", "ymx"},
		"an empty name":                   {"User-agent:\nDisallow: /", "ymx"},
		"rules before any name":           {"Disallow: /\nAllow: /docs\n" + everyone + "Disallow: /docs", "x"},
		"a byte order mark":               {"\uFEFF" + everyone + "Disallow: /docs", "x"},
		"CR LF":                           {"User-agent: *\r\nDisallow: /docs\r\n", "x"},
		"CR":                              {"User-agent: *\rDisallow: /docs\rDisallow: /private", ""},
		"blanks":                          {" User-agent \t:\t * \n\tDisallow : /docs\t\n", "x"},
		"letters of any case":             {"USER-AGENT: *\ndisALLOW: /docs\naLLow: /docs/a$", "yx"},
		"comments":                        {"# all\nUser-agent: * # everyone\nDisallow: /docs # Disallow: /private", "x"},
		"a blank in a pattern":            {everyone + "Disallow: /docs /private", "ymx"},
		"lines that are none of its kind": {everyone + "Disallow /private\nNoindex: /private\nDisallows: /private\n: /private\nDisallow: /docs", "x"},
		"octets that are no text":         {everyone + "Disallow: /\xff\x00\nDisallow: /docs", "x"},
		"HTML":                            {"<!doctype html><title>Not found</title><a href=\"x\">User-agent: *</a>\nDisallow: /", "ymx"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Parse([]byte(tc.file), "agentaudit")
			var allowed string
			for _, p := range []struct{ path, letter string }{{"/docs/a", "y"}, {"/docs/a.md", "m"}, {"/private/public/x.md", "x"}} {
				if ok, _ := r.Allows(p.path); ok {
					allowed += p.letter
				}
			}
			if allowed != tc.allowed {
				t.Errorf("allowed %q, want %q", allowed, tc.allowed)
			}
		})
	}
}

// greedy are patterns on which trying every way would take for ever, and paths
// that they nearly match.
var greedy = []struct{ pattern, path string }{
	{"/" + strings.Repeat("*a", 1000) + "$", "/" + strings.Repeat("a", 2000) + "b"},
	{"/" + strings.Repeat("*ab", 600) + "*c", "/" + strings.Repeat("ab", 1000)},
	{"/" + strings.Repeat("*", 2000) + "b", "/" + strings.Repeat("a", 2000)},
	{"*" + strings.Repeat("a", 1000) + "b*", "/" + strings.Repeat("a", 2000)},
	{strings.Repeat("*a*", 500) + "$", "/" + strings.Repeat("ab", 1000)},
}

// fileOf is a file as large as they may be, of patterns for everyone.
func fileOf(pattern func(i int) string) []byte {
	b := []byte("User-agent: *\n")
	for i := 0; ; i++ {
		line := "Disallow: " + pattern(i) + "\n"
		if len(b)+len(line) > MaxSize {
			return b
		}
		b = append(b, line...)
	}
}

func TestNothingIsTriedTwice(t *testing.T) {
	for _, g := range greedy {
		if matches, work := match(g.pattern, g.path); work > len(g.pattern)+len(g.path) {
			t.Errorf("%.20s… on %.20s… is %t after %d octets of %d", g.pattern, g.path, matches, work, len(g.pattern)+len(g.path))
		}
	}
	// All rules together, and none of them decides.
	file := fileOf(func(i int) string { return fmt.Sprintf("%s%d\nDisallow: /x%d", greedy[i%len(greedy)].pattern, i, i) })
	r := Parse(file, "agentaudit")
	path := "/" + strings.Repeat("ab", 1000)
	if ok, work := r.Allows(path); !ok || work < len(r.list) || work > len(file)+len(r.list)*(len(path)+1) {
		t.Errorf("allowed %t after %d octets for %d rules in %d bytes", ok, work, len(r.list), len(file))
	}
}

// Where the beginning decides, the wildcards behind it cost nothing.
func TestRulesForOtherPlacesCostNoOctets(t *testing.T) {
	r := Parse(fileOf(func(i int) string { return fmt.Sprintf("/place-%d/*/x*y", i) }), "agentaudit")
	if ok, work := r.Allows("/docs/" + strings.Repeat("x/", 500)); !ok || work != len(r.list) || work < 10_000 {
		t.Errorf("allowed %t after %d octets for %d rules", ok, work, len(r.list))
	}
}

// byTrying matches in the way the RFC defines it, one octet after the other.
func byTrying(pattern, path string) bool {
	switch {
	case pattern == "":
		return true
	case pattern == "$":
		return path == ""
	case pattern[0] == '*':
		for i := range len(path) + 1 {
			if byTrying(pattern[1:], path[i:]) {
				return true
			}
		}
		return false
	}
	return path != "" && path[0] == pattern[0] && byTrying(pattern[1:], path[1:])
}

func TestMatchDoesWhatTryingAllWaysDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(letters string, n int) string {
		b := make([]byte, random.IntN(n))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return "/" + string(b)
	}
	matched := 0
	for range 200_000 {
		pattern, path := NormalPattern(text("ab**/$", 8)), NormalPath(text("ab/", 10))
		want := byTrying(pattern, path)
		if got := Match(pattern, path); got != want {
			t.Fatalf("%q on %q is %t", pattern, path, got)
		}
		if want {
			matched++
		}
	}
	if matched < 10_000 {
		t.Errorf("only %d matched", matched)
	}
}

func TestRulesAsTextSayTheSame(t *testing.T) {
	r := Parse([]byte("User-agent: agentaudit\nDisallow: /b\u00fc %2a\nAllow: /*x$\nDisallow: /a$b\nAllow: /%\n"), "agentaudit")
	const want = "User-agent: *\nDisallow: /b%C3%BC%20%2A\nDisallow: /a%24b\nAllow: /%25\nAllow: /*x$\n"
	if got := r.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if again := Parse([]byte(r.String()), "anybody").String(); again != want {
		t.Errorf("then %q", again)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"User-agent: *\nDisallow: /a*b$\nAllow: /", "user-agent:a\nuser-agent:agentaudit/2\rdisallow:*", "\uFEFFUser-agent: *\nDisallow: /%zz[(\n#x"} {
		f.Add([]byte(s), "/a/b?c")
	}
	f.Fuzz(func(t *testing.T, file []byte, path string) {
		r := Parse(file, "agentaudit")
		if len(r.list) > len(file)/len("allow:/x") {
			t.Errorf("%d rules of %d bytes", len(r.list), len(file))
		}
		octets := 0
		for _, one := range r.list {
			octets += len(one.pattern) + 1 + len(NormalPath(path))
		}
		allowed, work := r.Allows(path)
		if work > octets {
			t.Errorf("work %d for %d octets", work, octets)
		}
		again := Parse([]byte(r.String()), "another")
		if same, _ := again.Allows(path); same != allowed || again.String() != r.String() {
			t.Errorf("%q for everyone is %q", r, again)
		}
	})
}

// FuzzMatch: writing in normal form is idempotent, a path matches itself, and
// what a pattern matches it matches with more behind.
func FuzzMatch(f *testing.F) {
	f.Add("/a*b$", "/axb")
	f.Add("/%7Euser/*", "/~user/x")
	f.Add("*", "/caf\u00e9?x=%2f")
	f.Add("/%%61", "/%a1$*")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		n, p := NormalPattern(pattern), NormalPath(path)
		if NormalPattern(n) != n || NormalPath(p) != p {
			t.Errorf("%q becomes %q, then %q; %q becomes %q, then %q", pattern, n, NormalPattern(n), path, p, NormalPath(p))
		}
		if p != "" && (!Match(p, p) || !Match(p+"$", p) || !Match("*"+p, p)) {
			t.Errorf("%q does not match itself", p)
		}
		matches, work := match(n, p)
		if matches && !strings.HasSuffix(n, "$") && !Match(n, p+"x") {
			t.Errorf("%q matches %q, but not what begins so", n, p)
		}
		if work > len(n)+len(p) {
			t.Errorf("%q on %q took %d octets", n, p, work)
		}
	})
}

// BenchmarkAllows decides for a long path by the costliest rules there are.
func BenchmarkAllows(b *testing.B) {
	file := fileOf(func(i int) string { return fmt.Sprintf("*a*%d", i) })
	path := "/" + strings.Repeat("ab", 1000)
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(file)))
		for b.Loop() {
			Parse(file, "agentaudit")
		}
	})
	r := Parse(file, "agentaudit")
	b.Run("decide", func(b *testing.B) {
		work := 0
		for b.Loop() {
			_, n := r.Allows(path)
			work += n
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(work), "ns/octet")
	})
}
