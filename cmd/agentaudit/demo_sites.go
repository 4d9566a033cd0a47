package main

import (
	"net/http"
	"strings"

	"agentaudit/audit/report"
	"agentaudit/audit/textindex"
	"agentaudit/fetch/fakenet"
)

// demoSite is one site of the demo: where it is, what is the matter with it,
// and what an audit must find. The tests hold the demo against its promises.
type demoSite struct {
	host    string
	about   string
	outcome report.Outcome
	reason  report.Reason
	build   func(n *fakenet.Net, host string)
}

// published is a site that publishes p, changed by its story.
func published(p func(host string) *showcase, story func(p *showcase)) func(*fakenet.Net, string) {
	return func(n *fakenet.Net, host string) {
		pub := p(host)
		if story != nil {
			story(pub)
		}
		pub.online(n.Site(host))
	}
}

// manner is a site that has nothing but bad manners.
func manner(set func(s *fakenet.Site)) func(*fakenet.Net, string) {
	return func(n *fakenet.Net, host string) { set(n.Site(host)) }
}

func ferry(host string) *showcase {
	return newSite(host, "Harbour Ferries", "Sailing times and seat bookings of a small island ferry line.",
		"GET /sailings listSailings", "POST /bookings createBooking")
}

func library(host string) *showcase {
	return newSite(host, "Lantern Library", "Opening hours, catalogue search and reservations of a town library.")
}

func helpdesk(host string) *showcase { return newAction(host, "create-ticket", "ticket") }

// with changes a publication that is right otherwise.
func with(base func(string) *showcase, change func(p *showcase)) func(*fakenet.Net, string) {
	return published(base, change)
}

