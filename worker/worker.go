package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/queue"
	"agentaudit/store"
)

// Auditor makes one attempt at a site. The error is not nil only where ctx
// ended. An [*audit.Auditor] is one; it must have been given [Manners.Admit]
// through its fetch client.
type Auditor interface {
	Audit(ctx context.Context, at audit.Attempt) (audit.Judgement, error)
}

// Runs is what a worker needs of the store.
type Runs interface {
	ClaimRun(ctx context.Context, id store.RunID, worker string, lease time.Duration) (*store.Claim, error)
	FinishRun(ctx context.Context, c *store.Claim, r *report.Result) error
	RetryRun(ctx context.Context, c *store.Claim, due time.Time, kept *report.Result) error
	ReleaseRun(ctx context.Context, c *store.Claim, due time.Time) error
	Halted(ctx context.Context, claims []*store.Claim) ([]*store.Claim, error)
	RenewLeases(ctx context.Context, claims []*store.Claim, lease time.Duration) (int64, error)
	ResetRunning(ctx context.Context) (int64, error)
	ExpireLeases(ctx context.Context) (int64, error)
	TakeDue(ctx context.Context, class store.Class, limit int) ([]store.Due, error)
	Unqueue(ctx context.Context, runs []store.Due) error
	Unclaimed(ctx context.Context, class store.Class, before time.Time) ([]store.Due, error)
	HandOverAgain(ctx context.Context, runs []store.Due, before time.Time) ([]store.Due, error)
	Load(ctx context.Context) (store.Load, error)
	Batch(ctx context.Context, id store.BatchID) (*store.Batch, error)
	OpenBatches(ctx context.Context, limit int) ([]store.Batch, error)
	PauseBatch(ctx context.Context, id store.BatchID, note string) error
	ResumeBatch(ctx context.Context, id store.BatchID) error
}

// Config is what a worker is made of; zero values stand for the defaults given.
type Config struct {
	// Store, Queue and Auditor are required. How a site is audited stands in the
	// options of its batch ([audit.DecodeOptions]), read with every claim; where
	// they cannot be read, the run ends as our own fault.
	Store   Runs
	Queue   *queue.Conn
	Auditor Auditor
	// Manners are those that the auditor's client asks; nil means none, which
	// is for tests only.
	Manners *Manners
	// Name tells workers apart; it must not be used twice at a time. Empty
	// makes one of host name, process and chance.
	Name string
	// SoleOwner says that no other worker uses the store: what the last one left
	// under way is put back when Run begins, not when its leases end.
	SoleOwner bool
	// Concurrency is the number of audits at once; 0 is 64.
	Concurrency int
	// Retry says when to try again; the zero value is [RetryWorkers].
	Retry Retry
	// Depth is the largest number of runs handed to the queue and not claimed,
	// over all batches; 0 is 10,000, with an embedded queue four times
	// Concurrency, at least 500 and at most [queue.EmbeddedDepth].
	Depth int
	// Lease is how long a claim holds without a sign of life; 0 is one minute.
	// It is renewed at a third of that.
	Lease time.Duration
	// Grace is how long Run waits for audits under way when it is told to stop;
	// 0 is 30 s.
	Grace time.Duration
	// RunTimeout bounds one audit by the wall clock, agents.txt and scan included;
	// 0 is three minutes, far more than the budgets of all three.
	RunTimeout time.Duration
	// Stubborn is how much longer than RunTimeout an audit may take to return
	// before it is left behind; 0 is 10 s.
	Stubborn time.Duration
	// MaxParked bounds the runs that wait in memory for a busy host or address;
	// 0 is four times Concurrency, at least 256.
	MaxParked int
	// MaxLost is the number of workers that one run may take with it before it
	// is given up as our own fault; 0 is 20.
	MaxLost int
	// FeedEvery is how often due runs are looked for; 0 is 250 ms.
	FeedEvery time.Duration
	// ReconcileEvery is how often lost runs are looked for; 0 is 10 s.
	ReconcileEvery time.Duration
	// ForgottenAfter is how long a run must have been in the queue before it
	// can count as forgotten there; 0 is 10 s.
	ForgottenAfter time.Duration
	// Reach tries whether a host can be reached at all, as [fetch.Client.Reach]
	// does, when many hosts fail in the way in which our own network fails. nil
	// takes every failure for the site's.
	Reach func(ctx context.Context, host string) error
	// DoubtEvery is how often it is decided about failures that may be our
	// network's; 0 is 500 ms.
	DoubtEvery time.Duration
	// ProbeEvery is how often a network that is down is tried, in the beginning;
	// 0 is 5 s.
	ProbeEvery time.Duration
	// CheckEvery is how often an idle queue is asked for jobs; 0 is 80 ms.
	CheckEvery time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log hears one line for each run that ends, at level debug, and of trouble
	// at higher levels; nil is silence.
	Log *slog.Logger
	// Observe, if not nil, hears of every step of a run, one call at a time. It
	// must return soon.
	Observe func(Event)
}

