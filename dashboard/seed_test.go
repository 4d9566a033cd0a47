package dashboard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/profile"
	"agentaudit/audit/report"
	"agentaudit/audit/textindex"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// seeded is a store as a directory of shops would have it: the same list
// audited twice, and a third batch half way.
type seeded struct {
	*store.Store
	clock *storetest.Clock
	// before and after are finished, running is half way, cancelled and empty
	// are what they say.
	before, after, running, cancelled, empty store.BatchID
	// draft is a list that waits to be confirmed, "" before written.
	draft store.BatchID
	// listed and listedBefore were read from a directory, schedule is one of two.
	listed, listedBefore store.BatchID
	schedule             store.ScheduleID
	// sharedRun and sharedView are the paths of what was shared.
	sharedRun, sharedView string
	// failed is a run of after that fails; its site has two results.
	failed store.RunID
	// net is where the sites are as they were last.
	net *fakenet.Net
}

// manner is how well a seeded site publishes.
type manner string

const (
	complete    manner = "complete"
	noText      manner = "no agentic.txt"
	oldText     manner = "an old agentic.txt"
	noReadme    manner = "no README"
	thinReadme  manner = "a README without links"
	noProfile   manner = "nothing"
	badProfile  manner = "a profile that breaks the format"
	brokenJSON  manner = "a profile that is no JSON"
	movedAway   manner = "a redirect"
	noDocument  manner = "a document that is missing"
	botWall     manner = "a bot wall"
	serverError manner = "a server that fails"
	noHost      manner = "no such host"
	wrongType   manner = "wrong media types"
)

const seedOpenAPI = `{"openapi":"3.1.0","info":{"title":"Shop","version":"1"},"paths":{"/items":{"get":{"operationId":"listItems","responses":{}}},"/items/{id}":{"get":{"operationId":"readItem","responses":{}}}}}`

func seedProfile(host string) string {
	return strings.ReplaceAll(`{"agentic":"1.1.0","type":"site","origin":"https://HOST","name":"Shop","description":"Things for sale.",
"resources":[{"kind":"documentation","url":"https://HOST/guide","source":"https://HOST/","availability":"retrieved","title":"Guide"},
{"kind":"mcp","url":"https://HOST/mcp","source":"https://HOST/guide","availability":"linked"},
{"kind":"openapi","url":"https://HOST/openapi.json","source":"https://HOST/","availability":"retrieved"}],
"apis":[{"document":"https://HOST/openapi.json","openapi":"3.1.0","operations":[{"method":"GET","path":"/items","operationId":"listItems"},{"method":"GET","path":"/items/{id}","operationId":"readItem"}]}]}`, "HOST", host)
}

