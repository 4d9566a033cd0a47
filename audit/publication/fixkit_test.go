package publication_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/audittest"
	"agentaudit/audit/discovery"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/audit/readme"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// file is what a web serves at a URL.
type file struct {
	status      int
	media, body string
	err         error
}

// web is a Fetcher that serves files by URL; others are missing.
type web map[string]file

func (w web) Fetch(_ context.Context, req fetch.Request) (*fetch.Response, error) {
	f, ok := w[req.URL.Location()]
	switch {
	case !ok:
		f = file{404, "text/plain", "Missing", nil}
	case f.err != nil:
		return nil, f.err
	case f.status >= 300 && f.status < 400:
		return nil, &fetch.Error{Kind: fetch.KindRedirect, URL: req.URL.String(), Status: f.status, Location: "https://elsewhere.example/"}
	case int64(len(f.body)) > req.MaxBytes:
		return nil, &fetch.Error{Kind: fetch.KindTooLarge, URL: req.URL.String(), Status: 200, Limit: req.MaxBytes}
	}
	return &fetch.Response{URL: req.URL.Location(), Status: f.status, Header: http.Header{}, ContentType: f.media, Body: []byte(f.body), Bytes: int64(len(f.body))}, nil
}

var at = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// audited is an audit of a web with the facts that a kit is made from.
func audited(t *testing.T, w web, target audit.Target, scan bool) (*report.Report, publication.Facts) {
	t.Helper()
	b, err := audit.Collect(t.Context(), w, target, at)
	if err != nil {
		t.Fatal(err)
	}
	r := audit.Judge(b).Report
	f := publication.Facts{ProfileURL: target.ProfileURL, Text: r.TextIndex.Status, Readme: r.Readme, Valid: r.Valid}
	for _, read := range b.Reads {
		switch {
		case read.Status != 200 || read.Kind != "":
		case read.Role == audit.RoleProfile:
			f.Profile, _ = profile.Decode(read.Body)
			f.JSONType = read.ContentType
		case read.Role == audit.RoleText:
			f.TextType = read.ContentType
		case read.Role == audit.RoleReadme && read.URL == r.Readme.URL:
			f.Body = read.Body
		}
	}
	if start, err := target.ProfileURL.Resolve("/"); scan && err == nil {
		if found, err := discovery.Scan(t.Context(), w, start, discovery.Options{}); err == nil {
			f.Generated = found.Files
		}
	}
	return r, f
}

// apply publishes a kit.
func apply(w web, k *publication.Kit) web {
	w = maps.Clone(w)
	for _, f := range k.Files {
		w[f.URL] = file{200, f.ContentType, f.Content, nil}
	}
	return w
}

// mend audits, publishes the kit, and audits again.
func mend(t *testing.T, w web, target audit.Target) (before *report.Report, k *publication.Kit, after *report.Report) {
	t.Helper()
	before, facts := audited(t, w, target, true)
	k, err := publication.FixKit(facts)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range k.Files {
		if f.Why == "" || f.Content == "" || f.ContentType == "" || len(f.Content) > publication.MaxSize {
			t.Errorf("file %q with %d bytes, %q", f.Name, len(f.Content), f.Why)
		}
	}
	after, _ = audited(t, apply(w, k), target, false)
	return before, k, after
}

