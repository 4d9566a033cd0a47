package queue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"agentaudit/queue/queuetest"
)

// twoPlaces are those of two processes on one server.
func twoPlaces(t *testing.T, lease time.Duration) (a, b *Places, r *queuetest.Server) {
	t.Helper()
	r = queuetest.Redis(t)
	open := func() *Places {
		c, err := Connect(t.Context(), Options{URL: r.URL})
		if err != nil {
			t.Fatal(err)
		}
		p := c.newPlaces(nil, lease)
		t.Cleanup(func() {
			p.Close()
			c.Close()
		})
		return p
	}
	return open(), open(), r
}

func take(t *testing.T, p *Places, places ...Place) (release func(), busy string, rest time.Duration) {
	t.Helper()
	release, busy, rest, err := p.Take(t.Context(), places)
	if err != nil {
		t.Fatal(err)
	}
	return release, busy, rest
}

func TestPlacesAreSharedByProcesses(t *testing.T) {
	a, b, _ := twoPlaces(t, PlaceLease)
	host, addr := Place{Key: "host a.example", Most: 1}, Place{Key: "addr 203.0.113.1", Most: 2}
	first, busy, _ := take(t, a, host, addr)
	if busy != "" {
		t.Fatal(busy)
	}
	if _, busy, rest := take(t, b, host, addr); busy != host.Key || rest != 0 {
		t.Fatalf("%q is busy, %v", busy, rest)
	}
	// None was taken at the address with that: there is room for one more.
	second, busy, _ := take(t, b, Place{Key: "host b.example", Most: 1}, addr)
	if busy != "" {
		t.Fatal(busy)
	}
	if _, busy, _ := take(t, a, Place{Key: "host c.example", Most: 1}, addr); busy != addr.Key {
		t.Fatalf("%q is busy", busy)
	}
	first()
	third, busy, _ := take(t, b, host, addr)
	if busy != "" {
		t.Fatal(busy)
	}
	second()
	third()
	if release, busy, _, err := a.Take(t.Context(), nil); err != nil || busy != "" {
		t.Fatal(busy, err)
	} else {
		release()
	}
}

// trips counts the round trips of a client.
type trips struct{ n atomic.Int64 }

func (c *trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}

// A refusal costs one question, and a second word only where something was
// taken that has to be given back.
func TestRefusalsCostOneRoundTrip(t *testing.T) {
	a, b, _ := twoPlaces(t, PlaceLease)
	host, addr := Place{Key: "host a.example", Most: 1}, Place{Key: "addr 203.0.113.1", Most: 2}
	first, busy, _ := take(t, a, host)
	if busy != "" {
		t.Fatal(busy)
	}
	defer first()
	warm, busy, _ := take(t, b, Place{Key: "host b.example", Most: 1}) // to connect takes some, too
	if busy != "" {
		t.Fatal(busy)
	}
	warm()
	c := &trips{}
	b.redis.AddHook(c)
	for _, q := range []struct {
		places []Place
		want   int64
	}{{[]Place{host}, 1}, {[]Place{host, addr}, 2}} {
		before := c.n.Load()
		if _, busy, _ := take(t, b, q.places...); busy != host.Key {
			t.Fatalf("%q is busy", busy)
		}
		if n := c.n.Load() - before; n != q.want {
			t.Errorf("%v: %d round trips, want %d", q.places, n, q.want)
		}
	}
	// What was taken is free again.
	for range 2 {
		release, busy, _ := take(t, b, addr)
		if busy != "" {
			t.Fatalf("%s was not given back", busy)
		}
		defer release()
	}
}

func TestPlacesNeverTooMany(t *testing.T) {
	a, b, _ := twoPlaces(t, PlaceLease)
	var here, most, turns atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		p := []*Places{a, b}[i%2]
		wg.Go(func() {
			for turns.Load() < 200 {
				release, busy, _, err := p.Take(t.Context(), []Place{{Key: fmt.Sprint("host ", i), Most: 1}, {Key: "addr x", Most: 3}})
				if err != nil {
					t.Error(err)
					return
				}
				if busy != "" {
					continue
				}
				n := here.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				turns.Add(1)
				here.Add(-1)
				release()
			}
		})
	}
	wg.Wait()
	if most.Load() > 3 {
		t.Fatalf("%d at a time where three may be", most.Load())
	}
}

