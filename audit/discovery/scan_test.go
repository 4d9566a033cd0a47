package discovery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/audit/profile"
	"agentaudit/fetch"
)

func TestSourceIsTheFirstPageThatLinks(t *testing.T) {
	w := newWeb(map[string]answer{
		"/":             pageOf(`<a href="/docs">The docs</a><a href="/guide/a">A</a>`),
		"/docs":         pageOf(`no title <a href="/openapi.json">spec</a>`),
		"/guide/a":      pageOf(`<a href="/docs">Later</a><a href="/llms.txt">index</a>`),
		"/openapi.json": jsonOf(`{"openapi":"3.1.0","paths":{}}`),
		"/llms.txt":     {media: "text/plain", body: "# llms"},
	})
	r := w.mustScan(t, Options{})
	for _, want := range []Source{
		{profile.KindDocumentation, site + "/docs", site + "/", profile.Retrieved, "The docs"},
		{profile.KindOpenAPI, site + "/openapi.json", site + "/docs", profile.Retrieved, "spec"},
		{profile.KindLLMs, site + "/llms.txt", site + "/guide/a", profile.Retrieved, "index"},
		{profile.KindWebsite, site + "/", site + "/", profile.Retrieved, ""},
	} {
		if got := r.source(strings.TrimPrefix(want.URL, site)); got == nil || *got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestADocumentIsListedOnceAsWhatItIs(t *testing.T) {
	w := newWeb(map[string]answer{
		"/":            pageOf(`<a href="/docs/spec">s</a><a href="/docs/old">o</a><a href="/docs/gone">g</a>`),
		"/docs/spec":   jsonOf(`{"openapi":"3.0.1","paths":{"/a":{"get":{}}}}`),
		"/docs/old":    {status: 301, to: "/docs/new#x"},
		"/docs/new":    pageOf(`<title>New</title><a href="/docs/spec">again</a>`),
		"/openapi.yml": {},
	})
	r := w.mustScan(t, Options{})
	var got []string
	for _, s := range r.Sources {
		got = append(got, fmt.Sprint(s.Kind, " ", strings.TrimPrefix(s.URL, site), " ", s.Availability, " ", s.Title))
	}
	want := "documentation /docs/gone linked g, documentation /docs/new retrieved New, openapi /docs/spec retrieved s, website / retrieved "
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestRedirectsEndAtTheThirdAndStayOnTheSite(t *testing.T) {
	for name, tc := range map[string]struct {
		location string
		ok       bool
	}{
		"path":               {"/x", true},
		"relative":           {"x", true},
		"www":                {"https://www.site.example/x", true},
		"fragment":           {"/x#a", true},
		"query":              {"/x?a=b", false},
		"lone question mark": {"/x?", true},
		"http":               {"http://site.example/x", false},
		"port":               {"https://site.example:8443/x", false},
		"credentials":        {"https://a:b@site.example/x", false},
		"other":              {"https://evil.example/x", false},
		"subdomain":          {"https://app.site.example/x", false},
		"private":            {"https://127.0.0.1/x", false},
		"local":              {"https://localhost./x", false},
		"backslashes":        {`\\evil.example\x`, false},
		"none":               {"", false},
		"junk":               {"https://[", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb(map[string]answer{
				"/": {status: 302, to: tc.location}, "/x": pageOf("x"), "https://www.site.example/x": pageOf("x"),
			})
			r, err := w.scan(t, site+"/", Options{})
			if (err == nil) != tc.ok {
				t.Fatalf("error %v", err)
			}
			for _, url := range w.asked {
				if !strings.HasPrefix(url, site+"/") && !strings.HasPrefix(url, "https://www.site.example/") {
					t.Errorf("asked for %s", url)
				}
			}
			if failed, ok := errors.AsType[*Error](err); ok {
				if len(failed.Observations) != 1 || failed.Observations[0].Status != 302 || failed.Observations[0].Error == "" {
					t.Errorf("a refused redirect is one observation with its status, got %+v", failed.Observations)
				}
			} else if r.Requests != 9 {
				t.Errorf("%d requests", r.Requests)
			}
		})
	}
}

// A hostile site answers anything to anything; the bounds hold.
func TestBoundsHoldWhateverTheSiteAnswers(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			answers := func() *fakeWeb {
				random := rand.New(rand.NewPCG(seed, 1))
				known := map[string]answer{site + "/": pageOf(randomPage(random))}
				return &fakeWeb{any: func(url string) answer {
					a, ok := known[url]
					if !ok {
						// The answer depends on the URL alone, not on the order.
						a = randomAnswer(rand.New(rand.NewPCG(seed, uint64(len(url))*7919+uint64(url[len(url)-1]))))
						known[url] = a
					}
					return a
				}}
			}
			w := answers()
			r, err := w.scan(t, site+"/", Options{})
			if err != nil {
				t.Fatal(err)
			}
			robots := 0
			if r.Robots != nil {
				if robots = 1 + r.Robots.Redirects; r.Robots.Also != nil {
					robots++
				}
			}
			if r.Requests > MaxRequests || robots > 2*(1+maxRobotsRedirects) || r.Requests != len(w.asked)-robots {
				t.Errorf("%d requests, %d reported, %d for robots.txt", len(w.asked), r.Requests, robots)
			}
			if r.BudgetUsed > MaxBytes || r.Bytes > r.BudgetUsed {
				t.Errorf("bytes %d, used %d", r.Bytes, r.BudgetUsed)
			}
			for _, url := range w.asked {
				if host := mustURL(t, url).Hostname(); host != "site.example" && host != "www.site.example" {
					t.Errorf("asked for %s", url)
				}
			}
			if again := answers().mustScan(t, Options{}); asJSON(t, again) != asJSON(t, r) {
				t.Error("the same answers gave another report")
			}
		})
	}
}