// publish puts a site on the fake internet.
func publish(t testing.TB, net *fakenet.Net, host string, m manner) {
	t.Helper()
	if m == noHost {
		return
	}
	site := net.Site(host)
	if m == noProfile {
		return
	}
	json := seedProfile(host)
	doc, err := profile.Decode([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	v := doc.Validate(profile.Options{})
	if !v.Valid() {
		t.Fatal(v.Err())
	}
	text, err := textindex.Build(v.Profile, textindex.DefaultURL(v.Profile), textindex.Publication)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"/agentic.json": json, "/agentic.txt": string(text), "/openapi.json": seedOpenAPI, "/guide": "# Guide\n",
		"/README.md": "# Shop\n\nThings for sale.\n\n[agentic.json](https://" + host + "/agentic.json) [agentic.txt](https://" + host + "/agentic.txt)\n[Agentic](https://ruagentic.org) [RUAGENTIC](https://ruagentic.com)\n"}
	switch m {
	case noText:
		delete(files, "/agentic.txt")
	case oldText:
		files["/agentic.txt"] = strings.Replace(files["/agentic.txt"], "listItems", "allItems", 1)
	case noReadme:
		delete(files, "/README.md")
	case thinReadme:
		files["/README.md"] = "# Shop\n\nThings for sale, and [about us](https://" + host + "/about).\n"
	case badProfile:
		files["/agentic.json"] = strings.Replace(json, `"availability":"retrieved"`, `"availability":"sometimes"`, 1)
	case brokenJSON:
		files["/agentic.json"] = json[:len(json)/2]
	case noDocument:
		delete(files, "/openapi.json")
	case botWall:
		site.Path("/agentic.json", fakenet.Challenge(http.StatusForbidden))
		delete(files, "/agentic.json")
	case serverError:
		files = map[string]string{}
		site.Static("/agentic.json", http.StatusBadGateway, fakenet.JSON, "upstream is away")
	case movedAway:
		site.Path("/agentic.json", fakenet.Redirect(http.StatusMovedPermanently, "https://shop.example/agentic.json"))
		delete(files, "/agentic.json")
	}
	for path, body := range files {
		header := fakenet.JSON
		switch {
		case m == wrongType:
			header = http.Header{"Content-Type": {"application/octet-stream"}}
		case strings.HasSuffix(path, ".txt"):
			header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		case strings.HasSuffix(path, ".md") || path == "/guide":
			header = http.Header{"Content-Type": {"text/markdown; charset=utf-8"}}
		}
		site.Static(path, http.StatusOK, header, body)
	}
}

var (
	seedFirst  = []string{"Blue", "Copper", "Quiet", "North", "Golden", "Little", "River", "Old"}
	seedSecond = []string{"Harbour", "Kettle", "Orchard", "Lantern", "Bakery", "Cycles", "Books"}
	// The manners of the two audits, by the number of the site.
	seedBefore = []manner{complete, complete, noText, oldText, complete, noProfile, noReadme, complete, badProfile, thinReadme, complete, botWall, noDocument, complete, wrongType, noHost, brokenJSON, serverError, movedAway}
	seedAfter  = []manner{complete, complete, complete, oldText, noText, noProfile, noReadme, complete, complete, thinReadme, complete, complete, noDocument, botWall, complete, noHost, brokenJSON, serverError, noText}
)

func seedSite(i int) (host, label string) {
	first, second := seedFirst[i%len(seedFirst)], seedSecond[i%len(seedSecond)]
	return strings.ToLower(first+"-"+second) + ".example", first + " " + second
}

// seed fills a store through the very code that audits: over a fake internet.
func seed(t testing.TB) *seeded {
	t.Helper()
	s := &seeded{clock: storetest.NewClock()}
	s.Store = storetest.Open(t, t.TempDir(), store.Options{Now: s.clock.Now})
	const sites = 40
	nets := map[string]*fakenet.Net{"before": fakenet.New(fakenet.Options{}), "after": fakenet.New(fakenet.Options{})}
	for i := range sites {
		host, _ := seedSite(i)
		publish(t, nets["before"], host, seedBefore[i%len(seedBefore)])
		publish(t, nets["after"], host, seedAfter[i%len(seedAfter)])
	}
	for _, n := range nets {
		t.Cleanup(n.Close)
	}
	s.net = nets["after"]
	s.clock.Add(-8 * 24 * time.Hour)
	s.before = s.batch(t, "Shops of the region", seedLines(0, sites))
	s.work(t, nets["before"], sites+10)
	s.clock.Add(7 * 24 * time.Hour)
	s.after = s.batch(t, "Shops of the region", append(seedLines(2, sites), seedLines(0, 2)[:1]...))
	s.work(t, nets["after"], sites+10)
	s.clock.Add(time.Hour)
	s.cancelled = s.batch(t, "", seedLines(0, 6))
	s.work(t, nets["after"], 2)
	if err := s.CancelBatch(t.Context(), s.cancelled, "cancelled from the command line"); err != nil {
		t.Fatal(err)
	}
	s.empty = s.batch(t, "Nothing but notes", []store.Line{{Number: 1, Input: "see the other file", Reject: "this is not a URL"}})
	s.clock.Add(20 * time.Hour)
	s.running = s.batch(t, "New listings", seedLines(10, 34))
	s.work(t, nets["after"], 13)
	s.clock.Add(2 * time.Minute)
	page, err := s.Results(t.Context(), store.Filter{Batch: s.after, Outcome: report.OutcomeFailed, Reason: report.ReasonTextConflict}, "", 1)
	if err != nil || len(page.Rows) != 1 {
		t.Fatalf("no failed run among the seeds: %v", err)
	}
	s.failed = page.Rows[0].Run
	return s
}

// written adds what people make in the dashboard.
func (s *seeded) written(t testing.TB) {
	t.Helper()
	v := visit(t, serve(t, Config{Store: s, Write: s, Now: s.clock.Now}))
	res, body := v.upload("new-shops.csv", []byte("url,name,slug,tags\nQuiet-Harbour.example,Quiet Harbour,shop-1,coast\n\u200bnorth-lantern.example,North Lantern,shop-2,coast member\nhttps://river-books.example/agentic.json,,,\nask Anna for the others,,,\nquiet-harbour.example,Quiet Harbour again,shop-9,\nhttp://user:secret@old.example/,,,\n"), "name", "New shops")
	if res.StatusCode != 303 {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	s.draft = store.BatchID(strings.TrimPrefix(res.Header.Get("Location"), "/new/"))
	s.sharedRun = v.shareLink("run", string(s.failed), "days", "30")
	s.sharedView = v.shareLink("batch", string(s.after), "outcome", "failed", "days", "7")
	v.do("/schedules", "name", "Every Monday", "batch", string(s.after), "cron", "30 3 * * 1", "zone", "Europe/Berlin", "jitter", "20", "spread", "12")
	v.do("/schedules", "name", "At rest", "batch", string(s.before), "cron", "@daily", "zone", "UTC")
	list, err := s.Schedules(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%d schedules, %v", len(list), err)
	}
	v.do("/schedules/" + string(list[0].ID) + "/pause")
	s.schedule = list[1].ID
	s.listedBefore, s.listed = directory(t, s.Store, s.clock)
	v.do("/webhooks", "for", forSchedule+string(s.schedule), "url", "https://chat.example/hooks/s3cret?token=s3cret", "on", "finished,regressed", "threshold", "5,2%")
	v.do("/webhooks", "for", forBatch+string(s.running), "url", "https://chat.example/hooks/s3cret", "confirm", "-1")
	v.post("/settings/tokens", "name", "the directory's own site", "scope", "read", "days", "90")
}

func seedLines(from, to int) []store.Line {
	regions := []string{"coast", "hills", "city"}
	var lines []store.Line
	for i := from; i < to; i++ {
		host, label := seedSite(i)
		l := store.Line{Number: int64(i + 2), Input: host, Target: "https://" + host + "/agentic.json", ID: fmt.Sprintf("shop-%03d", i), Label: label, Tags: []string{regions[i%3]}}
		if i%4 == 0 {
			l.Tags = append(l.Tags, "member")
		}
		if i%9 == 5 {
			l.Label = ""
		}
		lines = append(lines, l)
		if i%8 == 3 {
			lines = append(lines, store.Line{Number: int64(1000 + i), Input: "htp:/" + host + " (closed?)", Reject: "its scheme is not https"})
		}
		if i == from+4 { // a second listing of the same site
			l.Number, l.ID, l.Label = int64(500+i), fmt.Sprintf("shop-%03d-b", i), l.Label+" (workshop)"
			lines = append(lines, l)
		}
	}
	return lines
}

func (s *seeded) batch(t testing.TB, name string, lines []store.Line) store.BatchID {
	t.Helper()
	b, err := s.CreateBatch(t.Context(), store.NewBatch{Name: name, Sources: []string{"shops.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddLines(t.Context(), b.ID, lines); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SealBatch(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	return b.ID
}

// work audits up to limit due runs.
func (s *seeded) work(t testing.TB, net *fakenet.Net, limit int) {
	t.Helper()
	a := &audit.Auditor{Client: net.Client(fetch.Config{UserAgent: "agentaudit (+https://audit.example/)"}), Now: s.clock.Now}
	due, err := s.TakeDue(t.Context(), store.ClassSmall, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range due {
		c, err := s.ClaimRun(t.Context(), d.Run, "seed", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		target, err := audit.ParseTarget(c.Target, c.Readme)
		if err != nil {
			t.Fatal(err)
		}
		j, err := a.Audit(t.Context(), audit.Attempt{Target: target, Number: 1, Options: audit.Options{NoAgents: true, Discover: audit.DiscoverNever}})
		if err != nil {
			t.Fatal(err)
		}
		j.Result.FinishedAt = s.clock.Add(700 * time.Millisecond)
		if strings.HasPrefix(c.Target, "https://old-") {
			j.Result.AgentsVerdict, j.Result.Agents = "invalid", []byte(`{"verdict":"invalid","format":"text","checks":[{"id":"unknown-block","severity":"error","file":"/agents.txt","line":4,"detail":"The block is not known.","remedy":"Remove it."}]}`)
			j.Result.Discovery = []byte(`{"reportVersion":"1"}`)
		}
		if err := s.FinishRun(t.Context(), c, j.Result); err != nil {
			t.Fatal(err)
		}
	}
}
