//go:build linux

package e2e

import (
	"net/netip"

	"agentaudit/audit/report"
	"agentaudit/fetch/fakenet"
)

// darkSites cannot be reached, or must not be.
var darkSites = []group{
	{report.OutcomeFailed, report.ReasonNoSuchHost, []kind{
		{name: "no such name", bases: "p", attempts: 2, conns: none, detail: "NXDOMAIN", set: answered(fakenet.Answer{Failure: fakenet.NXDomain})},
		{name: "a name without address", bases: "p", attempts: 2, conns: none, detail: "no address", set: answered(fakenet.Answer{})},
		{name: "an alias that leads nowhere", bases: "p", attempts: 2, conns: none, set: answered(fakenet.Answer{Alias: "gone.example"})},
		{name: "a name with a blank label", attempts: 2, conns: none, lookups: none, set: func(s *setup) {
			s.unasked("https://a..example/", "https://a..example/agentic.json")
		}},
	}},
	{report.OutcomeFailed, report.ReasonRefused, append([]kind{
		{name: "a public and a private address", bases: "p", conns: none, detail: "One of the 2 addresses", set: func(s *setup) {
			s.answer(addresses(s.at(), netip.MustParseAddr("10.0.0.5")))
		}},
		{name: "a private IPv6 beside a public IPv4", bases: "p", conns: none, set: func(s *setup) {
			s.answer(addresses(s.at(), netip.MustParseAddr("fd00::5")))
		}},
		{name: "an alias to the inside", bases: "p", conns: none, set: func(s *setup) {
			s.dns.set("inside."+s.h.name, addresses(netip.MustParseAddr("192.168.7.7")))
			s.answer(fakenet.Answer{Alias: "inside." + s.h.name})
		}},
		// The second attempt asks anew, and finds a name that has turned inwards.
		{name: "rebinding between attempts", bases: "pia", attempts: 2, conns: 1, detail: "10.0.0.6", set: func(s *setup) {
			s.answer(s.found(), addresses(netip.MustParseAddr("10.0.0.6")))
			s.p.generate()
			s.p.json = instead(fakenet.Text(503, "wait for it"))
		}},
	}, inwards()...)},
	{report.OutcomeSuccessful, report.ReasonComplete, []kind{
		// Whoever asks twice within one audit is led astray.
		{name: "rebinding within an attempt", bases: "pia", set: func(s *setup) {
			s.answer(s.found(), addresses(netip.MustParseAddr("10.0.0.6")))
		}},
	}},
	{report.OutcomeUnchecked, report.ReasonUnreachable, []kind{
		// The resolver asks a server that fails twice in each attempt.
		{name: "SERVFAIL", bases: "p", attempts: 3, conns: none, lookups: 6, detail: "dns: ", set: answered(fakenet.Answer{Failure: fakenet.ServFail})},
		{name: "REFUSED", bases: "p", attempts: 3, conns: none, lookups: 6, detail: "dns: ", set: answered(fakenet.Answer{Failure: fakenet.RefusedQuery})},
		{name: "silent name servers", bases: "p", attempts: 3, conns: none, lookups: 6, detail: "dns: ", set: answered(fakenet.Answer{Failure: fakenet.Silence})},
		{name: "A that fails beside AAAA without address", bases: "p", attempts: 3, conns: none, lookups: unknown, detail: "dns: ", set: answered(fakenet.Answer{Failure: fakenet.ServFail, FailureOf: "A"})},
		{name: "aliases in a circle", bases: "p", attempts: 3, conns: none, lookups: unknown, detail: "dns: ", set: func(s *setup) {
			s.answer(fakenet.Answer{Alias: "round." + s.h.name})
			s.dns.set("round."+s.h.name, fakenet.Answer{Alias: s.h.name})
		}},

		{name: "closed port", bases: "p", attempts: 3, conns: none, detail: "connect: ", set: func(s *setup) { s.moved(s.newV4()) }},
		{name: "closed ports", bases: "p", attempts: 3, conns: none, detail: "connect: ", set: func(s *setup) { s.moved(s.newV4(), s.newV6(), s.newV4()) }},
		{name: "no route", bases: "p", attempts: 3, conns: none, detail: "connect: ", set: func(s *setup) { s.moved(netip.MustParseAddr("20.64.0.2")) }},
		{name: "black hole", bases: "p", attempts: 3, conns: none, detail: "connect: ", set: func(s *setup) {
			hole := s.newV4()
			s.blackHole(hole)
			s.moved(hole)
		}},
		{name: "black holes", bases: "p", attempts: 3, conns: none, detail: "connect: ", set: func(s *setup) {
			four, six := s.newV4(), s.newV6()
			s.blackHole(four)
			s.blackHole(six)
			s.moved(six, four)
		}},

		{name: "no TLS", bases: "p", attempts: 3, detail: "tls: ", set: greeting(fakenet.PlainHTTP)},
		{name: "another protocol", bases: "p", attempts: 3, detail: "tls: ", set: greeting(fakenet.Garbage)},
		{name: "an alert", bases: "p", attempts: 3, detail: "tls: ", set: greeting(fakenet.HandshakeAlert)},
		{name: "TLS 1.1", bases: "p", attempts: 3, detail: "tls: ", set: func(s *setup) { s.h.maxTLS = 0x0302 }},
		{name: "closed within the handshake", bases: "p", attempts: 3, set: greeting(fakenet.CloseHandshake)},
		{name: "reset within the handshake", bases: "p", attempts: 3, set: greeting(fakenet.ResetHandshake)},
		{name: "wants a certificate of ours", bases: "p", attempts: 3, conns: unknown, set: certificates(fakenet.ClientCert)},

		{name: "silent within the handshake", bases: "p", attempts: 3, detail: "timeout: ", set: greeting(fakenet.StallHandshake)},
		{name: "silent", bases: "p", attempts: 3, conns: unknown, detail: "timeout: ", set: withJSON(instead(fakenet.Stall("")))},
		{name: "half a body", bases: "p", attempts: 3, conns: unknown, detail: "timeout: ", set: withJSON(instead(fakenet.Stall("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")))},
		{name: "API that is never there", bases: "ia", attempts: 3, conns: unknown, detail: "timeout: ", set: withAPI(instead(fakenet.Stall("")))},

		{name: "closed", bases: "p", attempts: 3, conns: unknown, detail: "reset: ", set: withJSON(instead(fakenet.Send("")))},
		{name: "reset", bases: "p", attempts: 3, conns: unknown, detail: "reset: ", set: withJSON(instead(fakenet.ResetAfter("")))},
		{name: "reset within the body", bases: "p", attempts: 3, conns: unknown, detail: "reset: ", set: withJSON(instead(fakenet.ResetAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")))},
		{name: "less than promised", bases: "p", attempts: 3, conns: unknown, detail: "reset: ", set: withJSON(instead(fakenet.WrongLength(100, "{}")))},
		{name: "half closed", bases: "p", attempts: 3, conns: unknown, detail: "reset: ", set: withJSON(instead(fakenet.HalfClose("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")))},

		{name: "garbage", bases: "p", attempts: 3, conns: unknown, detail: "protocol: ", set: withJSON(instead(fakenet.Send("what?\r\n\r\n")))},
		{name: "HTTP/2 without asking", bases: "p", attempts: 3, conns: unknown, detail: "protocol: ", set: withJSON(instead(fakenet.Send("HTTP/2.0 200 OK\r\n\r\n")))},
		{name: "two lengths", bases: "p", attempts: 3, conns: unknown, detail: "protocol: ", set: withJSON(instead(fakenet.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}")))},
		{name: "endless interim answers", bases: "p", attempts: 3, conns: unknown, detail: "protocol: ", set: withJSON(instead(fakenet.InterimFlood()))},
	}},
}

// inwards are names and addresses that lead into a private network.
func inwards() (kinds []kind) {
	for _, a := range []string{
		"127.0.0.1", "10.0.0.7", "172.16.0.7", "192.168.0.7", "169.254.169.254", "100.64.0.7", "0.0.0.0", "198.18.0.7", "203.0.113.7", "224.0.0.7", "240.0.0.7", "255.255.255.255",
		"::1", "::", "fd00::7", "fe80::7", "fec0::7", "ff02::7", "::ffff:10.0.0.7", "64:ff9b::a00:7", "64:ff9b:1::7", "2002:a00:7::", "2001::7", "2001:db8::7", "100::7", "3fff::7",
	} {
		addr := netip.MustParseAddr(a)
		kinds = append(kinds, kind{name: "a name for " + a, bases: "p", conns: none, set: answered(addresses(addr))})
	}
	for _, l := range [][2]string{ // the line, the host it means
		{"https://127.0.0.1/", "127.0.0.1"},
		{"https://0x7f.1/", "127.0.0.1"},
		{"https://017700000002/", "127.0.0.2"},
		{"2130706435", "127.0.0.3"},
		{"https://\uff11\uff12\uff17.0.0.4/", "127.0.0.4"},
		{"https://10.0.0.8", "10.0.0.8"},
		{"https://10.0.0.9\u3002/", "10.0.0.9"},
		{"https://192.168.1.1/agentic.json", "192.168.1.1"},
		{"https://169.254.169.254", "169.254.169.254"},
		{"https://[::1]", "[::1]"},
		{"https://[::ffff:10.0.0.8]/", "[::ffff:a00:8]"},
		{"https://[64:ff9b::192.168.1.1]", "[64:ff9b::c0a8:101]"},
		{"https://[fd00::8]", "[fd00::8]"},
		{"https://[fe80::8]", "[fe80::8]"},
		{"localhost", "localhost"},
		{"https://localhost./", "localhost."},
		{"https://db.localhost", "db.localhost"},
		{"printer.local", "printer.local"},
	} {
		kinds = append(kinds, kind{name: "line " + l[0], conns: none, lookups: none, set: func(s *setup) {
			s.unasked(l[0], "https://"+l[1]+"/agentic.json")
		}})
	}
	return kinds
}

// answered makes the DNS say something else; the host stays where it is, so
// that whoever finds it all the same gets a fine publication.
func answered(a fakenet.Answer) func(s *setup) { return func(s *setup) { s.answer(a) } }

func greeting(g fakenet.Greeting) func(s *setup) {
	return func(s *setup) { s.h.greets = []fakenet.Greeting{g} }
}

// unasked makes the site one that nobody must be asked for.
func (s *setup) unasked(line, target string) {
	s.drop(s.h.name)
	s.h, s.line, s.target = nil, line, target
}

// moved gives the name addresses at which nobody serves.
func (s *setup) moved(addrs ...netip.Addr) {
	s.h.addrs = addrs
	s.answer(addresses(addrs...))
}
