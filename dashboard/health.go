package dashboard

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"agentaudit/queue"
	"agentaudit/store"
)

// Queue is what the dashboard asks of the queue; *queue.Conn is one.
type Queue interface {
	// IsEmbedded reports whether the queue is inside this process.
	IsEmbedded() bool
	Stats(ctx context.Context) (map[queue.Class]queue.Depth, error)
	Workers(ctx context.Context) ([]queue.Worker, error)
}

// Health is how queue and workers are, whether there is work or not.
type Health struct {
	AsOf time.Time
	Load store.Load
	store.Pulse
	// OpenIDs are the ids of all batches with work left, drafts included, the
	// newest first and separated by blanks.
	OpenIDs string
	// Open are the first of them, at most mostOpen: those that run before those
	// that rest, and drafts last.
	Open []store.Batch
	// More counts those that are no drafts and not among Open.
	More int64
	// Answered is how long the store took for all of this.
	Answered time.Duration
	// Queue is what the queue says, nil where the dashboard has none to ask.
	Queue *QueueHealth
	// Next are schedules in the order of their next firing, those that are late
	// first; Resting counts those that are paused.
	Next    []ScheduleLine
	Late    int64
	Resting int64
}

// QueueHealth is what the queue says of itself and its workers.
type QueueHealth struct {
	// Embedded says that it is inside this process, and not on a Redis server.
	Embedded bool
	// Down says that it gave no answer in time; all that follows is then empty.
	Down bool
	// Answered is how long the answer took.
	Answered time.Duration
	Depths   map[queue.Class]queue.Depth
	// Alive counts workers, Places the sites that they audit at once. Heard is the
	// newest sign of life, zero for none within a day.
	Alive  int64
	Places int64
	Heard  time.Time
	// Silent counts workers that gave no sign of life for too long and did not end
	// in order, SilentSince is when the last of them was heard.
	Silent      int64
	SilentSince time.Time
}

// silentFor is how long workers that fell silent are told of where others are
// alive.
const silentFor = time.Hour

// vitals asks store and queue how they are.
type vitals struct {
	read  Reader
	queue Queue
	now   func() time.Time
	// patience is how long a page waits for the queue: one that does not answer
	// must not take the numbers of the store with it.
	patience time.Duration
	ctx      context.Context
	asking   *sync.WaitGroup

	mu    sync.Mutex
	under *queueAnswer // nil while nobody asks
}

// queueAnswer is there when done is closed.
type queueAnswer struct {
	done chan struct{}
	says QueueHealth
}

// look reads all of it.
func (v *vitals) look(ctx context.Context) (*Health, error) {
	start := time.Now()
	h := &Health{AsOf: v.now()}
	open, err := v.read.OpenBatches(ctx, allOpen)
	if err != nil {
		return nil, err
	}
	h.follow(open)
	if h.Load, err = v.read.Load(ctx); err != nil {
		return nil, err
	}
	if h.Pulse, err = v.read.Pulse(ctx); err != nil {
		return nil, err
	}
	schedules, err := v.read.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	h.Answered = time.Since(start)
	h.plan(schedules)
	h.Queue = v.ask(ctx)
	return h, nil
}

// ask asks the queue, once for all who want to know at the same time.
func (v *vitals) ask(ctx context.Context) *QueueHealth {
	if v.queue == nil {
		return nil
	}
	v.mu.Lock()
	a := v.under
	if a == nil {
		a = &queueAnswer{done: make(chan struct{})}
		v.under = a
		v.asking.Go(func() {
			a.says = v.answer()
			v.mu.Lock()
			v.under = nil
			v.mu.Unlock()
			close(a.done)
		})
	}
	v.mu.Unlock()
	late := time.NewTimer(v.patience)
	defer late.Stop()
	select {
	case <-a.done:
		says := a.says
		return &says
	case <-late.C:
	case <-ctx.Done():
	}
	return &QueueHealth{Embedded: v.queue.IsEmbedded(), Down: true}
}

// answer is what the queue says.
func (v *vitals) answer() QueueHealth {
	ctx, cancel := context.WithTimeout(v.ctx, 10*time.Second)
	defer cancel()
	q := QueueHealth{Embedded: v.queue.IsEmbedded()}
	start, now := time.Now(), v.now()
	workers, err := v.queue.Workers(ctx)
	if err == nil {
		q.Depths, err = v.queue.Stats(ctx)
	}
	if err != nil {
		return QueueHealth{Embedded: q.Embedded, Down: true}
	}
	q.Answered = time.Since(start)
	for _, w := range workers { // those heard last come first
		heard := now.Add(-w.Silence)
		if q.Heard.IsZero() {
			q.Heard = heard
		}
		switch {
		case w.Alive():
			q.Alive++
			q.Places += int64(w.Places)
		case q.Alive == 0 || w.Silence < silentFor:
			q.Silent++
			if q.SilentSince.IsZero() {
				q.SilentSince = heard
			}
		}
	}
	return q
}

