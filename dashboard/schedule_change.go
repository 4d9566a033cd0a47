package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"agentaudit/store"
	"agentaudit/worker/producer"
	"agentaudit/worker/schedule"
)

// newScheduleOf reads what a form or a program says of a schedule: fields name,
// cron, zone, jitter (minutes) and spread (hours).
func newScheduleOf(form url.Values) (v store.Schedule, err error) {
	v = store.Schedule{Name: field(form, "name"), Cron: field(form, "cron"), Zone: field(form, "zone")}
	switch {
	case v.Name == "":
		return v, blame("name", badRequest("A schedule needs a name."))
	case len(v.Name) > longestName:
		return v, blame("name", badRequest("The name has at most %d bytes.", longestName))
	}
	for _, f := range []struct {
		name, words string
		unit        time.Duration
		to          *time.Duration
	}{{"jitter", "minutes by which firings are put off", time.Minute, &v.Jitter}, {"spread", "hours over which sites are spread", time.Hour, &v.Spread}} {
		raw := field(form, f.name)
		if raw == "" {
			continue
		}
		n, err := strconv.Atoi(raw)
		if err != nil || n < 0 || n > 10_000 {
			return v, blame(f.name, badRequest("The %s are a whole number up to 10,000, not %.40q.", f.words, raw))
		}
		*f.to = time.Duration(n) * f.unit
	}
	return v, nil
}

// addSchedule keeps a schedule over the sites of a batch.
func (s *Server) addSchedule(ctx context.Context, v store.Schedule, batch string) (*store.Schedule, error) {
	if batch == "" {
		return nil, blame("batch", badRequest("Choose the batch whose sites are to be audited."))
	}
	v.Batch = store.BatchID(batch)
	b, err := s.c.Store.Batch(ctx, v.Batch)
	if errors.Is(err, store.ErrNotFound) {
		return nil, blame("batch", err)
	}
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
	return kept, nameTaken(v.Name, err)
}

// setSchedule gives a schedule another name and other times; what it audits
// stays.
func (s *Server) setSchedule(ctx context.Context, id store.ScheduleID, v store.Schedule) (*store.Schedule, error) {
	v.ID = id
	var err error
	if v.NextDue, v.NextAt, err = s.nextFiring(&v); err != nil {
		return nil, err
	}
	if err := s.c.Write.ChangeSchedule(ctx, v); err != nil {
		return nil, nameTaken(v.Name, err)
	}
	return s.c.Store.Schedule(ctx, id)
}

func nameTaken(name string, err error) error {
	if errors.Is(err, store.ErrConflict) {
		return &HTTPError{Code: 409, Field: "name", Message: fmt.Sprintf("There is a schedule called %s already.", name), Advice: "Choose another name, or remove that one."}
	}
	return err
}

// nextFiring is when a schedule is next due and fires. The error is for whoever
// wrote the expression.
func (s *Server) nextFiring(v *store.Schedule) (due, at time.Time, err error) {
	bad := func(field string, err error) (time.Time, time.Time, error) {
		return due, at, &HTTPError{Code: 400, Field: field, Message: sentence(err.Error()), Err: err}
	}
	if _, err := schedule.Parse(v.Cron, "UTC", 0, v.Name); err != nil {
		return bad("cron", err)
	}
	spec, err := schedule.Of(v)
	if err != nil {
		return bad("zone", err)
	}
	due = spec.Next(s.c.Now())
	if err := spec.Check(s.c.Now()); err != nil && due.IsZero() {
		return bad("cron", err)
	} else if err != nil {
		return bad("jitter", err)
	}
	return due, spec.At(due), nil
}

// newSchedule takes the form of the page.
func (s *Server) newSchedule(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.c.PageTimeout)
	defer cancel()
	q := s.request(r)
	v, err := newScheduleOf(r.PostForm)
	kept := &v
	if err == nil {
		kept, err = s.addSchedule(ctx, v, field(r.PostForm, "batch"))
	}
	if err != nil {
		p, pageErr := schedulesPage(ctx, &Request{Links: q.Links, Now: q.Now}, s.c.Store)
		if pageErr != nil {
			return pageErr
		}
		p.Form = r.PostForm
		return s.again(w, q, err, "schedules", p, "d-")
	}
	s.c.Log.InfoContext(ctx, "schedule kept", "schedule", kept.ID, "user", q.Who.CreatedBy())
	s.goOn(w, r, Done{s.links.Schedules(""), "The schedule was kept; it fires next on " + kept.NextAt.UTC().Format("2 Jan 2006, 15:04 UTC") + "."})
	return nil
}

// changeSchedule takes the form of that page.
func (s *Server) changeSchedule(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.c.PageTimeout)
	defer cancel()
	q := s.request(r)
	p, err := schedulePage(ctx, q, s.c.Store)
	if err != nil {
		return err
	}
	v, err := newScheduleOf(r.PostForm)
	kept := &v
	if err == nil {
		kept, err = s.setSchedule(ctx, p.ID, v)
	}
	if err != nil {
		p.Form = r.PostForm
		return s.again(w, q, err, "schedule", p, "d-")
	}
	s.c.Log.InfoContext(ctx, "schedule changed", "schedule", p.ID, "user", q.Who.CreatedBy())
	s.goOn(w, r, Done{s.links.Schedules(""), "The schedule was changed; it fires next on " + kept.NextAt.UTC().Format("2 Jan 2006, 15:04 UTC") + "."})
	return nil
}
