package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"agentaudit/store"
)

// refusal is a body that is refused for one of its members.
type refusal struct {
	member string
	body   map[string]any
}

// Whatever is wrong with a member of a body, the answer names it as the body
// does. Every member of every body is tried: with a value of another type, and,
// where some values are refused, with one of these.
func TestAPINamesMembers(t *testing.T) {
	x := seed(t)
	x.written(t)
	p := newProgram(t, serve(t, Config{Store: x, Write: x, Now: x.clock.Now}))
	long := strings.Repeat("x", longestFilter+1)
	view := func(more ...refusal) []refusal {
		return append(more, refusal{"outcome", map[string]any{"outcome": "great"}}, refusal{"reason", map[string]any{"reason": "because"}}, refusal{"check", map[string]any{"check": long}},
			refusal{"status", map[string]any{"check": "json", "status": "pass"}}, refusal{"agents", map[string]any{"agents": "perfect"}}, refusal{"host", map[string]any{"host": long}},
			refusal{"label", map[string]any{"label": long}}, refusal{"tag", map[string]any{"tag": long}}, refusal{"id", map[string]any{"id": long}}, refusal{"q", map[string]any{"q": long}},
			refusal{"since", map[string]any{"since": "yesterday"}}, refusal{"sort", map[string]any{"sort": "luck"}})
	}
	times := func(more ...refusal) []refusal {
		return append(more, refusal{"name", map[string]any{"name": " "}}, refusal{"name", map[string]any{"name": strings.Repeat("x", longestName+1)}}, refusal{"cron", map[string]any{"cron": "now and then"}},
			refusal{"cron", map[string]any{"cron": "0 0 30 2 *"}}, refusal{"zone", map[string]any{"zone": "Mars"}}, refusal{"jitterMinutes", map[string]any{"jitterMinutes": -1}},
			refusal{"jitterMinutes", map[string]any{"cron": "@daily", "jitterMinutes": 24 * 60}}, refusal{"spreadHours", map[string]any{"spreadHours": 10_001}}, refusal{"name", map[string]any{"name": "At rest"}})
	}
	hook := []refusal{{"url", map[string]any{"url": ""}}, {"url", map[string]any{"url": "http://chat.example/"}}, {"on", map[string]any{"on": "often"}}, {"threshold", map[string]any{"threshold": "0"}},
		{"settleHours", map[string]any{"settleHours": -1}}, {"confirmMinutes", map[string]any{"confirmMinutes": -2}}}
	chat := map[string]any{"url": "https://chat.example/hook"}
	sites := []string{"a.example"}
	cases := map[string]struct {
		path     string
		good     map[string]any // what stands around a bad member
		refusals []refusal
	}{
		"postBatches": {"/batches", map[string]any{}, []refusal{
			{"urls", map[string]any{}}, {"list", map[string]any{"urls": sites, "list": "a.example"}}, {"list", map[string]any{"list": "[1", "format": "json"}},
			{"name", map[string]any{"urls": sites, "name": strings.Repeat("x", longestName+1)}}, {"format", map[string]any{"list": "a.example", "format": "stone"}}, {"format", map[string]any{"urls": sites, "format": "csv"}},
			{"column", map[string]any{"urls": sites, "column": "x"}},
			{"idColumn", map[string]any{"urls": sites, "idColumn": "x"}}, {"labelColumn", map[string]any{"urls": sites, "labelColumn": "x"}},
			{"tagColumn", map[string]any{"urls": sites, "tagColumn": "x"}}, {"readmeColumn", map[string]any{"urls": sites, "readmeColumn": "x"}},
			{"pointer", map[string]any{"urls": sites, "pointer": "/x"}}, {"discover", map[string]any{"urls": sites, "discover": "sometimes"}},
		}},
		"postBatchesBatchRetry": {"/batches/" + string(x.after) + "/retry", map[string]any{}, []refusal{{"outcome", map[string]any{"outcome": "great"}}, {"reason", map[string]any{"reason": "because"}}}},
		"postBatchesBatchAgain": {"/batches/" + string(x.after) + "/again", map[string]any{}, view()},
		"postTokens": {"/tokens", map[string]any{"name": "x", "scope": "read", "days": 1}, []refusal{
			{"name", map[string]any{"name": ""}}, {"name", map[string]any{"name": strings.Repeat("x", longestName+1)}}, {"scope", map[string]any{"scope": "all"}}, {"days", map[string]any{"days": -1}}}},
		"postShares": {"/shares", map[string]any{"batch": x.after, "days": 1}, view(refusal{"days", map[string]any{"days": 0}}, refusal{"batch", map[string]any{"batch": "nothing"}}, refusal{"batch", map[string]any{"batch": ""}},
			refusal{"run", map[string]any{"run": string(x.failed)}}, refusal{"run", map[string]any{"batch": "", "run": "nothing"}})},
		"postSchedules": {"/schedules", map[string]any{"name": "New", "batch": x.after, "cron": "@daily"}, times(refusal{"batch", map[string]any{"batch": ""}}, refusal{"batch", map[string]any{"batch": "nothing"}},
			refusal{"name", map[string]any{"name": "Every Monday"}})},
		"postSchedulesScheduleWebhook": {"/schedules/" + string(x.schedule) + "/webhook", chat, hook},
		"postBatchesBatchWebhook":      {"/batches/" + string(x.running) + "/webhook", chat, hook},
		"postSchedulesSchedule":        {"/schedules/" + string(x.schedule), map[string]any{}, times()},
	}
	var parts struct {
		Schemas map[string]struct {
			Properties map[string]struct{ Type string }
		}
	}
	if err := json.Unmarshal(apiSchemas, &parts); err != nil {
		t.Fatal(err)
	}
	refused := func(path, member string, body map[string]any) {
		t.Helper()
		res, got := p.call("POST", path, body, "")
		var problem Problem
		if err := json.Unmarshal([]byte(got), &problem); err != nil || res.StatusCode < 400 || res.StatusCode >= 500 || problem.Field != member {
			t.Errorf("POST %s %.200s: %d, blames %q and not %q: %s", path, fmt.Sprint(body), res.StatusCode, problem.Field, member, problem.Detail)
		}
	}
	for _, e := range endpoints {
		if e.body == "" {
			continue
		}
		c, ok := cases[operationID(e)]
		if !ok {
			t.Errorf("the body of %s is not tried", operationID(e))
			continue
		}
		with := func(body map[string]any) map[string]any {
			all := maps.Clone(c.good)
			maps.Copy(all, body)
			return all
		}
		for member, s := range parts.Schemas[e.body].Properties {
			wrong := any(map[string]any{"no": "text"})
			if s.Type == "object" {
				wrong = "text"
			}
			refused(c.path, member, with(map[string]any{member: wrong}))
			if s.Type != "boolean" && !slices.ContainsFunc(c.refusals, func(r refusal) bool { return r.member == member }) {
				t.Errorf("no value of %s of %s is tried", member, operationID(e))
			}
		}
		for _, r := range c.refusals {
			refused(c.path, r.member, with(r.body))
		}
		refused(c.path, "nosuch", with(map[string]any{"nosuch": 1}))
	}
	// Parameters are named as well.
	for query, parameter := range map[string]string{"/batches?limit=0": "limit", "/batches?after=!": "after", "/batches?page=1": "page", "/sites?outcome=great": "outcome", "/deliveries?state=lost": "state",
		"/batches/" + string(x.after) + "/results?after=!": "after", "/site?target=": "target", "/site?target=a.example&before=x": "before", "/compare?before=" + string(x.after): "after",
		"/compare?after=x&before=x": "before", fmt.Sprintf("/compare?before=%s&after=%s&show=x", x.before, x.after): "show"} {
		var problem Problem
		p.do("GET", query, nil, 400, &problem)
		if problem.Field != parameter {
			t.Errorf("GET %s blames %q, and not %q: %s", query, problem.Field, parameter, problem.Detail)
		}
	}
	if list, err := x.Batches(t.Context(), "", store.MaxPage); err != nil || slices.ContainsFunc(list, func(b store.Batch) bool { return b.Name == "New" }) {
		t.Errorf("%v", err)
	}
}
