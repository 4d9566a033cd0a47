package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/discovery"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

// home gives the site a page with links, so that there is something to scan.
func (w *world) home() {
	w.site.Static("/", 200, fakenet.HTML, `<!doctype html><title>Boats</title><a href="/guide">Documentation</a><a href="https://mcp.site.example/mcp">MCP</a>`)
}

// unpublish takes the files for agents away.
func (w *world) unpublish() {
	for _, path := range []string{"/agentic.json", "/agentic.txt", "/README.md"} {
		w.site.Path(path, nil)
	}
}

// scanned audits the usual host and reads what a scan left.
func (w *world) scanned(t *testing.T, o Options, final func(Judgement) bool) (Judgement, *discovery.Report, *publication.Kit) {
	t.Helper()
	target, err := ParseTarget(host, "")
	if err != nil {
		t.Fatal(err)
	}
	o.NoAgents = true
	j, err := (&Auditor{Client: w.client()}).Audit(t.Context(), Attempt{Target: target, Number: 1, Options: o, Final: final})
	if err != nil {
		t.Fatal(err)
	}
	var found *discovery.Report
	if j.Result.Discovery != nil {
		found = new(discovery.Report)
		if err := json.Unmarshal(j.Result.Discovery, found); err != nil {
			t.Fatal(err)
		}
	}
	k, err := publication.DecodeKit(j.Result.FixKit)
	if err != nil {
		t.Fatal(err)
	}
	return j, found, k
}

// publish puts a kit on the host.
func (w *world) publish(t *testing.T, k *publication.Kit) {
	t.Helper()
	for _, f := range k.Files {
		path, ok := strings.CutPrefix(f.URL, "https://"+host)
		if !ok {
			t.Fatalf("%s is not on %s", f.URL, host)
		}
		w.site.Static(path, 200, http.Header{"Content-Type": {f.ContentType}}, f.Content)
	}
}

func TestAScanFollowsByTheSameVisit(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.home()
		w.unpublish()
		j, found, k := w.scanned(t, Options{}, nil)
		if j.word() != "failed missing-profile" || found == nil || found.Error != "" || len(k.Files) != 4 || k.ProfileURL != "https://site.example/agentic.json" {
			t.Fatalf("%s, %+v, %+v", j.word(), found, k)
		}
		if found.Files.JSON == "" || found.Drift != nil {
			t.Errorf("files %v, drift %v", found.Files, found.Drift)
		}
		stats := n.Stats(host)
		if len(n.Dials()) != 1 || w.site.Lookups() != 1 || stats.Requests["/agentic.json"] != 1 || stats.Requests["/robots.txt"] != 1 {
			t.Errorf("%d connections, %d lookups, requests %v", len(n.Dials()), w.site.Lookups(), stats.Requests)
		}
		// What the scan read is evidence as all else is.
		seen := map[string]int{}
		for _, e := range j.Result.Evidence {
			seen[e.URL]++
		}
		for _, path := range []string{"/", "/guide", "/openapi.json", "/agentic.json", "/robots.txt"} {
			if seen["https://site.example"+path] != 1 {
				t.Errorf("%s is %d times in the evidence", path, seen["https://site.example"+path])
			}
		}
		w.publish(t, k)
		if j, found, k = w.scanned(t, Options{}, nil); j.word() != "successful complete" || found != nil || k != nil {
			t.Errorf("with the kit: %s %s, %v, %v", j.word(), j.Result.Detail, found, k)
		}
	})
}

