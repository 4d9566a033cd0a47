package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"agentaudit/store"
)

// apiSchedule is a schedule with its next times.
type apiSchedule struct{ ScheduleLine }

// MarshalJSON is the schedule as it is kept, with members for what the page says
// of it.
func (v apiSchedule) MarshalJSON() ([]byte, error) {
	kept, err := json.Marshal(v.Schedule)
	if err != nil {
		return nil, err
	}
	next := v.Next
	if next == nil {
		next = []time.Time{}
	}
	more, err := json.Marshal(struct {
		When    string      `json:"when"`
		Next    []time.Time `json:"next"`
		Overdue bool        `json:"overdue"`
		WasLate bool        `json:"wasLate"`
	}{v.When, next, v.Overdue, v.WasLate})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s,%s", bytes.TrimSuffix(kept, []byte("}")), bytes.TrimPrefix(more, []byte("{"))), nil
}

func (r *apiRequest) schedule(v *store.Schedule) apiSchedule {
	return apiSchedule{newScheduleLine(*v, r.Now)}
}

func apiListSchedules(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	list, err := s.c.Store.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]apiSchedule, len(list))
	for i := range list {
		items[i] = r.schedule(&list[i])
	}
	return pageOf(items, ""), nil
}

func apiGetSchedule(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	v, err := s.c.Store.Schedule(ctx, store.ScheduleID(r.Path("schedule")))
	if err != nil {
		return nil, err
	}
	return r.schedule(v), nil
}

// apiTimes are when a schedule fires. What is not given stays as it is.
type apiTimes struct {
	Name          *string `json:"name"`
	Cron          *string `json:"cron"`
	Zone          *string `json:"zone"`
	JitterMinutes *int    `json:"jitterMinutes"`
	SpreadHours   *int    `json:"spreadHours"`
}

// form is the times as the form of the page would send them, over what was
// there before.
func (t apiTimes) form(before url.Values) url.Values {
	for _, x := range []struct {
		name string
		text *string
		n    *int
	}{{"name", t.Name, nil}, {"cron", t.Cron, nil}, {"zone", t.Zone, nil}, {"jitter", nil, t.JitterMinutes}, {"spread", nil, t.SpreadHours}} {
		switch {
		case x.text != nil:
			before.Set(x.name, *x.text)
		case x.n != nil:
			before.Set(x.name, strconv.Itoa(*x.n))
		}
	}
	return before
}

func apiCreateSchedule(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	var in struct {
		apiTimes
		Batch string `json:"batch"`
	}
	if err := r.body(&in); err != nil {
		return nil, err
	}
	v, err := newScheduleOf(in.form(url.Values{"zone": {"UTC"}}))
	if err != nil {
		return nil, err
	}
	kept, err := s.addSchedule(ctx, v, in.Batch)
	if err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "schedule kept", "schedule", kept.ID, "user", r.Who.CreatedBy())
	r.location = s.links.base + apiPath + "/schedules/" + url.PathEscape(string(kept.ID))
	return r.schedule(kept), nil
}

func apiChangeSchedule(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	var in apiTimes
	if err := r.body(&in); err != nil {
		return nil, err
	}
	p, err := schedulePage(ctx, r.Request, s.c.Store)
	if err != nil {
		return nil, err
	}
	v, err := newScheduleOf(in.form(p.Form))
	if err != nil {
		return nil, err
	}
	kept, err := s.setSchedule(ctx, p.ID, v)
	if err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "schedule changed", "schedule", p.ID, "user", r.Who.CreatedBy())
	return r.schedule(kept), nil
}

// apiOnSchedule serves an action on a schedule, which answers with the schedule.
func apiOnSchedule(what string, f func(*Server, context.Context, store.ScheduleID) error) func(context.Context, *Server, *apiRequest) (any, error) {
	return func(ctx context.Context, s *Server, r *apiRequest) (any, error) {
		if err := f(s, ctx, store.ScheduleID(r.Path("schedule"))); err != nil {
			return nil, err
		}
		s.c.Log.InfoContext(ctx, "schedule steered", "schedule", r.Path("schedule"), "what", what, "user", r.Who.CreatedBy())
		return apiGetSchedule(ctx, s, r)
	}
}

func apiRemoveSchedule(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	err := s.removeSchedule(ctx, store.ScheduleID(r.Path("schedule")))
	if err == nil {
		s.c.Log.InfoContext(ctx, "schedule steered", "schedule", r.Path("schedule"), "what", "removed", "user", r.Who.CreatedBy())
	}
	return nil, err
}

// timesFields are the members of [apiTimes] that are called otherwise in forms.
var timesFields = map[string]string{"jitter": "jitterMinutes", "spread": "spreadHours"}

// scheduleEndpoints are the operations on schedules.
var scheduleEndpoints = []endpoint{
	{method: "GET", path: "/schedules", need: reading, summary: "All schedules by name, with their next times", status: 200, answer: "SchedulePage", do: apiListSchedules},
	{method: "POST", path: "/schedules", need: writing, summary: "Audit the sites of a batch again and again", body: "NewSchedule", fields: timesFields, status: http.StatusCreated, answer: "Schedule", do: apiCreateSchedule},
	{method: "GET", path: "/schedules/{schedule}", need: reading, summary: "One schedule: its next times, and how late it was", status: 200, answer: "Schedule", do: apiGetSchedule},
	{method: "POST", path: "/schedules/{schedule}", need: writing, summary: "Change the name or the times of a schedule; what is not given stays", body: "Times", fields: timesFields, status: 200, answer: "Schedule", do: apiChangeSchedule},
	{method: "DELETE", path: "/schedules/{schedule}", need: writing, summary: "Remove a schedule; its batches stay", status: http.StatusNoContent, do: apiRemoveSchedule},
	{method: "POST", path: "/schedules/{schedule}/pause", need: writing, summary: "Let a schedule rest", status: 200, answer: "Schedule", do: apiOnSchedule("paused", (*Server).pauseSchedule)},
	{method: "POST", path: "/schedules/{schedule}/resume", need: writing, summary: "Go on with a schedule that rests; what was due meanwhile is not made up for", status: 200, answer: "Schedule", do: apiOnSchedule("resumed", (*Server).resumeSchedule)},
	{method: "POST", path: "/schedules/{schedule}/run", need: writing, summary: "Fire a schedule as soon as a scheduler looks", status: 200, answer: "Schedule", do: apiOnSchedule("run", (*Server).fireSchedule)},
}
