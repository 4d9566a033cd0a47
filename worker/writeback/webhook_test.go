package writeback_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker/writeback"
)

func TestMain(m *testing.M) {
	code := m.Run()
	storetest.StopPostgres()
	os.Exit(code)
}

var hookSecret = []byte("a secret of the webhook")

// hooks is a store whose batches end at a receiver.
type hooks struct {
	*receiver
	open   func() *store.Store
	store  *store.Store
	clock  *storetest.Clock
	sender *writeback.Sender
	rules  store.Webhook
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, f func(t *testing.T, h *hooks)) {
	for name, place := range map[string]func(*testing.T) string{
		"SQLite":   func(t *testing.T) string { return t.TempDir() },
		"Postgres": func(t *testing.T) string { return storetest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			h := &hooks{receiver: &receiver{status: 200}, clock: storetest.NewClock()}
			server := httptest.NewServer(h.receiver)
			t.Cleanup(server.Close)
			at := place(t)
			h.open = func() *store.Store { return storetest.Open(t, at, store.Options{Now: h.clock.Now}) }
			h.rules = store.Webhook{URL: server.URL + "/hook", Finished: true, ConfirmAfter: 5 * time.Minute, Links: "https://audit.example"}
			h.store = h.open()
			h.sender = h.newSender(t)
			f(t, h)
		})
	}
}