func TestWhenAScanFollows(t *testing.T) {
	missing := func(w *world) { w.unpublish() }
	no := func(Judgement) bool { return false }
	for name, tc := range map[string]struct {
		spoil func(w *world)
		o     Options
		final func(Judgement) bool
		scan  bool
	}{
		"missing":                            {missing, Options{}, nil, true},
		"missing, and asked for":             {missing, Options{Discover: DiscoverMissing}, nil, true},
		"missing, but never":                 {missing, Options{Discover: DiscoverNever}, nil, false},
		"missing, but not final":             {missing, Options{Discover: DiscoverAlways}, no, false},
		"in order":                           {func(*world) {}, Options{}, nil, false},
		"in order, but always":               {func(*world) {}, Options{Discover: DiscoverAlways}, nil, true},
		"partial":                            {func(w *world) { w.site.Path("/agentic.txt", nil) }, Options{}, nil, false},
		"invalid document":                   {func(w *world) { w.site.Path("/guide", nil) }, Options{}, nil, true},
		"no answer":                          {func(w *world) { w.site.Greet(fakenet.ResetHandshake) }, Options{Discover: DiscoverAlways}, nil, false},
		"no such host":                       {func(w *world) { w.site.DNS(fakenet.Answer{Failure: fakenet.NXDomain}) }, Options{Discover: DiscoverAlways}, nil, false},
		"blocked":                            {func(w *world) { w.site.Path("/agentic.json", fakenet.Text(403, "no")) }, Options{Discover: DiscoverAlways}, nil, false},
		"a host that wants to be left alone": {func(w *world) { w.unpublish(); w.site.Path("/agentic.txt", fakenet.Limited(429, "30")) }, Options{}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				w := newWorld(t, n, siteProfile(host), siteOpenAPI)
				w.home()
				tc.spoil(w)
				j, found, k := w.scanned(t, tc.o, tc.final)
				if (found != nil) != tc.scan || !tc.scan && n.Stats(host).Requests["/"] > 0 {
					t.Errorf("%s: scanned %v, want %v", j.word(), found != nil, tc.scan)
				}
				if want := j.Result.Outcome == report.OutcomeFailed || j.Result.Outcome == report.OutcomePartial; (k != nil) != want {
					t.Errorf("%s: a kit is there: %v", j.word(), k != nil)
				}
			})
		})
	}
}

// Whatever a scan meets, the result is that of the audit alone, but for the
// time it took.
func TestTroubleOfAScanChangesNothing(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"a silent page":    func(w *world) { w.site.Path("/", fakenet.Stall("")) },
		"a reset":          func(w *world) { w.site.Path("/", fakenet.ResetAfter("")) },
		"an error":         func(w *world) { w.site.Path("/", fakenet.Text(500, "oops")) },
		"a huge page":      func(w *world) { w.site.Path("/", fakenet.EndlessBody("text/html")) },
		"a page elsewhere": func(w *world) { w.site.Path("/", fakenet.Redirect(302, "https://other.example/")) },
		"slow pages": func(w *world) {
			w.site.Path("/", fakenet.Drip("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 30\r\n\r\n", strings.Repeat("<a>", 10), 200*time.Millisecond))
			w.site.Path("/openapi.json", fakenet.Stall(""))
			w.site.Path("/docs", fakenet.Stall(""))
			w.site.Path("/llms.txt", fakenet.Stall(""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				w := newWorld(t, n, siteProfile(host), siteOpenAPI)
				w.unpublish()
				spoil(w)
				without, _, _ := w.scanned(t, Options{Discover: DiscoverNever}, nil)
				began := time.Now()
				with, found, k := w.scanned(t, Options{}, nil)
				if took := time.Since(began); took > Budget+discovery.Budget+5*time.Second {
					t.Errorf("it took %s", took)
				}
				if with.word() != without.word() || with.verdict() != without.verdict() || with.Result.Detail != without.Result.Detail {
					t.Errorf("%s %s: %s; without a scan %s %s: %s", with.word(), with.verdict(), with.Result.Detail, without.word(), without.verdict(), without.Result.Detail)
				}
				if found == nil || k == nil || found.Error == "" != (found.Files != nil) {
					t.Fatalf("found %+v, kit %+v", found, k)
				}
				if found.Error != "" && !strings.Contains(k.ByHand[0], strings.TrimSuffix(found.Error, ".")) {
					t.Errorf("%q does not say %q", k.ByHand, found.Error)
				}
			})
		})
	}
}

func TestAPanicOfAScanIsPartOfItsReport(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.unpublish()
		target, err := ParseTarget(host, "")
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		a := &Auditor{Client: w.client(), Now: func() time.Time {
			if asked++; asked == 3 { // the first time in the scan itself
				panic("a fault of ours")
			}
			return time.Now()
		}}
		j, err := a.Audit(t.Context(), Attempt{Target: target, Number: 1, Options: Options{NoAgents: true}})
		if err != nil || j.word() != "failed missing-profile" || !strings.Contains(string(j.Result.Discovery), errBrokeDown.Error()) {
			t.Errorf("%v, %s, %s", err, j.word(), j.Result.Discovery)
		}
	})
}

