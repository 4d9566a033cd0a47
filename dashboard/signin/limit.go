package signin

import (
	"net/netip"
	"sync"
	"time"
)

// The limits of failed attempts within a window, as the OWASP Authentication
// Cheat Sheet advises: for one name from one address, and for one address. A
// name that fails more often from everywhere is not locked, or a stranger could
// keep its user out: it is only slowed down, to one attempt each slowly, and not
// at all where its user has signed in before.
const (
	window         = 15 * time.Minute
	mostPair       = 5
	mostAddress    = 20
	mostName       = 100
	slowly         = 5 * time.Second
	knownFor       = 30 * 24 * time.Hour
	mostRemembered = 10_000
)

// Limit counts attempts to sign in. The zero value is ready; it is safe for
// concurrent use.
type Limit struct {
	mu     sync.Mutex
	failed map[string]*failures
	// known are the pairs that have signed in, and when last.
	known map[string]time.Time
}

type failures struct {
	n     int
	until time.Time
	// next is when a name that is slowed down may be tried again.
	next time.Time
}

// keys are those of the pair, of the address and of the name. Who has one
// address of IPv6 has all of its 64 bits network.
func keys(address, name string) [3]string {
	if a, err := netip.ParseAddr(address); err == nil && a.Unmap().Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			address = p.String()
		}
	}
	return [3]string{"pair " + address + " " + name, "address " + address, "name " + name}
}

// Begin counts an attempt as failed before it is looked at, so that many at a
// time are no way around the limits. Where it gives more than 0, it is not to be
// looked at, nor counted, and so long nobody may try this name from this address.
func (l *Limit) Begin(address, name string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	all := keys(address, name)
	for i, most := range [2]int{mostPair, mostAddress} {
		if f := l.failed[all[i]]; f != nil && f.n >= most {
			wait = max(wait, f.until.Sub(now))
		}
	}
	if wait > 0 {
		return wait
	}
	if f := l.failed[all[2]]; f != nil && f.n >= mostName && now.Before(f.until) {
		if at, ok := l.known[all[0]]; !ok || now.Sub(at) > knownFor {
			if now.Before(f.next) {
				return f.next.Sub(now)
			}
			f.next = now.Add(slowly)
		}
	}
	for _, k := range all {
		f := l.failed[k]
		if f == nil || !now.Before(f.until) {
			f = &failures{until: now.Add(window)}
			l.failed[k] = f
		}
		f.n++
	}
	return 0
}

// forget bounds what is remembered.
func (l *Limit) forget(now time.Time) {
	if l.failed == nil {
		l.failed, l.known = map[string]*failures{}, map[string]time.Time{}
	}
	if len(l.failed) > mostRemembered {
		for k, f := range l.failed {
			if !now.Before(f.until) {
				delete(l.failed, k)
			}
		}
		if len(l.failed) > mostRemembered {
			clear(l.failed) // a flood of addresses: memory is bounded first of all
		}
	}
	if len(l.known) > mostRemembered {
		clear(l.known)
	}
}

// Succeeded takes back an attempt that was begun, with the failures of the name
// from the address.
func (l *Limit) Succeeded(address, name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	all := keys(address, name)
	delete(l.failed, all[0])
	for _, k := range all[1:] {
		if f := l.failed[k]; f != nil && f.n > 0 {
			f.n--
		}
	}
	l.known[all[0]] = now
}
