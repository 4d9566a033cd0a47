package fetch_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/publicip"
	"agentaudit/fetch/weburl"
)

// TestURLsThatLeadInside tries every spelling we know of a URL that a careless
// reader takes to a place inside. Each must be refused by the URL rules, or by
// the read, and none may make a connection.
func TestURLsThatLeadInside(t *testing.T) {
	urls := []string{
		// IPv4 in all its spellings.
		"https://127.0.0.1/", "https://127.1/", "https://127.0.1/", "https://0x7f.0.0.1/", "https://0x7f.1/", "https://0X7F000001/",
		"https://0177.0.0.1/", "https://017700000001/", "https://2130706433/", "https://127.0.0.1./", "https://127.1./", "https://0/",
		"https://0.0.0.0/", "https://00000000000/", "https://0x/", "https://127.0.0.0x1/", "https://127.255.255.254/",
		"https://10.0.0.1/", "https://167772161/", "https://0xa.1/", "https://012.1/", "https://172.16.0.1/", "https://192.168.0.1/", "https://3232235521/",
		"https://169.254.169.254/latest/meta-data/", "https://2852039166/", "https://0xa9fea9fe/", "https://0251.0376.0251.0376/",
		"https://100.64.0.1/", "https://198.18.0.1/", "https://192.0.2.1/", "https://224.0.0.1/", "https://255.255.255.255/", "https://4294967295/", "https://240.0.0.1/",
		"https://192.88.99.1/", "https://192.0.0.8/",
		// Digits that Unicode maps to ASCII, and full stops that are none.
		"https://１２７.０.０.１/", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/", "https://127．0．0．1/", "https://127｡0｡0｡1/", "https://%31%32%37.0.0.1/", "https://127%2e0%2e0%2e1/",
		// IPv6.
		"https://[::1]/", "https://[::]/", "https://[0:0:0:0:0:0:0:1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::ffff:8.8.8.8]/", "https://[::127.0.0.1]/", "https://[::7f00:1]/",
		"https://[64:ff9b::127.0.0.1]/", "https://[64:ff9b::8.8.8.8]/", "https://[64:ff9b:1::a00:1]/", "https://[2002:7f00:1::]/", "https://[2002:a00:1::1]/", "https://[2001::1]/",
		"https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[::1%25lo]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/", "https://[fec0::1]/", "https://[ff02::1]/", "https://[100::1]/",
		"https://[2001:db8::1]/", "https://[3fff::1]/", "https://[5f00::1]/", "https://[2001:10::1]/", "https://[2001:20::1]/", "https://[::ffff:0:127.0.0.1]/", "https://[4000::1]/",
		// Names of the machine and its network.
		"https://localhost/", "https://LOCALHOST/", "https://localhost./", "https://a.localhost/", "https://ｌocalhost/", "https://local\thost/", "https://local\nhost/", "https://loc\u00adalhost/",
		"https://printer.local/", "https://printer.local./", "https://local/",
		// Who is the host here?
		"https://site.example@127.0.0.1/", "https://127.0.0.1#@site.example/", "https://127.0.0.1\\@site.example/", "https://site.example:pw@127.0.0.1/", "https://127.0.0.1?@site.example/", "https:\\\\127.0.0.1\\", "https:127.0.0.1", "https:/127.0.0.1/", "https:////127.0.0.1/", "https://127.0.0.1:443/", "https://@127.0.0.1/", "https://%00127.0.0.1/", "https://127.0.0.1%00.site.example/", "https://127.0.0.1%20.site.example/", "https://127.0.0.1 .site.example/", "https://127.0.0.1\r\n.site.example/",
		// Other schemes and ports.
		"http://site.example/", "http://127.0.0.1/", "ftp://site.example/", "file:///etc/passwd", "file://site.example/etc/passwd", "gopher://127.0.0.1:6379/_INFO", "data:text/plain,x", "javascript:alert(1)", "blob:https://site.example/x", "ws://site.example/", "unix:///run/docker.sock", "https://site.example:22/", "https://site.example:80/", "https://site.example:6379/", "https://site.example:0/", "https://site.example:65535/", "https://user:secret@site.example/", "https://user@site.example/",
		// Names that no DNS can hold.
		"https://" + strings.Repeat("a", 64) + ".example/", "https://" + strings.Repeat("a.", 130) + "example/", "https://a..example/", "https://.example/", "https://site.example../", "https://a_b!.example/", "https://a*.example/",
		// Names whose address is inside.
		"https://inside.example/", "https://inside.example./", "https://INSIDE.example/", "https://ınside.example/", "https://127.0.0.1.nip.example/", "https://inside-alias.example/", "https://mixed.example/",
	}
	if len(urls) < 60 {
		t.Fatalf("only %d ways are tried", len(urls))
	}
	n := newNet(t, fakenet.Options{})
	n.Site("inside.example").DNS(fakenet.Addresses("10.1.2.3"))
	n.Site("127.0.0.1.nip.example").DNS(fakenet.Addresses("127.0.0.1"))
	n.Site("inside-alias.example").DNS(fakenet.Answer{Alias: "inside.example"})
	n.Site("mixed.example").DNS(fakenet.Addresses("20.0.0.77", "127.0.0.1"))
	client := n.Client(fetch.Config{})
	for _, raw := range urls {
		u, err := weburl.Parse(raw)
		if err != nil {
			continue
		}
		v := client.Visit()
		resp, err := v.Fetch(t.Context(), fetch.Request{URL: u, MaxBytes: 100})
		if k := fetch.KindOf(err); k != fetch.KindRefused && k != fetch.KindNoSuchHost {
			t.Errorf("%q (%s): %s", raw, u, outcome(resp, err))
		} else if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the sentence is unclean: %q", raw, err)
		}
		v.Close()
	}
	if d := n.Dials(); len(d) != 0 {
		t.Errorf("connections were tried: %v", d)
	}
}

