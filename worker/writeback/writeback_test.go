package writeback_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker/writeback"
)

var secret = []byte("a secret of the directory")

// receiver is the directory's end.
type receiver struct {
	mu     sync.Mutex
	status int
	header http.Header
	got    []message
}

type message struct {
	header http.Header
	body   []byte
	change store.OutcomeChange
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	m := message{header: req.Header, body: body}
	_ = json.Unmarshal(body, &m.change)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
	for k, v := range r.header {
		w.Header()[k] = v
	}
	w.WriteHeader(r.status)
}

func (r *receiver) answer(status int, header http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.header = status, header
}

// told are the changes that were received, as "id before>outcome", and forgets
// them.
func (r *receiver) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, m := range r.got {
		all = append(all, fmt.Sprintf("%s %s>%s", m.change.ID, m.change.Before, m.change.Outcome))
	}
	r.got = nil
	slices.Sort(all)
	return strings.Join(all, ", ")
}

type world struct {
	*receiver
	store  *store.Store
	clock  *storetest.Clock
	url    string
	sender *writeback.Sender
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{receiver: &receiver{status: 204}}
	server := httptest.NewServer(w.receiver)
	t.Cleanup(server.Close)
	w.url = server.URL + "/hook"
	w.store, w.clock = storetest.New(t)
	var err error
	if w.sender, err = writeback.New(writeback.Config{Store: w.store, Secret: secret, UserAgent: "agentaudit/test", Now: w.clock.Now}); err != nil {
		t.Fatal(err)
	}
	return w
}

