package discovery

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/audit/profile"
)

func TestAFullListMakesRoomForWhatWasRead(t *testing.T) {
	var l resources
	name := func(i int) string { return fmt.Sprintf("https://h%d.example/", i) }
	for i := range 42 {
		l.link(Source{Kind: profile.KindDocumentation, URL: name(i)})
	}
	if len(l.list) != 40 || !l.cut || l.find(profile.KindDocumentation, name(40)) != nil {
		t.Fatalf("%d listed", len(l.list))
	}
	read := func(kind profile.ResourceKind, i int) {
		l.retrieve(Source{Kind: kind, URL: name(i)}, false, kind, name(i))
	}
	// The oldest linked one goes first, however much documentation there is.
	read(profile.KindDocumentation, 1)
	for i := 100; i < 139; i++ {
		read(profile.KindOpenAPI, i)
	}
	if l.find(profile.KindDocumentation, name(0)) != nil || l.find(profile.KindDocumentation, name(1)) == nil || len(l.list) != 40 {
		t.Errorf("the one document that was read is gone before the links are")
	}
	// Then documentation; where there is none, the newcomer is left out.
	read(profile.KindOpenAPI, 139)
	read(profile.KindOpenAPI, 140)
	if l.find(profile.KindDocumentation, name(1)) != nil || l.find(profile.KindOpenAPI, name(139)) == nil || l.find(profile.KindOpenAPI, name(140)) != nil {
		t.Error("the wrong one made room")
	}
}

func TestAFourthRedirectIsOneTooMany(t *testing.T) {
	pages := map[string]answer{"/4": pageOf("x")}
	for i, from := range []string{"/", "/1", "/2", "/3"} {
		pages[from] = answer{status: 307, to: fmt.Sprintf("/%d", i+1)}
	}
	w := newWeb(pages)
	if _, err := w.scan(t, site+"/", Options{}); err == nil || !strings.Contains(err.Error(), "more than 3 times") || len(w.asked) != 4 {
		t.Errorf("error %v after %v", err, w.asked)
	}
	if r, err := w.scan(t, site+"/1", Options{}); err != nil || r.Requests != 11 {
		t.Errorf("three redirects: %v", err)
	}
}

func TestASmallRestOfTheAllowanceIsReadOneByOne(t *testing.T) {
	pages := map[string]answer{"/": pageOf(`<a href=/docs/1>1</a><a href=/docs/2>2</a><a href=/docs/3>3</a>`)}
	for _, c := range conventional {
		pages[c.path] = answer{err: errReset}
	}
	for i := range 3 {
		pages[fmt.Sprintf("/docs/%d", i+1)] = pageOf("d")
	}
	r := newWeb(pages).mustScan(t, Options{})
	if r.Requests != 11 || r.BudgetUsed >= MaxBytes || r.source("/docs/3").Availability != profile.Retrieved {
		t.Errorf("%d requests, %d bytes used, %v", r.Requests, r.BudgetUsed, r.source("/docs/3"))
	}
	if strings.Contains(strings.Join(r.Notes, ""), noteLimit) {
		t.Errorf("notes %q, though all was read", r.Notes)
	}
}

// Two documents of the last batch redirect and one request is left: the first
// has it.
func TestARedirectWithoutARequestLeftIsNotFollowed(t *testing.T) {
	pages := map[string]answer{}
	links := ""
	for i := range 14 {
		links += fmt.Sprintf(`<a href=/docs/%d>d</a>`, i)
		pages[fmt.Sprintf("/docs/%d", i)] = pageOf("d")
	}
	pages["/"] = pageOf(links)
	pages["/docs/12"] = answer{status: 302, to: "/docs/moved"}
	pages["/docs/13"] = answer{status: 302, to: "/docs/moved2"}
	pages["/docs/moved"] = pageOf("d")
	w := newWeb(pages)
	r := w.mustScan(t, Options{})
	if r.Requests != MaxRequests || w.countOf(site+"/docs/moved") != 1 || r.Notes[0] != noteLimit {
		t.Errorf("%d requests, notes %q", r.Requests, r.Notes)
	}
	if s := r.source("/docs/13"); s == nil || s.Availability != profile.Linked {
		t.Errorf("what was not reached is %v", s)
	}
}

func TestTimeRunningOutOnTheLastReadIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeWeb{any: func(string) answer { return answer{media: "text/plain", body: "x", takes: 5200 * time.Millisecond} }}
		r := w.mustScan(t, Options{})
		if len(w.asked) != 8 || r.Notes[0] != noteLimit {
			t.Errorf("asked for %v, notes %q", w.asked, r.Notes)
		}
	})
}

func TestTheProfileIsShortenedToSixtyThousandBytesAndNoFurther(t *testing.T) {
	var paths []string
	for i := range 155 {
		paths = append(paths, fmt.Sprintf(`"/%03d%s":{"get":{}}`, i, strings.Repeat("p", 400)))
	}
	w := newWeb(map[string]answer{"/": pageOf("x"), "/openapi.json": jsonOf(`{"openapi":"3.1.0","paths":{` + strings.Join(paths, ",") + `}}`)})
	if n := len(w.mustScan(t, Options{}).Files.JSON); n > 60_000 || n < 60_000-520 {
		t.Errorf("%d bytes", n)
	}
}

func TestLinkedFilesThatAreNotWhatTheirNameSaysStayLinked(t *testing.T) {
	pages := map[string]answer{"/": pageOf(`<a href=/a/llms.txt>1</a><a href=/b/llms.txt>2</a><a href=/c/agent-card.json>3</a><a href=/d/openapi.json>4</a><a href=/e/agentic.json>5</a><a href=/f/llms.txt>6</a>`),
		"/a/llms.txt": pageOf("soft 404"), "/b/llms.txt": {media: "text/plain", body: " <html>"}, "/c/agent-card.json": jsonOf(`{"name":"A"}`),
		"/d/openapi.json": jsonOf(`{"openapi":3,"paths":{}}`), "/e/agentic.json": jsonOf(`{"agentic":"1.1.0","type":"site"}`), "/f/llms.txt": {media: "text/plain", body: "# x"}}
	r := newWeb(pages).mustScan(t, Options{})
	for path := range pages {
		want := profile.Linked
		if path == "/" || path == "/f/llms.txt" {
			want = profile.Retrieved
		}
		if s := r.source(path); s == nil || s.Availability != want {
			t.Errorf("%s: %v, want %s", path, s, want)
		}
	}
}
