package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// Client puts jobs into the queue. It is safe for concurrent use.
type Client struct {
	conn  *Conn
	asynq *asynq.Client
	// Timeout bounds the work on one job; asynq cancels its context then.
	timeout time.Duration
}

// DefaultTimeout bounds the work on one job: far more than an audit may take,
// so that only a bug meets it.
const DefaultTimeout = 10 * time.Minute

// NewClient makes a client; timeout bounds the work on one job, 0 is
// [DefaultTimeout].
func (c *Conn) NewClient(timeout time.Duration) *Client {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return &Client{conn: c, asynq: asynq.NewClientFromRedisClient(c.redis), timeout: timeout}
}

// Enqueue puts a run into the queue. It returns false without an error if the
// queue has that task already.
func (c *Client) Enqueue(ctx context.Context, t Task) (bool, error) {
	return c.enqueue(ctx, queueName(t.Class), []Task{t})
}

func (c *Client) enqueue(ctx context.Context, queue string, tasks []Task) (bool, error) {
	runs := make([]string, len(tasks))
	for i, t := range tasks {
		runs[i] = t.Run
	}
	failed := func(err error) error { return fmt.Errorf("enqueue run %s: %w", strings.Join(runs, ", "), err) }
	body, err := Job{Runs: runs}.encode()
	if err != nil {
		return false, failed(err)
	}
	_, err = c.asynq.EnqueueContext(ctx, asynq.NewTask(taskType, body),
		asynq.TaskID(idOf(tasks)), asynq.Queue(queue), asynq.Timeout(c.timeout),
		// Never archived, whatever happens (see the package comment).
		asynq.MaxRetry(math.MaxInt32), asynq.Retention(0))
	switch {
	case errors.Is(err, asynq.ErrTaskIDConflict):
		return false, nil
	case err != nil:
		return false, failed(err)
	}
	return true, nil
}

// enqueuers is how many jobs EnqueueAll has under way: a job costs a round
// trip, and eight at once come close to what a server can take.
const enqueuers = 8

// EnqueueAll puts many runs into the queue, each as a job, and returns those
// that it did not take, with the first error. A task that is there already
// counts as taken.
func (c *Client) EnqueueAll(ctx context.Context, tasks []Task) (left []Task, err error) {
	return c.enqueueAll(ctx, tasks, 1)
}

// EnqueueGroups is EnqueueAll for runs of the class [Bulk], [GroupSize] to a
// job while there are as many. The token of a task keeps only the same group
// from being taken twice.
func (c *Client) EnqueueGroups(ctx context.Context, tasks []Task) (left []Task, err error) {
	whole := len(tasks) / GroupSize * GroupSize
	left, err = c.enqueueAll(ctx, tasks[:whole], GroupSize)
	if err != nil {
		return append(left, tasks[whole:]...), err
	}
	return c.enqueueAll(ctx, tasks[whole:], 1)
}

func (c *Client) enqueueAll(ctx context.Context, tasks []Task, size int) (left []Task, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := 0
	for range min(enqueuers, len(tasks)/size) {
		wg.Go(func() {
			for {
				mu.Lock()
				if next == len(tasks) || err != nil {
					mu.Unlock()
					return
				}
				job := tasks[next : next+size]
				next += size
				mu.Unlock()
				name := groupQueue
				if size == 1 {
					name = queueName(job[0].Class)
				}
				if _, e := c.enqueue(ctx, name, job); e != nil {
					mu.Lock()
					left = append(left, job...)
					if err == nil {
						err = e
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return append(left, tasks[next:]...), err
}

// namespace keeps our queues apart from those of other programs on the server.
const namespace = "agentaudit-"

func queueName(c Class) string { return namespace + string(c) }

// groupQueue holds the jobs with [GroupSize] runs of the class [Bulk]: apart, so
// that the length of a queue tells how many runs it holds.
const groupQueue = namespace + "groups"

// Depth is what the queue holds of one class, in runs.
type Depth struct {
	// Pending ones wait for a worker, Scheduled and Retry for their time. Active
	// ones are those of jobs that a worker has in hand, claimed or done or not yet.
	Pending, Active, Scheduled, Retry int64
}

// Total is the sum of all.
func (d Depth) Total() int64 { return d.Pending + d.Active + d.Scheduled + d.Retry }

// Stats reads what the queue holds, in one round trip.
func (c *Conn) Stats(ctx context.Context) (map[Class]Depth, error) {
	// asynq's inspector samples the memory of keys for this, and forgets a
	// queue when the server loses its data. The names of the keys are asynq's;
	// a test compares the numbers with its own.
	pipe := c.redis.Pipeline()
	type counts [4]interface{ Val() int64 }
	ask := func(queue string) counts {
		key := "asynq:{" + queue + "}:"
		return counts{pipe.LLen(ctx, key+"pending"), pipe.LLen(ctx, key+"active"), pipe.ZCard(ctx, key+"scheduled"), pipe.ZCard(ctx, key+"retry")}
	}
	read := map[Class]counts{}
	for _, class := range Classes {
		read[class] = ask(queueName(class))
	}
	groups := ask(groupQueue)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read what the queue holds: %w", err)
	}
	out := map[Class]Depth{}
	for class, n := range read {
		out[class] = Depth{n[0].Val(), n[1].Val(), n[2].Val(), n[3].Val()}
	}
	d := out[Bulk]
	out[Bulk] = Depth{d.Pending + GroupSize*groups[0].Val(), d.Active + GroupSize*groups[1].Val(),
		d.Scheduled + GroupSize*groups[2].Val(), d.Retry + GroupSize*groups[3].Val()}
	return out, nil
}
