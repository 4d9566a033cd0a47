package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// Progress is how far a batch has come, in words that the script can replace.
type Progress struct {
	Batch *store.Batch
	Bar   Bar
	// Open says that the numbers still change.
	Open bool

	values map[string]string
}

// Key is the name under which a value comes in live updates.
func (p Progress) Key(name string) string { return string(p.Batch.ID) + "." + name }

// Value is a number or text as it is shown.
func (p Progress) Value(name string) string { return p.values[name] }

// progressOf counts distinct sites: they are the work to do, however many
// entries of the list share one.
func progressOf(b *store.Batch, rate func(store.BatchID) (float64, bool), now time.Time) Progress {
	done := b.Runs - b.OpenRuns
	counts := map[report.Outcome]int64{}
	for o, c := range b.Outcomes {
		counts[o] = c.Runs
	}
	p := Progress{Batch: b, Bar: newBar(counts, b.Runs, plural(b.Runs, "site", "sites")), Open: b.State.Open(), values: map[string]string{
		"state": string(b.State), "done": number(done), "total": number(b.Runs), "share": share(done, b.Runs), "left": plural(b.OpenRuns, "site", "sites"),
		"bar": p100(done, b.Runs),
	}}
	for _, s := range p.Bar.Segments {
		o := string(s.Outcome)
		p.values[o], p.values[o+".x"], p.values[o+".width"] = number(s.Count), s.X, s.Width
	}
	perSecond, ok := rate(b.ID)
	if !ok && b.State == store.StateRunning && !b.StartedAt.IsZero() && now.Sub(b.StartedAt) > 0 {
		perSecond = float64(done) / now.Sub(b.StartedAt).Seconds() // since the start
	}
	p.values["rate"], p.values["eta"] = "–", "–"
	switch {
	case b.State == store.StateRunning && perSecond > 0:
		p.values["rate"] = pace(perSecond)
		p.values["eta"] = "about " + span(roundSpan(float64(b.OpenRuns)/perSecond)) + " left"
	case b.State == store.StateRunning:
		p.values["eta"] = "not known yet"
	}
	return p
}

// roundSpan leaves seconds out of what is only an estimate.
func roundSpan(seconds float64) time.Duration {
	d := time.Duration(min(seconds, 1e9)) * time.Second
	if d > 10*time.Minute {
		return d.Round(time.Minute)
	}
	return max(d.Round(5*time.Second), 5*time.Second)
}

// p100 is a part of a whole in percent, as a progress bar wants it.
func p100(n, of int64) string {
	if of <= 0 {
		return "0"
	}
	b, _ := json.Marshal(float64(1000*n/of) / 10)
	return string(b)
}

// update is one event of the stream.
type update struct {
	// AsOf is when it was read, RFC 3339 in UTC.
	AsOf string `json:"asOf"`
	// Open are the ids of open batches, newest first, separated by blanks.
	Open string `json:"open"`
	// Values are those of [Progress] and [Health], by their keys.
	Values map[string]string `json:"values"`
}

// sample is how many runs of a batch were done at a time.
type sample struct {
	at   time.Time
	done int64
}

const (
	// mostWatchers bounds the streams that are open at a time.
	mostWatchers = 1000
	// mostOpen bounds the batches whose numbers are followed.
	mostOpen = 20
	// rateSpan is how far back the present rate looks.
	rateSpan = 30 * time.Second
)

// live reads open batches for all that watch, once each time, and not at all
// while nobody does.
type live struct {
	ctx    context.Context
	vitals *vitals
	every  time.Duration
	log    *slog.Logger
	done   sync.WaitGroup

	mu       sync.Mutex
	watchers map[chan []byte]bool
	running  bool
	last     []byte
	samples  map[store.BatchID][]sample
}

func newLive(ctx context.Context, v *vitals, every time.Duration, log *slog.Logger) *live {
	return &live{ctx: ctx, vitals: v, every: every, log: log, watchers: map[chan []byte]bool{}, samples: map[store.BatchID][]sample{}}
}

func (l *live) wait() { l.done.Wait() }

// watch gives a channel of updates that holds the newest one not yet taken. ok
// is false when there are too many watchers.
func (l *live) watch() (updates chan []byte, leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.watchers) >= mostWatchers || l.ctx.Err() != nil {
		return nil, nil, false
	}
	updates = make(chan []byte, 1)
	l.watchers[updates] = true
	if l.running && l.last != nil {
		updates <- l.last
	}
	if !l.running {
		l.running = true
		l.done.Go(l.run)
	}
	return updates, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, updates)
	}, true
}

