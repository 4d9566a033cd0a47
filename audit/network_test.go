package audit

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

// trouble is what goes wrong with a host before any file of it is read.
type trouble struct {
	name  string
	setUp func(w *world, s *fakenet.Site, addr string)
	// word is the outcome with its reason where the profile is on the host.
	word string
	// detail stands in the sentence about it; verdict is as [Judgement.verdict]
	// writes it.
	detail, verdict string
	took            time.Duration
}

const away = "unchecked unreachable"

func hostTroubles() []trouble {
	dns := func(answers ...fakenet.Answer) func(*world, *fakenet.Site, string) {
		return func(_ *world, s *fakenet.Site, _ string) { s.DNS(answers...) }
	}
	addrs := func(a ...string) func(*world, *fakenet.Site, string) { return dns(fakenet.Addresses(a...)) }
	failing := func(f fakenet.DNSFailure) func(*world, *fakenet.Site, string) {
		return dns(fakenet.Answer{Failure: f})
	}
	cert := func(k fakenet.CertKind) func(*world, *fakenet.Site, string) {
		return func(_ *world, s *fakenet.Site, _ string) { s.Certificate(k) }
	}
	greet := func(g fakenet.Greeting) func(*world, *fakenet.Site, string) {
		return func(_ *world, s *fakenet.Site, _ string) { s.Greet(g) }
	}
	address := func(m fakenet.AddrManner) func(*world, *fakenet.Site, string) {
		return func(w *world, _ *fakenet.Site, addr string) { w.Address(addr, m) }
	}
	const (
		fine    = "successful complete"
		gone    = "failed no-such-host"
		bad     = "failed bad-certificate"
		refused = "failed refused"
	)
	day := func(days int) string {
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days).Format(time.DateOnly)
	}
	return []trouble{
		// Names.
		{"NXDOMAIN", failing(fakenet.NXDomain), gone, "does not exist: the name servers do not know the name (NXDOMAIN)", "confirm definite", 0},
		{"no address", dns(fakenet.Answer{}), gone, "the name exists, but has no address", "confirm definite", 0},
		{"SERVFAIL", failing(fakenet.ServFail), away, "dns: the addresses of site.example could not be looked up: its name servers fail (SERVFAIL)", "trouble network", 0},
		{"REFUSED", failing(fakenet.RefusedQuery), away, "dns: the addresses of site.example could not be looked up: the name server refuses to answer (REFUSED)", "trouble network", 0},
		{"silent name server", failing(fakenet.Silence), away, "dns: the addresses of site.example could not be looked up within 5 seconds", "trouble network", 5 * time.Second},
		{"CNAME", func(w *world, s *fakenet.Site, _ string) {
			s.DNS(fakenet.Answer{Alias: "a.platform.example"})
			w.Site("a.platform.example").DNS(fakenet.Answer{Alias: "b.platform.example"})
			w.Site("b.platform.example")
		}, fine, "", "definite", 0},
		{"CNAME to nothing", dns(fakenet.Answer{Alias: "gone.platform.example"}), gone, "NXDOMAIN", "confirm definite", 0},
		{"CNAME to the inside", func(w *world, s *fakenet.Site, _ string) {
			s.DNS(fakenet.Answer{Alias: "in.platform.example"})
			w.Site("in.platform.example").DNS(fakenet.Addresses("192.168.7.7"))
		}, refused, "192.168.7.7, which is not a public address: it belongs to a private network (RFC 1918)", "definite", 0},
		{"CNAME in circles", func(w *world, s *fakenet.Site, _ string) {
			s.DNS(fakenet.Answer{Alias: "a.platform.example"})
			w.Site("a.platform.example").DNS(fakenet.Answer{Alias: s.Host()})
		}, away, "its chain of aliases (CNAME) is longer than 8 or runs in circles", "trouble network", 0},
		{"answers change to the inside", dns(fakenet.Addresses("20.0.9.1"), fakenet.Addresses("127.0.0.1")), fine, "", "definite", 0},
		{"answers change from the inside", dns(fakenet.Addresses("127.0.0.1"), fakenet.Addresses("20.0.9.1")), refused, "127.0.0.1, which is not a public address", "definite", 0},

		// Addresses.
		{"private", addrs("10.0.0.1"), refused, "site.example has the address 10.0.0.1, which is not a public address: it belongs to a private network (RFC 1918)", "definite", 0},
		{"public and private", addrs("20.0.9.1", "192.168.1.1"), refused, "ne of the 2 addresses of site.example is 192.168.1.1", "definite", 0},
		{"private and public", addrs("169.254.169.254", "20.0.9.1"), refused, "ne of the 2 addresses of site.example is 169.254.169.254", "definite", 0},
		{"public IPv4 and private IPv6", addrs("20.0.9.1", "fd00::1"), refused, "ne of the 2 addresses of site.example is fd00::1", "definite", 0},
		{"IPv6 only", addrs("2600::1"), fine, "", "definite", 0},
		{"IPv6 only, no way", func(w *world, s *fakenet.Site, _ string) {
			s.Addrs("2600::1")
			w.Address("2600::1", fakenet.Unreachable)
		}, away, "connect: site.example has IPv6 addresses only, and there is no way to them from here", "trouble network", 0},
		{"dead IPv6 beside live IPv4", func(w *world, s *fakenet.Site, _ string) {
			s.Addrs("20.0.9.1", "2600::1")
			w.Address("2600::1", fakenet.BlackHole)
		}, fine, "", "definite", 250 * time.Millisecond},
		{"dead IPv6, refusing IPv4", func(w *world, s *fakenet.Site, _ string) {
			s.Addrs("20.0.9.1", "2600::1")
			w.Address("2600::1", fakenet.Unreachable)
			w.Address("20.0.9.1", fakenet.RefuseConnect)
		}, away, "connect: site.example (20.0.9.1) refuses connections on port 443", "trouble network", 0},
		{"nothing listens", address(fakenet.RefuseConnect), away, "connect: site.example (ADDR) refuses connections on port 443", "trouble network", 0},
		{"black hole", address(fakenet.BlackHole), away, "connect: site.example (ADDR) did not accept a connection on port 443 within 8 seconds", "trouble network", 8 * time.Second},
		{"no route", address(fakenet.Unreachable), away, "connect: there is no way through the network to site.example", "trouble network", 0},
		{"slow to accept", address(fakenet.SlowConnect(7 * time.Second)), fine, "", "definite", 7 * time.Second},
		{"too slow to accept", address(fakenet.SlowConnect(9 * time.Second)), away, "connect: site.example (ADDR) did not accept a connection on port 443 within 8 seconds", "trouble network", 8 * time.Second},

		// TLS.
		{"expired", cert(fakenet.ExpiredCert), bad, "certificate of site.example expired on " + day(-30), "confirm definite", 0},
		{"not yet valid", cert(fakenet.EarlyCert), bad, "certificate of site.example is not valid before " + day(30), "confirm definite", 0},
		{"wrong host", cert(fakenet.WrongHostCert), bad, "certificate of site.example is for elsewhere.example, not for this host", "confirm definite", 0},
		{"self-signed", cert(fakenet.SelfSignedCert), bad, "certificate of site.example is signed by itself", "confirm definite", 0},
		{"unknown issuer", cert(fakenet.UnknownIssuerCert), bad, "comes from an issuer that is not trusted or not named completely", "confirm definite", 0},
		{"wants a certificate of ours", cert(fakenet.ClientCert), away, "tls: site.example ended the secure connection instead of answering: certificate required", "trouble", 0},
		{"plain HTTP on 443", greet(fakenet.PlainHTTP), away, "tls: site.example speaks unencrypted HTTP on port 443", "trouble", 0},
		{"garbage on 443", greet(fakenet.Garbage), away, "tls: what answers on port 443 of site.example is not a TLS server", "trouble", 0},
		{"handshake alert", greet(fakenet.HandshakeAlert), away, "tls: site.example broke off the TLS handshake: handshake failure", "trouble", 0},
		{"unknown name", greet(fakenet.UnknownNameAlert), away, "tls: site.example broke off the TLS handshake: unrecognized name", "trouble", 0},
		{"closed in the handshake", greet(fakenet.CloseHandshake), away, "tls: site.example closed the connection during the TLS handshake", "trouble", 0},
		{"reset in the handshake", greet(fakenet.ResetHandshake), away, "tls: site.example closed the connection during the TLS handshake", "trouble", 0},
		{"silent in the handshake", greet(fakenet.StallHandshake), away, "timeout: site.example accepted the connection but did not finish the TLS handshake within 8 seconds", "trouble network", 8 * time.Second},
	}
}

