package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"agentaudit/audit"
	"agentaudit/fetch"
	"agentaudit/queue"
)

// Places hands out limited numbers of places under keys, over all workers that
// share it. [NewPlaces] makes one for a single process, [queue.Conn.NewPlaces]
// one for many.
type Places interface {
	// Take takes a place under each key, or none, without waiting: busy is then
	// a key that has none free, and rest how long nobody may come to it, 0 if
	// only others must leave first. release gives the places back and may be
	// called once.
	Take(ctx context.Context, places []queue.Place) (release func(), busy string, rest time.Duration, err error)
	// Rest lets nobody take a place under the key for a time; a longer rest
	// that is under way stays.
	Rest(ctx context.Context, key string, d time.Duration) error
}

// NewPlaces makes places for the workers of one process.
func NewPlaces() Places {
	return &memoryPlaces{taken: map[string]int{}, rests: map[string]time.Time{}, wanted: map[string]time.Time{}}
}

type memoryPlaces struct {
	mu     sync.Mutex
	taken  map[string]int
	rests  map[string]time.Time // until when
	wanted map[string]time.Time // by somebody urgent, until when
}

func (p *memoryPlaces) Take(_ context.Context, places []queue.Place) (func(), string, time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, pl := range places {
		if until, ok := p.rests[pl.Key]; ok {
			if left := until.Sub(now); left > 0 {
				return nil, pl.Key, left, nil
			}
			delete(p.rests, pl.Key)
		}
	}
	for _, pl := range places {
		until, wanted := p.wanted[pl.Key]
		if wanted && !until.After(now) {
			delete(p.wanted, pl.Key)
			wanted = false
		}
		switch full := p.taken[pl.Key] >= pl.Most; {
		case full && pl.Urgent:
			if len(p.wanted) >= maxRests {
				maps.DeleteFunc(p.wanted, func(_ string, until time.Time) bool { return !until.After(now) })
			}
			p.wanted[pl.Key] = now.Add(queue.PlaceWanted)
			return nil, pl.Key, 0, nil
		case full, wanted && !pl.Urgent:
			return nil, pl.Key, 0, nil
		}
	}
	for _, pl := range places {
		p.taken[pl.Key]++
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, pl := range places {
			if p.taken[pl.Key]--; p.taken[pl.Key] == 0 {
				delete(p.taken, pl.Key)
			}
		}
	}), "", 0, nil
}

// maxRests bounds what is remembered of hosts that nobody came back to.
const maxRests = 10_000

func (p *memoryPlaces) Rest(_ context.Context, key string, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if len(p.rests) >= maxRests {
		maps.DeleteFunc(p.rests, func(_ string, until time.Time) bool { return !until.After(now) })
	}
	if until := now.Add(d); until.After(p.rests[key]) {
		p.rests[key] = until
	}
	return nil
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
	// urgent ones go before others: small batches, and who waits for an answer.
	urgent bool
	// busy is the key that was found taken, "" if none was. foreign says that
	// it belongs to another host than that of the target.
	mu      sync.Mutex
	busy    string
	foreign bool
	// rest is how long the host has asked to be left alone, 0 if it has not.
	rest time.Duration
	// unknown is why it was not known whether a place was free, nil if it always
	// was.
	unknown error
	// settled says that the audit is done: what follows it may find hosts busy,
	// but no longer makes the audit begin anew.
	settled bool
}

// settle reports whether the audit has come to its end: it was not turned
// away, or by a host of others and too often to begin anew (tired), and what it
// did not read is not for our own trouble. From then on nothing turns it away.
func (v *visitor) settle(tired bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.unknown != nil || v.busy != "" && !(v.foreign && tired) {
		return false
	}
	v.settled, v.busy, v.foreign = true, "", false
	return true
}

// turnAway notes that the audit must begin anew. A nil visitor is an audit
// without a worker.
func (v *visitor) turnAway(key string, foreign bool) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.settled {
		v.busy, v.foreign = key, foreign
	}
}

