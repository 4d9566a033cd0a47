package store_test

import (
	"encoding/json"
	"testing"

	"agentaudit/store"
)

func TestPlain(t *testing.T) {
	for raw, want := range map[string]string{
		"https://a.example/hook": "https://a.example/hook", "https://u:p@a.example/hook": "https://a.example/hook …", "https://a.example/h?k=v": "https://a.example/h …",
		"https://a.example/h?": "https://a.example/h", "https://a.example/h#k": "https://a.example/h …", "https://a.example/h …": "https://a.example/h …",
		"https://a.example/a%20b": "https://a.example/a%20b", ":": "an address that cannot be read", "https://a.example/%zz?key=k": "an address that cannot be read",
	} {
		if got := store.PlainAddress(raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		"list.csv": "list.csv", "/srv/secret/list.csv": "list.csv", "standard input": "standard input", "the sites of batch 1hgw3k2xa": "the sites of batch 1hgw3k2xa", "100%?.csv": "100%?.csv",
		"mcp-registry": "mcp-registry", "https://a.example/l?key=k": "https://a.example/l …", "": "",
	} {
		if got := store.PlainSource(raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		"cannot read https://a.example/l?key=k: it answers with status 500": "cannot read https://a.example/l …: it answers with status 500",
		`"https://u:p@a.example/", https://b.example/x.`:                    `"https://a.example/ …", https://b.example/x.`,
		"postgres://u:p@db/x?y=z is away; nothing else":                     "postgres://db/x … is away; nothing else",
		"no address: at all?": "no address: at all?",
	} {
		if got := store.PlainText(raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// Messages that older versions planned have the sources in full.
func TestPlainDelivery(t *testing.T) {
	for _, c := range []struct{ event, url, body, wantURL, wantBody string }{
		{store.EventListing, "https://a.example/hook?key=k", `{"event":"x", "source":"https://a.example/l?key=k","id":9007199254740993}`, "https://a.example/hook …", `{"event":"x","id":9007199254740993,"source":"https://a.example/l …"}`},
		{store.EventFinished, "https://chat.example/k", `{"sources":["https://a.example/l?key=k","/srv/k/l.csv"]}`, "https://chat.example/…", `{"sources":["https://a.example/l …","l.csv"]}`},
		{store.EventFinished, "https://chat.example/…", `{ "sources": ["l.csv"] }`, "https://chat.example/…", `{ "sources": ["l.csv"] }`},
		{store.EventRegressed, "https://chat.example/?k", `"?key=k`, "https://chat.example/ …", ""},
	} {
		d := store.Delivery{Event: c.event, URL: c.url, Body: json.RawMessage(c.body), Error: "post https://a.example/?key=k: refused"}.Plain()
		if d.URL != c.wantURL || string(d.Body) != c.wantBody || d.Error != "post https://a.example/ …: refused" {
			t.Errorf("%+v: %s %s %s", c, d.URL, d.Body, d.Error)
		}
	}
}
