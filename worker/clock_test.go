package worker_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// fileClock is a clock that several processes share and a test can set: a file
// says how many seconds it is ahead of the true time.
type fileClock string

// Now is the present time of the clock.
func (c fileClock) Now() time.Time {
	text, err := os.ReadFile(string(c))
	if err != nil {
		panic(err) // the test is over, or was never begun
	}
	ahead, err := strconv.Atoi(string(text))
	if err != nil {
		panic(err)
	}
	return time.Now().Round(0).Add(time.Duration(ahead) * time.Second)
}

// set puts the clock so much ahead, for all at the same moment.
func (c fileClock) set(t *testing.T, ahead time.Duration) {
	t.Helper()
	next := string(c) + ".next"
	if err := os.WriteFile(next, []byte(strconv.Itoa(int(ahead.Seconds()))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, string(c)); err != nil {
		t.Fatal(err)
	}
}

// The clock that four worker processes go by jumps by hours, forth and back,
// while they work on a list with real Redis and PostgreSQL: every lease is over
// at once, or holds for hours, and still every site gets its one result.
func TestClockJumpsForAllProcesses(t *testing.T) {
	postgres, redis := storetest.PostgresServer(t), queuetest.Redis(t)
	place := postgres.Database(t)
	clock := fileClock(filepath.Join(t.TempDir(), "clock"))
	clock.set(t, 0)
	st := storetest.Open(t, place, store.Options{Now: clock.Now})
	sites := storetest.FaultSites(t)
	batch := sizeBatch(t, st, sites)
	_, stop := startFleet(t, 4, sizeWorker{Store: place, Redis: redis.URL, Concurrency: 6, Clock: string(clock)})
	jumps := []time.Duration{time.Hour, -time.Hour, 2 * time.Hour}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var b *store.Batch
	for jumped := 0; ; <-tick.C {
		var err error
		if b, err = st.Batch(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if jumped < len(jumps) && b.Done() >= int64(sites*(jumped+1)/(len(jumps)+2)) {
			clock.set(t, jumps[jumped])
			jumped++
		}
		if b.OpenRuns == 0 {
			if jumped < len(jumps) {
				t.Fatalf("all is done after %d jumps", jumped)
			}
			break
		}
	}
	stop()
	if want := (store.Count{Entries: int64(sites), Runs: int64(sites)}); b.State != store.StateFinished || b.Outcomes[report.OutcomeSuccessful] != want || b.Done() != want.Entries {
		t.Errorf("%+v", b)
	}
	page, err := st.Results(t.Context(), store.Filter{Batch: batch}, "", store.MaxPage)
	if err != nil || len(page.Rows) != min(sites, store.MaxPage) {
		t.Errorf("%d rows, %v", len(page.Rows), err)
	}
}
