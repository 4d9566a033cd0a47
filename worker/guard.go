package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/store"
)

// NetworkNote begins the note of a batch that is paused because of our own
// network (pipeline specification, promise 6); whoever has a network again
// resumes it.
const NetworkNote = "our own network is in trouble: "

// guard tells trouble of our own network from trouble of sites.
//
// A failure in the way in which our network fails (dns, connect, timeout) is
// held back for a moment. When any other host answers after it, it was the
// site: it counts. When many different hosts fail and none answers, hosts that
// answered lately are tried. If they can be reached it was the sites. If not,
// the network is down: what is held back goes back uncounted, batches are
// paused, nothing more is begun, and the hosts are tried until one answers.
type guard struct {
	mu sync.Mutex
	// answered is when a host last answered.
	answered time.Time
	// suspects are held back; hosts are those that failed since answered, also
	// where their failure counts already.
	suspects []suspect
	hosts    map[string]bool
	// known are the hosts that answered last, newest first.
	known []string
	// down says that the network is down; batches were paused for it.
	down    bool
	batches map[store.BatchID]bool
	wake    chan struct{}
}

type suspect struct {
	r    *run
	j    audit.Judgement
	when time.Time
}

const (
	// manyHosts is how many different hosts must fail before our network is
	// suspected. In a list in which half the sites are dead, five in a row
	// without one that answers happen now and then, and cost a few connections.
	manyHosts = 5
	// doubt is how long a failure is held back while few hosts failed.
	doubt = 2 * time.Second
	// knownHosts is how many hosts that answered are remembered to be tried.
	knownHosts = 5
)

func newGuard() *guard {
	return &guard{hosts: map[string]bool{}, batches: map[store.BatchID]bool{}, wake: make(chan struct{}, 1)}
}

// suspect takes over a failed attempt that may be our network's fault; false
// says that the attempt counts.
func (g *guard) suspect(r *run, j audit.Judgement, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !j.Verdict.Network {
		return false
	}
	g.hosts[r.Host] = true
	g.suspects = append(g.suspects, suspect{r, j, now})
	if len(g.hosts) >= manyHosts {
		g.look()
	}
	return true
}

// heard notes that a host ("" for one without a run of its own) answered, and
// returns the attempts that count now:
// those that failed before it did.
func (g *guard) heard(host string, when time.Time) []suspect {
	g.mu.Lock()
	defer g.mu.Unlock()
	if host != "" && (len(g.known) == 0 || g.known[0] != host) {
		g.known = slices.DeleteFunc(g.known, func(h string) bool { return h == host })
		g.known = slices.Insert(g.known, 0, host)
		g.known = g.known[:min(len(g.known), knownHosts)]
	}
	if g.down || !when.After(g.answered) {
		return nil
	}
	g.answered = when
	return g.clear(when)
}

// clear returns what failed until a moment and forgets about it.
func (g *guard) clear(until time.Time) (count []suspect) {
	var later []suspect
	clear(g.hosts)
	for _, s := range g.suspects {
		if s.when.After(until) {
			later = append(later, s)
			g.hosts[s.r.Host] = true
		} else {
			count = append(count, s)
		}
	}
	g.suspects = later
	return count
}

// overdue returns the attempts that were held back long enough. doubtful says
// that so many hosts failed that the network must be tried first.
func (g *guard) overdue(now time.Time) (count []suspect, doubtful bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.hosts) >= manyHosts {
		return nil, true
	}
	for len(g.suspects) > 0 && now.Sub(g.suspects[0].when) >= doubt {
		count = append(count, g.suspects[0])
		g.suspects = g.suspects[1:]
	}
	return count, false
}

// all takes everything that is held back.
func (g *guard) all() []suspect {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.suspects
	g.suspects = nil
	return all
}

func (g *guard) isDown() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.down
}

// setDown says whether the network is down.
func (g *guard) setDown(down bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = down
	clear(g.hosts)
	if !down {
		g.answered = now
	}
}

// probes are the hosts to try: known ones, or else those that failed.
func (g *guard) probes() (hosts []string, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) > 0 {
		return slices.Clone(g.known), true
	}
	for h := range g.hosts {
		if len(hosts) < knownHosts {
			hosts = append(hosts, h)
		}
	}
	return hosts, false
}

func (g *guard) look() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// note has the guard hear of an attempt. It reports whether the guard took the
// attempt over.
func (w *Worker) note(r *run, j audit.Judgement) bool {
	if w.c.Reach == nil || w.isStopping() {
		return false
	}
	now := time.Now() // not the wall clock: it may jump
	if answered(j.Result) {
		host := r.Host
		if j.Verdict.Network {
			host = "" // somebody else answered, such as the host of its README
		}
		w.concludeAll(w.guard.heard(host, now))
	}
	return w.guard.suspect(r, j, now)
}

// answered reports whether any host was there during an audit.
func answered(r *report.Result) bool {
	return slices.ContainsFunc(r.Evidence, func(e report.Evidence) bool {
		return e.Status > 0 || e.Address != "" && !fetch.Kind(e.Error).Network()
	})
}

func (w *Worker) concludeAll(list []suspect) {
	for _, s := range list {
		w.count(s.r, s.j)
	}
}

