package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"agentaudit/queue/queuetest"
)

// backend is a server for the suite: embedded or real.
type backend struct {
	conn *Conn
}

func (b backend) flushAll(t *testing.T) {
	t.Helper()
	if err := b.conn.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestEmbedded(t *testing.T) {
	exercise(t, func(t *testing.T) backend {
		c := Embedded()
		t.Cleanup(func() { c.Close() })
		return backend{c}
	})
}

func TestRedis(t *testing.T) {
	exercise(t, func(t *testing.T) backend {
		return connected(t, Options{URL: queuetest.Redis(t).URL})
	})
}

func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("the other suites show the behaviour; this one the kind of server")
	}
	exercise(t, func(t *testing.T) backend { return connected(t, Options{URL: queuetest.Cluster(t)}) })
}

func TestSentinel(t *testing.T) {
	if testing.Short() {
		t.Skip("the other suites show the behaviour; this one the kind of server")
	}
	exercise(t, func(t *testing.T) backend { return connected(t, Options{URL: queuetest.Sentinel(t)}) })
}

func connected(t *testing.T, o Options) backend {
	t.Helper()
	c, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return backend{c}
}

// exercise is the behaviour that all servers must show.
func exercise(t *testing.T, open func(t *testing.T) backend) {
	for _, c := range []struct {
		name string
		f    func(t *testing.T, b backend)
	}{
		{"Idempotent", testIdempotent},
		{"EachOnce", testEachOnce},
		{"FlushInTheMiddle", testFlush},
		{"Verdicts", testVerdicts},
		{"Panic", testPanic},
		{"BadPayload", testBadPayload},
		{"ShutdownGivesBack", testShutdown},
		{"StopFinishes", testStop},
		{"LostWorker", testLostWorker},
		{"BothClasses", testClasses},
		{"StatsAgreeWithAsynq", testStats},
		{"SignsOfLife", testLife},
		{"SignsOfLifeGoOn", testLifeGoesOn},
		{"EnqueueAll", testEnqueueAll},
		{"Groups", testGroups},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.f(t, open(t))
		})
	}
}

