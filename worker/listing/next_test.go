package listing

import (
	"testing"

	"agentaudit/fetch/weburl"
)

// What an answer says of the next page, where it says it in several ways.
func TestNextOf(t *testing.T) {
	at, err := weburl.Parse("https://directory.example/api?limit=2")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, page, link string
		want             Kind // Single is the end
	}{
		{"an empty offset beside a cursor", `{"nextOffset": null, "nextCursor": "c2"}`, "", Cursor},
		{"an empty link beside a cursor", `{"links": {"next": null}, "meta": {"next_cursor": "c2"}}`, "", Cursor},
		{"an empty cursor beside a link", `{"next_cursor": "", "next": "/api?page=2"}`, "", Link},
		{"all empty", `{"nextOffset": null, "nextCursor": "", "links": {"next": null}}`, "", Single},
		{"an empty cursor is the end, whatever else is said", `{"next_cursor": null, "has_more": true}`, "", Single},
		{"more without a name", `{"has_more": true}`, "", Offset},
		{"a comma and a semicolon in a quoted parameter", `{}`, `</api?page=2>; title="a, b; c"; rel="next"`, Link},
		{"a quoted word that looks like a relation", `{}`, `</api?page=1>; title="x; rel=next"; rel="prev"`, Single},
		{"a quoted quote", `{}`, `</api?page=1>; title="\"; rel=next; \""; rel=first, </api?page=2>; rel="last next"`, Link},
		{"an unquoted list", `{}`, `</api?page=1>;rel=prev,</api?page=2>;REL=Next`, Link},
		{"a quote without an end", `{}`, `</api?page=2>; title="; rel=next`, Single},
	} {
		t.Run(c.name, func(t *testing.T) {
			page, err := decode([]byte(c.page))
			if err != nil {
				t.Fatal(err)
			}
			var header []string
			if c.link != "" {
				header = []string{c.link}
			}
			s, err := nextOf(page, header, at, 2)
			if err != nil {
				t.Fatal(err)
			}
			if s.kind != c.want {
				t.Errorf("the next page is by %q, want %q", s.kind, c.want)
			}
			if s.kind == Link && s.url.String() != "https://directory.example/api?page=2" {
				t.Errorf("the next page is %s", s.url)
			}
		})
	}
}
