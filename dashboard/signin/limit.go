package signin

import (
	"sync"
	"time"
)

// The limits of failed attempts within a window: for one name from one address,
// for one address, and for one name from everywhere. The last is high, so that
// a stranger cannot easily keep a user out.
const (
	window         = 15 * time.Minute
	mostPair       = 5
	mostAddress    = 20
	mostName       = 100
	mostRemembered = 10_000
)

// Limit counts failed attempts to sign in. The zero value is ready; it is safe
// for concurrent use.
type Limit struct {
	mu     sync.Mutex
	failed map[string]*failures
}

type failures struct {
	n     int
	until time.Time
}

func keys(address, name string) [3]string {
	return [3]string{"pair " + address + " " + name, "address " + address, "name " + name}
}

// Wait is how long nobody may try this name from this address, 0 for not at all.
func (l *Limit) Wait(address, name string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wait time.Duration
	for i, most := range [3]int{mostPair, mostAddress, mostName} {
		if f := l.failed[keys(address, name)[i]]; f != nil && f.n >= most {
			wait = max(wait, f.until.Sub(now))
		}
	}
	return wait
}

// Failed counts a failed attempt.
func (l *Limit) Failed(address, name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = map[string]*failures{}
	}
	if len(l.failed) > mostRemembered {
		for k, f := range l.failed {
			if !now.Before(f.until) {
				delete(l.failed, k)
			}
		}
		if len(l.failed) > mostRemembered {
			clear(l.failed) // a flood of names: memory is bounded first of all
		}
	}
	for _, k := range keys(address, name) {
		f := l.failed[k]
		if f == nil || !now.Before(f.until) {
			f = &failures{until: now.Add(window)}
			l.failed[k] = f
		}
		f.n++
	}
}

// Succeeded forgets the failures of a name from an address.
func (l *Limit) Succeeded(address, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failed, keys(address, name)[0])
}