func randomPage(random *rand.Rand) string {
	var b strings.Builder
	for range random.IntN(120) {
		fmt.Fprintf(&b, `<a href="%s/%s%d">t</a>`, []string{"", "/docs", "https://www.site.example", "https://evil.example/docs", "/docs/x/openapi.json?"}[random.IntN(5)],
			[]string{"docs/", "mcp", "llms.txt/guide/", "swagger.json/", "seats/agentic.json/reference/"}[random.IntN(5)], random.IntN(1000))
	}
	return b.String()
}

func randomAnswer(random *rand.Rand) answer {
	switch random.IntN(7) {
	case 0:
		return answer{status: 301 + random.IntN(8), to: []string{"/docs/r", "https://www.site.example/docs/w", "https://evil.example/", "/", "https://site.example/docs/2", ""}[random.IntN(6)]}
	case 1:
		return answer{err: errReset}
	case 2:
		return pageOf(randomPage(random))
	case 3:
		return pageOf(strings.Repeat("x", random.IntN(2<<20)))
	case 4:
		return jsonOf(`{"openapi":"3.1.0","paths":{"/a":{"get":{},"post":{"summary":"` + strings.Repeat("s", random.IntN(300)) + `"}}}}`)
	case 5:
		return answer{status: 500}
	}
	return answer{status: 404, body: "no"}
}

func TestATooSlowSiteIsLeftInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeWeb{any: func(string) answer {
			a := pageOf(`<a href="/docs/1">a</a>`)
			a.takes = 7 * time.Second
			return a
		}}
		began := time.Now()
		r := w.mustScan(t, Options{})
		if took := time.Since(began); took > Budget {
			t.Errorf("took %v", took)
		}
		if r.Notes[0] != noteLimit || r.Requests != 6 || len(w.asked) != 6 {
			t.Errorf("notes %q, %d requests", r.Notes, r.Requests)
		}
		if last := r.BudgetUsed; last <= MaxDocument {
			t.Errorf("the read that was cut off was charged %d bytes, want its allowance", last)
		}
	})
}

func TestAStoppedScanMakesNoReport(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &fakeWeb{any: func(url string) answer {
		if url != site+"/" {
			cancel(errors.New("shutting down"))
		}
		return pageOf("x")
	}}
	r, err := Scan(ctx, w, mustURL(t, site+"/"), Options{})
	if r != nil || err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("report %v, error %v", r, err)
	}
}

func TestAStartThatIsNoSiteLinkIsRefusedUnread(t *testing.T) {
	for _, start := range []string{"http://site.example/", "https://site.example/?q=1", "https://127.0.0.1/", "https://a:b@site.example/"} {
		w := &fakeWeb{}
		if _, err := w.scan(t, start, Options{}); err == nil || len(w.asked) > 0 {
			t.Errorf("%s: error %v, asked for %v", start, err, w.asked)
		}
	}
}

