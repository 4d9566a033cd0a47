package fetch_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/weburl"
)

// The files of one site, as an audit reads them.
const benchFiles = 6

func benchNet(b *testing.B) (*fakenet.Net, []*weburl.URL) {
	n := newNet(b, fakenet.Options{Loopback: true})
	urls := make([]*weburl.URL, benchFiles)
	for i := range urls {
		path := fmt.Sprintf("/file-%d.json", i)
		n.Static("site.example", path, 200, fakenet.JSON, strings.Repeat("x", 2500))
		urls[i] = mustURL(b, "https://site.example"+path)
	}
	return n, urls
}

// BenchmarkVisit is one site: a lookup, a connection, a handshake, six files.
func BenchmarkVisit(b *testing.B) {
	n, urls := benchNet(b)
	client := n.Client(fetch.Config{})
	b.ReportAllocs()
	for b.Loop() {
		v := client.Visit()
		for _, u := range urls {
			if resp, err := v.Fetch(b.Context(), fetch.Request{URL: u, MaxBytes: 65536}); err != nil || resp.Bytes != 2500 {
				b.Fatal(outcome(resp, err))
			}
		}
		v.Close()
	}
}

// BenchmarkHTTPClient is the same with net/http and none of the checks: one
// Transport for each site, with the same key exchange.
func BenchmarkHTTPClient(b *testing.B) {
	n, urls := benchNet(b)
	addr := n.Site("site.example").Address().String() + ":443"
	roots := n.RootCAs()
	b.ReportAllocs()
	for b.Loop() {
		t := &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return n.Dial(ctx, addrPort(addr[:len(addr)-4]))
			},
			TLSClientConfig:     &tls.Config{RootCAs: roots, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384}},
			TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
			DisableCompression:  true,
			MaxIdleConnsPerHost: 1,
			MaxConnsPerHost:     1,
			ReadBufferSize:      4096,
			WriteBufferSize:     2048,
		}
		client := http.Client{Transport: t}
		for _, u := range urls {
			resp, err := client.Get(u.String())
			if err != nil {
				b.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || len(body) != 2500 {
				b.Fatal(err)
			}
			resp.Body.Close()
		}
		t.CloseIdleConnections()
	}
}

// BenchmarkRead is one more file on a connection that is there.
func BenchmarkRead(b *testing.B) {
	n, urls := benchNet(b)
	v := n.Client(fetch.Config{}).Visit()
	defer v.Close()
	b.ReportAllocs()
	for b.Loop() {
		if resp, err := v.Fetch(b.Context(), fetch.Request{URL: urls[0], MaxBytes: 65536}); err != nil {
			b.Fatal(outcome(resp, err))
		}
	}
}

// BenchmarkManySites is a thousand sites, sixty-four at a time, over pipes
// inside the process: what the demonstration and load tests build on.
func BenchmarkManySites(b *testing.B) {
	n := newNet(b, fakenet.Options{})
	const sites = 1000
	urls := make([]*weburl.URL, sites)
	for i := range urls {
		host := fmt.Sprintf("s%d.example", i)
		n.Static(host, "/agentic.json", 200, fakenet.JSON, "{}")
		urls[i] = mustURL(b, "https://"+host+"/agentic.json")
	}
	client := n.Client(fetch.Config{})
	for b.Loop() {
		var all sync.WaitGroup
		places := make(chan struct{}, 64)
		for _, u := range urls {
			places <- struct{}{}
			all.Go(func() {
				defer func() { <-places }()
				v := client.Visit()
				defer v.Close()
				if resp, err := v.Fetch(b.Context(), fetch.Request{URL: u, MaxBytes: 65536}); err != nil {
					b.Error(outcome(resp, err))
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(sites*b.N)/b.Elapsed().Seconds(), "sites/s")
}
