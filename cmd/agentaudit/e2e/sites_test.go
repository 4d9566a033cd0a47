//go:build linux

package e2e

import (
	"fmt"
	"net/netip"
	"testing"

	"agentaudit/audit/report"
	"agentaudit/fetch/fakenet"
)

// site is one target of the list, with what must become of it.
type site struct {
	kind string
	// line is how it stands in the list, target the URL that is meant.
	line, target string
	outcome      report.Outcome
	reason       report.Reason
	// detail stands in the sentence that says why.
	detail string
	// attempts may be unknown, which is any number.
	attempts int
	// agents is the verdict over agents.txt, "" where nothing is said of it.
	agents string
	// conns are TLS connections over all attempts, lookups questions for A
	// and as many for AAAA; unknown is any number.
	conns, lookups int
	host           *host // nil: nobody may be asked for it
}

const (
	none    = -1
	unknown = -2
)

// kind is a kind of site: a story told of one or more publications.
type kind struct {
	name string
	// bases are the publications that the story is told of; without any, the
	// story makes the whole host, once.
	bases string
	set   func(s *setup)

	detail string
	agents string // the verdict over agents.txt, "" for any
	// attempts are 1 where nothing is said, conns and lookups as many as
	// attempts.
	attempts, conns, lookups int
}

// group is kinds that share their outcome.
type group struct {
	outcome report.Outcome
	reason  report.Reason
	kinds   []kind
}

// setup is what a story works on.
type setup struct {
	*internet
	h    *host
	p    *publication // nil for kinds without base
	line string
	// target is set where it is not the host's own agentic.json.
	target string
}

// dns answers for the host in another way; the host stays where it is.
func (s *setup) answer(answers ...fakenet.Answer) { s.dns.set(s.h.name, answers...) }

// at is the host's own first address.
func (s *setup) at() netip.Addr { return s.h.addrs[0] }

// found is the DNS as it should be.
func (s *setup) found() fakenet.Answer { return addresses(s.h.addrs...) }

// build puts all kinds of site online and lists what must become of them.
func build(t *testing.T, n *internet, groups []group) []site {
	t.Helper()
	var all []site
	for _, g := range groups {
		for _, k := range g.kinds {
			for _, b := range bases(k.bases) {
				all = append(all, k.build(t, n, g, b, len(all)))
			}
		}
	}
	return all
}

// bases are those of a kind; 0 stands for none.
func bases(s string) []base {
	if s == "" {
		return []base{0}
	}
	return []base(s)
}

func (k kind) build(t *testing.T, n *internet, g group, b base, number int) site {
	t.Helper()
	name := fmt.Sprintf("s%d.example", number)
	s := &setup{internet: n, h: n.host(name), line: name}
	kindName := k.name
	if b != 0 {
		s.p = newPublication(t, "https://"+name, b)
		kindName += " (" + string(b) + ")"
	}
	if k.set != nil {
		k.set(s)
	}
	if s.p != nil {
		s.p.online(s.h)
	}
	attempts := max(k.attempts, 1)
	def := func(v int) int {
		switch v {
		case 0:
			return attempts
		case none:
			return 0
		}
		return v
	}
	target := s.target
	if target == "" { // then there is a host
		target = "https://" + s.h.name + "/agentic.json"
		if s.p != nil {
			target = s.p.url(s.p.name)
		}
	}
	return site{
		kind: kindName, line: s.line, target: target, outcome: g.outcome, reason: g.reason, detail: k.detail,
		agents: k.agents, attempts: attempts, conns: def(k.conns), lookups: def(k.lookups), host: s.h,
	}
}