func parse(t *testing.T, target, readme string) audit.Target {
	t.Helper()
	u, err := audit.ParseTarget(target, readme)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const home = "https://site.example/"

func page(body string) file { return file{200, "text/html", body, nil} }

// good is a site that is published in full.
func good(t *testing.T) web {
	t.Helper()
	w := web{home: page("<title>Ferry</title><a href=/docs/a>a</a>"), home + "docs/a": page("a")}
	_, k, after := mend(t, w, parse(t, home, ""))
	if after.Publication.Status != report.Successful {
		t.Fatalf("%+v", after.Publication)
	}
	return apply(w, k)
}

func names(k *publication.Kit) string {
	var list []string
	for _, f := range k.Files {
		list = append(list, strings.TrimPrefix(f.URL, home))
	}
	return strings.Join(list, " ")
}

func TestAKitMendsWhatIsMissing(t *testing.T) {
	const own = "# My ferry\n\nHow to install it, at length.\n"
	text := func(body string) file { return file{200, "text/markdown", body, nil} }
	for name, tc := range map[string]struct {
		spoil func(w web)
		files string
		keeps string // of the owner's README
	}{
		"nothing":           {func(web) {}, "", ""},
		"no TXT":            {func(w web) { delete(w, home+"agentic.txt") }, "agentic.txt", ""},
		"other TXT":         {func(w web) { w[home+"agentic.txt"] = file{200, "text/plain", "Agentic-Text: 1.2\n", nil} }, "agentic.txt", ""},
		"TXT breaks off":    {func(w web) { w[home+"agentic.txt"] = file{err: &fetch.Error{Kind: fetch.KindReset}} }, "agentic.txt", ""},
		"no README":         {func(w web) { delete(w, home+"README.md") }, "README.md", ""},
		"README is HTML":    {func(w web) { w[home+"README.md"] = page("<!doctype html><p>hello, this is a page") }, "README.md", ""},
		"README redirects":  {func(w web) { w[home+"README.md"] = file{status: 301} }, "README.md", ""},
		"own README":        {func(w web) { w[home+"README.md"] = text(own) }, "README.md", own},
		"lower case README": {func(w web) { delete(w, home+"README.md"); w[home+"readme.md"] = text(own) }, "readme.md", own},
		"short README":      {func(w web) { w[home+"README.md"] = text("hi") }, "README.md", "hi"},
		"blank README":      {func(w web) { w[home+"README.md"] = text(" \n") }, "README.md", ""},
		"BOM":               {func(w web) { w[home+"README.md"] = text("\uFEFF" + own) }, "README.md", own},
		"some links":        {func(w web) { w[home+"README.md"] = text(own + "[a](agentic.json) <https://ruagentic.org/x>") }, "README.md", own},
		"wrong links": {func(w web) {
			w[home+"README.md"] = text(own + "[a](https://other.example/agentic.json) [b](/x/agentic.txt)")
		}, "README.md", own},
		"open fence":       {func(w web) { w[home+"README.md"] = text(own + "```\ncode") }, "README.md", own},
		"open comment":     {func(w web) { w[home+"README.md"] = text(own + "<!-- a") }, "README.md", own},
		"open tag":         {func(w web) { w[home+"README.md"] = text(own + "<pre>a") }, "README.md", own},
		"list at the end":  {func(w web) { w[home+"README.md"] = text(own + "- a\n  - b") }, "README.md", own},
		"no room":          {func(w web) { w[home+"README.md"] = text(own + strings.Repeat("x", 65_450)) }, "README.md", ""},
		"invalid UTF-8":    {func(w web) { w[home+"README.md"] = text(own + "\xff\xfe") }, "README.md", own + "\xff\xfe"},
		"no JSON":          {func(w web) { delete(w, home+"agentic.json") }, "agentic.json agentic.txt LISTING.md", ""},
		"JSON is HTML":     {func(w web) { w[home+"agentic.json"] = page("<p>") }, "agentic.json agentic.txt LISTING.md", ""},
		"JSON is invalid":  {func(w web) { w[home+"agentic.json"] = file{200, "application/json", `{"type":"site"}`, nil} }, "agentic.json agentic.txt LISTING.md", ""},
		"document is gone": {func(w web) { delete(w, home+"docs/a") }, "agentic.json agentic.txt LISTING.md", ""},
		"JSON and README":  {func(w web) { delete(w, home+"agentic.json"); w[home+"README.md"] = text(own) }, "agentic.json agentic.txt README.md LISTING.md", own},
		"all": {func(w web) {
			delete(w, home+"agentic.json")
			delete(w, home+"agentic.txt")
			delete(w, home+"README.md")
		}, "agentic.json agentic.txt README.md LISTING.md", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := good(t)
			tc.spoil(w)
			_, k, after := mend(t, w, parse(t, home, ""))
			if after.Publication.Status != report.Successful {
				t.Errorf("after the kit: %+v", after.Publication.NextSteps)
			}
			if got := names(k); got != tc.files {
				t.Errorf("files %q, want %q", got, tc.files)
			}
			for _, f := range k.Files {
				if strings.HasSuffix(strings.ToLower(f.Name), "readme.md") && !strings.Contains(f.Content, tc.keeps) {
					t.Errorf("the owner's README is lost:\n%s", f.Content)
				}
			}
		})
	}
}

func TestAKitSaysWhatIsToBeDoneByHand(t *testing.T) {
	w := good(t)
	for name, media := range map[string]string{"agentic.json": "text/plain", "agentic.txt": "application/octet-stream"} {
		f := w[home+name]
		f.media = media
		w[home+name] = f
	}
	_, facts := audited(t, w, parse(t, home, ""), false)
	k, err := publication.FixKit(facts)
	if err != nil || len(k.Files) != 0 || len(k.ByHand) != 2 || !strings.Contains(k.ByHand[0], "application/json") || !strings.Contains(k.ByHand[1], "text/plain") {
		t.Errorf("kit %+v, %v", k, err)
	}
	delete(w, home+"agentic.json")
	_, facts = audited(t, w, parse(t, home, ""), false)
	if k, err = publication.FixKit(facts); err != nil || len(k.Files) != 0 || len(k.ByHand) != 1 {
		t.Errorf("without a scan: %+v, %v", k, err)
	}
}

