//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/queue/queuetest"
)

const (
	manySites = 2000
	manyKills = 10
)

// TestKilled kills the program again and again in the middle of a long list,
// and goes on where it was.
func TestKilled(t *testing.T) {
	t.Run("embedded queue", func(t *testing.T) {
		inside(t)
		newOrdeal(t, manySites, 40*time.Millisecond).endure(nil)
	})
	// The server keeps the jobs of the dead, until it loses them all.
	t.Run("Redis emptied in the middle", func(t *testing.T) {
		inside(t)
		redis := queuetest.Redis(t)
		o := newOrdeal(t, manySites, 40*time.Millisecond)
		o.flags = []string{"--redis", redis.URL}
		o.endure(func() { redis.FlushAll(t) })
	})
}

// ordeal is a run that is killed many times.
type ordeal struct {
	*internet
	list   list
	sites  []site
	data   string
	flags  []string
	chance *rand.Rand

	// final are the rows that were there after the last kill, by line; asked
	// is how often their sites had been asked for the JSON by then.
	final map[int]row
	asked map[*host]int
}

// newOrdeal puts small sites online, eight at an address.
func newOrdeal(t *testing.T, count int, latency time.Duration) *ordeal {
	t.Helper()
	n := newInternet(t)
	o := &ordeal{internet: n, data: t.TempDir(), chance: rand.New(rand.NewPCG(7, 7)), final: map[int]row{}, asked: map[*host]int{}}
	var at netip.Addr
	for i := range count {
		if i%maxPerAddress == 0 {
			at = n.newV4()
		}
		h := n.host(fmt.Sprintf("site-%d.example", i), at)
		h.latency = latency
		p := newPublication(t, "https://"+h.name, small)
		s := site{kind: "small", line: h.name, target: p.url(p.name), outcome: report.OutcomeSuccessful, reason: report.ReasonComplete, attempts: 1, host: h}
		if i%5 == 4 {
			p.readme = missingFile()
			s.outcome, s.reason = report.OutcomePartial, report.ReasonIncomplete
		}
		p.online(h)
		o.sites = append(o.sites, s)
	}
	o.list = newList(t, o.sites, count/10, 2)
	return o
}

// endure runs the list with all its interruptions, and checks the end. empty,
// if not nil, empties the queue.
func (o *ordeal) endure(empty func()) {
	o.t.Helper()
	started := time.Now()
	for kill := range manyKills {
		p := o.start()
		if kill == 0 {
			// At the very beginning, while the list is read.
			p.wait(time.Duration(30+o.chance.IntN(150)) * time.Millisecond)
		} else {
			audits := 1 + o.chance.IntN(2*manySites/(manyKills+2))
			if empty != nil && kill%3 == 0 {
				p.until(audits / 2)
				empty()
			}
			p.until(audits)
			p.wait(time.Duration(o.chance.IntN(40)) * time.Millisecond)
		}
		p.kill()
		o.t.Logf("%s: kill %d, %d of %d lines have their row", time.Since(started).Round(time.Millisecond), kill+1, len(o.final), len(o.list.sites))
	}
	p := o.start()
	if empty != nil {
		p.until(100)
		empty()
	}
	p.end()
	o.t.Logf("%s: the end", time.Since(started).Round(time.Millisecond))
	rows := readRows(o.t, o.mustRun("results", "--format", "ndjson", "--data-dir", o.data))
	o.list.check(o.t, rows)
	o.list.checkBatch(o.t, o.showBatch(o.data), rows)
	listed := map[*host]bool{}
	for _, s := range o.sites {
		listed[s.host] = true
		if b := s.host.books(); b.maxOpen > 1 || b.requests["/agentic.json"] == 0 {
			o.t.Errorf("%s: %d TLS connections at once, %d requests for the JSON", s.host.name, b.maxOpen, b.requests["/agentic.json"])
		}
	}
	for _, fault := range o.faults(listed) {
		o.t.Error(fault)
	}
	// One batch, however often it was interrupted.
	var batches []batch
	if out := o.mustRun("batches", "--json", "--data-dir", o.data); json.Unmarshal([]byte(out), &batches) != nil || len(batches) != 1 {
		o.t.Errorf("there is more than one batch: %s", out)
	}
}