// Event is one step in the life of a run, for progress displays.
type Event struct {
	Kind    EventKind
	Run     store.RunID
	Target  string
	Attempt int
	// Result is that of the attempt, nil for Started.
	Result *report.Result
	// Due is when the next attempt is due, for Retried.
	Due time.Time
}

// EventKind says what happened to a run.
type EventKind int

const (
	// Started: an attempt begins.
	Started EventKind = iota
	// Retried: the attempt was not final.
	Retried
	// Finished: the final result is in the store.
	Finished
)

// Worker audits the runs of batches. It is made by [New] and runs once.
type Worker struct {
	c      Config
	log    *slog.Logger
	client *queue.Client
	server *queue.Server
	slots  slots
	lot    *lot
	guard  *guard

	// stopping ends the taking of new work, work ends what is under way.
	stopping chan struct{}
	stopOnce sync.Once
	work     context.Context
	endWork  context.CancelFunc
	inFlight sync.WaitGroup
	enterMu  sync.Mutex    // between stopping and inFlight
	kick     chan struct{} // wakes the feeder

	heldMu sync.Mutex
	held   map[*store.Claim]bool

	observeMu sync.Mutex
	fatalOnce sync.Once
	fatal     chan error
}

// New makes a worker. The error says which field of the configuration is
// unusable.
func New(c Config) (*Worker, error) {
	if c.Store == nil || c.Queue == nil || c.Auditor == nil {
		return nil, errors.New("worker: Store, Queue and Auditor are required")
	}
	if c.Manners == nil {
		c.Manners = NewManners(nil, Limits{Host: -1, Address: -1})
	}
	if c.Name == "" {
		host, _ := os.Hostname() // only a name
		c.Name = fmt.Sprintf("%s-%d-%06x", host, os.Getpid(), rand.N(1<<24))
	}
	if c.Retry.Delays == nil && !c.Retry.Never {
		c.Retry = RetryWorkers
	}
	number := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	number(&c.Concurrency, 64)
	if c.Queue.IsEmbedded() {
		number(&c.Depth, min(max(4*c.Concurrency, 500), queue.EmbeddedDepth))
	}
	number(&c.Depth, 10_000)
	number(&c.MaxParked, max(4*c.Concurrency, 256))
	number(&c.MaxLost, 20)
	duration := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	duration(&c.Lease, time.Minute)
	duration(&c.Grace, 30*time.Second)
	duration(&c.RunTimeout, 3*time.Minute)
	duration(&c.Stubborn, 10*time.Second)
	duration(&c.FeedEvery, 250*time.Millisecond)
	duration(&c.ReconcileEvery, 10*time.Second)
	duration(&c.ForgottenAfter, 10*time.Second)
	duration(&c.DoubtEvery, 500*time.Millisecond)
	duration(&c.ProbeEvery, 5*time.Second)
	duration(&c.CheckEvery, 80*time.Millisecond)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	w := &Worker{
		c: c, log: c.Log.With("worker", c.Name), client: c.Queue.NewClient(0),
		stopping: make(chan struct{}), kick: make(chan struct{}, 1), fatal: make(chan error, 1), held: map[*store.Claim]bool{},
	}
	w.slots.init(c.Concurrency)
	w.lot = newLot(c.MaxParked)
	w.guard = newGuard()
	c.Manners.listen(w.wake)
	w.work, w.endWork = context.WithCancel(context.Background())
	w.server = c.Queue.NewServer(queue.ServerConfig{
		Handler: w.handle,
		// A few more than slots: they claim what is then parked, and wait.
		Concurrency: c.Concurrency + 2,
		CheckEvery:  c.CheckEvery,
		Grace:       time.Second, // by then nothing is under way any more
		Log:         w.log,
	})
	return w, nil
}

// InFlight is the number of audits under way, Parked that of runs which wait in
// memory for a busy host or address.
func (w *Worker) InFlight() int { return w.c.Concurrency - len(w.slots.free) }

