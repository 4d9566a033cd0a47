package store_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// benchLines is the size of the lists in the benchmarks; AGENTAUDIT_BENCH_LINES
// changes it. The promise of the project is about 1,000,000.
func benchLines(b *testing.B, small int) int {
	if v := os.Getenv("AGENTAUDIT_BENCH_LINES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return small
}

// openBench opens an empty store: SQLite, or with AGENTAUDIT_BENCH_STORE=postgres
// PostgreSQL on a server that writes to its disk as it does in production.
func openBench(b *testing.B) *store.Store {
	switch v := os.Getenv("AGENTAUDIT_BENCH_STORE"); v {
	case "postgres":
		return storetest.Open(b, storetest.PostgresServer(b).Database(b), store.Options{})
	case "", "sqlite":
		return storetest.Open(b, b.TempDir(), store.Options{})
	default:
		b.Fatalf("AGENTAUDIT_BENCH_STORE=%s: use sqlite or postgres", v)
		return nil
	}
}

// listLine is line i of a list with 30 % duplicates and 1 % junk.
func listLine(i int) store.Line {
	l := store.Line{Number: int64(i + 1)}
	host := i
	switch {
	case i%100 == 99:
		l.Input, l.Reject = fmt.Sprint("junk line ", i), "this is not a URL"
		return l
	case i%10 < 3:
		host = i / 2 // seen before, far away
	}
	l.Input = fmt.Sprintf("https://www.site-%d.example/", host)
	l.Target = l.Input + "agentic.json"
	l.ID = fmt.Sprint("listing-", i)
	l.Label = fmt.Sprint("Label ", i%40)
	return l
}

// rss is the memory of the process in bytes, by the kernel.
func rss() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return n * int64(os.Getpagesize())
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func intake(b *testing.B, s *store.Store, n int) (*store.Batch, int64) {
	b.Helper()
	batch, err := s.CreateBatch(b.Context(), store.NewBatch{Sources: []string{"list"}})
	if err != nil {
		b.Fatal(err)
	}
	var most int64
	lines := make([]store.Line, 0, store.IntakeChunk)
	for i := range n {
		if lines = append(lines, listLine(i)); len(lines) == cap(lines) || i == n-1 {
			if _, err := s.AddLines(b.Context(), batch.ID, lines); err != nil {
				b.Fatal(err)
			}
			lines = lines[:0]
			most = max(most, rss())
		}
	}
	if batch, err = s.SealBatch(b.Context(), batch.ID); err != nil {
		b.Fatal(err)
	}
	return batch, max(most, rss())
}

// BenchmarkIntake reports lines a second and the largest memory seen.
func BenchmarkIntake(b *testing.B) {
	n := benchLines(b, 50_000)
	for b.Loop() {
		s := openBench(b)
		start, used := time.Now(), cpu()
		batch, most := intake(b, s, n)
		b.ReportMetric(float64((cpu()-used).Nanoseconds())/1000/float64(n), "cpu-us/line")
		b.ReportMetric(float64(n)/time.Since(start).Seconds(), "lines/s")
		b.ReportMetric(float64(most)/(1<<20), "MB-RSS")
		b.ReportMetric(float64(batch.Runs)/float64(n), "runs/line")
		s.Close()
	}
}

// BenchmarkSite is the store's share of one site: take, claim, finish, by 64
// workers. CPU time is that of the whole process.
func BenchmarkSite(b *testing.B) {
	s := openBench(b)
	for b.Loop() {
		batch := storetest.Batch(b, s, storetest.Targets(2000)...)
		start := cpu()
		drain(b, s, 64)
		b.ReportMetric(float64((cpu()-start).Microseconds())/float64(batch.Runs), "cpu-us/site")
	}
}

// BenchmarkProcesses is how many sites a second one and four processes take,
// claim and finish in one PostgreSQL database, each with 64 at a time. All of
// them change the same batch and counters.
func BenchmarkProcesses(b *testing.B) {
	url := storetest.PostgresServer(b).Database(b)
	for _, n := range []int{1, 4} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			stores := make([]*store.Store, n)
			for i := range stores {
				stores[i] = storetest.Open(b, url, store.Options{})
			}
			for b.Loop() {
				batch := storetest.Batch(b, stores[0], storetest.Targets(4000)...)
				start := time.Now()
				var wg sync.WaitGroup
				for _, s := range stores {
					wg.Go(func() { drain(b, s, 64) })
				}
				wg.Wait()
				b.ReportMetric(float64(batch.Runs)/time.Since(start).Seconds(), "sites/s")
			}
		})
	}
}

