package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Rights are what a user of the Redis server needs, as ACL SETUSER takes them:
// the keys of asynq and our own, asynq's channel, and no command that looks after
// the server but INFO, by which its settings are checked.
const Rights = "~asynq:* ~" + namespace + "* &asynq:* +@all -@dangerous +info"

// ErrPassword is the error of a server that wants a password and got none, or
// another one.
var ErrPassword = errors.New("password not accepted")

// trial is one thing that workers do with the server, with keys that nobody
// else uses or in a way that changes nothing.
type trial struct {
	keys string // the pattern that the keys match, "" without keys
	args []any
}

const tryScript = `return redis.call('SET', KEYS[1], 1, 'PX', 1000)`

// trials are what [Conn.Usable] does: every kind of command that asynq and this
// package use, keys of all kinds, and a script.
var trials = func() (all []trial) {
	add := func(pattern string, args ...any) { all = append(all, trial{pattern, args}) }
	ours, asynqs := namespace+"*", "asynq:*"
	for _, pattern := range []string{ours, asynqs} {
		key := namespace + "check:{check}:"
		if pattern == asynqs {
			key = "asynq:{" + namespace + "check}:"
		}
		for _, line := range []string{
			"SET k 1 PX 1000", "GET k", "INCR k", "EXISTS k", "PEXPIRE k 1000", "PTTL k",
			"ZADD z 1 m", "ZCARD z", "ZSCORE z m", "ZRANGE z 0 1", "ZREVRANGE z 0 1", "ZRANGEBYSCORE z 0 1", "ZREMRANGEBYSCORE z 0 1", "ZREM z m",
			"LPUSH l m", "RPUSH l m", "LLEN l", "LRANGE l 0 1", "LREM l 1 m", "RPOPLPUSH l l",
			"HSET h f 1", "HGET h f", "HDEL h f", "SADD s m", "SISMEMBER s m", "SREM s m",
		} {
			args := []any{}
			for i, word := range strings.Fields(line) {
				if i == 1 || line == "RPOPLPUSH l l" && i == 2 {
					word = key + word
				}
				args = append(args, word)
			}
			add(pattern, args...)
		}
		add(pattern, "EVAL", tryScript, 1, key+"k")
		for _, k := range []string{"k", "z", "l", "h", "s"} {
			add(pattern, "DEL", key+k)
		}
	}
	// Keys that are shared, and nothing in them.
	add(asynqs, "SREM", "asynq:queues", namespace+"check")
	add(asynqs, "SMEMBERS", "asynq:queues")
	add(asynqs, "ZREM", "asynq:servers", namespace+"check")
	add(asynqs, "ZREM", "asynq:workers", namespace+"check")
	add(ours, "ZREM", aliveKey, namespace+"check")
	add("", "EVALSHA", strings.Repeat("0", 40), 0)
	add("", "TIME")
	add("", "PUBLISH", "asynq:cancel", namespace+"check")
	return all
}()

// Usable reports whether the server answers and does what workers need of it:
// writes and scripts under the keys that they use. It costs one round trip. The
// error says what is in the way and what to do; it wraps [ErrPassword] where that
// is it.
func (c *Conn) Usable(ctx context.Context) error {
	if c.IsEmbedded() {
		return c.Ping(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	pipe := c.redis.Pipeline()
	cmds := make([]*redis.Cmd, len(trials))
	for i, t := range trials {
		cmds[i] = pipe.Do(ctx, t.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var refused refusals
	for i, cmd := range cmds {
		switch err := cmd.Err(); {
		case err == nil, errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "NOSCRIPT"):
		case redis.HasErrorPrefix(err, "NOPERM"):
			refused.add(trials[i], err)
		default:
			return c.trouble(err)
		}
	}
	if refused.String() != "" {
		return c.lacks(&refused)
	}
	return nil
}

// lacks is the error for a user without the rights that workers need.
func (c *Conn) lacks(r *refusals) error {
	user := c.user()
	return fmt.Errorf("the user %q of the queue's server (%s) %s; give it the rights that it needs: ACL SETUSER %s %s", user, c.name, r, user, Rights)
}

// user is whom the server knows the client as.
func (c *Conn) user() string {
	name := ""
	switch r := c.redis.(type) {
	case *redis.Client:
		name = r.Options().Username
	case *redis.ClusterClient:
		name = r.Options().Username
	}
	if name == "" {
		return "default"
	}
	return name
}

// refusals are trials that a user may not do.
type refusals struct{ commands, keys []string }

func (r *refusals) add(t trial, err error) {
	name, _ := t.args[0].(string)
	add := func(list *[]string, what string) {
		if !slices.Contains(*list, what) {
			*list = append(*list, what)
		}
	}
	switch text := err.Error(); {
	case strings.Contains(text, "channel"):
		add(&r.keys, "the channels asynq:*")
	case strings.Contains(text, "command"):
		add(&r.commands, name)
	default:
		add(&r.keys, "the keys "+t.keys)
	}
}

// String says what is refused, "" for nothing.
func (r *refusals) String() string {
	var parts []string
	if n := len(r.commands); n > 5 {
		parts = append(parts, fmt.Sprintf("may not run %s and %d other commands", strings.Join(r.commands[:5], ", "), n-5))
	} else if n > 0 {
		parts = append(parts, "may not run "+strings.Join(r.commands, ", "))
	}
	if len(r.keys) > 0 {
		slices.Sort(r.keys)
		parts = append(parts, "may not use "+strings.Join(r.keys, " and "))
	}
	return strings.Join(parts, " and ")
}

// trouble says in plain words what an error of the server is about.
func (c *Conn) trouble(err error) error {
	is := func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }
	switch {
	case is("MOVED"), is("CROSSSLOT"), is("ASK"):
		return fmt.Errorf("the queue's server (%s) is one node of a cluster: write redis-cluster:// for redis:// in its address", c.name)
	case is("READONLY"):
		return fmt.Errorf("the queue's server (%s) is a replica, which takes no writes: name its master, or write redis-sentinel://…?master_name=NAME, which finds the master", c.name)
	case is("NOAUTH"):
		return fmt.Errorf("%w: the queue's server (%s) wants a password and was given none", ErrPassword, c.name)
	case is("WRONGPASS"):
		return fmt.Errorf("%w: the queue's server (%s) knows no user %q with this password", ErrPassword, c.name, c.user())
	case IsFull(err):
		return fmt.Errorf("the memory of the queue's server (%s) is full: raise its maxmemory, or remove what else is in it: %w", c.name, err)
	case isRedisError(err):
		return fmt.Errorf("the queue's server (%s) refuses to work: %w", c.name, err)
	}
	return fmt.Errorf("the queue (%s) does not answer: %w", c.name, err)
}
