package publication

import (
	"slices"
	"strings"
	"testing"
)

func TestAFolderHasNamesThatEverySystemTakes(t *testing.T) {
	k := &Kit{ProfileURL: "https://site.example/agentic.json"}
	for _, name := range []string{"agentic.json", "README.md", "readme.md", "guide.md", "CON.md", "nul", "com7.md", "console.md", "../x.md", "a b.md", "x.md.", "how-to-publish.txt", ""} {
		k.Files = append(k.Files, File{Name: name, URL: "https://site.example/" + name})
	}
	var names []string
	for _, f := range k.Folder() {
		names = append(names, f.Name)
	}
	want := []string{NameIndex, "agentic.json", "README.md", "readme-2.md", "guide.md", "README-3.md", "README-4.md", "README-5.md", "console.md", "README-6.md", "README-7.md", "README-8.md", "how-to-publish-2.txt", "README-9.md"}
	if !slices.Equal(names, want) {
		t.Errorf("names\n%q, want\n%q", names, want)
	}
}

// The command of the index can be pasted, whatever the addresses are.
func TestTheCommandOfAFolderIsSafe(t *testing.T) {
	k := &Kit{ProfileURL: "https://site.example/$(id)/agentic.json", ReadmeURL: "https://raw.example/a;b&c/it's.md"}
	want := "\n  agentaudit audit 'https://site.example/$(id)/agentic.json' --publication --readme 'https://raw.example/a;b&c/it'\\''s.md'\n"
	if index := k.Folder()[0].Content; !strings.HasSuffix(index, want) {
		t.Errorf("%s\ndoes not end in %s", index, want)
	}
}
