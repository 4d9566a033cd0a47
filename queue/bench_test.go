package queue

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentaudit/queue/queuetest"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkJob is the queue's share of one site: enqueue, take, acknowledge.
// CPU time is that of this process, without a real server's own.
func BenchmarkJob(b *testing.B) {
	for _, c := range []struct {
		name string
		open func(b *testing.B) *Conn
	}{
		{"embedded", func(*testing.B) *Conn { return Embedded() }},
		{"redis", func(b *testing.B) *Conn {
			conn, err := Connect(b.Context(), Options{URL: queuetest.Redis(b).URL})
			if err != nil {
				b.Fatal(err)
			}
			return conn
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			conn := c.open(b)
			defer conn.Close()
			const n = 2000
			var wg sync.WaitGroup
			s := conn.NewServer(ServerConfig{Concurrency: 64, Handler: func(context.Context, Job) error { wg.Done(); return nil }})
			if err := s.Start(); err != nil {
				b.Fatal(err)
			}
			defer s.Shutdown()
			tasks := make([]Task, n)
			client := conn.NewClient(0)
			round := int64(0)
			for b.Loop() {
				round++
				for i := range tasks {
					tasks[i] = Task{fmt.Sprint("1m8p570g0-", i), Bulk, round}
				}
				wg.Add(n)
				start := cpu()
				if _, err := client.EnqueueAll(b.Context(), tasks); err != nil {
					b.Fatal(err)
				}
				wg.Wait()
				b.ReportMetric(float64((cpu()-start).Microseconds())/n, "cpu-us/job")
			}
		})
	}
}
