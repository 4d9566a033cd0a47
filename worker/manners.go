package worker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Places hands out a limited number of places under a key, over all workers
// that share it. [NewPlaces] makes one for a single process.
type Places interface {
	// Take takes one of most places under the key, without waiting. ok is false
	// when all are taken. release gives the place back and may be called once.
	Take(ctx context.Context, key string, most int) (release func(), ok bool, err error)
}

// NewPlaces makes places for the workers of one process.
func NewPlaces() Places { return &memoryPlaces{taken: map[string]int{}} }

type memoryPlaces struct {
	mu    sync.Mutex
	taken map[string]int
}

func (p *memoryPlaces) Take(_ context.Context, key string, most int) (func(), bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key] >= most {
		return nil, false, nil
	}
	p.taken[key]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.taken[key]--; p.taken[key] == 0 {
			delete(p.taken, key)
		}
	}), true, nil
}

// Limits are how many audits may be at a host and at an address at a time;
// zero is the specification's 1 and 8 (promise 4), less than zero no limit.
type Limits struct {
	Host, Address int
}

// Manners keeps audits from crowding a host or an address. Its [Manners.Admit]
// is for the fetch client of the auditor whose worker it is given to.
type Manners struct {
	places    Places
	limits    Limits
	mu        sync.Mutex
	listeners []func(key string)
	// patience is how long an audit waits for the place at a second host, as
	// where its README lies; it holds a slot meanwhile.
	patience time.Duration
}

// NewManners makes manners over places; nil is [NewPlaces].
func NewManners(p Places, l Limits) *Manners {
	if p == nil {
		p = NewPlaces()
	}
	if l.Host == 0 {
		l.Host = 1
	}
	if l.Address == 0 {
		l.Address = 8
	}
	return &Manners{places: p, limits: l, patience: 5 * time.Second}
}

// errBusy is the error of an audit that may not begin now.
var errBusy = errors.New("too many audits at this host or address at the moment")

// visitor is the run behind the context of an audit.
type visitor struct {
	host string
	// busy is the key that was found taken, "" if none was. foreign says that
	// it belongs to another host than that of the target.
	mu      sync.Mutex
	busy    string
	foreign bool
}

// turnAway notes that the audit must begin anew. A nil visitor is an audit
// without a worker.
func (v *visitor) turnAway(key string, foreign bool) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.busy, v.foreign = key, foreign
}

func (v *visitor) turnedAway() bool {
	if v == nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.busy != ""
}

type visitorKey struct{}

// Admit is for fetch.Config.Admit: it takes a place at every address, and at
// the host unless the worker took that for the run already. An error leaves
// the read undone; the worker then gives the run back uncounted.
func (m *Manners) Admit(ctx context.Context, host string, addrs []netip.Addr) (func(), error) {
	v, _ := ctx.Value(visitorKey{}).(*visitor)
	own := v != nil && sameHost(v.host, host)
	if v.turnedAway() {
		return nil, errBusy // the audit will begin anew anyway
	}
	var keys []string
	if !own {
		keys = append(keys, hostKey(host))
	}
	for _, a := range addrs {
		keys = append(keys, addressKey(a))
	}
	// In one order, so that two audits cannot hold half each for ever.
	slices.Sort(keys)
	keys = slices.Compact(keys)
	deadline := time.Now().Add(m.patience)
	for {
		release, busy, err := m.takeAll(ctx, keys)
		if err != nil {
			return nil, fmt.Errorf("manners: %w", err)
		}
		if busy == "" {
			return release, nil
		}
		// An audit that has not begun can wait without a slot; one that has
		// waits here for a moment.
		if own || time.Now().After(deadline) {
			v.turnAway(busy, !own)
			return nil, errBusy
		}
		if !pause(ctx, 20*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// takeAll takes a place under each key, or none and the key that is busy.
func (m *Manners) takeAll(ctx context.Context, keys []string) (release func(), busy string, err error) {
	var held []func()
	giveBack := func() {
		for _, r := range held {
			r()
		}
	}
	for _, k := range keys {
		most := m.limits.Address
		if k[0] == 'h' {
			most = m.limits.Host
		}
		if most < 0 {
			continue
		}
		r, ok, err := m.places.Take(ctx, k, most)
		if err != nil || !ok {
			// Nobody is told: were the next in line to try now, it might take
			// the same way, and so on for ever. They are swept up in a second.
			giveBack()
			return nil, k, err
		}
		held = append(held, r)
	}
	return func() {
		giveBack()
		m.tell(keys)
	}, "", nil
}

// tell wakes those who wait for one of the keys.
func (m *Manners) tell(keys []string) {
	m.mu.Lock()
	listeners := m.listeners
	m.mu.Unlock()
	for _, l := range listeners {
		for _, k := range keys {
			l(k)
		}
	}
}

// listen has f told of every key under which a place was given back.
func (m *Manners) listen(f func(key string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners = append(m.listeners[:len(m.listeners):len(m.listeners)], f)
}

func hostKey(host string) string { return "host " + trimDot(host) }

func addressKey(a netip.Addr) string { return "addr " + a.Unmap().String() }

func sameHost(a, b string) bool { return trimDot(a) == trimDot(b) }

func trimDot(host string) string {
	if n := len(host); n > 0 && host[n-1] == '.' {
		return host[:n-1]
	}
	return host
}
