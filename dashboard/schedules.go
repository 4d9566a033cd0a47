package dashboard

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"agentaudit/store"
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

// SchedulePage changes one schedule.
type SchedulePage struct {
	Frame
	ScheduleLine
	Form url.Values
}

// Value is what a field of the form holds at first.
func (p *SchedulePage) Value(name string) string { return p.Form.Get(name) }

// Hook is where the ends of its batches are told, without what may be secret in
// the address, "" for nowhere.
func (l ScheduleLine) Hook() string {
	if l.Webhook == nil {
		return ""
	}
	return l.Webhook.URL
}

func schedulePage(ctx context.Context, r *Request, read Reader) (*SchedulePage, error) {
	if err := r.Only(); err != nil {
		return nil, err
	}
	v, err := read.Schedule(ctx, store.ScheduleID(r.Path("schedule")))
	if err != nil {
		return nil, err
	}
	p := &SchedulePage{Frame: Frame{Title: v.Name, Section: "schedules"}, ScheduleLine: newScheduleLine(*v, r.Now)}
	p.Form = url.Values{"name": {v.Name}, "cron": {v.Cron}, "zone": {v.Zone}}
	if v.Jitter > 0 {
		p.Form.Set("jitter", strconv.FormatInt(int64(v.Jitter/time.Minute), 10))
	}
	if v.Spread > 0 {
		p.Form.Set("spread", strconv.FormatInt(int64(v.Spread/time.Hour), 10))
	}
	return p, nil
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
