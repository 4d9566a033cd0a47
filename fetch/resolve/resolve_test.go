package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/resolve"
)

// setUp makes a fake internet with a name server and a resolver that asks it.
// Servers that are silent cost an attempt each, so attempts are short.
func setUp(t *testing.T, cfg resolve.Config) (*fakenet.Net, *resolve.Resolver) {
	t.Helper()
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	cfg.Servers = append(cfg.Servers, n.DNSServer())
	return n, resolve.New(cfg)
}

func list(addrs []netip.Addr) string {
	words := make([]string, len(addrs))
	for i, a := range addrs {
		words[i] = a.String()
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(n *fakenet.Net)
		want  string // addresses
		// attempt is short only where a server is silent
		attempt, lookup time.Duration
		// or an error
		notFound bool
		detail   string
	}{
		{name: "both families",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Addresses("20.0.0.9", "2600::9")) },
			want:  "20.0.0.9 2600::9"},
		{name: "private addresses are no business of the resolver",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Addresses("10.0.0.1", "::1")) },
			want:  "10.0.0.1 ::1"},
		{name: "a mapped address keeps its form",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Addresses("::ffff:20.0.0.9")) },
			want:  "::ffff:20.0.0.9"},
		{name: "only IPv6",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Addresses("2600::9")) }, want: "2600::9"},
		{name: "unknown name", setUp: func(*fakenet.Net) {}, notFound: true, detail: "NXDOMAIN"},
		{name: "name without address",
			setUp:    func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Answer{}) },
			notFound: true, detail: "no address"},
		{name: "alias", setUp: func(n *fakenet.Net) { chain(n, 1, false) }, want: "20.0.0.9"},
		{name: "eight aliases", setUp: func(n *fakenet.Net) { chain(n, 8, false) }, want: "20.0.0.9"},
		{name: "nine aliases", setUp: func(n *fakenet.Net) { chain(n, 9, false) }, detail: "longer than 8"},
		{name: "aliases that have to be asked for one by one", setUp: func(n *fakenet.Net) { chain(n, 8, true) }, want: "20.0.0.9"},
		{name: "nine such aliases", setUp: func(n *fakenet.Net) { chain(n, 9, true) }, detail: "longer than 8"},
		{name: "aliases in a circle",
			setUp: func(n *fakenet.Net) {
				n.Site("a.example").DNS(fakenet.Answer{Alias: "b.example"})
				n.Site("b.example").DNS(fakenet.Answer{Alias: "a.example"})
			}, detail: "in circles"},
		{name: "alias of itself",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Answer{Alias: "a.example", Partial: true}) }, detail: "in circles"},
		{name: "alias of a name that does not exist",
			setUp:    func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Answer{Alias: "gone.example"}) },
			notFound: true, detail: "NXDOMAIN"},
		{name: "alias of a name without address",
			setUp: func(n *fakenet.Net) {
				n.Site("a.example").DNS(fakenet.Answer{Alias: "b.example"})
				n.Site("b.example").DNS(fakenet.Answer{})
			}, notFound: true, detail: "no address"},
		{name: "SERVFAIL",
			setUp:  func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Answer{Failure: fakenet.ServFail}) },
			detail: "SERVFAIL"},
		{name: "REFUSED",
			setUp:  func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Answer{Failure: fakenet.RefusedQuery}) },
			detail: "REFUSED"},
		{name: "silence",
			setUp:  func(n *fakenet.Net) { n.Site("a.example").DNS(fakenet.Answer{Failure: fakenet.Silence}) },
			detail: "did not answer in time", attempt: 20 * time.Millisecond},
		{name: "SERVFAIL once",
			setUp: func(n *fakenet.Net) {
				n.Site("a.example").DNS(fakenet.Answer{Failure: fakenet.ServFail}, fakenet.Addresses("20.0.0.9"))
			}, want: "20.0.0.9"},
		{name: "a lost packet",
			setUp: func(n *fakenet.Net) {
				n.Site("a.example").DNS(fakenet.Answer{Failure: fakenet.Silence}, fakenet.Addresses("20.0.0.9"))
			}, want: "20.0.0.9", attempt: 400 * time.Millisecond},
		{name: "SERVFAIL for AAAA beside an address",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(failing(fakenet.ServFail, "AAAA", "20.0.0.9")) }, want: "20.0.0.9"},
		{name: "SERVFAIL for A beside an address",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(failing(fakenet.ServFail, "A", "2600::9")) }, want: "2600::9"},
		{name: "SERVFAIL for AAAA and no A settles nothing",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(failing(fakenet.ServFail, "AAAA")) }, detail: "SERVFAIL"},
		{name: "silence for AAAA beside an address",
			setUp: func(n *fakenet.Net) { n.Site("a.example").DNS(failing(fakenet.Silence, "AAAA", "20.0.0.9")) }, want: "20.0.0.9", lookup: 400 * time.Millisecond},
		{name: "NXDOMAIN speaks for both families",
			setUp:    func(n *fakenet.Net) { n.Site("a.example").DNS(failing(fakenet.NXDomain, "A")) },
			notFound: true, detail: "NXDOMAIN"},
		{name: "an answer too big for UDP",
			setUp: func(n *fakenet.Net) {
				a := fakenet.Addresses("20.0.0.9", "2600::9")
				a.Truncated = true
				n.Site("a.example").DNS(a)
			}, want: "20.0.0.9 2600::9"},
		{name: "forged answers come first",
			setUp: func(n *fakenet.Net) {
				a := fakenet.Addresses("20.0.0.9")
				a.Forged = true
				n.Site("a.example").DNS(a)
			}, want: "20.0.0.9"},
		{name: "a server from before EDNS",
			setUp: func(n *fakenet.Net) {
				a := fakenet.Addresses("20.0.0.9")
				a.NoEDNS = true
				n.Site("a.example").DNS(a)
			}, want: "20.0.0.9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, r := setUp(t, resolve.Config{Attempt: c.attempt, Lookup: c.lookup})
			c.setUp(n)
			addrs, err := r.Lookup(t.Context(), "a.example", false)
			if got := list(addrs); got != c.want {
				t.Errorf("addresses %q, want %q (%v)", got, c.want, err)
			}
			re, isError := errors.AsType[*resolve.Error](err)
			if c.detail == "" {
				if err != nil {
					t.Errorf("unexpected: %v", err)
				}
				return
			}
			if !isError || re.NotFound != c.notFound || !strings.Contains(re.Detail, c.detail) || re.Host != "a.example" {
				t.Errorf("got %#v, want NotFound %v and %q", err, c.notFound, c.detail)
			}
		})
	}
}

