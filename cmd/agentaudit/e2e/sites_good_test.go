//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/idna"

	"agentaudit/audit/report"
	"agentaudit/audit/textindex"
	"agentaudit/fetch/fakenet"
)

// goodSites have all in order, or get it in order while they are audited.
var goodSites = group{report.OutcomeSuccessful, report.ReasonComplete, append([]kind{
	{name: "all in order", bases: "pia"},
	{name: "older form of the index", bases: "pia", set: func(s *setup) { s.p.txt = &file{mediaType: typeText, body: s.p.index(textindex.Legacy)} }},
	{name: "readme.md", bases: "pia", set: func(s *setup) {
		s.p.generate()
		s.p.more["/readme.md"], s.p.readme = s.p.readme, missingFile()
	}},
	{name: "relative links", bases: "pia", set: func(s *setup) {
		s.p.readme = &file{mediaType: typeMarkdown, body: page(linkJSON, linkText, linkSpec, linkDirectory)}
	}},
	{name: "in a folder", bases: "pia", set: func(s *setup) {
		s.p.dir = "/shops/by-the-sea/"
		s.line = "https://" + s.h.name + "/shops/by-the-sea/"
	}},
	{name: "under another name", bases: "pia", set: func(s *setup) {
		s.p.dir, s.p.name = "/.well-known/", "bakery.json"
		s.line = s.h.name + "/.well-known/bakery.json"
	}},
	{name: "spelled in another way", bases: "pia", set: func(s *setup) {
		s.line = "  HTTPS://" + strings.ToUpper(s.h.name) + ":443\\x/../%61gentic.json/../agentic.json#"
	}},
	{name: "with a soft hyphen", bases: "p", set: func(s *setup) { s.line = "\u200bhttps://" + s.h.name + "\u00ad/ " }},
	{name: "outside ASCII", bases: "pia", set: func(s *setup) {
		unicode := fmt.Sprintf("bäckerei-%s", s.h.name)
		ascii, err := idna.Lookup.ToASCII(unicode)
		if err != nil {
			s.t.Fatal(err)
		}
		s.rename(ascii, "https://"+ascii)
		s.line = "https://" + unicode
	}},
	{name: "resources elsewhere", bases: "pi", set: func(s *setup) {
		s.p.resource("mcp", "https://"+s.h.name+"/mcp", "linked")
		s.p.resource("openapi", "https://untouched.example/openapi.json", "retrieved")
		s.p.resource("documentation", "https://private.untouched.example/", "linked")
	}},

	// agents.txt, which changes nothing here.
	{name: "no agents.txt", bases: "pia", agents: "absent"},
	{name: "a good agents.txt", bases: "pia", agents: "valid", set: func(s *setup) { s.p.put("/.well-known/agents.txt", typeText, s.declaration("https")) }},
	{name: "an agents.txt with an open endpoint", bases: "pia", agents: "invalid", set: func(s *setup) { s.p.put("/.well-known/agents.txt", typeText, s.declaration("http")) }},
	{name: "an agents.txt of another format", bases: "p", agents: "other", set: func(s *setup) {
		s.p.put("/agents.txt", typeText, "# Standard: https://agents-txt.com\nProtocols: MCP\n")
	}},
	{name: "an agents.txt elsewhere", bases: "p", agents: "unchecked", set: func(s *setup) {
		s.p.more["/.well-known/agents.txt"] = instead(fakenet.Redirect(301, "https://untouched.example/.well-known/agents.txt"))
	}},
	{name: "an agents.txt that breaks off", bases: "p", agents: "unchecked", conns: unknown, set: func(s *setup) {
		s.p.more["/.well-known/agents.txt"] = instead(fakenet.ResetAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nSpec"))
	}},
	{name: "an agents.txt that leads to itself", bases: "p", agents: "absent", set: func(s *setup) {
		s.p.more["/.well-known/agents.txt"] = instead(fakenet.Redirect(302, "/.well-known/agents.txt"))
	}},

	// Addresses.
	{name: "IPv6 alone", bases: "pia", set: func(s *setup) { s.h.live(s.newV6()) }},
	{name: "both families", bases: "pia", set: func(s *setup) { s.h.live(s.newV6(), s.at()) }},
	{name: "dead IPv6 beside live IPv4", bases: "pia", set: func(s *setup) { s.deadBeside(s.newV6()) }},
	{name: "silent IPv6 beside live IPv4", bases: "pia", set: func(s *setup) {
		silent := s.newV6()
		s.blackHole(silent)
		s.deadBeside(silent)
	}},
	{name: "first of two addresses refuses", bases: "pia", set: func(s *setup) { s.deadBeside(s.newV4()) }},
	{name: "first of two addresses without a route", bases: "p", set: func(s *setup) { s.deadBeside(netip.MustParseAddr("20.64.0.1")) }},
	{name: "hosted with others", bases: "ppppppppiiiiiiii", set: func(s *setup) {
		s.h.live(sharedAddr)
		s.h.latency = 300 * time.Millisecond
	}},
	{name: "an address for a name", bases: "pa", lookups: none, set: func(s *setup) { s.literal(s.newV4()) }},
	{name: "an IPv6 address for a name", bases: "pa", lookups: none, set: func(s *setup) { s.literal(s.newV6()) }},
	{name: "an address in hexadecimal", bases: "p", lookups: none, set: func(s *setup) {
		s.literal(s.newV4())
		a := s.at().As4()
		s.line = fmt.Sprintf("https://0x%02x%02x%02x%02x/", a[0], a[1], a[2], a[3])
	}},

	// DNS.
	{name: "an alias", bases: "pia", set: func(s *setup) { s.alias(fakenet.Answer{}) }},
	{name: "a chain of aliases", bases: "p", set: func(s *setup) { s.alias(fakenet.Answer{}, "a.", "b.", "c.", "d.") }},
	{name: "an alias to be asked for", bases: "p", set: func(s *setup) { s.alias(fakenet.Answer{Partial: true}) }},
	{name: "an answer too long for UDP", bases: "p", lookups: 2, set: func(s *setup) {
		a := s.found()
		a.Truncated = true
		s.answer(a)
	}},
	{name: "AAAA that fails", bases: "p", lookups: unknown, set: func(s *setup) {
		a := s.found()
		a.Failure, a.FailureOf = fakenet.ServFail, "AAAA"
		s.answer(a)
	}},
	{name: "AAAA without answer", bases: "p", lookups: unknown, set: func(s *setup) {
		a := s.found()
		a.Failure, a.FailureOf = fakenet.Silence, "AAAA"
		s.answer(a)
	}},

	// TLS and HTTP.
	{name: "TLS 1.2", bases: "pia", set: func(s *setup) { s.h.maxTLS = 0x0303 }},
	{name: "a connection for each file", bases: "pia", conns: unknown, set: func(s *setup) {
		s.eachFile(func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Connection", "close")
				h.ServeHTTP(w, r)
			})
		})
	}},
	{name: "without lengths", bases: "pia", set: func(s *setup) {
		s.eachFile(func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(&chunking{w}, r)
			})
		})
	}},
	{name: "early hints", bases: "pia", set: func(s *setup) {
		s.eachFile(func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for range 5 {
					w.WriteHeader(http.StatusEarlyHints)
				}
				h.ServeHTTP(w, r)
			})
		})
	}},
	{name: "slow", bases: "pia", set: func(s *setup) { s.h.latency = 700 * time.Millisecond }},
	{name: "one byte after the other", bases: "p", conns: unknown, set: func(s *setup) {
		s.p.generate()
		s.p.json = instead(dripping(s.p.json.body))
	}},

	// Sizes.
	{name: "agentic.json at its limit", bases: "pia", set: func(s *setup) {
		s.p.generate()
		s.p.json.body = padded(s.p.json.body, 65536)
	}},
	{name: "an OpenAPI document at its limit", bases: "ia", set: func(s *setup) {
		limit := 262144
		if s.p.value["type"] == "site" {
			limit = 1048576
		}
		f := s.p.more["/openapi.json"]
		f.body = padded(f.body, limit)
	}},
	{name: "a document at its limit", bases: "pi", set: func(s *setup) { s.p.more["/guide"].body = padded("# Guide", 1048576) }},
}, recovering...)}