// allOpen bounds the open batches that are known by their ids.
const allOpen = 1000

// follow picks the batches whose numbers are told: lists that nobody has started
// must not hide what is under way.
func (h *Health) follow(open []store.Batch) {
	h.OpenIDs = idList(open)
	rank := func(b *store.Batch) int {
		switch {
		case isDraft(b):
			return 3
		case b.State == store.StateRunning || b.State == store.StateQueued:
			return 0
		case b.State == store.StateIntake:
			return 1
		}
		return 2
	}
	open = slices.Clone(open)
	slices.SortStableFunc(open, func(a, b store.Batch) int { return rank(&a) - rank(&b) })
	h.Open = open[:min(len(open), mostOpen)]
	for i := len(h.Open); i < len(open) && !isDraft(&open[i]); i++ {
		h.More++
	}
}

// mostNext bounds the schedules that are told.
const mostNext = 5

// plan sorts schedules by when they fire next.
func (h *Health) plan(schedules []store.Schedule) {
	for _, s := range schedules {
		if s.Paused {
			h.Resting++
			continue
		}
		l := newScheduleLine(s, h.AsOf)
		if l.Overdue {
			h.Late++
		}
		h.Next = append(h.Next, l)
	}
	slices.SortStableFunc(h.Next, func(a, b ScheduleLine) int { return a.NextAt.Compare(b.NextAt) })
	h.Next = h.Next[:min(len(h.Next), mostNext)]
}

// Value is a number or text of the health as it is shown; live updates bring it
// under the same name behind "health.".
func (h *Health) Value(name string) string { return h.values()[name] }

func (h *Health) values() map[string]string {
	v := map[string]string{
		"running": number(h.Load.Running), "small": number(h.Load.Enqueued[store.ClassSmall]), "bulk": number(h.Load.Enqueued[store.ClassBulk]),
		"waiting": "nothing waits", "store": answersIn(h.Answered), "trouble": strings.Join(h.trouble(), " "),
		"result": moment(h.LastResult), "attempt": moment(h.Load.NextDue),
	}
	if !h.WaitingSince.IsZero() {
		v["waiting"] = span(max(h.AsOf.Sub(h.WaitingSince), 0))
	}
	if q := h.Queue; q != nil {
		v["queue"], v["workers"], v["heard"] = q.words(), "not known", "the queue does not answer"
		if !q.Down {
			v["workers"] = number(q.Alive) + " alive"
			v["heard"] = "none heard within a day"
			if !q.Heard.IsZero() {
				v["heard"] = "heard " + ago(h.AsOf.Sub(q.Heard))
			}
			if q.Alive > 0 {
				v["heard"] += ", for " + plural(q.Places, "site", "sites") + " at a time"
			}
		}
	}
	return v
}

func answersIn(d time.Duration) string {
	if d < time.Millisecond {
		return "answers at once"
	}
	return "answers in " + span(d)
}

// words say where the queue is, and that it answers.
func (q *QueueHealth) words() string {
	where := "on Redis, "
	if q.Embedded {
		where = "in this process, "
	}
	if q.Down {
		return where + "does not answer"
	}
	return where + answersIn(q.Answered)
}

// trouble says in sentences what needs a look.
func (h *Health) trouble() (all []string) {
	q := h.Queue
	switch {
	case q != nil && q.Down:
		all = append(all, "The queue does not answer: until it does, no audit is begun. Nothing is lost.")
	case q != nil && q.Alive == 0:
		all = append(all, "No worker is alive. Start agentaudit serve or agentaudit worker.")
	case h.Idle():
		all = append(all, "There is work, and no worker is at it at this moment. If this stays so, start agentaudit serve or agentaudit worker.")
	}
	if q != nil && q.Silent > 0 && q.Alive > 0 {
		all = append(all, plural(q.Silent, "worker has", "workers have")+" not been heard for "+span(h.AsOf.Sub(q.SilentSince))+" and did not end in order; what they had begun is audited by others.")
	}
	if h.Late > 0 {
		all = append(all, plural(h.Late, "schedule is", "schedules are")+" late: nobody fires them. They fire where agentaudit serve or agentaudit worker --schedules runs.")
	}
	return all
}

// Idle says that there is work and nobody at it.
func (h *Health) Idle() bool {
	return h.Load.Running == 0 && !h.Load.NextDue.After(h.AsOf) && slices.ContainsFunc(h.Open, func(b store.Batch) bool {
		return (b.State == store.StateQueued || b.State == store.StateRunning) && b.OpenRuns > 0
	})
}

// Enqueued is how many sites are handed over and not begun.
func (h *Health) Enqueued() (n int64) {
	for _, c := range h.Load.Enqueued {
		n += c
	}
	return n
}
