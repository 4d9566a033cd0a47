package audit

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentaudit/fetch/fakenet"
)

// The places at which a file can be answered badly.
var places = []struct {
	name, path string
	action     bool // in the action publication instead of the site's
}{
	{"profile", "/agentic.json", false}, {"OpenAPI of a site", "/openapi.json", false}, {"OpenAPI of an action", "/openapi.json", true},
	{"document", "/guide", false}, {"TXT", "/agentic.txt", false}, {"README", "/README.md", false},
}

// manner is how a server answers for one file, and what an audit makes of it
// at each place.
type manner struct {
	name   string
	answer func(limit int) http.Handler // limit of the place in bytes
	// profile, openapi and document are outcome and reason; text and readme
	// the status, behind which the outcome stands where it is not partial.
	profile, openapi, document, text, readme string
	// detail stands in the sentence that says what happened, at every place
	// where something is wrong.
	detail string
	// again is set where the trouble may pass; then retry is what the site
	// asked for.
	again bool
	retry time.Duration
}

const (
	unavailable = "unavailable"
	head        = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
)

func always(h http.Handler) func(int) http.Handler { return func(int) http.Handler { return h } }

// definite is a manner that says something about the site.
func definite(name string, h http.Handler, profileReason, detail string) manner {
	return manner{name: name, answer: always(h), profile: "failed " + profileReason, openapi: "failed api-mismatch", document: "failed broken-document",
		text: unavailable, readme: unavailable, detail: detail}
}

// unclear is a manner that says nothing about the site.
func unclear(name string, h http.Handler, reason, detail string, again bool) manner {
	word := "unchecked " + reason
	return manner{name: name, answer: always(h), profile: word, openapi: word, document: word, text: unavailable, readme: unavailable, detail: detail, again: again}
}

func (m manner) with(change func(*manner)) manner { change(&m); return m }

