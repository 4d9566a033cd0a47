package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/worker"
	"agentaudit/worker/producer"
)

// pipeline is what a command knows of the workers that it will start.
type pipeline struct {
	cfg *config
	// client makes the client that visits sites, with the manners of the worker.
	client      func(cfg fetch.Config) (*fetch.Client, error)
	concurrency int
	lease       time.Duration // 0 is the worker's own
	retries     worker.Retry
	// idles says that the process waits for work most of its life: it looks for
	// it less often than one that was started to work.
	idles bool
}

// newPipeline reads the flags that say how sites are visited; retries are those
// without --no-retry.
func newPipeline(c *cli.Context, s streams, retries worker.Retry) (pipeline, error) {
	p := pipeline{concurrency: c.Int("concurrency"), lease: c.Duration("lease"), retries: retries}
	var err error
	if p.cfg, err = newConfig(c, s); err != nil {
		return p, err
	}
	if p.concurrency < 1 || p.concurrency > 10000 {
		return p, usagef("--concurrency must be between 1 and 10000")
	}
	if p.lease != 0 && (p.lease < time.Second || p.lease > time.Hour) {
		return p, usagef("--lease must be between 1s and 1h")
	}
	if c.Bool("no-retry") {
		p.retries = worker.Retry{Never: true}
	}
	if _, err = newClient(c, s, fetch.Config{}); err != nil {
		return p, err
	}
	p.client = func(cfg fetch.Config) (*fetch.Client, error) { return newClient(c, s, cfg) }
	return p, nil
}

// mannered is a worker with the places that it shares with others.
type mannered struct {
	*worker.Worker
	manners *worker.Manners
	done    func()
}

// Run works until ctx ends, and gives the places back.
func (m mannered) Run(ctx context.Context) error {
	defer m.done()
	return m.Worker.Run(ctx)
}

// worker makes the worker for a store and a queue. soleOwner says that no other
// process works on the store; observe may be nil. Workers on one Redis server
// share their manners, and what they know of robots.txt.
func (p *pipeline) worker(st *store.Store, q *queue.Conn, soleOwner bool, observe func(worker.Event)) (*mannered, error) {
	tuneMemory()
	// Who is alone keeps its manners by itself, which costs nothing.
	manners, done := worker.NewManners(nil, worker.Limits{}), func() {}
	if !soleOwner && !q.IsEmbedded() {
		places := q.NewPlaces(p.cfg.log)
		manners, done = worker.NewManners(places, worker.Limits{}), places.Close
	}
	client, err := p.client(fetch.Config{Admit: manners.Admit})
	if err != nil {
		done()
		return nil, err
	}
	var feed, check time.Duration // 0 is the worker's own
	if p.idles {
		feed, check = 500*time.Millisecond, 200*time.Millisecond
	}
	// Dead workers are looked for several times in a lease.
	reconcile := min(p.lease/3, 10*time.Second)
	w, err := worker.New(worker.Config{
		Lease: p.lease, FeedEvery: feed, CheckEvery: check, ReconcileEvery: reconcile, ForgottenAfter: reconcile, Store: st, Queue: q, Manners: manners, Concurrency: p.concurrency, Retry: p.retries, SoleOwner: soleOwner, Reach: client.Reach, Log: p.cfg.log, Observe: observe, Now: st.Now,
		Auditor: &audit.Auditor{Client: client, Robots: q.NewCache("robots", p.cfg.log), Log: p.cfg.log},
	})
	if err != nil {
		done()
		return nil, undone(err)
	}
	return &mannered{w, manners, done}, nil
}

