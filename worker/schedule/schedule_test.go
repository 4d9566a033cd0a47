package schedule_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/audit"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker/producer"
	"agentaudit/worker/schedule"
)

// added keeps a schedule over two sites, or over what change says.
func added(t *testing.T, st *store.Store, now time.Time, name, cron string, change func(*store.Schedule)) *store.Schedule {
	t.Helper()
	options, err := json.Marshal(producer.Options{List: producer.List{Sites: []string{"one.example", "two.example"}}, Options: audit.Options{Discover: audit.DiscoverAlways}})
	if err != nil {
		t.Fatal(err)
	}
	v := store.Schedule{Name: name, Cron: cron, Zone: "UTC", Sources: []string{"arguments"}, Options: options}
	if change != nil {
		change(&v)
	}
	s := of(t, &v)
	v.NextDue = s.Next(now)
	v.NextAt = s.At(v.NextDue)
	kept, err := st.AddSchedule(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// firings are batches by the name of their schedule.
func firings(t *testing.T, st *store.Store) map[string][]store.Batch {
	t.Helper()
	all, err := st.Batches(t.Context(), "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string][]store.Batch{}
	for _, b := range all {
		by[b.Name] = append(by[b.Name], b)
	}
	return by
}

// Three processes look after the same schedules for an hour and a bit: each time
// has its one firing, with its list, whoever does it.
func TestManySchedulersFireOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		stores := []*store.Store{storetest.Open(t, dir, store.Options{})}
		for range 2 {
			stores = append(stores, storetest.Open(t, dir, store.Options{Access: store.Shared}))
		}
		st := stores[0]
		begin := time.Now()
		for name, cron := range map[string]string{"minutes": "* * * * *", "fives": "*/5 * * * *", "hours": "@hourly", "days": "@daily"} {
			added(t, st, begin, name, cron, nil)
		}
		added(t, st, begin, "jittered", "*/10 * * * *", func(v *store.Schedule) { v.Jitter = 5 * time.Minute })
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		seen := map[string]int{}
		by := map[int]int{}
		var wg sync.WaitGroup
		for i, st := range stores {
			s := schedule.New(schedule.Config{Store: st, Fired: func(f schedule.Fired) {
				mu.Lock()
				defer mu.Unlock()
				seen[string(f.Schedule)+f.Due.String()]++
				by[i]++
				if f.Late > 6*time.Second {
					t.Errorf("%+v is late", f)
				}
			}})
			wg.Go(func() {
				if err := s.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Hour + 15*time.Second)
		stop()
		wg.Wait()
		got := firings(t, st)
		// The clock of the bubble begins at midnight.
		for name, want := range map[string]int{"minutes": 60, "fives": 12, "hours": 1, "days": 0, "jittered": 5} {
			n := len(got[name])
			if n != want && !(name == "jittered" && n == want+1) {
				t.Errorf("%s fired %d times in an hour, want %d", name, n, want)
			}
			for _, b := range got[name] {
				if b.State != store.StateQueued || b.Entries != 2 || b.Class != store.ClassSmall {
					t.Errorf("%s: %+v", name, b)
				}
			}
		}
		for key, n := range seen {
			if n != 1 {
				t.Errorf("%s fired %d times", key, n)
			}
		}
		if len(by) != len(stores) {
			t.Logf("not all of them fired: %v", by)
		}
		st.Close()
	})
}

// step lets one scheduler look once.
func step(t *testing.T, st *store.Store, clock *storetest.Clock) {
	t.Helper()
	if err := schedule.New(schedule.Config{Store: st, Now: clock.Now}).Step(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func stored(t *testing.T, st *store.Store, id store.ScheduleID) *store.Schedule {
	t.Helper()
	v, err := st.Schedule(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// After a month without anybody, one firing is made up for; the others are
// counted, and the next one is in the future.
func TestMonthOfDowntime(t *testing.T) {
	st, clock := storetest.New(t)
	v := added(t, st, clock.Now(), "hourly", "0 * * * *", nil)
	clock.Add(30 * 24 * time.Hour)
	for range 3 {
		step(t, st, clock)
	}
	if got := firings(t, st)["hourly"]; len(got) != 1 {
		t.Fatalf("%d firings", len(got))
	}
	v = stored(t, st, v.ID)
	if v.Missed < 700 || v.Missed > 720 || v.Late >= time.Hour || !v.NextDue.After(clock.Now()) || v.NextDue.Sub(clock.Now()) > time.Hour || clock.Now().Sub(v.LastDue) > time.Hour {
		t.Errorf("%+v", v)
	}
	clock.Add(time.Hour)
	step(t, st, clock)
	if got := firings(t, st)["hourly"]; len(got) != 2 {
		t.Errorf("%d firings an hour later", len(got))
	}
}

// A paused schedule rests, and does not make up for it; it can be asked to fire
// all the same.
func TestPauseResumeAndRunNow(t *testing.T) {
	st, clock := storetest.New(t)
	v := added(t, st, clock.Now(), "daily", "0 3 * * *", nil)
	if err := st.PauseSchedule(t.Context(), v.ID); err != nil {
		t.Fatal(err)
	}
	clock.Add(72 * time.Hour)
	step(t, st, clock)
	if got := firings(t, st)["daily"]; len(got) != 0 {
		t.Fatal("a paused schedule fired")
	}
	if err := st.FireScheduleNow(t.Context(), v.ID); err != nil {
		t.Fatal(err)
	}
	step(t, st, clock)
	step(t, st, clock)
	if got := firings(t, st)["daily"]; len(got) != 1 {
		t.Fatalf("asked to fire, it did %d times", len(got))
	}
	now := stored(t, st, v.ID)
	if !now.Paused || now.Forced || now.Missed != 0 || now.Late != 0 {
		t.Errorf("%+v", now)
	}
	s := of(t, v)
	if err := st.ResumeSchedule(t.Context(), v.ID, s.Next(clock.Now()), s.At(s.Next(clock.Now()))); err != nil {
		t.Fatal(err)
	}
	step(t, st, clock)
	if got := firings(t, st)["daily"]; len(got) != 1 {
		t.Error("it made up for the time in which it was paused")
	}
	clock.Add(24 * time.Hour)
	step(t, st, clock)
	if got := firings(t, st)["daily"]; len(got) != 2 {
		t.Errorf("%d firings after it was resumed", len(got))
	}
}

// dying is a store whose process dies in the middle of reading a list.
type dying struct {
	*store.Store
	at string
}

func (d dying) AddLines(ctx context.Context, id store.BatchID, lines []store.Line) (store.Added, error) {
	a, err := d.Store.AddLines(ctx, id, lines)
	if d.at == "reading" {
		runtime.Goexit()
	}
	return a, err
}

func (d dying) EndFiring(context.Context, *store.Firing, string) error {
	runtime.Goexit()
	return nil
}

// A scheduler that dies while it reads a list, or just behind it, leaves a
// firing that another one completes, and nothing twice.
func TestSchedulerDies(t *testing.T) {
	for _, where := range []string{"reading", "behind"} {
		dir := t.TempDir()
		clock := storetest.NewClock()
		first := storetest.Open(t, dir, store.Options{Now: clock.Now})
		old := storetest.Batch(t, first, storetest.Targets(30)...)
		v := added(t, first, clock.Now(), "daily", "0 3 * * *", func(v *store.Schedule) { v.Batch = old.ID })
		clock.Add(24 * time.Hour)
		if err := schedule.New(schedule.Config{Store: dying{first, where}, Now: clock.Now}).Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		first.Close()
		second := storetest.Open(t, dir, store.Options{Now: clock.Now})
		step(t, second, clock)
		if now := stored(t, second, v.ID); !now.Filling {
			t.Fatalf("%s: the firing was taken from one that may be alive: %+v", where, now)
		}
		clock.Add(2 * time.Minute)
		step(t, second, clock)
		step(t, second, clock)
		got := firings(t, second)["daily"]
		now := stored(t, second, v.ID)
		if len(got) != 1 || got[0].State != store.StateQueued || got[0].Entries != 30 || now.Filling || now.LastBatch != got[0].ID {
			t.Errorf("%s: %+v\n%+v", where, got, now)
		}
		second.Close()
	}
}

// The sites of a batch are taken with all that their list said; a list that is
// spread becomes due bit by bit; a list that cannot be read is told.
func TestWhatIsFired(t *testing.T) {
	st, clock := storetest.New(t)
	ctx := t.Context()
	old, err := st.CreateBatch(ctx, store.NewBatch{Sources: []string{"shops.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	line := store.Line{Number: 7, Input: "one.example", Target: "https://one.example/agentic.json", Readme: "https://docs.example/README.md", ID: "17", Label: "One", Tags: []string{"a", "b"}}
	if _, err := st.AddLines(ctx, old.ID, []store.Line{line, {Number: 8, Input: "?", Reject: "no site"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.SealBatch(ctx, old.ID); err != nil {
		t.Fatal(err)
	}
	added(t, st, clock.Now(), "copy", "0 3 * * *", func(v *store.Schedule) { v.Batch = old.ID })
	gone := filepath.Join(t.TempDir(), "gone.txt")
	broken := added(t, st, clock.Now(), "broken", "0 3 * * *", func(v *store.Schedule) {
		v.Options, _ = json.Marshal(producer.Options{List: producer.List{Files: []string{gone}}})
	})
	spread := added(t, st, clock.Now(), "spread", "0 3 * * *", func(v *store.Schedule) {
		file := filepath.Join(t.TempDir(), "list.txt")
		if err := os.WriteFile(file, []byte(strings.Join(storetest.Targets(10), "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		v.Options, _ = json.Marshal(producer.Options{List: producer.List{Files: []string{file}}})
		v.Spread = 10 * time.Hour
	})
	clock.Add(24 * time.Hour)
	step(t, st, clock)

	b := firings(t, st)["copy"][0]
	entries, err := st.Entries(ctx, b.ID, 0, 10)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	e := entries[0]
	if e.Line != 7 || e.Input != line.Input || e.Target != line.Target || e.Readme != line.Readme || e.ID != "17" || e.Label != "One" || len(e.Tags) != 2 {
		t.Errorf("%+v", e)
	}
	if v := stored(t, st, broken.ID); !strings.Contains(v.LastError, "gone.txt") || v.Filling || !v.NextDue.After(clock.Now()) {
		t.Errorf("%+v", v)
	}
	if b := firings(t, st)["broken"][0]; b.State != store.StateCancelled || !strings.Contains(b.Note, "gone.txt") {
		t.Errorf("%+v", b)
	}
	id := stored(t, st, spread.ID).LastBatch
	if err := st.WorkOn(id); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		runs  int
	}{{0, 1}, {59 * time.Minute, 0}, {2 * time.Minute, 1}, {3 * time.Hour, 3}, {24 * time.Hour, 5}} {
		clock.Add(c.after)
		due, err := st.TakeDue(ctx, store.ClassSmall, 100)
		if err != nil || len(due) != c.runs {
			t.Errorf("%s later %d runs are due, want %d (%v)", c.after, len(due), c.runs, err)
		}
	}
}

// Removed and renamed things, and wrong steps.
func TestScheduleConflicts(t *testing.T) {
	st, clock := storetest.New(t)
	ctx := t.Context()
	v := added(t, st, clock.Now(), "daily", "0 3 * * *", nil)
	if _, err := st.AddSchedule(ctx, store.Schedule{Name: "daily"}); err == nil || !strings.Contains(err.Error(), "of this name") {
		t.Errorf("a second one of the name: %v", err)
	}
	if _, err := st.AddSchedule(ctx, store.Schedule{Name: "other", Batch: "1hgw3k2xa"}); err == nil {
		t.Error("a batch that there is not was accepted")
	}
	if err := st.ResumeSchedule(ctx, v.ID, time.Time{}, time.Time{}); err == nil {
		t.Error("resumed what was not paused")
	}
	if err := st.RemoveSchedule(ctx, v.ID); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"remove": st.RemoveSchedule(ctx, v.ID), "pause": st.PauseSchedule(ctx, v.ID), "run": st.FireScheduleNow(ctx, v.ID), "nonsense": st.PauseSchedule(ctx, "?")} {
		if err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s of what there is not: %v", what, err)
		}
	}
	clock.Add(48 * time.Hour)
	step(t, st, clock)
	if got := firings(t, st); len(got) != 0 {
		t.Errorf("a removed schedule fired: %v", got)
	}
}

func of(t *testing.T, v *store.Schedule) *schedule.Spec {
	t.Helper()
	s, err := schedule.Of(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
