//go:build linux

package e2e

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"agentaudit/audit/report"
	"agentaudit/fetch/publicip"
)

// mustBehave holds what the internet has seen against what the audits of
// these sites may do: connections and questions as promised for each host, and
// nothing at all beyond.
func (n *internet) mustBehave(sites []site) {
	n.t.Helper()
	listed := map[*host]bool{}
	attempts := map[*host]int{}
	for _, s := range sites {
		attempts[s.host] += s.attempts
	}
	for _, s := range sites {
		if s.host == nil {
			continue
		}
		listed[s.host] = true
		if fault := s.misled(attempts[s.host]); fault != "" {
			n.t.Errorf("%s at %s: %s", s.kind, s.host.name, fault)
		}
	}
	for name, h := range n.hosts {
		if b := h.books(); !listed[h] && b.hellos > 0 {
			n.t.Errorf("%s is not in the list and got %d connections", name, b.hellos)
		}
	}
	for _, name := range n.dns.names() {
		// The names of aliases end in their host's.
		if !slices.ContainsFunc(sites, func(s site) bool { return s.host != nil && strings.HasSuffix("."+name, "."+s.host.name) }) && name != "gone.example" {
			n.t.Errorf("somebody asked for %s, which is not in the list", name)
		}
	}
	for _, fault := range n.faults(listed) {
		n.t.Error(fault)
	}
}

// misled says what is wrong with the connections and questions for one site,
// whose host was visited in a number of attempts.
func (s site) misled(attempts int) string {
	var faults []string
	b := s.host.books()
	if b.hellos != s.conns && s.conns != unknown {
		faults = append(faults, fmt.Sprintf("%d TLS connections, want %d", b.hellos, s.conns))
	}
	if b.maxOpen > 1 {
		faults = append(faults, fmt.Sprintf("%d TLS connections at the same time", b.maxOpen))
	}
	if a, aaaa := s.host.net.dns.lookups(s.host.name); s.lookups != unknown && (a != s.lookups || aaaa != s.lookups) {
		faults = append(faults, fmt.Sprintf("%d questions for A and %d for AAAA, want %d of each", a, aaaa, s.lookups))
	}
	// Whoever answered well is asked for a file once in an attempt. Where that
	// failed, a scan asks for pages, and may be sent to one by up to seven others.
	most := attempts
	if s.outcome == report.OutcomeFailed {
		most += 8
	}
	for path, times := range b.requests {
		if times > most {
			faults = append(faults, fmt.Sprintf("%s was read %d times in %d attempts", path, times, attempts))
		}
	}
	return strings.Join(faults, "; ")
}

// books is a copy of the books of a host.
type books struct {
	hellos, handshakes, maxOpen int
	requests                    map[string]int
}

func (h *host) books() books {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	return books{h.hellos, h.handshakes, h.maxOpen, maps.Clone(h.requests)}
}

// faults lists all that visitors of these hosts did wrong in general: packets
// to anything but the name server and port 443 of a public address that such a
// host lives at, and bad manners.
func (n *internet) faults(hosts map[*host]bool) (list []string) {
	n.t.Helper()
	listed := map[netip.Addr]bool{}
	for h := range hosts {
		for _, a := range h.addrs {
			if publicip.Public(a) {
				listed[a] = true
			}
		}
	}
	n.mu.Lock()
	list = append(list, n.rude...)
	for a, at := range n.byAddr {
		if at.maxOpen > maxPerAddress {
			list = append(list, fmt.Sprintf("%d connections to %s at once", at.maxOpen, a))
		}
	}
	n.mu.Unlock()
	syns := map[netip.Addr]int{}
	for c, times := range n.packets.contacts(n.t) {
		switch {
		case c.proto == "tcp" && c.to.Port() == 443 && listed[c.to.Addr()]:
			syns[c.to.Addr()] += times
		case c.to == nameServerAddr:
		default:
			list = append(list, fmt.Sprintf("%d first packets to %s", times, c))
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for a, times := range n.accepted {
		if syns[a] < times {
			list = append(list, fmt.Sprintf("%s took %d connections, the packet recorder saw %d: it is blind", a, times, syns[a]))
		}
	}
	slices.Sort(list)
	return list
}

// maxPerAddress is how many audits may be at one address at once (pipeline
// specification, promise 4).
const maxPerAddress = 8

var nameServerAddr = netip.MustParseAddrPort("127.0.0.1:53")