func TestFilesFitAlsoWhereTheTextIndexIsLonger(t *testing.T) {
	// An invisible character takes three bytes in JSON and six in TXT.
	var paths []string
	for i := range 60 {
		paths = append(paths, fmt.Sprintf(`"/%d%s":{"get":{}}`, i, strings.Repeat("\u200B", 250)))
	}
	w := newWeb(map[string]answer{
		"/": pageOf("x"), "/openapi.json": jsonOf(`{"openapi":"3.1.0","paths":{` + strings.Join(paths, ",") + `}}`),
	})
	r := w.mustScan(t, Options{})
	if len(r.Files.Text) > 65536 || len(r.Files.Text) < 60000 || len(r.Files.JSON) > maxWritten {
		t.Errorf("TXT %d bytes, JSON %d bytes", len(r.Files.Text), len(r.Files.JSON))
	}
	if !strings.Contains(strings.Join(r.Notes, ""), noteOperations) {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestShorteningCutsTheLongestIndexAndTheFirstOfEqualOnes(t *testing.T) {
	site := profile.Site{APIs: []profile.API{{Document: "a", Operations: make([]profile.Operation, 3)}, {Document: "b", Operations: make([]profile.Operation, 4)}}}
	for n, want := range []string{"3 4", "3 3", "2 3", "2 2", "1 2"} {
		short := dropOperations(site, n)
		if got := fmt.Sprint(len(short.APIs[0].Operations), len(short.APIs[1].Operations)); got != want {
			t.Errorf("%d dropped: %s, want %s", n, got, want)
		}
	}
}

func TestOnlyTheOriginsOwnProfileIsPreserved(t *testing.T) {
	// The profile is fetched by way of the www counterpart: that origin does
	// not serve what speaks for this one.
	w := newWeb(map[string]answer{
		"/": pageOf("x"), "/agentic.json": {status: 301, to: "https://www.site.example/agentic.json"},
		"https://www.site.example/agentic.json": jsonOf(actionProfile),
	})
	if r := w.mustScan(t, Options{}); r.Mode != ModeSite {
		t.Errorf("mode %s", r.Mode)
	}
	w = newWeb(map[string]answer{"/": pageOf("x"), "/agentic.json": jsonOf(actionProfile)})
	if r := w.mustScan(t, Options{}); r.Mode != ModeAction || r.ProfileURL != site+"/agentic.json" {
		t.Errorf("mode %s at %s", r.Mode, r.ProfileURL)
	}
}

const actionProfile = `{"agentic":"1.0.0","origin":"https://site.example","actions":[{"id":"reserve","description":"Reserve.","openapi":"/openapi.json",
"submit":"reserve","status":"state","verify":"read","request":{"header":"Idempotency-Key","scope":"principal-action","retentionSeconds":3600},
"bindings":{"statusRequestId":"req","verifyResourceId":"seat"},"evidence":{"resourceIdPointer":"/id","requestIdPointer":"/req","statePointer":"/s",
"successValues":["ok"],"inputBindings":[{"inputPointer":"/a","resourcePointer":"/a"}]},
"recovery":{"maxChecks":4,"checkDelayMs":250,"timeoutMs":2500,"retry":"never-automatically"}}]}`

func TestFailedReadsKeepTheirSentence(t *testing.T) {
	w := newWeb(map[string]answer{"/": pageOf("x"), "/docs": {err: &fetch.Error{Kind: fetch.KindTimeout, URL: site + "/docs"}}})
	r := w.mustScan(t, Options{})
	for _, o := range r.Observations {
		if o.URL == site+"/docs" && o.Error == "" {
			t.Error("the failed read has no error")
		}
	}
}

// A fault in a read ends the scan where its caller can see it, not the process.
func TestAPanicOfAReadReachesTheCaller(t *testing.T) {
	w := newWeb(map[string]answer{"/": pageOf("x")})
	w.any = func(string) answer { panic("a fault of ours") }
	defer func() {
		f, _ := recover().(fault)
		if f.value != "a fault of ours" || !strings.Contains(f.Error(), "TestAPanicOfAReadReachesTheCaller") {
			t.Errorf("recovered %v", f)
		}
	}()
	r, err := w.scan(t, site+"/", Options{})
	t.Errorf("report %v, error %v", r, err)
}
