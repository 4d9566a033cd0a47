package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// fakeQueue says what it is told to say, or nothing until it is released.
type fakeQueue struct {
	embedded bool
	workers  []queue.Worker
	depths   map[queue.Class]queue.Depth
	err      error
	blocked  chan struct{} // nil for one that answers
	asked    atomic.Int64
}

func (q *fakeQueue) IsEmbedded() bool { return q.embedded }

func (q *fakeQueue) Workers(context.Context) ([]queue.Worker, error) {
	q.asked.Add(1)
	if q.blocked != nil {
		<-q.blocked
	}
	return q.workers, q.err
}

func (q *fakeQueue) Stats(context.Context) (map[queue.Class]queue.Depth, error) {
	return q.depths, q.err
}

// Whoever opens the overview sees whether work would be done, also where there
// is none to do.
func TestHealth(t *testing.T) {
	x, clock := storetest.New(t)
	q := &fakeQueue{depths: map[queue.Class]queue.Depth{queue.Small: {Pending: 3, Retry: 1}, queue.Bulk: {}}}
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, Queue: q})
	s.vitals.patience = time.Hour
	api := func() (o apiOverview) {
		t.Helper()
		_, body := get(t, s, "/api/v1/overview")
		if err := json.Unmarshal([]byte(body), &o); err != nil {
			t.Fatal(err)
		}
		return o
	}

	t.Run("nothing audited, no worker", func(t *testing.T) {
		doc := read(t, s, "/")
		has(t, doc, "#welcome", "Nothing has been audited yet")
		want(t, doc, "#health", "Queue and workers")
		want(t, doc, "[data-live=health.workers]", "0 alive")
		want(t, doc, "[data-live=health.heard]", "none heard within a day")
		want(t, doc, "[data-live=health.trouble]", "No worker is alive. Start agentaudit serve or agentaudit worker.")
		want(t, doc, "[data-live=health.waiting]", "nothing waits")
		has(t, doc, ".vitals div", "Last resultnone yet")
		has(t, doc, ".more", "No audit is scheduled.")
		if a := api().Health; a.Workers == nil || a.Workers.Alive != 0 || !a.LastResult.IsZero() || len(a.Trouble) != 1 {
			t.Errorf("%+v", a)
		}
	})

	storetest.Batch(t, x, storetest.Targets(3)...)
	clock.Add(90 * time.Second)
	q.workers = []queue.Worker{{ID: "a", Places: 64, Silence: 3 * time.Second}, {ID: "b", Places: 100, Silence: 4 * time.Second}, {ID: "c", Places: 64, Silence: 10 * time.Minute}, {ID: "d", Silence: 5 * time.Hour}}
	t.Run("work and workers", func(t *testing.T) {
		if _, err := x.TakeDue(t.Context(), store.ClassSmall, 2); err != nil {
			t.Fatal(err)
		}
		doc := read(t, s, "/")
		want(t, doc, "[data-live=health.workers]", "2 alive")
		want(t, doc, "[data-live=health.heard]", "heard 3 s ago, for 164 sites at a time")
		want(t, doc, "[data-live=health.small]", "2")
		want(t, doc, "[data-live=health.bulk]", "0")
		want(t, doc, "[data-live=health.waiting]", "1 min 30 s")
		has(t, doc, "[data-live=health.queue]", "on Redis, answers")
		has(t, doc, "[data-live=health.trouble]", "1 worker has not been heard for 10 min and did not end in order")
		a := api().Health
		if a.Queued[store.ClassSmall] != 2 || !a.WaitingSince.Equal(clock.Now().Add(-90*time.Second)) || *a.Workers != (apiWorkers{2, 164, clock.Now().UTC().Add(-3 * time.Second), 1, clock.Now().UTC().Add(-10 * time.Minute)}) {
			t.Errorf("%+v %+v", a, a.Workers)
		}
		if a.Queue.Kind != "redis" || !a.Queue.Answers || a.Queue.Tasks[queue.Small] != (apiInQueue{Pending: 3, Retry: 1}) {
			t.Errorf("%+v", a.Queue)
		}
	})

	t.Run("schedules", func(t *testing.T) {
		b := storetest.Batch(t, x, storetest.Targets(1)...)
		v := visit(t, s)
		for _, name := range []string{"Nightly", "At rest"} {
			v.do("/schedules", "name", name, "batch", string(b.ID), "cron", "0 3 * * *", "zone", "UTC")
		}
		list, err := x.Schedules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			if l.Name == "At rest" {
				v.do("/schedules/" + string(l.ID) + "/pause")
			}
		}
		doc := read(t, s, "/")
		want(t, doc, ".next tbody th", "Nightly")
		has(t, doc, ".next tbody td", "every day at 3:00, UTC")
		want(t, doc, ".next .state")
		has(t, doc, ".more", "1 schedule is paused.")
		clock.Add(48 * time.Hour)
		doc = read(t, s, "/")
		want(t, doc, ".next .state", "late")
		has(t, doc, "[data-live=health.trouble]", "1 schedule is late")
		if a := api().Health.Schedules; a.Late != 1 || a.Paused != 1 || len(a.Next) != 1 || !a.Next[0].Late || a.Next[0].Name != "Nightly" {
			t.Errorf("%+v", a)
		}
	})

	t.Run("the queue fails", func(t *testing.T) {
		q.err = errors.New("connection refused")
		doc := read(t, s, "/")
		want(t, doc, "[data-live=health.workers]", "not known")
		want(t, doc, "[data-live=health.queue]", "on Redis, does not answer")
		has(t, doc, "[data-live=health.trouble]", "The queue does not answer")
		want(t, doc, "[data-live=health.small]", "2")
		if a := api().Health; a.Queue.Answers || a.Workers != nil {
			t.Errorf("%+v", a)
		}
	})
}

