package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// BeatEvery is how often a [Server] gives a sign of life.
	BeatEvery = 5 * time.Second
	// SilentAfter is how long after its last sign of life a server is taken for
	// dead: three were missed.
	SilentAfter = 4 * BeatEvery
	// remembered is how long a server that fell silent is still told of.
	remembered = 24 * time.Hour
)

// Worker is a [Server] that has given a sign of life and did not end in order.
type Worker struct {
	// ID tells servers apart, also those of one process.
	ID string `json:"id"`
	// Host and PID say where it runs.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Places is the number of jobs that it works on at once.
	Places int `json:"places"`
	// Silence is the time since its last sign of life, by the clock of the
	// queue's server.
	Silence time.Duration `json:"-"`
}

// Alive reports whether its last sign of life is new enough.
func (w Worker) Alive() bool { return w.Silence < SilentAfter }

// aliveKey is a sorted set of workers by their last sign of life.
const aliveKey = namespace + "workers"

// beat notes a sign of life and forgets those that are too old.
var beat = redis.NewScript(`
local t = redis.call('TIME')
local now, kept = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - kept)
redis.call('PEXPIRE', KEYS[1], kept)
return 1`)

// Workers are the servers that have given a sign of life within a day and did
// not end in order, those heard last first.
func (c *Conn) Workers(ctx context.Context) ([]Worker, error) {
	pipe := c.redis.Pipeline()
	now := pipe.Time(ctx)
	all := pipe.ZRevRangeWithScores(ctx, aliveKey, 0, -1)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read which workers are alive: %w", err)
	}
	var list []Worker
	for _, z := range all.Val() {
		member, _ := z.Member.(string)
		var w Worker
		if err := json.Unmarshal([]byte(member), &w); err != nil {
			continue // of another version of the program
		}
		w.Silence = max(now.Val().Sub(time.UnixMilli(int64(z.Score))), 0)
		list = append(list, w)
	}
	return list, nil
}

// life gives signs of life until ctx ends, and then takes the worker off the
// list: it ended in order.
func (c *Conn) life(ctx context.Context, places int, every time.Duration, log *slog.Logger) {
	host, _ := os.Hostname()
	member, err := json.Marshal(Worker{ID: rand.Text(), Host: host, PID: os.Getpid(), Places: places})
	if err != nil { // strings and numbers cannot fail
		panic(err)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		err := beat.Run(ctx, c.redis, []string{aliveKey}, string(member), strconv.FormatInt(remembered.Milliseconds(), 10)).Err()
		if err != nil && ctx.Err() == nil {
			log.LogAttrs(ctx, slog.LevelDebug, "queue: no sign of life given", slog.Any("err", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.redis.ZRem(end, aliveKey, string(member)).Err() // it is forgotten by itself
}
