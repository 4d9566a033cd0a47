package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"agentaudit/store"
	"agentaudit/worker/producer"
)

// Store is what schedules are kept in; *store.Store is one. Errors are those of
// package store.
type Store interface {
	producer.Intaker
	producer.Dropper
	DueSchedules(ctx context.Context) ([]store.Schedule, error)
	Fire(ctx context.Context, f *store.Firing) (*store.Batch, error)
	RenewFiring(ctx context.Context, f *store.Firing) error
	ReleaseFiring(ctx context.Context, f *store.Firing) error
	EndFiring(ctx context.Context, f *store.Firing, trouble string) error
	Entries(ctx context.Context, id store.BatchID, after int64, limit int) ([]store.Entry, error)
	SpreadRuns(ctx context.Context, id store.BatchID, over time.Duration) error
	SealBatch(ctx context.Context, id store.BatchID) (*store.Batch, error)
}

// LateAfter is how much later than planned a firing may be before it counts as
// late.
const LateAfter = time.Minute

// Config is what a scheduler is made of; only Store has no usable zero value.
type Config struct {
	Store Store
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
type Scheduler struct{ c Config }

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
	return &Scheduler{c}
}

// Run fires what is due until ctx ends; then it returns nil. Trouble with the
// store is logged, and tried again.
func (s *Scheduler) Run(ctx context.Context) error {
	for {
		if err := s.Step(ctx); err != nil && ctx.Err() == nil {
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

// Step fires what is due now.
func (s *Scheduler) Step(ctx context.Context) error {
	due, err := s.c.Store.DueSchedules(ctx)
	if err != nil {
		return err
	}
	for i := range due {
		if err := s.fire(ctx, &due[i]); err != nil {
			if ctx.Err() != nil {
				return err
			}
			s.c.Log.ErrorContext(ctx, "a schedule did not fire", "schedule", due[i].Name, "err", err)
		}
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
	renewed := s.c.Now()
	alive := func() error {
		if now := s.c.Now(); now.Sub(renewed) > s.c.Lease/4 {
			renewed = now
			return s.c.Store.RenewFiring(ctx, f)
		}
		return nil
	}
	err := s.read(ctx, f.Schedule, b, alive)
	if err == nil && f.Schedule.Spread > 0 {
		err = s.c.Store.SpreadRuns(ctx, b.ID, f.Schedule.Spread)
	}
	if err == nil {
		b, err = s.c.Store.SealBatch(ctx, b.ID)
	}
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
			trouble = bad.Error()
		}
		log.ErrorContext(ctx, "the list of a schedule cannot be read; it is tried again when it next fires", "err", err)
		return errors.Join(producer.Drop(end, s.c.Store, b.ID, trouble), s.c.Store.EndFiring(end, f, trouble))
	}
	// The store was in trouble, or the process stops: the next one begins anew.
	_ = s.c.Store.ReleaseFiring(end, f) // or the lease ends
	return err
}

// errSource says that the batch a schedule goes by cannot be read.
var errSource = errors.New("the batch of the schedule cannot be read")

func (s *Scheduler) read(ctx context.Context, v *store.Schedule, b *store.Batch, alive func() error) error {
	if v.Batch != "" {
		return s.copyEntries(ctx, v.Batch, b.ID, alive)
	}
	var o producer.Options
	if err := json.Unmarshal(v.Options, &o); err != nil {
		return &producer.ListError{Err: fmt.Errorf("the options of the schedule cannot be read: %w", err)}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	_, err := producer.Fill(ctx, s.c.Store, b.ID, o.List.Inputs(nil), o.List.Read, func(producer.Counts) {
		if err := alive(); err != nil {
			stop(err)
		}
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return err
}

// copyEntries takes the sites of one batch into another, with all that their
// list said of them.
func (s *Scheduler) copyEntries(ctx context.Context, from, to store.BatchID, alive func() error) error {
	const atOnce = 2000
	for after := int64(0); ; {
		entries, err := s.c.Store.Entries(ctx, from, after, atOnce)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: %w", errSource, err)
		}
		if err != nil || len(entries) == 0 {
			return err
		}
		lines := make([]store.Line, len(entries))
		for i, e := range entries {
			lines[i] = store.Line{Number: e.Line, Input: e.Input, Target: e.Target, Readme: e.Readme, ID: e.ID, Label: e.Label, Tags: e.Tags, Notes: e.Notes}
		}
		if _, err := s.c.Store.AddLines(ctx, to, lines); err != nil {
			return err
		}
		after = entries[len(entries)-1].N
		if err := alive(); err != nil {
			return err
		}
	}
}
