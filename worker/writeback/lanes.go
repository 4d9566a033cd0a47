package writeback

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"agentaudit/store"
)

// Each receiver has a lane of its own, so that one that hangs delays its own
// messages only: at most perTake of them are under way at a time, and after those
// the receiver rests while others are served.

// mostLanes is how many receivers are served at a time, of each of the two kinds
// of messages.
const mostLanes = 32

// The first and the longest rest of a receiver that does not answer.
const (
	firstRest = 10 * time.Second
	lastRest  = 5 * time.Minute
)

// rests are receivers that did not answer, by [store.Delivery.Origin].
type rests struct {
	mu  sync.Mutex
	all map[string]rest
}

type rest struct {
	until time.Time
	last  time.Duration
}

// note keeps whether a receiver answered.
func (r *rests) note(origin string, answered bool, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answered {
		delete(r.all, origin)
		return
	}
	d := min(max(2*r.all[origin].last, firstRest), lastRest)
	r.all[origin] = rest{now.Add(d), d}
}

// now are the receivers that rest.
func (r *rests) now(now time.Time) (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for origin, rest := range r.all {
		if now.Before(rest.until) {
			list = append(list, origin)
		}
	}
	return list
}

// pass makes one attempt at each message of a kind that is due, until none is and
// none is under way. What becomes due meanwhile is looked for when a lane ends,
// and every now and then.
func (s *Sender) pass(ctx context.Context, batches bool) (total Counts, failed error) {
	if len(s.secret(batches)) == 0 {
		return total, nil
	}
	type end struct {
		origin string
		counts Counts
		err    error
	}
	ends := make(chan end, mostLanes)
	var lanes []string
	tick := time.NewTicker(s.c.Every)
	defer tick.Stop()
	for {
		taken := 0
		if failed == nil && len(lanes) < mostLanes {
			except := slices.Concat(lanes, s.rests.now(s.c.Now()))
			var due []store.Delivery
			due, failed = s.c.Store.TakeDeliveries(ctx, batches, min(perTake, mostLanes-len(lanes)), lease, except...)
			taken = len(due)
			groups := map[string][]store.Delivery{}
			for _, d := range due {
				groups[d.Origin()] = append(groups[d.Origin()], d)
			}
			for origin, group := range groups {
				lanes = append(lanes, origin)
				go func() {
					e := end{origin: origin}
					e.err = s.deliverAll(ctx, group, &e.counts)
					ends <- e
				}()
			}
		}
		if taken > 0 {
			continue // there may be more, for others
		}
		if len(lanes) == 0 {
			return total, failed
		}
		select {
		case e := <-ends:
			lanes = slices.DeleteFunc(lanes, func(o string) bool { return o == e.origin })
			total.add(e.counts)
			failed = errors.Join(failed, e.err)
		case <-tick.C:
		}
	}
}
