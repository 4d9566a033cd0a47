package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

// leads are spellings of places inside, of other services than web servers on
// the public port, and of a public host that nobody asked for (other.example).
// Whoever writes them, nothing may come of it but a refusal.
var leads = []string{
	// IPv4 in all its spellings.
	"https://127.0.0.1/", "https://127.1/", "https://0x7f.0.0.1/", "https://0x7f.1/", "https://0X7F000001/", "https://0177.0.0.1/", "https://017700000001/",
	"https://2130706433/", "https://127.0.0.1./", "https://127.1./", "https://0/", "https://0.0.0.0/", "https://0x/", "https://10.0.0.1/", "https://167772161/",
	"https://172.16.0.1/", "https://192.168.0.1/", "https://169.254.169.254/latest/meta-data/", "https://2852039166/", "https://0xa9fea9fe/", "https://0251.0376.0251.0376/",
	"https://100.64.0.1/", "https://198.18.0.1/", "https://192.0.2.1/", "https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/", "https://192.88.99.1/",
	// Digits and full stops that Unicode maps to ASCII.
	"https://１２７.０.０.１/", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/", "https://127．0．0．1/", "https://%31%32%37.0.0.1/", "https://127%2e0%2e0%2e1/",
	// IPv6, with IPv4 inside it in every way.
	"https://[::1]/", "https://[::]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::127.0.0.1]/", "https://[64:ff9b::127.0.0.1]/", "https://[64:ff9b:1::a00:1]/",
	"https://[2002:7f00:1::]/", "https://[2001::1]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/",
	"https://[fec0::1]/", "https://[ff02::1]/", "https://[100::1]/", "https://[2001:db8::1]/", "https://[3fff::1]/", "https://[5f00::1]/", "https://[::ffff:20.0.0.1]/",
	// Names of the machine and its network.
	"https://localhost/", "https://LOCALHOST./", "https://a.localhost/", "https://ｌocalhost/", "https://local\thost/", "https://local\nhost/", "https://loc\u00adalhost/", "https://printer.local/", "https://printer.local./",
	// Who is the host?
	"https://site.example@127.0.0.1/", "https://site.example:pw@127.0.0.1/", "https://127.0.0.1\\@site.example/", "https:\\\\127.0.0.1\\", "https:127.0.0.1", "https:/127.0.0.1/", "https:////127.0.0.1/",
	"https://@127.0.0.1/", "https://127.0.0.1:443/", "\thttps://127.0.0.1/", "ht\ntps://127.0.0.1/", "https://127.0.0.1\r\n/", "//127.0.0.1/", "\\\\127.0.0.1\\", "/\\127.0.0.1",
	// Other schemes and ports.
	"http://site.example/", "http://127.0.0.1/", "ftp://site.example/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "data:application/json,{}", "javascript:alert(1)",
	"ws://site.example/", "unix:///run/docker.sock", "https://site.example:22/", "https://site.example:80/", "https://site.example:8443/", "https://user:secret@site.example/",
	// Names whose address is inside, alone or among others.
	"https://inside.example/", "https://inside.example./", "https://INSIDE.example/", "https://127.0.0.1.nip.example/", "https://alias.example/", "https://mixed.example/", "https://mapped.example/", "https://nat64.example/",
}

// others is a public place that is only to be read by who was asked to.
var others = []string{"https://other.example/", "//other.example/x", "https:\\\\other.example\\x", "https://site.example.other.example/", "https://other.example./"}

// watchedNet is a fake internet with names that lead inside, whose lookups
// are recorded.
type watchedNet struct {
	*fakenet.Net
	mu    sync.Mutex
	asked []string
}

func (w *watchedNet) Lookup(ctx context.Context, host string, fresh bool) ([]netip.Addr, error) {
	w.mu.Lock()
	w.asked = append(w.asked, host)
	w.mu.Unlock()
	return w.Resolver().Lookup(ctx, host, fresh)
}

