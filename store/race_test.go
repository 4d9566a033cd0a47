package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// testManyProcesses lets four processes work on two batches of the same sites,
// while claims are abandoned and given back, leases end too early, batches are
// paused, cancelled and opened again, all at once. Whatever happens, each entry
// has one row in the end, and every counter is what its rows say.
func testManyProcesses(t *testing.T, open opener) {
	const targets, processes, restless = 60, 4, 10
	clock := storetest.NewClock()
	var stores []*store.Store
	for i := range processes {
		o := store.Options{Now: clock.Now, SmallBatch: 70}
		if i > 0 {
			o.Access = store.Shared
		}
		stores = append(stores, open(t, o))
	}
	first := stores[0]
	var batches []store.BatchID
	for i := range 2 {
		id := newBatch(t, first, "list")
		var lines []store.Line
		for n := range targets + i*30 { // the second has duplicates and is bulk
			target := fmt.Sprintf("https://site%d.example/agentic.json", n%(targets+i*15)+1)
			lines = append(lines, store.Line{Number: int64(n + 1), Input: target, Target: target})
		}
		must[store.Added](t)(first.AddLines(t.Context(), id, lines))
		must[*store.Batch](t)(first.SealBatch(t.Context(), id))
		batches = append(batches, id)
	}
	for round := 0; ; round++ {
		calm := round >= restless
		var wg sync.WaitGroup
		for p, s := range stores {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(round), uint64(p)))
				var due []store.Due
				for _, class := range []store.Class{store.ClassSmall, store.ClassBulk} {
					some, err := s.TakeDue(t.Context(), class, 12)
					if err != nil {
						t.Error(err)
					}
					due = append(due, some...)
				}
				random.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
				var runs sync.WaitGroup
				for _, d := range due {
					action := random.IntN(10)
					if calm {
						action = 9
					}
					for range 1 + action%2 { // some tasks come twice
						runs.Go(func() {
							c, err := s.ClaimRun(t.Context(), d.Run, fmt.Sprint("w", p), lease)
							if err == nil {
								switch action {
								case 0: // its worker is gone
								case 1:
									err = s.ReleaseRun(t.Context(), c, clock.Now())
								case 2, 3:
									err = s.RetryRun(t.Context(), c, clock.Now().Add(lease/2), storetest.Result(c.Target, report.OutcomeFailed, report.ReasonRefused, clock.Now()))
								default:
									o, reason := report.OutcomeFailed, report.ReasonRefused
									if action > 6 {
										o, reason = report.OutcomeUnchecked, report.ReasonUnreachable
									}
									err = s.FinishRun(t.Context(), c, storetest.Result(c.Target, o, reason, clock.Now()))
								}
							}
							if err != nil && !errors.Is(err, store.ErrStale) {
								t.Error(err)
							}
						})
					}
				}
				if p > 1 {
					if _, err := s.ExpireLeases(t.Context()); err != nil {
						t.Error(err)
					}
				}
				runs.Wait()
			})
		}
		if !calm {
			wg.Go(func() { steerAtRandom(t, stores[round%processes], batches[round/2%2], round%2 == 0) })
		}
		wg.Wait()
		clock.Add(lease + 1)
		if calm {
			open := 0
			for _, id := range batches {
				if must[*store.Batch](t)(first.Batch(t.Context(), id)).State.Open() {
					open++
				}
			}
			if open == 0 {
				break
			}
			if round > restless+50 {
				t.Fatal("the batches do not end")
			}
			must[int64](t)(first.ExpireLeases(t.Context()))
		}
	}
	for _, id := range batches {
		wantConsistent(t, first, id)
	}
	wantSitesConsistent(t, first, targets+15)
}

// steerAtRandom pauses or cancels a batch, or undoes that.
func steerAtRandom(t *testing.T, s *store.Store, id store.BatchID, stop bool) {
	ctx := t.Context()
	var errs []error
	if stop {
		errs = append(errs, s.PauseBatch(ctx, id, "a test"), s.ResumeBatch(ctx, id), s.CancelBatch(ctx, id, "a test"))
	}
	_, err := s.RetryBatch(ctx, id, store.Selection{Outcomes: []report.Outcome{store.Cancelled, report.OutcomeUnchecked}})
	for _, err := range append(errs, err) {
		if err != nil && !errors.Is(err, store.ErrConflict) {
			t.Error(err)
		}
	}
}