// openQueue connects to the Redis server that --redis names, or makes a queue
// inside the process.
func openQueue(ctx context.Context, cfg *config) (*queue.Conn, error) {
	if cfg.redis == "" {
		return queue.Embedded(), nil
	}
	password, err := redisPassword(cfg.redisPasswordFile)
	if err != nil {
		return nil, err
	}
	q, err := queue.Connect(ctx, queue.Options{URL: cfg.redis, Password: password})
	if errors.Is(err, queue.ErrOptions) {
		return nil, usagef("--redis: %v", err)
	}
	if errors.Is(err, queue.ErrPassword) {
		err = fmt.Errorf("%w; set AGENTAUDIT_REDIS_PASSWORD or give --redis-password-file, and name the user, if it has one, in the address (redis://USER@HOST:PORT)", err)
	}
	var notes []string
	if err == nil {
		if notes, err = q.Check(ctx); err != nil {
			_ = q.Close()
		}
	}
	if err != nil {
		return nil, undone(fmt.Errorf("cannot use the Redis server at %s: %w", hideSecret(cfg.redis), err))
	}
	for _, n := range notes {
		cfg.log.LogAttrs(ctx, slog.LevelWarn, n)
	}
	return q, nil
}

// redisPassword is the password that does not stand in the URL: from a file,
// or from the environment alone, since command lines can be read by others.
func redisPassword(file string) (string, error) {
	if file == "" {
		return os.Getenv("AGENTAUDIT_REDIS_PASSWORD"), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", usagef("--redis-password-file: %v", err)
	}
	password := strings.TrimRight(string(b), "\r\n")
	if password == "" {
		return "", usagef("--redis-password-file %s: the file is empty", clean(file))
	}
	return password, nil
}

// tuneMemory lets garbage grow to four times what is alive, below a bound.
// Audits leave little alive and much garbage: with Go's default the collector
// takes up to half of the time that judging takes.
func tuneMemory() {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memoryBound)
}

// memoryBound is where the collector begins to work harder, in bytes.
const memoryBound = 200 << 20

// prepare connects to the queue and makes the file that --out names.
func (r *runner) prepare(ctx context.Context) error {
	var err error
	if r.q, err = openQueue(ctx, r.cfg); err != nil {
		return err
	}
	if r.out == "" {
		return nil
	}
	r.outTo, err = os.OpenFile(r.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		return nil
	}
	_ = r.q.Close()
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists already and is never overwritten; remove it, or name another file with --out", clean(r.out))
	}
	return undone(fmt.Errorf("cannot write the results: %w", err))
}

// release gives back what prepare took. A file that nothing was written to is
// not left behind.
func (r *runner) release() {
	_ = r.q.Close()
	if r.outTo != nil {
		_ = r.outTo.Close()
		_ = os.Remove(r.out)
	}
}

// work audits what is left of a batch, in this process, until the batch ends
// or ctx does.
func (r *runner) work(ctx context.Context, st *store.Store, b *store.Batch) error {
	// Options that cannot be read are better told now than with every site.
	if _, err := producer.OptionsOf(b); err != nil {
		return undone(err)
	}
	if err := st.WorkOn(b.ID); err != nil {
		return undone(err)
	}
	out, err := r.openOut(ctx, st, b)
	if err != nil {
		return err
	}
	w, err := r.worker(st, r.q, st.Sole(), out.observe)
	if err != nil {
		_ = out.close()
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	watchErr := r.watch(ctx, st, b, ended)
	stop()
	// watch hands on the worker's own end; everything else has to wait for it.
	var workErr error
	if errors.Is(watchErr, errWorkerEnded) {
		workErr, watchErr = errors.Unwrap(watchErr), nil
	} else {
		workErr = <-ended
	}
	outErr := out.close()
	switch {
	case workErr != nil:
		return undone(fmt.Errorf("the worker cannot go on: %w; %s goes on when that is put right", workErr, r.cfg.hint("run", "--resume", string(b.ID))))
	case watchErr != nil && ctx.Err() == nil:
		return undone(watchErr)
	case outErr != nil:
		return r.notWritten(outErr)
	case ctx.Err() != nil:
		r.note("stopped; %s goes on", r.cfg.hint("run", "--resume", string(b.ID)))
		return ctx.Err()
	}
	return nil
}

// notWritten is the error for the file that --out names.
func (r *runner) notWritten(err error) error {
	return undone(fmt.Errorf("the results are in the store, but not all of them in %s: %w", r.out, err))
}

// errWorkerEnded marks the end of the worker before the end of the batch.
var errWorkerEnded = errors.New("the worker ended")

type workerEnded struct{ err error }

func (e workerEnded) Error() string        { return "the worker ended" }
func (e workerEnded) Unwrap() error        { return e.err }
func (e workerEnded) Is(target error) bool { return target == errWorkerEnded }

// watch shows the progress until the batch is no longer open.
func (r *runner) watch(ctx context.Context, st *store.Store, b *store.Batch, ended <-chan error) error {
	p := newProgress(r.s.Err, r.quiet, progressOf(b), time.Now)
	defer p.end()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return workerEnded{err}
		case <-tick.C:
		}
		now, err := st.Batch(ctx, b.ID)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, store.ErrUnavailable) {
				continue // the worker waits for the database, too, and says so
			}
			return err
		}
		p.update(progressOf(now))
		if !now.State.Open() {
			return nil
		}
	}
}

