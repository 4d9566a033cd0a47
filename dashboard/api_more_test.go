package dashboard

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"

	"agentaudit/store"
)

func init() {
	// Files are looked at as texts.
	for _, mediaType := range []string{"text/csv", "application/x-ndjson", "application/zip"} {
		openapi3filter.RegisterBodyDecoder(mediaType, openapi3filter.FileBodyDecoder)
	}
}

// moreOfTheAPI calls what stands beside batches and results.
func moreOfTheAPI(t *testing.T, x *seeded, p *program) {
	t.Helper()
	after := "/batches/" + string(x.after)
	// Files and lists are the same rows in the same order.
	for _, view := range []string{"sort=reason", "sort=outcome&tag=coast", "sort=newest&outcome=failed", "sort=slowest", "sort=host", "since=2026-11-25", "since=2026-11-25&sort=newest"} {
		var rows listOf[store.Row]
		p.do("GET", after+"/results?limit=1000&"+view, nil, 200, &rows)
		res, csv := p.call("GET", after+"/results.csv?"+view, nil, "")
		lines := strings.Split(strings.TrimSpace(csv), "\n")[1:]
		if res.StatusCode != 200 || len(lines) != len(rows.Items) || len(lines) == 0 {
			t.Errorf("%s: %d rows, and %d in the file (%d)", view, len(rows.Items), len(lines), res.StatusCode)
			continue
		}
		for i, line := range lines {
			if want := fmt.Sprintf("%s,%d,", x.after, rows.Items[i].Entry); !strings.HasPrefix(line, want) {
				t.Errorf("%s: row %d is %.30s, want %s", view, i, line, want)
				break
			}
		}
	}
	p.call("GET", after+"/results.ndjson?outcome=failed&full=1", nil, "")
	var estimated apiEstimate
	p.do("GET", after+"/estimate", nil, 200, &estimated)
	if estimated.By == "" || estimated.Seconds <= 0 || estimated.Sites != 39 {
		t.Errorf("%+v", estimated)
	}
	p.do("GET", "/settings", nil, 200, nil)
	var badge apiBadge
	p.do("GET", "/badge?target=north-lantern.example", nil, 200, &badge)
	if !strings.HasPrefix(badge.SVG, "http://localhost/badge.svg?") || badge.Outcome == "" {
		t.Errorf("%+v", badge)
	}
	_, second := directory(t, x.Store, x.clock)
	var changes store.ListingChanges
	p.do("GET", "/batches/"+string(second)+"/listing?limit=1", nil, 200, &changes)
	if changes.New != 1 || len(changes.GoneListings) != 1 || changes.MovedListings[0].After != "https://shop-6.moved.example" {
		t.Errorf("%+v", changes)
	}
	p.do("GET", after+"/listing", nil, 404, nil)
	var told listOf[store.Delivery]
	p.do("GET", "/deliveries?limit=1", nil, 200, &told)
	p.do("GET", "/deliveries?limit=1&after="+told.Next, nil, 200, &told)
	if len(told.Items) != 1 || told.Items[0].Ref != "shop-1" || strings.Contains(told.Items[0].URL, "s3cret") {
		t.Errorf("%+v", told)
	}
	p.do("GET", "/deliveries?state=done&batch="+string(second), nil, 200, &told)
	p.do("GET", "/deliveries?state=lost", nil, 400, nil)
	p.do("GET", "/deliveries?event=lost", nil, 400, nil)
	for event, n := range map[string]int{store.EventListing: 2, store.EventFinished: 0} {
		if p.do("GET", "/deliveries?event="+event, nil, 200, &told); len(told.Items) != n {
			t.Errorf("%s: %+v", event, told)
		}
	}

	type schedule struct {
		ID            store.ScheduleID
		Name, When    string
		Next          []time.Time
		Paused        bool
		Forced        bool
		JitterSeconds float64
		SpreadSeconds float64
	}
	var v schedule
	p.do("POST", "/schedules", map[string]any{"name": "Weekly", "batch": x.after, "cron": "30 3 * * 1", "zone": "Europe/Berlin", "spreadHours": 12}, 201, &v)
	if v.When != "every Monday at 3:30, Europe/Berlin" || len(v.Next) != nextTimes || v.SpreadSeconds != 12*3600 {
		t.Errorf("%+v", v)
	}
	path := "/schedules/" + string(v.ID)
	p.do("POST", path, map[string]any{"cron": "@daily", "jitterMinutes": 5}, 200, &v)
	if v.Name != "Weekly" || v.When != "every day at 0:00, Europe/Berlin" || v.JitterSeconds != 300 || v.SpreadSeconds != 12*3600 {
		t.Errorf("%+v", v)
	}
	p.do("POST", path+"/pause", nil, 200, &v)
	p.do("POST", path+"/pause", nil, 409, nil)
	if !v.Paused || len(v.Next) != 0 {
		t.Errorf("%+v", v)
	}
	p.do("POST", path+"/resume", nil, 200, &v)
	p.do("POST", path+"/run", nil, 200, &v)
	if v.Paused || !v.Forced {
		t.Errorf("%+v", v)
	}
	webhooksOfTheAPI(t, x, p, path)
	p.do("GET", path, nil, 200, &v)
	var all listOf[schedule]
	p.do("GET", "/schedules", nil, 200, &all)
	if len(all.Items) != 1 {
		t.Errorf("%+v", all)
	}
	var problem Problem
	for field, body := range map[string]map[string]any{"cron": {"cron": "now and then"}, "zone": {"zone": "Mars"}, "name": {"name": ""}, "jitterMinutes": {"jitterMinutes": 24 * 60}} {
		p.do("POST", path, body, 400, &problem)
		if problem.Field != field {
			t.Errorf("%v: %+v", body, problem)
		}
	}
	p.do("POST", "/schedules", map[string]any{"name": "Weekly", "batch": x.after, "cron": "@daily"}, 409, nil)
	p.do("POST", "/schedules", map[string]any{"name": "Other", "cron": "@daily"}, 400, nil)
	p.do("DELETE", path, nil, 204, nil)
	p.do("GET", path, nil, 404, nil)
}