// args are those that go on with the batch, or begin it.
func (o *ordeal) args() []string {
	args := append([]string{"run", "--data-dir", o.data, "--quiet"}, o.flags...)
	if code, out, _ := o.run("batches", "--json", "--data-dir", o.data); code == 0 && strings.Contains(out, `"id"`) {
		return append(args, "--resume")
	}
	return append(args, o.list.path)
}

// process is the program under test while it works on the list.
type process struct {
	*ordeal
	cmd    *exec.Cmd
	output bytes.Buffer
	ended  chan struct{}
	// before and asked are what the internet had seen when it began.
	before int
	asked  map[*host]int
}

func (o *ordeal) start() *process {
	o.t.Helper()
	p := &process{ordeal: o, ended: make(chan struct{}), before: o.jsonReads(), asked: o.snapshot()}
	p.cmd = o.command(o.t.Context(), o.args()...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// until waits until the process has asked for a number of profiles.
func (p *process) until(audits int) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); p.jsonReads() < p.before+audits; p.wait(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("the run stands still with %d requests for profiles", p.jsonReads()-p.before)
		}
	}
}

// wait waits for a while, in which the process must not end.
func (p *process) wait(d time.Duration) {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatalf("the run ended before its time, with %v\n%s", p.cmd.ProcessState, p.output.Bytes())
	case <-time.After(d):
	}
}

// kill ends the process as nothing else can, and looks at what is left.
func (p *process) kill() {
	p.t.Helper()
	p.cmd.Process.Kill()
	<-p.ended
	p.once()
	p.survey()
}

// end waits until the process has done all there was to do.
func (p *process) end() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(3 * time.Minute):
		p.t.Fatal("the last run does not end")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Fatalf("the last run ended with %d\n%s", code, p.output.Bytes())
	}
	p.once()
	p.survey()
}

// once checks that the process has asked no site twice.
func (p *process) once() {
	p.t.Helper()
	for h, n := range p.snapshot() {
		if n > p.asked[h]+1 {
			p.t.Errorf("one process asked %s %d times for its JSON", h.name, n-p.asked[h])
		}
	}
}

func (o *ordeal) jsonReads() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.profiles
}

// snapshot is how often each site was asked for its JSON.
func (o *ordeal) snapshot() map[*host]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked := map[*host]int{}
	for _, s := range o.sites {
		asked[s.host] = s.host.requests["/agentic.json"]
	}
	return asked
}

// survey reads the rows that are there. Those of an earlier survey must be
// there unchanged, and their sites must have been left alone since.
func (o *ordeal) survey() {
	o.t.Helper()
	code, out, errs := o.run("results", "--format", "ndjson", "--data-dir", o.data)
	if code != 0 && len(o.final) > 0 {
		o.t.Fatalf("results: exit code %d\n%s", code, errs)
	}
	now := map[int]row{}
	for _, r := range readRows(o.t, out) {
		if _, twice := now[r.Line]; twice {
			o.t.Errorf("line %d has two rows", r.Line)
		}
		now[r.Line] = r
	}
	asked := o.snapshot()
	for line, was := range o.final {
		r, ok := now[line]
		if !ok || fmt.Sprint(r) != fmt.Sprint(was) {
			o.t.Errorf("line %d had the row %+v, and has %+v", line, was, r)
		}
		if h := o.list.sites[line].host; asked[h] != o.asked[h] {
			o.t.Errorf("%s had its final result, and was asked %d times more", h.name, asked[h]-o.asked[h])
		}
	}
	o.final, o.asked = now, maps.Clone(asked)
}
