package audit

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/openapi"
	"agentaudit/audit/profile"
	"agentaudit/audit/readme"
	"agentaudit/audit/textindex"
	"agentaudit/fetch/fakenet"
)

// typical is a publication of the usual size: a profile of 3 KB with twelve
// indexed operations, an OpenAPI document of 10 KB, a page of 6 KB.
func typical() (profileJSON, openapiJSON, guide, readmeText string) {
	var operations, resources, paths []string
	for i := range 12 {
		operations = append(operations, fmt.Sprintf(`{"method":"POST","path":"/boats/%d/seats","operationId":"bookSeat%d","summary":"Book a seat on boat %d"}`, i, i, i))
		paths = append(paths, fmt.Sprintf(`"/boats/%d/seats":{"post":{"operationId":"bookSeat%d","summary":"Book a seat","tags":["seats"],"parameters":[{"name":"page","in":"query","schema":{"type":"integer","minimum":1}}],
 "requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"name":{"type":"string","maxLength":80},"deck":{"type":"string","enum":["upper","lower"]}}}}}},
 "responses":{"200":{"description":"OK","content":{"application/json":{"schema":{"type":"object","properties":{"id":{"type":"string"},"tags":{"type":"array","items":{"$ref":"#/components/schemas/Tag"}}}}}}},"404":{"description":"There is no such boat"}}}}`, i, i))
		if i < 8 {
			resources = append(resources, fmt.Sprintf(`{"kind":"documentation","url":"https://site.example/docs/%d","source":"https://site.example/","availability":"linked","title":"Page %d of the guide"}`, i, i))
		}
	}
	profileJSON = `{"$schema":"` + profile.SiteSchemaID + `","agentic":"1.1.0","type":"site","origin":"https://site.example","name":"Boats","description":"Boats for hire, with sailing times and bookings of single seats.",
"resources":[{"kind":"openapi","url":"https://site.example/openapi.json","source":"https://site.example/","availability":"retrieved","title":"API of the boats"},
{"kind":"documentation","url":"https://site.example/guide","source":"https://site.example/","availability":"retrieved","title":"Guide"},` + strings.Join(resources, ",\n") + `],
"apis":[{"document":"https://site.example/openapi.json","openapi":"3.1.0","operations":[` + strings.Join(operations, ",\n") + "]}]}"
	openapiJSON = `{"openapi":"3.1.0","info":{"title":"Boats","version":"1"},"paths":{` + strings.Join(paths, ",\n") + "}}"
	guide = "<!doctype html><title>Guide</title>" + strings.Repeat("<p>How to hire a boat, and where it lies. ", 150)
	readmeText = readmeFor(host) + strings.Repeat("\n## How to book\n\nAsk for a *seat* with [the API](https://site.example/openapi.json), `like so`:\n\n```\nPOST /boats/1/seats\n```\n", 12)
	return profileJSON, openapiJSON, guide, readmeText
}