// chain makes a.example an alias over n names of the one that has an address.
func chain(n *fakenet.Net, aliases int, partial bool) {
	name := func(i int) string {
		if i == 0 {
			return "a.example"
		}
		return fmt.Sprintf("n%d.example", i)
	}
	for i := range aliases {
		n.Site(name(i)).DNS(fakenet.Answer{Alias: name(i + 1), Partial: partial})
	}
	n.Site(name(aliases)).DNS(fakenet.Addresses("20.0.0.9"))
}

func failing(f fakenet.DNSFailure, family string, addrs ...string) fakenet.Answer {
	a := fakenet.Addresses(addrs...)
	a.Failure, a.FailureOf = f, family
	return a
}

func TestASilentServerIsPassedOver(t *testing.T) {
	silent := fakenet.New(fakenet.Options{})
	t.Cleanup(silent.Close)
	silent.Site("a.example").DNS(fakenet.Answer{Failure: fakenet.Silence})
	n, r := setUp(t, resolve.Config{Servers: []string{silent.DNSServer()}, Attempt: 400 * time.Millisecond})
	n.Site("a.example").DNS(fakenet.Addresses("20.0.0.9"))
	addrs, err := r.Lookup(t.Context(), "a.example", false)
	if err != nil || list(addrs) != "20.0.0.9" {
		t.Fatal(addrs, err)
	}
	if q := silent.Site("a.example").Queries("A"); q != 1 {
		t.Errorf("the silent server was asked %d times", q)
	}
}

func TestHowLongAnswersAreKept(t *testing.T) {
	n, r := setUp(t, resolve.Config{})
	ttl := func(seconds uint32, addrs ...string) fakenet.Answer {
		a := fakenet.Addresses(addrs...)
		a.TTL = seconds
		return a
	}
	n.Site("short.example").DNS(ttl(1, "20.0.0.9"))
	n.Site("middle.example").DNS(ttl(100, "20.0.0.9"))
	n.Site("long.example").DNS(ttl(86400, "20.0.0.9", "2600::9"))
	n.Site("empty.example").DNS(ttl(20))
	n.Site("empty-long.example").DNS(ttl(3000))
	n.Site("no-soa.example").DNS(fakenet.Answer{NoSOA: true})
	n.Site("gone.example").DNS(fakenet.Answer{Failure: fakenet.NXDomain, TTL: 30})
	n.Site("broken.example").DNS(fakenet.Answer{Failure: fakenet.ServFail})
	for host, want := range map[string]time.Duration{
		"short.example":      10 * time.Second,
		"middle.example":     100 * time.Second,
		"long.example":       10 * time.Minute,
		"empty.example":      20 * time.Second,
		"empty-long.example": time.Minute,
		"no-soa.example":     0,
		"gone.example":       30 * time.Second,
		"unknown.example":    time.Minute,
		"broken.example":     0,
	} {
		if _, life, _ := r.Ask(t.Context(), host); life != want {
			t.Errorf("%s is kept for %v, want %v", host, life, want)
		}
	}
}

