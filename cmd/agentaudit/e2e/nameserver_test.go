//go:build linux

package e2e

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"agentaudit/fetch/fakenet"
)

const dnsPort = 53

// nameServer answers as the recursive server of a network does.
type nameServer struct {
	mu    sync.Mutex
	zone  map[string]*record
	asked map[question]int
}

type question struct {
	name  string // without final dot
	qtype string
}

// record is what the DNS says of a name: one answer for each lookup, the last
// one for ever. Names without a record do not exist.
type record struct{ answers []fakenet.Answer }

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	n := &nameServer{zone: map[string]*record{}, asked: map[question]int{}}
	packets, err := net.ListenPacket("udp4", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	var serving, started sync.WaitGroup
	started.Add(2)
	servers := []*dns.Server{{PacketConn: packets}, {Listener: listener}}
	for _, s := range servers {
		s.Handler, s.NotifyStartedFunc = dns.HandlerFunc(n.serve), started.Done
		serving.Go(func() { s.ActivateAndServe() })
	}
	started.Wait()
	t.Cleanup(func() {
		for _, s := range servers {
			s.Shutdown()
		}
		serving.Wait()
	})
	return n
}

// set gives a name its answers.
func (n *nameServer) set(name string, answers ...fakenet.Answer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.zone[name] = &record{answers}
}

// forget makes a name unknown.
func (n *nameServer) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.zone, name)
}

// lookups counts the questions for a name, A and AAAA.
func (n *nameServer) lookups(name string) (a, aaaa int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[question{name, "A"}], n.asked[question{name, "AAAA"}]
}

// names are all names that were ever asked for.
func (n *nameServer) names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for q := range n.asked {
		all = append(all, q.name)
	}
	return all
}

// next counts a question and finds its answer; ok is false for names that do
// not exist.
func (n *nameServer) next(fqdn string, qtype uint16) (a fakenet.Answer, ok bool) {
	name := strings.ToLower(strings.TrimSuffix(fqdn, "."))
	n.mu.Lock()
	defer n.mu.Unlock()
	q := question{name, dns.TypeToString[qtype]}
	turn := n.asked[q]
	n.asked[q]++
	r := n.zone[name]
	if r == nil {
		return a, false
	}
	return r.answers[min(turn, len(r.answers)-1)], true
}

func (n *nameServer) serve(w dns.ResponseWriter, q *dns.Msg) {
	if len(q.Question) != 1 {
		return
	}
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	if n.fill(m, w.RemoteAddr().Network() == "tcp") {
		w.WriteMsg(m)
	}
}

// fill writes the answer; it returns false for silence.
func (n *nameServer) fill(m *dns.Msg, tcp bool) bool {
	name, qtype := m.Question[0].Name, m.Question[0].Qtype
	header := func(rrtype uint16) dns.RR_Header {
		return dns.RR_Header{Name: name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: 300}
	}
	authority := func() {
		m.Ns = []dns.RR{&dns.SOA{Hdr: header(dns.TypeSOA), Ns: "ns.example.", Mbox: "hostmaster.example.", Minttl: 60}}
	}
	// Twenty aliases are a circle.
	for range 20 {
		a, ok := n.next(name, qtype)
		switch {
		case !ok, a.Failure == fakenet.NXDomain:
			m.Rcode = dns.RcodeNameError
			authority()
			return true
		case a.FailureOf != "" && a.FailureOf != dns.TypeToString[qtype]:
		case a.Failure == fakenet.Silence:
			return false
		case a.Failure == fakenet.ServFail:
			m.Rcode = dns.RcodeServerFailure
			return true
		case a.Failure == fakenet.RefusedQuery:
			m.Rcode = dns.RcodeRefused
			return true
		}
		if a.Truncated && !tcp {
			m.Truncated = true
			return true
		}
		if a.Alias == "" {
			for _, addr := range a.Addrs {
				switch {
				case addr.Is4() && qtype == dns.TypeA:
					m.Answer = append(m.Answer, &dns.A{Hdr: header(qtype), A: addr.AsSlice()})
				case addr.Is6() && qtype == dns.TypeAAAA:
					m.Answer = append(m.Answer, &dns.AAAA{Hdr: header(qtype), AAAA: addr.AsSlice()})
				}
			}
			if len(m.Answer) == 0 {
				authority()
			}
			return true
		}
		m.Answer = append(m.Answer, &dns.CNAME{Hdr: header(dns.TypeCNAME), Target: dns.Fqdn(a.Alias)})
		if a.Partial {
			return true
		}
		name = dns.Fqdn(a.Alias)
	}
	return true
}

// addresses is an answer of parsed addresses.
func addresses(addrs ...netip.Addr) fakenet.Answer { return fakenet.Answer{Addrs: addrs} }
