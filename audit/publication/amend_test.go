package publication_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/fetch"
)

// siteOf is a valid site profile, nil for anything else.
func siteOf(text string) *profile.Site {
	doc, err := profile.Decode([]byte(text))
	if err != nil {
		return nil
	}
	site, _ := doc.Validate(profile.Options{}).Profile.(*profile.Site)
	return site
}

// checkKept fails where a kit replaces a valid site profile and does not say
// what of it is lost.
func checkKept(t *testing.T, published string, k *publication.Kit) {
	t.Helper()
	before := siteOf(published)
	i := slices.IndexFunc(k.Files, func(f publication.File) bool { return f.Name == publication.NameJSON })
	if before == nil || i < 0 {
		return
	}
	after := siteOf(k.Files[i].Content)
	if after == nil {
		t.Fatalf("the kit has no valid site profile:\n%s", k.Files[i].Content)
	}
	told := func(what string) bool {
		return slices.ContainsFunc(k.Changed, func(s string) bool { return strings.Contains(s, what) })
	}
	if told("Addresses on ") {
		return // all of them have changed
	}
	if before.Name != after.Name || before.Description != after.Description {
		t.Errorf("the owner's words are lost: %q, %q", after.Name, after.Description)
	}
	for _, r := range before.Resources {
		same := func(n profile.Resource) bool {
			return n.Kind == r.Kind && n.URL == r.URL && n.Source == r.Source && n.Title == r.Title && n.Availability == r.Availability
		}
		if !slices.ContainsFunc(after.Resources, same) && !told(r.URL) {
			t.Errorf("%s %s is lost and not told: %q", r.Kind, r.URL, k.Changed)
		}
	}
	for _, a := range before.APIs {
		same := func(n profile.API) bool { return n.Document == a.Document && slices.Equal(n.Operations, a.Operations) }
		if !slices.ContainsFunc(after.APIs, same) && !told(a.Document) {
			t.Errorf("operations of %s are lost and not told: %q", a.Document, k.Changed)
		}
	}
	if !told("added that a scan found") && len(after.Resources) > len(before.Resources) {
		t.Errorf("resources were added and not told: %q", k.Changed)
	}
}

const (
	careful = `{"agentic":"1.1.0","type":"site","origin":"https://site.example","name":"Careful Name","description":"Careful words.","resources":[
 {"kind":"website","url":"https://site.example/","source":"https://site.example/","availability":"retrieved","title":"Start"},
 {"kind":"documentation","url":"https://site.example/about","source":"https://site.example/","availability":"retrieved","title":"Our story"},
 {"kind":"openapi","url":"https://site.example/boats-openapi.json","source":"https://site.example/","availability":"retrieved"},
 {"kind":"mcp","url":"https://mcp.other.example/mcp","source":"https://site.example/","availability":"linked"}],
 "apis":[{"document":"https://site.example/boats-openapi.json","openapi":"3.1.0","operations":[
  {"method":"GET","path":"/boats","operationId":"listBoats","summary":"Words of the owner"},
  {"method":"POST","path":"/boats"},
  {"method":"GET","path":"/boats/{id}","operationId":"readBoat"}]}]}`
	boats = `{"openapi":"3.1.0","info":{"title":"Boats","version":"1"},"paths":{
 "/boats":{"get":{"operationId":"listBoats","responses":{}},"post":{"responses":{}}},
 "/boats/{id}":{"get":{"operationId":"readBoat","responses":{}}}}}`
	www = "https://www.site.example/"
)

