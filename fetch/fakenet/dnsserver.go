package fakenet

import (
	"fmt"
	"net"
	"sync"

	"github.com/miekg/dns"
)

// DNSServer starts a name server on 127.0.0.1, UDP and TCP, that answers as a
// recursive server of this internet would. It returns its address for
// resolve.Config.Servers and stops with [Net.Close]. It panics if there is no
// room for it on 127.0.0.1.
func (n *Net) DNSServer() string {
	const tries = 20 // the same port must be free for both
	for range tries {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			panic("fakenet: " + err.Error())
		}
		address := packets.LocalAddr().String()
		listener, err := net.Listen("tcp", address)
		if err != nil {
			packets.Close()
			continue
		}
		var started sync.WaitGroup
		started.Add(2)
		servers := []*dns.Server{
			{PacketConn: packets, Handler: dns.HandlerFunc(n.serveDNS), NotifyStartedFunc: started.Done},
			{Listener: listener, Handler: dns.HandlerFunc(n.serveDNS), NotifyStartedFunc: started.Done},
		}
		for _, s := range servers {
			n.serving.Go(func() { s.ActivateAndServe() })
		}
		started.Wait()
		n.mu.Lock()
		n.stops = append(n.stops, func() {
			for _, s := range servers {
				s.Shutdown()
			}
		})
		n.mu.Unlock()
		return address
	}
	panic(fmt.Sprintf("fakenet: no port free for both UDP and TCP in %d tries", tries))
}

func (n *Net) serveDNS(w dns.ResponseWriter, q *dns.Msg) {
	if len(q.Question) != 1 {
		return
	}
	m := new(dns.Msg)
	m.SetReply(q)
	m.RecursionAvailable = true
	name, qtype := q.Question[0].Name, q.Question[0].Qtype
	ttl := uint32(300)
	for hop := 0; ; hop++ {
		s := n.siteNamed(name)
		if s == nil {
			m.Rcode = dns.RcodeNameError
			m.Ns = append(m.Ns, soa(name, ttl))
			break
		}
		a := s.nextQuery(dns.TypeToString[qtype])
		if a.TTL != 0 {
			ttl = a.TTL
		}
		if a.NoEDNS && q.IsEdns0() != nil {
			m.Rcode = dns.RcodeFormatError
			break
		}
		if a.Forged {
			forge(w, q)
		}
		_, isTCP := w.RemoteAddr().(*net.TCPAddr)
		if a.Truncated && !isTCP {
			m.Truncated = true
			break
		}
		if a.Failure != NoFailure && (a.FailureOf == "" || a.FailureOf == dns.TypeToString[qtype]) {
			switch a.Failure {
			case Silence:
				return
			case ServFail:
				m.Rcode = dns.RcodeServerFailure
			case RefusedQuery:
				m.Rcode = dns.RcodeRefused
			case NXDomain:
				m.Rcode = dns.RcodeNameError
				if !a.NoSOA {
					m.Ns = append(m.Ns, soa(name, ttl))
				}
			}
			break
		}
		if a.Alias != "" {
			m.Answer = append(m.Answer, &dns.CNAME{Hdr: header(name, dns.TypeCNAME, ttl), Target: dns.Fqdn(a.Alias)})
			// A chain in circles would never end; servers stop as well.
			if a.Partial || hop > 2*maxAliases {
				break
			}
			name = dns.Fqdn(a.Alias)
			continue
		}
		before := len(m.Answer)
		for _, addr := range a.Addrs {
			switch {
			case addr.Is4() && qtype == dns.TypeA:
				m.Answer = append(m.Answer, &dns.A{Hdr: header(name, qtype, ttl), A: addr.AsSlice()})
			case addr.Is6() && qtype == dns.TypeAAAA:
				m.Answer = append(m.Answer, &dns.AAAA{Hdr: header(name, qtype, ttl), AAAA: addr.AsSlice()})
			}
		}
		if len(m.Answer) == before && !a.NoSOA {
			m.Ns = append(m.Ns, soa(name, ttl))
		}
		break
	}
	w.WriteMsg(m)
}

func (n *Net) siteNamed(fqdn string) *Site {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sites[fqdn[:len(fqdn)-1]]
}

func header(name string, rrtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: ttl}
}

func soa(name string, ttl uint32) dns.RR {
	return &dns.SOA{Hdr: header(name, dns.TypeSOA, 3600), Ns: "ns.example.", Mbox: "hostmaster.example.",
		Serial: 1, Refresh: 7200, Retry: 3600, Expire: 86400, Minttl: ttl}
}

// forge sends what a stranger who guesses would send.
func forge(w dns.ResponseWriter, q *dns.Msg) {
	lie := func(change func(*dns.Msg)) {
		m := new(dns.Msg)
		m.SetReply(q)
		m.Answer = []dns.RR{&dns.A{Hdr: header(q.Question[0].Name, dns.TypeA, 300), A: net.IPv4(20, 66, 66, 66)}}
		change(m)
		w.WriteMsg(m)
	}
	lie(func(m *dns.Msg) { m.Id++ })
	lie(func(m *dns.Msg) { m.Question[0].Name = "elsewhere.example." })
	lie(func(m *dns.Msg) { m.Response = false })
	w.Write([]byte("no message"))
}
