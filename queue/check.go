package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// leastMemory is what a server needs for 10,000 waiting jobs and the places of
// some thousand audits, with room to spare.
const leastMemory = 32 << 20

// Check looks at the server before it is used: the error says why it cannot be
// ([Conn.Usable]). The sentences are about what will make trouble, none for an
// embedded server.
func (c *Conn) Check(ctx context.Context) ([]string, error) {
	if c.IsEmbedded() {
		return nil, nil
	}
	cluster, isCluster := c.redis.(*redis.ClusterClient)
	// A cluster of one node does everything until there are two.
	if !isCluster && c.redis.ClusterInfo(ctx).Err() == nil {
		return nil, c.trouble(errClusterNode)
	}
	var out []string
	if err := c.Usable(ctx); IsFull(err) {
		out = append(out, err.Error()) // it will not be for ever
	} else if err != nil {
		return nil, err
	}
	if err := c.subscribe(ctx); err != nil {
		return out, err
	}
	var mu sync.Mutex
	note := func(text string) { // once for all nodes
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	look := func(ctx context.Context, r redis.Cmdable) error {
		var info string
		for _, section := range []string{"memory", "replication"} {
			text, err := r.Info(ctx, section).Result()
			if isRedisError(err) {
				note(fmt.Sprintf("nobody knows whether the Redis server throws keys away when its memory is full, because it does not answer INFO (%v); the right for it is: ACL SETUSER %s +info", err, c.user()))
				return nil
			}
			if err != nil {
				return c.trouble(err)
			}
			info += text + "\n"
		}
		value := infoValues(info)
		if value["role"] == "slave" {
			return c.trouble(errReplica)
		}
		for _, text := range memoryTrouble(value) {
			note(text)
		}
		return nil
	}
	var err error
	if isCluster {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, r *redis.Client) error { return look(ctx, r) })
	} else {
		err = look(ctx, c.redis)
	}
	return out, err
}

// serverError is what a server would say.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

const (
	errClusterNode = serverError("MOVED")
	// A replica that takes writes loses them.
	errReplica = serverError("READONLY")
)

// subscribe tries what asynq needs a connection of its own for.
func (c *Conn) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s := c.redis.Subscribe(ctx, "asynq:cancel")
	defer s.Close()
	_, err := s.Receive(ctx)
	if redis.HasErrorPrefix(err, "NOPERM") {
		var r refusals
		r.add(trial{args: []any{"SUBSCRIBE"}}, err)
		return c.lacks(&r)
	}
	if err != nil {
		return c.trouble(err)
	}
	return nil
}

// isRedisError tells a server's refusal from no answer.
func isRedisError(err error) bool {
	_, ok := err.(redis.Error)
	return ok
}

// infoValues reads what INFO says.
func infoValues(info string) map[string]string {
	value := map[string]string{}
	for line := range strings.Lines(info) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			value[k] = v
		}
	}
	return value
}

// memoryTrouble looks at the section "memory" of INFO.
func memoryTrouble(value map[string]string) (out []string) {
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
