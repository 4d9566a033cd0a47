package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/queue"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
)

// costServerEnv turns the test binary into the server of the cost benchmark:
// a process of its own, so that its CPU time is not taken for the client's.
const costServerEnv = "AGENTAUDIT_COST_SERVER"

// TestMain lets the test binary be that server, or the program itself.
func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
		return
	}
	if os.Getenv(costServerEnv) != "" {
		if err := costServer(os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	demoRead = 1500 * time.Millisecond
	code := m.Run()
	storetest.StopPostgres()
	os.Exit(code)
}

// costDomain is the domain of all hosts of the benchmark.
const costDomain = "bench.example"

// costServer serves a complete site profile with two documents at every host
// of the domain, until standard input ends. It prints its port and its
// certificate as one line of JSON.
func costServer(out io.Writer) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"*." + costDomain}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(costAddress{l.Addr().(*net.TCPAddr).Port, der}); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var sites sync.Map
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, costPlain) {
			servePlain(w, r)
			return
		}
		p, ok := sites.Load(r.Host)
		if !ok {
			made := ferry(r.Host)
			made.generate()
			p, _ = sites.LoadOrStore(r.Host, made)
		}
		p.(*showcase).serve(w, r)
	}))
}

type costAddress struct {
	Port        int
	Certificate []byte
}

// serve answers with the published files.
func (p *showcase) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/docs" && strings.HasPrefix(r.Host, costHold) {
		time.Sleep(costHoldFor) // the server's manner, not the test's patience
	}
	f, ok := p.files[r.URL.Path]
	switch r.URL.Path {
	case "/agentic.json":
		f, ok = file{p.types[fileJSON], p.json}, true
	case "/agentic.txt":
		f, ok = file{p.types[fileText], p.text}, true
	case "/README.md":
		f, ok = file{p.types[fileReadme], p.readme}, true
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.contentType)
	_, _ = io.WriteString(w, f.body)
}

// Hosts with this prefix keep their visitors waiting at the last document, so
// that all of them are there at the same time.
const (
	costHold    = "hold-"
	costHoldFor = 5 * time.Second
)

// costPlain is the prefix of hosts that publish nothing for agents, as most of
// a directory's listings: pages of a usual size, and one like them for what is
// not there.
const costPlain = "plain-"

func servePlain(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	sections := 60
	if r.URL.Path != "/" && !strings.HasPrefix(r.URL.Path, "/page-") {
		w.WriteHeader(http.StatusNotFound)
		sections = 20
	}
	fmt.Fprintf(w, "<!doctype html><html lang=en><head><title>%s</title><style>%s</style></head><body>", r.Host, strings.Repeat(".card { margin: 1em }\n", 200))
	for i := range sections {
		fmt.Fprintf(w, "<section class='card wide' id='s%d'><h2>Section %d</h2><p>%s</p><a href='/page-%d'>Read on</a></section>\n", i, i, strings.Repeat("What it does for you. ", 12), i)
	}
	_, _ = io.WriteString(w, "</body></html>")
}

// costOptions have a worker read what the bare client reads, and no more.
const costOptions = `{"noAgents":true,"discover":"never"}`

// costFiles are what an audit of such a site reads.
var costFiles = []string{"/agentic.json", "/agentic.txt", "/README.md", "/openapi.json", "/", "/docs"}

// costInternet leads every host of the domain to the server.
type costInternet struct {
	addr  string
	roots *x509.CertPool
	next  atomic.Uint32
}

func startCostServer(b *testing.B) *costInternet {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), costServerEnv+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	var at costAddress
	if err := json.NewDecoder(bufio.NewReader(stdout)).Decode(&at); err != nil {
		b.Fatal(err)
	}
	cert, err := x509.ParseCertificate(at.Certificate)
	if err != nil {
		b.Fatal(err)
	}
	n := &costInternet{addr: fmt.Sprintf("127.0.0.1:%d", at.Port), roots: x509.NewCertPool()}
	n.roots.AddCert(cert)
	return n
}

// Lookup gives each host a public address of its own, so that the limit per
// address does not stand in the way.
func (n *costInternet) Lookup(context.Context, string, bool) ([]netip.Addr, error) {
	i := n.next.Add(1)
	return []netip.Addr{netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)})}, nil
}

func (n *costInternet) dial(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", n.addr)
}