func TestTroubleOfTheHost(t *testing.T) {
	for _, c := range hostTroubles() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				w := newWorld(t, n, siteProfile(host), siteOpenAPI)
				addr := w.site.Address().String()
				c.setUp(w, w.site, addr)
				started := time.Now()
				j := w.audit(t, host, "", 1)
				if j.word() != c.word || j.verdict() != c.verdict {
					t.Errorf("%s (%s), want %s (%s): %s", j.word(), j.verdict(), c.word, c.verdict, j.Result.Detail)
				}
				detail := strings.ReplaceAll(c.detail, "ADDR", addr)
				kind, _, _ := strings.Cut(j.Result.Detail, ": ")
				if !strings.Contains(j.Result.Detail, detail) || c.word == away && !slices.Contains([]string{"dns", "connect", "tls", "timeout"}, kind) {
					t.Errorf("%q, want %q", j.Result.Detail, detail)
				}
				// What is true of the host is found out once, not once per file.
				if took := time.Since(started); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if c.word == "successful complete" {
					return
				}
				for _, e := range j.Result.Evidence {
					if e.Status != 0 || e.Error == "" || e.Message == "" || e.SHA256 != "" {
						t.Errorf("evidence of nothing: %+v", e)
					}
				}
				r := j.Result.Report
				if r.TextIndex.Status != "unavailable" || r.Readme.Status != "unavailable" || r.Structure != nil || r.Valid {
					t.Errorf("TXT %s, README %s, structure %v", r.TextIndex.Status, r.Readme.Status, r.Structure)
				}
			})
		})
	}
}