// demoSites lists the sites, the good ones first.
func demoSites() []demoSite {
	return []demoSite{
		{"ferries.example", "a site profile with an API, all in order", report.OutcomeSuccessful, report.ReasonComplete, published(ferry, nil)},
		{"library.example", "a site without an API, all in order", report.OutcomeSuccessful, report.ReasonComplete, published(library, nil)},
		{"helpdesk.example", "an action profile with its OpenAPI document", report.OutcomeSuccessful, report.ReasonComplete, published(helpdesk, nil)},
		{"xn--fhre-loa.example", "a host name outside ASCII (fähre.example)", report.OutcomeSuccessful, report.ReasonComplete, published(ferry, nil)},
		{"legacy.example", "the older form of agentic.txt is fine too", report.OutcomeSuccessful, report.ReasonComplete,
			with(ferry, func(p *showcase) { p.text = p.index(textindex.Legacy) })},
		{"tools.example", "an MCP server that is listed and not invoked", report.OutcomeSuccessful, report.ReasonComplete,
			with(library, func(p *showcase) { p.resource("mcp", "https://mcp.tools.example/mcp", "linked") })},
		{"lower.example", "a README that is called readme.md", report.OutcomeSuccessful, report.ReasonComplete,
			with(library, func(p *showcase) {
				p.generate()
				p.gone[fileReadme] = true
				p.files["/readme.md"] = file{"text/markdown", p.readme}
			})},
		{"flaky.example", "a server that fails once and then answers", report.OutcomeSuccessful, report.ReasonComplete, flaky},
		{"busy.example", "a server that asks to come back in a second", report.OutcomeSuccessful, report.ReasonComplete, busy},

		{"notxt.example", "agentic.txt is missing", report.OutcomePartial, report.ReasonIncomplete,
			with(ferry, func(p *showcase) { p.gone[fileText] = true })},
		{"noreadme.example", "README.md is missing", report.OutcomePartial, report.ReasonIncomplete,
			with(ferry, func(p *showcase) { p.gone[fileReadme] = true })},
		{"nolinks.example", "a README without the links to the two projects", report.OutcomePartial, report.ReasonIncomplete,
			with(library, func(p *showcase) {
				p.readme = p.page("[agentic.json](agentic.json)", "[agentic.txt](agentic.txt)")
			})},
		{"mediatype.example", "agentic.json served as text/plain", report.OutcomePartial, report.ReasonIncomplete,
			with(library, func(p *showcase) { p.types[fileJSON] = "text/plain" })},
		{"untyped.example", "agentic.txt served without a media type", report.OutcomePartial, report.ReasonIncomplete,
			with(library, func(p *showcase) { p.types[fileText] = "" })},
		{"webpage.example", "an HTML page where the README should be", report.OutcomePartial, report.ReasonIncomplete,
			with(library, func(p *showcase) {
				p.readme, p.types[fileReadme] = "<!doctype html><title>Lantern Library</title>", "text/html"
			})},
		{"manydocs.example", "more documents than one audit reads", report.OutcomePartial, report.ReasonIncomplete,
			with(library, func(p *showcase) {
				for _, path := range []string{"/a.md", "/b.md", "/c.md", "/d.md"} {
					p.document("documentation", path, "text/markdown", "# "+path)
				}
			})},

		{"nothing.example", "pages and an API, but nothing for agents", report.OutcomeFailed, report.ReasonMissingProfile,
			with(ferry, func(p *showcase) { p.gone = map[string]bool{fileJSON: true, fileText: true, fileReadme: true} })},
		{"app.example", "the same web page at every address", report.OutcomeFailed, report.ReasonMissingProfile,
			manner(func(s *fakenet.Site) {
				s.Handle(answering(http.StatusOK, "text/html", "<!doctype html><title>App</title><div id=root></div>"))
			})},
		{"moved.example", "agentic.json redirects to www", report.OutcomeFailed, report.ReasonRedirected,
			manner(func(s *fakenet.Site) { s.Handle(fakenet.Redirect(301, "https://www.moved.example/agentic.json")) })},
		{"zipped.example", "compressed although nobody asked", report.OutcomeFailed, report.ReasonRefused,
			manner(func(s *fakenet.Site) { s.Path("/agentic.json", fakenet.Encoded("gzip", "\x1f\x8b")) })},
		{"huge.example", "an agentic.json of more than 64 KiB", report.OutcomeFailed, report.ReasonRefused,
			with(library, func(p *showcase) { p.json = `{"agentic":"1.1.0","pad":"` + strings.Repeat("x", 65536) + `"}` })},
		{"intranet.example", "a name that leads into a private network", report.OutcomeFailed, report.ReasonRefused,
			manner(func(s *fakenet.Site) { s.DNS(fakenet.Addresses("10.0.0.7")) })},
		{"typo.example", "agentic.json with a comma too many", report.OutcomeFailed, report.ReasonInvalidProfile,
			with(library, func(p *showcase) { p.json = strings.Replace(text(p.profile), "\n}", ",\n}", 1) })},
		{"twice.example", "a member that stands twice", report.OutcomeFailed, report.ReasonInvalidProfile,
			with(library, func(p *showcase) {
				p.json = strings.Replace(text(p.profile), `"type": "site"`, "\"name\": \"Old name\",\n  \"type\": \"site\"", 1)
			})},
		{"schema.example", "a resource without an availability", report.OutcomeFailed, report.ReasonInvalidProfile,
			with(library, func(p *showcase) { delete(p.profile["resources"].([]any)[0].(map[string]any), "availability") })},
		{"copied.example", "a profile copied from another site", report.OutcomeFailed, report.ReasonInvalidProfile,
			with(library, func(p *showcase) { p.json = text(library("library.example").profile) })},
		{"sixapis.example", "actions bound to six OpenAPI documents", report.OutcomeFailed, report.ReasonInvalidProfile,
			with(helpdesk, func(p *showcase) {
				var actions []any
				for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
					actions = append(actions, ticketAction(n, "/"+n+".json", "ticket"))
				}
				p.profile["actions"] = actions
			})},
		{"renamed.example", "an operation that was renamed in the API", report.OutcomeFailed, report.ReasonAPIMismatch,
			with(ferry, func(p *showcase) {
				p.files["/openapi.json"] = file{"application/json", strings.Replace(p.files["/openapi.json"].body, "listSailings", "getSailings", 1)}
			})},
		{"noapi.example", "an OpenAPI document that is gone", report.OutcomeFailed, report.ReasonAPIMismatch,
			with(helpdesk, func(p *showcase) { delete(p.files, "/openapi.json") })},
		{"optional.example", "an Idempotency-Key that is not required", report.OutcomeFailed, report.ReasonAPIMismatch,
			with(helpdesk, func(p *showcase) {
				p.files["/openapi.json"] = file{"application/json", ticketAPI("ticket", false)}
			})},
		{"lostdocs.example", "a documentation page that is gone", report.OutcomeFailed, report.ReasonBrokenDocument,
			with(library, func(p *showcase) { delete(p.files, "/docs") })},
		{"stale.example", "agentic.txt of an older profile", report.OutcomeFailed, report.ReasonTextConflict,
			with(ferry, func(p *showcase) {
				p.text = strings.Replace(p.index(textindex.Publication), "Harbour Ferries", "Harbor Ferries", 1)
			})},
		{"windows.example", "agentic.txt with CRLF line ends", report.OutcomeFailed, report.ReasonTextConflict,
			with(library, func(p *showcase) { p.text = strings.ReplaceAll(p.index(textindex.Publication), "\n", "\r\n") })},
		{"wronglink.example", "a README that links to another site's files", report.OutcomeFailed, report.ReasonReadmeConflict,
			with(library, func(p *showcase) {
				p.readme = p.page("[agentic.json](https://library.example/agentic.json)", "[agentic.txt](https://library.example/agentic.txt)", "[Agentic](https://ruagentic.org)", "[RUAGENTIC](https://ruagentic.com)")
			})},
		{"expired.example", "a certificate that has expired", report.OutcomeFailed, report.ReasonBadCertificate,
			manner(func(s *fakenet.Site) { s.Certificate(fakenet.ExpiredCert) })},
		{"nobody.example", "a name that does not exist", report.OutcomeFailed, report.ReasonNoSuchHost,
			manner(func(s *fakenet.Site) { s.DNS(fakenet.Answer{Failure: fakenet.NXDomain}) })},
		{"teapot.example", "an answer that means nothing here", report.OutcomeFailed, report.ReasonUnexpectedStatus,
			manner(func(s *fakenet.Site) { s.Handle(answering(http.StatusTeapot, "text/plain", "short and stout")) })},

		{"wall.example", "a bot wall's challenge", report.OutcomeUnchecked, report.ReasonBlocked,
			manner(func(s *fakenet.Site) { s.Handle(fakenet.Challenge(403)) })},
		{"login.example", "a login in front of everything", report.OutcomeUnchecked, report.ReasonBlocked,
			manner(func(s *fakenet.Site) { s.Handle(answering(http.StatusUnauthorized, "text/plain", "who are you?")) })},
		{"broken.example", "a server that always fails", report.OutcomeUnchecked, report.ReasonServerError,
			manner(func(s *fakenet.Site) { s.Handle(answering(http.StatusBadGateway, "text/plain", "")) })},
		{"silent.example", "a server that never answers", report.OutcomeUnchecked, report.ReasonUnreachable,
			manner(func(s *fakenet.Site) { s.Handle(fakenet.Stall("")) })},
		{"closed.example", "a server that refuses connections", report.OutcomeUnchecked, report.ReasonUnreachable, closedPort},
		{"nodns.example", "name servers that fail", report.OutcomeUnchecked, report.ReasonUnreachable,
			manner(func(s *fakenet.Site) { s.DNS(fakenet.Answer{Failure: fakenet.ServFail}) })},
	}
}