// bare reads the same files with net/http as it comes, over one kept
// connection, and judges nothing.
func (n *costInternet) bare(ctx context.Context, host string) error {
	t := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return n.dial(ctx, netip.AddrPort{}) },
		TLSClientConfig: &tls.Config{RootCAs: n.roots}, MaxIdleConnsPerHost: 1,
	}
	defer t.CloseIdleConnections()
	client := &http.Client{Transport: t}
	for _, p := range costFiles {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+p, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s%s answers %d", host, p, resp.StatusCode)
		}
	}
	return nil
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCost measures what a worker spends on a site, its side of queue and
// store included, against a bare net/http client that reads the same files, in
// one run: the ratio is the figure to look at. Then it says where the time
// goes. CPU time is that of this process; the sites live in another.
//
//	go test ./cmd/agentaudit -run '^$' -bench Cost -benchtime 1x
func BenchmarkCost(b *testing.B) {
	const sites, atOnce = 2000, 32
	n := startCostServer(b)
	tuneMemory()
	host := func(i int) string { return fmt.Sprintf("site-%d.%s", i, costDomain) }
	perSite := func(d time.Duration) float64 { return float64(d.Microseconds()) / sites }
	newAuditor := func(admit func(context.Context, string, []netip.Addr) (func(), error)) *audit.Auditor {
		c, err := fetch.New(fetch.Config{UserAgent: "bench", Resolver: n, Dial: n.dial, RootCAs: n.roots, Admit: admit})
		if err != nil {
			b.Fatal(err)
		}
		return &audit.Auditor{Client: c}
	}
	// all does something for every site, some of them at once, and returns
	// the CPU time that it took.
	some := func(b *testing.B, sites int, do func(i int) error) time.Duration {
		runtime.GC()
		start := cpuTime()
		var wg sync.WaitGroup
		var next atomic.Int64
		for range atOnce {
			wg.Go(func() {
				for {
					i := int(next.Add(1)) - 1
					if i >= sites {
						return
					}
					if err := do(i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return cpuTime() - start
	}
	all := func(b *testing.B, do func(i int) error) time.Duration { return some(b, sites, do) }
	bare := func(b *testing.B) time.Duration {
		return all(b, func(i int) error { return n.bare(b.Context(), host(i)) })
	}
	bare(b) // warms up both processes
	target := func(i int) audit.Target {
		t, err := audit.ParseTarget(host(i), "")
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	for _, kind := range []string{"redis", "embedded"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				before := bare(b)
				worked := costRun(b, kind, sites, 64, costOptions, host, newAuditor)
				after := bare(b)
				base := (before + after) / 2
				b.ReportMetric(perSite(base), "bare-us/site")
				b.ReportMetric(perSite(worked), "worker-us/site")
				b.ReportMetric(float64(worked)/float64(base), "ratio")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
	// What queue and store add to the CPU time of audits as they are by default,
	// with agents.txt and a scan where there is no profile: in the worker's
	// process, so that SQLite counts whole, and of Redis and PostgreSQL what it
	// takes to talk to them. complete are sites that publish all there is, listed
	// those of a directory, seven of ten of which publish nothing.
	for _, sort := range []string{"complete", "listed"} {
		for _, kind := range []string{"redis", "redis-postgres"} {
			b.Run("share-"+sort+"-"+kind, func(b *testing.B) {
				const sites = 3 * sites // most are handed over in groups
				host := func(i int) string {
					if sort == "listed" && i%10 < 7 {
						return fmt.Sprintf("%s%d.%s", costPlain, i, costDomain)
					}
					return host(i)
				}
				a := newAuditor(nil)
				audits := func() time.Duration {
					return some(b, sites, func(i int) error {
						t, err := audit.ParseTarget(host(i), "")
						if err != nil {
							return err
						}
						j, err := a.Audit(b.Context(), audit.Attempt{Target: t, Number: 1})
						if err == nil && j.Result.Outcome == report.OutcomeUnchecked {
							err = errors.New(j.Result.Detail)
						}
						return err
					})
				}
				for b.Loop() {
					before := audits()
					worked := costRun(b, kind, sites, 64, "{}", host, newAuditor)
					own := (before + audits()) / 2
					b.ReportMetric(float64(own.Microseconds())/float64(sites), "audit-us/site")
					b.ReportMetric(float64(worked.Microseconds())/float64(sites), "worker-us/site")
					b.ReportMetric(float64(worked-own)/float64(own), "queue+store/audit")
					b.ReportMetric(0, "ns/op")
				}
			})
		}
	}
	b.Run("stages", func(b *testing.B) {
		for b.Loop() {
			a := newAuditor(nil)
			bundles := make([]*audit.Bundle, sites)
			connect := all(b, func(i int) error {
				v := a.Client.Visit()
				defer v.Close()
				_, err := v.Fetch(b.Context(), fetch.Request{URL: target(i).ProfileURL, MaxBytes: audit.MaxSmallFile})
				return err
			})
			collect := all(b, func(i int) error {
				v := a.Client.Visit()
				defer v.Close()
				var err error
				bundles[i], err = audit.Collect(b.Context(), v, target(i), time.Now())
				return err
			})
			results := make([]*report.Result, sites)
			judge := all(b, func(i int) error { results[i] = audit.Judge(bundles[i]); return nil })
			encode := all(b, func(i int) error { _, err := json.Marshal(results[i].Report); return err })
			for i, r := range results {
				if r.Outcome != report.OutcomeSuccessful {
					b.Fatalf("%s is %s: %s", host(i), r.Outcome, r.Detail)
				}
			}
			b.ReportMetric(perSite(connect), "connect+1read-us/site")
			b.ReportMetric(perSite(collect), "connect+reads+plan-us/site")
			b.ReportMetric(perSite(judge), "judge-us/site")
			b.ReportMetric(perSite(encode), "encode-us/site")
			b.ReportMetric(0, "ns/op")
		}
	})
}

// BenchmarkInFlight measures how much memory 1,000 audits take that are under
// way at the same time, each with its connection open and most of its files
// read, together with store and queue: the peak of this whole process.
//
//	go test ./cmd/agentaudit -run '^$' -bench InFlight -benchtime 1x
func BenchmarkInFlight(b *testing.B) {
	const sites = 1000
	n := startCostServer(b)
	tuneMemory()
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		peak := make(chan int64)
		go func() {
			var most int64
			for tick := time.Tick(50 * time.Millisecond); ctx.Err() == nil; <-tick {
				most = max(most, residentMemory(b))
			}
			peak <- most
		}()
		costRun(b, "embedded", sites, sites, costOptions, func(i int) string { return fmt.Sprintf("%s%d.%s", costHold, i, costDomain) },
			func(admit func(context.Context, string, []netip.Addr) (func(), error)) *audit.Auditor {
				c, err := fetch.New(fetch.Config{UserAgent: "bench", Resolver: n, Dial: n.dial, RootCAs: n.roots, Admit: admit})
				if err != nil {
					b.Fatal(err)
				}
				return &audit.Auditor{Client: c}
			})
		cancel()
		b.ReportMetric(float64(<-peak)/(1<<20), "peak-MiB")
		b.ReportMetric(0, "ns/op")
	}
}

// residentMemory is the memory of this process in bytes, as Linux counts it.
func residentMemory(b *testing.B) int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("the size of the process is read from /proc")
	}
	var total, resident int64
	if _, err := fmt.Sscan(string(data), &total, &resident); err != nil {
		b.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// costRun audits all sites as a batch through store, queue and worker, and
// returns the CPU time of it all but the intake.
func costRun(b *testing.B, kind string, sites, concurrency int, options string, host func(int) string, newAuditor func(func(context.Context, string, []netip.Addr) (func(), error)) *audit.Auditor) time.Duration {
	b.Helper()
	ctx := b.Context()
	q := queue.Embedded()
	place := b.TempDir()
	if strings.HasSuffix(kind, "postgres") {
		place = storetest.PostgresServer(b).Database(b)
	}
	if strings.HasPrefix(kind, "redis") {
		var err error
		if q, err = queue.Connect(ctx, queue.Options{URL: queuetest.Redis(b).URL}); err != nil {
			b.Fatal(err)
		}
	}
	defer q.Close()
	st, err := store.Open(ctx, place, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	batch, err := st.CreateBatch(ctx, store.NewBatch{Name: "cost", Sources: []string{"bench"}, Options: []byte(options)})
	if err != nil {
		b.Fatal(err)
	}
	var lines []store.Line
	for i := range sites {
		u := "https://" + path.Join(host(i), "agentic.json")
		lines = append(lines, store.Line{Number: int64(i + 1), Input: host(i), Target: u})
	}
	if _, err := st.AddLines(ctx, batch.ID, lines); err != nil {
		b.Fatal(err)
	}
	if _, err := st.SealBatch(ctx, batch.ID); err != nil {
		b.Fatal(err)
	}
	manners := worker.NewManners(nil, worker.Limits{})
	finished := make(chan worker.Event, sites)
	w, err := worker.New(worker.Config{
		Store: st, Queue: q, Auditor: newAuditor(manners.Admit), Manners: manners, Concurrency: concurrency, SoleOwner: true, Retry: worker.RetryRun,
		Observe: func(e worker.Event) {
			if e.Kind == worker.Finished {
				finished <- e
			}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	runtime.GC()
	start := cpuTime()
	go func() { ended <- w.Run(working) }()
	for range sites {
		if e := <-finished; e.Result.Outcome == report.OutcomeUnchecked {
			b.Errorf("%s is %s: %s", e.Target, e.Result.Outcome, strings.TrimSpace(e.Result.Detail))
		}
	}
	took := cpuTime() - start
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	return took
}