// Parked: see [Worker.InFlight].
func (w *Worker) Parked() int {
	w.lot.mu.Lock()
	defer w.lot.mu.Unlock()
	return w.lot.parked
}

// Name is the name under which the worker claims runs.
func (w *Worker) Name() string { return w.c.Name }

// Run works until ctx ends, and then stops in order: it takes no more, waits
// for what is under way, at most for the grace period, gives back the rest and
// returns nil. It returns an error only where nothing more can be done: the
// queue cannot be served, or the store takes no writes ([store.ErrFull],
// [store.ErrReadOnly]).
func (w *Worker) Run(ctx context.Context) error {
	defer w.endWork()
	if w.c.SoleOwner {
		n, err := w.c.Store.ResetRunning(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // told to stop before anything was begun
		case err != nil:
			return err
		}
		if n > 0 {
			w.log.LogAttrs(ctx, slog.LevelInfo, "going on with runs that were under way", slog.Int64("runs", n))
		}
	}
	if err := w.server.Start(); err != nil {
		return err
	}
	w.log.LogAttrs(ctx, slog.LevelDebug, "worker started", slog.Int("concurrency", w.c.Concurrency), slog.String("queue", w.c.Queue.String()))
	// The loops end before what is under way does.
	loops, endLoops := context.WithCancel(context.WithoutCancel(ctx))
	defer endLoops()
	var wg sync.WaitGroup
	wg.Go(func() { w.feed(loops) })
	wg.Go(func() { w.reconcile(loops) })
	wg.Go(func() { w.sweep(loops) })
	wg.Go(func() { w.watchNetwork(loops) })
	// Leases are renewed to the very end.
	renewals, endRenewals := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() { w.renew(renewals) })

	var err error
	select {
	case <-ctx.Done():
	case err = <-w.fatal:
		w.log.LogAttrs(ctx, slog.LevelError, "worker cannot go on", slog.Any("err", err))
	}
	w.stopOnce.Do(func() {
		w.enterMu.Lock()
		defer w.enterMu.Unlock()
		close(w.stopping)
	})
	// From here on the grace period runs, whatever the store and the queue do.
	over := time.AfterFunc(w.c.Grace, func() {
		w.log.LogAttrs(w.work, slog.LevelInfo, "giving back what did not end within the grace period")
		w.endWork()
	})
	defer over.Stop()
	w.server.Stop()
	endLoops()
	wg.Wait()
	// What waits goes back at once, and with it what nobody will know about any
	// more; nothing is lost by another attempt.
	w.releaseAll(slices.Concat(w.lot.empty(), w.slots.abandon(), runsOf(w.guard.all())))
	w.drain()
	w.releaseAll(runsOf(w.guard.all())) // what slipped in at the last moment
	w.server.Shutdown()
	endRenewals()
	renewing.Wait()
	return err
}

// drain waits for what is under way: until it ends, and when the grace period
// is over for as long as the last writes may take.
func (w *Worker) drain() {
	done := make(chan struct{})
	go func() {
		w.inFlight.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-w.work.Done():
	}
	select {
	case <-done:
	case <-time.After(lastWrite): // their leases will end
	}
}

func (w *Worker) isStopping() bool {
	select {
	case <-w.stopping:
		return true
	default:
		return false
	}
}

// fail stops the worker when the store can take no more.
func (w *Worker) fail(err error) bool {
	if !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrReadOnly) {
		return false
	}
	w.fatalOnce.Do(func() { w.fatal <- err })
	return true
}

func (w *Worker) observe(e Event) {
	if w.c.Observe == nil {
		return
	}
	w.observeMu.Lock()
	defer w.observeMu.Unlock()
	w.c.Observe(e)
}

// hold notes that a claim is in this worker's hands, or no longer.
func (w *Worker) hold(c *store.Claim, held bool) {
	w.heldMu.Lock()
	defer w.heldMu.Unlock()
	if held {
		w.held[c] = true
	} else {
		delete(w.held, c)
	}
}

// renew keeps the leases of what this worker holds.
func (w *Worker) renew(ctx context.Context) {
	for pause(ctx, w.c.Lease/3) {
		w.heldMu.Lock()
		claims := slices.Collect(maps.Keys(w.held))
		w.heldMu.Unlock()
		if _, err := w.c.Store.RenewLeases(ctx, claims, w.c.Lease); err != nil && ctx.Err() == nil {
			w.log.LogAttrs(ctx, slog.LevelWarn, "leases not renewed", slog.Any("err", err))
		}
	}
}

// pause waits for d; it returns false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
