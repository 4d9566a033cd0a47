//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/fetch/fakenet"
)

// The bounds of a scan, whatever a site answers (specification section 8).
const (
	scanRequests = 22
	scanBytes    = 8 << 20
	scanTime     = 45 * time.Second
	// For each robots.txt (RFC 9309, section 2.3.1.2).
	robotsRedirects = 5
)

// scanned is a hostile site and what its scan cost.
type scanned struct {
	name string
	h    *host
	twin *host // its www twin, nil for none
	sent atomic.Int64
	// open sites send more than is ever read: their count is the kernel's.
	open bool
}

// page is an answer with a page of links, counted.
func (s *scanned) page(links ...string) http.Handler {
	var b strings.Builder
	b.WriteString("<!doctype html><title>x</title>")
	for _, l := range links {
		fmt.Fprintf(&b, "<a href=%q>d</a>", l)
	}
	return s.body(typeHTML, b.String())
}

func (s *scanned) body(contentType, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		n, _ := io.WriteString(w, text)
		s.sent.Add(int64(n))
	})
}

// numbered is links to n pages.
func numbered(format string, n int) (links []string) {
	for i := range n {
		links = append(links, fmt.Sprintf(format, i))
	}
	return links
}

// at answers for some paths, and with rest for all others.
func at(rest http.Handler, paths map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := paths[r.URL.Path]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// onward redirects every path to one that was never seen.
func onward(to func(n int64) string) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to(n.Add(1)), http.StatusFound)
	})
}

const mebibyte = 1 << 20

func filled(head, unit string) string {
	return head + strings.Repeat(unit, (mebibyte-len(head))/len(unit))
}

var elsewhere = []string{
	"https://untouched.example/docs", "https://www.untouched.example/llms.txt", "https://10.0.0.1/docs", "https://169.254.169.254/docs/latest",
	"https://[::1]/docs", "//untouched.example/openapi.json", "https://localhost/docs", "https://docs.HOST/", "https://HOST:8443/docs",
	"http://HOST/docs", "https://HOST@untouched.example/docs", "https://untouched.example/agentic.json", "ftp://HOST/docs",
}

// hostileSites make a scan as expensive as they can, or lead it elsewhere.
var hostileSites = map[string]func(s *scanned) http.Handler{
	"links without end": func(s *scanned) http.Handler { return s.page(numbered("/docs/%d", 3000)...) },
	"large pages": func(s *scanned) http.Handler {
		return at(s.body(typeHTML, filled("<title>x</title>"+strings.Join(numbered("<a href=/docs/%d>d</a>", 60), ""), "<p>x")), nil)
	},
	"large APIs": func(s *scanned) http.Handler {
		doc := filled(`{"openapi":"3.1.0","paths":{"/a":{"get":{}}},"x":[`, "1,") // cut off, and then not
		whole := doc[:len(doc)-3] + "1]}"
		return at(s.body(typeJSON, whole), map[string]http.Handler{"/": s.page(numbered("/v%d/openapi.json", 40)...)})
	},
	"bodies without end": func(s *scanned) http.Handler {
		s.open = true
		return at(fakenet.EndlessBody(typeHTML), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...)})
	},
	"headers without end": func(s *scanned) http.Handler {
		return at(fakenet.HeaderFlood(), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...)})
	},
	"redirects without end": func(s *scanned) http.Handler {
		return at(onward(func(n int64) string { return fmt.Sprintf("/docs/moved-%d", n) }), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...)})
	},
	"redirects elsewhere": func(s *scanned) http.Handler {
		return at(onward(func(n int64) string {
			return strings.ReplaceAll(elsewhere[n%int64(len(elsewhere))], "HOST", s.h.name)
		}), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...)})
	},
	"links elsewhere": func(s *scanned) http.Handler {
		links := strings.Split(strings.ReplaceAll(strings.Join(elsewhere, "\n"), "HOST", s.h.name), "\n")
		page := s.page(links...)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, l := range links {
				w.Header().Add("Link", "<"+l+">; rel=service-desc")
			}
			page.ServeHTTP(w, r)
		})
	},
	"a base elsewhere": func(s *scanned) http.Handler {
		return at(http.NotFoundHandler(), map[string]http.Handler{"/": s.body(typeHTML, `<base href="https://untouched.example/"><a href="docs/a">Documentation</a>`)})
	},
	"an API elsewhere": func(s *scanned) http.Handler {
		profile := strings.ReplaceAll(indent(map[string]any{"agentic": "1.0.0", "origin": "https://" + s.h.name, "actions": []any{order("a", "//untouched.example/openapi.json")}}), "\\u0026", "&")
		return at(http.NotFoundHandler(), map[string]http.Handler{"/": s.page(), "/agentic.json": s.body(typeJSON, profile)})
	},
	"to the twin and back": func(s *scanned) http.Handler {
		s.twin = s.h.net.host("www." + s.h.name)
		s.twin.whole = onward(func(n int64) string { return fmt.Sprintf("https://%s/docs/back-%d", s.h.name, n) })
		return at(onward(func(n int64) string { return fmt.Sprintf("https://www.%s/docs/there-%d", s.h.name, n) }), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...)})
	},
	"silence": func(s *scanned) http.Handler {
		return at(fakenet.Stall(""), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...)})
	},
	"slow answers": func(s *scanned) http.Handler {
		s.h.latency = 5 * time.Second
		return s.page(numbered("/docs/%d", 60)...)
	},
	"drops of bodies": func(s *scanned) http.Handler {
		s.open = true
		return at(fakenet.Drip("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n", "x", 200*time.Millisecond), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...)})
	},
	"robots.txt without end": func(s *scanned) http.Handler {
		s.open = true
		return at(s.page(), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...), "/robots.txt": fakenet.EndlessBody("text/plain")})
	},
	"robots.txt that redirects": func(s *scanned) http.Handler {
		return at(s.page(), map[string]http.Handler{"/": s.page(numbered("/docs/%d", 60)...), "/robots.txt": fakenet.Redirect(301, "https://untouched.example/robots.txt")})
	},
	"open tags": func(s *scanned) http.Handler {
		return s.body(typeHTML, filled("<a href=/docs/a>", "<a href=/docs/b><table>"))
	},
	"brackets":   func(s *scanned) http.Handler { return s.body("text/markdown", filled("# x\n", "](")) },
	"a deep API": func(s *scanned) http.Handler { return s.body(typeJSON, filled(`{"openapi":"3.1.0","paths":`, "[")) },
}

