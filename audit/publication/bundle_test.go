package publication

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"agentaudit/audit/profile"
	"agentaudit/audit/readme"
	"agentaudit/audit/textindex"
)

// siteProfile makes a site profile with the given texts in every place for text.
func siteProfile(name, description, title string, urls ...string) string {
	resources := []map[string]string{{"kind": "website", "url": "https://site.example/", "source": "https://site.example/", "availability": "retrieved", "title": title}}
	for i, u := range urls {
		kind := []string{"documentation", "mcp", "llms", "a2a", "agent-auth", "openapi", "agentic"}[i%7]
		resources = append(resources, map[string]string{"kind": kind, "url": u, "source": "https://site.example/", "availability": []string{"linked", "retrieved"}[i%2], "title": title})
	}
	for _, r := range resources {
		if r["title"] == "" {
			delete(r, "title")
		}
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{
		"agentic": "1.1.0", "type": "site", "origin": "https://site.example", "name": name, "description": description, "resources": resources, "apis": []any{},
	}); err != nil {
		panic(err)
	}
	return text.String()
}

// checkMarkdown holds a generated file against what it may contain: our
// headings and no others, links to what the profile names and to the two
// projects, no HTML and no control character.
func checkMarkdown(t testing.TB, file string, allowed ...string) {
	t.Helper()
	for name, md := range map[string]goldmark.Markdown{"CommonMark": commonMark, "GFM": gfm} {
		source := []byte(file)
		_ = ast.Walk(md.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			switch n := n.(type) {
			case *ast.Heading:
				if heading := string(n.Lines().Value(source)); entering && n.Level > 1 && !slices.Contains(ourHeadings, heading) {
					t.Errorf("%s: heading %q", name, heading)
				}
			case *ast.Link:
				if entering && !slices.Contains(allowed, strings.ReplaceAll(string(n.Destination), "&amp;", "&")) {
					t.Errorf("%s: link to %q", name, n.Destination)
				}
			case *ast.Document, *ast.Paragraph, *ast.Text, *ast.String, *ast.List, *ast.ListItem, *ast.TextBlock:
			default:
				t.Errorf("%s: a %s", name, n.Kind())
			}
			return ast.WalkContinue, nil
		})
	}
	if i := strings.IndexFunc(file, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 {
		t.Errorf("control character at %d", i)
	}
}

var ourHeadings = []string{
	"Files for agents", "The convention behind these files", "When something changes", "APIs", "Agent connections", "Documentation", "Further pages and profiles", "Actions",
	"Title", "Short description", "Full description", "Links", "References", "Before you submit",
}

var links = []string{
	"https://site.example/", "https://site.example/agentic.json", "https://site.example/agentic.txt", specificationURL, directoryURL,
}

func TestGeneratedMarkdownHoldsNothingOfStrangers(t *testing.T) {
	urls := []string{
		"https://site.example/docs/%28a%29", "https://site.example/x&copy;y", "https://h.example/a'b*c_d~e|f[g]h", "https://h.example/$x$", "https://h.example/a;b", "https://h.example/openapi.json", "https://h.example/agentic.json",
	}
	for _, s := range hostile {
		if plainLength(s) == 0 || plainLength(s) > 160 {
			continue
		}
		f, err := bundleText([]byte(siteProfile(s, s, s, urls...)), Options{})
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		checkSizes(t, f)
		checkReadme(t, f, profileURL(t, f))
		for _, file := range []string{f.Readme, f.Listing} {
			checkMarkdown(t, file, append(links, urls...)...)
			for _, u := range urls {
				if !strings.Contains(file, destination(u)) {
					t.Errorf("%s is not listed", u)
				}
			}
		}
	}
}

func plainLength(s string) int { return len([]rune(s)) }

func FuzzBundle(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, name, description, title string) {
		files, err := bundleText([]byte(siteProfile(name, description, title, "https://h.example/mcp")), Options{})
		if err != nil {
			return // too long, or empty
		}
		checkSizes(t, files)
		checkReadme(t, files, profileURL(t, files))
		checkMarkdown(t, files.Readme, append(links, "https://h.example/mcp")...)
		checkMarkdown(t, files.Listing, append(links, "https://h.example/mcp")...)
	})
}

