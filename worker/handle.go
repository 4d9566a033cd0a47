package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/queue"
	"agentaudit/store"
)

var (
	errStopping  = errors.New("the worker stops")
	errNoNetwork = errors.New("the network is down")
)

// handle gets a job from the queue. nil says that the queue need not remember
// it: the run is done, not to be had, or in this worker's hands, and the store
// knows which.
func (w *Worker) handle(ctx context.Context, j queue.Job) error {
	// Only small jobs hear of first; a nil channel says nothing.
	var first chan struct{}
	if j.Class == queue.Small {
		first = w.slots.first
	}
	select {
	case <-w.slots.free:
	case <-first:
	case <-w.stopping:
		return queue.RetryIn(errStopping, 0)
	case <-ctx.Done():
		return ctx.Err()
	}
	if over := w.guard.suspicion(); over != nil {
		select {
		case <-over:
		case <-w.stopping:
		case <-ctx.Done():
		}
	}
	if w.guard.isDown() {
		w.next()
		return queue.RetryIn(errNoNetwork, jitter(w.c.ProbeEvery))
	}
	if !w.enter() {
		w.slots.free <- struct{}{}
		return queue.RetryIn(errStopping, 0)
	}
	defer w.inFlight.Done()
	runs, err := w.claim(ctx, j)
	if len(runs) > 0 {
		// The others take what slots are free, or the next ones.
		for _, r := range runs[1:] {
			if w.slots.offer(r) {
				w.resume(r)
			}
		}
		w.attend(runs[0])
	}
	w.next()
	switch {
	case err == nil:
		return nil
	case w.fail(err):
		return queue.RetryIn(err, 0)
	}
	w.log.LogAttrs(ctx, slog.LevelWarn, "run not claimed", slog.Any("runs", j.Runs), slog.Any("err", err))
	return queue.RetryIn(err, jitter(5*time.Second))
}

// claim claims what is to be done of a job. An error says that the rest must be
// tried again.
func (w *Worker) claim(ctx context.Context, j queue.Job) (runs []*run, err error) {
	claims := make([]*store.Claim, len(j.Runs))
	errs := make([]error, len(j.Runs))
	var wg sync.WaitGroup
	for i, id := range j.Runs[1:] { // at the same time, so that they share a transaction
		wg.Go(func() { claims[i+1], errs[i+1] = w.c.Store.ClaimRun(w.work, store.RunID(id), w.c.Name, w.c.Lease) })
	}
	claims[0], errs[0] = w.c.Store.ClaimRun(w.work, store.RunID(j.Runs[0]), w.c.Name, w.c.Lease)
	wg.Wait()
	for i, c := range claims {
		switch e := errs[i]; {
		case e == nil:
			w.hold(c, true)
			runs = append(runs, &run{Claim: c})
		case errors.Is(e, store.ErrStale), errors.Is(e, store.ErrNotFound):
			w.log.LogAttrs(ctx, slog.LevelDebug, "job without a run to do", slog.String("run", j.Runs[i]), slog.Any("err", e))
		case err == nil:
			err = e
		}
	}
	return runs, err
}

// enter counts a piece of work that drain waits for.
func (w *Worker) enter() bool {
	w.enterMu.Lock()
	defer w.enterMu.Unlock()
	if w.isStopping() {
		return false
	}
	w.inFlight.Add(1)
	return true
}

// next gives the slot of the caller to who waits for one.
func (w *Worker) next() {
	if r := w.slots.give(); r != nil {
		w.resume(r)
	}
}

// resume goes on with a run that was parked, in a slot that it has.
func (w *Worker) resume(r *run) {
	if !w.enter() {
		w.release(r, w.c.Now())
		w.next()
		return
	}
	go func() {
		defer w.inFlight.Done()
		w.attend(r)
		w.next()
	}()
}

// wake goes on with who waits for a key.
func (w *Worker) wake(key string) {
	if r := w.lot.next(key); r != nil && w.slots.offer(r) {
		w.resume(r)
	}
}