func progressOf(b *store.Batch) snapshot {
	s := snapshot{done: b.Done(), total: b.Entries, outcomes: map[report.Outcome]int64{}}
	for o, n := range b.Outcomes {
		s.outcomes[o] = n.Entries
	}
	if b.State == store.StatePaused {
		s.note = "paused: " + b.Note
	}
	return s
}

// outFile writes the rows of a batch to a file as they come.
type outFile struct {
	st   *store.Store
	id   store.BatchID
	f    *os.File
	buf  *bufio.Writer
	rows rowWriter
	runs chan store.RunID
	done chan error
}

// openOut makes the file that --out names, writes what is there already, and
// is ready for more. Without --out the result does nothing.
func (r *runner) openOut(ctx context.Context, st *store.Store, b *store.Batch) (*outFile, error) {
	if r.out == "" || r.later {
		return &outFile{}, nil
	}
	format, err := outFormat(r.out)
	if err != nil {
		return nil, err
	}
	f := r.outTo
	r.outTo = nil // from here on it is the outFile's to close
	o := &outFile{st: st, id: b.ID, f: f, buf: bufio.NewWriter(f), runs: make(chan store.RunID, 4096), done: make(chan error, 1)}
	if o.rows, err = newRowWriter(format, o.buf); err != nil {
		return nil, err
	}
	if err := st.EachResult(ctx, store.Filter{Batch: b.ID}, false, o.rows.Write); err != nil {
		return nil, undone(err)
	}
	go func() { o.done <- o.write() }()
	return o, nil
}

// observe hears of every step of a run.
func (o *outFile) observe(e worker.Event) {
	if o.runs != nil && e.Kind == worker.Finished {
		o.runs <- e.Run
	}
}

// write takes finished runs until there are no more. After an error it goes on
// taking, so that nothing waits for it.
func (o *outFile) write() error {
	var failed error
	for run := range o.runs {
		if failed != nil {
			continue
		}
		// The rows of a finished run are there whatever the context says.
		page, err := o.st.Results(context.Background(), store.Filter{Batch: o.id, Run: run}, "", store.MaxPage)
		for cursor := ""; err == nil; cursor = page.Next {
			if cursor != "" {
				page, err = o.st.Results(context.Background(), store.Filter{Batch: o.id, Run: run}, cursor, store.MaxPage)
			}
			for i := 0; err == nil && i < len(page.Rows); i++ {
				err = o.rows.Write(page.Rows[i])
			}
			if err != nil || page.Next == "" {
				break
			}
		}
		if len(o.runs) == 0 && err == nil {
			err = o.buf.Flush()
		}
		failed = err
	}
	return failed
}

// close completes the file.
func (o *outFile) close() error {
	if o.f == nil {
		return nil
	}
	close(o.runs)
	return errors.Join(<-o.done, o.rows.End(), o.buf.Flush(), o.f.Close())
}