func (h *hooks) newSender(t *testing.T) *writeback.Sender {
	t.Helper()
	s, err := writeback.New(writeback.Config{Store: h.store, WebhookSecret: hookSecret, Now: h.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type outcomes map[string]report.Outcome

// batch audits a list of sites once.
func (h *hooks) batch(t *testing.T, o outcomes) store.BatchID {
	t.Helper()
	h.clock.Add(time.Hour)
	b, err := h.store.CreateBatch(t.Context(), store.NewBatch{Name: "weekly", Sources: []string{"list.txt"}, Webhook: &h.rules})
	if err != nil {
		t.Fatal(err)
	}
	var lines []store.Line
	for i, name := range slices.Sorted(maps.Keys(o)) {
		target := "https://" + name + ".example/agentic.json"
		lines = append(lines, store.Line{Number: int64(i + 1), Input: target, Target: target, ID: "id-" + name, Label: "Label " + name})
	}
	if _, err = h.store.AddLines(t.Context(), b.ID, lines); err == nil {
		_, err = h.store.SealBatch(t.Context(), b.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.audit(t, o)
	return b.ID
}

// audit does all that is due, and says how many runs that were.
func (h *hooks) audit(t *testing.T, o outcomes) (n int) {
	t.Helper()
	for {
		due, err := h.store.TakeDue(t.Context(), store.ClassSmall, 100)
		if err == nil && len(due) == 0 {
			due, err = h.store.TakeDue(t.Context(), store.ClassBulk, 100)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			return n
		}
		for _, d := range due {
			claim, err := h.store.ClaimRun(t.Context(), d.Run, "test", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(claim.Target, "https://"), ".")
			res := storetest.Result(claim.Target, o[name], report.ReasonComplete, h.clock.Now())
			if err := h.store.FinishRun(t.Context(), claim, res); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
}

// once sends what is to be sent.
func (h *hooks) once(t *testing.T) writeback.Counts {
	t.Helper()
	c, err := h.sender.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// whole is a batch with the confirmation of what changed, and its message.
func (h *hooks) whole(t *testing.T, o outcomes) string {
	t.Helper()
	h.batch(t, o)
	h.once(t)
	h.clock.Add(5 * time.Minute)
	h.audit(t, o)
	h.once(t)
	return h.digests(t)
}

// digests are the messages that were received, short, and forgets them.
func (h *hooks) digests(t *testing.T) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, m := range h.got {
		timestamp := m.header.Get("Agentaudit-Timestamp")
		if want := "v1=" + writeback.Sign(hookSecret, timestamp, m.body); m.header.Get("Agentaudit-Signature") != want {
			t.Errorf("signed %q, want %q", m.header.Get("Agentaudit-Signature"), want)
		}
		var e store.BatchEnd
		if err := json.Unmarshal(m.body, &e); err != nil {
			t.Fatal(err)
		}
		words := []string{strings.TrimPrefix(e.Event, "batch.")}
		d := e.Difference
		for _, l := range []struct {
			name string
			list store.SiteList
		}{{"fixed", d.Fixed}, {"new", d.NewFailures}, {"broken", d.StillBroken}, {"unsettled", d.Unsettled}} {
			if l.list.Count != int64(len(l.list.Sites))+l.list.More {
				t.Errorf("%s: %d, of which %d and %d more", l.name, l.list.Count, len(l.list.Sites), l.list.More)
			}
			for _, s := range l.list.Sites {
				words = append(words, l.name+" "+strings.TrimPrefix(s.ID, "id-"))
			}
		}
		for _, n := range []struct {
			name string
			n    int64
		}{{"first", d.FirstSeen}, {"unchecked", d.Unchecked}, {"unconfirmed", d.Unconfirmed}} {
			if n.n != 0 {
				words = append(words, fmt.Sprint(n.n, " ", n.name))
			}
		}
		all = append(all, strings.Join(words, ", "))
	}
	h.got = nil
	slices.Sort(all) // they are sent side by side
	return strings.Join(all, "; ")
}

func (h *hooks) expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: told %q, want %q", what, got, want)
	}
}

// The end of a batch is one message with what changed, after the changes were
// seen twice.
func TestDigest(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		h.expect(t, "first", h.whole(t, outcomes{"a": bad, "b": good, "c": bad, "d": good, "e": open}), "finished, 4 first, 1 unchecked")

		now := outcomes{"a": good, "b": bad, "c": bad, "d": open, "e": part}
		id := h.batch(t, now)
		if h.once(t); h.digests(t) != "" {
			t.Error("told before the changes are confirmed")
		}
		b, err := h.store.Batch(t.Context(), id)
		if err != nil || b.State != store.StateRunning || b.OpenRuns != 2 || !strings.Contains(b.Note, "confirmed") {
			t.Fatalf("%+v, %v", b, err)
		}
		if n := h.audit(t, now); n != 0 {
			t.Errorf("%d runs are audited again at once", n)
		}
		h.clock.Add(5 * time.Minute)
		if n := h.audit(t, now); n != 2 {
			t.Errorf("%d runs are audited again, want the 2 that changed", n)
		}
		h.once(t)
		h.once(t)
		if len(h.got) != 1 {
			t.Fatalf("%d messages", len(h.got))
		}
		var e store.BatchEnd
		if err := json.Unmarshal(h.got[0].body, &e); err != nil {
			t.Fatal(err)
		}
		if e.Batch != id || e.Name != "weekly" || e.State != store.StateFinished || e.URL != "https://audit.example/batches/"+string(id) || e.Entries != 5 ||
			!maps.Equal(e.Outcomes, map[report.Outcome]int64{good: 1, part: 1, bad: 2, open: 1}) || !e.Regressed || e.Difference.Compared != 3 {
			t.Errorf("%s", h.got[0].body)
		}
		fixed := e.Difference.Fixed.Sites
		if len(fixed) != 1 || fixed[0].Target != "https://a.example/agentic.json" || fixed[0].Label != "Label a" || fixed[0].Before != bad || fixed[0].Outcome != good ||
			fixed[0].Detail != "what decided" || fixed[0].URL != "https://audit.example/runs/"+string(id)+"-1" || fixed[0].CheckedAt.IsZero() {
			t.Errorf("%+v", fixed)
		}
		h.expect(t, "second", h.digests(t), "finished, fixed a, new b, broken c, 1 first, 1 unchecked")
		// What was told is known; no verdict in between changes nothing.
		h.expect(t, "third", h.whole(t, outcomes{"a": good, "b": bad, "d": good}), "finished, broken b")
		log, err := h.store.Deliveries(t.Context(), store.DeliveryDone, 0, 10)
		if err != nil || len(log) != 3 || log[0].Event != store.EventFinished || log[0].Status != 200 {
			t.Errorf("%+v, %v", log, err)
		}
	})
}

// A change that the second audit does not show is none.
func TestUnconfirmedChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		h.whole(t, outcomes{"a": good, "b": good, "c": good})
		id := h.batch(t, outcomes{"a": bad, "b": bad, "c": good})
		h.once(t)
		h.clock.Add(5 * time.Minute)
		h.audit(t, outcomes{"a": bad, "b": good})
		h.once(t)
		h.expect(t, "digest", h.digests(t), "finished, new a, 1 unconfirmed")
		b, err := h.store.Batch(t.Context(), id)
		if err != nil || b.State != store.StateFinished || b.Outcomes[bad].Entries != 1 || b.Outcomes[good].Entries != 2 {
			t.Errorf("the batch has %+v, %v", b, err)
		}
	})
}

