package agentstxt

import (
	"net/http"
	"testing"
)

func TestServing(t *testing.T) {
	good := http.Header{
		"Content-Type": {"text/plain; charset=utf-8"}, "Cache-Control": {"public, max-age=300"},
		"Access-Control-Allow-Origin": {"*"}, "Access-Control-Allow-Methods": {"GET, OPTIONS"},
	}
	for _, row := range []struct {
		header, value, id string
		severity          Severity // "" for nothing
		form              Form
	}{
		{"Content-Type", `TEXT/Plain;CHARSET="UTF-8"`, "content-type", "", TextForm},
		{"Content-Type", `TEXT/Plain;CHARSET="UTF-8"`, "charset", "", TextForm},
		{"Content-Type", "", "content-type", Fail, TextForm},
		{"Content-Type", "text/plain", "content-type", Fail, JSONForm},
		{"Content-Type", "application/json", "charset", Warn, JSONForm},
		{"Content-Type", "text/plain; charset=latin1", "charset", Warn, TextForm},
		{"Content-Type", "text/plain; charset=utf-8; format=flowed", "content-type-parameter", Info, TextForm},
		{"Content-Type", "text/plain; charset=utf-8;", "content-type-parameter", "", TextForm},
		{"Cache-Control", "", "cache-control", Warn, TextForm},
		{"Cache-Control", "max-age=300, NO-STORE", "cache-control", Warn, TextForm},
		{"Cache-Control", "max-age=59", "cache-control", Info, TextForm},
		{"Cache-Control", "max-age=60", "cache-control", "", TextForm},
		{"Cache-Control", "max-age=86401", "cache-control", Info, TextForm},
		{"Cache-Control", "max-age=86400", "cache-control", "", TextForm},
		{"Cache-Control", "max-age=99999999999999999999", "cache-control", Info, TextForm},
		{"Cache-Control", "no-cache", "cache-control", "", TextForm},
		{"Access-Control-Allow-Origin", "", "cors", Warn, TextForm},
		{"Access-Control-Allow-Origin", "https://a.example", "cors", Info, TextForm},
		{"Access-Control-Allow-Methods", "", "cors", Info, TextForm},
		{"Access-Control-Allow-Credentials", "true", "cors", Warn, TextForm},
		{"Access-Control-Allow-Credentials", "false", "cors", "", TextForm},
	} {
		h := good.Clone()
		if row.form == JSONForm {
			h.Set("Content-Type", "application/json; charset=utf-8")
		}
		h.Set(row.header, row.value)
		var f findings
		judgeServing(&f, servingInput{form: row.form, header: h})
		var got Severity
		for _, x := range f.list {
			if x.id == "agents:"+row.id {
				got = x.severity
			}
		}
		if got != row.severity {
			t.Errorf("%s: %s: %s is %q, want %q", row.header, row.value, row.id, got, row.severity)
		}
	}
}

func TestHTTPS(t *testing.T) {
	for origin, want := range map[string]bool{
		"http://shop.example": true, "https://shop.example": false, "http://localhost:3000": false, "http://a.localhost": false,
		"http://shop.test": false, "http://127.0.0.2": false, "http://192.168.1.7": false, "http://[::1]": false, "http://8.8.8.8": true,
	} {
		rep := Judge(Input{Origin: origin, Replies: []Reply{{URL: origin + TextPath, Status: 200, Body: []byte(goodText)}}})
		if got := hasCheck(rep, "agents:https", Fail); got != want {
			t.Errorf("%s: %t", origin, got)
		}
	}
	// Who is led from http to https gets the file over https.
	rep := Judge(Input{Origin: "http://shop.example", Replies: []Reply{
		{URL: "http://shop.example" + TextPath, Status: 301, Header: http.Header{"Location": {"https://shop.example" + TextPath}}},
		{URL: "https://shop.example" + TextPath, Status: 200, Body: []byte(goodText)},
	}})
	if hasCheck(rep, "agents:https", Fail) || !hasCheck(rep, "agents:redirect", Info) {
		t.Errorf("%v", ids(rep))
	}
}

func TestRedirects(t *testing.T) {
	const origin = "https://shop.example"
	for to, want := range map[string]Severity{
		"/files/agents.txt": Info, "https://SHOP.example:443/x": Info, "https://www.shop.example/x": Warn, "https://shop.example:8443/x": Warn,
		"http://shop.example/x": Fail, "http://cdn.example/x": Fail,
	} {
		replies := []Reply{{URL: origin + TextPath, Status: 308, Header: http.Header{"Location": {to}}}}
		target, _ := redirectTarget(&replies[0])
		rep := Judge(Input{Origin: origin, Replies: append(replies, Reply{URL: target, Status: 200, Body: []byte(goodText)})})
		for _, s := range []Severity{Fail, Warn, Info} {
			if got := hasCheck(rep, "agents:redirect", s); got != (s == want) {
				t.Errorf("%s: %s is %t", to, s, got)
			}
		}
	}
}
