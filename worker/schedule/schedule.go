package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"agentaudit/fetch"
	"agentaudit/store"
	"agentaudit/worker/listing"
	"agentaudit/worker/producer"
)

// Store is what schedules are kept in; *store.Store is one. Errors are those of
// package store.
type Store interface {
	producer.Intaker
	AbandonIntake(ctx context.Context, id store.BatchID, note string) error
	producer.Lister
	listing.Store
	DueSchedules(ctx context.Context) ([]store.Schedule, error)
	Fire(ctx context.Context, f *store.Firing) (*store.Batch, error)
	RenewFiring(ctx context.Context, f *store.Firing) error
	ReleaseFiring(ctx context.Context, f *store.Firing) error
	EndFiring(ctx context.Context, f *store.Firing, trouble string) error
	SpreadRuns(ctx context.Context, id store.BatchID, over time.Duration) error
	SealBatch(ctx context.Context, id store.BatchID) (*store.Batch, error)
}

// LateAfter is how much later than planned a firing may be before it counts as
// late.
const LateAfter = time.Minute

// Config is what a scheduler is made of; only Store has no usable zero value.
type Config struct {
	Store Store
	// Client reads listing APIs, for schedules that go by one; without it such a
	// schedule says that it cannot be read.
	Client *fetch.Client
	// Every is how often due schedules are looked for; 0 is 5 s.
	Every time.Duration
	// Lease is how long the reading of a list holds without a sign of life; 0
	// is one minute.
	Lease time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log hears of firings; nil is silence.
	Log *slog.Logger
	// Fired, if not nil, hears of every firing when its batch is there.
	Fired func(Fired)
}

// Fired is a firing that was done.
type Fired struct {
	Schedule store.ScheduleID
	Batch    store.BatchID
	Due      time.Time
	Late     time.Duration
}

// Scheduler fires schedules.
type Scheduler struct {
	c       Config
	places  chan struct{} // taken by each list that is read
	reading sync.WaitGroup
}

// mostReading is how many lists are read at the same time.
const mostReading = 8

// New makes a scheduler.
func New(c Config) *Scheduler {
	if c.Every <= 0 {
		c.Every = 5 * time.Second
	}
	if c.Lease <= 0 {
		c.Lease = time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{c: c, places: make(chan struct{}, mostReading)}
}

// Run fires what is due until ctx ends; then it returns nil. Trouble with the
// store is logged, and tried again.
func (s *Scheduler) Run(ctx context.Context) error {
	defer s.reading.Wait()
	for {
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.c.Log.WarnContext(ctx, "schedules not looked at", "err", err)
		}
		// Not all processes at the same moment.
		t := time.NewTimer(s.c.Every - rand.N(s.c.Every/5+1))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

// Step fires what is due now, and returns when the lists are read.
func (s *Scheduler) Step(ctx context.Context) error {
	err := s.look(ctx)
	s.reading.Wait()
	return err
}

// look fires what is due now. Lists are read beside each other: one that comes
// slowly, such as an API that asks for patience, holds up no other.
func (s *Scheduler) look(ctx context.Context) error {
	due, err := s.c.Store.DueSchedules(ctx)
	if err != nil {
		return err
	}
	for i := range due {
		v := &due[i]
		select {
		case s.places <- struct{}{}:
		default:
			return nil // as many as may be are under way; the rest stays due
		}
		s.reading.Go(func() {
			defer func() { <-s.places }()
			if err := s.fire(ctx, v); err != nil && ctx.Err() == nil {
				s.c.Log.ErrorContext(ctx, "a schedule did not fire", "schedule", v.Name, "err", err)
			}
		})
	}
	return nil
}

func (s *Scheduler) fire(ctx context.Context, v *store.Schedule) error {
	spec, err := Of(v)
	if err != nil {
		return err
	}
	now := s.c.Now()
	f := &store.Firing{Schedule: v, Lease: s.c.Lease, Due: v.LastDue, Late: v.Late}
	if !v.Filling {
		t := spec.turn(v, now)
		f.Due, f.Missed, f.NextDue, f.NextAt = t.due, t.missed, t.nextDue, t.nextAt
		if !v.Forced {
			f.Late = now.Sub(spec.At(t.due))
		}
	}
	b, err := s.c.Store.Fire(ctx, f)
	if errors.Is(err, store.ErrStale) {
		return nil // another scheduler has it
	}
	if err != nil {
		return err
	}
	log := s.c.Log.With("schedule", v.Name, "batch", b.ID, "due", f.Due)
	switch {
	case v.Filling:
		log.WarnContext(ctx, "a firing that was cut short begins anew")
	case f.Missed > 0:
		log.WarnContext(ctx, "schedule fires late, and earlier times were missed", "late", f.Late, "missed", f.Missed)
	case f.Late > LateAfter:
		log.WarnContext(ctx, "schedule fires late", "late", f.Late)
	default:
		log.InfoContext(ctx, "schedule fires")
	}
	return s.fill(ctx, f, b, log)
}

// fill reads the list into the batch and hands it to the workers.
func (s *Scheduler) fill(ctx context.Context, f *store.Firing, b *store.Batch, log *slog.Logger) error {
	held, letGo := s.hold(ctx, f)
	defer letGo()
	err := s.read(held, f.Schedule, b)
	if err == nil && f.Schedule.Spread > 0 {
		err = s.c.Store.SpreadRuns(held, b.ID, f.Schedule.Spread)
	}
	if err == nil {
		b, err = s.c.Store.SealBatch(held, b.ID)
	}
	if cause := context.Cause(held); err != nil && cause != nil {
		err = cause
	}
	letGo()
	// What follows is done also when the process stops.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	bad, isList := errors.AsType[*producer.ListError](err)
	switch {
	case err == nil:
		if s.c.Fired != nil {
			s.c.Fired(Fired{f.Schedule.ID, b.ID, f.Due, f.Late})
		}
		return s.c.Store.EndFiring(end, f, "")
	case isList || errors.Is(err, errSource):
		trouble := "its list could not be read"
		if isList {
			trouble = store.PlainText(bad.Error())
		}
		undone := errors.Join(s.c.Store.AbandonIntake(end, b.ID, trouble), s.c.Store.EndFiring(end, f, trouble))
		log.ErrorContext(ctx, "the list of a schedule cannot be read; it is tried again when it next fires", "err", store.PlainText(err.Error()))
		return undone
	}
	// The store was in trouble, or the process stops: the next one begins anew.
	_ = s.c.Store.ReleaseFiring(end, f) // or the lease ends
	return err
}

// hold keeps a firing while its list is read. The context ends when others have
// taken the firing over.
func (s *Scheduler) hold(ctx context.Context, f *store.Firing) (held context.Context, letGo func()) {
	held, end := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(s.c.Lease / 4)
		defer t.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-t.C:
			}
			switch err := s.c.Store.RenewFiring(held, f); {
			case errors.Is(err, store.ErrStale):
				end(err)
			case err != nil && held.Err() == nil:
				s.c.Log.WarnContext(ctx, "a firing could not be held on to; others may begin it anew", "schedule", f.Schedule.Name, "err", err)
			}
		}
	}()
	return held, func() {
		end(nil)
		<-done
	}
}

