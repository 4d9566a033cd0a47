package worker

import (
	"slices"
	"sync"
	"time"

	"agentaudit/audit"
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
// answered lately are tried; nothing is begun meanwhile. If one of them can be
// reached it was the sites. If not, the network is down: what is held back goes
// back uncounted, as does what was begun before the network is back, batches are
// paused, and the hosts are tried until one answers.
type guard struct {
	mu sync.Mutex
	// answered is when a host last answered.
	answered time.Time
	// suspects are held back; hosts are those that failed since answered, also
	// where their failure counts already.
	suspects []suspect
	hosts    map[string]bool
	// over is closed when a suspicion is over; nil where there is none.
	over chan struct{}
	// known are the hosts that answered last, newest first; turn is the one to
	// be tried next, so that no stranger is asked all the time.
	known []string
	turn  int
	// tried is when hosts were last tried with success, recovered when an
	// outage ended.
	tried, recovered time.Time
	// down says that the network is down.
	down bool
	wake chan struct{}

	// batches are those that the outage concerns, true where they were paused;
	// only watchNetwork knows them. steer is held while batches are paused, and
	// by who resumes others' because it takes the network for there.
	batches map[store.BatchID]bool
	steer   sync.Mutex
}

type suspect struct {
	r *run
	j audit.Judgement
	// began and when are the beginning and the end of the attempt.
	began, when time.Time
}

const (
	// manyHosts is how many different hosts must fail before our network is
	// suspected. In a list in which half the sites are dead, five in a row
	// without one that answers happen now and then, and cost a few connections.
	manyHosts = 5
	// doubt is how long a failure is held back while few hosts failed.
	doubt = 2 * time.Second
	// trustFor is how long after hosts were tried none is tried again.
	trustFor = time.Second
	// knownHosts is how many hosts that answered are remembered; triedHosts of
	// them are tried at a time.
	knownHosts = 50
	triedHosts = 5
)

func newGuard() *guard {
	return &guard{hosts: map[string]bool{}, batches: map[store.BatchID]bool{}, wake: make(chan struct{}, 1)}
}

// suspect takes over a failed attempt that may be our network's fault. It
// returns true for one that certainly is: it was begun before the network came
// back.
func (g *guard) suspect(s suspect) (excused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.began.Before(g.recovered) {
		return true
	}
	g.suspects = append(g.suspects, s)
	g.hosts[s.r.Host] = true
	g.suspectOrNot()
	return false
}

// excused reports whether an attempt was begun before the network came back:
// if it failed, that says nothing about the site.
func (g *guard) excused(began time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return began.Before(g.recovered)
}

// suspectOrNot begins or ends the suspicion, as the hosts that failed say. What
// is known needs none.
func (g *guard) suspectOrNot() {
	many := len(g.hosts) >= manyHosts && !g.down
	switch {
	case many && g.over == nil:
		g.over = make(chan struct{})
		g.look()
	case !many && g.over != nil:
		close(g.over)
		g.over = nil
	}
}

// suspicion is closed when a suspicion is over, nil where there is none.
func (g *guard) suspicion() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

// heard notes that a host ("" for one without a run of its own) answered, and
// returns the attempts that count now: those that failed before it did.
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
	g.suspectOrNot()
	return count
}

// overdue returns the attempts that were held back long enough. doubtful says
// that so many hosts failed that the network must be tried first.
func (g *guard) overdue(now time.Time) (count []suspect, doubtful bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.hosts) >= manyHosts {
		return nil, now.Sub(g.tried) >= trustFor
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

// reached notes that the network is there, and returns what was held back.
func (g *guard) reached(now time.Time) []suspect {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down {
		g.recovered = now
	}
	g.down, g.answered, g.tried = false, now, now
	held := g.suspects
	g.suspects = nil
	clear(g.hosts)
	g.suspectOrNot()
	return held
}

// setDown notes that the network is down.
func (g *guard) setDown() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = true
	clear(g.hosts)
	g.suspectOrNot()
}

// probes are the hosts to try, one after the other in turns: known ones, or
// else those that failed.
func (g *guard) probes() (hosts []string, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn++
	for i := range min(len(g.known), triedHosts) {
		hosts = append(hosts, g.known[(g.turn+i)%len(g.known)])
	}
	if len(hosts) > 0 {
		return hosts, true
	}
	for h := range g.hosts {
		if len(hosts) < triedHosts {
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
