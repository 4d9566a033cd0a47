package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"agentaudit/fetch"
)

// maxVisits is how many sites are visited at once for calls that wait.
const maxVisits = 8

// visits keeps calls from crowding a site: one visit at a time for a host, and
// so many in all.
type visits struct {
	room  chan struct{}
	mu    sync.Mutex
	hosts map[string]*waiting
}

// waiting is the turn at one host, and how many want it.
type waiting struct {
	turn chan struct{}
	n    int
}

func newVisits() *visits {
	return &visits{room: make(chan struct{}, maxVisits), hosts: map[string]*waiting{}}
}

var errCancelled = errors.New("the call was cancelled before the site was visited")

// enter waits for the turn at a host; leave must be called after the visit.
func (v *visits) enter(ctx context.Context, host string) (leave func(), err error) {
	v.mu.Lock()
	w := v.hosts[host]
	if w == nil {
		w = &waiting{turn: make(chan struct{}, 1)}
		v.hosts[host] = w
	}
	w.n++
	v.mu.Unlock()
	drop := func() {
		v.mu.Lock()
		if w.n--; w.n == 0 {
			delete(v.hosts, host)
		}
		v.mu.Unlock()
	}
	for i, place := range []chan struct{}{w.turn, v.room} {
		select {
		case place <- struct{}{}:
		case <-ctx.Done():
			if i > 0 {
				<-w.turn
			}
			drop()
			return nil, errCancelled
		}
	}
	return func() {
		<-v.room
		<-w.turn
		drop()
	}, nil
}

// enter waits for the turn at a host, here and among all who visit it. What is
// read there is read under the context it returns; leave ends the visit.
func (t *tools) enter(ctx context.Context, host string) (visiting context.Context, leave func(), err error) {
	leave, err = t.visits.enter(ctx, host)
	if err != nil || t.Enter == nil {
		return ctx, leave, err
	}
	visiting, left, err := t.Enter(ctx, host)
	if err != nil {
		leave()
		if ctx.Err() != nil {
			return nil, nil, errCancelled
		}
		if _, rests := errors.AsType[*fetch.RestError](err); rests {
			return nil, nil, fmt.Errorf("the site was not visited: %w; try again later", err)
		}
		return nil, nil, t.ours(ctx, err)
	}
	return visiting, func() { left(); leave() }, nil
}
