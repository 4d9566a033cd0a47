//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
)

const (
	// crowdHosts sites live at three addresses. Every tenth of them asks for
	// rest, and has two listings more: 500 in all.
	crowdHosts = 416
	restEvery  = 10
	restFor    = 3 * time.Second
)

// TestManners has four workers audit 500 listings at three addresses, and takes
// their network away in the middle. Nobody is visited by more of them at a time
// than by one, who asks for rest gets it from all, and no site is to blame for
// the network.
func TestManners(t *testing.T) {
	inside(t)
	o := newOrdeal(t, crowdHosts, 20*time.Millisecond)
	at := []netip.Addr{o.newV4(), o.newV4(), o.newV4()}
	for i, s := range o.sites {
		s.host.live(at[i%len(at)])
		// A worker in which few sites fail before the network is back takes them
		// for the sites' own trouble and tries again.
		o.sites[i].attempts = unknown
		if i%restEvery != 0 {
			continue
		}
		for shop := range 2 {
			p := newPublication(t, "https://"+s.host.name, plain)
			p.dir = fmt.Sprintf("/shop%d/", shop)
			p.online(s.host)
			o.sites = append(o.sites, site{kind: "one of several", line: p.url(p.name), target: p.url(p.name),
				outcome: report.OutcomeSuccessful, reason: report.ReasonComplete, attempts: unknown, host: s.host})
		}
		s.host.rests()
	}
	o.list = newList(t, o.sites, 20, 3)
	f := newFleet(t, queuetest.Redis(t), o)
	f.onPostgres()
	f.concurrency = 20 // eighty of them want the twenty-four places
	f.enqueue()
	f.sail()

	f.until(crowdHosts / 2)
	route(t, "del")
	f.waitBatch("the batch is paused", func(b store.Batch) bool {
		if b.State == store.StatePaused && !strings.Contains(b.Note, "our own network") {
			t.Errorf("the batch is paused with the note %q", b.Note)
		}
		return b.State == store.StatePaused
	})
	o.hangUp()
	route(t, "add")
	f.land("the network is down")

	listed := map[*host]bool{}
	for _, s := range o.sites {
		listed[s.host] = true
		if b := s.host.books(); b.maxOpen > 1 {
			t.Errorf("%s: %d TLS connections at once", s.host.name, b.maxOpen)
		}
	}
	for _, fault := range o.faults(listed) {
		t.Error(fault)
	}
	for _, a := range at {
		if n := o.byAddr[a].maxOpen; n < maxPerAddress/2 {
			t.Errorf("%s saw at most %d audits at a time: the limit is not used", a, n)
		}
	}
}

// route takes the way to all sites away, or puts it back.
func route(t *testing.T, change string) {
	t.Helper()
	if out, err := exec.Command("ip", "route", change, "local", "0.0.0.0/0", "dev", "lo", "table", "local").CombinedOutput(); err != nil {
		t.Fatalf("ip route %s: %v: %s", change, err, out)
	}
}

// hangUp closes all connections as the sites see them: without a way to each
// other, neither side hears of the other's end.
func (n *internet) hangUp() {
	n.mu.Lock()
	var open []*link
	for c := range n.open {
		open = append(open, c.(*link))
	}
	n.mu.Unlock()
	for _, l := range open {
		l.Close()
	}
}

// rests has the host answer its first visitor with 429 and ask for rest, in
// which nobody may come.
func (h *host) rests() {
	var until time.Time
	guard := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			now := time.Now()
			h.net.mu.Lock()
			first := until.IsZero()
			if first {
				until = now.Add(restFor)
			} else if left := until.Sub(now); left > 0 {
				h.net.rude = append(h.net.rude, fmt.Sprintf("%s%s was read %s before the end of the rest that it asked for", h.name, r.URL.Path, left))
			}
			h.net.mu.Unlock()
			if first {
				w.Header().Set("Retry-After", fmt.Sprint(restFor.Seconds()))
				http.Error(w, "later", http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	for path, next := range h.paths {
		h.paths[path] = guard(next)
	}
}