// recovering sites fail in passing.
var recovering = []kind{
	{name: "503 once", bases: "pia", attempts: 2, set: once("/agentic.json", fakenet.Text(503, "restarting"))},
	{name: "429 once", bases: "pia", attempts: 2, set: once("/agentic.json", fakenet.Limited(429, "1"))},
	{name: "500 on the index once", bases: "pia", attempts: 2, set: once("/agentic.txt", fakenet.Text(500, "oops"))},
	{name: "502 on the README once", bases: "pia", attempts: 2, set: once("/README.md", fakenet.Text(502, "oops"))},
	{name: "504 on the API once", bases: "ia", attempts: 2, set: once("/openapi.json", fakenet.Text(504, "oops"))},
	{name: "503 twice", bases: "p", attempts: 3, set: func(s *setup) {
		s.p.generate()
		s.p.json = instead(fakenet.OnceThen(2, fakenet.Text(503, "restarting"), static(typeJSON, s.p.json.body)))
	}},
	{name: "reset once", bases: "pia", attempts: 2, conns: unknown, set: once("/agentic.json", fakenet.ResetAfter(""))},
	{name: "cut short once", bases: "pia", attempts: 2, conns: unknown, set: once("/openapi.json", fakenet.WrongLength(100, "{}"))},
	{name: "garbage once", bases: "p", attempts: 2, conns: unknown, set: once("/agentic.json", fakenet.Send("what?\r\n\r\n"))},
	{name: "silent once", bases: "p", attempts: 2, conns: unknown, set: once("/agentic.json", fakenet.Stall(""))},
	{name: "no handshake at first", bases: "p", attempts: 2, set: func(s *setup) { s.h.greets = []fakenet.Greeting{fakenet.HandshakeAlert, nil} }},
	{name: "expired certificate replaced", bases: "pia", attempts: 2, set: func(s *setup) {
		s.h.certs = []fakenet.CertKind{fakenet.ExpiredCert, fakenet.GoodCert}
	}},
	{name: "a name that was missing for a moment", bases: "p", attempts: 2, conns: 1, set: func(s *setup) {
		s.answer(fakenet.Answer{Failure: fakenet.NXDomain}, s.found())
	}},
	// The resolver asks twice by itself.
	{name: "name servers that failed twice", bases: "p", attempts: 2, conns: 1, lookups: 3, set: func(s *setup) {
		failed := fakenet.Answer{Failure: fakenet.ServFail}
		s.answer(failed, failed, s.found())
	}},
	{name: "name servers that failed once", bases: "p", lookups: 2, set: func(s *setup) {
		s.answer(fakenet.Answer{Failure: fakenet.ServFail}, s.found())
	}},
}

