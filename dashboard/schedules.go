package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agentaudit/store"
	"agentaudit/worker/producer"
	"agentaudit/worker/schedule"
)

// SchedulesPage lists what is audited again and again, and takes new ones.
type SchedulesPage struct {
	Frame
	Schedules []ScheduleLine
	// Choices are batches whose sites can be audited by a schedule.
	Choices []store.Batch
	// Form is what the fields hold at first.
	Form url.Values
}

// ScheduleLine is one schedule.
type ScheduleLine struct {
	store.Schedule
	// When says in words when it fires, Next are its next times.
	When string
	Next []time.Time
	// Overdue says that it should have fired and nobody did it; WasLate that
	// the last firing came late.
	Overdue, WasLate bool
}

const (
	// nextTimes is how many times of a schedule are told.
	nextTimes = 3
	// overdue is how long after its time a firing may be before something is
	// wrong.
	overdue = 2 * time.Minute
)

func schedulesPage(ctx context.Context, r *Request, read Reader) (*SchedulesPage, error) {
	if err := r.Only("batch"); err != nil {
		return nil, err
	}
	p := &SchedulesPage{Frame: Frame{Title: "Schedules", Section: "schedules"}}
	p.Form = url.Values{"batch": {r.Query.Get("batch")}, "cron": {"@weekly"}, "zone": {"UTC"}}
	list, err := read.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		p.Schedules = append(p.Schedules, newScheduleLine(list[i], r.Now))
	}
	batches, err := read.Batches(ctx, "", 50)
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		if b.Runs > 0 && b.State != store.StateIntake {
			p.Choices = append(p.Choices, b)
		}
	}
	return p, nil
}

func newScheduleLine(v store.Schedule, now time.Time) ScheduleLine {
	l := ScheduleLine{Schedule: v, When: cronWords(v.Cron, v.Zone), WasLate: v.Late > schedule.LateAfter}
	l.Overdue = !v.Paused && !v.NextAt.IsZero() && now.Sub(v.NextAt) > overdue
	spec, err := schedule.Of(&v)
	if err != nil || v.Paused {
		return l
	}
	for t := v.NextDue; !t.IsZero() && len(l.Next) < nextTimes; t = spec.Next(t) {
		l.Next = append(l.Next, spec.At(t))
	}
	return l
}

// Value is what a field of the form holds at first.
func (p *SchedulesPage) Value(name string) string { return p.Form.Get(name) }

// cronWords says a cron expression in words where it is a usual one.
func cronWords(cron, zone string) string {
	words := map[string]string{"@hourly": "every hour", "@daily": "every day at 0:00", "@midnight": "every day at 0:00", "@weekly": "every Sunday at 0:00",
		"@monthly": "on day 1 of every month at 0:00", "@yearly": "on 1 January at 0:00", "@annually": "on 1 January at 0:00"}[cron]
	if f := strings.Fields(cron); words == "" && len(f) == 5 && f[3] == "*" {
		hour, err1 := strconv.Atoi(f[1])
		minute, err2 := strconv.Atoi(f[0])
		clock := fmt.Sprintf("%d:%02d", hour, minute)
		day, err := strconv.Atoi(f[4])
		switch {
		case err1 != nil || err2 != nil:
		case f[2] == "*" && f[4] == "*":
			words = "every day at " + clock
		case f[2] == "*" && err == nil && day >= 0 && day <= 7:
			words = "every " + time.Weekday(day%7).String() + " at " + clock
		case f[4] == "*":
			if n, err := strconv.Atoi(f[2]); err == nil {
				words = fmt.Sprintf("on day %d of every month at %s", n, clock)
			}
		}
	}
	if words == "" {
		words = "at " + cron
	}
	return words + ", " + zone
}