// TestScan lets hostile sites do what they can, all at the same time.
func TestScan(t *testing.T) {
	inside(t)
	n := newInternet(t)
	n.host("untouched.example")
	n.host("www.untouched.example")
	var sites []*scanned
	for name, make := range hostileSites {
		s := &scanned{name: name, h: n.host(fmt.Sprintf("scan%d.example", len(sites)))}
		n.host("docs." + s.h.name)
		s.h.whole = make(s)
		sites = append(sites, s)
	}
	var wg sync.WaitGroup
	for _, s := range sites {
		wg.Go(func() { n.scan(s) })
	}
	wg.Wait()
	listed := map[*host]bool{}
	var names []string
	for _, s := range sites {
		listed[s.h] = true
		names = append(names, s.h.name)
		if s.twin != nil {
			listed[s.twin] = true
			names = append(names, s.twin.name)
		}
	}
	for name, h := range n.hosts {
		if b := h.books(); !listed[h] && b.hellos > 0 {
			t.Errorf("%s got %d connections", name, b.hellos)
		}
	}
	for _, name := range n.dns.names() {
		if !slices.Contains(names, name) {
			t.Errorf("somebody asked for %s", name)
		}
	}
	for _, fault := range n.faults(listed) {
		t.Error(fault)
	}
}

// scan scans one site and holds what it saw against the bounds.
func (n *internet) scan(s *scanned) {
	started := time.Now()
	code, out, errs := n.run("discover", s.h.name, "--json")
	took := time.Since(started)
	var r struct {
		Requests, Bytes, BudgetUsed int64
		Files                       map[string]string
		Robots                      struct{ Redirects int }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r.Files) != 4 {
		n.t.Errorf("%s: exit code %d, %d files, %v\n%s", s.name, code, len(r.Files), err, errs)
	}
	requests, robots := 0, 0
	for _, h := range []*host{s.h, s.twin} {
		if h == nil {
			continue
		}
		for path, times := range h.books().requests {
			if path == "/robots.txt" {
				robots += times
				continue
			}
			requests += times
		}
	}
	n.t.Logf("%-26s %2d requests, %8d bytes, %s", s.name, requests, s.sent.Load(), took.Round(time.Millisecond))
	// Where robots.txt redirects to looks like any other document from here.
	requests -= r.Robots.Redirects
	if requests > scanRequests || robots > 1 && (robots > 2 || s.twin == nil) || r.Robots.Redirects > robots*robotsRedirects || r.Requests != int64(requests) {
		n.t.Errorf("%s: %d requests (%d told) and %d for robots.txt with %d redirects", s.name, requests, r.Requests, robots, r.Robots.Redirects)
	}
	// The last document may be cut off when all of it is on its way.
	if sent := s.sent.Load(); sent > scanBytes+mebibyte && !s.open || r.Bytes > scanBytes || r.BudgetUsed > scanBytes {
		n.t.Errorf("%s: %d bytes of bodies, %d told, %d of the allowance", s.name, sent, r.Bytes, r.BudgetUsed)
	}
	if took > scanTime {
		n.t.Errorf("%s: it took %s", s.name, took)
	}
}
