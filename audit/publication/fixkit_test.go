package publication_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/audittest"
	"agentaudit/audit/discovery"
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

// audited is an audit of a web, and its kit with or without a scan.
func audited(t *testing.T, w web, target audit.Target, scan bool) (*report.Report, *publication.Kit) {
	t.Helper()
	b, err := audit.Collect(t.Context(), w, target, at)
	if err != nil {
		t.Fatal(err)
	}
	var found *discovery.Report
	if start, err := target.ProfileURL.Resolve("/"); scan && err == nil {
		if found, err = discovery.Scan(t.Context(), w, start, discovery.Options{}); err != nil {
			found = discovery.Failed(start, at, err)
		}
	}
	// What is stored is what is published.
	data, err := json.Marshal(audit.FixKit(b, found))
	if err != nil {
		t.Fatal(err)
	}
	k, err := publication.DecodeKit(data)
	if err != nil {
		t.Fatal(err)
	}
	return audit.Judge(b).Report, k
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
	before, k = audited(t, w, target, true)
	for _, f := range k.Files {
		if f.Why == "" || f.Content == "" || f.ContentType == "" || len(f.Content) > publication.MaxSize {
			t.Errorf("file %q with %d bytes, %q", f.Name, len(f.Content), f.Why)
		}
	}
	after, _ = audited(t, apply(w, k), parse(t, k.ProfileURL, k.ReadmeURL), false)
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
		"invalid UTF-8":    {func(w web) { w[home+"README.md"] = text(own + "\xff\xfe") }, "README.md", own + "\uFFFD\uFFFD"},
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
	_, k := audited(t, w, parse(t, home, ""), false)
	if len(k.Files) != 0 || len(k.ByHand) != 2 || !strings.Contains(k.ByHand[0], "application/json") || !strings.Contains(k.ByHand[1], "text/plain") {
		t.Errorf("kit %+v", k)
	}
	delete(w, home+"agentic.json")
	_, k = audited(t, w, parse(t, home, ""), false)
	if all := strings.Join(k.ByHand, "\n"); len(k.Files) != 0 || !strings.Contains(all, "was not scanned") || !strings.Contains(all, "Publish agentic.json at") {
		t.Errorf("without a scan: %+v", k)
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

// No two files of a kit are for one address, and none takes that of the
// profile or its index, whatever address the README or the profile is given.
func TestAKitHasOneFileForAnAddress(t *testing.T) {
	for name, c := range map[string]struct {
		target, readme string
		files          string
		told           string // by hand
		successful     bool
	}{
		"README at the profile":    {home, home + "agentic.json", "agentic.json agentic.txt README.md LISTING.md", "cannot be at https://site.example/agentic.json", true},
		"README at the text":       {home, home + "agentic.txt", "agentic.json agentic.txt README.md LISTING.md", "cannot be at https://site.example/agentic.txt", true},
		"README at the listing":    {home, home + "LISTING.md", "agentic.json agentic.txt LISTING.md", "no LISTING.md", true},
		"README in a folder":       {home, home + "x/", "agentic.json agentic.txt x/ LISTING.md", "", true},
		"profile at the README":    {home + "README.md", "", "README.md agentic.txt LISTING.md", "no place for a README", false},
		"profile at the text":      {home + "agentic.txt", "", "agentic.txt README.md LISTING.md", "agentic.txt cannot be at", false},
		"profile at the listing":   {home + "LISTING.md", "", "LISTING.md agentic.txt README.md", "no LISTING.md", true},
		"README by another letter": {home, home + "%61gentic.json", "agentic.json agentic.txt %61gentic.json LISTING.md", "", true},
	} {
		w := web{home: page("<title>Ferry</title>")}
		_, k, after := mend(t, w, parse(t, c.target, c.readme))
		if got := names(k); got != c.files {
			t.Errorf("%s: files %q, want %q", name, got, c.files)
		}
		if (after.Publication.Status == report.Successful) != c.successful {
			t.Errorf("%s: %+v", name, after.Publication.NextSteps)
		}
		if all := strings.Join(k.ByHand, "\n"); !strings.Contains(all, c.told) || c.told == "" && all != "" {
			t.Errorf("%s: by hand %q", name, all)
		}
		// A profile that is there and right is not written over.
		w = apply(w, k)
		w[home+"agentic.txt"] = file{200, "text/plain", "x", nil}
		_, again := audited(t, w, parse(t, c.target, c.readme), false)
		for _, f := range again.Files {
			if c.successful && f.URL == parse(t, c.target, "").ProfileURL.String() {
				t.Errorf("%s: the profile is written over with %s", name, f.Name)
			}
		}
	}
}

// notByFiles are the failures that no file can mend, by check, with the
// vectors in which one is left when the kit has been published.
var notByFiles = map[string][]string{
	// A contract and its API cannot be made from outside.
	"api": {"api-256k-plus-1", "api-30", "api-31-short", "api-404", "api-array", "api-bom", "api-html", "api-no-operations", "api-null",
		"api-op-mismatch", "api-same-as-profile", "api-two-one-fails"},
	"bindings": {"action-six-documents"},
	"txt":      {"action-six-documents"},
	// The owner's valid profile is not shortened, nor are documents published for it.
	"limit": {"docs-six-last-missing"},
	// Media types are the server's.
	// Documents that neither the audit nor the scan got to see.
	"resource":  {"docs-spelling"},
	"json-type": {"json-type-comma", "json-type-none", "no-headers-action", "no-headers-site"},
	"txt-type":  {"no-headers-action", "no-headers-site", "txt-action-type", "txt-action-type-none", "txt-type-html-right"},
}

// Whatever the audit vectors break, the kit mends as far as files can, and the
// rest it tells in words.
func TestKitsForAuditVectors(t *testing.T) {
	var mu sync.Mutex
	left := map[string][]string{}
	t.Run("vectors", func(t *testing.T) {
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
			if before.Structure != nil && before.Structure.Valid {
				checkKept(t, w[target.ProfileURL.Location()].body, k)
			}
			if before.Publication.Status == report.Successful && len(k.Files) > 0 {
				t.Errorf("nothing was wrong, and yet: %s", names(k))
			}
			steps := after.Publication.NextSteps
			if len(steps) == 0 && after.Publication.Status != report.Successful {
				t.Errorf("%s, and nothing to do", after.Publication.Status)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, step := range steps {
				id, url, _ := strings.Cut(step.ID, ":")
				left[id] = append(left[id], c.Name)
				told := slices.ContainsFunc(before.Publication.NextSteps, func(s report.NextStep) bool { return s.ID == step.ID && slices.Contains(k.ByHand, s.Remedy) }) ||
					id == "resource" && slices.ContainsFunc(k.ByHand, func(s string) bool { return strings.Contains(s, url) })
				if !told {
					t.Errorf("%s is neither mended nor told: %s\nfiles %s, by hand %q", step.ID, step.Detail, names(k), k.ByHand)
				}
			}
		})
	})
	for _, names := range left {
		slices.Sort(names)
	}
	if fmt.Sprint(left) != fmt.Sprint(notByFiles) {
		t.Errorf("left over is %q", left)
	}
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