// Pages are read by goroutines of the scan: what breaks down in one of them is
// contained as well.
func TestAPanicOfAReadIsPartOfTheReport(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.unpublish()
		w.site.Path("/", fakenet.Redirect(301, "https://www.site.example/"))
		n.Site("www.site.example")
		target, err := ParseTarget(host, "")
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		client := w.Client(fetch.Config{Admit: func(_ context.Context, host string, _ []netip.Addr) (func(), error) {
			if host == "www.site.example" {
				panic("a fault of ours")
			}
			return nil, nil
		}})
		a := &Auditor{Client: client, Log: slog.New(slog.NewJSONHandler(&log, nil))}
		j, err := a.Audit(t.Context(), Attempt{Target: target, Number: 1, Options: Options{NoAgents: true}})
		if err != nil || j.word() != "failed missing-profile" || !strings.Contains(string(j.Result.Discovery), errBrokeDown.Error()) {
			t.Errorf("%v, %s, %s", err, j.word(), j.Result.Discovery)
		}
		if !strings.Contains(log.String(), "a fault of ours") || !strings.Contains(log.String(), "TestAPanicOfAReadIsPartOfTheReport") {
			t.Errorf("the log does not say what happened where: %s", log.String())
		}
	})
}

func TestAStopInAScanLeavesNoResult(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.unpublish()
		w.site.Path("/", fakenet.Stall(""))
		target, err := ParseTarget(host, "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := false
		_, err = (&Auditor{Client: w.client()}).Audit(ctx, Attempt{Target: target, Number: 1, Options: Options{NoAgents: true}, Final: func(Judgement) bool {
			time.AfterFunc(time.Second, func() { stopped = true; cancel() })
			return true
		}})
		if err == nil || !stopped {
			t.Errorf("error %v", err)
		}
	})
}

func TestDriftIsInformation(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.home()
		w.site.Static("/openapi.json", 200, fakenet.JSON, strings.Replace(siteOpenAPI, `"/boats":{`, `"/ports":{"get":{}},"/boats":{`, 1))
		j, found, k := w.scanned(t, Options{Discover: DiscoverAlways}, nil)
		if j.word() != "successful complete" || !j.Result.Report.Valid || k != nil {
			t.Errorf("%s, kit %v", j.word(), k)
		}
		d := found.Drift
		if d == nil || len(d.OperationsAdded) != 1 || d.OperationsAdded[0].Path != "/ports" || len(d.ConnectionsUnlisted) != 1 || len(d.OperationsGone) != 0 {
			t.Errorf("drift %+v", d)
		}
	})
}

// What makes a profile fail the audit is drift as well, if its structure is
// valid and it is the site's own.
func TestDriftOfAProfileThatFails(t *testing.T) {
	vanished := func(d *discovery.Drift) string {
		if d == nil {
			return "no drift"
		}
		var urls []string
		for _, s := range d.DocumentsVanished {
			urls = append(urls, s.URL)
		}
		return fmt.Sprintf("%d gone, vanished %q", len(d.OperationsGone), urls)
	}
	for name, tc := range map[string]struct {
		spoil       func(w *world)
		word, drift string
	}{
		"a page that nothing links to is gone": {func(w *world) {
			w.site.Static("/", 200, fakenet.HTML, "<title>Boats</title>")
			w.site.Path("/guide", nil)
		}, "failed broken-document", `0 gone, vanished ["https://site.example/guide"]`},
		"the API has changed": {func(w *world) {
			w.site.Static("/openapi.json", 200, fakenet.JSON, strings.Replace(siteOpenAPI, `"/boats/{id}"`, `"/ships/{id}"`, 1))
		}, "failed api-mismatch", "1 gone, vanished []"},
		"invalid": {func(w *world) {
			w.site.Static("/agentic.json", 200, fakenet.JSON, strings.Replace(siteProfile(host), `"kind":"mcp"`, `"kind":"mpc"`, 1))
		}, "failed invalid-profile", "no drift"},
		"another site's": {func(w *world) { w.site.Static("/agentic.json", 200, fakenet.JSON, siteProfile("other.example")) },
			"failed invalid-profile", "no drift"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				w := newWorld(t, n, siteProfile(host), siteOpenAPI)
				w.home()
				tc.spoil(w)
				j, found, _ := w.scanned(t, Options{}, nil)
				if found == nil {
					t.Fatalf("%s: no scan", j.word())
				}
				if got := vanished(found.Drift); j.word() != tc.word || got != tc.drift {
					t.Errorf("%s, %s; want %s, %s", j.word(), got, tc.word, tc.drift)
				}
			})
		})
	}
}

