package resolve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	typeA    = dns.TypeA
	typeAAAA = dns.TypeAAAA
	// maxChain bounds the CNAME records followed for one name.
	maxChain = 8
	// udpSize is what fits into one packet everywhere (DNS flag day 2020).
	udpSize = 1232
	// systemLife is how long answers without a TTL are kept.
	systemLife = time.Minute
)

// family is the answer for one address family.
type family struct {
	addrs    []netip.Addr
	nxdomain bool
	// ttl is the least TTL on the way to the addresses, or that of the
	// negative answer; 0 where nothing says it.
	ttl time.Duration
	err *Error
}

// askServers follows the name to its addresses. Recursive servers usually
// send the whole CNAME chain with the addresses; what they leave out is asked
// for.
func (r *Resolver) askServers(ctx context.Context, servers []string, host string, qtype uint16) family {
	name := dns.Fqdn(host)
	ttl := time.Duration(math.MaxInt64)
	for hops := 0; ; {
		m, e := r.exchange(ctx, servers, host, name, qtype)
		if e != nil {
			return family{err: e}
		}
		asked := name
		var addrs []netip.Addr
		for {
			addrs = addrs[:0]
			next := ""
			for _, rr := range m.Answer {
				h := rr.Header()
				if !strings.EqualFold(h.Name, name) || h.Class != dns.ClassINET {
					continue
				}
				switch rr := rr.(type) {
				case *dns.CNAME:
					if next == "" {
						next = rr.Target
						ttl = min(ttl, seconds(h.Ttl))
					}
				case *dns.A:
					if a, ok := netip.AddrFromSlice(rr.A.To4()); ok && qtype == typeA {
						addrs = append(addrs, a)
						ttl = min(ttl, seconds(h.Ttl))
					}
				case *dns.AAAA:
					// An IPv4-mapped address stays one: the caller refuses it.
					if a, ok := netip.AddrFromSlice(rr.AAAA.To16()); ok && qtype == typeAAAA {
						addrs = append(addrs, a)
						ttl = min(ttl, seconds(h.Ttl))
					}
				}
			}
			if len(addrs) > 0 || next == "" {
				break
			}
			if hops++; hops > maxChain {
				return family{err: &Error{Host: host, Detail: fmt.Sprintf("its chain of aliases (CNAME) is longer than %d or runs in circles", maxChain)}}
			}
			name = next
		}
		switch {
		case len(addrs) > 0:
			return family{addrs: addrs, ttl: ttl}
		case m.Rcode == dns.RcodeNameError:
			return family{nxdomain: true, ttl: min(ttl, negativeTTL(m))}
		case name == asked:
			return family{ttl: min(ttl, negativeTTL(m))}
		}
		// The chain left what this answer covers.
		if hasSOA(m) {
			return family{ttl: min(ttl, negativeTTL(m))}
		}
	}
}

func seconds(ttl uint32) time.Duration { return time.Duration(ttl) * time.Second }

func hasSOA(m *dns.Msg) bool { return negativeTTL(m) > 0 }

// negativeTTL is how long a negative answer holds (RFC 2308 section 5).
func negativeTTL(m *dns.Msg) time.Duration {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return seconds(min(soa.Hdr.Ttl, soa.Minttl))
		}
	}
	return 0
}

// exchange asks the servers in turn, twice if there is but one, and returns
// the first answer that settles something (NOERROR or NXDOMAIN). The error
// tells of the first server that said anything, else of the last failure.
func (r *Resolver) exchange(ctx context.Context, servers []string, host, name string, qtype uint16) (*dns.Msg, *Error) {
	var failed *Error
	for i := range max(2, len(servers)) {
		m, err := r.query(ctx, servers[i%len(servers)], name, qtype)
		switch {
		case err == nil && (m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError):
			return m, nil
		case err == nil:
			failed = rcodeError(host, m.Rcode)
		case ctx.Err() != nil:
			if failed == nil {
				failed = &Error{Host: host, Detail: "the name servers did not answer in time", Err: ctx.Err()}
			}
			return nil, failed
		case failed == nil || failed.Err != nil:
			failed = &Error{Host: host, Detail: "the name servers cannot be reached", Err: err}
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
				failed.Detail = "the name servers did not answer in time"
			}
		}
	}
	return nil, failed
}