// patience is how long an audit waits for the place at another host, and what
// follows it a multiple: there is nothing to begin anew.
func (v *visitor) patience(usual time.Duration) time.Duration {
	if v == nil {
		return usual
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.settled {
		return 3 * usual
	}
	return usual
}

// begun says that the visit does not begin anew any more, and waits instead.
func (v *visitor) begun() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.settled
}

func (v *visitor) turnedAway() bool {
	if v == nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.busy != "" || v.unknown != nil
}

// lose notes that the audit must begin anew, for who hands out places does not
// answer: the site has no part in that.
func (v *visitor) lose(err error) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.settled {
		v.unknown = err
	}
}

type visitorKey struct{}

// Visit is for audits that no worker does, as those which a person or an agent
// waits for: it waits for the place at a host, and returns the context for what
// is read there, with the [Manners.Admit] of the same manners. leave gives the
// place back and may be called once. The error is a [*fetch.RestError] for a
// host that has asked to be left alone.
func (m *Manners) Visit(ctx context.Context, host string) (visiting context.Context, leave func(), err error) {
	for {
		leave, busy, rest, err := m.takeAll(ctx, true, []string{hostKey(host)})
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("manners: %w", err)
		case busy == "":
			return context.WithValue(ctx, visitorKey{}, &visitor{host: host, urgent: true, settled: true}), leave, nil
		case rest > 0:
			return nil, nil, &fetch.RestError{For: rest}
		case !pause(ctx, 20*time.Millisecond):
			return nil, nil, ctx.Err()
		}
	}
}

// Admit is for fetch.Config.Admit: it takes a place at every address, and at
// the host unless the worker took that for the run already. An error leaves
// the read undone; the worker then gives the run back uncounted. The error is a
// [*fetch.RestError] for a host that has asked to be left alone: the audit goes
// on without it, and counts.
func (m *Manners) Admit(ctx context.Context, host string, addrs []netip.Addr) (func(), error) {
	v, _ := ctx.Value(visitorKey{}).(*visitor)
	own := v != nil && sameHost(v.host, host)
	if v.turnedAway() {
		return nil, errBusy // the audit will begin anew anyway
	}
	if own && v.rest > 0 {
		return nil, &fetch.RestError{For: v.rest}
	}
	var keys []string
	if !own {
		keys = append(keys, hostKey(host))
	}
	for _, a := range addrs {
		keys = append(keys, addressKey(a))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	deadline := time.Now().Add(v.patience(m.patience))
	for {
		release, busy, rest, err := m.takeAll(ctx, v == nil || v.urgent, keys)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			v.lose(err)
			return nil, fmt.Errorf("manners: %w", err)
		case busy == "":
			return release, nil
		case rest > 0:
			return nil, &fetch.RestError{For: rest}
		}
		// An audit that has not begun can wait without a slot; one that has
		// waits here for a moment.
		if own && !v.begun() || time.Now().After(deadline) {
			v.turnAway(busy, !own)
			return nil, errBusy
		}
		if !pause(ctx, 20*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// takeAll takes a place under each key, or none and a key that is busy, for
// rest at least if that is not 0. Who is urgent is asked in first.
func (m *Manners) takeAll(ctx context.Context, urgent bool, keys []string) (release func(), busy string, rest time.Duration, err error) {
	places := make([]queue.Place, 0, len(keys))
	for _, k := range keys {
		most := m.limits.Address
		if k[0] == 'h' {
			most = m.limits.Host
		}
		if most > 0 {
			places = append(places, queue.Place{Key: k, Most: most, Urgent: urgent})
		}
	}
	giveBack, busy, rest, err := m.places.Take(ctx, places)
	if err != nil || busy != "" {
		return nil, busy, rest, err
	}
	return func() {
		giveBack()
		m.tell(keys)
	}, "", 0, nil
}

// rest has a host left alone for as long as it asked, at most for a time.
func (m *Manners) rest(ctx context.Context, rests []audit.Rest, most time.Duration) error {
	for _, r := range rests {
		if err := m.places.Rest(ctx, hostKey(r.Host), min(r.For, most)); err != nil {
			return err
		}
	}
	return nil
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