func watched(t *testing.T) *watchedNet {
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	n.Site("inside.example").DNS(fakenet.Addresses("10.1.2.3"))
	n.Site("127.0.0.1.nip.example").DNS(fakenet.Addresses("127.0.0.1"))
	n.Site("alias.example").DNS(fakenet.Answer{Alias: "inside.example"})
	n.Site("mixed.example").DNS(fakenet.Addresses("20.0.9.9", "127.0.0.1"))
	n.Site("mapped.example").DNS(fakenet.Addresses("::ffff:20.0.9.9"))
	n.Site("nat64.example").DNS(fakenet.Addresses("64:ff9b::1400:909"))
	n.Site("other.example")
	n.Site("site.example.other.example")
	return &watchedNet{Net: n}
}

// audit audits a target, or returns the error that refused it, and forgets the
// dials and lookups of earlier audits.
func (w *watchedNet) audit(t *testing.T, input, readme string) (*Judgement, []fakenet.Dial, error) {
	t.Helper()
	target, err := ParseTarget(input, readme)
	if err != nil {
		return nil, nil, err
	}
	w.asked = nil
	before := len(w.Dials())
	a := Auditor{Client: w.Client(fetch.Config{Resolver: w})}
	j, err := a.Audit(t.Context(), publicationOnly(target, 1))
	if err != nil {
		t.Fatal(err)
	}
	checkInvariants(t, j.Result)
	for _, d := range w.Dials()[before:] {
		if d.Refused != nil || d.Addr.Port() != 443 {
			t.Errorf("%q, README %q: forbidden dial %v", input, readme, d)
		}
	}
	return &j, w.Dials()[before:], nil
}

func TestNoTargetLeadsInside(t *testing.T) {
	w := watched(t)
	w.Site(host)
	ways := 0
	for _, lead := range leads {
		for _, suffix := range []string{"", "agentic.json", "deep/agentic.json"} {
			ways++
			j, dials, err := w.audit(t, lead+suffix, "")
			// A name may become part of another, public one; that is no way in.
			if err == nil && (j.Result.Outcome != "failed" || j.Result.Reason != "refused" && j.Result.Reason != "no-such-host") {
				t.Errorf("%q: %s: %s", lead+suffix, j.word(), j.Result.Detail)
			}
			if len(dials) > 0 {
				t.Errorf("%q: dialled %v", lead+suffix, dials)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || strings.ContainsAny(err.Error(), "\r\n\t")) {
				t.Errorf("%q: unclean error %q", lead, err)
			}
		}
	}
	if ways < 60 {
		t.Fatalf("only %d ways", ways)
	}
}

// A backslash is a slash: this one only looks as if it led inside.
func TestABackslashEndsTheHost(t *testing.T) {
	w := watched(t)
	site := w.Site(host)
	j, dials, err := w.audit(t, "https://site.example\\@127.0.0.1/agentic.json", "")
	if err != nil || len(dials) != 1 || dials[0].Addr.Addr() != site.Address() || j.Result.Report.ProfileURL != "https://site.example/@127.0.0.1/agentic.json" {
		t.Errorf("%v, %v", err, dials)
	}
}

func TestNoReadmeURLLeadsInside(t *testing.T) {
	w := watched(t)
	good := newWorld(t, w.Net, siteProfile(host), siteOpenAPI)
	for _, lead := range leads {
		for _, suffix := range []string{"", "README.md"} {
			j, dials, err := w.audit(t, host, lead+suffix)
			if err != nil {
				continue
			}
			if len(dials) != 1 || dials[0].Addr.Addr() != good.site.Address() {
				t.Errorf("%q: dialled %v", lead+suffix, dials)
			}
			if s := j.Result.Report.Readme.Status; s != "unavailable" {
				t.Errorf("%q: README is %s", lead+suffix, s)
			}
		}
	}
}

