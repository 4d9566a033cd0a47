package audit

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"agentaudit/audit/report"
	"agentaudit/fetch/fakenet"
)

// owner is somebody who has nothing but the report and does what it says, to
// the letter.
type owner struct {
	*world
	profile, openapi, text, readme string
	types                          map[string]string // media types by path
	target                         string
}

func (o *owner) publish() {
	for path, body := range map[string]string{"/agentic.json": o.profile, "/openapi.json": o.openapi, "/agentic.txt": o.text, "/README.md": o.readme} {
		mediaType := o.types[path]
		if mediaType == "" {
			mediaType = map[string]string{"json": "application/json", "txt": "text/plain", "md": "text/markdown"}[path[strings.LastIndexByte(path, '.')+1:]]
		}
		if body == "" {
			o.site.Path(path, nil)
		} else {
			o.site.Static(path, 200, http.Header{"Content-Type": {mediaType}}, body)
		}
	}
}

// generate makes agentic.txt from the JSON, as the command in a remedy does.
func (o *owner) generate(t *testing.T, remedy string) {
	t.Helper()
	if command := quotedIn(remedy, 0); command != "agentaudit text agentic.json" || !strings.Contains(remedy, "publish it at https://site.example/agentic.txt as text/plain") {
		t.Errorf("the remedy names neither the command nor the place: %s", remedy)
	}
	o.text = textFor(t, o.profile)
}

var (
	markdownLine = regexp.MustCompile(`\[[^\]]+\]\([^)]+\)`)
	inQuotes     = regexp.MustCompile(`"([^"]+)"`)
	snippet      = regexp.MustCompile(`\{"name".*\}\}`)
)

func quotedIn(s string, i int) string {
	if all := inQuotes.FindAllStringSubmatch(s, -1); i < len(all) {
		return all[i][1]
	}
	return ""
}

// addLines adds the Markdown links of a remedy to the README.
func (o *owner) addLines(t *testing.T, remedy string) {
	t.Helper()
	lines := markdownLine.FindAllString(remedy, -1)
	if len(lines) == 0 {
		t.Fatalf("no line to add: %s", remedy)
	}
	o.readme += "\n" + strings.Join(lines, "\n\n") + "\n"
}