// run reads until nobody watches.
func (l *live) run() {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		l.tell(l.look())
		select {
		case <-tick.C:
		case <-l.ctx.Done():
		}
		l.mu.Lock()
		if len(l.watchers) == 0 || l.ctx.Err() != nil {
			l.running, l.last = false, nil
			clear(l.samples) // they would be old when somebody comes again
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// look makes the next update, nil if the store does not answer.
func (l *live) look() []byte {
	ctx, cancel := context.WithTimeout(l.ctx, max(l.every, time.Second))
	defer cancel()
	h, err := l.vitals.look(ctx)
	if err != nil {
		if l.ctx.Err() == nil {
			l.log.WarnContext(ctx, "live numbers could not be read", "err", err)
		}
		return nil
	}
	open, now := h.Open, h.AsOf
	l.sample(open, now)
	u := update{Open: h.OpenIDs, AsOf: now.UTC().Format(time.RFC3339Nano), Values: map[string]string{}}
	for i := range open {
		p := progressOf(&open[i], l.rate, now)
		for name, v := range p.values {
			u.Values[p.Key(name)] = v
		}
	}
	for name, v := range h.values() {
		u.Values["health."+name] = v
	}
	data, err := json.Marshal(u)
	if err != nil { // strings cannot fail
		panic(err)
	}
	return data
}

// tell hands an update to all that watch; it replaces one not yet taken.
func (l *live) tell(data []byte) {
	if data == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = data
	for w := range l.watchers {
		select {
		case <-w:
		default:
		}
		w <- data // only this function sends, under the lock: there is room
	}
}

// sample notes how far the batches are.
func (l *live) sample(open []store.Batch, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[store.BatchID]bool{}
	for _, b := range open {
		seen[b.ID] = true
		done := b.Runs - b.OpenRuns
		list := l.samples[b.ID]
		if n := len(list); n > 0 && (done < list[n-1].done || b.State != store.StateRunning) {
			list = nil // runs were opened again, or it rests
		}
		list = append(list, sample{now, done})
		for len(list) > 2 && now.Sub(list[0].at) > rateSpan {
			list = list[1:]
		}
		l.samples[b.ID] = list
	}
	maps.DeleteFunc(l.samples, func(id store.BatchID, _ []sample) bool { return !seen[id] })
}

// rate is how many runs a second end at present; ok is false where that is not
// known, because nobody has watched for long enough.
func (l *live) rate(id store.BatchID) (perSecond float64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.samples[id]
	if len(list) < 3 {
		return 0, false
	}
	first, last := list[0], list[len(list)-1]
	d := last.at.Sub(first.at)
	if d <= 0 {
		return 0, false
	}
	return float64(last.done-first.done) / d.Seconds(), true
}

// pingEvery is how often a stream without news sends a sign of life, so that
// one whose reader is gone ends.
const pingEvery = 15 * time.Second

// stillMay reports whether who opened a stream may go on to read: a sign-out or a
// revoked token ends it. While the store is away nothing is known against it.
func (s *Server) stillMay(r *http.Request) bool {
	_, err := s.who(r)
	if _, refused := errors.AsType[*HTTPError](err); refused {
		return false
	}
	return !errors.Is(err, errSignIn)
}

// events streams updates to one page.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	updates, leave, ok := s.live.watch()
	if !ok {
		w.Header().Set("Retry-After", "60")
		return &HTTPError{Code: http.StatusServiceUnavailable, Message: "Too many pages watch at present."}
	}
	defer leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for nginx in front
	out := http.NewResponseController(w)
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	message := []byte("retry: 5000\n\n")
	asked := time.Now()
	for {
		if time.Since(asked) >= s.c.AskEvery {
			if !s.stillMay(r) {
				return nil // the page, which asks again, is told why
			}
			asked = time.Now()
		}
		extend(w)
		if _, err := w.Write(message); err != nil {
			return nil // the page was closed
		}
		if err := out.Flush(); err != nil {
			return nil
		}
		select {
		case data := <-updates:
			message = slices.Concat([]byte("data: "), data, []byte("\n\n"))
		case <-ping.C:
			message = []byte(": still here\n\n")
		case <-r.Context().Done():
			return nil
		case <-s.live.ctx.Done():
			return nil
		}
	}
}
