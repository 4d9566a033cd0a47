package worker_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/queue"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// instant is an auditor that costs nothing: its results are made beforehand,
// of the size of real ones.
type instant struct{ j audit.Judgement }

func (a instant) Audit(context.Context, audit.Attempt) (audit.Judgement, error) { return a.j, nil }

// BenchmarkSite is what worker, queue and store cost for one site together,
// everything but the audit. CPU time is that of this process.
func BenchmarkSite(b *testing.B) {
	for _, kind := range []string{"embedded", "redis"} {
		b.Run(kind, func(b *testing.B) {
			q := queue.Embedded()
			if kind == "redis" {
				var err error
				if q, err = queue.Connect(b.Context(), queue.Options{URL: queuetest.Redis(b).URL}); err != nil {
					b.Fatal(err)
				}
			}
			defer q.Close()
			s := storetest.Open(b, b.TempDir(), store.Options{})
			j := realistic("https://site.example/agentic.json")
			const sites = 3000
			for b.Loop() {
				batch := storetest.Batch(b, s, storetest.Targets(sites)...)
				done := make(chan struct{}, sites)
				w, err := worker.New(worker.Config{Store: s, Queue: q, Auditor: instant{j}, Concurrency: 64, SoleOwner: true,
					Manners: worker.NewManners(nil, worker.Limits{}),
					Observe: func(e worker.Event) {
						if e.Kind == worker.Finished {
							done <- struct{}{}
						}
					}})
				if err != nil {
					b.Fatal(err)
				}
				ctx, cancel := context.WithCancel(b.Context())
				ended := make(chan error)
				start := cpu()
				go func() { ended <- w.Run(ctx) }()
				for range sites {
					<-done
				}
				b.ReportMetric(float64((cpu()-start).Microseconds())/sites, "cpu-us/site")
				cancel()
				if err := <-ended; err != nil {
					b.Fatal(err)
				}
				if got, err := s.Batch(b.Context(), batch.ID); err != nil || got.State != store.StateFinished {
					b.Fatalf("%+v, %v", got, err)
				}
			}
		})
	}
}
