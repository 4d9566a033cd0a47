package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"agentaudit/store/storetest"
)

func TestIfNoneMatch(t *testing.T) {
	for header, want := range map[string]bool{
		`"a"`: true, `W/"a"`: true, `"b", W/"a"`: true, `"b","a" , "c"`: true, `*`: true, ` * `: true, `"x,y", "a"`: true, `, ,"a"`: true,
		``: false, `"b"`: false, `a`: false, `"a`: false, `w/"a"`: false, `"x, "a"`: false, `"b" "a"`: false, `"aa"`: false,
	} {
		if got := noneMatches([]string{header}, `"a"`); got != want {
			t.Errorf("%s matches: %v", header, got)
		}
	}
	if !noneMatches([]string{`"b"`, `"a"`}, `W/"a"`) {
		t.Error("two lines are not one list")
	}
	x, clock := storetest.New(t)
	v := visit(t, serve(t, Config{Store: x, Now: clock.Now}))
	res, _ := v.get("/badge.svg?target=a.example")
	r := httptest.NewRequest("GET", "http://localhost/badge.svg?target=a.example", nil)
	r.Header.Set("If-None-Match", `"other", W/`+res.Header.Get("ETag"))
	if res, body := v.send(r); res.StatusCode != 304 || body != "" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// Each address says by which methods it is reached.
func TestMethodsThatAnAddressTakes(t *testing.T) {
	x, clock := storetest.New(t)
	for _, base := range []string{"", "/audit"} {
		v := visit(t, serve(t, Config{Store: x, Write: x, Now: clock.Now, BasePath: base}))
		for _, c := range []struct {
			method, path string
			status       int
			allow        string
		}{
			{"PUT", "/api/v1/batches", 405, "GET, HEAD, POST"},
			{"GET", "/api/v1/batches/1/start", 405, "POST"},
			{"PATCH", "/api/v1/batches/1", 405, "GET, HEAD, DELETE"},
			{"DELETE", "/api/v1/batches", 405, "GET, HEAD, POST"},
			{"GET", "/api/v1/tokens/1", 405, "DELETE"},
			{"OPTIONS", "/api/v1/me", 405, "GET, HEAD"},
			{"PUT", "/api/v1/nothing", 404, ""},
			{"GET", "/signout", 405, "POST"},
			{"DELETE", "/sites", 405, "GET, HEAD"},
			{"DELETE", "/nothing", 404, ""},
		} {
			res, body := v.send(httptest.NewRequest(c.method, "http://localhost"+base+c.path, nil))
			if got := res.Header.Get("Allow"); res.StatusCode != c.status || got != c.allow || c.status == 405 && !strings.Contains(body, "only be read") && !strings.Contains(body, c.allow) {
				t.Errorf("%s %s%s: %d, Allow: %s", c.method, base, c.path, res.StatusCode, got)
			}
		}
	}
}

// The description says who needs a token.
func TestTheDescriptionSaysWhoNeedsAToken(t *testing.T) {
	x, clock := storetest.New(t)
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Store: x, Write: x, Now: clock.Now}, "[map[token:[]] map[]]"},
		{Config{Store: x, Write: x, Now: clock.Now, Users: testUsers(t, "anna")}, "[map[token:[]]]"},
	} {
		_, body := visit(t, serve(t, c.config)).get("/openapi.json")
		var doc struct{ Security []map[string][]string }
		if err := json.Unmarshal([]byte(body), &doc); err != nil || fmt.Sprint(doc.Security) != c.want {
			t.Errorf("%v, %v, want %s", doc.Security, err, c.want)
		}
	}
}

// What is not there is told on a page of ours, wherever it is not.
func TestNothingThere(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Now: x.clock.Now})
	for _, path := range []string{"/nothing", "/static/0/nothing.css", "/mcp"} {
		res, body := get(t, s, path)
		if res.StatusCode != 404 || !strings.Contains(body, "<h1") {
			t.Errorf("%s: %d %.80s", path, res.StatusCode, body)
		}
	}
	if res, _ := get(t, s, s.assets.path("style.css")); res.StatusCode != 200 || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("the style sheet: %d %v", res.StatusCode, res.Header)
	}
}
