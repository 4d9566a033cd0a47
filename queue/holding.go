package queue

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Holding is the set of tasks that the queue holds: that wait in it, or are in
// the hands of a worker.
type Holding struct{ ids map[string]struct{} }

// Has says whether a task is there, whatever its class.
func (h Holding) Has(run string, token int64) bool {
	_, ok := h.ids[Task{Run: run, Token: token}.id()]
	return ok
}

// tasksOf lists the ids of a queue's jobs, all at one moment: between its lists
// a job is nowhere. The keys are asynq's, see [Conn.Stats].
var tasksOf = redis.NewScript(`
local all = {}
for i = 1, 4 do
  local some = i <= 2 and redis.call('LRANGE', KEYS[i], 0, -1) or redis.call('ZRANGE', KEYS[i], 0, -1)
  for _, id in ipairs(some) do all[#all + 1] = id end
end
return all`)

// Holding reads which tasks the queue holds. A task that is there all the time
// is in the answer.
func (c *Conn) Holding(ctx context.Context) (Holding, error) {
	h := Holding{map[string]struct{}{}}
	names := []string{groupQueue}
	for _, class := range Classes {
		names = append(names, queueName(class))
	}
	for _, name := range names {
		key := "asynq:{" + name + "}:"
		jobs, err := tasksOf.Run(ctx, c.redis, []string{key + "pending", key + "active", key + "scheduled", key + "retry"}).StringSlice()
		if err != nil {
			return Holding{}, fmt.Errorf("read which runs the queue holds: %w", err)
		}
		for _, job := range jobs {
			for id := range strings.SplitSeq(job, idSeparator) {
				h.ids[id] = struct{}{}
			}
		}
	}
	return h, nil
}
