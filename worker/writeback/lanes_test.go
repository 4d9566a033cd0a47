package writeback_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/worker/writeback"
)

// hanging is a receiver that never answers.
type hanging struct {
	mu      sync.Mutex
	n       int
	arrived chan struct{} // closed with the first message
}

func (h *hanging) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	h.mu.Lock()
	if h.n++; h.n == 1 {
		close(h.arrived)
	}
	h.mu.Unlock()
	_, _ = io.Copy(io.Discard, req.Body) // only then the server sees that the sender has gone
	<-req.Context().Done()
}

// A receiver that hangs delays neither what others are told nor the
// confirmation of what changed.
func TestHangingReceiverDelaysItselfAlone(t *testing.T) {
	w := newWorld(t)
	hang := &hanging{arrived: make(chan struct{})}
	server := httptest.NewServer(hang)
	defer server.Close()
	receives := w.url
	w.url = server.URL
	before, after := map[string]report.Outcome{}, map[string]report.Outcome{}
	for i := range 40 {
		before[fmt.Sprint("s", i)], after[fmt.Sprint("s", i)] = bad, good
	}
	w.batch(t, "slow", before)
	w.batch(t, "slow", after)
	w.url = receives
	w.batch(t, "other", map[string]report.Outcome{"a": bad})

	digests := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { digests <- "" }))
	defer hook.Close()
	sender, err := writeback.New(writeback.Config{Store: w.store, Secret: secret, WebhookSecret: hookSecret, Now: w.clock.Now, Every: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sender.Run(ctx) }()
	<-hang.arrived

	// The end of a batch, a change, and one that is confirmed first.
	h := &hooks{store: w.store, clock: w.clock, rules: store.Webhook{URL: hook.URL, Finished: true, ConfirmAfter: time.Minute}}
	h.batch(t, outcomes{"x": bad})
	<-digests
	w.batch(t, "other", map[string]report.Outcome{"a": good})
	id := h.batch(t, outcomes{"x": good})
	for b, err := w.store.Batch(ctx, id); !b.State.Open(); b, err = w.store.Batch(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-digests:
			t.Fatal("told without being confirmed")
		case <-time.After(time.Millisecond):
		}
	}
	for w.told() != "a failed>successful" {
		<-time.After(time.Millisecond)
	}
	hang.mu.Lock()
	if hang.n > 8 {
		t.Errorf("the others waited for %d messages to the receiver that hangs", hang.n)
	}
	hang.mu.Unlock()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A receiver that does not answer rests, longer each time, and its messages
// lose no attempts by that.
func TestReceiverThatDoesNotAnswerRests(t *testing.T) {
	w := newWorld(t)
	receives := w.url
	gone := httptest.NewServer(nil)
	w.url = gone.URL
	gone.Close()
	before, after := map[string]report.Outcome{}, map[string]report.Outcome{}
	for i := range 20 {
		before[fmt.Sprint("s", i)], after[fmt.Sprint("s", i)] = bad, good
	}
	w.batch(t, "gone", before)
	w.batch(t, "gone", after)
	w.url = receives
	w.batch(t, "other", map[string]report.Outcome{"a": bad})
	w.batch(t, "other", map[string]report.Outcome{"a": good})
	if c := w.once(t); c.Again != 8 || c.Sent != 1 {
		t.Errorf("at first: %+v", c)
	}
	if c := w.once(t); c != (writeback.Counts{}) {
		t.Errorf("it does not rest: %+v", c)
	}
	w.clock.Add(10 * time.Second)
	if c := w.once(t); c.Again != 8 {
		t.Errorf("after its rest: %+v", c)
	}
	w.clock.Add(19 * time.Second)
	if c := w.once(t); c != (writeback.Counts{}) {
		t.Errorf("the second rest is no longer than the first: %+v", c)
	}
	// Who answers is served to the end at once.
	log, err := w.store.Deliveries(t.Context(), store.DeliveryDue, 0, 100)
	if err != nil || len(log) != 20 {
		t.Fatalf("%d are due, %v", len(log), err)
	}
	l, err := net.Listen("tcp", gone.Listener.Addr().String())
	if err != nil {
		t.Skip("its port is somebody else's by now:", err)
	}
	back := httptest.NewUnstartedServer(w.receiver)
	back.Listener.Close()
	back.Listener = l
	back.Start()
	defer back.Close()
	w.clock.Add(time.Minute)
	if c := w.once(t); c.Sent != 20 {
		t.Errorf("back again: %+v", c)
	}
}