// TestRemediesAreWorthFollowing breaks a publication in one way, does what the
// report says, and wants it to be successful.
func TestRemediesAreWorthFollowing(t *testing.T) {
	header := func(path string) func(*testing.T, *owner, string) {
		return func(t *testing.T, o *owner, remedy string) {
			name, value, ok := strings.Cut(quotedIn(remedy, 0), ": ")
			if !ok || name != "Content-Type" || !strings.Contains(remedy, "https://site.example"+path+" ") {
				t.Errorf("no header for %s: %s", path, remedy)
			}
			o.types[path] = value
		}
	}
	generate := func(t *testing.T, o *owner, remedy string) { o.generate(t, remedy) }
	addLines := func(t *testing.T, o *owner, remedy string) { o.addLines(t, remedy) }
	without := func(text, old string) string { return strings.Replace(text, old, "", 1) }
	replace := func(field func(*owner) *string, old, new string) func(*owner) {
		return func(o *owner) {
			p := field(o)
			if !strings.Contains(*p, old) {
				panic("nothing to break: " + old)
			}
			*p = strings.Replace(*p, old, new, 1)
		}
	}
	profileOf := func(o *owner) *string { return &o.profile }
	openapiOf := func(o *owner) *string { return &o.openapi }
	readmeOf := func(o *owner) *string { return &o.readme }
	textOf := func(o *owner) *string { return &o.text }
	// undo puts back the member that the remedy names; says are the words by
	// which it names it.
	undo := func(field func(*owner) *string, old, new string, says ...string) func(*testing.T, *owner, string) {
		return func(t *testing.T, o *owner, remedy string) {
			for _, s := range says {
				if !strings.Contains(remedy, s) {
					t.Errorf("%q is not in the remedy: %s", s, remedy)
				}
			}
			replace(field, old, new)(o)
			if p := field(o); p == &o.profile {
				o.text = textFor(t, o.profile)
			}
		}
	}
	// insert adds the parameter that the remedy writes out.
	insert := func(after string) func(*testing.T, *owner, string) {
		return func(t *testing.T, o *owner, remedy string) {
			text := snippet.FindString(remedy)
			if text == "" || !strings.Contains(o.openapi, after) {
				t.Fatalf("nothing to add: %s", remedy)
			}
			o.openapi = strings.Replace(o.openapi, after, after+text, 1)
		}
	}
	const (
		key   = `{"name":"Idempotency-Key","in":"header","required":true,"schema":{"type":"string"}}`
		param = `{"name":"req","in":"path","required":true,"schema":{"type":"string"}}`
		body  = `"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}},`
		api   = "api:/openapi.json"
		site  = "resource:https://site.example/openapi.json"
	)
	for _, c := range []struct {
		name   string
		action bool
		smash  func(*owner)
		id     string
		repair func(t *testing.T, o *owner, remedy string)
	}{
		{"no README", false, func(o *owner) { o.readme = "" }, "readme", func(t *testing.T, o *owner, remedy string) {
			o.readme = "# Boats\n"
			o.addLines(t, remedy)
		}},
		{"README says nothing", false, func(o *owner) { o.readme = "# Boats" }, "readme", addLines},
		{"README is a page", false, func(o *owner) { o.types["/README.md"] = "text/html" }, "readme", func(t *testing.T, o *owner, remedy string) {
			if !strings.Contains(remedy, "https://site.example/README.md as text/markdown") {
				t.Error(remedy)
			}
			o.types["/README.md"] = "text/markdown"
		}},
		{"README without JSON", false, replace(readmeOf, "(https://site.example/agentic.json)", ""), "readme:json", addLines},
		{"README without TXT", false, replace(readmeOf, "(https://site.example/agentic.txt)", ""), "readme:txt", addLines},
		{"README with links in code", false, func(o *owner) { o.readme = "```\n" + o.readme + "```\n" }, "readme:json", func(t *testing.T, o *owner, remedy string) {}},
		{"README without specification", false, replace(readmeOf, "(https://ruagentic.org)", ""), "readme:specification", addLines},
		{"README without directory", false, replace(readmeOf, "(https://ruagentic.com)", ""), "readme:directory", addLines},
		{"README links to another JSON", false, replace(readmeOf, "https://site.example/agentic.json", "https://other.example/agentic.json"), "readme:json", addLines},
		{"README links to another TXT", false, replace(readmeOf, "https://site.example/agentic.txt", "https://other.example/agentic.txt"), "readme:txt", addLines},

		{"no TXT", false, func(o *owner) { o.text = "" }, "txt", generate},
		{"no TXT, action", true, func(o *owner) { o.text = "" }, "txt", generate},
		{"old TXT", false, replace(textOf, "Boats for hire", "Ships for hire"), "txt", generate},
		{"TXT with CRLF", true, func(o *owner) { o.text = strings.ReplaceAll(o.text, "\n", "\r\n") }, "txt", generate},
		{"TXT of another type", false, func(o *owner) { o.types["/agentic.txt"] = "application/octet-stream" }, "txt-type", header("/agentic.txt")},
		{"JSON of another type", true, func(o *owner) { o.types["/agentic.json"] = "text/plain" }, "json-type", header("/agentic.json")},

		{"JSON with BOM", false, func(o *owner) { o.profile = "\ufeff" + o.profile }, "json", undo(profileOf, "\ufeff", "", "without a byte order mark", "https://site.example/agentic.json")},
		{"JSON with a comma too many", false, replace(profileOf, `"name":"Boats",`, `"name":"Boats",,`), "json", undo(profileOf, ",,", ",", "https://site.example/agentic.json", "agentaudit validate agentic.json")},
		{"name twice", false, replace(profileOf, `"name":"Boats",`, `"name":"Boats","name":"Ships",`), "json", undo(profileOf, `"name":"Ships",`, "", "one of the two")},
		{"unknown member", false, replace(profileOf, `"name":"Boats",`, `"name":"Boats","colour":"blue",`), "structure", undo(profileOf, `"colour":"blue",`, "", "/colour", "line 1", "remove it")},
		{"missing member", true, replace(profileOf, `"submit":"reserve",`, ""), "structure", undo(profileOf, `"status":"state",`, `"submit":"reserve","status":"state",`, "/actions/0", `"submit" is missing`)},
		{"wrong availability", false, replace(profileOf, `"availability":"linked"`, `"availability":"known"`), "structure", undo(profileOf, `"known"`, `"linked"`, "/resources/2/availability", `"linked"`)},
		{"link that is none", false, replace(profileOf, `"url":"https://site.example/mcp"`, `"url":"/mcp"`), "structure", undo(profileOf, `"url":"/mcp"`, `"url":"https://site.example/mcp"`, "/resources/2/url")},
		{"origin with a slash", false, replace(profileOf, `"origin":"https://site.example"`, `"origin":"https://site.example/"`), "structure", undo(profileOf, `"origin":"https://site.example/"`, `"origin":"https://site.example"`, "/origin", `"https://site.example"`)},
		{"another origin", false, replace(profileOf, `"origin":"https://site.example"`, `"origin":"https://www.site.example"`), "origin", func(t *testing.T, o *owner, remedy string) {
			member := `"` + quotedIn(remedy, 0) + `": "` + quotedIn(remedy, 1) + `"`
			o.profile = strings.Replace(o.profile, `"origin":"https://www.site.example"`, member, 1)
			o.text = textFor(t, o.profile)
		}},
		{"the same operation twice", true, replace(profileOf, `"verify":"read"`, `"verify":"state"`), "structure", undo(profileOf, `"verify":"state"`, `"verify":"read"`, "/actions/0/verify", "must differ")},

		{"operation renamed", true, replace(openapiOf, `"operationId":"reserve"`, `"operationId":"book"`), api, undo(openapiOf, `"operationId":"book"`, `"operationId":"reserve"`, "POST operation the operationId reserve", "submit in agentic.json")},
		{"operation twice", true, replace(openapiOf, `"operationId":"read"`, `"operationId":"state"`), api, undo(openapiOf, `"/seats/{seat}":{"get":{"operationId":"state"`, `"/seats/{seat}":{"get":{"operationId":"read"`, "state must stand once")},
		{"no header", true, replace(openapiOf, key, ""), api, insert(`"operationId":"reserve","parameters":[`)},
		{"header not required", true, replace(openapiOf, `"in":"header","required":true`, `"in":"header"`), api, func(t *testing.T, o *owner, remedy string) {
			o.openapi = strings.Replace(o.openapi, without(key, `"required":true,`), snippet.FindString(remedy), 1)
		}},
		{"no path parameter", true, replace(openapiOf, param, ""), api, insert(`"operationId":"state","parameters":[`)},
		{"another placeholder", true, replace(openapiOf, "/requests/{req}", "/requests/{id}"), api, undo(openapiOf, "/requests/{id}", "/requests/{req}", "se {req} once in the path")},
		{"no body", true, replace(openapiOf, body, ""), api, undo(openapiOf, `"operationId":"reserve",`, `"operationId":"reserve",`+body, "requestBody", "application/json")},
		{"servers", true, replace(openapiOf, `"paths":{`, `"servers":[{"url":"https://api.site.example"}],"paths":{`), api, undo(openapiOf, `"servers":[{"url":"https://api.site.example"}],`, "", "emove servers from the document")},
		{"servers of an operation", true, replace(openapiOf, `"operationId":"read"`, `"operationId":"read","servers":[{"url":"https://api.site.example"}]`), api, undo(openapiOf, `,"servers":[{"url":"https://api.site.example"}]`, "", "emove servers from the operation")},
		{"parameters of the path", true, replace(openapiOf, `"/seats/{seat}":{`, `"/seats/{seat}":{"parameters":[],`), api, undo(openapiOf, `"/seats/{seat}":{"parameters":[],`, `"/seats/{seat}":{`, "into the operations")},
		{"GET instead of POST", true, replace(openapiOf, `"post":`, `"get":`), api, undo(openapiOf, `"/reserve":{"get":`, `"/reserve":{"post":`, "submit in agentic.json name a POST operation")},
		{"OpenAPI 3.0", true, replace(openapiOf, `"3.1.0"`, `"3.0.3"`), api, undo(openapiOf, `"3.0.3"`, `"3.1.0"`, "OpenAPI 3.1")},
		{"no OpenAPI", true, func(o *owner) { o.openapi = "" }, api, func(t *testing.T, o *owner, remedy string) {
			if !strings.Contains(remedy, "https://site.example/openapi.json") {
				t.Error(remedy)
			}
			o.openapi = actionOpenAPI
		}},

		{"indexed path is gone", false, replace(openapiOf, `"/boats/{id}"`, `"/ships/{id}"`), site, undo(profileOf, `,{"method":"GET","path":"/boats/{id}","operationId":"readBoat"}`, "", `emove GET "/boats/{id}" from the index in agentic.json`)},
		{"indexed method is gone", false, replace(openapiOf, `"post":`, `"put":`), site, undo(profileOf, `,{"method":"POST","path":"/boats"}`, "", `emove POST "/boats" from the index in agentic.json`)},
		{"indexed id is another", false, replace(openapiOf, `"listBoats"`, `"boats"`), site, undo(profileOf, `"listBoats"`, `"boats"`, `opy the operationId of GET "/boats" from the document into agentic.json`)},
		{"Swagger 2", false, replace(openapiOf, `"openapi":"3.1.0"`, `"swagger":"2.0"`), site, undo(openapiOf, `"swagger":"2.0"`, `"openapi":"3.1.0"`, "OpenAPI 3")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				profile, openapi := siteProfile(host), siteOpenAPI
				if c.action {
					profile, openapi = actionProfile(host), actionOpenAPI
				}
				w := newWorld(t, n, profile, openapi)
				o := &owner{world: w, profile: profile, openapi: openapi, text: w.files["/agentic.txt"], readme: w.files["/README.md"], types: map[string]string{}, target: host}
				c.smash(o)
				o.publish()
				j := w.audit(t, o.target, "", 1)
				check, ok := find(j, c.id)
				if !ok || j.word() == "successful complete" {
					t.Fatalf("%s: nothing is wrong with %s", j.word(), c.id)
				}
				if c.name == "README with links in code" {
					// Here every link has its own remedy; all are followed.
					for _, s := range j.Result.Report.Publication.NextSteps {
						o.addLines(t, s.Remedy)
					}
				}
				c.repair(t, o, check.Remedy)
				o.publish()
				if j := w.audit(t, o.target, "", 1); j.word() != "successful complete" {
					t.Errorf("followed %q\nand is %s: %s", check.Remedy, j.word(), j.Result.Detail)
				}
			})
		})
	}
}

