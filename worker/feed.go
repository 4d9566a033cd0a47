package worker

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"agentaudit/queue"
	"agentaudit/store"
)

// feedChunk is how many runs one transaction takes: large enough to be cheap,
// small enough to let claims and results through.
const feedChunk = 500

// manyEnqueued is how many runs of a class must be in the queue before they are
// handed over several to a job: so many that every worker has enough to do, also
// if each takes several for one.
const manyEnqueued = 1000

// nudge wakes the feeder, which then looks for due runs without waiting.
func (w *Worker) nudge() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// feed keeps the queue filled up to its depth.
func (w *Worker) feed(ctx context.Context) {
	for {
		more, plenty, err := w.fill(ctx)
		if err != nil && ctx.Err() == nil && !w.fail(err) {
			w.log.LogAttrs(ctx, slog.LevelWarn, "queue not fed", slog.Any("err", err), slog.Bool("full", queue.IsFull(err)))
			if !pause(ctx, jitter(2*time.Second)) {
				return
			}
			continue
		}
		if more {
			continue
		}
		if plenty { // no worker can be short of work before the next look
			if !pause(ctx, w.c.FeedEvery) {
				return
			}
			continue
		}
		// Some rest even when kicked, so that runs come in handfuls.
		if !pause(ctx, w.c.FeedEvery/10) {
			return
		}
		t := time.NewTimer(w.c.FeedEvery)
		select {
		case <-ctx.Done():
			return
		case <-w.kick:
		case <-t.C:
		}
		t.Stop()
	}
}

// fill hands over one chunk of each class; more says that there may be more, and
// plenty that the queue holds much.
func (w *Worker) fill(ctx context.Context) (more, plenty bool, err error) {
	load, err := w.c.Store.Load(ctx)
	if err != nil {
		return false, false, err
	}
	if load.Open == 0 {
		return false, false, nil // an idle worker asks no more than that
	}
	small, bulk := int(load.Enqueued[store.ClassSmall]), int(load.Enqueued[store.ClassBulk])
	// The last tenth of the depth is kept for small batches.
	room := map[store.Class]int{
		store.ClassSmall: w.c.Depth - small - bulk,
		store.ClassBulk:  w.c.Depth - w.c.Depth/10 - small - bulk,
	}
	for _, class := range []store.Class{store.ClassSmall, store.ClassBulk} {
		n := min(room[class], feedChunk)
		if n <= 0 {
			continue
		}
		due, err := w.c.Store.TakeDue(ctx, class, n)
		if err != nil {
			return false, false, err
		}
		if err := w.enqueue(ctx, class, due, load.Enqueued[class]); err != nil {
			return false, false, err
		}
		more = more || len(due) == feedChunk
		if class == store.ClassSmall {
			room[store.ClassBulk] -= len(due)
		}
	}
	return more, bulk >= 4*manyEnqueued, nil
}

// enqueue hands runs to the queue, which holds so many of their class already,
// and back to the store what it did not take.
func (w *Worker) enqueue(ctx context.Context, class store.Class, due []store.Due, holds int64) error {
	tasks := make([]queue.Task, len(due))
	for i, d := range due {
		tasks[i] = queue.Task{Run: string(d.Run), Class: queue.Class(class), Token: d.Token}
	}
	put := w.client.EnqueueAll
	if class == store.ClassBulk && holds >= manyEnqueued {
		put = w.client.EnqueueGroups
	}
	left, err := put(ctx, tasks)
	if err == nil {
		return nil
	}
	back := make([]store.Due, len(left))
	for i, t := range left {
		back[i] = store.Due{Run: store.RunID(t.Run), Token: t.Token}
	}
	// Also when the worker stops: otherwise the runs would count as enqueued
	// until somebody misses them.
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if e := w.c.Store.Unqueue(undo, back); e != nil {
		w.log.LogAttrs(ctx, slog.LevelWarn, "runs not put back; they will be missed and found", slog.Any("err", e))
	}
	return err
}

// reconcile finds what dead workers held and what the queue forgot.
func (w *Worker) reconcile(ctx context.Context) {
	for pause(ctx, w.c.ReconcileEvery) {
		n, err := w.c.Store.ExpireLeases(ctx)
		if n > 0 {
			w.log.LogAttrs(ctx, slog.LevelWarn, "runs of workers that are gone were put back", slog.Int64("runs", n))
			w.nudge()
		}
		if err == nil {
			err = w.remember(ctx)
		}
		w.resumeOthers(ctx)
		if err != nil && ctx.Err() == nil && !w.fail(err) {
			w.log.LogAttrs(ctx, slog.LevelWarn, "queue and store not compared", slog.Any("err", err))
		}
	}
}

// remember enqueues again what the queue no longer has.
func (w *Worker) remember(ctx context.Context) error {
	before := w.c.Now().Add(-w.c.ForgottenAfter)
	for _, class := range []store.Class{store.ClassSmall, store.ClassBulk} {
		// The store is asked first: what is claimed since is no longer unclaimed
		// when it is marked, so no order of events makes a run forgotten.
		unclaimed, err := w.c.Store.Unclaimed(ctx, class, before)
		if err != nil {
			return err
		}
		if len(unclaimed) == 0 {
			continue
		}
		holding, err := w.c.Queue.Holding(ctx)
		if err != nil {
			return err
		}
		lost := slices.DeleteFunc(unclaimed, func(d store.Due) bool { return holding.Has(string(d.Run), d.Token) })
		found := 0
		for chunk := range slices.Chunk(lost, feedChunk) {
			again, err := w.c.Store.HandOverAgain(ctx, chunk, before)
			if err != nil {
				return err
			}
			if err := w.enqueue(ctx, class, again, int64(len(lost))); err != nil {
				return err
			}
			found += len(again)
		}
		if found > 0 {
			w.log.LogAttrs(ctx, slog.LevelWarn, "the queue had forgotten runs; they were handed over again", slog.Int("runs", found))
		}
	}
	return nil
}

// sweep lets the first of every line try its luck: places can be given back
// by other workers, which cannot wake anybody here. Who waits for nothing any
// more, since the batch was paused or cancelled, goes back to the store.
func (w *Worker) sweep(ctx context.Context) {
	for pause(ctx, time.Second) {
		if err := w.sendHome(ctx); err != nil && ctx.Err() == nil {
			w.log.LogAttrs(ctx, slog.LevelWarn, "not known whether the batches of waiting runs go on", slog.Any("err", err))
		}
		for _, r := range w.lot.sweep(w.c.Now()) {
			if w.slots.offer(r) {
				w.resume(r)
			}
		}
	}
}

// sendHome gives back the waiting runs of batches that were paused or cancelled.
func (w *Worker) sendHome(ctx context.Context) error {
	waiting := append(w.lot.all(), w.slots.all()...)
	if len(waiting) == 0 {
		return nil
	}
	claims := make([]*store.Claim, len(waiting))
	for i, r := range waiting {
		claims[i] = r.Claim
	}
	halted, err := w.c.Store.Halted(ctx, claims)
	if err != nil || len(halted) == 0 {
		return err
	}
	gone := map[*store.Claim]bool{}
	for _, c := range halted {
		gone[c] = true
	}
	// Some may have got their turn meanwhile: those go on.
	w.releaseAll(append(w.lot.takeOut(gone), w.slots.takeOut(gone)...))
	return nil
}