// BenchmarkSite audits a typical publication over real sockets and real TLS
// and, in turns with that, reads the same five files with a bare net/http
// client over one connection for the site. The column ratio is the price of an
// audit in terms of such reading, by the CPU time of both sides together; the
// others say where it goes, in microseconds.
func BenchmarkSite(b *testing.B) {
	n := fakenet.New(fakenet.Options{Loopback: true})
	defer n.Close()
	profileJSON, openapiJSON, guide, readmeText := typical()
	w := newWorld(b, n, profileJSON, openapiJSON)
	w.site.Static("/guide", 200, fakenet.HTML, guide).Static("/README.md", 200, fakenet.Markdown, readmeText)
	text := textFor(b, profileJSON)
	target, err := ParseTarget(host, "")
	if err != nil {
		b.Fatal(err)
	}
	a := Auditor{Client: w.client()}
	bare := bareClient(n)
	urls := []string{"/agentic.json", "/agentic.txt", "/README.md", "/openapi.json", "/guide"}

	spent := map[string]time.Duration{}
	timed := func(name string, f func()) {
		before := time.Now()
		f()
		spent[name] += time.Since(before)
	}
	used := map[string]time.Duration{}
	work := func(name string, f func()) {
		before := cpu(b)
		timed(name, f)
		used[name] += cpu(b) - before
	}
	audit := func() {
		j, err := a.Audit(b.Context(), publicationOnly(target, 1))
		if err != nil || j.word() != "successful complete" {
			b.Fatal(err, j.word(), j.Result.Detail)
		}
		if _, err := json.Marshal(j.Result.Report); err != nil {
			b.Fatal(err)
		}
	}
	read := func() { bare(b, urls) }
	var bundle *Bundle
	for i := 0; b.Loop(); i++ {
		first, second := audit, read
		names := [2]string{"audit", "bare"}
		if i%2 == 1 {
			first, second, names = second, first, [2]string{"bare", "audit"}
		}
		work(names[0], first)
		work(names[1], second)
		// The stages of the same audit, each by itself.
		v := a.Client.Visit()
		var err error
		timed("collect", func() { bundle, err = Collect(b.Context(), v, target, time.Now()); v.Close() })
		if err != nil {
			b.Fatal(err)
		}
		bundle.target, bundle.subject = nil, nil
		res := Judge(bundle)
		timed("judge", func() { res = Judge(bundle) })
		var valid profile.Profile
		timed("judge-profile", func() {
			doc, err := profile.Decode([]byte(profileJSON))
			if err != nil {
				b.Fatal(err)
			}
			valid = doc.Validate(profile.Options{}).Profile
		})
		timed("judge-txt", func() {
			if c, err := textindex.Compare([]byte(text), valid, "https://site.example/agentic.json"); err != nil || !c.Matched {
				b.Fatal(err)
			}
		})
		timed("judge-openapi", func() {
			doc, err := openapi.Parse([]byte(openapiJSON))
			if err != nil || len(openapi.CheckDocument(doc))+len(openapi.CheckIndex(doc, valid.(*profile.Site).APIs[0])) > 0 {
				b.Fatal(err)
			}
		})
		pub := readme.Publication{Profile: target.ProfileURL, Text: target.TextURL(), Readme: target.readmeURLs()[0]}
		timed("judge-readme", func() { pub.Judge("text/markdown", []byte(readmeText)) })
		timed("evidence", func() {
			for i := range bundle.Reads {
				bundle.Reads[i].evidence()
			}
		})
		timed("encode", func() { json.Marshal(res.Report) })
	}
	b.ReportMetric(float64(used["audit"])/float64(used["bare"]), "ratio")
	b.ReportMetric(float64(used["audit"].Microseconds())/float64(b.N), "audit-cpu-us")
	b.ReportMetric(float64(used["bare"].Microseconds())/float64(b.N), "bare-cpu-us")
	for name, d := range spent {
		b.ReportMetric(float64(d.Microseconds())/float64(b.N), name+"-us")
	}
	b.ReportMetric(0, "ns/op")
}

// bareClient reads with net/http and none of our checks, over one connection
// for the site and with the same key exchange.
func bareClient(n *fakenet.Net) func(b *testing.B, paths []string) {
	addr := netip.AddrPortFrom(n.Site(host).Address(), 443)
	return func(b *testing.B, paths []string) {
		t := &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return n.Dial(ctx, addr) },
			TLSClientConfig:    &tls.Config{RootCAs: n.RootCAs(), CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384}},
			TLSNextProto:       map[string]func(string, *tls.Conn) http.RoundTripper{},
			DisableCompression: true, MaxIdleConnsPerHost: 1, MaxConnsPerHost: 1,
		}
		client := http.Client{Transport: t}
		for _, path := range paths {
			resp, err := client.Get("https://" + host + path)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
		}
		t.CloseIdleConnections()
	}
}

// BenchmarkJudge is the judgement of a typical publication alone.
func BenchmarkJudge(b *testing.B) {
	profileJSON, openapiJSON, guide, readmeText := typical()
	bundle := bundleOf(b, profileJSON, openapiJSON, map[string]string{"/guide": guide, "/README.md": readmeText, "/agentic.txt": textFor(b, profileJSON)})
	if j := (Judgement{Result: Judge(bundle)}); j.word() != "successful complete" {
		b.Fatal(j.word(), j.Result.Detail)
	}
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		Judge(bundle)
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
}
