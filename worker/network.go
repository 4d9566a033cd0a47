package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/store"
)

// note has the guard hear of an attempt that began at a time. It reports
// whether the guard took the attempt over.
func (w *Worker) note(r *run, j audit.Judgement, began time.Time) bool {
	if w.c.Reach == nil || w.isStopping() {
		return false
	}
	now := time.Now() // not the wall clock: it may jump
	if when := lastAnswer(j.Result, began, now); !when.IsZero() {
		host := r.Host
		if j.Verdict.Network {
			host = "" // somebody else answered, such as the host of its README
		}
		w.concludeAll(w.guard.heard(host, when))
	}
	if !j.Verdict.Network {
		// Where the connection outlived an outage, it may have been cut by it.
		if j.Verdict.Definite || j.Verdict.Again != audit.Trouble || !w.guard.excused(began) {
			return false
		}
		w.release(r, w.c.Now())
		return true
	}
	if w.guard.suspect(suspect{r, j, began, now}) {
		w.release(r, w.c.Now())
	}
	return true
}

// lastAnswer is when a host last answered in an attempt that began and ended at
// these times, zero if none did. An attempt can end long after it, in the
// timeouts of a network that has died meanwhile.
func lastAnswer(r *report.Result, began, ended time.Time) (last time.Time) {
	for _, e := range r.Evidence {
		if e.Status == 0 && (e.Address == "" || fetch.Kind(e.Error).Network()) {
			continue
		}
		end := e.StartedAt.Add(time.Duration(e.DurationMs) * time.Millisecond)
		// The auditor's clock may be another one.
		if end.Before(began) {
			end = began
		} else if end.After(ended) {
			end = ended
		}
		if end.After(last) {
			last = end
		}
	}
	return last
}

// concludeAll lets attempts count, beside each other and in nobody's slot: the
// store takes many writes together as fast as one.
func (w *Worker) concludeAll(list []suspect) {
	for _, s := range list {
		if !w.enter() {
			w.count(s.r, s.j)
			continue
		}
		go func() {
			defer w.inFlight.Done()
			w.count(s.r, s.j)
		}()
	}
}

// watchNetwork decides about attempts that are held back, and sees an outage
// through.
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
}

// settle finds out whether the network is down, and waits until it is not.
func (w *Worker) settle(ctx context.Context) {
	hosts, known := w.guard.probes()
	err := w.reach(ctx, hosts, known)
	if err == nil {
		w.concludeAll(w.guard.reached(time.Now()))
		return
	}
	if ctx.Err() != nil {
		return
	}
	w.guard.setDown()
	note := NetworkNote + fmt.Sprintf("%d different hosts in a row could not be reached, nor could %s (%v). It goes on by itself when the network is back.",
		manyHosts, strings.Join(hosts, ", "), err)
	w.log.LogAttrs(ctx, slog.LevelError, "the network is down; audits wait", slog.String("tried", strings.Join(hosts, ", ")), slog.Any("err", err))
	for wait := w.c.ProbeEvery; ; wait = min(2*wait, 12*w.c.ProbeEvery) {
		w.giveBack(ctx, note, w.guard.all())
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
	w.giveBack(ctx, note, w.guard.reached(time.Now()))
	for id := range w.guard.batches {
		w.resumeBatch(ctx, id)
	}
	clear(w.guard.batches)
	w.nudge()
}

// giveBack gives back uncounted what failed during the outage, and pauses its
// batches: once each, for another worker may have a network and resume them.
func (w *Worker) giveBack(ctx context.Context, note string, list []suspect) {
	w.guard.steer.Lock()
	for _, s := range list {
		if id := s.r.Run.Batch(); !w.guard.batches[id] {
			w.guard.batches[id] = false
		}
	}
	for id, paused := range w.guard.batches {
		if paused {
			continue
		}
		err := w.c.Store.PauseBatch(ctx, id, note)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			w.log.LogAttrs(ctx, slog.LevelWarn, "batch not paused yet", slog.String("batch", string(id)), slog.Any("err", err))
			continue
		}
		w.guard.batches[id] = true
	}
	w.guard.steer.Unlock()
	w.releaseAll(runsOf(list))
}

func runsOf(list []suspect) []*run {
	runs := make([]*run, len(list))
	for i, s := range list {
		runs[i] = s.r
	}
	return runs
}

// reach reports whether any host can be reached: the first, or else one of the
// others. Hosts that never answered may be dead themselves: with them an answer
// of the name servers is enough.
func (w *Worker) reach(ctx context.Context, hosts []string, known bool) (err error) {
	for _, some := range [][]string{hosts[:1], hosts[1:]} {
		errs := make(chan error, len(some))
		for _, h := range some {
			go func() { errs <- w.c.Reach(ctx, h) }()
		}
		for range some {
			e := <-errs
			switch kind := fetch.KindOf(e); {
			case ctx.Err() != nil:
				return ctx.Err()
			case kind == fetch.KindBusy, kind == fetch.KindCancelled:
			case !kind.Network(), !known && kind != fetch.KindDNS:
				return nil
			}
			err = e
		}
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
			w.guard.steer.Lock()
			if !w.guard.isDown() {
				w.resumeBatch(ctx, b.ID)
			}
			w.guard.steer.Unlock()
			w.nudge()
		}
	}
}