// addSchedule keeps a schedule over the sites of a batch: fields name, batch,
// cron, zone, jitter (minutes) and spread (hours).
func (s *Server) addSchedule(ctx context.Context, form url.Values) (*store.Schedule, error) {
	v := store.Schedule{Name: field(form, "name"), Cron: field(form, "cron"), Zone: field(form, "zone"), Batch: store.BatchID(field(form, "batch"))}
	switch {
	case v.Name == "":
		return nil, badRequest("A schedule needs a name.")
	case len(v.Name) > longestName:
		return nil, badRequest("The name has at most %d bytes.", longestName)
	case v.Batch == "":
		return nil, badRequest("Choose the batch whose sites are to be audited.")
	}
	for _, f := range []struct {
		name string
		unit time.Duration
		to   *time.Duration
	}{{"jitter", time.Minute, &v.Jitter}, {"spread", time.Hour, &v.Spread}} {
		raw := field(form, f.name)
		if raw == "" {
			continue
		}
		n, err := strconv.Atoi(raw)
		if err != nil || n < 0 || n > 10_000 {
			return nil, badRequest("The field %s is a whole number up to 10,000, not %.40q.", f.name, raw)
		}
		*f.to = time.Duration(n) * f.unit
	}
	b, err := s.c.Store.Batch(ctx, v.Batch)
	if err != nil {
		return nil, err
	}
	old, err := producer.OptionsOf(b)
	if err != nil {
		return nil, err
	}
	if v.Options, err = json.Marshal(producer.Options{Options: old.Options}); err != nil {
		return nil, err
	}
	v.Sources = []string{"the sites of batch " + string(b.ID)}
	if v.NextDue, v.NextAt, err = s.nextFiring(&v); err != nil {
		return nil, err
	}
	kept, err := s.c.Write.AddSchedule(ctx, v)
	if errors.Is(err, store.ErrConflict) {
		return nil, &HTTPError{Code: 409, Message: fmt.Sprintf("There is a schedule called %s already.", v.Name), Advice: "Choose another name, or remove that one."}
	}
	return kept, err
}

// nextFiring is when a schedule is next due and fires. The error is for whoever
// wrote the expression.
func (s *Server) nextFiring(v *store.Schedule) (due, at time.Time, err error) {
	spec, err := schedule.Of(v)
	if err == nil {
		err = spec.Check(s.c.Now())
	}
	if err != nil {
		return due, at, &HTTPError{Code: 400, Message: sentence(err.Error()), Err: err}
	}
	due = spec.Next(s.c.Now())
	return due, spec.At(due), nil
}

func (s *Server) newSchedule(ctx context.Context, r *Request, form url.Values) (Done, error) {
	v, err := s.addSchedule(ctx, form)
	if err != nil {
		return Done{}, err
	}
	s.c.Log.InfoContext(ctx, "schedule kept", "schedule", v.ID, "user", r.Who.CreatedBy())
	return Done{s.links.Schedules(""), "The schedule was kept; it fires next on " + v.NextAt.UTC().Format("2 Jan 2006, 15:04 UTC") + "."}, nil
}

// onSchedule makes an action on the schedule of the path.
func (s *Server) onSchedule(notice string, f func(ctx context.Context, id store.ScheduleID) error) func(context.Context, *Request, url.Values) (Done, error) {
	return func(ctx context.Context, r *Request, _ url.Values) (Done, error) {
		id := store.ScheduleID(r.Path("schedule"))
		if err := f(ctx, id); err != nil {
			return Done{}, err
		}
		s.c.Log.InfoContext(ctx, "schedule steered", "schedule", id, "what", notice, "user", r.Who.CreatedBy())
		return Done{s.links.Schedules(""), notice}, nil
	}
}

func (s *Server) pauseSchedule(ctx context.Context, id store.ScheduleID) error {
	return s.c.Write.PauseSchedule(ctx, id)
}

func (s *Server) fireSchedule(ctx context.Context, id store.ScheduleID) error {
	return s.c.Write.FireScheduleNow(ctx, id)
}

func (s *Server) removeSchedule(ctx context.Context, id store.ScheduleID) error {
	return s.c.Write.RemoveSchedule(ctx, id)
}

func (s *Server) resumeSchedule(ctx context.Context, id store.ScheduleID) error {
	v, err := s.c.Store.Schedule(ctx, id)
	if err != nil {
		return err
	}
	due, at, err := s.nextFiring(v)
	if err != nil {
		return err
	}
	return s.c.Write.ResumeSchedule(ctx, id, due, at)
}
