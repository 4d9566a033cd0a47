package discovery

import (
	"context"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/robots"
)

// memo is a cache that never forgets, and knows how long it should have kept
// what it was given last.
type memo struct {
	data map[string][]byte
	ttl  time.Duration
	gets int
}

func (m *memo) Get(_ context.Context, origin string) []byte {
	m.gets++
	return m.data[origin]
}

func (m *memo) Put(_ context.Context, origin string, data []byte, ttl time.Duration) {
	if m.data == nil {
		m.data = map[string][]byte{}
	}
	m.data[origin], m.ttl = data, ttl
}

func linked(robotsTxt answer) *fakeWeb {
	return newWeb(map[string]answer{"/": pageOf(`<a href="/docs/a">a</a><a href="/guide/b">b</a>`), "/docs/a": pageOf("a"), "/guide/b": pageOf("b"),
		"/robots.txt": robotsTxt, "/moved": {body: "User-agent: *\nDisallow: /docs/"}})
}

func TestASecondScanNeedNotAskForRobots(t *testing.T) {
	for name, tc := range map[string]struct {
		robots  answer
		ttl     time.Duration // 0: not kept
		refused string
	}{
		"rules":        {answer{media: "text/plain", body: "User-agent: agentaudit\nDisallow: /*\nAllow: /guide/b$\n\nUser-agent: *\nAllow: /"}, time.Hour, "/docs/a"},
		"no rules":     {answer{body: "Sitemap: /x"}, time.Hour, ""},
		"none":         {answer{status: 404}, time.Hour, ""},
		"moved":        {answer{status: 301, to: "/moved"}, time.Hour, "/docs/a"},
		"elsewhere":    {answer{status: 301, to: "https://other.example/"}, time.Hour, ""},
		"trouble":      {answer{status: 503}, time.Minute, "/docs/a /guide/b"},
		"limited":      {answer{status: 429}, time.Minute, "/docs/a /guide/b"},
		"too large":    {answer{body: strings.Repeat("#", robots.MaxSize+1)}, time.Minute, "/docs/a /guide/b"},
		"out of reach": {answer{err: errReset}, 0, "/docs/a /guide/b"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memo{}
			w := linked(tc.robots)
			first := w.mustScan(t, Options{RobotsCache: m})
			if first.refused() != tc.refused || first.Robots.Cached || m.ttl != tc.ttl {
				t.Fatalf("refused %q, kept for %v; robots %s", first.refused(), m.ttl, asJSON(t, first.Robots))
			}
			w = linked(tc.robots)
			second := w.mustScan(t, Options{RobotsCache: m})
			if asked := w.countOf(site + "/robots.txt"); asked != 0 == (tc.ttl != 0) || second.Robots.Cached != (tc.ttl != 0) {
				t.Errorf("asked %d times, robots %s", asked, asJSON(t, second.Robots))
			}
			// But for that, it says the same.
			second.Robots.Cached, second.Robots.Redirects = false, first.Robots.Redirects
			if got, want := asJSON(t, second), asJSON(t, first); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestWhatACacheShouldNotHoldIsPassedOver(t *testing.T) {
	const nothing = `"observed":{"url":"https://site.example/robots.txt","status":200},"rules":"User-agent: *\nDisallow: /"}`
	for name, tc := range map[string]struct {
		data   string
		cached bool
	}{
		"ours":            {`{"version":1,"agent":"agentaudit",` + nothing, true},
		"of a later form": {`{"version":2,"agent":"agentaudit",` + nothing, false},
		"for another":     {`{"version":1,"agent":"other",` + nothing, false},
		"cut off":         {(`{"version":1,"agent":"agentaudit",` + nothing)[:100], false},
		"no JSON":         {"User-agent: *", false},
		"empty":           {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memo{data: map[string][]byte{site: []byte(tc.data)}}
			w := linked(answer{status: 404})
			r := w.mustScan(t, Options{RobotsCache: m})
			if r.Robots.Cached != tc.cached || (len(r.Robots.Disallowed) > 0) != tc.cached || w.countOf(site+"/robots.txt") == 0 != tc.cached {
				t.Errorf("robots %s, asked for %v", asJSON(t, r.Robots), w.asked)
			}
		})
	}
}

func TestRulesThatAreIgnoredAreNotLookedUp(t *testing.T) {
	m := &memo{}
	if linked(answer{}).mustScan(t, Options{RobotsCache: m, IgnoreRobots: true}); m.gets != 0 || m.data != nil {
		t.Errorf("%d looked up, %d kept", m.gets, len(m.data))
	}
}