// attend does what can be done for a claimed run now: audit it, or park it.
// The caller holds a slot.
func (w *Worker) attend(r *run) {
	if w.guard.isDown() { // it was parked meanwhile
		w.release(r, w.c.Now())
		return
	}
	key := hostKey(r.Host)
	release, busy, rest, err := w.c.Manners.takeAll(w.work, r.urgent(), []string{key})
	v := &visitor{host: r.Host, urgent: r.urgent()}
	switch {
	case err != nil:
		w.mannersAway(r, err)
		return
	case rest > 0:
		// The attempt counts, though the host is not visited: it has answered
		// for all its pages. Otherwise a host that asks again and again would
		// hold up its listings one by one for ever.
		v.rest, release = rest, func() {}
	case busy != "":
		w.park(r, busy)
		return
	}
	started := time.Now()
	j, err := w.audit(r, v)
	// Before the next may come.
	if e := w.c.Manners.rest(w.work, j.Verdict.Rests, cmp.Or(w.c.Retry.MaxRetryAfter, RetryRun.MaxRetryAfter)); e != nil {
		w.log.LogAttrs(w.work, slog.LevelWarn, "other workers do not hear that a host wants rest", slog.String("run", string(r.Run)), slog.Any("err", e))
	}
	release()
	v.mu.Lock()
	busy, foreign, unknown := v.busy, v.foreign, v.unknown
	v.mu.Unlock()
	switch {
	case err != nil:
		// The grace period is over.
		w.release(r, w.c.Now())
	case unknown != nil:
		w.mannersAway(r, unknown)
	case busy != "" && !foreign:
		w.park(r, busy)
	case busy != "" && r.waits < maxWaits:
		r.waits++
		w.park(r, busy)
	default:
		if rest == 0 {
			w.lot.learn(key, time.Since(started))
		}
		w.conclude(r, j, started)
	}
}

// mannersAway gives a run back because it is not known whether its site may be
// visited.
func (w *Worker) mannersAway(r *run, err error) {
	w.log.LogAttrs(w.work, slog.LevelWarn, "no word about manners", slog.String("run", string(r.Run)), slog.Any("err", err))
	w.release(r, w.c.Now().Add(jitter(5*time.Second)))
}

// maxWaits bounds how often a run begins anew because a second host, where its
// README lies, is busy; then that read stays undone.
const maxWaits = 5

// park lets a run wait for a key without a slot; when there is no room for it,
// it goes back to the store until its turn may come.
func (w *Worker) park(r *run, key string) {
	later, ok := w.lot.park(key, r, w.c.Now())
	if !ok {
		w.release(r, later)
		return
	}
	// The place may have been given back before the run was in line.
	if release, busy, _, err := w.c.Manners.takeAll(w.work, r.urgent(), []string{key}); err == nil && busy == "" {
		release()
	}
}

// audit does one attempt in bounded time. Its error says that the worker
// stops; whatever the site or the auditor does is in the judgement.
func (w *Worker) audit(r *run, v *visitor) (audit.Judgement, error) {
	w.observe(Event{Kind: Started, Run: r.Run, Target: r.Target, Attempt: r.Attempt})
	t, err := audit.ParseTarget(r.Target, r.Readme)
	if err != nil {
		return w.broken(r, nil, "the stored target cannot be read", err), nil
	}
	options, err := audit.DecodeOptions(r.Options)
	if err != nil {
		return w.broken(r, &t, "not begun", err), nil
	}
	if r.Lost >= w.c.MaxLost {
		return w.broken(r, &t, "given up", fmt.Errorf("%d workers were lost while they audited it", r.Lost)), nil
	}
	ctx, cancel := context.WithTimeout(context.WithValue(w.work, visitorKey{}, v), w.c.RunTimeout)
	defer cancel()
	type answer struct {
		j   audit.Judgement
		err error
	}
	answers := make(chan answer, 1)
	number, kept, tired := r.Attempt, r.Kept, r.waits >= maxWaits
	at := audit.Attempt{Target: t, Number: number, Options: options, Final: func(j audit.Judgement) bool {
		return w.c.Retry.decide(j, number, kept).final == j.Result && v.settle(tired)
	}}
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				w.log.LogAttrs(ctx, slog.LevelError, "panic while auditing a site", slog.String("run", string(r.Run)), slog.String("target", r.Target),
					slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
				a = answer{j: w.crashed(&t)}
			}
			answers <- a
		}()
		a.j, a.err = w.c.Auditor.Audit(ctx, at)
	}()
	// An auditor that does not obey its context is left behind: its slot must
	// not be lost, and what it may still find is not wanted any more.
	patience := time.NewTimer(w.c.RunTimeout + w.c.Stubborn)
	defer patience.Stop()
	var a answer
	select {
	case a = <-answers:
	case <-patience.C:
		return w.broken(r, &t, "abandoned", errors.New("the audit did not end in time")), nil
	}
	switch {
	case a.err == nil:
		if a.j.Result == nil || a.j.Result.Report == nil {
			return w.broken(r, &t, "no result", errors.New("the auditor returned neither a result nor an error")), nil
		}
		return a.j, nil
	case w.work.Err() != nil:
		return audit.Judgement{}, a.err
	}
	return w.broken(r, &t, "not finished", a.err), nil
}

// broken is the judgement for an audit that came to none through our own
// fault, with a line in the log.
func (w *Worker) broken(r *run, t *audit.Target, what string, err error) audit.Judgement {
	w.log.LogAttrs(w.work, slog.LevelError, "audit "+what, slog.String("run", string(r.Run)), slog.String("target", r.Target), slog.Any("err", err))
	return w.crashed(t)
}