// find is the check with an id that asks for something.
func find(j Judgement, id string) (report.Check, bool) {
	for _, c := range j.Result.Report.Checks {
		if c.ID == id && c.Status != report.Pass {
			return c, true
		}
	}
	return report.Check{}, false
}

// Remedies that move the audit elsewhere: the address in the remedy is the one
// to audit, or to name, next.
func TestRemediesThatNameAnAddress(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		n.Site("www.site.example").Handle(fakenet.Redirect(301, "//site.example/agentic.json"))
		j := w.audit(t, "www.site.example", "", 1)
		c, _ := find(j, "json")
		_, to, _ := strings.Cut(c.Remedy, "redirects to: ")
		if to != "https://site.example/agentic.json" {
			t.Fatalf("%s: %s", j.word(), c.Remedy)
		}
		if j := w.audit(t, to, "", 1); j.word() != "successful complete" {
			t.Errorf("%s: %s", j.word(), j.Result.Detail)
		}

		// A document that has moved.
		w.site.Path("/guide", fakenet.Redirect(308, "/guide/")).Static("/guide/", 200, fakenet.HTML, "x")
		c, _ = find(w.audit(t, host, "", 1), "resource:https://site.example/guide")
		_, to, _ = strings.Cut(c.Remedy, "in agentic.json: ")
		moved := strings.Replace(siteProfile(host), "https://site.example/guide", to, 1)
		w.site.Static("/agentic.json", 200, fakenet.JSON, moved).Static("/agentic.txt", 200, fakenet.PlainText, textFor(t, moved))
		if j := w.audit(t, host, "", 1); j.word() != "successful complete" {
			t.Errorf("%s: %s: %s", to, j.word(), j.Result.Detail)
		}

		// A README with a slip in its name.
		n.Site("raw.example").Static("/boats/README.me", 200, fakenet.PlainText, readmeFor(host)).Static("/boats/README.md", 200, fakenet.PlainText, readmeFor(host))
		c, _ = find(w.audit(t, host, "https://raw.example/boats/README.me", 1), "readme:filename")
		_, to, _ = strings.Cut(c.Remedy, "Publish the file as ")
		to, _, _ = strings.Cut(to, " ")
		if j := w.audit(t, host, to, 1); j.word() != "successful complete" {
			t.Errorf("%q: %s: %s", c.Remedy, j.word(), j.Result.Detail)
		}
	})
}