func answering(status int, contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// flaky fails the first request for the profile with 503.
func flaky(n *fakenet.Net, host string) {
	p := library(host)
	p.generate()
	s := n.Site(host)
	p.online(s)
	s.Path("/agentic.json", fakenet.OnceThen(1, answering(http.StatusServiceUnavailable, "text/plain", "restarting"), answering(http.StatusOK, "application/json", p.json)))
}

// busy asks the first visitor to come back in a second.
func busy(n *fakenet.Net, host string) {
	p := library(host)
	p.generate()
	s := n.Site(host)
	p.online(s)
	s.Path("/agentic.json", fakenet.OnceThen(1, fakenet.Limited(http.StatusTooManyRequests, "1"), answering(http.StatusOK, "application/json", p.json)))
}

func closedPort(n *fakenet.Net, host string) {
	s := n.Site(host)
	n.Address(s.Address().String(), fakenet.RefuseConnect)
}

// demoList is the list that the demo audits: all sites, with the odd lines
// that lists have.
func demoList() string {
	var b strings.Builder
	b.WriteString("# The sites of the demo. Every line that is not a comment gets a row or a reason.\n")
	for _, s := range demoSites() {
		b.WriteString(s.host + "\n")
	}
	b.WriteString("\nhttps://ferries.example/agentic.json\nhttps://LIBRARY.example\nfähre.example\n")
	b.WriteString("ftp://files.example/agentic.json\nhttps://shop.example/?utm_source=list\nhttps://anna:secret@shop.example/\nnot a site\nhttps://{tenant}.example/\n")
	return b.String()
}