// A queue that does not answer is asked once, however many pages wait, and takes
// nothing of the page with it.
func TestHealthOfSilentQueue(t *testing.T) {
	x, clock := storetest.New(t)
	q := &fakeQueue{embedded: true, blocked: make(chan struct{}), workers: []queue.Worker{{Places: 1}}}
	s := serve(t, Config{Store: x, Now: clock.Now, Queue: q})
	s.vitals.patience = 0
	for range 3 {
		doc := read(t, s, "/")
		want(t, doc, "[data-live=health.queue]", "in this process, does not answer")
		has(t, doc, "[data-live=health.store]", "answers")
	}
	s.vitals.patience = time.Hour
	var wg sync.WaitGroup
	var said [2]*QueueHealth
	for i := range said {
		wg.Go(func() { said[i] = s.vitals.ask(t.Context()) })
	}
	close(q.blocked)
	wg.Wait()
	for _, says := range said {
		if says.Down || says.Alive != 1 {
			t.Errorf("%+v", says)
		}
	}
	if n := q.asked.Load(); n > 3 { // the one that hung, and at most one for each that asked later
		t.Errorf("asked %d times", n)
	}
}

// A dashboard alone says that it does not see workers, and what it does see.
func TestHealthWithoutQueue(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Now: x.clock.Now})
	doc := read(t, s, "/")
	has(t, doc, ".vitals div", "Workersnot seen from here")
	has(t, doc, ".vitals div", "Last result30 Nov 2026")
	want(t, doc, "[data-live=health.queue]")
	_, body := get(t, s, "/api/v1/overview")
	if strings.Contains(body, `"workers"`) || !strings.Contains(body, `"lastResult"`) {
		t.Error(body)
	}
}

// Lists that nobody has started hide nothing of what is under way.
func TestDraftsHideNothing(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now})
	running := storetest.Batch(t, x, storetest.Targets(3)...)
	for i := range mostOpen + 5 {
		clock.Add(time.Second)
		if _, err := x.CreateBatch(t.Context(), store.NewBatch{Name: "draft", Sources: []string{"x.csv"}, Options: []byte(`{"list":{"posted":["x.csv"]}}`)}); err != nil {
			t.Fatal(i, err)
		}
	}
	doc := read(t, s, "/")
	want(t, doc, "#running", "Running now")
	want(t, doc, ".running h3 a", "test")
	h, err := s.vitals.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h.Open[0].ID != running.ID || len(h.Open) != mostOpen || h.More != 0 || len(strings.Fields(h.OpenIDs)) != mostOpen+6 || !strings.Contains(h.OpenIDs, string(running.ID)) {
		t.Errorf("followed: %d, more: %d, ids: %s", len(h.Open), h.More, h.OpenIDs)
	}
	for range mostOpen + 2 {
		clock.Add(time.Second)
		storetest.Batch(t, x, storetest.Targets(1)...)
	}
	has(t, read(t, s, "/"), ".more", "And 3 open batches more")
}

// Two lists that were pasted are not the same list, and a look at one site does
// not displace what is known of many.
func TestOverviewPrefersWhatCompares(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now})
	for i := range 2 {
		x.clock.Add(time.Minute)
		b, err := x.CreateBatch(t.Context(), store.NewBatch{Sources: []string{pastedName}, Options: []byte(`{"list":{"posted":["` + pastedName + `"]}}`)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.AddLines(t.Context(), b.ID, seedLines(i, i+1)); err != nil {
			t.Fatal(err)
		}
		if _, err := x.SealBatch(t.Context(), b.ID); err != nil {
			t.Fatal(err)
		}
		x.work(t, x.net, 100)
	}
	x.work(t, x.net, 100) // the batch that was running is finished, and has none before it
	read(t, s, "/compare?before="+string(x.before)+"&after="+string(x.after))
	doc := read(t, s, "/")
	want(t, doc, ".changes strong", "2", "8", "10")
	has(t, doc, ".columns .of a", "New listings")
}