// Redirects to places that no profile may hold are not recommended.
func TestNoRemedyLeadsAstray(t *testing.T) {
	for _, to := range []string{"http://site.example/agentic.json", "https://127.0.0.1/agentic.json", "https://localhost/", "https://user:secret@site.example/x", "https://site.example:8443/x", "javascript:alert(1)", "https://site.example/x?y"} {
		bubble(t, func(t *testing.T, n *fakenet.Net) {
			w := newWorld(t, n, siteProfile(host), siteOpenAPI)
			for _, path := range []string{"/guide", "/openapi.json", "/agentic.txt", "/README.md", "/agentic.json"} {
				w.site.Path(path, fakenet.Redirect(302, to))
				for _, c := range w.audit(t, host, "", 1).Result.Report.Checks {
					if strings.Contains(c.Remedy, ": http") || strings.Contains(c.Remedy, "secret") || strings.Contains(c.Remedy, "127.0.0.1") {
						t.Errorf("%s to %s: %s", path, to, c.Remedy)
					}
				}
			}
		})
	}
}

// A profile elsewhere than at the root needs the command with its address.
func TestTheCommandForAnotherPlace(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		for path, word := range map[string]string{
			"/boats/":                "https://site.example/boats/agentic.json",
			"/a&b;$(id)'/index.json": `'https://site.example/a&b;$(id)'\''/index.json'`, // safe to be pasted
		} {
			at := path
			if strings.HasSuffix(at, "/") {
				at += "agentic.json"
			}
			w.site.Static(at, 200, fakenet.JSON, siteProfile(host))
			c, _ := find(w.audit(t, host+path, "", 1), "txt")
			if command := quotedIn(c.Remedy, 0); command != "agentaudit text agentic.json --profile-url "+word {
				t.Errorf("%q", c.Remedy)
			}
		}
	})
}

// Where one web page answers at every address, none of the files is said to be
// there.
func TestOnePageForEverything(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		n.Site(host).Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<!doctype html><title>App</title><div id=root></div>"))
		}))
		w := &world{Net: n, site: n.Site(host)}
		j := w.audit(t, host, "", 1)
		want := "https://site.example/agentic.txt answers with an HTML page instead of agentic.txt."
		if got := j.detail("txt"); got != want || j.Result.Report.TextIndex.Status != report.TextSkipped {
			t.Errorf("%q, status %s", got, j.Result.Report.TextIndex.Status)
		}
	})
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.site.Static("/agentic.json", 200, fakenet.JSON, "{")
		if got := w.audit(t, host, "", 1).detail("txt"); got != "agentic.txt is there but could not be compared, because agentic.json beside it is not usable." {
			t.Errorf("beside a broken agentic.json: %q", got)
		}
	})
}