func TestAReadmeThatWouldBeTooLargeListsLess(t *testing.T) {
	var urls []string
	for i := range 39 {
		urls = append(urls, fmt.Sprintf("https://h%d.example/%s", i, strings.Repeat("&", 700)))
	}
	f, err := bundleText([]byte(siteProfile("n", "d", strings.Repeat("&", 100), urls...)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkSizes(t, f)
	checkReadme(t, f, profileURL(t, f))
	for _, file := range []string{f.Readme, f.Listing} {
		listed := strings.Count(file, "\n- [")
		if listed < 10 || listed > 39 || !strings.Contains(file, " more ") || len(file) < 50_000 {
			t.Errorf("%d listed in %d bytes", listed, len(file))
		}
	}
}

func TestTheProjectsAreDescribedAsInTheTextIndex(t *testing.T) {
	f, err := bundleText([]byte(siteProfile("n", "d", "")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{specificationText, directoryText, specificationURL, directoryURL} {
		if !strings.Contains(f.Text, `"`+s+`"`) || !strings.Contains(f.Readme, s) || !strings.Contains(f.Listing, s) {
			t.Errorf("%q is not in all three files", s)
		}
	}
}

func TestABlankNameIsReplacedByTheHost(t *testing.T) {
	f, err := bundleText([]byte(siteProfile("\u200b ", "\u200b", " ")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.Readme, "# site.example\n\nsite.example on the web.\n") || !strings.Contains(f.Readme, "[site.example/](https://site.example/)") {
		t.Errorf("%s", f.Readme)
	}
}

func TestErrorsSayWhichFileIsTooLarge(t *testing.T) {
	var operations []string
	for i := range 160 {
		operations = append(operations, fmt.Sprintf(`{"method":"GET","path":"/%d%s"}`, i, strings.Repeat("p", 370)))
	}
	text := `{"agentic":"1.1.0","type":"site","origin":"https://site.example","name":"n","description":"d","resources":[{"kind":"openapi","url":"https://site.example/o.json","source":"https://site.example/","availability":"retrieved"}],
"apis":[{"document":"https://site.example/o.json","openapi":"3.1.0","operations":[` + strings.Join(operations, ",") + `]}]}`
	_, err := bundleText([]byte(text), Options{})
	var size *SizeError
	if !errors.As(err, &size) || size.Name != NameJSON {
		t.Errorf("error %v", err)
	}
	_, err = bundleText([]byte(siteProfile("n", "d", "")), Options{ProfileURL: "https://other.example/agentic.json"})
	var url *textindex.URLError
	if !errors.As(err, &url) {
		t.Errorf("error %v", err)
	}
}

func TestEveryKindOfResourceIsNamed(t *testing.T) {
	for _, kind := range []profile.ResourceKind{profile.KindWebsite, profile.KindDocumentation, profile.KindLLMs, profile.KindMCP, profile.KindA2A, profile.KindAgentAuth, profile.KindAgentic} {
		if kindNames[kind] == "" {
			t.Errorf("%s has no name", kind)
		}
	}
}

func TestLongProfileURLsAreLinkedByName(t *testing.T) {
	at := "https://site.example/" + strings.Repeat("a", 2100) + "/agentic.json"
	f, err := bundleText([]byte(siteProfile("n", "d", "")), Options{ProfileURL: at})
	if err != nil {
		t.Fatal(err)
	}
	if len(at) <= readme.MaxDestination || !strings.Contains(f.Readme, "[agentic.json](./agentic.json)") {
		t.Errorf("%s", f.Readme)
	}
	checkReadme(t, f, profileURL(t, f))
	// A name that no README could hold.
	f, err = bundleText([]byte(siteProfile("n", "d", "")), Options{ProfileURL: "https://site.example/" + strings.Repeat("&", 8_000)})
	if err != nil {
		t.Fatal(err)
	}
	checkSizes(t, f)
}
