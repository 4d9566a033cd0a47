package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// leastMemory is what a server needs for 10,000 waiting jobs and the places of
// some thousand audits, with room to spare.
const leastMemory = 32 << 20

// Check looks at the settings of the server and returns a sentence for each
// that will make trouble, none for an embedded server or one that does not tell.
// The error is that of a server that does not answer.
func (c *Conn) Check(ctx context.Context) ([]string, error) {
	if c.IsEmbedded() {
		return nil, nil
	}
	var mu sync.Mutex
	var out []string
	look := func(ctx context.Context, r redis.Cmdable) error {
		info, err := r.Info(ctx, "memory").Result()
		if err != nil {
			if isRedisError(err) {
				return nil // a user who may not ask
			}
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		out = append(out, memoryTrouble(info)...)
		return nil
	}
	var err error
	if cluster, ok := c.redis.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, r *redis.Client) error { return look(ctx, r) })
	} else {
		err = look(ctx, c.redis)
	}
	if err != nil {
		return out, fmt.Errorf("the queue (%s) does not answer: %w", c.name, err)
	}
	return out, nil
}

// isRedisError tells a server's refusal from no answer.
func isRedisError(err error) bool {
	_, ok := err.(redis.Error)
	return ok
}

// memoryTrouble reads the section "memory" of INFO.
func memoryTrouble(info string) (out []string) {
	value := map[string]string{}
	for line := range strings.Lines(info) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			value[k] = v
		}
	}
	most, _ := strconv.ParseInt(value["maxmemory"], 10, 64) // 0 is no limit
	if most == 0 {
		return nil
	}
	if p := value["maxmemory_policy"]; p != "" && p != "noeviction" {
		out = append(out, fmt.Sprintf("the Redis server throws keys away when its memory is full (maxmemory-policy %s): audits will come late; set maxmemory-policy noeviction", p))
	}
	if most < leastMemory {
		out = append(out, fmt.Sprintf("the Redis server may use %d bytes of memory only: the queue will be full at times; set maxmemory to %d or more", most, leastMemory))
	}
	return out
}
