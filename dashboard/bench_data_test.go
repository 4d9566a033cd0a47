package dashboard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// benchLines is the size of the list that the benchmarks look at. The promise
// of the project is about 1,000,000: AGENTAUDIT_BENCH_LINES=1000000. Building
// that takes minutes, so AGENTAUDIT_BENCH_DIR names a folder that keeps it.
func benchLines(b *testing.B) int {
	v := os.Getenv("AGENTAUDIT_BENCH_LINES")
	if v == "" {
		return 20_000
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// benchStore holds one batch of n entries, and after it a second one with the
// first tenth of its sites.
func benchStore(b *testing.B) (*store.Store, [2]store.BatchID) {
	b.Helper()
	n := benchLines(b)
	dir := b.TempDir()
	if keep := os.Getenv("AGENTAUDIT_BENCH_DIR"); keep != "" {
		dir = filepath.Join(keep, strconv.Itoa(n))
	}
	s := storetest.Open(b, dir, store.Options{})
	have, err := s.Batches(b.Context(), "", 2)
	if err != nil {
		b.Fatal(err)
	}
	if len(have) < 2 || have[0].State.Open() {
		if len(have) > 0 {
			b.Fatalf("%s holds half a store; delete it", dir)
		}
		benchFill(b, s, n)
		benchFill(b, s, n/10)
		if have, err = s.Batches(b.Context(), "", 2); err != nil {
			b.Fatal(err)
		}
	}
	return inBenchPlace(b, s, dir), [2]store.BatchID{have[1].ID, have[0].ID}
}

// inBenchPlace is the store that AGENTAUDIT_BENCH_STORE asks for with what is in
// s: "postgres" is a server for the time of the benchmark, a postgres:// URL one
// that keeps it.
func inBenchPlace(b *testing.B, s *store.Store, dir string) *store.Store {
	b.Helper()
	url := os.Getenv("AGENTAUDIT_BENCH_STORE")
	switch {
	case url == "" || url == "sqlite":
		return s
	case url == "postgres":
		url = storetest.PostgresServer(b).Database(b)
	}
	st, err := store.ReadStatus(b.Context(), url, store.Options{})
	if err == nil && st.Batches == 0 {
		if err = s.Close(); err == nil {
			_, err = store.Copy(b.Context(), dir, url, store.Options{}, nil)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return storetest.Open(b, url, store.Options{})
}

func benchFill(b *testing.B, s *store.Store, n int) {
	ctx := b.Context()
	batch, err := s.CreateBatch(ctx, store.NewBatch{Name: "benchmark", Sources: []string{"sites.csv"}})
	if err != nil {
		b.Fatal(err)
	}
	lines := make([]store.Line, 0, store.IntakeChunk)
	for i := range n {
		if lines = append(lines, benchLine(i)); len(lines) == cap(lines) || i == n-1 {
			if _, err := s.AddLines(ctx, batch.ID, lines); err != nil {
				b.Fatal(err)
			}
			lines = lines[:0]
		}
	}
	if _, err := s.SealBatch(ctx, batch.ID); err != nil {
		b.Fatal(err)
	}
	due := make(chan store.Due)
	var wg sync.WaitGroup
	for range 128 {
		wg.Go(func() {
			for d := range due {
				if err := benchFinish(ctx, s, d); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for {
		runs := 0
		for _, class := range []store.Class{store.ClassSmall, store.ClassBulk} {
			list, err := s.TakeDue(ctx, class, 2000)
			if err != nil {
				b.Error(err)
			}
			for _, d := range list {
				due <- d
			}
			runs += len(list)
		}
		if runs == 0 {
			break
		}
	}
	close(due)
	wg.Wait()
}

// benchLine is a listing: every tenth shares a host with others, every
// hundredth is on one platform; half have the tag "shop".
func benchLine(i int) store.Line {
	host := fmt.Sprintf("www.site-%d.example", i)
	path := "/"
	switch {
	case i%100 == 7:
		host, path = "platform.example", fmt.Sprintf("/s/%d/", i)
	case i%10 == 3:
		host, path = fmt.Sprintf("group-%d.example", i/100), fmt.Sprintf("/%d/", i)
	}
	l := store.Line{Number: int64(i + 2), Input: host + path, Target: "https://" + host + path + "agentic.json",
		ID: fmt.Sprint("listing-", i), Label: fmt.Sprintf("Label %d", i%400), Tags: []string{fmt.Sprint("region-", i%17)}}
	if i%2 == 0 {
		l.Tags = append(l.Tags, "shop")
	}
	return l
}

func benchFinish(ctx context.Context, s *store.Store, d store.Due) error {
	c, err := s.ClaimRun(ctx, d.Run, "bench", time.Minute)
	if err != nil {
		return err
	}
	_, number, _ := strings.Cut(string(d.Run), "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	return s.FinishRun(ctx, c, benchResult(c.Target, n))
}

// benchResult has the size and make of a real one: eighteen checks, six reads.
// Some reasons are rare, and refused never meets the tag "shop".
func benchResult(target string, n int) *report.Result {
	o, reason := report.OutcomeSuccessful, report.ReasonComplete
	switch m := n % 20; {
	case n%10_000 == 2:
		o, reason = report.OutcomeFailed, report.ReasonRefused
	case m < 5:
		o, reason = report.OutcomePartial, report.ReasonIncomplete
	case m < 8:
		o, reason = report.OutcomeFailed, report.ReasonMissingProfile
	case m < 10:
		o, reason = report.OutcomeFailed, report.ReasonTextConflict
	case m < 11:
		o, reason = report.OutcomeUnchecked, report.ReasonBlocked
	}
	at := time.Now()
	r := storetest.Result(target, o, reason, at)
	for i := range 16 {
		c := report.Check{ID: fmt.Sprint("check-", i), Label: "What is looked at",
			Status: report.Pass, Detail: fmt.Sprintf("The document at %s was read, and every operation of the index exists in it.", target)}
		if n%(i+5) == 0 && i < 4 {
			c.Status, c.Remedy, c.HelpURL = report.Warn, "Publish it as application/json.", "https://ruagentic.org/audit"
		}
		r.Report.Checks = append(r.Report.Checks, c)
	}
	e := r.Evidence[0]
	for i := range 5 {
		e.URL, e.SHA256 = fmt.Sprint(target, i), strings.Repeat(fmt.Sprint(i), 64)
		r.Evidence = append(r.Evidence, e)
		r.Report.Observations = append(r.Report.Observations, report.Observation{URL: e.URL, Status: 200, ContentType: "application/json"})
	}
	return r
}