// insideAddresses are one or more addresses of every kind that is not public.
var insideAddresses = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.9", "192.0.2.1",
	"192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::2", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:20.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::1400:1", "64:ff9b:1::1", "100::1", "100:0:0:1::1", "200::1", "2001::1", "2001:0:1::1",
	"2001:1::1", "2001:2::1", "2001:3::1", "2001:4:112::1", "2001:10::1", "2001:20::1", "2001:30::1", "2001:db8::1", "2002:7f00:1::1", "2002:1400:1::1", "2620:4f:8000::1", "3fff::1", "3ffe::1", "4000::1", "5f00::1", "8000::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%lo", "fec0::1", "ff02::1", "ff0e::1",
}

// TestAnswersThatLeadInside puts every such address into the DNS, alone and
// beside good ones in either order.
func TestAnswersThatLeadInside(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	client := n.Client(fetch.Config{})
	tried := 0
	for _, a := range insideAddresses {
		if a == "3ffe::1" {
			continue // once the 6bone, public unicast space today
		}
		for i, answer := range [][]string{{a}, {"20.0.0.1", "2600::1", a}, {a, "20.0.0.1"}} {
			host := fmt.Sprintf("s%d-%d.example", tried, i)
			tried++
			n.Site(host).DNS(fakenet.Addresses(answer...))
			v := client.Visit()
			resp, err := v.Fetch(t.Context(), request(t, "https://"+host+"/", 100))
			if e, ok := err.(*fetch.Error); !ok || e.Kind != fetch.KindRefused || e.Addr != addrPort(a) {
				t.Errorf("%v: %s", answer, outcome(resp, err))
			}
			if _, err := v.Resolve(t.Context(), host); fetch.KindOf(err) != fetch.KindRefused {
				t.Errorf("%v resolved: %v", answer, err)
			}
			v.Close()
		}
	}
	if d := n.Dials(); len(d) != 0 {
		t.Errorf("connections were tried: %v", d)
	}
}