// A site whose pages are on its www twin gets files for that.
func TestAKitForASiteThatMoved(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		n.Site(host).Handle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://www.site.example"+r.URL.Path, http.StatusMovedPermanently)
		}))
		www := n.Site("www.site.example")
		www.Static("/", 200, fakenet.HTML, "<!doctype html><title>Boats</title>")
		w := &world{Net: n}
		j, found, k := w.scanned(t, Options{}, nil)
		if j.word() != "failed redirected" || found.Origin != "https://www.site.example" || k.ProfileURL != "https://www.site.example/agentic.json" {
			t.Fatalf("%s, %+v, %+v", j.word(), found, k)
		}
		if len(k.ByHand) == 0 || !strings.Contains(k.ByHand[0], "give https://www.site.example/agentic.json to directories") {
			t.Errorf("by hand: %q", k.ByHand)
		}
		for _, f := range k.Files {
			path, ok := strings.CutPrefix(f.URL, "https://www.site.example")
			if !ok {
				t.Errorf("%s", f.URL)
			}
			www.Static(path, 200, http.Header{"Content-Type": {f.ContentType}}, f.Content)
		}
		if j := w.audit(t, k.ProfileURL, "", 1); j.word() != "successful complete" {
			t.Errorf("%s: %s", j.word(), j.Result.Detail)
		}
	})
}

// One audit reads five documents: a kit lists no more as read.
func TestAKitListsWhatOneAuditReads(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.unpublish()
		links := ""
		for i := range 9 {
			path := fmt.Sprintf("/docs/%d", i)
			links += "<a href=" + path + ">d</a>"
			w.site.Static(path, 200, fakenet.HTML, "<p>d")
		}
		w.site.Static("/", 200, fakenet.HTML, "<title>Boats</title>"+links)
		_, found, k := w.scanned(t, Options{}, nil)
		retrieved := func(json string) (n int) {
			doc, err := profile.Decode([]byte(json))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range doc.Validate(profile.Options{}).Profile.(*profile.Site).Resources {
				if r.Availability == profile.Retrieved {
					n++
				}
			}
			return n
		}
		if got, whole := retrieved(k.Files[0].Content), retrieved(found.Files.JSON); got != MaxDocuments || whole <= MaxDocuments {
			t.Errorf("the kit lists %d documents as read, the scan %d", got, whole)
		}
		w.publish(t, k)
		if j, _, _ := w.scanned(t, Options{}, nil); j.word() != "successful complete" {
			t.Errorf("with the kit: %s %s", j.word(), j.Result.Detail)
		}
	})
}

// The files of a kit take the place of what is at their addresses, which is
// then no API document any more.
func TestAKitListsNothingThatItReplaces(t *testing.T) {
	for _, path := range []string{"/agentic.json", "/agentic.txt", "/README.md", "/LISTING.md"} {
		bubble(t, func(t *testing.T, n *fakenet.Net) {
			w := newWorld(t, n, siteProfile(host), siteOpenAPI)
			w.unpublish()
			w.site.Static("/", 200, fakenet.HTML, `<title>Boats</title><a href="`+path+`">Documentation</a>`)
			w.site.Static(path, 200, fakenet.JSON, siteOpenAPI)
			_, found, k := w.scanned(t, Options{}, nil)
			if !strings.Contains(found.Files.JSON, path+`",
      "openapi"`) {
				t.Fatalf("%s: the scan found no API there: %s", path, found.Files.JSON)
			}
			w.publish(t, k)
			if j, _, _ := w.scanned(t, Options{}, nil); j.word() != "successful complete" {
				t.Errorf("%s: with the kit: %s %s", path, j.word(), j.Result.Detail)
			}
		})
	}
}