func drain(b *testing.B, s *store.Store, workers int) {
	due := make(chan store.Due)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for d := range due {
				c, err := s.ClaimRun(b.Context(), d.Run, "w", time.Minute)
				if err == nil {
					err = s.FinishRun(b.Context(), c, benchResult(c.Target, int(d.Run[len(d.Run)-1])))
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	for {
		n := 0
		for _, class := range []store.Class{store.ClassSmall, store.ClassBulk} {
			runs, err := s.TakeDue(b.Context(), class, 500)
			if err != nil {
				b.Fatal(err)
			}
			for _, d := range runs {
				due <- d
				n++
			}
		}
		if n == 0 {
			break
		}
	}
	close(due)
	wg.Wait()
}

// benchResult has the size and make of a real one: eighteen checks, six reads.
func benchResult(target string, kind int) *report.Result {
	o, reason := report.OutcomeSuccessful, report.ReasonComplete
	switch {
	case kind%5 == 0:
		o, reason = report.OutcomePartial, report.ReasonIncomplete
	case kind%5 == 1:
		o, reason = report.OutcomeFailed, report.ReasonBrokenDocument
	}
	r := storetest.Result(target, o, reason, time.Now())
	for i := range 16 {
		r.Report.Checks = append(r.Report.Checks, report.Check{ID: fmt.Sprint("check-", i), Label: "What is looked at",
			Status: report.Pass, Detail: fmt.Sprintf("The document at %s was read, and every operation of the index exists in it.", target)})
	}
	e := r.Evidence[0]
	for i := range 5 {
		e.URL, e.SHA256 = fmt.Sprint(target, i), strings.Repeat(fmt.Sprint(i), 64)
		r.Evidence = append(r.Evidence, e)
		r.Report.Observations = append(r.Report.Observations, report.Observation{URL: e.URL, Status: 200, ContentType: "application/json"})
	}
	return r
}

// BenchmarkPages reads a page of 50 rows behind each kind of filter.
func BenchmarkPages(b *testing.B) {
	s := openBench(b)
	n := benchLines(b, 20_000)
	batch, _ := intake(b, s, n)
	drain(b, s, 256)
	deep, err := s.Results(b.Context(), store.Filter{Batch: batch.ID}, "", 1000)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		f      store.Filter
		cursor string
	}{
		{"all", store.Filter{}, ""}, {"deep", store.Filter{}, deep.Next},
		{"outcome", store.Filter{Outcome: report.OutcomeFailed}, ""}, {"reason", store.Filter{Reason: report.ReasonIncomplete}, ""},
		{"check", store.Filter{Check: "resource"}, ""}, {"check-warns", store.Filter{Check: "linked", CheckStatus: report.Warn, Outcome: report.OutcomeFailed}, ""},
		{"host", store.Filter{Host: "www.site-5000.example"}, ""}, {"label", store.Filter{Label: "Label 7", Outcome: report.OutcomeFailed}, ""},
		{"text", store.Filter{Text: "www.site-"}, ""}, {"text-id", store.Filter{Text: "listing-"}, ""},
	} {
		c.f.Batch = batch.ID
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				page, err := s.Results(b.Context(), c.f, c.cursor, 50)
				if err != nil || len(page.Rows) == 0 {
					b.Fatalf("%d rows, %v", len(page.Rows), err)
				}
			}
		})
	}
	b.Run("batch", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Batch(b.Context(), batch.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
}
