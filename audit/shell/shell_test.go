package shell_test

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"agentaudit/audit/shell"
)

func TestQuotesOnlyWhatNeedsIt(t *testing.T) {
	for word, want := range map[string]string{
		"":                                    "''",
		"https://shop.example/a/agentic.json": "https://shop.example/a/agentic.json",
		"https://shop.example:443/%41@b,c+d_": "https://shop.example:443/%41@b,c+d_",
		"--data-dir=/srv/a":                   "--data-dir=/srv/a",
		"https://shop.example/a?b=c":          "'https://shop.example/a?b=c'",
		"https://shop.example/a&b":            "'https://shop.example/a&b'",
		"https://shop.example/a;b":            "'https://shop.example/a;b'",
		"https://shop.example/$(id)/":         "'https://shop.example/$(id)/'",
		"a'b":                                 `'a'\''b'`,
		"my files":                            "'my files'",
		"~":                                   "'~'",
		"=ls":                                 "'=ls'",
		"fähre":                               "'fähre'",
		"a\nb":                                `"$(printf 'a\012b')"`,
		"\x1b[31m 100%":                       `"$(printf '\033[31m 100%%')"`,
		"a\x00b":                              "a",
	} {
		if got := shell.Quote(word); got != want {
			t.Errorf("%q is written %s, want %s", word, got, want)
		}
	}
	if got, want := shell.Line("agentaudit", "audit", "https://shop.example/a;b"), "agentaudit audit 'https://shop.example/a;b'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// hostile are words in which a shell would find much to do.
var hostile = []string{
	"", " ", "-", "--", "#", "~root", "=cat", "!!", "a!b", "*", "?", "[a-z]", "{a,b}", "$HOME", "${HOME}", "$(id)", "`id`", "a;b", "a&b", "a|b", "a>b", "a<b",
	"'", `"`, `\`, `\n`, `'"'"'`, "a b", "a\tb", "a\nb", "\x1b]0;x\a", "\x07'$(id)`id`\"%s%d\\101!", "\u202Ea", "\u00a0", "\u2800", "\xff\xfe", "\u00e9", "\uFFFD", "%", "a=b", "100%\x01", "-\xca",
	"https://shop.example/agentic.json?x=1&y=$(touch /tmp/x);'\"",
}

// readBack has a shell say which words a line is made of.
func readBack(t *testing.T, line string) string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err) // every system that builds this has one
	}
	cmd := exec.CommandContext(t.Context(), sh, "-c", `printf '[%s]' `+line)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v, %s", line, err, out)
	}
	return string(out)
}

func TestAShellReadsTheWordsBack(t *testing.T) {
	if got, want := readBack(t, shell.Line(hostile...)), "["+strings.Join(hostile, "][")+"]"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzQuote(f *testing.F) {
	for _, w := range hostile {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, word string) {
		quoted := shell.Quote(word)
		if !utf8.ValidString(quoted) || strings.ContainsFunc(quoted, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q cannot be shown: %q", word, quoted)
		}
		want, _, _ := strings.Cut(word, "\x00")
		want = strings.TrimRight(want, "\n")
		if got := readBack(t, quoted); got != "["+want+"]" && got != "["+want+strings.Repeat("\n", len(word)-len(want))+"]" {
			t.Errorf("%q is written %s and read %q", word, quoted, got)
		}
	})
}