// Whoever dies between two steps, and however many do the same: the end of a
// batch is told once.
func TestToldOnceWhoeverDies(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		before, after := outcomes{}, outcomes{}
		many := 12
		if h.store.Sole() {
			many = 505 // more than one transaction compares
		}
		for i := range many {
			name := fmt.Sprintf("s%03d", i)
			before[name], after[name] = good, good
		}
		after["s011"] = bad
		h.whole(t, before)
		id := h.batch(t, after)
		steps := func() (n int) {
			for more := true; more; n++ {
				// Each step is done by another process.
				h.store.Close()
				h.store = h.open()
				var err error
				if more, err = h.store.PlanWebhooks(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return n
		}
		if n := steps(); n < 3 {
			t.Fatalf("it took %d steps", n)
		}
		h.clock.Add(5 * time.Minute)
		h.audit(t, after)
		steps()
		// Two plan and send at the same time.
		h.sender = h.newSender(t)
		errs := make(chan error)
		for range 2 {
			go func() {
				_, err := h.sender.Once(t.Context())
				errs <- err
			}()
		}
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Fatal(err)
		}
		h.expect(t, "digest", h.digests(t), "finished, new s011")
		log, err := h.store.Deliveries(t.Context(), "", 0, 10)
		if err != nil || len(log) != 2 || log[0].Batch != id || log[0].Attempts != 1 {
			t.Errorf("%+v, %v", log, err)
		}
	})
}

// A sender that dies with a message on its way leaves it to the next one, under
// the same number.
func TestSenderDiesWhileItSends(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		h.batch(t, outcomes{"a": good})
		dying, kill := context.WithCancel(t.Context())
		arrived := make(chan string, 1)
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			arrived <- r.Header.Get("Agentaudit-Delivery")
			<-r.Context().Done()
		}))
		defer slow.Close()
		url := h.rules.URL
		h.rules.URL = slow.URL
		h.batch(t, outcomes{"b": good})
		h.rules.URL = url
		ended := make(chan error)
		go func() {
			_, err := h.sender.Once(dying)
			ended <- err
		}()
		id := <-arrived
		kill()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		log, err := h.store.Deliveries(t.Context(), store.DeliveryDue, 0, 10)
		i := slices.IndexFunc(log, func(d store.Delivery) bool { return fmt.Sprint(d.ID) == id })
		if err != nil || i < 0 {
			t.Fatalf("%+v, %v", log, err)
		}
		h.clock.Add(time.Minute)
		again, err := h.store.TakeDeliveries(t.Context(), true, 10, time.Minute)
		if err != nil || !slices.ContainsFunc(again, func(d store.Delivery) bool { return d.ID == log[i].ID && d.Attempts == 2 }) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

func TestWebhookThatFailsIsTriedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		h.answer(500, nil)
		h.batch(t, outcomes{"a": good})
		if c := h.once(t); c.Again != 1 {
			t.Fatalf("%+v", c)
		}
		h.digests(t)
		h.answer(204, nil)
		if c := h.once(t); c != (writeback.Counts{}) {
			t.Errorf("tried again at once: %+v", c)
		}
		h.clock.Add(writeback.Delays[0])
		if c := h.once(t); c.Sent != 1 {
			t.Errorf("%+v", c)
		}
		h.expect(t, "again", h.digests(t), "finished, 1 first")
	})
}

// Regressions are told from a number of sites or a share of them on; what is
// below waits for company.
func TestThresholds(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		h.rules.Finished, h.rules.Regressed, h.rules.MinSites = false, true, 2
		h.expect(t, "first", h.whole(t, outcomes{"a": good, "b": good, "c": good, "d": good}), "")
		h.expect(t, "one", h.whole(t, outcomes{"a": bad, "b": good, "c": good, "d": good}), "")
		h.expect(t, "two", h.whole(t, outcomes{"a": bad, "b": part, "c": good, "d": good}), "regressed, new a, new b")
		h.expect(t, "none new", h.whole(t, outcomes{"a": bad, "b": part, "c": good, "d": bad}), "")
		h.rules.MinSites, h.rules.MinPercent = 0, 25
		h.expect(t, "a quarter", h.whole(t, outcomes{"a": bad, "b": part, "c": good, "d": bad}), "regressed, new d, broken a")
		h.rules.MinPercent = 60
		h.expect(t, "less than 60 %", h.whole(t, outcomes{"b": bad, "c": bad, "d": bad, "a": bad}), "")
		h.rules.Finished, h.rules.MinPercent = true, 50
		h.expect(t, "both", h.whole(t, outcomes{"b": bad, "c": bad, "d": bad, "a": bad}), "finished, new b, new c, broken a, broken d; regressed, new b, new c, broken a, broken d")
	})
}

