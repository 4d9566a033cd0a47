package worker

import (
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

// slots bounds the audits at once. What was parked and may go on takes the
// next free slot before any new job does.
type slots struct {
	mu    sync.Mutex
	free  chan struct{}
	ready []*run
}

func (s *slots) init(n int) {
	s.free = make(chan struct{}, n)
	for range n {
		s.free <- struct{}{}
	}
}

// give frees a slot, or returns the run that takes it over.
func (s *slots) give() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// perKey bounds the runs parked under one key: enough to keep a slow host busy
// while the next come from the store.
const perKey = 32

// lot holds runs that wait for a host or an address, without a slot.
type lot struct {
	mu     sync.Mutex
	most   int
	parked int
	lines  map[string]*line
	closed bool
}

// line is who waits under one key.
type line struct {
	runs []*run
	// turn is when a run that finds the line full may expect its turn.
	turn time.Time
	// took is how long an audit under this key takes, a moving average.
	took time.Duration
}

func newLot(most int) *lot { return &lot{most: most, lines: map[string]*line{}} }

// park puts a run in line. If there is no room it returns when the run's turn
// may come instead.
func (l *lot) park(key string, r *run, now time.Time) (later time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.lines[key]
	if n == nil {
		// Until it is known: what an audit takes, shared by eight at an address.
		n = &line{took: 300 * time.Millisecond}
		if strings.HasPrefix(key, "addr ") {
			n.took /= 8
		}
		l.lines[key] = n
	}
	if l.closed {
		return now, false
	}
	if l.parked < l.most && len(n.runs) < perKey {
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

// next takes the first run out of a line, nil if nobody waits there.
func (l *lot) next(key string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.lines[key]
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
	if n := l.lines[key]; n != nil {
		n.took = (3*n.took + d) / 4
	}
}

// sweep takes the first run out of every line, and forgets lines that nobody
// waits in.
func (l *lot) sweep(now time.Time) []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*run
	for key, n := range l.lines {
		if len(n.runs) > 0 {
			out = append(out, n.runs[0])
			n.runs = n.runs[1:]
			l.parked--
		} else if n.turn.Before(now) {
			delete(l.lines, key)
		}
	}
	return out
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
