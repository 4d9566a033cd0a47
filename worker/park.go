package worker

import (
	"slices"
	"strings"
	"sync"
	"time"

	"agentaudit/store"
)

// run is a claimed run in this worker's hands.
type run struct {
	*store.Claim
	// waits counts how often the run had to wait for a second host.
	waits int
}

// urgent runs go before others at a busy host or address.
func (r *run) urgent() bool { return r.Class == store.ClassSmall }

// slots bounds the audits at once. What was parked and may go on takes the
// next slot that is free, by turns with small jobs; jobs of many runs, which
// others can do as well, come behind.
type slots struct {
	mu    sync.Mutex
	free  chan struct{}
	first chan struct{} // unbuffered: small jobs that wait for a slot receive
	ready []*run
	small bool // the last slot went to a small job
}

func (s *slots) init(n int) {
	s.free, s.first = make(chan struct{}, n), make(chan struct{})
	for range n {
		s.free <- struct{}{}
	}
}

// give frees a slot, or returns the run that takes it over.
func (s *slots) give() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.small || len(s.ready) == 0 {
		select {
		case s.first <- struct{}{}:
			s.small = true
			return nil
		default:
		}
	}
	s.small = false
	if len(s.ready) > 0 {
		r := s.ready[0]
		s.ready = s.ready[1:]
		return r
	}
	s.free <- struct{}{}
	return nil
}

// offer hands a run to a free slot, and returns true if there is one: the
// caller starts it. Otherwise it waits for the next.
func (s *slots) offer(r *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.free:
		return true
	default:
		s.ready = append(s.ready, r)
		return false
	}
}

// abandon returns the runs that wait for a slot, which they will not get.
func (s *slots) abandon() []*run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.ready
	s.ready = nil
	return r
}

// all returns the runs that wait for a slot.
func (s *slots) all() []*run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ready)
}

// takeOut takes those of some claims out of the line, and returns them.
func (s *slots) takeOut(claims map[*store.Claim]bool) []*run {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*run
	s.ready, out = part(s.ready, claims)
	return out
}

// part parts runs into those that stay and those of some claims.
func part(runs []*run, claims map[*store.Claim]bool) (stay, out []*run) {
	for _, r := range runs {
		if claims[r.Claim] {
			out = append(out, r)
		} else {
			stay = append(stay, r)
		}
	}
	return stay, out
}

// perKey bounds the runs parked in one line: enough to keep a slow host busy
// while the next come from the store.
const perKey = 32

// lot holds runs that wait for a host or an address, without a slot. Under each
// key there is a line of urgent runs, and behind it one of all others.
type lot struct {
	mu     sync.Mutex
	most   int
	parked int
	lines  map[place]*line
	closed bool
}

// place is where a run waits.
type place struct {
	key    string
	urgent bool
}

// line is who waits in one place.
type line struct {
	runs []*run
	// turn is when a run that finds the line full may expect its turn.
	turn time.Time
	// took is how long an audit under this key takes, a moving average.
	took time.Duration
}

func newLot(most int) *lot { return &lot{most: most, lines: map[place]*line{}} }

// park puts a run in line. If there is no room it returns when the run's turn
// may come instead. A quarter of all room is kept for urgent runs.
func (l *lot) park(key string, r *run, now time.Time) (later time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{key, r.urgent()}
	n := l.lines[at]
	if n == nil {
		// Until it is known: what an audit takes, shared by eight at an address.
		n = &line{took: 300 * time.Millisecond}
		if strings.HasPrefix(key, "addr ") {
			n.took /= 8
		}
		l.lines[at] = n
	}
	if l.closed {
		return now, false
	}
	most := l.most
	if !at.urgent {
		most -= l.most / 4
	}
	if l.parked < most && len(n.runs) < perKey {
		l.parked++
		n.runs = append(n.runs, r)
		return time.Time{}, true
	}
	// A list of one host fills the queue with its runs: each is sent away
	// until its turn, or they would all come back at once, and again.
	earliest := now.Add(time.Duration(len(n.runs)) * n.took)
	if n.turn.Before(earliest) {
		n.turn = earliest
	}
	n.turn = n.turn.Add(n.took)
	if latest := now.Add(10 * time.Minute); n.turn.After(latest) {
		return latest, false
	}
	return n.turn, false
}

// next takes the first run that waits under a key, nil if nobody does.
func (l *lot) next(key string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.first(place{key, true}); r != nil {
		return r
	}
	return l.first(place{key, false})
}

// first takes the first run out of a line.
func (l *lot) first(at place) *run {
	n := l.lines[at]
	if n == nil || len(n.runs) == 0 {
		return nil
	}
	r := n.runs[0]
	n.runs = n.runs[1:]
	l.parked--
	return r
}

// learn notes how long an audit took.
func (l *lot) learn(key string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, urgent := range []bool{true, false} {
		if n := l.lines[place{key, urgent}]; n != nil {
			n.took = (3*n.took + d) / 4
		}
	}
}

// sweep takes the first run out of every line, the urgent ones in front, and
// forgets lines that nobody waits in.
func (l *lot) sweep(now time.Time) []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	var urgent, others []*run
	for at, n := range l.lines {
		r := l.first(at)
		switch {
		case r == nil && n.turn.Before(now):
			delete(l.lines, at)
		case r == nil:
		case at.urgent:
			urgent = append(urgent, r)
		default:
			others = append(others, r)
		}
	}
	return append(urgent, others...)
}

// all returns the runs that wait in any line.
func (l *lot) all() []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*run
	for _, n := range l.lines {
		out = append(out, n.runs...)
	}
	return out
}

// takeOut takes those of some claims out of their lines, and returns them.
func (l *lot) takeOut(claims map[*store.Claim]bool) []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*run
	for _, n := range l.lines {
		var out []*run
		n.runs, out = part(n.runs, claims)
		all = append(all, out...)
	}
	l.parked -= len(all)
	return all
}

// empty closes the lot and returns all who wait.
func (l *lot) empty() []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var out []*run
	for _, n := range l.lines {
		out = append(out, n.runs...)
	}
	clear(l.lines)
	l.parked = 0
	return out
}
