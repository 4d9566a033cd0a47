package dashboard

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"agentaudit/store"
)

// formsOf are where the forms of a page lead that change something.
func formsOf(doc *html.Node) (posts []string) {
	for _, f := range find(doc, "form") {
		action, method := "", ""
		for _, a := range f.Attr {
			switch a.Key {
			case "action":
				action = a.Val
			case "method":
				method = strings.ToLower(a.Val)
			}
		}
		if method == "post" {
			posts = append(posts, action)
		}
	}
	return posts
}

// Who may only read is shown no form and no link that would be refused, and no
// list that the API refuses.
func TestReadersSeeNothingTheyMayNotUse(t *testing.T) {
	x := seed(t)
	x.written(t)
	if err := x.PauseBatch(t.Context(), x.running, "for lunch"); err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, Users: testUsers(t, "anna")})
	as := func(scope store.Scope) *visitor {
		secret, _, err := x.NewToken(t.Context(), store.Token{Name: "for " + string(scope), Scope: scope, CreatedBy: "berta"})
		if err != nil {
			t.Fatal(err)
		}
		v := visit(t, s)
		v.header.Set("Authorization", "Bearer "+secret)
		return v
	}
	reader, writer := as(store.ScopeRead), as(store.ScopeWrite)
	local := visit(t, serve(t, Config{Store: x, Now: x.clock.Now})) // a dashboard that only reads
	forms := 0
	for _, p := range everyPage(x) {
		for who, v := range map[string]*visitor{"a reader": reader, "a dashboard without a store to write to": local} {
			if v == local && strings.HasPrefix(p[1], "/share/") {
				continue
			}
			doc := v.page(p[1])
			if posts := formsOf(doc); len(posts) > 0 && p[0] != "signin" {
				t.Errorf("%s is shown forms at %s that lead to %q", who, p[1], posts)
			}
			for _, l := range links(doc, "a[href]") {
				if l == "/new" || strings.HasPrefix(l, "/schedules?batch=") {
					t.Errorf("%s is led from %s to %s", who, p[1], l)
				}
			}
		}
		forms += len(formsOf(writer.page(p[1])))
	}
	if forms < 20 {
		t.Errorf("a writer is shown only %d forms", forms)
	}
	for path, secretive := range map[string][]string{"/tokens": {"berta", "the directory's own site"}, "/shares": {string(x.failed)}} {
		if res, _ := reader.get(apiPath + path); res.StatusCode != 403 {
			t.Errorf("the API tells a reader %s: %d", path, res.StatusCode)
		}
		seen, hidden := text(writer.page("/settings")), text(reader.page("/settings"))
		for _, word := range secretive {
			if !strings.Contains(seen, word) || strings.Contains(hidden, word) {
				t.Errorf("%q of %s: a writer sees it: %v, a reader: %v", word, path, strings.Contains(seen, word), strings.Contains(hidden, word))
			}
		}
	}
}