// onlyTheSite fails unless an audit dialled the site once, looked up its name
// alone, and asked for nothing but the paths named.
func (w *watchedNet) onlyTheSite(t *testing.T, what string, site *fakenet.Site, dials []fakenet.Dial, allowed ...string) {
	t.Helper()
	if len(dials) != 1 || dials[0].Addr != netip.AddrPortFrom(site.Address(), 443) {
		t.Errorf("%s: dialled %v", what, dials)
	}
	if !slices.Equal(w.asked, []string{site.Host()}) {
		t.Errorf("%s: looked up %q", what, w.asked)
	}
	total := 0
	for path, n := range w.Stats(site.Host()).Requests {
		total += n
		if !slices.Contains(allowed, path) {
			t.Errorf("%s: asked for %q", what, path)
		}
	}
	if total > 10 {
		t.Errorf("%s: %d requests", what, total)
	}
	for _, other := range []string{"other.example", "site.example.other.example"} {
		if n := w.Stats(other).Connections; n != 0 {
			t.Errorf("%s: %d connections to %s", what, n, other)
		}
	}
}

var usualPaths = []string{"/agentic.json", "/agentic.txt", "/README.md", "/readme.md", "/openapi.json", "/guide", "/llms.txt"}

// way is a publication on a host of its own, so that requests can be told
// apart.
func (w *watchedNet) way(t *testing.T, i int, profile func(host string) string, openapi string) *world {
	name := fmt.Sprintf("s%d.example", i)
	site := w.Site(name)
	json := profile(name)
	site.Static("/agentic.json", 200, fakenet.JSON, json).Static("/openapi.json", 200, fakenet.JSON, openapi).
		Static("/README.md", 200, fakenet.Markdown, readmeFor(name)).Static("/guide", 200, fakenet.HTML, "x").Static("/agentic.txt", 200, fakenet.PlainText, "x").
		Static("/llms.txt", 200, fakenet.PlainText, "x")
	return &world{Net: w.Net, site: site}
}

func TestNoRedirectLeadsAnywhere(t *testing.T) {
	w := watched(t)
	i := 0
	for _, lead := range append(slices.Clone(leads), others...) {
		lead = strings.NewReplacer("\r", "%0d", "\n", "%0a", "\t", "%09").Replace(lead)
		paths := []string{"/agentic.json", "/agentic.txt", "/README.md", "/openapi.json", "/guide"}
		for _, path := range []string{paths[i%5], paths[(i+2)%5]} {
			i++
			v := w.way(t, i, siteProfile, siteOpenAPI)
			v.site.Path(path, fakenet.Reply([]int{301, 302, 303, 305, 307, 308}[i%6], http.Header{
				"Location": {lead}, "Refresh": {"0; url=" + lead}, "Link": {"<" + lead + ">; rel=canonical"}, "Content-Location": {lead}, "Alt-Svc": {`h2="127.0.0.1:443"`},
			}, ""))
			j, dials, err := w.audit(t, v.site.Host(), "")
			if err != nil {
				t.Fatal(err)
			}
			w.onlyTheSite(t, fmt.Sprintf("%s to %q", path, lead), v.site, dials, usualPaths...)
			if j.Result.Outcome == "successful" {
				t.Errorf("%s to %q: %s", path, lead, j.word())
			}
		}
	}
}

