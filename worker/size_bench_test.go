package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/queue"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker"
)

// sizeWorkerEnv turns the test binary into a worker of BenchmarkSize or
// TestClockJumpsForAllProcesses; its value is a sizeWorker in JSON.
const sizeWorkerEnv = "AGENTAUDIT_SIZE_WORKER"

// sizeWorker is what a worker process is told.
type sizeWorker struct {
	Store, Redis string
	Concurrency  int
	// Clock is a file that says how many seconds the clock is ahead, "" for the
	// true time.
	Clock string
}

// run works until standard input ends.
func (s sizeWorker) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	c := worker.Config{Concurrency: s.Concurrency}
	if s.Clock != "" {
		c.Now, c.ReconcileEvery = fileClock(s.Clock).Now, time.Second
	}
	st, err := store.Open(ctx, s.Store, store.Options{Now: c.Now})
	if err != nil {
		return err
	}
	defer st.Close()
	q, err := queue.Connect(ctx, queue.Options{URL: s.Redis})
	if err != nil {
		return err
	}
	defer q.Close()
	places := q.NewPlaces(slog.New(slog.DiscardHandler))
	defer places.Close()
	manners := worker.NewManners(places, worker.Limits{})
	c.Store, c.Queue, c.Auditor, c.Manners = st, q, distant{manners}, manners
	w, err := worker.New(c)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// distant is an auditor of sites that do not exist: each takes as long as the
// slow and the quick ones of the internet do, a lognormal time with a median of
// 120 ms and one in a hundred over 3 s, and has a result of the size of a real one.
type distant struct{ manners *worker.Manners }

const (
	medianLatency = 120 * time.Millisecond
	p99Latency    = 3 * time.Second
	p99Deviations = 2.3263
)

func (d distant) Audit(ctx context.Context, at audit.Attempt) (audit.Judgement, error) {
	host := at.Target.ProfileURL.Hostname()
	n := rand.Uint32()
	release, err := d.manners.Admit(ctx, host, []netip.Addr{netip.AddrFrom4([4]byte{20, byte(n >> 16), byte(n >> 8), byte(n)})})
	if err != nil {
		return audit.Judgement{}, err
	}
	defer release()
	sigma := math.Log(float64(p99Latency)/float64(medianLatency)) / p99Deviations
	wait := time.NewTimer(time.Duration(float64(medianLatency) * math.Exp(sigma*rand.NormFloat64())))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return audit.Judgement{}, ctx.Err()
	}
	return realistic(at.Target.ProfileURL.String()), nil
}

// realistic is a judgement with as many checks and reads as that of a usual site.
func realistic(target string) audit.Judgement {
	j := success(target)
	for i := range 16 {
		j.Result.Report.Checks = append(j.Result.Report.Checks, report.Check{ID: fmt.Sprint("check-", i), Label: "What is looked at",
			Status: report.Pass, Detail: "The document at https://site.example/openapi.json was read, and every operation of the index exists in it."})
	}
	for i := range 5 {
		e := j.Result.Evidence[0]
		e.SHA256 = strings.Repeat(fmt.Sprint(i), 64)
		j.Result.Evidence = append(j.Result.Evidence, e)
	}
	return j
}

