//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"strings"

	"agentaudit/audit/report"
	"agentaudit/audit/textindex"
	"agentaudit/fetch/fakenet"
)

// badSites publish something that is not complete or not right.
var badSites = []group{
	{report.OutcomePartial, report.ReasonIncomplete, []kind{
		{name: "no index", bases: "pia", detail: "agentic.txt", set: withText(missingFile())},
		{name: "no README", bases: "pia", detail: "README.md", set: withReadme(missingFile())},
		{name: "nothing but the JSON", bases: "p", set: func(s *setup) { s.p.txt, s.p.readme = missingFile(), missingFile() }},
		{name: "README without the project's links", bases: "pia", set: withReadme(&file{mediaType: typeMarkdown, body: page(linkJSON, linkText)})},
		{name: "README without links to the files", bases: "p", set: withReadme(&file{mediaType: typeMarkdown, body: page(linkSpec, linkDirectory)})},
		{name: "README that is a page", bases: "pi", set: withReadme(&file{mediaType: typeHTML, body: "<!doctype html><title>Bakery</title><p>Welcome to our bakery by the sea"})},
		{name: "README of one word", bases: "p", set: withReadme(&file{mediaType: typeMarkdown, body: "# Bakery"})},
		{name: "JSON as text", bases: "pia", set: mediaType("agentic.json", "text/plain")},
		{name: "index as binary", bases: "pia", set: mediaType("agentic.txt", "application/octet-stream")},
		{name: "index without a type", bases: "p", set: mediaType("agentic.txt", "")},
		{name: "more documents than are read", bases: "p", set: func(s *setup) {
			for i := range 5 {
				s.p.document("documentation", fmt.Sprintf("/more-%d.md", i), typeMarkdown, "# More")
			}
		}},
		{name: "index behind a login", bases: "p", set: withText(instead(fakenet.Text(401, "who?")))},
		{name: "index moved", bases: "pa", set: withText(instead(fakenet.Redirect(302, "/other.txt")))},
		{name: "index too large", bases: "p", conns: unknown, set: withText(&file{mediaType: typeText, body: strings.Repeat("x", 65537)})},
		{name: "index compressed", bases: "p", set: withText(instead(fakenet.Encoded("gzip", "\x1f\x8b")))},
		{name: "README compressed", bases: "p", set: withReadme(instead(fakenet.Encoded("br", "\x0b")))},
		{name: "index that always fails", bases: "pi", attempts: 3, set: withText(instead(fakenet.Text(500, "oops")))},
		{name: "README that is never there", bases: "p", attempts: 3, conns: unknown, set: withReadme(instead(fakenet.Stall("")))},
	}},
	{report.OutcomeFailed, report.ReasonMissingProfile, []kind{
		{name: "nothing at all"},
		{name: "all but the JSON", bases: "pia", set: withJSON(missingFile())},
		{name: "JSON gone", bases: "p", set: withJSON(instead(fakenet.Text(410, "gone")))},
		{name: "a page at every address", set: whole(static(typeHTML, "<!doctype html><title>App</title><div id=root></div>"))},
		{name: "a large page at every address", conns: unknown, set: whole(static(typeHTML, "<!doctype html>"+strings.Repeat("<p>App", 20000)))},
		{name: "a page that says it is JSON", bases: "p", set: withJSON(&file{mediaType: typeJSON, body: "<html><body>Not found</body></html>"})},
		{name: "a compressed page", bases: "p", set: withJSON(instead(fakenet.Reply(200, http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}}, "\x1f\x8b")))},
	}},
	{report.OutcomeFailed, report.ReasonRedirected, []kind{
		{name: "to www", detail: "301", set: whole(fakenet.Redirect(301, "https://www.untouched.example/agentic.json"))},
		{name: "to plain http", detail: "302", set: whole(fakenet.Redirect(302, "http://untouched.example/agentic.json"))},
		{name: "to a private address", detail: "303", set: whole(fakenet.Redirect(303, "https://192.168.0.1/agentic.json"))},
		{name: "to metadata", detail: "307", set: whole(fakenet.Redirect(307, "http://169.254.169.254/latest/meta-data/"))},
		{name: "to itself", bases: "p", detail: "308", set: withJSON(instead(fakenet.Redirect(308, "agentic.json")))},
		{name: "to nowhere", detail: "304", set: whole(fakenet.Redirect(304, ""))},
		{name: "choices", detail: "300", set: whole(fakenet.Redirect(300, "/other"))},
		{name: "to another port", bases: "pia", set: withJSON(instead(fakenet.Redirect(301, "https://untouched.example:8443/agentic.json")))},
	}},
	{report.OutcomeFailed, report.ReasonRefused, []kind{
		{name: "one byte too many", bases: "pia", conns: unknown, detail: "65,536", set: func(s *setup) {
			s.p.generate()
			s.p.json.body = padded(s.p.json.body, 65537)
		}},
		{name: "endless", conns: unknown, set: whole(fakenet.EndlessBody(typeJSON))},
		{name: "endless header", conns: unknown, set: whole(fakenet.HeaderFlood())},
		{name: "gzip", bases: "pia", detail: "gzip", set: withJSON(instead(fakenet.Encoded("gzip", "\x1f\x8b")))},
		{name: "zstd", bases: "p", detail: "zstd", set: withJSON(instead(fakenet.Encoded("zstd", "x")))},
	}},
	{report.OutcomeFailed, report.ReasonInvalidProfile, []kind{
		{name: "a comma too many", bases: "pia", set: edited("json", func(s string) string { return strings.Replace(s, "\n}", ",\n}", 1) })},
		{name: "cut off", bases: "p", set: edited("json", func(s string) string { return s[:len(s)/2] })},
		{name: "a member twice", bases: "pia", set: edited("json", func(s string) string { return strings.Replace(s, "{\n", "{\n  \"origin\": \"x\",\n", 1) })},
		{name: "a member that is unknown", bases: "pia", set: edited("json", func(s string) string { return strings.Replace(s, "{\n", "{\n  \"colour\": \"blue\",\n", 1) })},
		{name: "a byte order mark", bases: "pia", set: edited("json", func(s string) string { return "\ufeff" + s })},
		{name: "nothing in it", bases: "p", set: edited("json", func(string) string { return "" })},
		{name: "a list", bases: "p", set: edited("json", func(s string) string { return "[" + s + "]" })},
		{name: "deeper than allowed", bases: "p", set: edited("json", func(string) string { return strings.Repeat("[", 20000) + strings.Repeat("]", 20000) })},
		{name: "another version", bases: "pia", set: edited("json", func(s string) string { return strings.Replace(s, `"agentic": "1.`, `"agentic": "7.`, 1) })},
		{name: "another site's", bases: "pia", detail: "speaks for", set: edited("json", func(s string) string {
			return strings.ReplaceAll(strings.ReplaceAll(s, "https://s", "https://copied-from-s"), "https://copied-from-schemas", "https://schemas")
		})},
		{name: "a resource inside", bases: "pi", set: edited("json", func(s string) string { return strings.Replace(s, "/guide", "@192.168.0.1/guide", 1) })},
		{name: "six APIs", bases: "a", set: func(s *setup) {
			var actions []any
			for i := range 6 {
				actions = append(actions, order(fmt.Sprintf("order-%d", i), fmt.Sprintf("/api-%d.json", i)))
			}
			s.p.generate()
			s.p.value["actions"] = actions
			s.p.json.body = indent(s.p.value)
		}},
		{name: "an API elsewhere", bases: "a", set: edited("json", func(s string) string {
			return strings.Replace(s, `"/openapi.json"`, `"//untouched.example/openapi.json"`, 1)
		})},
	}},
	{report.OutcomeFailed, report.ReasonAPIMismatch, []kind{
		{name: "API gone", bases: "ia", detail: "/openapi.json", set: withAPI(missingFile())},
		{name: "API moved", bases: "ia", set: withAPI(instead(fakenet.Redirect(301, "https://10.0.0.8/openapi.json")))},
		{name: "API is a page", bases: "ia", set: withAPI(&file{mediaType: typeHTML, body: "<!doctype html><title>Docs</title>"})},
		{name: "API is no JSON", bases: "ia", set: withAPI(&file{mediaType: "application/yaml", body: "openapi: 3.1.0\npaths: {}\n"})},
		{name: "API of another kind", bases: "ia", set: withAPI(&file{mediaType: typeJSON, body: `{"swagger":"2.0","paths":{}}`})},
		{name: "API too large", bases: "ia", conns: unknown, set: withAPI(&file{mediaType: typeJSON, body: strings.Repeat(" ", 1048577)})},
		{name: "API compressed", bases: "ia", set: withAPI(instead(fakenet.Encoded("gzip", "\x1f\x8b")))},
		{name: "API without its paths", bases: "ia", set: withAPI(&file{mediaType: typeJSON, body: `{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{}}`})},
		{name: "operation renamed", bases: "ia", set: func(s *setup) {
			f := s.p.more["/openapi.json"]
			f.body = strings.NewReplacer("listLoaves", "allLoaves", "readOrder", "showOrder").Replace(f.body)
		}},
		{name: "key not required", bases: "a", detail: "Idempotency-Key", set: func(s *setup) {
			f := s.p.more["/openapi.json"]
			f.body = strings.ReplaceAll(f.body, `"required": true`, `"required": false`)
		}},
		{name: "servers elsewhere", bases: "a", set: func(s *setup) {
			f := s.p.more["/openapi.json"]
			f.body = strings.Replace(f.body, "{\n", "{\n  \"servers\": [{\"url\": \"https://10.0.0.9/\"}],\n", 1)
		}},
	}},
	{report.OutcomeFailed, report.ReasonBrokenDocument, []kind{
		{name: "document gone", bases: "pi", set: withGuide(missingFile())},
		{name: "document moved", bases: "pi", set: withGuide(instead(fakenet.Redirect(308, "/guide/")))},
		{name: "document too large", bases: "p", conns: unknown, set: withGuide(&file{mediaType: typeMarkdown, body: strings.Repeat("x", 1048577)})},
		{name: "document compressed", bases: "p", set: withGuide(instead(fakenet.Encoded("deflate", "x")))},
	}},
	{report.OutcomeFailed, report.ReasonTextConflict, []kind{
		{name: "older index", bases: "pia", set: edited("txt", func(s string) string { return strings.Replace(s, "e", "E", 1) })},
		{name: "CRLF", bases: "pia", detail: "CR", set: edited("txt", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") })},
		{name: "index with a byte order mark", bases: "p", set: edited("txt", func(s string) string { return "\ufeff" + s })},
		{name: "no final newline", bases: "p", set: edited("txt", func(s string) string { return strings.TrimSuffix(s, "\n") })},
		{name: "index of another place", bases: "pia", set: func(s *setup) {
			s.p.dir = "/elsewhere/"
			s.p.txt = &file{mediaType: typeText, body: s.p.index(textindex.Publication)}
			s.p.dir = "/"
		}},
		{name: "a page for an index", bases: "p", set: withText(&file{mediaType: typeHTML, body: "<!doctype html><title>Bakery</title>"})},
	}},
	{report.OutcomeFailed, report.ReasonReadmeConflict, []kind{
		{name: "README of another site", bases: "pia", set: withReadme(&file{mediaType: typeMarkdown,
			body: page("[agentic.json](https://untouched.example/agentic.json)", "[agentic.txt](https://untouched.example/agentic.txt)", linkSpec, linkDirectory)})},
		{name: "README that links inside", bases: "p", set: withReadme(&file{mediaType: typeMarkdown, body: page("[agentic.json](https://10.0.0.4/agentic.json)", linkText)})},
	}},
	{report.OutcomeFailed, report.ReasonBadCertificate, []kind{
		{name: "expired", bases: "p", attempts: 2, detail: "expired", set: certificates(fakenet.ExpiredCert)},
		{name: "not valid yet", bases: "p", attempts: 2, set: certificates(fakenet.EarlyCert)},
		{name: "for another host", bases: "pa", attempts: 2, set: certificates(fakenet.WrongHostCert)},
		{name: "self-signed", bases: "p", attempts: 2, set: certificates(fakenet.SelfSignedCert)},
		{name: "unknown issuer", bases: "p", attempts: 2, set: certificates(fakenet.UnknownIssuerCert)},
		{name: "good certificate replaced", bases: "p", attempts: 3, set: func(s *setup) {
			s.h.certs = []fakenet.CertKind{fakenet.GoodCert, fakenet.ExpiredCert}
			s.p.generate()
			s.p.json = instead(fakenet.Text(503, "moving"))
		}},
	}},
	{report.OutcomeFailed, report.ReasonUnexpectedStatus, []kind{
		{name: "teapot", bases: "pa", detail: "418", set: withJSON(instead(fakenet.Text(418, "short and stout")))},
		{name: "bad request", detail: "400", set: whole(fakenet.Text(400, "what?"))},
		{name: "accepted", detail: "202", set: whole(fakenet.Text(202, "later"))},
		{name: "no content", detail: "204", set: whole(fakenet.Reply(204, nil, ""))},
		{name: "partial content", detail: "206", set: whole(fakenet.Text(206, "{"))},
		{name: "misdirected", detail: "421", set: whole(fakenet.Text(421, "not here"))},
	}},
	{report.OutcomeUnchecked, report.ReasonBlocked, []kind{
		{name: "login", detail: "401", set: whole(fakenet.Text(401, "who?"))},
		{name: "forbidden", bases: "pia", detail: "403", set: withJSON(instead(fakenet.Text(403, "no")))},
		{name: "for legal reasons", detail: "451", set: whole(fakenet.Text(451, "no"))},
		{name: "a challenge", detail: "challenge", set: whole(fakenet.Challenge(403))},
		{name: "a challenge that says 200", detail: "challenge", set: whole(fakenet.Challenge(200))},
		{name: "a challenge that says 503", attempts: 3, detail: "challenge", set: whole(fakenet.Challenge(503))},
		{name: "a captcha", detail: "challenge", set: whole(fakenet.Reply(403, fakenet.HTML, `<html><title>Bakery</title><div class="h-captcha"></div></html>`))},
		{name: "always too many", bases: "p", attempts: 3, detail: "429", set: withJSON(instead(fakenet.Limited(429, "1")))},
		{name: "document forbidden", bases: "pi", detail: "/guide", set: withGuide(instead(fakenet.Text(403, "no")))},
		{name: "API behind a challenge", bases: "ia", detail: "/openapi.json", set: withAPI(instead(fakenet.Challenge(403)))},
	}},
	{report.OutcomeUnchecked, report.ReasonServerError, []kind{
		{name: "500", bases: "p", attempts: 3, detail: "500", set: withJSON(instead(fakenet.Text(500, "oops")))},
		{name: "502", attempts: 3, detail: "502", set: whole(fakenet.Text(502, "oops"))},
		{name: "503", attempts: 3, detail: "503", set: whole(fakenet.Limited(503, "1"))},
		{name: "504", attempts: 3, detail: "504", set: whole(fakenet.Text(504, "oops"))},
		{name: "API that always fails", bases: "ia", attempts: 3, detail: "/openapi.json", set: withAPI(instead(fakenet.Text(503, "oops")))},
		{name: "document that always fails", bases: "p", attempts: 3, detail: "/guide", set: withGuide(instead(fakenet.Text(500, "oops")))},
	}},
}

// The setters: a file in the place of the generated one, for all three files
// and the usual documents.

func withJSON(f *file) func(s *setup) { return func(s *setup) { s.p.generate(); s.p.json = f.copy() } }

func withText(f *file) func(s *setup) { return func(s *setup) { s.p.txt = f.copy() } }

func withReadme(f *file) func(s *setup) { return func(s *setup) { s.p.readme = f.copy() } }

func withAPI(f *file) func(s *setup) {
	return func(s *setup) { s.p.more["/openapi.json"] = f.copy() }
}

func withGuide(f *file) func(s *setup) { return func(s *setup) { s.p.more["/guide"] = f.copy() } }

// copy is for stories that are told of several publications.
func (f *file) copy() *file {
	c := *f
	return &c
}

// whole answers for all paths of the host.
func whole(h http.Handler) func(s *setup) { return func(s *setup) { s.h.whole = h } }

// edited changes the text of a generated file.
func edited(which string, edit func(string) string) func(s *setup) {
	return func(s *setup) {
		s.p.generate()
		f := map[string]*file{"json": s.p.json, "txt": s.p.txt, "readme": s.p.readme}[which]
		was := f.body
		if f.body = edit(was); f.body == was {
			s.t.Fatalf("%s: the story of %s changes nothing", s.h.name, which)
		}
	}
}

func mediaType(name, mediaType string) func(s *setup) {
	return func(s *setup) {
		s.p.generate()
		s.p.files()["/"+name].mediaType = mediaType
	}
}

func certificates(kind fakenet.CertKind) func(s *setup) {
	return func(s *setup) { s.h.certs = []fakenet.CertKind{kind} }
}
