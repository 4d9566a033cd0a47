package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hibiken/asynq"
)

// Handler works on one job; the package comment says what its error means. ctx
// ends when the job's time is up, or when a server that stops has waited for
// its grace period: the job is then handed out again, and the handler must
// end without further writes that are not fenced.
type Handler func(ctx context.Context, j Job) error

// ServerConfig are the settings of a server.
type ServerConfig struct {
	Handler Handler
	// Concurrency is the number of jobs worked on at once; 0 is 16.
	Concurrency int
	// CheckEvery is how often an idle server looks for jobs; 0 is 80 ms: twice
	// that is the longest a job waits, and looking costs less than 1 % of a core.
	CheckEvery time.Duration
	// DelayedEvery is how often jobs are looked for whose time has come; 0 is 1 s.
	DelayedEvery time.Duration
	// Grace is how long Shutdown waits for jobs under way before it gives them
	// back; 0 is 30 s.
	Grace time.Duration
	// beatEvery is how often a sign of life is given; 0 is BeatEvery.
	beatEvery time.Duration
	// Log hears of trouble; nil is silence.
	Log *slog.Logger
}

// Server takes jobs out of the queue. It does not listen to signals.
type Server struct {
	asynq   *asynq.Server
	handler Handler
	log     *slog.Logger
	// live gives signs of life until silence is called, and died is closed.
	live    func(ctx context.Context)
	silence context.CancelFunc
	died    chan struct{}
}

// NewServer makes a server that takes jobs of all classes.
func (c *Conn) NewServer(o ServerConfig) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 16
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.CheckEvery, 80*time.Millisecond)
	def(&o.DelayedEvery, time.Second)
	def(&o.Grace, 30*time.Second)
	def(&o.beatEvery, BeatEvery)
	s := &Server{handler: o.Handler, log: o.Log}
	s.live = func(ctx context.Context) { c.life(ctx, o.Concurrency, o.beatEvery, o.Log) }
	queues := map[string]int{groupQueue: weights[Bulk]}
	for class, w := range weights {
		queues[queueName(class)] = w
	}
	s.asynq = asynq.NewServerFromRedisClient(c.redis, asynq.Config{
		Concurrency: o.Concurrency,
		Queues:      queues,
		// Not a context that a signal ends: work under way goes on.
		BaseContext:              context.Background,
		TaskCheckInterval:        o.CheckEvery,
		DelayedTaskCheckInterval: o.DelayedEvery,
		ShutdownTimeout:          o.Grace,
		RetryDelayFunc:           func(_ int, err error, _ *asynq.Task) time.Duration { return delayOf(err) },
		IsFailure:                func(error) bool { return false },
		Logger:                   asynqLog{o.Log},
		LogLevel:                 asynq.InfoLevel,
	})
	return s
}

// Start begins to take jobs and returns.
func (s *Server) Start() error {
	if err := s.asynq.Start(asynq.HandlerFunc(s.process)); err != nil {
		return fmt.Errorf("start to take jobs: %w", err)
	}
	ctx, silence := context.WithCancel(context.Background())
	s.silence, s.died = silence, make(chan struct{})
	go func() {
		defer close(s.died)
		s.live(ctx)
	}()
	return nil
}

// Stop takes no more jobs; those under way go on.
func (s *Server) Stop() { s.asynq.Stop() }

// Shutdown takes no more jobs and waits for those under way, at most for the
// grace period; what has not ended then goes back into the queue and its
// context is cancelled.
func (s *Server) Shutdown() {
	s.asynq.Shutdown()
	if s.silence == nil {
		return // it never started
	}
	s.silence()
	select {
	case <-s.died:
	case <-time.After(2 * time.Second): // the queue does not answer
	}
}

func (s *Server) process(ctx context.Context, t *asynq.Task) (err error) {
	job, err := decodeJob(t.Payload())
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "job dropped", slog.Any("err", err))
		return asynq.RevokeTask
	}
	job.Class = Bulk
	if name, _ := asynq.GetQueueName(ctx); name == queueName(Small) {
		job.Class = Small
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "panic while working on a job", slog.Any("runs", job.Runs),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	err = s.handler(ctx, job)
	if permanent(err) {
		s.log.LogAttrs(ctx, slog.LevelError, "job dropped", slog.Any("runs", job.Runs), slog.Any("err", err))
		return errors.Join(err, asynq.RevokeTask)
	}
	return err
}

// asynqLog passes on what asynq has to say. Its notes on starting and stopping
// are of no interest to a user.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) say(level slog.Level, args []any) {
	l.log.LogAttrs(context.Background(), level, "queue: "+strings.TrimSpace(fmt.Sprint(args...)))
}

func (l asynqLog) Debug(args ...any) { l.say(slog.LevelDebug-4, args) }
func (l asynqLog) Info(args ...any)  { l.say(slog.LevelDebug, args) }
func (l asynqLog) Warn(args ...any)  { l.say(slog.LevelDebug, args) }
func (l asynqLog) Error(args ...any) { l.say(slog.LevelError, args) }

// Fatal must not end the process, as asynq's own logger would.
func (l asynqLog) Fatal(args ...any) { l.say(slog.LevelError+4, args) }
