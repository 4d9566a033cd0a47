package agentstxt

import (
	"net/http"
	"strconv"
	"strings"
)

// servingInput is one draft file as it was served.
type servingInput struct {
	form   Form
	strict bool
	header http.Header
	hops   []hop
	bom    bool
}

// hop is one redirect that was followed.
type hop struct{ from, to link }

// judgeServing judges how a file is served (section 1).
func judgeServing(f *findings, in servingInput) {
	for _, h := range in.hops {
		judgeHop(f, h)
	}
	judgeType(f, in)
	judgeCaching(f, in.header)
	judgeCORS(f, in.header)
	if in.bom && in.form == TextForm {
		f.add("bom", Info, 0, "The file begins with a byte order mark. It is skipped.").fix("Save the file as UTF-8 without byte order mark.")
	}
}

func judgeHop(f *findings, h hop) {
	to := quoted(h.to.origin() + h.to.request())
	switch {
	case h.to.scheme != "https" && h.from.scheme == "https":
		f.add("redirect", Fail, -1, "The file is redirected from https to %s: what comes back is not protected.", to).
			fix("Serve the file over https at its well-known place.")
	case h.from.origin() == h.to.origin():
		f.add("redirect", Info, -1, "The file is redirected to %s on the same origin. Not every reader follows redirects.", to).
			fix("Serve it at its well-known place without a redirect.")
	case h.from.host == h.to.host && h.from.scheme == "http" && h.to.scheme == "https":
		f.add("redirect", Info, -1, "The file is redirected from http to https.").fix("Nothing.")
	default:
		f.add("redirect", Warn, -1, "The file is redirected to another host: %s. Readers may not trust what comes from there.", to).
			fix("Serve it on the site's own host without a redirect.")
	}
}

// mediaType takes a Content-Type apart: names in lower case, quotes taken off.
func mediaType(value string) (kind string, params map[string]string, order []string) {
	params = map[string]string{}
	kind, rest, _ := strings.Cut(value, ";")
	for part := range strings.SplitSeq(rest, ";") {
		name, v, _ := strings.Cut(part, "=")
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			params[name] = strings.Trim(strings.TrimSpace(v), `"'`)
			order = append(order, name)
		}
	}
	return strings.ToLower(strings.TrimSpace(kind)), params, order
}

func judgeType(f *findings, in servingInput) {
	want := "text/plain"
	if in.form == JSONForm {
		want = "application/json"
	}
	value := in.header.Get("Content-Type")
	kind, params, order := mediaType(value)
	right := "Send the header: Content-Type: " + want + "; charset=utf-8"
	if kind != want {
		what := "as " + kind
		if kind == "" {
			what = "without a media type"
		}
		f.add("content-type", Fail, -1, "The file is served %s, where the draft demands %s.", plain(what), want).fix("%s", right)
		return
	}
	if got := params["charset"]; !equalFold(got, "utf-8") {
		severity := Warn
		if in.strict && in.form == TextForm {
			severity = Fail
		}
		what := "has no charset"
		if got != "" {
			what = "names the charset " + got
		}
		f.add("charset", severity, -1, "The Content-Type %s, where the draft demands utf-8.", plain(what)).fix("%s", right)
	}
	for _, name := range order {
		if name != "charset" {
			f.add("content-type-parameter", Info, -1, "The Content-Type has one parameter more, %s.", quoted(name)).fix("%s", right)
			break
		}
	}
}

func judgeCaching(f *findings, h http.Header) {
	const right = "Send the header: Cache-Control: public, max-age=300"
	value := strings.ToLower(strings.Join(h.Values("Cache-Control"), ","))
	if strings.TrimSpace(value) == "" {
		f.add("cache-control", Warn, -1, "The answer has no Cache-Control. Readers do not know for how long it holds.").fix(right)
		return
	}
	age := -1
	for part := range strings.SplitSeq(value, ",") {
		name, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.TrimSpace(name) {
		case "no-store":
			f.add("cache-control", Warn, -1, "Cache-Control forbids to store the answer (no-store): readers have to ask again each time.").fix(right)
			return
		case "max-age":
			// Digits beyond the range of a number are a very long time.
			if v = strings.Trim(v, ` "`); isDigits(v) {
				n, _ := strconv.ParseInt(v, 10, 64)
				age = int(min(n, 1<<31))
			}
		}
	}
	switch {
	case age >= 0 && age < 60:
		f.add("cache-control", Info, -1, "The answer holds for %d seconds; readers keep it for at least 60.", age).fix(right)
	case age > 86400:
		f.add("cache-control", Info, -1, "The answer holds for %d seconds, more than a day: changes reach readers late.", age).fix(right)
	}
}

func judgeCORS(f *findings, h http.Header) {
	const right = "Send the headers: Access-Control-Allow-Origin: * and Access-Control-Allow-Methods: GET, OPTIONS"
	origin := strings.TrimSpace(h.Get("Access-Control-Allow-Origin"))
	switch {
	case origin == "":
		f.add("cors", Warn, -1, "The answer has no Access-Control-Allow-Origin: agents inside web pages cannot read it.").fix(right)
	case origin == "*" && equalFold(strings.TrimSpace(h.Get("Access-Control-Allow-Credentials")), "true"):
		f.add("cors", Warn, -1, "Access-Control-Allow-Origin is * together with Access-Control-Allow-Credentials: true, which browsers refuse.").
			fix("Leave Access-Control-Allow-Credentials out.")
	case origin != "*":
		f.add("cors", Info, -1, "Access-Control-Allow-Origin is one fixed origin, %s: agents inside other pages cannot read the file.", quoted(origin)).fix(right)
	}
	if strings.TrimSpace(h.Get("Access-Control-Allow-Methods")) == "" {
		f.add("cors", Info, -1, "The answer has no Access-Control-Allow-Methods; it matters in preflight answers only.").fix(right)
	}
}