// A site that changes back and forth is told when it has settled.
func TestFlapping(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		h.rules.Settle = 24 * time.Hour
		steady := func(a report.Outcome) outcomes { return outcomes{"a": a, "b": good} }
		h.expect(t, "first", h.whole(t, steady(good)), "finished, 2 first")
		h.expect(t, "down", h.whole(t, steady(bad)), "finished, new a")
		h.expect(t, "up", h.whole(t, steady(good)), "finished, unsettled a")
		h.expect(t, "down again", h.whole(t, steady(bad)), "finished, broken a")
		h.expect(t, "up again", h.whole(t, steady(good)), "finished, unsettled a")
		h.clock.Add(25 * time.Hour)
		h.expect(t, "a day later", h.whole(t, steady(good)), "finished, fixed a")
		h.clock.Add(25 * time.Hour)
		h.expect(t, "settled", h.whole(t, steady(good)), "finished")
	})
}

// A digest names some and counts all.
func TestDigestsAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		before, after := outcomes{}, outcomes{}
		for i := range 70 {
			name := fmt.Sprintf("s%02d", i)
			before[name], after[name] = good, bad
			if i%2 == 0 {
				before[name], after[name] = bad, cmp.Or(map[int]report.Outcome{0: good}[i%4], bad)
			}
		}
		h.rules.ConfirmAfter = -1 // tells at once
		h.batch(t, before)
		h.once(t)
		h.batch(t, after)
		h.once(t)
		if len(h.got) != 2 {
			t.Fatalf("%d messages", len(h.got))
		}
		var e store.BatchEnd
		if err := json.Unmarshal(h.got[1].body, &e); err != nil {
			t.Fatal(err)
		}
		d := e.Difference
		for _, l := range []struct {
			list store.SiteList
			want int64
		}{{d.Fixed, 18}, {d.NewFailures, 35}, {d.StillBroken, 17}} {
			if shown := min(l.want, store.ToldSites); l.list.Count != l.want || int64(len(l.list.Sites)) != shown || l.list.More != l.want-shown {
				t.Errorf("%d sites, %d named, %d more; want %d", l.list.Count, len(l.list.Sites), l.list.More, l.want)
			}
		}
	})
}

// A batch whose sites are audited again ends again; a cancelled one has ended,
// too.
func TestOtherEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		h.rules.ConfirmAfter = -1
		id := h.batch(t, outcomes{"a": bad, "b": good})
		h.once(t)
		h.digests(t)
		if n, err := h.store.RetryBatch(t.Context(), id, store.Selection{Outcomes: []report.Outcome{bad}}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if h.once(t); h.digests(t) != "" {
			t.Error("told before its end")
		}
		h.audit(t, outcomes{"a": part})
		h.once(t)
		h.expect(t, "retry", h.digests(t), "finished, fixed a")
		b, err := h.store.CreateBatch(t.Context(), store.NewBatch{Webhook: &h.rules})
		if err == nil {
			err = h.store.CancelBatch(t.Context(), b.ID, "its list could not be read")
		}
		if err != nil {
			t.Fatal(err)
		}
		h.once(t)
		var e store.BatchEnd
		if err := json.Unmarshal(h.got[0].body, &e); err != nil || e.State != store.StateCancelled || e.Note != "its list could not be read" {
			t.Errorf("%s, %v", h.got[0].body, err)
		}
	})
}

// A sender's own webhook is for all batches that have none.
func TestWebhookOfAService(t *testing.T) {
	onBoth(t, func(t *testing.T, h *hooks) {
		rules := h.rules
		old := storetest.Batch(t, h.store, "https://a.example/agentic.json")
		h.audit(t, outcomes{"a": good})
		h.clock.Add(time.Hour)
		var err error
		if h.sender, err = writeback.New(writeback.Config{Store: h.store, WebhookSecret: hookSecret, Webhook: &rules, Now: h.clock.Now}); err != nil {
			t.Fatal(err)
		}
		h.once(t)
		next := storetest.Batch(t, h.store, "https://a.example/agentic.json")
		h.audit(t, outcomes{"a": good})
		h.once(t)
		h.expect(t, "digests", h.digests(t), "finished")
		if _, err := h.store.WebhookOf(t.Context(), old.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a batch that had ended before is told: %v", err)
		}
		if got, err := h.store.WebhookOf(t.Context(), next.ID); err != nil || *got != rules {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