// wantConsistent compares the counters of a batch with its rows.
func wantConsistent(t *testing.T, s *store.Store, id store.BatchID) {
	t.Helper()
	ctx := t.Context()
	b := must[*store.Batch](t)(s.Batch(ctx, id))
	outcomes, reasons, checks := map[report.Outcome]int64{}, map[report.Reason]int64{}, map[string]int64{}
	runs := map[store.RunID]bool{}
	var next int64
	err := s.EachResult(ctx, store.Filter{Batch: id}, false, func(r store.Row) error {
		if next++; r.Entry != next {
			return fmt.Errorf("row %d is of entry %d", next, r.Entry)
		}
		outcomes[r.Outcome]++
		runs[r.Run] = true
		if r.Outcome != store.Cancelled {
			reasons[r.Reason]++
			for _, check := range r.Failing {
				checks[report.CheckClass(check)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if next != b.Entries || b.Done() != b.Entries || b.OpenRuns != 0 || int64(len(runs)) != b.Runs {
		t.Errorf("batch %s: %d rows of %d runs; %+v", id, next, len(runs), b)
	}
	counted := map[report.Outcome]int64{}
	for o, c := range b.Outcomes {
		if c.Entries != 0 {
			counted[o] = c.Entries
		}
	}
	if !maps.Equal(counted, outcomes) {
		t.Errorf("batch %s counts %v, its rows say %v", id, counted, outcomes)
	}
	for _, c := range must[[]store.ReasonCount](t)(s.TopReasons(ctx, id, 100)) {
		if reasons[c.Reason] -= c.Entries; reasons[c.Reason] == 0 {
			delete(reasons, c.Reason)
		}
	}
	for _, c := range must[[]store.CheckCount](t)(s.TopChecks(ctx, id, 100)) {
		if c.Status != report.Fail {
			continue
		}
		if checks[c.Check] -= c.Entries; checks[c.Check] == 0 {
			delete(checks, c.Check)
		}
	}
	if len(reasons)+len(checks) > 0 {
		t.Errorf("batch %s: rows and counters differ by %v %v", id, reasons, checks)
	}
}

// wantSitesConsistent compares n sites with their histories, and the counters
// of sites with both.
func wantSitesConsistent(t *testing.T, s *store.Store, n int) {
	t.Helper()
	ctx := t.Context()
	now := map[report.Outcome]int64{}
	for _, target := range storetest.Targets(n) {
		site, err := s.Site(ctx, target)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		now[site.Outcome]++
		history := must[[]store.SiteResult](t)(s.SiteHistory(ctx, target, time.Time{}, 100))
		if int64(len(history)) != site.Results || history[0].Outcome != site.Outcome || history[0].Run != site.LastRun {
			t.Errorf("%s: %+v, its history says %d results, the last %+v", target, site, len(history), history[0])
		}
	}
	for _, c := range must[[]store.ReasonCount](t)(s.SiteCounts(ctx)) {
		now[c.Outcome] -= c.Runs
	}
	for o, n := range now {
		if n != 0 && o != "" {
			t.Errorf("the counters of sites are off by %d for %s", n, o)
		}
	}
}

// testOneClaimWins lets four processes claim the same runs at the same moment.
func testOneClaimWins(t *testing.T, open opener) {
	const runs = 40
	stores := []*store.Store{open(t, store.Options{})}
	for range 3 {
		stores = append(stores, open(t, store.Options{Access: store.Shared}))
	}
	storetest.Batch(t, stores[0], storetest.Targets(runs)...)
	wins := map[store.RunID]int{}
	var mu sync.Mutex
	for part := range slices.Chunk(take(t, stores[0], runs), 10) {
		start := make(chan struct{})
		var wg sync.WaitGroup
		for _, s := range stores {
			for _, d := range part {
				wg.Go(func() {
					<-start
					_, err := s.ClaimRun(t.Context(), d.Run, "w", lease)
					if err == nil {
						mu.Lock()
						wins[d.Run]++
						mu.Unlock()
					} else if !errors.Is(err, store.ErrStale) {
						t.Error(err)
					}
				})
			}
		}
		close(start)
		wg.Wait()
	}
	for run, n := range wins {
		if n != 1 {
			t.Errorf("run %s was claimed by %d at once", run, n)
		}
	}
	if len(wins) != runs {
		t.Errorf("%d of %d runs were claimed", len(wins), runs)
	}
}
