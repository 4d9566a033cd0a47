package queue

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// EmbeddedDepth is the number of waiting jobs up to which the embedded server
// is quick: it copies its lists with every job.
const EmbeddedDepth = 5000

// Conn is a connection to the queue's server, shared by clients and servers. It
// is safe for concurrent use.
type Conn struct {
	redis    redis.UniversalClient
	embedded *miniredis.Miniredis
	name     string

	mu     sync.Mutex
	places []*Places // to be closed with the connection
}

// quiet silences go-redis, which would write to standard error by itself: all
// that it has to say comes back as errors.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Connect connects to a Redis server and makes sure that it answers. The error
// wraps [ErrOptions] for options that cannot be right, and [ErrPassword] for a
// password that is wrong or missing.
func Connect(ctx context.Context, o Options) (*Conn, error) {
	quiet()
	client, name, err := o.open()
	if err != nil {
		return nil, err
	}
	c := &Conn{redis: client, name: name}
	if err := c.Ping(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Embedded starts a server inside the process. It has no port and no file:
// nobody else can reach it, and what waits in it ends with the process.
func Embedded() *Conn { return embedded() }

// embedded takes hooks that see every command, also those not sent.
func embedded(hooks ...redis.Hook) *Conn {
	quiet()
	m := miniredis.NewMiniRedis()
	r := redis.NewClient(&redis.Options{
		Addr:            "embedded",
		Dialer:          func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
		Protocol:        2,
		DisableIdentity: true,
		// A pipe cannot lose what is written to it, so there is nothing to
		// try again, and no connection grows stale.
		MaxRetries:               -1,
		ConnMaxIdleTime:          -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	for _, h := range hooks {
		r.AddHook(h)
	}
	r.AddHook(emptyQueues{m})
	return &Conn{embedded: m, name: "embedded", redis: r}
}

// emptyQueues answers the question for a job of a class without one. asynq
// asks class by class, and several times a second when idle; each answer by
// the embedded server is a Lua script in an interpreter, the dearest part of a
// job.
type emptyQueues struct{ m *miniredis.Miniredis }

func (emptyQueues) DialHook(next redis.DialHook) redis.DialHook { return next }

func (emptyQueues) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (e emptyQueues) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if key := dequeues(cmd.Args()); key != "" && !e.m.Exists(key) {
			cmd.SetErr(redis.Nil) // as the script itself answers
			return redis.Nil
		}
		return next(ctx, cmd)
	}
}

// dequeues recognises asynq's script that takes a job, "evalsha SHA 4 PENDING
// PAUSED ACTIVE LEASE now", and returns the key of the list it takes from.
func dequeues(args []any) string {
	if len(args) < 7 || args[0] != "evalsha" || args[2] != 4 {
		return ""
	}
	pending, ok1 := args[3].(string)
	lease, ok2 := args[6].(string)
	if ok1 && ok2 && strings.HasSuffix(pending, ":pending") && strings.HasSuffix(lease, ":lease") {
		return pending
	}
	return ""
}

// String names the server, without secrets.
func (c *Conn) String() string { return c.name }

// IsEmbedded reports whether the server runs inside this process.
func (c *Conn) IsEmbedded() bool { return c.embedded != nil }

// Close ends the connection, and the embedded server with all it holds. Stop
// servers first.
func (c *Conn) Close() error {
	c.mu.Lock()
	places := c.places
	c.places = nil
	c.mu.Unlock()
	for _, p := range places {
		p.Close()
	}
	err := c.redis.Close()
	if c.embedded != nil {
		c.embedded.Close()
	}
	return err
}

// Ping reports whether the server answers; [Conn.Usable] whether it can be used.
func (c *Conn) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := c.redis.Ping(ctx).Err(); err != nil {
		return c.trouble(err)
	}
	return nil
}

// IsFull reports whether an error says that the server's memory is full.
func IsFull(err error) bool {
	// Some layers keep only the text of the server's answer.
	return err != nil && strings.Contains(err.Error(), "OOM command not allowed")
}