// errSource says that the batch a schedule goes by cannot be read.
var errSource = errors.New("the batch of the schedule cannot be read")

func (s *Scheduler) read(ctx context.Context, v *store.Schedule, b *store.Batch) error {
	if v.Batch != "" {
		_, err := producer.Copy(ctx, s.sitesOf(ctx, v.Batch), s.c.Store, b.ID)
		return err
	}
	var o producer.Options
	if err := json.Unmarshal(v.Options, &o); err != nil {
		return &producer.ListError{Err: fmt.Errorf("the options of the schedule cannot be read: %w", err)}
	}
	if o.List.From != "" {
		return s.listing(ctx, o.List, b.ID)
	}
	_, err := producer.Fill(ctx, s.c.Store, b.ID, o.List.Inputs(nil), o.List.Read, nil)
	return err
}

// listing reads a listing API. One that cannot be read to its end is a list
// that cannot be read: it is tried again when the schedule next fires.
func (s *Scheduler) listing(ctx context.Context, l producer.List, id store.BatchID) error {
	source, err := listing.ParseSource(l.From)
	if err == nil && s.c.Client == nil {
		err = errors.New("this process reads no listing APIs")
	}
	if err == nil {
		_, err = listing.Fill(ctx, s.c.Store, id, listing.Config{Source: source, Client: s.c.Client, Read: l.Read, WriteBack: l.WriteBack})
	}
	_, page := errors.AsType[*listing.PageError](err)
	_, shape := errors.AsType[*listing.ShapeError](err)
	if err != nil && (page || shape || source == (listing.Source{}) || s.c.Client == nil) {
		return &producer.ListError{Err: fmt.Errorf("cannot read %s: %w", store.PlainSource(l.From), err)}
	}
	return err
}

// sitesOf are the lines of the batch that a schedule goes by; one that is not
// there is errSource.
func (s *Scheduler) sitesOf(ctx context.Context, id store.BatchID) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		for line, err := range producer.Entries(ctx, s.c.Store, id) {
			if errors.Is(err, store.ErrNotFound) {
				err = fmt.Errorf("%w: %w", errSource, err)
			}
			if !yield(line, err) {
				return
			}
		}
	}
}
