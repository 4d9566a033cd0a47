package dashboard

import (
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentaudit/store"
)

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPage asks for whole pages, from the request to the last byte of
// HTML, over a store of [benchLines] results. It reports the median, which is
// promised to be under 100 ms at a million, and the slowest.
func BenchmarkPage(b *testing.B) {
	x, ids := benchStore(b)
	s := serve(b, Config{Store: x})
	s.compared.patience = comparePatience
	results := "/batches/" + string(ids[0]) + "/results"
	page, err := x.Results(b.Context(), store.Filter{Batch: ids[0]}, "", 1000)
	if err != nil {
		b.Fatal(err)
	}
	large, err := x.Batch(b.Context(), ids[0])
	if err != nil {
		b.Fatal(err)
	}
	since := large.CreatedAt.UTC().Format(time.DateOnly)
	for _, c := range [][2]string{
		{"overview", "/"},
		{"batches", "/batches"},
		{"batch", "/batches/" + string(ids[0])},
		{"results", results},
		{"results-deep", results + "?after=" + page.Next},
		{"outcome", results + "?outcome=failed"},
		{"reason", results + "?reason=txt-conflict"},
		{"reason-rare", results + "?reason=refused"},
		{"check", results + "?check=check-1"},
		{"check-exact", results + "?check=resource:https://www.site-500.example/agentic.json"},
		{"host", results + "?host=www.site-5000.example"},
		{"host-large", results + "?host=platform.example"},
		{"label", results + "?label=label+7"},
		{"tag", results + "?tag=shop"},
		{"id", results + "?id=listing-1234"},
		{"search", results + "?q=www.site-1"},
		{"search-label", results + "?q=label+2"},
		{"search-none", results + "?q=zzz"},
		// Filters that meet rarely, or never.
		{"tag-reason", results + "?tag=region-3&reason=blocked"},
		{"tag-never", results + "?tag=shop&reason=refused&outcome=failed&check=check-2"},
		{"tag-outcome", results + "?tag=shop&outcome=unchecked"},
		{"tag-status-never", results + "?tag=shop&check=linked&status=fail"},
		{"check-reason-never", results + "?check=json&reason=complete"},
		{"check-outcome-never", results + "?check=linked&status=fail&outcome=partial"},
		{"reason-rare-tag", results + "?reason=refused&tag=region-3"},
		{"host-outcome", results + "?host=platform.example&outcome=unchecked"},
		{"two-tags-never", results + "?tag=region-1&check=check-0&reason=refused"},
		{"label-check", results + "?label=label+7&check=check-3"},
		{"label-reason-never", results + "?label=label+8&reason=txt-conflict"},
		{"search-outcome", results + "?q=www&outcome=unchecked"},
		{"search-never", results + "?q=www&check=linked&status=fail"},
		{"search-reason-rare", results + "?q=www.site&reason=refused"},
		{"search-labels-host", results + "?q=listing&host=platform.example"},
		{"by-host", results + "?sort=host"},
		{"by-host-outcome", results + "?sort=host&outcome=unchecked"},
		{"by-host-tag-reason", results + "?sort=host&tag=shop&reason=refused"},
		{"by-outcome", results + "?sort=outcome"},
		{"by-outcome-tag", results + "?sort=outcome&tag=shop"},
		{"by-reason", results + "?sort=reason"},
		{"by-reason-tag-check", results + "?sort=reason&tag=region-3&check=check-2"},
		{"newest", results + "?sort=newest"},
		{"newest-deep", results + "?sort=newest&after=" + sortedDeep(b, x, ids[0], store.RowByTime)},
		{"newest-outcome", results + "?sort=newest&outcome=unchecked"},
		{"newest-tag-reason", results + "?sort=newest&tag=shop&reason=refused"},
		{"slowest", results + "?sort=slowest"},
		{"slowest-deep", results + "?sort=slowest&after=" + sortedDeep(b, x, ids[0], store.RowByLength)},
		{"slowest-host", results + "?sort=slowest&host=platform.example"},
		// All sites are new since the first day: no outcome has changed.
		{"changed-never", results + "?since=" + since},
		{"changed-never-outcome", results + "?outcome=failed&since=" + since},
		{"changed-newest", results + "?sort=newest&since=" + since},
		{"changed-later", results + "?since=2100-01-01"},
		{"agents-never", results + "?agents=valid"},
		{"search-twice", results + "?q=l&tag=shop"},
		{"run", "/runs/" + string(ids[0]) + "-77"},
		{"run-again", "/runs/" + string(ids[1]) + "-77"},
		{"site", "/site?target=www.site-76.example"},
		{"sites", "/sites"},
		{"sites-outcome", "/sites?outcome=unchecked"},
		{"sites-host", "/sites?host=www.site-5"},
		{"sites-host-outcome", "/sites?host=www&outcome=failed"},
		{"sites-changed", "/sites?sort=changed"},
		{"sites-changed-outcome", "/sites?since=2026-01-01&outcome=unchecked"},
		{"settings", "/settings"},
		{"schedules", "/schedules"},
		{"deliveries", "/deliveries"},
		{"compare", "/compare?before=" + string(ids[0]) + "&after=" + string(ids[1])},
	} {
		b.Run(c[0], func(b *testing.B) {
			handler := s.Handler()
			var times, used []time.Duration
			size := 0
			for b.Loop() {
				start, cpu := time.Now(), cpuTime()
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+c[1], nil))
				times, used = append(times, time.Since(start)), append(used, cpuTime()-cpu)
				if w.Code != 200 || !strings.Contains(w.Body.String(), "</html>") {
					b.Fatalf("%s: %d", c[1], w.Code)
				}
				size = w.Body.Len()
			}
			slices.Sort(times)
			slices.Sort(used)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
			b.ReportMetric(float64(times[len(times)-1].Microseconds())/1000, "ms-slowest")
			// On a busy machine the time of the processor says more.
			b.ReportMetric(float64(used[len(used)/2].Microseconds())/1000, "cpu-ms-median")
			b.ReportMetric(float64(size)/1000, "kB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// sortedDeep is a cursor behind the first thousand rows of an order.
func sortedDeep(b *testing.B, x *store.Store, id store.BatchID, o store.Order) string {
	b.Helper()
	page, err := x.Results(b.Context(), store.Filter{Batch: id, Order: o}, "", 1000)
	if err != nil {
		b.Fatal(err)
	}
	return page.Next
}

// BenchmarkCompare sets the large batch against the small one, from the store.
func BenchmarkCompare(b *testing.B) {
	x, ids := benchStore(b)
	cpu := cpuTime()
	for b.Loop() {
		if _, err := x.Compare(b.Context(), ids[0], ids[1]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(((cpuTime() - cpu) / time.Duration(b.N)).Milliseconds()), "cpu-ms")
}