func TestAMisspelledReadmeIsPublishedAnew(t *testing.T) {
	w := good(t)
	w[home+"README.me"] = file{200, "text/markdown", "# Ferry\n\nAt length.\n", nil}
	_, k, _ := mend(t, w, parse(t, home, home+"README.me"))
	if names(k) != "README.md" || len(k.ByHand) != 1 {
		t.Fatalf("files %q, by hand %q", names(k), k.ByHand)
	}
	if after, _ := audited(t, apply(w, k), parse(t, home, home+"README.md"), false); after.Publication.Status != report.Successful {
		t.Errorf("%+v", after.Publication.NextSteps)
	}
}

func TestAReadmeElsewhereIsMendedThere(t *testing.T) {
	const elsewhere = "https://raw.example/repo/README.md"
	w := good(t)
	w[elsewhere] = file{200, "text/plain", "# Repository\n\nSee [the profile](agentic.json).\n", nil}
	_, k, after := mend(t, w, parse(t, home, elsewhere))
	if len(k.Files) != 1 || k.Files[0].URL != elsewhere || after.Publication.Status != report.Successful {
		t.Errorf("files %q, %+v", names(k), after.Publication.NextSteps)
	}
}

func TestASectionHasTheMissingLinksAlone(t *testing.T) {
	u, err := weburl.Parse(home + "(a)/agentic.json")
	if err != nil {
		t.Fatal(err)
	}
	s := publication.ReadmeSection(u, []string{readme.CheckText, readme.CheckDirectory, readme.CheckFilename})
	if strings.Count(s, "\n- ") != 2 || !strings.Contains(s, "https://site.example/%28a%29/agentic.txt") || !strings.Contains(s, "https://ruagentic.com") {
		t.Errorf("%s", s)
	}
}

// Whatever the audit vectors break, the kit mends as far as files can.
func TestKitsForAuditVectors(t *testing.T) {
	audittest.Run(t, "agentic/audit", func(t *testing.T, c audittest.Case) {
		var input struct {
			Input     audittest.Text  `json:"input"`
			ReadmeURL audittest.Text  `json:"readmeUrl"`
			Sites     json.RawMessage `json:"sites"`
		}
		audittest.Decode(t, c.Input, &input)
		target, err := audit.ParseTarget(input.Input.String(), input.ReadmeURL.String())
		if err != nil {
			return
		}
		w := webOf(t, input.Sites)
		if weburl.CheckSiteLink(target.ProfileURL) != nil {
			return // an address that is not read
		}
		root, err := target.ProfileURL.Resolve("/")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := w[root.Location()]; !ok {
			w[root.Location()] = page("<title>Ferry</title>")
		}
		before, k, after := mend(t, w, target)
		if before.Publication.Status == report.Successful && len(k.Files) > 0 {
			t.Errorf("nothing was wrong, and yet: %s", names(k))
		}
		for _, step := range after.Publication.NextSteps {
			if byHand(step.ID, after) == "" {
				t.Errorf("%s is not mended: %s\nfiles %s, by hand %q", step.ID, step.Detail, names(k), k.ByHand)
			}
		}
	})
}

// byHand says why no file can mend a check, "" where one should.
func byHand(id string, r *report.Report) string {
	switch {
	case id == "json-type" || id == "txt-type":
		return "the server's configuration"
	case id == "limit":
		return "the audit reads five documents"
	case id == readme.CheckFilename:
		return "the address that is given to the audit"
	case r.ProfileType == "" && (id == "bindings" || strings.HasPrefix(id, "api:")):
		return "a contract cannot be made from outside"
	case id == "txt" && r.TextIndex.Status == report.TextSkipped && slices.ContainsFunc(r.Checks, func(c report.Check) bool { return c.ID == "bindings" && c.Status == report.Fail }):
		return "the audit ends before it compares"
	}
	return ""
}

// webOf reads the sites of a vector.
func webOf(t *testing.T, data json.RawMessage) web {
	type answer struct {
		URL     audittest.Text    `json:"url"`
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    audittest.Text    `json:"body"`
		Error   string            `json:"error"`
	}
	var list []answer
	if data[0] == '[' {
		audittest.Decode(t, data, &list)
	} else {
		byURL := map[string]answer{}
		audittest.Decode(t, data, &byURL)
		for _, u := range slices.Sorted(maps.Keys(byURL)) {
			a := byURL[u]
			a.URL = audittest.Text(u)
			list = append(list, a)
		}
	}
	w := web{}
	for _, a := range list {
		u, err := weburl.Parse(a.URL.String())
		if err != nil {
			t.Fatal(err)
		}
		f := file{a.Status, "", a.Body.String(), nil}
		for k, v := range a.Headers {
			switch strings.ToLower(k) {
			case "content-type":
				f.media = v
			case "content-encoding":
				if v != "" && !strings.EqualFold(v, "identity") {
					f.err = &fetch.Error{Kind: fetch.KindEncoding, Status: a.Status}
				}
			}
		}
		if a.Error != "" {
			f.err = &fetch.Error{Kind: fetch.KindReset}
		}
		w[u.Location()] = f
	}
	return w
}