func TestCacheAndItsBypass(t *testing.T) {
	n, r := setUp(t, resolve.Config{})
	s := n.Site("a.example").DNS(fakenet.Addresses("20.0.0.9"), fakenet.Addresses("20.0.0.10"))
	lookup := func(host string, fresh bool) string {
		t.Helper()
		addrs, err := r.Lookup(t.Context(), host, fresh)
		if err != nil {
			t.Fatal(err)
		}
		return list(addrs)
	}
	if got := lookup("a.example", false) + " " + lookup("A.Example.", false); got != "20.0.0.9 20.0.0.9" {
		t.Error(got)
	}
	if got := lookup("a.example", true) + " " + lookup("a.example", false); got != "20.0.0.10 20.0.0.10" {
		t.Error("a fresh lookup asks again, and the cache keeps its answer:", got)
	}
	if s.Queries("A") != 2 || s.Queries("AAAA") != 2 {
		t.Error(s.Queries("A"), s.Queries("AAAA"))
	}
	gone := n.Site("gone.example").DNS(fakenet.Answer{Failure: fakenet.NXDomain})
	for range 3 {
		if _, err := r.Lookup(t.Context(), "gone.example", false); err == nil {
			t.Error("found")
		}
	}
	if gone.Queries("A") != 1 {
		t.Error("a negative answer is kept too")
	}
}

func TestCallersOwnTheirAddresses(t *testing.T) {
	n, r := setUp(t, resolve.Config{})
	n.Site("a.example").DNS(fakenet.Addresses("20.0.0.9"))
	for range 2 {
		addrs, err := r.Lookup(t.Context(), "a.example", false)
		if err != nil || list(addrs) != "20.0.0.9" {
			t.Fatal(addrs, err)
		}
		addrs[0] = netip.MustParseAddr("127.0.0.1")
	}
}

func TestManyLookupsOfOneNameAreOne(t *testing.T) {
	n, r := setUp(t, resolve.Config{})
	s := n.Site("a.example").DNS(fakenet.Addresses("20.0.0.9"))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := r.Lookup(t.Context(), "a.example", false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s.Queries("A") != 1 {
		t.Errorf("%d queries", s.Queries("A"))
	}
}

func TestOneCallerLeavingDoesNotSpoilTheLookup(t *testing.T) {
	n, r := setUp(t, resolve.Config{})
	n.Site("a.example").DNS(fakenet.Addresses("20.0.0.9"))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Lookup(gone, "a.example", false); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if addrs, err := r.Lookup(t.Context(), "a.example", false); err != nil || list(addrs) != "20.0.0.9" {
		t.Error(addrs, err)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	n, r := setUp(t, resolve.Config{Entries: 3, Queries: 1})
	for i := range 10 {
		host := fmt.Sprintf("s%d.example", i)
		n.Site(host)
		if _, err := r.Lookup(t.Context(), host, false); err != nil {
			t.Fatal(err)
		}
	}
	if r.Cached() != 3 {
		t.Errorf("%d entries", r.Cached())
	}
	r.Lookup(t.Context(), "s9.example", false)
	if q := n.Site("s9.example").Queries("A"); q != 1 {
		t.Error("the most recent answer was dropped")
	}
}

func TestServersOfResolvConf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "resolv.conf")
		r := resolve.New(resolve.Config{ConfPath: path})
		check := func(want string) {
			t.Helper()
			servers, err := r.Servers()
			if got := fmt.Sprint(servers, err); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			time.Sleep(6 * time.Second)
		}
		write := func(text string, at int64) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
				t.Fatal(err)
			}
		}
		check("[] <nil>") // no such file: the system's own way
		write("nameserver 192.0.2.1\nsearch corp.example\n", 1)
		check("[192.0.2.1:53] <nil>")
		write("nameserver 192.0.2.1\nnameserver 2001:db8::1\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n", 2)
		check("[192.0.2.1:53 [2001:db8::1]:53 192.0.2.3:53] <nil>")
		write("search corp.example\n", 3)
		check("[] " + path + ": it names no server")
		os.Remove(path)
		check("[] <nil>")
	})
}

func TestNothingListens(t *testing.T) {
	r := resolve.New(resolve.Config{Servers: []string{"127.0.0.1:1"}})
	_, err := r.Lookup(t.Context(), "a.example", false)
	if re, ok := errors.AsType[*resolve.Error](err); !ok || re.NotFound || re.Err == nil {
		t.Errorf("%#v", err)
	}
}
