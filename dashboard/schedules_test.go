package dashboard

import (
	"testing"
	"time"

	"agentaudit/store"
)

func TestSchedules(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now})
	v := visit(t, s)
	has(t, v.page("/schedules"), "main p", "Nothing is audited again by itself yet.")
	if got := attr(find(v.page("/schedules?batch="+string(x.before)), "#d-batch option[selected]")[0], "value"); got != string(x.before) {
		t.Errorf("the form proposes %s", got)
	}
	v.do("/schedules", "name", "Weekly", "batch", string(x.after), "cron", "30 3 * * 1", "zone", "Europe/Berlin", "jitter", "", "spread", "12")
	doc := v.page("/schedules")
	has(t, doc, ".notice", "The schedule was kept; it fires next on 7 Dec 2026, 02:30 UTC.")
	has(t, doc, "tbody th", "Weekly every Monday at 3:30, Europe/Berlin; the sites of "+string(x.after))
	has(t, doc, "tbody td", "7 Dec 2026, 02:30 UTC14 Dec 2026, 02:30 UTC21 Dec 2026, 02:30 UTC")
	list, err := x.Schedules(t.Context())
	if err != nil || len(list) != 1 || list[0].Batch != x.after || list[0].Spread != 12*time.Hour {
		t.Fatalf("schedules %+v, %v", list, err)
	}
	path := "/schedules/" + string(list[0].ID)
	v.do(path + "/pause")
	has(t, v.page("/schedules"), "tbody td", "not before it is resumed")
	v.do(path + "/resume")
	v.do(path + "/run")
	has(t, v.page("/schedules"), "tbody td", "as soon as a scheduler looks")
	if due, err := x.DueSchedules(t.Context()); err != nil || len(due) != 1 {
		t.Errorf("due are %+v, %v", due, err)
	}
	x.clock.Add(10 * time.Minute)
	has(t, v.page("/schedules"), "tbody th .state", "overdue")
	v.do(path + "/remove")
	if res, _ := v.post(path + "/remove"); res.StatusCode != 404 {
		t.Errorf("removed twice: %d", res.StatusCode)
	}
	for _, c := range []struct {
		fields []string
		status int
	}{
		{[]string{"batch", string(x.after), "cron", "@daily", "zone", "UTC"}, 400},
		{[]string{"name", "x", "cron", "@daily", "zone", "UTC"}, 400},
		{[]string{"name", "x", "batch", "xyz", "cron", "@daily", "zone", "UTC"}, 404},
		{[]string{"name", "x", "batch", string(x.after), "cron", "every day", "zone", "UTC"}, 400},
		{[]string{"name", "x", "batch", string(x.after), "cron", "@daily", "zone", "Mars"}, 400},
		{[]string{"name", "x", "batch", string(x.after), "cron", "@daily", "zone", "UTC", "spread", "-1"}, 400},
		{[]string{"name", "x", "batch", string(x.after), "cron", "@hourly", "zone", "UTC", "jitter", "60"}, 400},
	} {
		if res, body := v.post("/schedules", c.fields...); res.StatusCode != c.status {
			t.Errorf("%q: %d %s", c.fields, res.StatusCode, text(find(parsed(t, body), "main")[0]))
		}
	}
}

func TestAFiringThatCameLateIsFlagged(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	v := store.Schedule{Name: "x", Cron: "@daily", Zone: "UTC", NextDue: now.Add(time.Hour), NextAt: now.Add(time.Hour), Late: 3 * time.Hour}
	if l := newScheduleLine(v, now); !l.WasLate || l.Overdue || len(l.Next) != nextTimes {
		t.Errorf("%+v", l)
	}
	v.Late = time.Second
	if l := newScheduleLine(v, now.Add(2*time.Hour)); l.WasLate || !l.Overdue {
		t.Errorf("%+v", l)
	}
	v.Paused = true
	if l := newScheduleLine(v, now.Add(2*time.Hour)); l.Overdue || len(l.Next) > 0 {
		t.Errorf("%+v", l)
	}
}
