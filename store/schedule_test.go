package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// Of many who see a schedule due one gets the firing; who holds it can renew
// and end it, and nobody who was overtaken can.
func testSchedules(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	day := 24 * time.Hour
	hook := &store.Webhook{URL: "https://chat.example/hook", Regressed: true, MinPercent: 2.5, Settle: day}
	v, err := s.AddSchedule(ctx, store.Schedule{Name: "daily", Cron: "0 3 * * *", Zone: "UTC", Jitter: time.Minute, Spread: time.Hour, Sources: []string{"a", "b"},
		Options: []byte(`{"x":1}`), Webhook: hook, NextDue: clock.Now().Add(day), NextAt: clock.Now().Add(day + time.Second)})
	if err != nil || v.Jitter != time.Minute || v.Spread != time.Hour || string(v.Options) != `{"x":1}` || len(v.Sources) != 2 || v.NextAt.Sub(v.NextDue) != time.Second || v.Paused || !v.LastAt.IsZero() {
		t.Fatalf("%+v, %v", v, err)
	}
	if due, err := s.DueSchedules(ctx); err != nil || len(due) != 0 {
		t.Fatalf("%+v is due a day before, %v", due, err)
	}
	clock.Add(day + time.Minute)
	due, err := s.DueSchedules(ctx)
	if err != nil || len(due) != 1 {
		t.Fatalf("%+v, %v", due, err)
	}
	var won atomic.Pointer[store.Firing]
	var wins, lost atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			seen := due[0]
			f := &store.Firing{Schedule: &seen, Due: seen.NextDue, Late: time.Minute, Missed: 2, NextDue: seen.NextDue.Add(day), NextAt: seen.NextAt.Add(day), Lease: time.Minute}
			switch b, err := s.Fire(ctx, f); {
			case errors.Is(err, store.ErrStale):
				lost.Add(1)
			case err != nil || b.State != store.StateIntake || b.Name != "daily":
				t.Errorf("%+v, %v", b, err)
			default:
				wins.Add(1)
				won.Store(f)
			}
		})
	}
	wg.Wait()
	if all, err := s.Batches(ctx, "", 10); wins.Load() != 1 || lost.Load() != 7 || err != nil || len(all) != 1 {
		t.Fatalf("%d firings, %d lost, %d batches, %v", wins.Load(), lost.Load(), len(all), err)
	}
	first := won.Load()
	// The lease is renewed, and ends.
	clock.Add(50 * time.Second)
	if err := s.RenewFiring(ctx, first); err != nil {
		t.Fatal(err)
	}
	clock.Add(50 * time.Second)
	if due, err := s.DueSchedules(ctx); err != nil || len(due) != 0 {
		t.Fatalf("%+v is due while its firing is held, %v", due, err)
	}
	clock.Add(time.Minute)
	if due, err = s.DueSchedules(ctx); err != nil || len(due) != 1 || !due[0].Filling || due[0].Missed != 2 || due[0].Late != time.Minute {
		t.Fatalf("%+v, %v", due, err)
	}
	old := due[0].LastBatch
	second := &store.Firing{Schedule: &due[0], Lease: time.Minute}
	b, err := s.Fire(ctx, second)
	if err != nil || b.ID == old {
		t.Fatalf("%+v, %v", b, err)
	}
	if got, err := s.WebhookOf(ctx, b.ID); err != nil || *got != *hook {
		t.Errorf("the batch has the webhook %+v, %v", got, err)
	}
	if _, err := s.WebhookOf(ctx, old); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a batch that was removed has a webhook: %v", err)
	}
	if _, err := s.Batch(ctx, old); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the batch of the firing that was cut short is there: %v", err)
	}
	for what, err := range map[string]error{"renew": s.RenewFiring(ctx, first), "release": s.ReleaseFiring(ctx, first), "end": s.EndFiring(ctx, first, "")} {
		if !errors.Is(err, store.ErrStale) {
			t.Errorf("who was overtaken could %s the firing: %v", what, err)
		}
	}
	// Steering while the list is read hurts nobody.
	if err := s.PauseSchedule(ctx, v.ID); err != nil {
		t.Error(err)
	}
	if err := s.FireScheduleNow(ctx, v.ID); !errors.Is(err, store.ErrConflict) {
		t.Errorf("fired while its list is read: %v", err)
	}
	var lines []store.Line
	for i, target := range storetest.Targets(4) {
		lines = append(lines, store.Line{Number: int64(i + 1), Input: target, Target: target})
	}
	if _, err := s.AddLines(ctx, b.ID, lines); err != nil {
		t.Fatal(err)
	}
	if err := s.SpreadRuns(ctx, b.ID, 4*time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SealBatch(ctx, b.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.SpreadRuns(ctx, b.ID, time.Hour); !errors.Is(err, store.ErrConflict) {
		t.Errorf("spread what is under way: %v", err)
	}
	if err := s.EndFiring(ctx, second, "why"); err != nil {
		t.Fatal(err)
	}
	now, err := s.Schedule(ctx, v.ID)
	if err != nil || now.Filling || now.LastError != "why" || now.LastBatch != b.ID || !now.Paused || !now.LastDue.Equal(v.NextDue) || !now.NextDue.Equal(v.NextDue.Add(day)) {
		t.Errorf("%+v, %v", now, err)
	}
	for i := range 4 {
		if due, err := s.TakeDue(ctx, store.ClassSmall, 10); err != nil || len(due) != 1 {
			t.Errorf("hour %d: %d runs are due, %v", i, len(due), err)
		}
		clock.Add(time.Hour)
	}
	// What rests is due only where somebody asked.
	clock.Add(30 * day)
	if due, err := s.DueSchedules(ctx); err != nil || len(due) != 0 {
		t.Errorf("%+v is due, though it rests, %v", due, err)
	}
	if err := s.FireScheduleNow(ctx, v.ID); err != nil {
		t.Fatal(err)
	}
	if due, err := s.DueSchedules(ctx); err != nil || len(due) != 1 || !due[0].Forced {
		t.Errorf("%+v, %v", due, err)
	}
	// Neither a pause nor its end takes back what was asked for by hand.
	for _, change := range []func() error{
		func() error { return s.ResumeSchedule(ctx, v.ID, clock.Now().Add(day), clock.Now().Add(day)) },
		func() error { return s.PauseSchedule(ctx, v.ID) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if due, err := s.DueSchedules(ctx); err != nil || len(due) != 1 || !due[0].Forced {
			t.Fatalf("after the change %+v is due, %v", due, err)
		}
	}
	// What is asked for now stays so when the times change.
	v.Name, v.Cron, v.Jitter, v.Spread, v.NextDue, v.NextAt = "other", "5 5 * * *", time.Minute, time.Hour, clock.Now().Add(day), clock.Now().Add(day)
	if err := s.ChangeSchedule(ctx, *v); err != nil {
		t.Fatal(err)
	}
	now, err = s.Schedule(ctx, v.ID)
	if err != nil || now.Name != "other" || now.Cron != v.Cron || now.Jitter != v.Jitter || now.Spread != v.Spread || !now.NextDue.Equal(v.NextDue) || !now.Forced || now.NextAt.After(clock.Now()) {
		t.Errorf("%+v, %v", now, err)
	}
	taken, err := s.AddSchedule(ctx, store.Schedule{Name: "taken", Cron: v.Cron, Zone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	v.Name = "taken"
	if err := s.ChangeSchedule(ctx, *v); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := s.RemoveSchedule(ctx, taken.ID); err != nil {
		t.Error(err)
	}
	if err := s.RemoveSchedule(ctx, v.ID); err != nil {
		t.Error(err)
	}
	if err := s.ChangeSchedule(ctx, *v); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a schedule that is gone: %v", err)
	}
	if all, err := s.Schedules(ctx); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}