func manners() []manner {
	page := "<!DOCTYPE html><title>Boats</title><p>Welcome aboard."
	padded := func(h http.Header, extra int) func(int) http.Handler {
		return func(limit int) http.Handler { return fakenet.Reply(200, h, strings.Repeat(" ", limit+extra)) }
	}
	gzip := func(status int) http.Handler {
		return fakenet.Reply(status, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, "\x1f\x8b")
	}
	large := func(status int) http.Handler {
		return fakenet.Reply(status, fakenet.PlainText, strings.Repeat("x", 2<<20))
	}
	var all []manner

	// Redirects, all of them, and what stands between.
	for status := 300; status <= 310; status++ {
		all = append(all, definite(fmt.Sprint(status), fakenet.Redirect(status, "https://www.site.example/x"), "redirected", fmt.Sprintf("(status %d) to https://www.site.example/x", status)))
	}
	all = append(all,
		definite("399", fakenet.Redirect(399, "/x"), "redirected", "(status 399) to /x"),
		definite("304 to nowhere", fakenet.Redirect(304, ""), "redirected", "(status 304) that names no destination"),
		definite("redirect to the inside", fakenet.Redirect(302, "https://169.254.169.254/latest"), "redirected", "to https://169.254.169.254/latest"),
		definite("redirect to a control", fakenet.Send("HTTP/1.1 302 Found\r\nLocation: /a\u202e\xff[31m\r\n\r\n"), "redirected", "(status 302) to /a\ufffd\ufffd[31m"),
		definite("redirect with an endless body", fakenet.Endless("HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", "x"), "redirected", "(status 302) to /x"),
	)

	// Not there, or something else there.
	all = append(all,
		definite("404", fakenet.Text(404, "no"), "missing-profile", "").with(func(m *manner) { m.text, m.readme = "missing", "missing" }),
		definite("large 404", large(404), "missing-profile", "").with(func(m *manner) { m.text, m.readme = "missing", "missing" }),
		definite("compressed 404", gzip(404), "missing-profile", "").with(func(m *manner) { m.text, m.readme = "missing", "missing" }),
		definite("410", fakenet.Text(410, "gone"), "missing-profile", "HTTP 410 (Gone)"),
		manner{name: "a page at every address", answer: always(fakenet.Reply(200, fakenet.HTML, page)), profile: "failed missing-profile", openapi: "failed api-mismatch",
			document: "successful complete", text: "mismatch failed txt-conflict", readme: "invalid", detail: ""},
		manner{name: "a page served as JSON", answer: always(fakenet.Reply(200, fakenet.JSON, page)), profile: "failed missing-profile", openapi: "failed api-mismatch",
			document: "successful complete", text: "mismatch failed txt-conflict", readme: "invalid", detail: ""},
		manner{name: "a page larger than the file may be", answer: padded(fakenet.HTML, 1), profile: "failed missing-profile", openapi: "failed api-mismatch",
			document: "failed broken-document", text: unavailable, readme: unavailable, detail: ""},
		manner{name: "nothing", answer: always(fakenet.Reply(200, nil, "")), profile: "failed invalid-profile", openapi: "failed api-mismatch",
			document: "successful complete", text: "mismatch failed txt-conflict", readme: "incomplete", detail: ""},
		manner{name: "JSON of another kind", answer: always(fakenet.Reply(200, fakenet.JSON, "[1,2,3]")), profile: "failed invalid-profile", openapi: "failed api-mismatch",
			document: "successful complete", text: "mismatch failed txt-conflict", readme: "incomplete", detail: ""},
	)
	for _, status := range []int{201, 202, 203, 204, 206, 226, 400, 402, 405, 406, 407, 408, 418, 421, 600, 999} {
		all = append(all, definite(fmt.Sprint(status), fakenet.Reply(status, nil, ""), "unexpected-status", fmt.Sprintf("HTTP %d", status)))
	}

	// Sizes and encodings.
	within := manner{profile: "failed invalid-profile", openapi: "failed api-mismatch", document: "successful complete", text: "mismatch failed txt-conflict", readme: "incomplete"}
	all = append(all,
		within.with(func(m *manner) { m.name, m.answer = "one byte under the limit", padded(fakenet.JSON, -1) }),
		within.with(func(m *manner) { m.name, m.answer = "at the limit", padded(fakenet.JSON, 0) }),
		definite("one byte over the limit", nil, "refused", "bytes allowed").with(func(m *manner) { m.answer = padded(fakenet.JSON, 1) }),
		definite("more promised than allowed", fakenet.Stall(head+"Content-Length: 1048577\r\n\r\n"), "refused", "bytes allowed"),
		definite("endless", fakenet.EndlessBody("application/json"), "refused", "bytes allowed"),
		definite("endless header", fakenet.HeaderFlood(), "refused", "more than 65,536 bytes of headers"),
		definite("gzip", gzip(200), "refused", "compressed (Content-Encoding: gzip)"),
		definite("BR", fakenet.Encoded("BR", "x"), "refused", "compressed (Content-Encoding: BR)"),
		definite("identity, deflate", fakenet.Encoded("identity, deflate", "x"), "refused", "compressed (Content-Encoding: identity, deflate)"),
		definite("compressed page", fakenet.Reply(200, http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}}, "\x1f\x8b"), "missing-profile", ""),
	)

	// Kept out.
	for _, status := range []int{401, 403, 451} {
		all = append(all, unclear(fmt.Sprint(status), fakenet.Text(status, "no"), "blocked", fmt.Sprintf("HTTP %d", status), false))
	}
	puzzle := func(title, body string) string {
		return "<html><head><title>" + title + "</title></head><body>" + body + "</body></html>"
	}
	all = append(all,
		unclear("429", fakenet.Limited(429, "30"), "blocked", "HTTP 429 (Too Many Requests)", true).with(func(m *manner) { m.retry = 30 * time.Second }),
		unclear("429 with a date", fakenet.Limited(429, "Sat, 01 Jan 2000 00:02:00 GMT"), "blocked", "HTTP 429", true).with(func(m *manner) { m.retry = 2 * time.Minute }),
		unclear("429 without a time", fakenet.Text(429, "slow down"), "blocked", "HTTP 429", true),
		unclear("429 with a past date", fakenet.Limited(429, "Sat, 01 Jan 1994 00:00:00 GMT"), "blocked", "HTTP 429", true),
		unclear("429, compressed", fakenet.Reply(429, http.Header{"Content-Encoding": {"gzip"}, "Retry-After": {"7"}}, "x"), "blocked", "HTTP 429", true).with(func(m *manner) { m.retry = 7 * time.Second }),
		unclear("403, large", large(403), "blocked", "HTTP 403 (Forbidden)", false),
		unclear("bot wall 403", fakenet.Challenge(403), "blocked", "bot wall's challenge page (HTTP 403)", false),
		unclear("bot wall 503", fakenet.Challenge(503), "blocked", "bot wall's challenge page (HTTP 503)", true),
		unclear("bot wall 200", fakenet.Challenge(200), "blocked", "bot wall's challenge page (HTTP 200)", false),
		unclear("captcha 403", fakenet.Reply(403, fakenet.HTML, puzzle("Boats", `<div class="g-recaptcha">`)), "blocked", "bot wall's challenge page (HTTP 403)", false),
		unclear("captcha 503", fakenet.Reply(503, fakenet.HTML, puzzle("Just a moment...", "")), "blocked", "bot wall's challenge page (HTTP 503)", true),
		unclear("captcha 200", fakenet.Reply(200, fakenet.HTML, puzzle("Security check", `<script src="https://js.hcaptcha.com/1/api.js">`)), "blocked", "bot wall's challenge page (HTTP 200)", false).with(func(m *manner) {
			// A site's own page may carry a captcha; a README that is a page is invalid.
			m.document, m.readme = "successful complete", "invalid"
		}),
	)

	// Broken for now.
	for _, status := range []int{500, 501, 502, 504, 520, 525, 599} {
		all = append(all, unclear(fmt.Sprint(status), fakenet.Text(status, "oops"), "server-error", fmt.Sprintf("HTTP %d", status), true))
	}
	all = append(all,
		unclear("503", fakenet.Limited(503, "120"), "server-error", "HTTP 503 (Service Unavailable)", true).with(func(m *manner) { m.retry = 2 * time.Minute }),
		unclear("502, compressed", gzip(502), "server-error", "HTTP 502 (Bad Gateway)", true),
		unclear("500, endless", fakenet.Endless("HTTP/1.1 500 Oops\r\n\r\n", "x"), "server-error", "HTTP 500", true),
		unclear("silence", fakenet.Stall(""), "unreachable", "was not answered within 8 seconds", true),
		unclear("half a header", fakenet.Stall(head), "unreachable", "was not complete within 8 seconds", true),
		unclear("half a body", fakenet.Stall(head+"Content-Length: 100\r\n\r\n{"), "unreachable", "was not complete within 8 seconds; 1 bytes", true),
		unclear("dripping body", fakenet.Drip(head+"Content-Length: 100\r\n\r\n", " ", time.Second), "unreachable", "was not complete within 8 seconds; 7 bytes", true),
		unclear("dripping header", fakenet.Drip(head, "X-A: b\r\n", time.Second), "unreachable", "was not complete within 8 seconds", true),
		unclear("reset", fakenet.ResetAfter(""), "unreachable", "closed the connection without an answer", true),
		unclear("reset in the body", fakenet.ResetAfter(head+"Content-Length: 100\r\n\r\n{"), "unreachable", "closed the connection", true),
		unclear("closed", fakenet.Send(""), "unreachable", "closed the connection without an answer", true),
		unclear("closed in the header", fakenet.Send(head), "unreachable", "within the header", true),
		unclear("closed early", fakenet.WrongLength(100, "{}"), "unreachable", "closed the connection before", true),
		unclear("half closed", fakenet.HalfClose(head+"Content-Length: 100\r\n\r\n{"), "unreachable", "closed the connection before", true),
		unclear("chunks cut off", fakenet.Send(head+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"), "unreachable", "closed the connection before", true),
		unclear("garbage", fakenet.Send("hello\r\n\r\n"), "unreachable", "not correct HTTP", true),
		unclear("HTTP/2 without asking", fakenet.Send("HTTP/2.0 200 OK\r\n\r\n"), "unreachable", "not correct HTTP", true),
		unclear("two lengths", fakenet.Send(head+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), "unreachable", "not correct HTTP", true),
		unclear("negative length", fakenet.Send(head+"Content-Length: -1\r\n\r\n{}"), "unreachable", "not correct HTTP", true),
		unclear("broken chunk", fakenet.Send(head+"Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n"), "unreachable", "not correct HTTP", true),
		unclear("gzip as transfer coding", fakenet.Send(head+"Transfer-Encoding: gzip, chunked\r\n\r\n"), "unreachable", "not correct HTTP", true),
		unclear("101", fakenet.Send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"), "unreachable", "not correct HTTP", true),
		unclear("six interim answers", fakenet.Interim(6, 200, "{}"), "unreachable", "more than 5 interim answers", true),
		unclear("interim flood", fakenet.InterimFlood(), "unreachable", "more than 5 interim answers", true),
		unclear("trailer flood", fakenet.TrailerFlood("{}"), "unreachable", "not correct HTTP", true),
	)
	return all
}

// TestManners answers badly for one file of an otherwise good publication.
func TestManners(t *testing.T) {
	for _, m := range manners() {
		for _, p := range places {
			t.Run(m.name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, n *fakenet.Net) { m.try(t, n, p.name, p.path, p.action) })
			})
		}
	}
}

