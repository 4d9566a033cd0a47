package queue

import (
	"bytes"
	"context"
	"hash/fnv"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The bounds of a [Cache]: with all slots full it holds 32 MiB.
const (
	// CacheSlots is the number of values that it keeps at most.
	CacheSlots = 4096
	// MaxCached is the size in bytes of a key with its value; larger ones are
	// not kept.
	MaxCached = 8 << 10
)

// cachePatience is how long the server is waited for: what a cache holds can be
// had otherwise.
const cachePatience = 2 * time.Second

// Cache keeps small values for a time, for all processes that share a Redis
// server; with an embedded queue, for whoever shares the Cache. Each key has its
// place among a fixed number, and whoever comes later takes it over: a server
// that throws nothing away by itself must not fill up with what is not needed.
//
// A cache never fails. What cannot be had or kept is told to its log.
type Cache struct {
	redis    redis.UniversalClient // nil: values are kept here
	name     string
	log      *slog.Logger
	patience time.Duration

	mu    sync.Mutex
	slots map[uint32]cached
}

type cached struct {
	value []byte // behind its key
	until time.Time
}

// NewCache makes the cache of some name on the server; log hears of trouble, nil
// is silence.
func (c *Conn) NewCache(name string, log *slog.Logger) *Cache {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	cache := &Cache{name: name, log: log, patience: cachePatience, slots: map[uint32]cached{}}
	if !c.IsEmbedded() {
		cache.redis = c.redis
	}
	return cache
}

// Get is the value under a key, nil if there is none.
func (c *Cache) Get(ctx context.Context, key string) []byte {
	slot, head := place(key)
	var entry []byte
	if c.redis == nil {
		c.mu.Lock()
		if e := c.slots[slot]; time.Now().Before(e.until) {
			entry = e.value
		}
		c.mu.Unlock()
	} else {
		entry = c.ask(ctx, "read", key, func(ctx context.Context) ([]byte, error) {
			b, err := c.redis.Get(ctx, c.slotKey(slot)).Bytes()
			if err == redis.Nil {
				err = nil
			}
			return b, err
		})
	}
	value, ok := bytes.CutPrefix(entry, head)
	if !ok {
		return nil // nothing, or the value of another key
	}
	return bytes.Clone(value)
}

// Put keeps a value under a key for a time of at least a millisecond, or for
// less where another key takes its place.
func (c *Cache) Put(ctx context.Context, key string, value []byte, ttl time.Duration) {
	slot, head := place(key)
	if len(head)+len(value) > MaxCached || ttl < time.Millisecond {
		return
	}
	entry := append(head, value...)
	if c.redis == nil {
		c.mu.Lock()
		c.slots[slot] = cached{entry, time.Now().Add(ttl)}
		c.mu.Unlock()
		return
	}
	c.ask(ctx, "written", key, func(ctx context.Context) ([]byte, error) {
		return nil, c.redis.Set(ctx, c.slotKey(slot), entry, ttl).Err()
	})
}

// ask asks the server and waits for a moment. The client itself waits longer
// for a server that does not answer, and tries again.
func (c *Cache) ask(ctx context.Context, what, key string, f func(context.Context) ([]byte, error)) []byte {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	type answer struct {
		b   []byte
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		b, err := f(ctx)
		answers <- answer{b, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if a.err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "cache not "+what, slog.String("cache", c.name), slog.String("key", key), slog.Any("err", a.err))
		return nil
	}
	return a.b
}

// place is the slot of a key, and what stands before its value there.
func place(key string) (slot uint32, head []byte) {
	h := fnv.New32a()
	h.Write([]byte(key))
	return h.Sum32() % CacheSlots, append([]byte(key), '\n')
}

func (c *Cache) slotKey(slot uint32) string {
	return namespace + c.name + ":" + strconv.Itoa(int(slot))
}