func (w *Worker) crashed(t *audit.Target) audit.Judgement {
	now := w.c.Now()
	if t == nil {
		return audit.Judgement{Result: &report.Result{Outcome: report.OutcomeUnchecked, Reason: report.ReasonInternal,
			Detail: "The stored target cannot be read any more.", Report: &report.Report{ReportVersion: report.Version, Kind: report.Kind},
			RulesVersion: report.RulesVersion, StartedAt: now, FinishedAt: now}}
	}
	res := audit.Crashed(*t, now)
	res.StartedAt, res.FinishedAt = now, now
	return audit.Judgement{Result: res}
}

// conclude does with an attempt what follows from it, now or when it is clear
// whether the site was at fault.
func (w *Worker) conclude(r *run, j audit.Judgement, began time.Time) {
	if !w.note(r, j, began) {
		w.count(r, j)
	}
}

// count writes what an attempt came to.
func (w *Worker) count(r *run, j audit.Judgement) {
	d := w.c.Retry.decide(j, r.Attempt, r.Kept)
	attrs := []slog.Attr{slog.String("run", string(r.Run)), slog.String("target", r.Target), slog.Int("attempt", r.Attempt),
		slog.String("outcome", string(j.Result.Outcome)), slog.String("reason", string(j.Result.Reason)),
		slog.Duration("dur", j.Result.FinishedAt.Sub(j.Result.StartedAt))}
	if d.final == nil {
		due := w.c.Now().Add(d.after)
		if w.write(r, "not given back", func(ctx context.Context) error { return w.c.Store.RetryRun(ctx, r.Claim, due, d.kept) }) {
			w.log.LogAttrs(w.work, slog.LevelDebug, "run is tried again", append(attrs, slog.Duration("in", d.after))...)
			w.observe(Event{Kind: Retried, Run: r.Run, Target: r.Target, Attempt: r.Attempt, Result: j.Result, Due: due})
		}
		return
	}
	if w.write(r, "not finished", func(ctx context.Context) error { return w.c.Store.FinishRun(ctx, r.Claim, d.final) }) {
		w.log.LogAttrs(w.work, slog.LevelDebug, "run finished", attrs...)
		w.observe(Event{Kind: Finished, Run: r.Run, Target: r.Target, Attempt: r.Attempt, Result: d.final})
		w.nudge()
	}
}

// lastWrite is how long a write may take when the worker's time is up.
const lastWrite = 5 * time.Second

// release gives a run back without counting the attempt.
func (w *Worker) release(r *run, due time.Time) bool {
	return w.write(r, "not released", func(ctx context.Context) error { return w.c.Store.ReleaseRun(ctx, r.Claim, due) })
}

// releaseAll gives many runs back beside each other. When the worker's time is
// up and the store takes none, the leases of the others end by themselves.
func (w *Worker) releaseAll(runs []*run) {
	var wg sync.WaitGroup
	var away atomic.Bool
	places := make(chan struct{}, 16)
	for _, r := range runs {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			switch {
			case w.work.Err() != nil && away.Load():
				w.hold(r.Claim, false)
			case !w.release(r, w.c.Now()) && w.work.Err() != nil:
				away.Store(true)
			}
		})
	}
	wg.Wait()
}

// write does a write for a claimed run, again and again while its lease may
// hold: the store may be away for a while. It reports whether it succeeded.
func (w *Worker) write(r *run, what string, f func(ctx context.Context) error) bool {
	defer w.hold(r.Claim, false)
	// What is under way is written also when the worker stops.
	patience := max(w.c.Lease, 10*time.Second)
	if w.work.Err() != nil {
		patience = lastWrite
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.work), patience)
	defer cancel()
	// A try under way when the worker's time is up has a moment left.
	late := context.AfterFunc(w.work, func() { time.AfterFunc(lastWrite, cancel) })
	defer late()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := f(ctx)
		switch {
		case err == nil:
			return true
		case errors.Is(err, store.ErrStale):
			w.log.LogAttrs(ctx, slog.LevelInfo, "run was overtaken", slog.String("run", string(r.Run)), slog.Any("err", err))
			return false
		case w.fail(err), !pause(w.work, jitter(wait)), ctx.Err() != nil:
			w.log.LogAttrs(ctx, slog.LevelError, "run "+what+"; it will be audited again", slog.String("run", string(r.Run)), slog.Any("err", err))
			return false
		}
		w.log.LogAttrs(ctx, slog.LevelWarn, "run "+what+" yet", slog.String("run", string(r.Run)), slog.Any("err", err))
	}
}
