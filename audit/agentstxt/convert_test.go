package agentstxt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/audittest"
)

const fullText = `Spec-Version: 1.0
Generated-At: 2026-05-04T09:30:00Z
Declaration-Type: platform
Site-Name: Ängström 🐟
Site-URL: https://shop.example
Site-Description: Nets: and ropes # all
Site-Contact: gull@shop.example
Site-Privacy-Policy: https://shop.example/privacy
Agents-JSON: https://shop.example/.well-known/agents.json
Terms: one
Terms: two

Capability: find-item
  Endpoint: https://shop.example/items/{id}
  Protocol: REST
  Method: POST
  Auth: oauth2
  Auth-Endpoint: https://shop.example/token
  Auth-Docs: https://shop.example/docs
  Scopes: read, items:write
  Rate-Limit: 100000000000000000000/day
  Description: Find an item
  OpenAPI: https://shop.example/openapi.json
  Param: id (path, string, required) - the id - in short
  Param: ids[] (query, integer)
  Flavour: salt

Allow: /api/*
Disallow:
Disallow: /staff/*

Agent: *

Agent: bot
  Rate-Limit: 5/second
  Capabilities:
  Agent-Declaration: https://operator.example/agents.txt
  Note: x
`

// sameDocument fails the test unless both say the same, unknown fields
// included.
func sameDocument(t *testing.T, a, b *Document) {
	t.Helper()
	if !Equal(&a.Declaration, &b.Declaration) {
		t.Errorf("the two differ:\n%.2000s\n%.2000s", fingerprint(&a.Declaration), fingerprint(&b.Declaration))
	}
}

func TestTextPrintsAsItStands(t *testing.T) {
	d := ParseText([]byte(fullText))
	if got := string(d.Print()); got != fullText {
		t.Errorf("printed\n%s", got)
	}
	if _, losses := d.Convert(TextForm); len(losses) != 0 {
		t.Errorf("losses %v", losses)
	}
}

func TestTextToJSONAndBack(t *testing.T) {
	d := ParseText([]byte(fullText))
	out, losses := d.Convert(JSONForm)
	if len(losses) != 1 || losses[0].Line != 11 { // a name stands in an object once
		t.Errorf("losses %v", losses)
	}
	j := ParseJSON(out)
	if !j.Valid() {
		t.Errorf("the JSON is not valid:\n%s", out)
	}
	if diff := Compare(&d.Declaration, &j.Declaration); len(diff) != 0 {
		t.Errorf("differences %+v\n%s", diff, out)
	}
	back, losses := j.Convert(TextForm)
	if len(losses) != 0 {
		t.Errorf("losses on the way back: %v", losses)
	}
	if want := strings.Replace(fullText, "Terms: one\n", "", 1); string(back) != want {
		t.Errorf("back\n%s\nwant\n%s", back, want)
	}
}

// Every valid file of the vectors survives printing and conversion.
func TestVectorsRoundTrip(t *testing.T) {
	audittest.Run(t, "agents-txt", func(t *testing.T, c audittest.Case) {
		if strings.HasPrefix(c.Name, "a") {
			return
		}
		var in vectorInput
		audittest.Decode(t, c.Input, &in)
		for path, r := range in.Responses {
			var d *Document
			switch {
			case strings.HasSuffix(path, ".txt"):
				d = ParseText(r.Body)
			default:
				d = ParseJSON(r.Body)
			}
			if !d.Valid() {
				continue
			}
			roundTrip(t, d)
		}
	})
}

func roundTrip(t *testing.T, d *Document) {
	t.Helper()
	parse := map[Form]func([]byte) *Document{TextForm: ParseText, JSONForm: ParseJSON}
	sameDocument(t, d, parse[d.Form](d.Print()))
	to := map[Form]Form{TextForm: JSONForm, JSONForm: TextForm}[d.Form]
	out, losses := d.Convert(to)
	other := parse[to](out)
	if other.broken {
		t.Fatalf("unreadable:\n%.2000s", out)
	}
	text, json := d, other
	if to == TextForm {
		text, json = other, d
	}
	if diff := Compare(&text.Declaration, &json.Declaration); len(diff) != 0 && len(losses) == 0 {
		t.Errorf("converted without a word, but %s differs:\n%.2000s", diff[0].Member, out)
	}
}

// What a form cannot hold is reported, each with its place.
func TestLossesAreReported(t *testing.T) {
	for _, row := range []struct{ name, body, what string }{
		{"default", with(goodJSON, `"protocol"`, `"parameters": [{"name": "n", "in": "query", "type": "integer", "default": 7}], "protocol"`), "default, min or max"},
		{"odd parameter", with(goodJSON, `"protocol"`, `"parameters": [{"name": "a b", "in": "query", "type": "integer"}], "protocol"`), "a parameter whose name"},
		{"line break", with(goodJSON, `"Find an item"`, `"Find\nan item"`), "the line breaks inside Description"},
		{"scope with comma", with(goodJSON, `"protocol"`, `"auth": {"type": "oauth2", "scopes": ["a,b"]}, "protocol"`), "an item of Scopes"},
		{"unknown object", with(goodJSON, `"agents"`, `"extra": {}, "agents"`), "an unknown member that is no string"},
		{"unknown in site", with(goodJSON, `"url"`, `"terms": "x", "url"`), "an unknown member of site"},
		{"metadata like a field", with(goodJSON, `"agents"`, `"metadata": {"Allow": "/"}, "agents"`), "whose name cannot be a field"},
		{"metadata with colon", with(goodJSON, `"agents"`, `"metadata": {"a:b": "/"}, "agents"`), "whose name cannot be a field"},
		{"wrong type", with(goodJSON, `"Find an item"`, `5`), "a member of a wrong type"},
	} {
		_, losses := ParseJSON([]byte(row.body)).Convert(TextForm)
		if !slices.ContainsFunc(losses, func(l Loss) bool { return strings.Contains(l.What, row.what) && l.Line > 0 && l.Column > 0 }) {
			t.Errorf("%s: %v", row.name, losses)
		}
	}
	for _, row := range []struct{ name, body, what string }{
		{"comments", "# x\n" + goodText, "1 comment lines"},
		{"param", with(goodText, "  Protocol", "  Param: q\n  Protocol"), "a Param that cannot be read"},
		{"limit", with(goodText, "  Protocol", "  Rate-Limit: 5\n  Protocol"), "a rate limit that cannot be read"},
		{"junk", goodText + "words\n", "a line that is no field"},
		{"agents", goodText + "Agent: *\n", "an Agent block that a later one"},
		{"repeated", "Site-Name: a\n" + goodText, "an earlier value of a field"},
		{"block", with(goodText, "  Protocol", "  Agent: x\n  Protocol"), "a block opener inside another block"},
		{"name with a meaning", with(goodText, "  Protocol", "  id: x\n  Protocol"), "whose name has a meaning in JSON"},
	} {
		_, losses := ParseText([]byte(row.body)).Convert(JSONForm)
		if !slices.ContainsFunc(losses, func(l Loss) bool { return strings.Contains(l.What, row.what) }) {
			t.Errorf("%s: %v", row.name, losses)
		}
	}
}

// The JSON that is printed has what reference readers insist on.
func TestPrintedJSONHasAllLists(t *testing.T) {
	out, _ := ParseText([]byte(head)).Convert(JSONForm)
	var v map[string]json.RawMessage
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"capabilities", "access", "agents"} {
		if v[k] == nil {
			t.Errorf("no %s in\n%s", k, out)
		}
	}
}