// serve starts a server that looks for jobs all the time. It is stopped when
// the test ends.
func serve(t *testing.T, c *Conn, n int, h Handler) *Server {
	t.Helper()
	s := c.NewServer(ServerConfig{Handler: h, Concurrency: n, CheckEvery: 2 * time.Millisecond, DelayedEvery: 5 * time.Millisecond, Grace: 50 * time.Millisecond})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func put(t *testing.T, c *Client, run string, token int64) bool {
	t.Helper()
	ok, err := c.Enqueue(t.Context(), Task{Run: run, Class: Bulk, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func depth(t *testing.T, c *Conn, class Class) Depth {
	t.Helper()
	s, err := c.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s[class]
}

// emptied waits until the queue holds nothing: an acknowledgement comes a
// moment after the handler returns.
func emptied(t *testing.T, c *Conn) {
	t.Helper()
	for {
		n := int64(0)
		for _, class := range Classes {
			n += depth(t, c, class).Total()
		}
		if n == 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the queue is never empty")
		case <-time.After(time.Millisecond):
		}
	}
}

func testIdempotent(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	if !put(t, c, "r-1", 0) || put(t, c, "r-1", 0) || !put(t, c, "r-1", 1) || !put(t, c, "r-2", 0) {
		t.Fatal("the same run and token is taken once, another token is another task")
	}
	if d := depth(t, b.conn, Bulk); d.Pending != 3 {
		t.Fatalf("%+v", d)
	}
	got := make(chan string, 10)
	serve(t, b.conn, 1, func(_ context.Context, j Job) error { got <- j.Runs[0]; return nil })
	for range 3 {
		<-got
	}
	emptied(t, b.conn)
	// Once done, the id is free again.
	if !put(t, c, "r-1", 0) {
		t.Fatal("a finished task still holds its id")
	}
	<-got
}

func testEachOnce(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	const n = 200
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	wg.Add(n)
	for range 2 { // two workers
		serve(t, b.conn, 8, func(_ context.Context, j Job) error {
			mu.Lock()
			seen[j.Runs[0]]++
			mu.Unlock()
			wg.Done()
			return nil
		})
	}
	for i := range n {
		put(t, c, fmt.Sprint("r-", i), 0)
	}
	wg.Wait()
	if len(seen) != n {
		t.Fatalf("%d different jobs, want %d", len(seen), n)
	}
}

func testFlush(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	started, goOn := make(chan string, 10), make(chan struct{})
	serve(t, b.conn, 1, func(_ context.Context, j Job) error {
		started <- j.Runs[0]
		<-goOn
		return nil
	})
	for i := range 5 {
		put(t, c, fmt.Sprint("r-", i), 0)
	}
	first := <-started
	b.flushAll(t)
	close(goOn)
	// What was waiting is gone; what was under way ends; both can come again.
	for i := range 5 {
		put(t, c, fmt.Sprint("r-", i), 0)
	}
	seen := map[string]bool{first: true}
	for range 5 {
		seen[<-started] = true
	}
	if len(seen) != 5 {
		t.Fatalf("seen %v", seen)
	}
	emptied(t, b.conn)
}

func testVerdicts(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	var tries atomic.Int32
	got := make(chan string, 10)
	serve(t, b.conn, 1, func(_ context.Context, j Job) error {
		got <- j.Runs[0]
		switch j.Runs[0] {
		case "permanent":
			return Permanent(errors.New("never again"))
		case "again":
			if tries.Add(1) < 3 {
				return RetryIn(errors.New("the store does not answer"), time.Millisecond)
			}
		}
		return nil
	})
	put(t, c, "permanent", 0)
	put(t, c, "again", 0)
	n := map[string]int{}
	for range 4 {
		n[<-got]++
	}
	emptied(t, b.conn)
	if n["permanent"] != 1 || n["again"] != 3 {
		t.Fatalf("%v", n)
	}
	if !put(t, c, "permanent", 0) {
		t.Fatal("a dropped task still holds its id")
	}
	<-got
}

func testPanic(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	got := make(chan string, 10)
	var log strings.Builder
	var mu sync.Mutex
	s := b.conn.NewServer(ServerConfig{Concurrency: 1, CheckEvery: time.Millisecond,
		Log: slog.New(slog.NewJSONHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}), nil)),
		Handler: func(_ context.Context, j Job) error {
			got <- j.Runs[0]
			if j.Runs[0] == "bad" {
				panic("what now")
			}
			return nil
		}})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	put(t, c, "bad", 0)
	<-got
	put(t, c, "good", 0)
	<-got
	s.Shutdown()
	if d := depth(t, b.conn, Bulk); d.Retry != 1 {
		t.Fatalf("the job that panicked is not tried again: %+v", d)
	}
	if out := log.String(); !strings.Contains(out, "what now") || !strings.Contains(out, "queue_test.go") || !strings.Contains(out, `"runs":["bad"]`) {
		t.Fatalf("the log says %s", out)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func testBadPayload(t *testing.T, b backend) {
	raw := asynq.NewClientFromRedisClient(b.conn.redis)
	for _, p := range []string{``, `{`, `{"v":2,"run":"x"}`, `{"v":2,"runs":["x",""]}`, `{"v":3,"run":"x"}`, `{"v":1}`, `[]`} {
		if _, err := raw.Enqueue(asynq.NewTask(taskType, []byte(p)), asynq.Queue(queueName(Bulk))); err != nil {
			t.Fatal(err)
		}
	}
	serve(t, b.conn, 2, func(context.Context, Job) error { t.Error("a bad payload reached the handler"); return nil })
	emptied(t, b.conn)
}

func testShutdown(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	started, cancelled := make(chan string, 1), make(chan struct{})
	s := serve(t, b.conn, 1, func(ctx context.Context, j Job) error {
		started <- j.Runs[0]
		<-ctx.Done() // does not end within the grace period
		close(cancelled)
		return ctx.Err()
	})
	put(t, c, "r-1", 0)
	<-started
	s.Shutdown()
	<-cancelled
	if d := depth(t, b.conn, Bulk); d.Pending != 1 || d.Active != 0 {
		t.Fatalf("the job was not given back: %+v", d)
	}
	serve(t, b.conn, 1, func(_ context.Context, j Job) error { started <- j.Runs[0]; return nil })
	if got := <-started; got != "r-1" {
		t.Fatalf("%s", got)
	}
}

func testStop(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	started, goOn := make(chan string, 5), make(chan struct{})
	s := serve(t, b.conn, 1, func(ctx context.Context, j Job) error {
		started <- j.Runs[0]
		<-goOn
		return ctx.Err()
	})
	put(t, c, "r-1", 0)
	<-started
	s.Stop()
	put(t, c, "r-2", 0)
	close(goOn)
	s.Shutdown()
	if d := depth(t, b.conn, Bulk); d.Pending != 1 || d.Active != 0 || d.Retry != 0 {
		t.Fatalf("after Stop one job ends and one waits: %+v", d)
	}
	if len(started) != 0 {
		t.Fatal("a job was taken after Stop")
	}
}

// A worker that vanishes leaves its job in the hands of a lease that ends.
func testLostWorker(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	started, goOn := make(chan string, 5), make(chan struct{})
	defer close(goOn)
	dead := b.conn.NewServer(ServerConfig{Concurrency: 1, CheckEvery: time.Millisecond, Grace: time.Millisecond, Handler: func(_ context.Context, j Job) error {
		started <- j.Runs[0]
		<-goOn
		return nil
	}})
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dead.Shutdown)
	put(t, c, "r-1", 0)
	<-started
	// Its lease ended long ago, as after half a minute without a sign of life.
	past := float64(time.Now().Add(-time.Hour).Unix())
	if err := b.conn.redis.ZAdd(t.Context(), "asynq:{"+queueName(Bulk)+"}:lease", redis.Z{Score: past, Member: "r-1.0"}).Err(); err != nil {
		t.Fatal(err)
	}
	serve(t, b.conn, 1, func(_ context.Context, j Job) error { started <- j.Runs[0]; return nil })
	if got := <-started; got != "r-1" {
		t.Fatalf("%s", got)
	}
}

func testClasses(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	for i := range 50 {
		put(t, c, fmt.Sprint("bulk-", i), 0)
	}
	for i := range 5 {
		if ok, err := c.Enqueue(t.Context(), Task{fmt.Sprint("small-", i), Small, 0}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if s, b := depth(t, b.conn, Small), depth(t, b.conn, Bulk); s.Pending != 5 || b.Pending != 50 {
		t.Fatalf("small %+v, bulk %+v", s, b)
	}
	order := make(chan string, 100)
	serve(t, b.conn, 1, func(_ context.Context, j Job) error { order <- j.Runs[0]; return nil })
	last := 0
	for i := range 55 {
		if strings.HasPrefix(<-order, "small") {
			last = i
		}
	}
	// Five to one: the odds that the fifth comes so late are beyond a billion.
	if last > 45 {
		t.Fatalf("the small batch ended as number %d of 55", last+1)
	}
}

// The numbers are read from keys that belong to asynq: it must agree.
func testStats(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	started, goOn := make(chan string, 5), make(chan struct{})
	s := serve(t, b.conn, 1, func(_ context.Context, j Job) error {
		started <- j.Runs[0]
		if j.Runs[0] == "retry" {
			return errors.New("later")
		}
		<-goOn
		return nil
	})
	put(t, c, "retry", 0)
	<-started
	put(t, c, "active", 0)
	<-started
	put(t, c, "pending", 0)
	raw := asynq.NewClientFromRedisClient(b.conn.redis)
	if _, err := raw.Enqueue(asynq.NewTask("x", nil), asynq.Queue(queueName(Bulk)), asynq.ProcessIn(time.Hour)); err != nil {
		t.Fatal(err)
	}
	info, err := asynq.NewInspectorFromRedisClient(b.conn.redis).GetQueueInfo(queueName(Bulk))
	if err != nil {
		t.Fatal(err)
	}
	want := Depth{int64(info.Pending), int64(info.Active), int64(info.Scheduled), int64(info.Retry)}
	if got := depth(t, b.conn, Bulk); got != want || got != (Depth{1, 1, 1, 1}) {
		t.Fatalf("we say %+v, asynq says %+v", got, want)
	}
	group := []Task{{"g-1", Bulk, 3}, {"g-2", Bulk, 0}, {"g-3", Bulk, 0}, {"g-4", Bulk, 0}}
	if _, err := c.EnqueueGroups(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Enqueue(t.Context(), Task{Run: "small", Class: Small}); err != nil {
		t.Fatal(err)
	}
	h, err := b.conn.Holding(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"retry", "active", "pending", "g-2", "g-4", "small"} {
		if !h.Has(run, 0) {
			t.Errorf("the queue does not hold %s", run)
		}
	}
	if !h.Has("g-1", 3) || h.Has("g-1", 0) || h.Has("pending", 1) || h.Has("other", 0) {
		t.Error("the queue holds what was never put there, or not what was")
	}
	close(goOn)
	s.Shutdown()
}

func testEnqueueAll(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	var tasks []Task
	for i := range 100 {
		tasks = append(tasks, Task{fmt.Sprint("r-", i%90), Bulk, 0})
	}
	if left, err := c.EnqueueAll(t.Context(), tasks); err != nil || len(left) != 0 {
		t.Fatalf("%d left, %v", len(left), err)
	}
	if d := depth(t, b.conn, Bulk); d.Pending != 90 {
		t.Fatalf("%+v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range tasks {
		tasks[i].Token = 1
	}
	if left, err := c.EnqueueAll(ctx, tasks); err == nil || len(left) != 100 {
		t.Fatalf("after cancel: %d left, %v", len(left), err)
	}
}

// The question for a job is answered without a script where there is none; a
// new version of asynq may ask in other words, and this tells.
func TestEmptyQueueCostsNoScript(t *testing.T) {
	asked := make(chan bool, 1000)
	c := embedded(spy{func(cmd redis.Cmder) {
		if len(cmd.Args()) > 6 && fmt.Sprint(cmd.Args()[2]) == "4" && strings.HasSuffix(fmt.Sprint(cmd.Args()[3]), ":pending") {
			select {
			case asked <- dequeues(cmd.Args()) != "":
			default:
			}
		}
	}})
	t.Cleanup(func() { c.Close() })
	got := make(chan string, 1)
	serve(t, c, 1, func(_ context.Context, j Job) error { got <- j.Runs[0]; return nil })
	for range 20 {
		if !<-asked {
			t.Fatal("asynq's question is not recognised any more")
		}
	}
	put(t, c.NewClient(0), "r-1", 0)
	if j := <-got; j != "r-1" {
		t.Fatal(j)
	}
}

type spy struct{ see func(redis.Cmder) }

func (spy) DialHook(next redis.DialHook) redis.DialHook                                  { return next }
func (spy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook { return next }
func (s spy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.see(cmd)
		return next(ctx, cmd)
	}
}

func TestNoServer(t *testing.T) {
	_, err := Connect(t.Context(), Options{URL: "unix://u:hunter2@" + filepath.Join(t.TempDir(), "none")})
	if err == nil || errors.Is(err, ErrOptions) || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("%v", err)
	}
}

func TestFull(t *testing.T) {
	r := queuetest.Redis(t)
	c, err := Connect(t.Context(), Options{URL: r.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.redis.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, err = c.NewClient(0).Enqueue(t.Context(), Task{"r", Bulk, 0})
	if !IsFull(err) {
		t.Fatalf("a full server: %v", err)
	}
	if IsFull(nil) || IsFull(errors.New("other")) {
		t.Fatal("not everything is full")
	}
}

func TestRequireFailsWhereItMust(t *testing.T) {
	t.Setenv("AGENTAUDIT_REQUIRE", "postgres,redis")
	for name, want := range map[string]string{"redis": "fatal", "other": "skip"} {
		r := &recorder{TB: t}
		func() {
			defer func() { recover() }()
			queuetest.Require(r, name, "not here")
		}()
		if r.did != want {
			t.Errorf("%s: %s, want %s", name, r.did, want)
		}
	}
}

type recorder struct {
	testing.TB
	did string
}

func (r *recorder) Helper()               {}
func (r *recorder) Fatalf(string, ...any) { r.did = "fatal"; panic(r) }
func (r *recorder) Skipf(string, ...any)  { r.did = "skip"; panic(r) }