// quoted puts a lead into a JSON text.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestNoProfileMemberLeadsAnywhere(t *testing.T) {
	w := watched(t)
	i := 0
	for _, lead := range append(slices.Clone(leads), others...) {
		q := quoted(lead)
		resource := func(member string) func(string) string {
			return func(host string) string {
				r := map[string]string{"kind": `"openapi"`, "url": `"https://` + host + `/guide"`, "source": `"https://` + host + `/"`, "availability": `"retrieved"`}
				r[member] = q
				return strings.Replace(siteProfile(host), `{"kind":"mcp"`, fmt.Sprintf(`{"kind":%s,"url":%s,"source":%s,"availability":%s},{"kind":"mcp"`, r["kind"], r["url"], r["source"], r["availability"]), 1)
			}
		}
		replace := func(of func(string, ...string) string, old, new string) func(string) string {
			return func(host string) string {
				return strings.Replace(of(host), strings.ReplaceAll(old, "HOST", host), new, 1)
			}
		}
		site := func(host string, _ ...string) string { return siteProfile(host) }
		for what, profile := range map[string]func(string) string{
			"resources.url":    resource("url"),
			"resources.source": resource("source"),
			"apis.document":    replace(site, `"document":"https://HOST/openapi.json"`, `"document":`+q),
			"apis.document, twice": func(host string) string {
				return strings.ReplaceAll(siteProfile(host), `"https://`+host+`/openapi.json"`, q)
			},
			"site origin":        replace(site, `"origin":"https://HOST"`, `"origin":`+q),
			"site $schema":       replace(site, `{`, `{"$schema":`+q+`,`),
			"action $schema":     replace(actionProfile, `{`, `{"$schema":`+q+`,`),
			"action origin":      replace(actionProfile, `"origin":"https://HOST"`, `"origin":`+q),
			"openapi":            replace(actionProfile, `"openapi":"/openapi.json"`, `"openapi":`+q),
			"openapi, slash":     replace(actionProfile, `"openapi":"/openapi.json"`, `"openapi":`+quoted("/"+lead)),
			"openapi, backslash": replace(actionProfile, `"openapi":"/openapi.json"`, `"openapi":`+quoted(`\`+lead)),
			"openapi, tab":       replace(actionProfile, `"openapi":"/openapi.json"`, `"openapi":`+quoted("/\t"+strings.TrimPrefix(lead, "https:"))),
			"openapi, newline":   replace(actionProfile, `"openapi":"/openapi.json"`, `"openapi":`+quoted("\n"+strings.TrimPrefix(lead, "https:"))),
			"openapi, dots":      replace(actionProfile, `"openapi":"/openapi.json"`, `"openapi":`+quoted("/.."+strings.TrimPrefix(lead, "https:"))),
		} {
			i++
			v := w.way(t, i, profile, siteOpenAPI)
			if strings.HasPrefix(what, "openapi") || strings.HasPrefix(what, "action") {
				v.site.Static("/openapi.json", 200, fakenet.JSON, actionOpenAPI)
			}
			_, dials, err := w.audit(t, v.site.Host(), "")
			if err != nil {
				t.Fatal(err)
			}
			// Some leads are plain paths of the site itself when they stand
			// behind a slash; those may be asked for, there.
			allowed := slices.Clone(usualPaths)
			if what == "openapi, slash" || what == "openapi, dots" || what == "resources.url" || strings.HasPrefix(what, "apis") {
				for path := range w.Stats(v.site.Host()).Requests {
					allowed = append(allowed, path)
				}
			}
			w.onlyTheSite(t, fmt.Sprintf("%s: %q", what, lead), v.site, dials, allowed...)
		}
	}
	if i < 60 {
		t.Fatalf("only %d ways", i)
	}
}

// A document full of references, in every place where OpenAPI has one.
func TestNoDocumentLeadsAnywhere(t *testing.T) {
	w := watched(t)
	for i, lead := range append(slices.Clone(leads), others...) {
		q := quoted(lead)
		openapi := siteOpenAPI
		for _, change := range [][2]string{
			{`"paths":{`, `"servers":[{"url":` + q + `}],"externalDocs":{"url":` + q + `},"$schema":` + q + `,"jsonSchemaDialect":` + q + `,"$id":` + q + `,
"components":{"schemas":{"a":{"$ref":` + q + `}},"securitySchemes":{"a":{"type":"openIdConnect","openIdConnectUrl":` + q + `}}},"paths":{"/ref":{"$ref":` + q + `},` + q + `:{"get":{"callbacks":{"a":{` + q + `:{}}}}},`},
			{`"/boats":{`, `"/boats":{"servers":[{"url":` + q + `}],`},
			{`"operationId":"listBoats"`, `"operationId":"listBoats","servers":[{"url":` + q + `}],"parameters":[{"$ref":` + q + `}],"requestBody":{"$ref":` + q + `}`},
			{`"title":"Boats"`, `"title":"Boats","termsOfService":` + q + `,"contact":{"url":` + q + `}`},
		} {
			if !strings.Contains(openapi, change[0]) {
				t.Fatal(change[0])
			}
			openapi = strings.Replace(openapi, change[0], change[1], 1)
		}
		for k, profile := range []func(string) string{siteProfile, func(host string) string { return actionProfile(host) }} {
			v := w.way(t, 2*i+k, profile, openapi)
			j, dials, err := w.audit(t, v.site.Host(), "")
			if err != nil {
				t.Fatal(err)
			}
			w.onlyTheSite(t, lead, v.site, dials, usualPaths...)
			if !j.Result.Report.Structure.Valid {
				t.Errorf("%q: the profile was good", lead)
			}
		}
	}
}

func TestNoTextLeadsAnywhere(t *testing.T) {
	w := watched(t)
	for i, lead := range append(slices.Clone(leads), others...) {
		v := w.way(t, i, siteProfile, siteOpenAPI)
		links := fmt.Sprintf("[a](%s) [b](<%s>) ![c](%s) <%s> [d]: %s\n\n<a href=%q><img src=%q><link rel=stylesheet href=%q><script src=%q></script><meta http-equiv=refresh content=\"0; url=%s\"><base href=%q>\n",
			lead, lead, lead, lead, lead, lead, lead, lead, lead, lead, lead)
		v.site.Static("/README.md", 200, fakenet.Markdown, readmeFor(v.site.Host())+links).Static("/guide", 200, fakenet.HTML, links).
			Static("/agentic.txt", 200, fakenet.PlainText, "Agentic-Text: 1.2\nProfile: "+lead+"\nReference: \"a\" \"b\" "+quoted(lead)+"\n").Static("/llms.txt", 200, fakenet.PlainText, links)
		_, dials, err := w.audit(t, v.site.Host(), "")
		if err != nil {
			t.Fatal(err)
		}
		w.onlyTheSite(t, lead, v.site, dials, usualPaths...)
	}
}

// The DNS of a target and of a README host answer with every kind of address
// that is not public, alone and among good ones, at first and in the middle.
func TestNoAnswerOfTheDNSLeadsInside(t *testing.T) {
	w := watched(t)
	good := newWorld(t, w.Net, siteProfile(host), siteOpenAPI)
	for i, a := range []string{
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:20.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd12::1", "fe80::1", "fe80::1%lo", "fec0::1", "ff02::1",
	} {
		for k, answer := range [][]string{{a}, {a, "20.0.9.9"}, {"20.0.9.9", "2600::1", a}} {
			name := fmt.Sprintf("d%d-%d.example", i, k)
			w.Site(name).DNS(fakenet.Addresses(answer...))
			j, dials, err := w.audit(t, name, "")
			if err != nil || j.word() != "failed refused" || len(dials) != 0 || !strings.Contains(j.Result.Detail, "not a public address") {
				t.Errorf("%v: %v, dialled %v", answer, j.word(), dials)
			}
			j, dials, err = w.audit(t, host, "https://"+name+"/README.md")
			if err != nil || j.word() != "partial incomplete" || len(dials) != 1 || dials[0].Addr.Addr() != good.site.Address() {
				t.Errorf("README with %v: %v, dialled %v", answer, j.word(), dials)
			}
		}
	}
}

// A name that moves inside between two reads, and between two attempts.
func TestRebinding(t *testing.T) {
	w := watched(t)
	good := newWorld(t, w.Net, siteProfile(host), siteOpenAPI)
	for path, body := range good.files {
		// Each answer ends its connection, so that each read makes a new one.
		h := "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: " + map[bool]string{true: "application/json", false: "text/plain"}[strings.HasSuffix(path, "json")] + "\r\n\r\n"
		good.site.Path(path, fakenet.Send(h+body))
	}
	good.site.DNS(fakenet.Addresses("20.0.9.8"), fakenet.Addresses("127.0.0.1"))
	j, dials, _ := w.audit(t, host, "")
	if j.word() != "successful complete" || len(dials) != 5 || len(w.asked) != 1 {
		t.Errorf("%s, dialled %v, looked up %v", j.word(), dials, w.asked)
	}
	for _, d := range dials {
		if d.Addr.String() != "20.0.9.8:443" {
			t.Errorf("dialled %v", d)
		}
	}
	if j, dials, _ := w.audit(t, host, ""); j.word() != "failed refused" || len(dials) != 0 {
		t.Errorf("the second visit: %s, dialled %v", j.word(), dials)
	}
}