func rcodeError(host string, rcode int) *Error {
	word := dns.RcodeToString[rcode]
	switch rcode {
	case dns.RcodeServerFailure:
		return &Error{Host: host, Detail: "its name servers fail (SERVFAIL)"}
	case dns.RcodeRefused:
		return &Error{Host: host, Detail: "the name server refuses to answer (REFUSED)"}
	}
	if word == "" {
		word = fmt.Sprintf("code %d", rcode)
	}
	return &Error{Host: host, Detail: "the name server answers with an error (" + word + ")"}
}

// query asks one server over UDP, and over TCP if the answer was cut short.
func (r *Resolver) query(ctx context.Context, server, name string, qtype uint16) (*dns.Msg, error) {
	select {
	case r.queries <- struct{}{}:
		defer func() { <-r.queries }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, r.attempt)
	defer cancel()
	q := new(dns.Msg)
	q.SetQuestion(name, qtype)
	q.SetEdns0(udpSize, false)
	m, err := exchangeOver(ctx, "udp", server, q)
	if err == nil && (m.Rcode == dns.RcodeFormatError || m.Rcode == dns.RcodeNotImplemented) {
		// A server from before EDNS.
		q.Extra = nil
		m, err = exchangeOver(ctx, "udp", server, q)
	}
	if err == nil && m.Truncated {
		m, err = exchangeOver(ctx, "tcp", server, q)
	}
	return m, err
}

// exchangeOver sends one query on a socket of its own and waits for its
// answer; anything else that arrives there is dropped.
func exchangeOver(ctx context.Context, network, server string, q *dns.Msg) (*dns.Msg, error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	if deadline, ok := ctx.Deadline(); ok {
		raw.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c := &dns.Conn{Conn: raw, UDPSize: udpSize}
	if err := c.WriteMsg(q); err != nil {
		return nil, err
	}
	for {
		m, err := c.ReadMsg()
		switch {
		case err == nil && answers(m, q):
			return m, nil
		case err != nil && (network == "tcp" || !isMalformed(err)):
			return nil, err
		}
	}
}

// answers reports whether m is the answer to q and not to something else.
func answers(m, q *dns.Msg) bool {
	return m.Response && m.Id == q.Id && len(m.Question) == 1 &&
		m.Question[0].Qtype == q.Question[0].Qtype && m.Question[0].Qclass == q.Question[0].Qclass &&
		strings.EqualFold(m.Question[0].Name, q.Question[0].Name)
}

// isMalformed tells a packet that is no DNS message from a broken socket.
func isMalformed(err error) bool {
	_, isNet := errors.AsType[net.Error](err)
	return !isNet
}

// askSystem uses Go's own resolver, where no resolv.conf exists.
func (r *Resolver) askSystem(ctx context.Context, _ []string, host string, qtype uint16) family {
	network := "ip6"
	if qtype == typeA {
		network = "ip4"
	}
	select {
	case r.queries <- struct{}{}:
		defer func() { <-r.queries }()
	case <-ctx.Done():
		return family{err: &Error{Host: host, Detail: "the name servers did not answer in time", Err: ctx.Err()}}
	}
	system := net.Resolver{PreferGo: true}
	addrs, err := system.LookupNetIP(ctx, network, dns.Fqdn(host))
	if err == nil {
		for i, a := range addrs {
			if qtype == typeA {
				addrs[i] = a.Unmap() // Go's form for IPv4, not the server's
			}
		}
		return family{addrs: addrs, ttl: systemLife}
	}
	de, isDNS := errors.AsType[*net.DNSError](err)
	// A name with addresses of the other family alone is an AddrError.
	if _, isAddr := errors.AsType[*net.AddrError](err); isAddr || isDNS && de.IsNotFound {
		return family{ttl: systemLife} // NXDOMAIN and "no address" look the same here
	}
	return family{err: &Error{Host: host, Detail: "the name servers failed or did not answer in time", Err: err}}
}
