package queue

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"
)

// workers waits until the queue tells of workers of which ok holds.
func workers(t *testing.T, c *Conn, ok func([]Worker) bool) []Worker {
	t.Helper()
	for {
		list, err := c.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ok(list) {
			return list
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("it ends with %+v", list)
		case <-time.After(time.Millisecond):
		}
	}
}

func count(n int) func([]Worker) bool { return func(l []Worker) bool { return len(l) == n } }

// Whoever works is on the list, who ended in order is not, and who fell silent
// is told of for a while.
func testLife(t *testing.T, b backend) {
	workers(t, b.conn, count(0))
	first, second := serve(t, b.conn, 3, nil), serve(t, b.conn, 5, nil)
	list := workers(t, b.conn, count(2))
	slices.SortFunc(list, func(a, b Worker) int { return a.Places - b.Places })
	for i, places := range []int{3, 5} {
		if w := list[i]; w.Places != places || !w.Alive() || w.PID != os.Getpid() || w.ID == "" || w.ID == list[1-i].ID {
			t.Errorf("%+v", w)
		}
	}
	first.Shutdown()
	list = workers(t, b.conn, count(1))
	if list[0].Places != 5 {
		t.Errorf("the wrong one is left: %+v", list[0])
	}
	// Killed: its last sign of life stays what it was, until it is too old.
	second.Shutdown()
	workers(t, b.conn, count(0))
	age := func(d time.Duration) {
		now, err := b.conn.redis.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, z := range b.conn.redis.ZRangeWithScores(t.Context(), aliveKey, 0, -1).Val() {
			z.Score = float64(now.Add(-d).UnixMilli())
			if err := b.conn.redis.ZAdd(t.Context(), aliveKey, z).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	killed, kill := context.WithCancel(t.Context())
	defer kill()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.conn.life(killed, 7, time.Hour, slog.New(slog.DiscardHandler))
	}()
	workers(t, b.conn, count(1))
	age(10 * time.Minute)
	list = workers(t, b.conn, count(1))
	if w := list[0]; w.Alive() || w.Places != 7 || w.Silence < 10*time.Minute || w.Silence > time.Hour {
		t.Errorf("%+v", w)
	}
	age(remembered + time.Second)
	last := serve(t, b.conn, 1, nil)
	list = workers(t, b.conn, func(l []Worker) bool { return len(l) == 1 && l[0].Places == 1 })
	if !list[0].Alive() {
		t.Errorf("%+v", list[0])
	}
	last.Shutdown()
	kill()
	<-ended
}

// A sign of life is given again and again, also where the server has lost what
// it knew.
func testLifeGoesOn(t *testing.T, b backend) {
	s := b.conn.NewServer(ServerConfig{Concurrency: 2, beatEvery: 2 * time.Millisecond})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	workers(t, b.conn, count(1))
	b.flushAll(t)
	workers(t, b.conn, count(1))
}