func (m manner) try(t *testing.T, n *fakenet.Net, place, path string, action bool) {
	json, openapi, limit := siteProfile(host), siteOpenAPI, MaxSmallFile
	if action {
		json, openapi = actionProfile(host), actionOpenAPI
	}
	check := map[string]string{"profile": "json", "OpenAPI of a site": "resource:https://site.example/openapi.json", "OpenAPI of an action": "api:/openapi.json",
		"document": "resource:https://site.example/guide", "TXT": "txt", "README": "readme"}[place]
	var want, status, wantStatus string
	switch place {
	case "profile":
		want = m.profile
		if want == "failed invalid-profile" && m.detail == "" && m.name == "JSON of another kind" {
			check = "structure"
		}
	case "OpenAPI of a site":
		want, limit = m.openapi, MaxSiteDocument
	case "OpenAPI of an action":
		want, limit = m.openapi, MaxActionDocument
	case "document":
		want, limit = m.document, MaxSiteDocument
	case "TXT", "README":
		wantStatus = map[string]string{"TXT": m.text, "README": m.readme}[place]
		wantStatus, want, _ = strings.Cut(wantStatus, " ")
		if want == "" {
			want = "partial incomplete"
		}
	}
	w := newWorld(t, n, json, openapi)
	w.site.Path(path, m.answer(limit))
	started := time.Now()
	j := w.audit(t, host, "", 1)
	if took := time.Since(started); took > 9*time.Second {
		t.Errorf("took %v for one bad file", took)
	}
	if j.word() != want {
		t.Fatalf("%s, want %s: %s", j.word(), want, j.Result.Detail)
	}
	if want == "successful complete" {
		if v := j.verdict(); v != "definite" {
			t.Errorf("verdict %q", v)
		}
		return
	}
	r := j.Result.Report
	switch place {
	case "TXT":
		status = string(r.TextIndex.Status)
	case "README":
		status = string(r.Readme.Status)
	}
	if status != wantStatus {
		t.Errorf("%s is %s, want %s", place, status, wantStatus)
	}
	if wantStatus == "invalid" {
		m.detail = "page"
	}
	if d := j.detail(check); !strings.Contains(d, m.detail) || d == "" {
		t.Errorf("check %s: %q, want %q in it", check, d, m.detail)
	}
	if !strings.Contains(j.Result.Detail, m.detail) {
		t.Errorf("detail %q, want %q in it", j.Result.Detail, m.detail)
	}
	// What may pass is tried again, with what the site asked for; nothing
	// else is.
	wantVerdict := "definite"
	if strings.HasPrefix(want, "unchecked") {
		wantVerdict = ""
	}
	if m.again {
		wantVerdict = strings.TrimSpace(string(Trouble) + " " + retryWord(m.retry) + wantVerdict)
	}
	timedOut := strings.Contains(m.detail, "within 8 seconds") || strings.Contains(m.detail, "not complete within")
	if place == "profile" && timedOut {
		wantVerdict += " network"
	}
	if v := j.verdict(); v != wantVerdict {
		t.Errorf("verdict %q, want %q", v, wantVerdict)
	}
	if strings.HasSuffix(want, "unreachable") {
		kind := map[bool]string{true: "timeout: ", false: ""}[timedOut]
		if !strings.Contains(j.Result.Detail, kind) {
			t.Errorf("detail %q does not name %q", j.Result.Detail, kind)
		}
		if place == "profile" && !strings.HasPrefix(j.Result.Detail, kind) {
			t.Errorf("detail %q does not begin with %q", j.Result.Detail, kind)
		}
	}
	// At no place may the bad answer hide the files that were good.
	if place != "profile" && (r.Structure == nil || !r.Structure.Valid) {
		t.Errorf("the profile was good: %+v", r.Structure)
	}
}

func retryWord(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String() + " "
}