// watchNetwork decides about attempts that are held back, and sees an outage through.
func (w *Worker) watchNetwork(ctx context.Context) {
	if w.c.Reach == nil {
		return
	}
	w.resumeOthers(ctx)
	tick := time.NewTicker(w.c.DoubtEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-w.guard.wake:
		}
		count, doubtful := w.guard.overdue(time.Now())
		w.concludeAll(count)
		if doubtful && ctx.Err() == nil {
			w.settle(ctx)
		}
	}
	// The worker stops: nobody will know any more, and nothing is lost by
	// another attempt.
	for _, s := range w.guard.all() {
		w.release(s.r, w.c.Now())
	}
}

// settle finds out whether the network is down, and waits until it is not.
func (w *Worker) settle(ctx context.Context) {
	hosts, known := w.guard.probes()
	err := w.reach(ctx, hosts, known)
	if err == nil {
		w.guard.setDown(false, time.Now())
		w.concludeAll(w.guard.all())
		return
	}
	if ctx.Err() != nil {
		return
	}
	w.guard.setDown(true, time.Now())
	note := NetworkNote + fmt.Sprintf("%d different hosts in a row could not be reached, nor could %s (%v). It goes on by itself when the network is back.",
		manyHosts, strings.Join(hosts, ", "), err)
	w.log.LogAttrs(ctx, slog.LevelError, "the network is down; audits wait", slog.String("tried", strings.Join(hosts, ", ")), slog.Any("err", err))
	for wait := w.c.ProbeEvery; ; wait = min(2*wait, 12*w.c.ProbeEvery) {
		w.giveBack(ctx, note)
		if !pause(ctx, jitter(wait)) {
			return
		}
		if err = w.reach(ctx, hosts, known); err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		w.log.LogAttrs(ctx, slog.LevelInfo, "the network is still down", slog.Any("err", err))
	}
	w.log.LogAttrs(ctx, slog.LevelInfo, "the network is back; audits go on")
	w.giveBack(ctx, note)
	w.guard.setDown(false, time.Now())
	w.guard.mu.Lock()
	paused := w.guard.batches
	w.guard.batches = map[store.BatchID]bool{}
	w.guard.mu.Unlock()
	for id := range paused {
		w.resumeBatch(ctx, id)
	}
	w.nudge()
}

// giveBack gives back uncounted what failed during the outage, and pauses its
// batches.
func (w *Worker) giveBack(ctx context.Context, note string) {
	for _, s := range w.guard.all() {
		id := s.r.Run.Batch()
		w.guard.mu.Lock()
		fresh := !w.guard.batches[id]
		w.guard.batches[id] = true
		w.guard.mu.Unlock()
		if fresh {
			if err := w.c.Store.PauseBatch(ctx, id, note); err != nil && !errors.Is(err, store.ErrConflict) {
				w.log.LogAttrs(ctx, slog.LevelWarn, "batch not paused", slog.String("batch", string(id)), slog.Any("err", err))
			}
		}
		w.release(s.r, w.c.Now())
	}
}

// reach reports whether any host can be reached. Hosts that never answered may
// be dead themselves: with them an answer of the name servers is enough.
func (w *Worker) reach(ctx context.Context, hosts []string, known bool) (err error) {
	trying, stop := context.WithCancel(ctx)
	defer stop()
	answers := make(chan error, len(hosts))
	for _, h := range hosts {
		go func() { answers <- w.c.Reach(trying, h) }()
	}
	for range hosts {
		e := <-answers
		switch kind := fetch.KindOf(e); {
		case ctx.Err() != nil:
			return ctx.Err()
		case kind == fetch.KindBusy, kind == fetch.KindCancelled:
		case !kind.Network(), !known && kind != fetch.KindDNS:
			return nil
		}
		err = e
	}
	return err
}

// resumeBatch resumes a batch that is paused because of a network.
func (w *Worker) resumeBatch(ctx context.Context, id store.BatchID) {
	b, err := w.c.Store.Batch(ctx, id)
	if err == nil && (b.State != store.StatePaused || !strings.HasPrefix(b.Note, NetworkNote)) {
		return // somebody else has decided about it meanwhile
	}
	if err == nil {
		err = w.c.Store.ResumeBatch(ctx, id)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
		w.log.LogAttrs(ctx, slog.LevelWarn, "batch not resumed", slog.String("batch", string(id)), slog.Any("err", err))
		return
	}
	w.log.LogAttrs(ctx, slog.LevelInfo, "batch resumed", slog.String("batch", string(id)))
}

// resumeOthers resumes batches that a worker paused which lost its network, or
// its life, and did not come back: this one has a network as far as it knows,
// and finds out soon if not.
func (w *Worker) resumeOthers(ctx context.Context) {
	if w.c.Reach == nil || w.guard.isDown() {
		return
	}
	open, err := w.c.Store.OpenBatches(ctx, 1000)
	if err != nil {
		w.log.LogAttrs(ctx, slog.LevelWarn, "paused batches not looked for", slog.Any("err", err))
		return
	}
	for _, b := range open {
		if b.State == store.StatePaused && strings.HasPrefix(b.Note, NetworkNote) {
			w.resumeBatch(ctx, b.ID)
			w.nudge()
		}
	}
}