// TestBothTablesRefuse checks that the second net at connect time would have
// caught each of them as well.
func TestBothTablesRefuse(t *testing.T) {
	for _, a := range insideAddresses {
		addr := addrPort(a)
		first, second := publicip.Check(addr.Addr()) != nil, fetch.Guard(addr) != nil
		if a == "3ffe::1" {
			if first || second {
				t.Errorf("%s is public unicast space: %v %v", a, first, second)
			}
			continue
		}
		if !first || !second {
			t.Errorf("%s: refused by ours %v, by the other %v", a, first, second)
		}
	}
	for _, port := range []uint16{0, 22, 80, 8443, 65535} {
		if fetch.Guard(addrPortOf("20.0.0.1", port)) == nil {
			t.Errorf("port %d", port)
		}
	}
}

// TestTheSocketItselfRefuses goes around all checks above the socket.
func TestTheSocketItselfRefuses(t *testing.T) {
	for _, a := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1%lo"} {
		c, err := fetch.DialKernel(t.Context(), addrPort(a))
		if err == nil {
			c.Close()
			t.Fatalf("connected to %s", a)
		}
		if !strings.Contains(err.Error(), "prohibited") {
			t.Errorf("%s: not refused by the check but by %v", a, err)
		}
	}
}

func TestRebinding(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	s := n.Site("site.example").DNS(fakenet.Addresses("20.0.0.5"), fakenet.Addresses("127.0.0.1"))
	s.Path("/closes", fakenet.Send(fakenet.Plain(200, "x")))
	client := n.Client(fetch.Config{})
	v := client.Visit()
	defer v.Close()
	for range 3 {
		// Each answer ends its connection, so each read makes a new one.
		if resp, err := v.Fetch(t.Context(), request(t, s.URL("/closes"), 100)); err != nil {
			t.Fatal(outcome(resp, err))
		}
	}
	if s.Lookups() != 1 {
		t.Errorf("%d lookups within a visit", s.Lookups())
	}
	for _, d := range n.Dials() {
		if d.Addr != addrPort("20.0.0.5") {
			t.Errorf("connected to %v", d)
		}
	}
	again := client.Visit()
	defer again.Close()
	if _, err := again.Fetch(t.Context(), request(t, s.URL("/closes"), 100)); fetch.KindOf(err) != fetch.KindRefused {
		t.Errorf("the next visit sees the new answer: %v", err)
	}
}

// TestAnswersLeadNowhere has a site name other places in all headers that
// clients are known to follow.
func TestAnswersLeadNowhere(t *testing.T) {
	n := newNet(t, fakenet.Options{})
	s := n.Site("site.example")
	places := []string{"https://127.0.0.1/", "http://169.254.169.254/", "https://other.example/", "//other.example/", `\\other.example\`, "/elsewhere", "https://site.example/elsewhere"}
	n.Site("other.example")
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	reads := 0
	for i, place := range places {
		for _, status := range []int{200, 201, 300, 301, 302, 303, 305, 307, 308, 401, 407, 421, 503} {
			path := fmt.Sprintf("/p%d-%d", i, status)
			s.Static(path, status, http.Header{
				"Location": {place}, "Content-Location": {place}, "Refresh": {"0; url=" + place}, "Link": {"<" + place + ">; rel=preload"},
				"Alt-Svc": {`h2="127.0.0.1:443"`}, "Set-Cookie": {"a=b"}, "Www-Authenticate": {"Negotiate"}, "Proxy-Authenticate": {"Basic"},
			}, "")
			_, err := v.Fetch(t.Context(), request(t, s.URL(path), 100))
			if (err == nil) != (status < 300 || status >= 400) {
				t.Errorf("%d to %s: %v", status, place, err)
			}
			reads++
		}
	}
	total := 0
	for _, c := range n.Stats("site.example").Requests {
		total += c
	}
	if total != reads || len(n.Dials()) != 1 || n.Stats("other.example").Connections != 0 {
		t.Errorf("%d requests for %d reads, connections %v", total, reads, n.Dials())
	}
}

func TestTheEnvironmentIsNotConsulted(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:3128")
	}
	n := newNet(t, fakenet.Options{})
	s := n.Site("site.example")
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	if resp, err := v.Fetch(t.Context(), request(t, s.URL("/"), 100)); err != nil {
		t.Error(outcome(resp, err))
	}
	if d := n.Dials(); len(d) != 1 || d[0].Addr.Addr() != s.Address() {
		t.Errorf("%v", d)
	}
}