// A README elsewhere whose host is in trouble leaves the site partial, and is
// tried or confirmed like a profile.
func TestTroubleOfTheReadmeHost(t *testing.T) {
	for _, c := range hostTroubles() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				w := newWorld(t, n, siteProfile(host), siteOpenAPI)
				s := n.Site("raw.example").Static("/boats/README.md", 200, fakenet.PlainText, readmeFor(host))
				addr := s.Address().String()
				c.setUp(w, s, addr)
				j := w.audit(t, host, "https://raw.example/boats/README.md", 1)
				word, verdict := c.word, c.verdict
				if word != "successful complete" {
					word = "partial incomplete"
					verdict = strings.TrimSpace(strings.Replace(verdict, "network", "", 1))
					if !strings.Contains(verdict, "definite") {
						verdict += " definite"
					}
				}
				if j.word() != word || j.verdict() != verdict {
					t.Errorf("%s (%s), want %s (%s): %s", j.word(), j.verdict(), word, verdict, j.Result.Detail)
				}
				detail := strings.NewReplacer("ADDR", addr, "site.example", "raw.example").Replace(c.detail)
				if _, rest, ok := strings.Cut(detail, ": "); ok && strings.Contains(" dns connect tls timeout ", " "+detail[:len(detail)-len(rest)-2]+" ") {
					detail = rest
				}
				if !strings.Contains(j.detail("readme"), detail) {
					t.Errorf("%q, want %q", j.detail("readme"), detail)
				}
			})
		})
	}
}

// A negative first answer that a second attempt does not find again.
func TestNegativeAnswersAreConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.site.DNS(fakenet.Answer{Failure: fakenet.NXDomain}, fakenet.Addresses("20.0.9.1"))
		if j := w.audit(t, host, "", 1); j.word() != "failed no-such-host" || j.verdict() != "confirm definite" {
			t.Errorf("first: %s, %s", j.word(), j.verdict())
		}
		if j := w.audit(t, host, "", 2); j.word() != "successful complete" {
			t.Errorf("second: %s", j.word())
		}
		w.site.Certificate(fakenet.ExpiredCert)
		if j := w.audit(t, host, "", 1); j.word() != "failed bad-certificate" || j.verdict() != "confirm definite" {
			t.Errorf("third: %s, %s", j.word(), j.verdict())
		}
	})
}

// freshResolver records whether a cached answer would have been taken.
type freshResolver struct {
	fetch.Resolver
	fresh []bool
}

func (r *freshResolver) Lookup(ctx context.Context, host string, fresh bool) ([]netip.Addr, error) {
	r.fresh = append(r.fresh, fresh)
	return r.Resolver.Lookup(ctx, host, fresh)
}

func TestLaterAttemptsAskTheDNSAnew(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		newWorld(t, n, siteProfile(host), siteOpenAPI)
		r := &freshResolver{Resolver: n.Resolver()}
		a := Auditor{Client: n.Client(fetch.Config{Resolver: r})}
		target, _ := ParseTarget(host, "")
		for attempt := range 3 {
			if _, err := a.Audit(t.Context(), publicationOnly(target, attempt+1)); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.fresh) != 3 || r.fresh[0] || !r.fresh[1] || !r.fresh[2] {
			t.Errorf("one lookup for each attempt, fresh from the second on: %v", r.fresh)
		}
	})
}

