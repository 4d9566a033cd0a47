package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/store"
)

// progressing is a store whose one batch moves on.
type progressing struct {
	Reader
	mu    sync.Mutex
	batch store.Batch
	asked int
}

func (p *progressing) OpenBatches(context.Context, int) ([]store.Batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if !p.batch.State.Open() {
		return nil, nil
	}
	return []store.Batch{p.batch}, nil
}

func (*progressing) Load(context.Context) (store.Load, error)            { return store.Load{}, nil }
func (*progressing) Pulse(context.Context) (store.Pulse, error)          { return store.Pulse{}, nil }
func (*progressing) Schedules(context.Context) ([]store.Schedule, error) { return nil, nil }

func (p *progressing) set(f func(b *store.Batch)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.batch)
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &progressing{batch: store.Batch{ID: "000000001", State: store.StateRunning, Runs: 1000, OpenRuns: 1000, StartedAt: time.Now()}}
		ctx, cancel := context.WithCancel(t.Context())
		l := newLive(ctx, &vitals{read: p, now: time.Now}, 2*time.Second, slog.New(slog.DiscardHandler))
		time.Sleep(time.Hour)
		if p.asked != 0 {
			t.Fatalf("asked %d times while nobody watched", p.asked)
		}
		a, leaveA, ok := l.watch()
		b, leaveB, ok2 := l.watch()
		if !ok || !ok2 {
			t.Fatal("no place to watch")
		}
		next := func(c chan []byte) (u update) {
			t.Helper()
			if err := json.Unmarshal(<-c, &u); err != nil {
				t.Fatal(err)
			}
			return u
		}
		u := next(a)
		if u.Open != "000000001" || u.Values["000000001.done"] != "0" || u.Values["000000001.eta"] != "not known yet" {
			t.Fatalf("first update %+v", u)
		}
		for range 10 {
			p.set(func(b *store.Batch) { b.OpenRuns -= 20 })
			u = next(a)
		}
		if got := []string{u.Values["000000001.done"], u.Values["000000001.rate"], u.Values["000000001.eta"], u.Values["000000001.left"]}; fmt.Sprint(got) != "[200 10 a second about 1 min 20 s left 800 sites]" {
			t.Errorf("after 20 s: %q", got)
		}
		// One who did not look has the newest, not the oldest.
		synctest.Wait() // both were told
		if got := next(b).Values["000000001.done"]; got != "200" {
			t.Errorf("a slow page sees %s", got)
		}
		if p.asked != 11 {
			t.Errorf("asked %d times for two pages, want 11", p.asked)
		}
		// The rate is that of the last half minute.
		for range 20 {
			p.set(func(b *store.Batch) { b.OpenRuns -= 2 })
			u = next(a)
		}
		if got := u.Values["000000001.rate"]; got != "1.0 a second" {
			t.Errorf("after a slow half minute: %s", got)
		}
		// Runs that are opened again are no progress backwards.
		p.set(func(b *store.Batch) { b.OpenRuns += 100 })
		for range 3 {
			u = next(a)
			p.set(func(b *store.Batch) { b.OpenRuns -= 2 })
		}
		if got := u.Values["000000001.rate"]; got != "1.0 a second" {
			t.Errorf("after a retry: %s", got)
		}
		// A rest is no slow progress, and nothing is promised of it.
		p.set(func(b *store.Batch) { b.State = store.StatePaused })
		if u = next(a); u.Values["000000001.eta"] != "–" || u.Values["000000001.rate"] != "–" {
			t.Errorf("paused: %+v", u.Values)
		}
		p.set(func(b *store.Batch) { b.State = store.StateFinished })
		if u = next(a); u.Open != "" || u.Values["000000001.done"] != "" || u.Values["health.waiting"] != "nothing waits" {
			t.Errorf("ended: %+v", u)
		}
		leaveA()
		leaveB()
		time.Sleep(time.Minute)
		asked := p.asked
		time.Sleep(time.Hour)
		if p.asked != asked {
			t.Errorf("asked %d times after all had left", p.asked-asked)
		}
		// It begins again, and ends with the server.
		c, _, _ := l.watch()
		next(c)
		cancel()
		l.wait()
		if _, _, ok := l.watch(); ok {
			t.Error("one can watch what has ended")
		}
	})
}

func TestEvents(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Now: x.clock.Now, LiveEvery: 10 * time.Millisecond})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	res, err := http.Get(web.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("type %s", got)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var u update
		if err := json.Unmarshal([]byte(data), &u); err != nil {
			t.Fatal(err)
		}
		if id := string(x.running); u.Open != id || u.Values[id+".done"] != "13" {
			t.Fatalf("%+v", u)
		}
		break
	}
	// The end of the server ends the streams.
	s.Close()
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
}

// A stream ends with the right to read it.
func TestEventsEndWithTheirRight(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x.Store, LiveEvery: 5 * time.Millisecond, AskEvery: time.Nanosecond})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	secret, token, err := x.NewToken(t.Context(), store.Token{Name: "screen", Scope: store.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if err := x.RevokeToken(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to the end, which comes
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
}

// BenchmarkWatchers is what it costs that fifty pages watch a batch which is
// being audited, each over a connection of its own: from the store to the last
// byte read, at both ends. The share of a core is promised to be under 5 %; it
// is the ratio of processor time to the time between two updates, and does not
// depend on how busy the machine is. A site is finished before each update, which
// is not counted.
func BenchmarkWatchers(b *testing.B) {
	x := seed(b)
	s := serve(b, Config{Store: x, LiveEvery: time.Hour})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	defer s.Close()
	const pages, every = 50, 2 * time.Second
	got := make(chan string, pages)
	for range pages {
		res, err := http.Get(web.URL + "/events")
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		go func() {
			for lines := bufio.NewScanner(res.Body); lines.Scan(); {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					got <- data
				}
			}
		}()
	}
	for range pages {
		<-got
	}
	var used time.Duration
	updates, last := 0, ""
	for b.Loop() {
		if x.work(b, x.net, 1); updates%10 == 9 {
			// All have ended: they begin anew.
			if _, err := x.RetryBatch(b.Context(), x.running, store.Selection{}); err != nil {
				b.Fatal(err)
			}
		}
		updates++
		cpu := cpuTime()
		s.live.tell(s.live.look())
		data := ""
		for range pages {
			data = <-got
		}
		used += cpuTime() - cpu
		var u update
		if err := json.Unmarshal([]byte(data), &u); err != nil {
			b.Fatal(err)
		}
		done := u.Values[string(x.running)+".done"]
		if done == last || done == "" {
			b.Fatalf("an update tells nothing new: %s", data)
		}
		last = done
	}
	each := used / time.Duration(updates)
	b.ReportMetric(float64(each.Microseconds())/1000, "cpu-ms/update")
	b.ReportMetric(each.Seconds()/every.Seconds(), "share-of-a-core")
	b.ReportMetric(0, "ns/op")
}