// batch is a finished batch of a listing: outcomes by id.
func (w *world) batch(t *testing.T, source string, outcomes map[string]report.Outcome) {
	t.Helper()
	ctx := t.Context()
	w.clock.Add(time.Second)
	b, err := w.store.CreateBatch(ctx, store.NewBatch{Sources: []string{source}})
	if err == nil {
		err = w.store.BeginListing(ctx, b.ID, source, w.url)
	}
	if err != nil {
		t.Fatal(err)
	}
	var page []store.Listing
	for id := range outcomes {
		target := "https://" + id + ".example/agentic.json"
		page = append(page, store.Listing{Key: id, ID: id, URL: target, Line: store.Line{Input: target, Target: target, ID: id, Label: "Label " + id}})
	}
	_, err = w.store.AddListings(ctx, b.ID, page, func([]bool) (json.RawMessage, error) { return json.RawMessage("{}"), nil })
	if err == nil {
		_, err = w.store.SealBatch(ctx, b.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	due, err := w.store.TakeDue(ctx, store.ClassSmall, 100)
	if err != nil || len(due) != len(outcomes) {
		t.Fatalf("%d runs are due, %v", len(due), err)
	}
	for _, d := range due {
		claim, err := w.store.ClaimRun(ctx, d.Run, "test", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(claim.Target, "https://"), ".")
		err = w.store.FinishRun(ctx, claim, &report.Result{
			Outcome: outcomes[id], Reason: report.ReasonComplete, Detail: "Detail of " + id, RulesVersion: report.RulesVersion,
			StartedAt: w.clock.Now(), FinishedAt: w.clock.Now(), Report: &report.Report{ProfileURL: claim.Target},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) once(t *testing.T) writeback.Counts {
	t.Helper()
	c, err := w.sender.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	good = report.OutcomeSuccessful
	part = report.OutcomePartial
	bad  = report.OutcomeFailed
	open = report.OutcomeUnchecked
)

func TestChangesAreTold(t *testing.T) {
	w := newWorld(t)
	w.batch(t, "one", map[string]report.Outcome{"a": bad, "b": good, "c": bad, "d": open})
	if c := w.once(t); c.Sent != 0 || w.told() != "" {
		t.Errorf("the first time tells something: %+v", c)
	}
	w.batch(t, "one", map[string]report.Outcome{"a": good, "b": good, "c": open, "d": bad, "e": good})
	w.once(t)
	if got := w.told(); got != "a failed>successful" {
		t.Errorf("told %q", got)
	}
	// No verdict in between hides no change, and is none.
	w.batch(t, "one", map[string]report.Outcome{"a": good, "b": bad, "c": good, "d": part, "e": good})
	w.once(t)
	if got := w.told(); got != "b successful>failed, c failed>successful, d failed>partial" {
		t.Errorf("told %q", got)
	}
	// Another directory has outcomes of its own; nothing is told twice.
	w.batch(t, "other", map[string]report.Outcome{"a": bad})
	if w.once(t); w.told() != "" {
		t.Error("something was told twice, or of another directory")
	}
}

func TestMessages(t *testing.T) {
	w := newWorld(t)
	w.batch(t, "one", map[string]report.Outcome{"a": bad})
	w.batch(t, "one", map[string]report.Outcome{"a": good})
	w.once(t)
	if len(w.got) != 1 {
		t.Fatalf("%d messages", len(w.got))
	}
	m := w.got[0]
	timestamp := m.header.Get("Agentaudit-Timestamp")
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "." + string(m.body)))
	if want := "v1=" + hex.EncodeToString(mac.Sum(nil)); m.header.Get("Agentaudit-Signature") != want || timestamp != fmt.Sprint(w.clock.Now().Unix()) {
		t.Errorf("signed %q at %s, want %q", m.header.Get("Agentaudit-Signature"), timestamp, want)
	}
	c := m.change
	if c.Event != "listing.outcome-changed" || c.Label != "Label a" || c.Source != "one" || c.Target != "https://a.example/agentic.json" || c.Detail != "Detail of a" || c.CheckedAt.IsZero() {
		t.Errorf("%s", m.body)
	}
	log, err := w.store.Deliveries(t.Context(), "", 0, 10)
	if err != nil || len(log) != 1 || log[0].State != store.DeliveryDone || log[0].Status != 204 || log[0].Ref != "a" || log[0].EndedAt.IsZero() {
		t.Errorf("%+v, %v", log, err)
	}
}

func TestRetries(t *testing.T) {
	w := newWorld(t)
	w.batch(t, "one", map[string]report.Outcome{"a": bad})
	w.batch(t, "one", map[string]report.Outcome{"a": good})
	w.answer(503, http.Header{"Retry-After": {"600"}})
	if c := w.once(t); c.Again != 1 {
		t.Fatalf("%+v", c)
	}
	w.clock.Add(599 * time.Second)
	if c := w.once(t); c != (writeback.Counts{}) {
		t.Errorf("Retry-After was not obeyed: %+v", c)
	}
	w.clock.Add(time.Second)
	w.answer(500, nil)
	attempts := 2
	for w.once(t).Again == 1 {
		w.clock.Add(writeback.Delays[attempts-1])
		attempts++
	}
	log, err := w.store.Deliveries(t.Context(), store.DeliveryFailed, 0, 10)
	if err != nil || len(log) != 1 || log[0].Attempts != len(writeback.Delays)+1 || log[0].Error != "status 500" || attempts != log[0].Attempts {
		t.Errorf("%d attempts, %+v, %v", attempts, log, err)
	}
	ids := map[string]bool{}
	for _, m := range w.got {
		ids[m.header.Get("Agentaudit-Delivery")] = true
	}
	if len(ids) != 1 {
		t.Errorf("the attempts at one message have the ids %v", ids)
	}
}

func TestReceiverIsGone(t *testing.T) {
	w := newWorld(t)
	w.batch(t, "one", map[string]report.Outcome{"a": bad})
	w.batch(t, "one", map[string]report.Outcome{"a": good})
	w.answer(410, nil)
	if c := w.once(t); c.Failed != 1 {
		t.Errorf("%+v", c)
	}
	// Redirects are not followed: the signature is for one receiver.
	w.batch(t, "one", map[string]report.Outcome{"a": bad})
	w.answer(302, http.Header{"Location": {w.url + "/elsewhere"}})
	w.told()
	if c := w.once(t); c.Again != 1 || len(w.got) != 1 {
		t.Errorf("%+v, %d requests", c, len(w.got))
	}
}

// Two senders do not tell the same twice, and a killed one's message is told
// when its lease has ended.
func TestLease(t *testing.T) {
	w := newWorld(t)
	w.batch(t, "one", map[string]report.Outcome{"a": bad})
	w.batch(t, "one", map[string]report.Outcome{"a": good})
	for more := true; more; {
		var err error
		if _, more, err = w.store.PlanDeliveries(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := w.store.TakeDeliveries(t.Context(), false, 10, time.Minute)
	if err != nil || len(taken) != 1 {
		t.Fatalf("%v, %v", taken, err)
	}
	if c := w.once(t); c != (writeback.Counts{}) {
		t.Errorf("what another holds was sent: %+v", c)
	}
	w.clock.Add(time.Minute)
	if c := w.once(t); c.Sent != 1 {
		t.Errorf("%+v", c)
	}
	taken[0].State = store.DeliveryFailed
	if err := w.store.EndDelivery(t.Context(), taken[0], time.Time{}); err == nil {
		t.Error("a late end was kept")
	}
}

// meeting answers nobody until so many requests are there.
type meeting struct {
	receiver
	want int
	mu   sync.Mutex
	n    int
	all  chan struct{}
}

func (m *meeting) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	m.mu.Lock()
	if m.n++; m.n == m.want {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
	case <-req.Context().Done(): // the sender's patience is over
	}
	m.receiver.ServeHTTP(w, req)
}

// A slow receiver does not let the leases of what was taken with its message
// run out: all are sent at once.
func TestWhatWasTakenIsSentAtOnce(t *testing.T) {
	w := newWorld(t)
	m := &meeting{receiver: receiver{status: 204}, want: 8, all: make(chan struct{})}
	server := httptest.NewServer(m)
	defer server.Close()
	w.url = server.URL
	before, after := map[string]report.Outcome{}, map[string]report.Outcome{}
	for i := range m.want {
		before[fmt.Sprint("s", i)], after[fmt.Sprint("s", i)] = bad, good
	}
	w.batch(t, "one", before)
	w.batch(t, "one", after)
	if c := w.once(t); c.Sent != int64(m.want) {
		t.Errorf("%+v", c)
	}
}

func TestCheckURL(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://dir.example/hook": true, "http://127.0.0.1:3000/": true, "http://localhost/": true, "http://[::1]/x": true,
		"http://dir.example/": false, "ftp://dir.example/": false, "/hook": false, "https://anna:hunter2@dir.example/": false, "": false,
	} {
		if err := writeback.CheckURL(url); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := writeback.New(writeback.Config{Store: (*store.Store)(nil), Secret: []byte("short")}); err == nil {
		t.Error("a short secret is taken")
	}
}
