package publication

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// checkInvisible fails where a text holds what is not to be seen as it is.
func checkInvisible(t testing.TB, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || strings.ContainsRune("\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff", r))
	}); i >= 0 {
		t.Errorf("%s holds %q", what, text[max(0, i-30):min(len(text), i+10)])
	}
}

// shapeOf is what a text index says, without what its profile says: the words
// before the colons, and whether a quoted string is one and no more.
func shapeOf(t testing.TB, text string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "Name", "Description", "Title":
			if s := ""; json.Unmarshal([]byte(value), &s) != nil {
				t.Errorf("%s is %q, no string", key, value)
			}
		}
		b.WriteString(key + "\n")
	}
	return b.String()
}

// A text in the profile adds no line and no field to the text index.
func TestTheTextIndexHoldsTextsAsStrings(t *testing.T) {
	const url = "https://h.example/mcp"
	plain, err := bundleText([]byte(siteProfile("Ferry", "Boats.", "Docs", url)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := shapeOf(t, plain.Text)
	for _, s := range append(hostile, "a\nResource: \"mcp\" \"https://evil.example/mcp\"", "\"\n\nOrigin: https://evil.example", "a\\", "\\\"", "# x") {
		if plainLength(s) == 0 || plainLength(s) > 160 {
			continue
		}
		f, err := bundleText([]byte(siteProfile(s, s, s, url)), Options{})
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if got := shapeOf(t, f.Text); got != want {
			t.Errorf("%q makes a text index of\n%s", s, f.Text)
		}
		checkInvisible(t, "agentic.txt", f.Text)
	}
}

// The index of a kit's folder is one of plain lines, and the names in it are
// plain, whatever stands in the kit.
func TestAFolderIsSafeWhateverTheKitSays(t *testing.T) {
	for _, s := range append(hostile, "../../etc/passwd", "/etc/passwd", `..\x`, "CON:", "a/b", ".hidden", "x.md\x00.exe", "HOW-TO-PUBLISH.txt", "how-to-publish.TXT", strings.Repeat("n", 300)+".md") {
		k := &Kit{ProfileURL: s, ReadmeURL: s, ByHand: []string{s, "b\n- c"}}
		for range 3 {
			k.Files = append(k.Files, File{Name: s, URL: s, ContentType: s, Content: s, Why: s})
		}
		seen := map[string]bool{}
		folder := k.Folder()
		for i, f := range folder {
			lower := strings.ToLower(f.Name)
			if seen[lower] || i > 0 && !plainName.MatchString(strings.Replace(f.Name, "-", "", 1)) || strings.Contains(f.Name, "..") {
				t.Errorf("%q becomes %q", s, f.Name)
			}
			seen[lower] = true
			if i > 0 && f.Content != s {
				t.Errorf("the content of %q is %q", s, f.Content)
			}
		}
		checkInvisible(t, NameIndex, folder[0].Content)
		if n := strings.Count(folder[0].Content, "\n- "); n != 5 {
			t.Errorf("%q makes %d items:\n%s", s, n, folder[0].Content)
		}
	}
}