// What the owner wrote stays, but for what the audit objects to.
func TestAKitKeepsTheOwnersProfile(t *testing.T) {
	serve := func(media, body string) file { return file{200, media, body, nil} }
	edit := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(careful, pairs[i]) {
				panic(pairs[i])
			}
		}
		return strings.NewReplacer(pairs...).Replace(careful)
	}
	moved := func(to string) file {
		return file{err: &fetch.Error{Kind: fetch.KindRedirect, Status: 301, Location: to}}
	}
	const start, about, api, mcp = `"https://site.example/"`, `"https://site.example/about"`, `"https://site.example/boats-openapi.json"`, `"https://mcp.other.example/mcp"`
	owners := []string{"Careful Name", "Careful words.", start, about, `"Our story"`, api, mcp, `"Words of the owner"`, `"/boats/{id}"`}
	without := func(gone ...string) []string {
		return slices.DeleteFunc(slices.Clone(owners), func(s string) bool { return slices.Contains(gone, s) })
	}
	for name, tc := range map[string]struct {
		profile string
		spoil   func(web)
		keeps   []string // members of the new profile
		changed []string // words of each change
	}{
		"a document is gone":   {careful, func(w web) { delete(w, home+"about") }, without(about, `"Our story"`), []string{"about is left out: .*404"}},
		"a document is locked": {careful, func(w web) { w[home+"about"] = file{status: 403} }, owners, []string{"about is listed as linked"}},
		"an API is gone":       {careful, func(w web) { delete(w, home+"boats-openapi.json") }, without(api, `"Words of the owner"`, `"/boats/{id}"`), []string{"boats-openapi.json is left out"}},
		"an API is a page":     {careful, func(w web) { w[home+"boats-openapi.json"] = page("<p>") }, without(`"Words of the owner"`, `"/boats/{id}"`), []string{"without its operations"}},
		"an operation is gone": {careful, func(w web) {
			w[home+"boats-openapi.json"] = serve("application/json", strings.Replace(boats, `"/boats/{id}"`, `"/x"`, 1))
		}, without(`"/boats/{id}"`), []string{"left out of the index.*GET /boats/{id}"}},
		"an operation is renamed": {careful, func(w web) {
			w[home+"boats-openapi.json"] = serve("application/json", strings.Replace(boats, "listBoats", "boats", 1))
		}, append([]string{`"boats"`}, owners...), []string{"1 operationId is .*GET /boats"}},
		"an unknown member":         {edit(`"name"`, `"colour":"blue","name"`), nil, owners, []string{"/colour is left out"}},
		"an old index":              {edit(`"name"`, `"colour":"blue","name"`, `"listBoats"`, `"boats"`, `"/boats/{id}"`, `"/ships/{id}"`), nil, append([]string{`"listBoats"`}, without(`"/boats/{id}"`)...), []string{"/colour is left out", "left out of the index.*GET /ships/{id}", "1 operationId is .*GET /boats"}},
		"a name twice":              {edit(`"name":"Careful Name"`, `"name":"Other","name":"Careful Name"`), nil, owners, []string{"/name stands twice"}},
		"a byte order mark":         {"\uFEFF" + careful, nil, owners, nil},
		"a long name":               {edit("Careful Name", "Careful Name "+strings.Repeat("x", 160)), nil, owners, []string{"name is cut to 160"}},
		"no name":                   {edit(`"name":"Careful Name",`, ""), nil, without("Careful Name"), []string{"name is what a scan found"}},
		"no availability":           {edit(`"availability":"linked"`, `"state":"linked"`), nil, owners, []string{"/state is left out", "availability of .*mcp.* is linked"}},
		"no availability of a page": {edit(`"availability":"retrieved","title":"Start"`, `"title":"Start"`), nil, owners, []string{"availability of .* is retrieved"}},
		"a bad source":              {edit(`"source":"https://site.example/","availability":"linked"`, `"source":"here","availability":"linked"`), nil, owners, []string{"source of .*mcp.* is the start page"}},
		"a bad resource":            {edit(`"url":"https://mcp.other.example/mcp"`, `"url":"/mcp"`), nil, without(mcp), []string{"\"/mcp\" is left out"}},
		"a resource twice":          {edit(`{"kind":"mcp","url":"https://mcp.other.example/mcp"`, `{"kind":"documentation","url":"https://SITE.example/about"`), nil, without(mcp), []string{"SITE.example/about\" is left out"}},
		"a bad operation":           {edit(`"/boats/{id}"`, `"boats?id"`), nil, without(`"/boats/{id}"`), []string{"boats\\?id is left out"}},
		"a bad operation id":        {edit(`"readBoat"`, `7`), nil, owners, []string{"operationId is left out"}},
		"an API that is unlisted":   {edit(`"kind":"openapi"`, `"kind":"documentation"`), nil, without(`"Words of the owner"`, `"/boats/{id}"`), []string{"operations of .*boats-openapi.json.* left out"}},
		"another origin":            {edit(`"origin":"https://site.example"`, `"origin":"https://old.example"`), nil, owners, []string{"origin is https://site.example"}},
		"nothing to read":           {edit(`"retrieved"`, `"linked"`), nil, owners, []string{"2 resources are listed as retrieved"}},
		"the site has moved": {careful, func(w web) {
			for _, path := range []string{"", "about", "boats-openapi.json"} {
				w[www+path] = w[home+path]
				w[home+path] = moved(www + path)
			}
		}, []string{"Careful Name", "Careful words.", `"https://www.site.example/about"`, `"Our story"`, mcp, `"Words of the owner"`, `"/boats/{id}"`}, []string{"origin is", "addresses on"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := web{home: page("<title>Ferry</title><a href=/boats-openapi.json>x</a>"), home + "about": page("a"), home + "boats-openapi.json": serve("application/json", boats), home + "agentic.json": serve("application/json", tc.profile)}
			if tc.spoil != nil {
				tc.spoil(w)
			}
			_, k, after := mend(t, w, parse(t, home, ""))
			if after.Publication.Status != report.Successful {
				t.Errorf("after the kit: %+v", after.Publication.NextSteps)
			}
			if len(k.Files) == 0 || k.Files[0].Name != publication.NameJSON || !json.Valid([]byte(k.Files[0].Content)) {
				t.Fatalf("files %q, by hand %q", names(k), k.ByHand)
			}
			for _, s := range tc.keeps {
				if !strings.Contains(k.Files[0].Content, s) {
					t.Errorf("%s is lost:\n%s", s, k.Files[0].Content)
				}
			}
			if len(k.Changed) != len(tc.changed) {
				t.Errorf("changed %q", k.Changed)
			}
			index := k.Folder()[0].Content
			for i, c := range k.Changed {
				if i < len(tc.changed) && !regexp.MustCompile("(?i)"+tc.changed[i]).MatchString(c) {
					t.Errorf("change %q, want %q", c, tc.changed[i])
				}
				if !strings.Contains(index, "\n- "+publication.Plain(c)) {
					t.Errorf("the index does not tell %q:\n%s", c, index)
				}
			}
			checkKept(t, tc.profile, k)
		})
	}
}

