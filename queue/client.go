package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// Enqueue puts a job into the queue. It returns false without an error if the
// queue has that task already.
func (c *Client) Enqueue(ctx context.Context, t Task) (bool, error) {
	body, err := t.encode()
	if err != nil {
		return false, fmt.Errorf("enqueue run %s: %w", t.Run, err)
	}
	_, err = c.asynq.EnqueueContext(ctx, asynq.NewTask(taskType, body),
		asynq.TaskID(t.id()), asynq.Queue(queueName(t.Class)), asynq.Timeout(c.timeout),
		// Never archived, whatever happens (see the package comment).
		asynq.MaxRetry(math.MaxInt32), asynq.Retention(0))
	switch {
	case errors.Is(err, asynq.ErrTaskIDConflict):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("enqueue run %s: %w", t.Run, err)
	}
	return true, nil
}

// enqueuers is how many tasks EnqueueAll has under way: a task costs a round
// trip, and eight at once come close to what a server can take.
const enqueuers = 8

// EnqueueAll puts many jobs into the queue and returns those that it did not
// take, with the first error. A task that is there already counts as taken.
func (c *Client) EnqueueAll(ctx context.Context, tasks []Task) (left []Task, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := 0
	for range min(enqueuers, len(tasks)) {
		wg.Go(func() {
			for {
				mu.Lock()
				if next == len(tasks) || err != nil {
					mu.Unlock()
					return
				}
				t := tasks[next]
				next++
				mu.Unlock()
				if _, e := c.Enqueue(ctx, t); e != nil {
					mu.Lock()
					left = append(left, t)
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

// Depth is what the queue holds of one class.
type Depth struct {
	// Pending jobs wait for a worker, Active ones are being worked on,
	// Scheduled and Retry wait for their time.
	Pending, Active, Scheduled, Retry int64
}

// Total is the number of jobs of all kinds.
func (d Depth) Total() int64 { return d.Pending + d.Active + d.Scheduled + d.Retry }

// Stats reads what the queue holds, in one round trip.
func (c *Conn) Stats(ctx context.Context) (map[Class]Depth, error) {
	// asynq's inspector samples the memory of keys for this, and forgets a
	// queue when the server loses its data. The names of the keys are asynq's;
	// a test compares the numbers with its own.
	pipe := c.redis.Pipeline()
	read := map[Class][4]interface{ Val() int64 }{}
	for _, class := range Classes {
		key := "asynq:{" + queueName(class) + "}:"
		read[class] = [4]interface{ Val() int64 }{
			pipe.LLen(ctx, key+"pending"), pipe.LLen(ctx, key+"active"), pipe.ZCard(ctx, key+"scheduled"), pipe.ZCard(ctx, key+"retry"),
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read what the queue holds: %w", err)
	}
	out := map[Class]Depth{}
	for class, n := range read {
		out[class] = Depth{n[0].Val(), n[1].Val(), n[2].Val(), n[3].Val()}
	}
	return out, nil
}