func TestRestIsSharedAndTheLongestCounts(t *testing.T) {
	a, b, _ := twoPlaces(t, PlaceLease)
	for _, d := range []time.Duration{time.Minute, time.Hour, time.Second, 0} {
		if err := a.Rest(t.Context(), "host a.example", d); err != nil {
			t.Fatal(err)
		}
	}
	_, busy, rest := take(t, b, Place{Key: "host b.example", Most: 1}, Place{Key: "host a.example", Most: 1})
	if busy != "host a.example" || rest < 59*time.Minute || rest > time.Hour {
		t.Fatalf("%q for %v", busy, rest)
	}
	release, busy, _ := take(t, b, Place{Key: "host b.example", Most: 1})
	if busy != "" {
		t.Fatal("a place beside one that rests stays taken")
	}
	release()
}

// until tries again and again for a moment that comes by itself.
func until(t *testing.T, cond func() bool) {
	t.Helper()
	for patience := time.Now().Add(time.Minute); !cond(); {
		if time.Now().After(patience) {
			t.Fatal("it does not come")
		}
	}
}

func TestPlacesOfTheDeadAreFreed(t *testing.T) {
	a, b, _ := twoPlaces(t, 90*time.Millisecond)
	host := Place{Key: "host a.example", Most: 1}
	_, busy, _ := take(t, a, host)
	if busy != "" {
		t.Fatal(busy)
	}
	// It is renewed while its holder lives: three leases long.
	for end := time.Now().Add(270 * time.Millisecond); time.Now().Before(end); {
		if _, busy, _ := take(t, b, host); busy == "" {
			t.Fatal("taken twice")
		}
	}
	a.stop() // as if killed: nothing is given back
	<-a.done
	until(t, func() bool {
		release, busy, _ := take(t, b, host)
		if busy == "" {
			release()
		}
		return busy == ""
	})
}

func TestPlacesSurviveAnEmptiedServer(t *testing.T) {
	a, b, r := twoPlaces(t, 90*time.Millisecond)
	host := Place{Key: "host a.example", Most: 1}
	release, _, _ := take(t, a, host)
	r.FlushAll(t)
	// The holder is there all the same, and its next renewal says so.
	until(t, func() bool {
		release, busy, _ := take(t, b, host)
		if busy == "" {
			release()
		}
		return busy != ""
	})
	release()
	until(t, func() bool {
		release, busy, _ := take(t, b, host)
		if busy == "" {
			release()
		}
		return busy == ""
	})
}

func TestCloseGivesPlacesBack(t *testing.T) {
	a, b, _ := twoPlaces(t, PlaceLease)
	host := Place{Key: "host a.example", Most: 1}
	take(t, a, host)
	a.Close()
	if _, busy, _ := take(t, b, host); busy != "" {
		t.Fatal("still taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := b.Take(ctx, []Place{{Key: "host b.example", Most: 1}}); err == nil {
		t.Fatal("taken after the end")
	}
}

// A place that somebody urgent asked for is not given to others meanwhile, in
// whatever process they ask.
func TestUrgentPlaces(t *testing.T) {
	a, b, r := twoPlaces(t, PlaceLease)
	addr := Place{Key: "addr 203.0.113.1", Most: 1}
	urgent := addr
	urgent.Urgent = true
	first, busy, _ := take(t, a, addr)
	if busy != "" {
		t.Fatal(busy)
	}
	if _, busy, rest := take(t, b, urgent); busy != addr.Key || rest != 0 {
		t.Fatalf("%q is busy, %v", busy, rest)
	}
	first()
	if _, busy, rest := take(t, a, addr); busy != addr.Key || rest != 0 {
		t.Fatalf("the place that is kept was given away: %q, %v", busy, rest)
	}
	second, busy, _ := take(t, b, urgent)
	if busy != "" {
		t.Fatal(busy)
	}
	second()
	client := r.Client()
	defer client.Close()
	if left := client.PTTL(t.Context(), wantedKey(addr.Key)).Val(); left > PlaceWanted {
		t.Fatalf("it is kept for %v", left)
	}
	if err := client.Del(t.Context(), wantedKey(addr.Key)).Err(); err != nil { // as when that time is over
		t.Fatal(err)
	}
	third, busy, _ := take(t, a, addr)
	if busy != "" {
		t.Fatal(busy)
	}
	third()
}