// BenchmarkSize is for planning: so many sites of usual latency through the real
// queue and store, by one worker process and by several. It shows the rate, the
// rate against that of one worker, and what a site costs everybody.
//
//	go test ./worker -run '^$' -bench Size -benchtime 1x
//	AGENTAUDIT_SIZE_SITES=1000000 go test ./worker -run '^$' -bench Size/4 -benchtime 1x -timeout 2h
//	AGENTAUDIT_SIZE_CONCURRENCY=256 go test ./worker -run '^$' -bench Size/4 -benchtime 1x
func BenchmarkSize(b *testing.B) {
	sites := 20_000
	if v := os.Getenv("AGENTAUDIT_SIZE_SITES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			b.Fatalf("AGENTAUDIT_SIZE_SITES=%s: use a number of sites", v)
		}
		sites = n
	}
	concurrency := 64
	if v := os.Getenv("AGENTAUDIT_SIZE_CONCURRENCY"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			b.Fatalf("AGENTAUDIT_SIZE_CONCURRENCY=%s: use a number of audits at once", v)
		}
		concurrency = n
	}
	var one float64
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("%d-workers-postgres-redis", workers), func(b *testing.B) {
			for b.Loop() {
				rate := measureSize(b, sites, workers, concurrency)
				if workers == 1 {
					one = rate
				}
				b.ReportMetric(rate, "sites/s")
				if one > 0 {
					b.ReportMetric(rate/one, "times-one-worker")
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// measureSize has worker processes audit a list, and reports what it cost.
func measureSize(b *testing.B, sites, workers, concurrency int) (rate float64) {
	postgres, redis := storetest.PostgresServer(b), queuetest.Redis(b)
	place := postgres.Database(b)
	st := storetest.Open(b, place, store.Options{})
	started := time.Now()
	batch := sizeBatch(b, st, sites)
	b.ReportMetric(float64(sites)/time.Since(started).Seconds(), "intake-lines/s")

	before := postgres.CPU(b)
	started = time.Now()
	fleet, stop := startFleet(b, workers, sizeWorker{Store: place, Redis: redis.URL, Concurrency: concurrency})
	// The rate counts until 95 % are done: at the end a few slow sites decide.
	var counted time.Duration
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		got, err := st.Batch(b.Context(), batch)
		if err != nil {
			b.Fatal(err)
		}
		if counted == 0 && got.Done() >= int64(sites)*95/100 {
			counted = time.Since(started)
			rate = float64(got.Done()) / counted.Seconds()
		}
		if got.OpenRuns == 0 {
			if got.Done() != int64(sites) {
				b.Fatalf("%d of %d sites have a result", got.Done(), sites)
			}
			break
		}
	}
	stop()
	var cpu time.Duration
	var memory int64
	for _, cmd := range fleet {
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		memory = max(memory, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	perSite := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(sites) }
	redisCPU, redisMemory := redis.Usage(b)
	b.ReportMetric(perSite(cpu), "worker-us/site")
	b.ReportMetric(perSite(redisCPU), "redis-us/site")
	b.ReportMetric(perSite(postgres.CPU(b)-before), "postgres-us/site")
	b.ReportMetric(float64(memory)/1024, "worker-MiB")
	b.ReportMetric(float64(redisMemory)/(1<<20), "redis-MiB")
	b.ReportMetric(float64(postgres.Size(b, place))/float64(sites), "postgres-B/site")
	return rate
}

// startFleet starts worker processes; stop ends them and waits for them.
func startFleet(b testing.TB, workers int, told sizeWorker) (fleet []*exec.Cmd, stop func()) {
	text, err := json.Marshal(told)
	if err != nil {
		b.Fatal(err)
	}
	var stdin []io.Closer
	for range workers {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), sizeWorkerEnv+"="+string(text))
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		fleet, stdin = append(fleet, cmd), append(stdin, in)
	}
	return fleet, func() {
		for i, cmd := range fleet {
			stdin[i].Close()
			if err := cmd.Wait(); err != nil {
				b.Error(err)
			}
		}
	}
}

// sizeBatch stores a list of so many sites.
func sizeBatch(b testing.TB, st *store.Store, sites int) store.BatchID {
	batch, err := st.CreateBatch(b.Context(), store.NewBatch{Name: "size", Sources: []string{"benchmark"}, Options: []byte(`{}`)})
	if err != nil {
		b.Fatal(err)
	}
	const chunk = 5000
	for from := 0; from < sites; from += chunk {
		var lines []store.Line
		for i := from; i < min(from+chunk, sites); i++ {
			host := fmt.Sprintf("site-%d.example", i)
			lines = append(lines, store.Line{Number: int64(i + 1), Input: host, Target: "https://" + host + "/agentic.json"})
		}
		if _, err := st.AddLines(b.Context(), batch.ID, lines); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := st.SealBatch(b.Context(), batch.ID); err != nil {
		b.Fatal(err)
	}
	return batch.ID
}

// beSizeWorker is main for a worker of BenchmarkSize; false says that this is
// none.
func beSizeWorker() bool {
	told := os.Getenv(sizeWorkerEnv)
	if told == "" {
		return false
	}
	var s sizeWorker
	if err := json.Unmarshal([]byte(told), &s); err != nil {
		log.Fatal(err)
	}
	if err := s.run(); err != nil {
		log.Fatal(err)
	}
	return true
}