// A profile that is no larger than allowed stays so.
func TestALargeProfileIsKept(t *testing.T) {
	var operations []string
	for i := range 160 {
		operations = append(operations, fmt.Sprintf(`{"method":"GET","path":"/boats/%d/%s"}`, i, strings.Repeat("x", 300)))
	}
	large := strings.NewReplacer("\n", "", `{"method":"POST","path":"/boats"},`, "", `{"method":"GET","path":"/boats/{id}","operationId":"readBoat"}`, strings.Join(operations[:159], ",")).Replace(careful)
	document := strings.Replace(boats, `"paths":{`, `"paths":{`+strings.NewReplacer(`{"method":"GET","path":`, "", `"}`, `":{"get":{"responses":{}}}`).Replace(strings.Join(operations, ",")+","), 1)
	w := web{home: page("<title>Ferry</title>"), home + "boats-openapi.json": file{200, "application/json", document, nil}, home + "agentic.json": file{200, "application/json", large, nil}}
	_, k, after := mend(t, w, parse(t, home, "")) // the page about the owner is gone
	if after.Publication.Status != report.Successful {
		t.Errorf("after the kit: %+v", after.Publication.NextSteps)
	}
	checkKept(t, large, k)
	if n := strings.Count(k.Files[0].Content, `"path"`); n != 160 {
		t.Errorf("%d operations in %d bytes", n, len(k.Files[0].Content))
	}
}

// Whatever stands in the file: there is a kit, and its profile is valid.
func FuzzAmend(f *testing.F) {
	f.Add(careful)
	f.Add(`{"type":"site","name":7,"resources":[{},7,{"url":"\ud800"}],"apis":[{"operations":[{}]},null,1,2,3,4,5,{"document":"x"}]}`)
	f.Add(`{"type":"site","name":"a","resources":{"0":1},"apis":"x"}`)
	f.Add(strings.Replace(careful, `"apis":[`, `"apis":[`+strings.Repeat(`{"document":"x","openapi":"3","operations":[]},`, 7), 1))
	f.Add(strings.Replace(careful, `"resources":[`, `"resources":[`+strings.Repeat(`{"kind":"a2a"},`, 50), 1))
	f.Add(strings.Replace(careful, `"operations":[`, `"operations":[`+strings.Repeat(`{"method":"GET","path":"/","summary":"`+strings.Repeat("s", 300)+`"},`, 162), 1))
	f.Fuzz(func(t *testing.T, text string) {
		w := web{home: page("<title>Ferry</title>"), home + "about": page("a"), home + "boats-openapi.json": file{200, "application/json", boats, nil}, home + "agentic.json": file{200, "application/json", text, nil}}
		before, k := audited(t, w, parse(t, home, ""), true)
		if before.Valid {
			return
		}
		if len(k.Files) == 0 || k.Files[0].Name != publication.NameJSON {
			if before.Structure == nil || before.ProfileType == "site" {
				t.Fatalf("no profile: %+v", k)
			}
			return
		}
		doc, err := profile.Decode([]byte(k.Files[0].Content))
		if err != nil || !doc.Validate(profile.Options{}).Valid() {
			t.Fatalf("%v: %s", err, k.Files[0].Content)
		}
		if site := siteOf(text); site != nil && site.Origin == "https://site.example" {
			checkKept(t, text, k)
		}
	})
}

// What cannot be known is left to the owner to look at.
func TestAnAmendmentSaysWhatToLookAt(t *testing.T) {
	w := web{home: page("<title>Ferry</title>"), home + "about": page("a"), home + "boats-openapi.json": file{200, "application/json", boats, nil}}
	for edit, want := range map[[2]string]string{
		{`"origin":"https://site.example"`, `"origin":"https://old.example"`}: `agentic.json spoke for "https://old.example"`,
		{`"name"`, `"colour":"blue","name"`}:                                  "Nobody has read these documents .*: https://site.example/boats-openapi.json, https://site.example/, https://site.example/about",
	} {
		w[home+"agentic.json"] = file{200, "application/json", strings.Replace(careful, edit[0], edit[1], 1), nil}
		_, k := audited(t, w, parse(t, home, ""), edit[1] == `"origin":"https://old.example"`)
		if all := strings.Join(k.ByHand, "\n"); len(k.Files) == 0 || k.Files[0].Name != publication.NameJSON || !regexp.MustCompile(want).MatchString(all) {
			t.Errorf("%s: files %q, by hand %q", edit[1], names(k), all)
		}
	}
}