// withoutOperation are patterns that mean something to people or browsers only:
// live numbers, what is open to all who have a link, the sign-in.
var withoutOperation = []string{"GET /events", "GET /share/{secret}", "GET /share/{secret}/{file}", "GET /badge.svg", "GET /signin", "POST /signin", "POST /signout", "GET /static/{hash}/{name}"}

// operationOf are the operations behind pages and forms that have another name.
var operationOf = map[string]string{
	"GET /{$}": "GET /overview", "GET /runs/{run}/{document}": "GET /runs/{run}/report", "GET /new": "POST /batches", "POST /new": "POST /batches", "GET /new/{batch}": "GET /batches/{batch}/entries",
	"GET /badge.json": "GET /badge", "POST /new/{batch}/start": "POST /batches/{batch}/start", "POST /new/{batch}/drop": "DELETE /batches/{batch}", "POST /settings/tokens": "POST /tokens",
	"POST /settings/tokens/{token}/revoke": "DELETE /tokens/{token}", "POST /schedules/{schedule}/remove": "DELETE /schedules/{schedule}", "POST /share": "POST /shares", "POST /webhooks": "POST /batches/{batch}/webhook",
	"POST /schedules/{schedule}/webhook/remove": "DELETE /schedules/{schedule}/webhook", "POST /batches/{batch}/webhook/remove": "DELETE /batches/{batch}/webhook", "POST /shares/{share}/revoke": "DELETE /shares/{share}",
}

// Everything that a page or a form does can be done by a program.
func TestAPIHasWhatPagesHave(t *testing.T) {
	source, err := os.ReadFile("server.go")
	if err != nil {
		t.Fatal(err)
	}
	patterns := regexp.MustCompile(`mux, "((?:GET |POST )?/[^"]+)"|Handle\("(GET /[^"]+)"`).FindAllStringSubmatch(strings.ReplaceAll(string(source), `"+kitName`, kitName+`"`), -1)
	if len(patterns) < 40 {
		t.Fatalf("only %d patterns were found", len(patterns))
	}
	for _, m := range patterns {
		pattern := m[1] + m[2]
		if strings.HasPrefix(pattern, "/") {
			pattern = "POST " + pattern // an action
		}
		operation := pattern
		if other := operationOf[pattern]; other != "" {
			operation = other
		}
		if !slices.Contains(withoutOperation, pattern) && !slices.ContainsFunc(endpoints, func(e endpoint) bool { return e.method+" "+e.path == operation }) {
			t.Errorf("%s has no operation %s", pattern, operation)
		}
	}
}