// The site goes away after the profile was read: the documents decide and gave
// no answer.
func TestTheHostGoesAway(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		addr := w.site.Address().String()
		w.site.Path("/agentic.json", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			n.Address(addr, fakenet.RefuseConnect)
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set("Connection", "close")
			rw.Write([]byte(w.files["/agentic.json"]))
		}))
		j := w.audit(t, host, "", 1)
		if j.word() != "unchecked unreachable" || j.verdict() != "trouble" || !strings.HasPrefix(j.Result.Detail, "Document https://site.example/openapi.json: connect: ") {
			t.Errorf("%s (%s): %s", j.word(), j.verdict(), j.Result.Detail)
		}
		if r := j.Result.Report; r.TextIndex.Status != "unavailable" || r.Readme.Status != "unavailable" || !r.Structure.Valid || r.Valid {
			t.Errorf("TXT %s, README %s", r.TextIndex.Status, r.Readme.Status)
		}
	})
}

// A file that was read as README or text index is a document as well; the
// trouble with it counts and is tried again.
func TestTroubleWithASharedFile(t *testing.T) {
	for path, role := range map[string]string{"/agentic.txt": "agentic", "/README.md": "documentation"} {
		bubble(t, func(t *testing.T, n *fakenet.Net) {
			json := strings.Replace(siteProfile(host), `{"kind":"mcp"`, `{"kind":"`+role+`","url":"https://site.example`+path+`","source":"https://site.example/","availability":"retrieved"},{"kind":"mcp"`, 1)
			w := newWorld(t, n, json, siteOpenAPI)
			if j := w.audit(t, host, "", 1); j.word() != "successful complete" || n.Stats(host).Requests[path] != 1 {
				t.Fatalf("%s after %d reads: %s", j.word(), n.Stats(host).Requests[path], j.Result.Detail)
			}
			w.site.Path(path, fakenet.Limited(503, "20"))
			if j := w.audit(t, host, "", 1); j.word() != "unchecked server-error" || j.verdict() != "trouble 20s" || !strings.Contains(j.Result.Detail, path) {
				t.Errorf("%s: %s (%s): %s", path, j.word(), j.verdict(), j.Result.Detail)
			}
			w.site.Path(path, nil)
			if j := w.audit(t, host, "", 1); j.word() != "failed broken-document" || j.verdict() != "definite" {
				t.Errorf("%s: %s (%s): %s", path, j.word(), j.verdict(), j.Result.Detail)
			}
		})
	}
}

// Whatever was asked for: who answers 429 or 503 with Retry-After wants rest.
func TestRests(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.site.Path("/README.md", fakenet.Limited(429, "20"))
		w.site.Path("/agentic.txt", fakenet.Limited(503, "30"))
		if j := w.audit(t, host, "", 1); !slices.Equal(j.Verdict.Rests, []Rest{{"site.example", 30 * time.Second}}) {
			t.Errorf("%s: %v", j.word(), j.Verdict.Rests)
		}
		w.site.Path("/README.md", fakenet.Limited(404, "20"))
		w.site.Path("/agentic.txt", fakenet.Limited(429, ""))
		if j := w.audit(t, host, "", 1); len(j.Verdict.Rests) != 0 {
			t.Errorf("%s: %v", j.word(), j.Verdict.Rests)
		}
	})
}

// A host that was left alone has not answered: that is no verdict, and no news
// for others.
func TestHostLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		newWorld(t, n, siteProfile(host), siteOpenAPI)
		client := n.Client(fetch.Config{Admit: func(context.Context, string, []netip.Addr) (func(), error) {
			return nil, &fetch.RestError{For: time.Minute}
		}})
		target, err := ParseTarget(host, "")
		if err != nil {
			t.Fatal(err)
		}
		j, err := (&Auditor{Client: client}).Audit(t.Context(), Attempt{Target: target, Number: 1})
		if err != nil || j.word() != "unchecked blocked" || j.verdict() != "trouble 1m0s" || len(j.Verdict.Rests) != 0 || len(n.Dials()) != 0 {
			t.Fatalf("%s (%s) %v, %d connections, %v", j.word(), j.verdict(), j.Verdict.Rests, len(n.Dials()), err)
		}
		if !strings.Contains(j.Result.Detail, "Retry-After") || j.Result.AgentsVerdict != "unchecked" {
			t.Errorf("agents %s: %s", j.Result.AgentsVerdict, j.Result.Detail)
		}
	})
}