// neighbours are publications that share a host, which is visited by one audit
// at a time.
func neighbours(t *testing.T, n *internet) (all []site) {
	t.Helper()
	h := n.host("neighbours.example")
	h.latency = 200 * time.Millisecond
	dirs := []string{"/", "/north/", "/south/", "/south/pole/"}
	for _, dir := range dirs {
		p := newPublication(t, "https://"+h.name, small)
		p.dir, p.value["resources"] = dir, []any{}
		p.document("website", dir+"home", typeHTML, "<!doctype html><title>"+dir+"</title>")
		p.online(h)
		all = append(all, site{
			kind: "neighbours", line: h.name + dir, target: p.url(p.name), outcome: report.OutcomeSuccessful, reason: report.ReasonComplete,
			attempts: 1, conns: len(dirs), lookups: 1, host: h,
		})
	}
	return all
}

// sharedAddr is where a hosting platform has its sites.
var sharedAddr = netip.MustParseAddr("20.15.0.1")

// deadBeside puts an address before the host's own.
func (s *setup) deadBeside(dead netip.Addr) {
	s.h.addrs = []netip.Addr{dead, s.at()}
	s.answer(s.found())
}

// literal makes an address the site's only name.
func (s *setup) literal(a netip.Addr) {
	name := a.String()
	if a.Is6() {
		name = "[" + name + "]"
	}
	s.rename(a.String(), "https://"+name, a)
	s.line = "https://" + name + "/"
}

// rename makes the site anew, at another name.
func (s *setup) rename(name, origin string, addrs ...netip.Addr) {
	s.drop(s.h.name)
	b := plain
	if s.p.value["actions"] != nil {
		b = acting
	}
	s.h = s.host(name, addrs...)
	s.p = newPublication(s.t, origin, b)
}

// alias puts names before the host's addresses; like says how they are given.
func (s *setup) alias(like fakenet.Answer, names ...string) {
	chain := []string{s.h.name}
	for _, n := range append(names, "origin.") {
		chain = append(chain, n+s.h.name)
	}
	for i, name := range chain[:len(chain)-1] {
		like.Alias = chain[i+1]
		s.dns.set(name, like)
	}
	s.dns.set(chain[len(chain)-1], s.found())
}

// eachFile changes how the files of the publication are served.
func (s *setup) eachFile(how func(http.Handler) http.Handler) {
	s.p.generate()
	for _, f := range s.p.files() {
		f.handler = how(static(f.mediaType, f.body))
	}
}

// once answers badly for a file, once.
func once(path string, bad http.Handler) func(s *setup) {
	return func(s *setup) {
		s.p.generate()
		f := s.p.files()[path]
		if f == nil {
			// Only some publications have an API; the others have it at the JSON.
			f = s.p.json
		}
		f.handler = fakenet.OnceThen(1, bad, static(f.mediaType, f.body))
	}
}

// padded fills JSON or text up with blanks.
func padded(s string, size int) string { return s + strings.Repeat(" ", size-len(s)) }

// chunking leaves the length of an answer out.
type chunking struct{ http.ResponseWriter }

func (c *chunking) WriteHeader(status int) {
	c.Header().Del("Content-Length")
	c.ResponseWriter.WriteHeader(status)
	http.NewResponseController(c.ResponseWriter).Flush()
}

// dripping sends a body in two hundred small pieces over two seconds.
func dripping(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", typeJSON)
		const pieces = 200
		for i := range pieces {
			w.Write([]byte(body[len(body)*i/pieces : len(body)*(i+1)/pieces]))
			http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// declaration is an agents.txt whose one endpoint has a scheme.
func (s *setup) declaration(scheme string) string {
	return "Spec-Version: 1.0\nSite-Name: Bakery\nSite-URL: https://" + s.h.name + "\n\nCapability: loaves\n  Endpoint: " + scheme + "://" + s.h.name +
		"/loaves\n  Protocol: REST\n  Method: GET\n  Description: All loaves\n\nAllow: /\n\nAgent: *\n"
}
