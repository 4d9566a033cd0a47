package agentstxt

import (
	"slices"
	"strings"
	"testing"
)

const shopText = `Spec-Version: 1.0
Site-Name: Shop
Site-URL: https://shop.example

Capability: find
  Endpoint: https://shop.example/items/{id}
  Protocol: REST
  Rate-Limit: 60/minute
Capability: order
  Endpoint: https://api.shop.example/order
  Protocol: REST
  Method: POST
  Rate-Limit: 5/second
Capability: talk
  Endpoint: https://shop.example/mcp
  Protocol: MCP

Disallow: /items/
Allow: /items/open
Disallow: /staff/*.html$

Agent: *
  Rate-Limit: 3600/hour
Agent: Bot
  Rate-Limit: 2/second
  Capabilities: order, talk, gone
`

func TestAnswer(t *testing.T) {
	for _, row := range []struct {
		agent, method, path string
		allowed             Permission
		block               string
		used, limit         string
		line                int
	}{
		{"claude/1", "GET", "/about", Allowed, "*", "", "3600/hour", 0},
		{"claude/1", "GET", "/items/7", OnlyAsCapability, "*", "find", "3600/hour", 6},
		{"claude/1", "GET", "/items/7/parts", Disallowed, "*", "", "3600/hour", 18},
		{"claude/1", "GET", "/items/open", Allowed, "*", "find", "3600/hour", 19},
		{"claude/1", "GET", "/staff/a.html", Disallowed, "*", "", "3600/hour", 20},
		{"claude/1", "GET", "/staff/a.html?x", Allowed, "*", "", "3600/hour", 0},
		{"bot (x)", "GET", "/items/7", Disallowed, "bot", "", "2/second", 18},
		{"BOT/2", "POST", "/order", Allowed, "bot", "order", "2/second", 0},
		{"bots/2", "POST", "/order", Allowed, "*", "order", "3600/hour", 0},
		{"Mozilla/5.0 (Bot/1)", "GET", "order", Allowed, "*", "order", "3600/hour", 0},
	} {
		got := Answer(ParseText([]byte(shopText)), row.agent, row.method, row.path)
		limit := ""
		if got.RateLimit != nil {
			limit = got.RateLimit.String()
		}
		if got.Allowed != row.allowed || got.Agent != row.block || strings.Join(got.Used, ",") != row.used || limit != row.limit || got.Line != row.line {
			t.Errorf("%s %s %s: %+v, limit %s; want %+v", row.agent, row.method, row.path, got, limit, row)
		}
	}
	got := Answer(ParseText([]byte(shopText)), "bot", "GET", "/order")
	if !slices.Equal(got.Capabilities, []string{"order", "talk"}) {
		t.Errorf("granted %v", got.Capabilities)
	}
	if notes := strings.Join(got.Notes, " "); !strings.Contains(notes, "declared for POST, not for GET") || !strings.Contains(notes, "api.shop.example") {
		t.Errorf("notes %v", got.Notes)
	}
}

// The line that decides, when a grant is what is lacking.
func TestAnswerNamesTheGrant(t *testing.T) {
	body := strings.Replace(shopText, "Disallow: /items/\nAllow: /items/open\nDisallow: /staff/*.html$\n", "", 1)
	got := Answer(ParseText([]byte(body)), "bot", "GET", "/items/7")
	if got.Allowed != Disallowed || got.DecidedBy != "Capabilities: order, talk, gone" {
		t.Errorf("%+v", got)
	}
	j := ParseJSON([]byte(with(goodJSON, `["/api/*"]`, `[]`)))
	if got := Answer(j, "other", "GET", "/staff/x"); got.Allowed != Disallowed || got.Line != 3 || !strings.HasPrefix(got.DecidedBy, `"/staff/*"`) {
		t.Errorf("%+v", got)
	}
	got = Answer(ParseText([]byte(body)), "other", "GET", "/items/7")
	if got.Allowed != OnlyAsCapability || got.DecidedBy != "Endpoint: https://shop.example/items/{id}" {
		t.Errorf("%+v", got)
	}
}

func TestMatchEndpoint(t *testing.T) {
	for _, row := range []struct {
		endpoint, path string
		want           bool
	}{
		{"", "/", true}, {"/a", "/a", true}, {"/a", "/a/", false}, {"/a/{id}", "/a/7", true}, {"/a/{id}", "/a/", false}, {"/a/{id}", "/a/7/8", false},
		{"/a/:id/b", "/a/7/b", true}, {"/a/:id/b", "/a/7/c", false}, {"/a/{id}.json", "/a/7.json", true}, {"/a/{id}.json", "/a/.json", false},
		{"/a/{x}-{y}", "/a/1-2", true}, {"/a/{x}-{y}", "/a/12", false}, {"/a/{id", "/a/{id", true}, {"/a/:", "/a/:", true}, {"/a/:", "/a/b", false},
	} {
		if got := matchEndpoint(row.endpoint, row.path); got != row.want {
			t.Errorf("%q on %q is %t", row.endpoint, row.path, got)
		}
	}
}

func TestStrictestLimit(t *testing.T) {
	limit := func(n, w string) RateLimit { return RateLimit{Requests: Text{Value: n}, Window: Text{Value: w}} }
	got := strictest([]RateLimit{limit("61", "minute"), limit("3600", "hour"), limit("1", "second"), limit("100000000000000000000", "day")})
	if got == nil || got.String() != "3600/hour" {
		t.Errorf("%v", got)
	}
	if strictest(nil) != nil {
		t.Error("a limit out of nothing")
	}
}