// A site that answers everything in the last moment cannot hold an audit for
// longer than its budget.
func TestTheBudgetOfAnAudit(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		json := siteProfile(host)
		for _, more := range []string{"a", "b", "c", "d", "e", "f"} {
			json = strings.Replace(json, `{"kind":"mcp"`, `{"kind":"documentation","url":"https://site.example/`+more+`","source":"https://site.example/","availability":"retrieved"},{"kind":"mcp"`, 1)
		}
		w := newWorld(t, n, json, siteOpenAPI)
		slow := func(body string) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				time.Sleep(7900 * time.Millisecond)
				rw.Header().Set("Content-Type", "application/json")
				rw.Write([]byte(body))
			})
		}
		w.site.Path("/README.md", nil).Path("/agentic.json", slow(json)).Path("/openapi.json", slow(siteOpenAPI)).Path("/agentic.txt", slow(w.files["/agentic.txt"])).Path("/guide", slow("x")).Handle(slow("x"))
		started := time.Now()
		j := w.audit(t, host, "", 1)
		if took := time.Since(started); took > Budget {
			t.Errorf("took %v", took)
		}
		if j.word() != "unchecked unreachable" || j.verdict() != "trouble" || !strings.Contains(j.Result.Detail, "the time for one audit was used up") {
			t.Errorf("%s (%s): %s", j.word(), j.verdict(), j.Result.Detail)
		}
		for _, c := range j.Result.Report.Checks {
			if c.ID == "limit" && c.Status == "warn" {
				return
			}
		}
		t.Error("no word of the documents beyond the limit")
	})
}

// The caller's patience is no finding about the site.
func TestACancelledAuditHasNoResult(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newWorld(t, n, siteProfile(host), siteOpenAPI)
		w.site.Path("/guide", fakenet.Stall(""))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		target, _ := ParseTarget(host, "")
		a := Auditor{Client: w.client()}
		if j, err := a.Audit(ctx, publicationOnly(target, 1)); err == nil || j.Result != nil {
			t.Errorf("%v, %v", j, err)
		}
	})
}

// Sizes at the limits of the files that the table of manners cannot pad
// without breaking them.
func TestGoodFilesAtTheirLimits(t *testing.T) {
	for _, c := range []struct {
		path   string
		action bool
		limit  int
		over   string // the outcome one byte over the limit
	}{
		{"/agentic.json", false, 65536, "failed refused"}, {"/agentic.json", true, 65536, "failed refused"},
		{"/README.md", false, 65536, "partial incomplete"}, {"/llms.txt", true, 65536, "successful complete"},
		{"/openapi.json", true, 262144, "failed api-mismatch"}, {"/openapi.json", false, 1048576, "failed api-mismatch"}, {"/guide", false, 1048576, "failed broken-document"},
	} {
		for over := -1; over <= 1; over++ {
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				json, openapi, want := siteProfile(host), siteOpenAPI, "successful complete"
				if c.action {
					json, openapi = actionProfile(host), actionOpenAPI
				}
				if over > 0 {
					want = c.over
				}
				w := newWorld(t, n, json, openapi)
				body := w.files[c.path]
				w.site.Static(c.path, 200, map[bool]http.Header{true: fakenet.JSON, false: fakenet.PlainText}[strings.HasSuffix(c.path, "json")], body+strings.Repeat("\n", c.limit+over-len(body)))
				j := w.audit(t, host, "", 1)
				if j.word() != want || j.verdict() != "definite" {
					t.Errorf("%s with %d bytes: %s (%s): %s", c.path, c.limit+over, j.word(), j.verdict(), j.Result.Detail)
				}
				for _, e := range j.Result.Evidence {
					if strings.HasSuffix(e.URL, c.path) && (over <= 0) != (e.Bytes == int64(c.limit+over) && e.Error == "") {
						t.Errorf("%s with %d bytes: %+v", c.path, c.limit+over, e)
					}
				}
			})
		}
	}
}

// A host that asks for rest when it is asked for the profile is asked for
// nothing else; other hosts are.
func TestNothingIsReadFromAHostThatWantsRest(t *testing.T) {
	for answer, more := range map[string]bool{"30": false, "": true, "0": true} {
		bubble(t, func(t *testing.T, n *fakenet.Net) {
			w := newWorld(t, n, siteProfile(host), siteOpenAPI)
			w.site.Path("/agentic.json", fakenet.Limited(429, answer))
			j := w.audit(t, host, "", 1)
			if j.word() != "unchecked blocked" || j.verdict() != map[bool]string{false: "trouble 30s", true: "trouble"}[more] {
				t.Errorf("Retry-After %q: %s (%s): %s", answer, j.word(), j.verdict(), j.Result.Detail)
			}
			asked := 0
			for _, times := range n.Stats(host).Requests {
				asked += times
			}
			if (asked > 1) != more {
				t.Errorf("Retry-After %q: %v", answer, n.Stats(host).Requests)
			}
		})
	}
}
