package fakenet

import (
	"context"
	"net/netip"
	"strings"

	"agentaudit/fetch"
	"agentaudit/fetch/resolve"
)

// Answer is what the DNS says of a name at one time.
type Answer struct {
	// Addrs are the addresses, of both families and of any kind, private ones
	// too. None with all else zero: the name exists without address.
	Addrs []netip.Addr
	// Alias makes the name a CNAME of another.
	Alias string
	// Failure is what goes wrong instead, for one family alone if FailureOf
	// says "A" or "AAAA" (only seen by [Net.DNSServer]).
	Failure   DNSFailure
	FailureOf string

	// The rest is for [Net.DNSServer] alone.

	// TTL is the life of records and negative answers in seconds; 0 means 300.
	TTL uint32
	// NoSOA leaves out the record that says how long a negative answer holds.
	NoSOA bool
	// Truncated cuts the answer over UDP, so that TCP has to be used.
	Truncated bool
	// Forged sends answers of a stranger first: with another id, to another
	// question, and bytes that are no message.
	Forged bool
	// Partial leaves the target of an Alias for another query.
	Partial bool
	// NoEDNS answers FORMERR to queries with an OPT record.
	NoEDNS bool
}

// DNSFailure is a way for a lookup to fail.
type DNSFailure int

// The failures of lookups.
const (
	NoFailure DNSFailure = iota
	NXDomain
	ServFail
	// RefusedQuery is the server's policy (REFUSED).
	RefusedQuery
	// Silence: no answer until the visitor gives up.
	Silence
)

// Addresses is an answer of these addresses.
func Addresses(addrs ...string) Answer {
	var a Answer
	for _, s := range addrs {
		a.Addrs = append(a.Addrs, mustAddr(s))
	}
	return a
}

func mustAddr(s string) netip.Addr { return netip.MustParseAddr(strings.Trim(s, "[]")) }

// DNS sets what the DNS says of the site, one answer for each lookup; the last
// one holds for ever. Public addresses that belong to nobody yet become the
// site's.
func (s *Site) DNS(answers ...Answer) *Site {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	for _, a := range answers {
		for _, addr := range a.Addrs {
			if s.net.byAddr[addr] == nil {
				s.net.byAddr[addr] = s
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.asked, s.queries = answers, 0, nil
	return s
}

// Lookups is how often [Net.Resolver] was asked for the site.
func (s *Site) Lookups() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.asked
}

// nextAnswer is the answer of the next lookup.
func (s *Site) nextAnswer() Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answer[min(s.asked, len(s.answer)-1)]
	s.asked++
	return a
}

// nextQuery is the answer of the next query for one family.
func (s *Site) nextQuery(qtype string) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queries == nil {
		s.queries = map[string]int{}
	}
	a := s.answer[min(s.queries[qtype], len(s.answer)-1)]
	s.queries[qtype]++
	return a
}

// Queries is how often [Net.DNSServer] was asked for a family of the site, "A"
// or "AAAA".
func (s *Site) Queries(qtype string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.queries[qtype]
}

// maxAliases bounds CNAME chains as the real resolver does.
const maxAliases = 8

// Resolver is the DNS as a client sees it through its resolver, without cache.
func (n *Net) Resolver() fetch.Resolver { return resolver{n} }

type resolver struct{ n *Net }

// Lookup implements fetch.Resolver.
func (r resolver) Lookup(ctx context.Context, host string, _ bool) ([]netip.Addr, error) {
	name := host
	for range maxAliases + 1 {
		r.n.mu.Lock()
		s := r.n.sites[name]
		r.n.mu.Unlock()
		if s == nil {
			return nil, notFound(host)
		}
		a := s.nextAnswer()
		switch a.Failure {
		case NXDomain:
			return nil, notFound(host)
		case ServFail:
			return nil, &resolve.Error{Host: host, Detail: "its name servers fail (SERVFAIL)"}
		case RefusedQuery:
			return nil, &resolve.Error{Host: host, Detail: "the name server refuses to answer (REFUSED)"}
		case Silence:
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if a.Alias == "" {
			if len(a.Addrs) == 0 {
				return nil, &resolve.Error{Host: host, NotFound: true, Detail: "the name exists, but has no address"}
			}
			return append([]netip.Addr(nil), a.Addrs...), nil
		}
		name = a.Alias
	}
	return nil, &resolve.Error{Host: host, Detail: "its chain of aliases (CNAME) is longer than 8 or runs in circles"}
}

func notFound(host string) error {
	return &resolve.Error{Host: host, NotFound: true, Detail: "the name servers do not know the name (NXDOMAIN)"}
}
