package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Place is a place asked for: one of Most under Key.
type Place struct {
	Key  string
	Most int
	// Urgent asks before others: while somebody urgent was refused a moment ago
	// ([PlaceWanted]), nobody else gets a place under the key.
	Urgent bool
}

// PlaceWanted is how long a place is kept for somebody urgent who found none:
// a little longer than the second after which workers ask again.
const PlaceWanted = 1500 * time.Millisecond

// Places hands out a limited number of places under a key to all processes
// that share a Redis server (pipeline specification, promise 4). A place is a
// lease: who dies gives it back within [PlaceLease]. Times are the server's, so
// that the clocks of the processes do not matter.
type Places struct {
	redis redis.UniversalClient
	lease time.Duration
	log   *slog.Logger

	mu   sync.Mutex
	held map[string][]string // the keys by token
	stop context.CancelFunc
	done chan struct{}
}

// PlaceLease is how long the places of a process that died stay taken.
const PlaceLease = 30 * time.Second

// NewPlaces makes places on the server; log hears of trouble, nil is silence.
// They end with the connection, or with [Places.Close].
func (c *Conn) NewPlaces(log *slog.Logger) *Places { return c.newPlaces(log, PlaceLease) }

func (c *Conn) newPlaces(log *slog.Logger, lease time.Duration) *Places {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Places{redis: c.redis, lease: lease, log: log, held: map[string][]string{}, stop: cancel, done: make(chan struct{})}
	go p.keep(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places = append(c.places, p)
	return p
}

// Close stops the renewing; places still held are given back.
func (p *Places) Close() {
	p.stop()
	<-p.done
	p.mu.Lock()
	held := maps.Clone(p.held)
	clear(p.held)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for token, keys := range held {
		p.giveBack(ctx, token, keys)
	}
}

// The three keys of a place share a slot of a cluster. takers is a sorted set of
// tokens by the end of their leases, rest exists while nobody may come, wanted
// while only the urgent may.
func takersKey(key string) string { return namespace + "place:{" + key + "}" }
func restKey(key string) string   { return namespace + "rest:{" + key + "}" }
func wantedKey(key string) string { return namespace + "wanted:{" + key + "}" }

// takePlace answers 1 for a place taken, 0 for none free, and less than zero
// for a rest of so many milliseconds. A lease that ends later than any could is
// left from a clock that was put back.
var takePlace = redis.NewScript(`
local rest = redis.call('PTTL', KEYS[2])
if rest > 0 then return -rest end
local t = redis.call('TIME')
local now, lease = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. (now + lease), '+inf')
local urgent = ARGV[4] == '1'
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  if urgent then redis.call('SET', KEYS[3], 1, 'PX', ARGV[5]) end
  return 0
end
if not urgent and redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
redis.call('ZADD', KEYS[1], now + lease, ARGV[1])
redis.call('PEXPIRE', KEYS[1], lease)
return 1`)

// keepPlace renews a lease, also one that the server has lost: who holds it
// is there all the same.
var keepPlace = redis.NewScript(`
local t = redis.call('TIME')
local now, lease = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], now + lease, ARGV[1])
redis.call('PEXPIRE', KEYS[1], lease)
return 1`)

// makeRest makes a rest, or a longer one of it.
var makeRest = redis.NewScript(`
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], 1, 'PX', ARGV[1]) end
return 1`)

// run runs a script for each of some keys in one round trip, and by itself
// where the server does not know it yet.
func (p *Places) run(ctx context.Context, s *redis.Script, calls []call) ([]int64, error) {
	pipe := p.redis.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		cmds[i] = s.EvalSha(ctx, pipe, c.keys, c.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	out := make([]int64, len(calls))
	var errs []error
	for i, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			cmd = s.Eval(ctx, p.redis, calls[i].keys, calls[i].args...)
		}
		n, err := cmd.Int64()
		if err != nil {
			errs = append(errs, err)
		}
		out[i] = n
	}
	return out, errors.Join(errs...)
}

type call struct {
	keys []string
	args []any
}

// Take takes a place under each key, or none: busy is then a key that has none
// free, and rest how long nobody may come to it, 0 if only others must leave
// first. release gives the places back and may be called once.
func (p *Places) Take(ctx context.Context, places []Place) (release func(), busy string, rest time.Duration, err error) {
	if len(places) == 0 {
		return func() {}, "", 0, nil
	}
	token := rand.Text()
	calls := make([]call, len(places))
	keys := make([]string, len(places))
	for i, pl := range places {
		keys[i] = pl.Key
		urgent := 0
		if pl.Urgent {
			urgent = 1
		}
		calls[i] = call{[]string{takersKey(pl.Key), restKey(pl.Key), wantedKey(pl.Key)},
			[]any{token, pl.Most, p.lease.Milliseconds(), urgent, PlaceWanted.Milliseconds()}}
	}
	got, err := p.run(ctx, takePlace, calls)
	for i, n := range got {
		if n <= 0 && err == nil && (busy == "" || time.Duration(-n)*time.Millisecond > rest) {
			busy, rest = keys[i], time.Duration(-n)*time.Millisecond
		}
	}
	if err != nil || busy != "" {
		taken := keys // after an error also what may have been taken without our hearing of it
		if err == nil {
			taken = nil
			for i, n := range got {
				if n == 1 {
					taken = append(taken, keys[i])
				}
			}
		}
		if len(taken) > 0 {
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			p.giveBack(undo, token, taken)
		}
		if err != nil {
			err = fmt.Errorf("ask for a place: %w", err)
		}
		return nil, busy, rest, err
	}
	p.mu.Lock()
	p.held[token] = keys
	p.mu.Unlock()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		delete(p.held, token)
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		p.giveBack(ctx, token, keys)
	}), "", 0, nil
}

// giveBack frees places; what cannot be freed now is free when its lease ends.
func (p *Places) giveBack(ctx context.Context, token string, keys []string) {
	pipe := p.redis.Pipeline()
	for _, k := range keys {
		pipe.ZRem(ctx, takersKey(k), token)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		p.log.LogAttrs(ctx, slog.LevelWarn, "places not given back; their leases will end", slog.String("keys", strings.Join(keys, ", ")), slog.Any("err", err))
	}
}

// Rest lets nobody take a place under the key for a time; a longer rest that
// is under way stays.
func (p *Places) Rest(ctx context.Context, key string, d time.Duration) error {
	if d < time.Millisecond {
		return nil
	}
	if _, err := p.run(ctx, makeRest, []call{{[]string{restKey(key)}, []any{d.Milliseconds()}}}); err != nil {
		return fmt.Errorf("note that %s rests: %w", key, err)
	}
	return nil
}

// keep renews the leases of all that is held, a few hundred in a round trip.
func (p *Places) keep(ctx context.Context) {
	defer close(p.done)
	tick := time.NewTicker(p.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.mu.Lock()
		var calls []call
		for token, keys := range p.held {
			for _, k := range keys {
				calls = append(calls, call{[]string{takersKey(k)}, []any{token, p.lease.Milliseconds()}})
			}
		}
		p.mu.Unlock()
		for some := range slices.Chunk(calls, 500) {
			if _, err := p.run(ctx, keepPlace, some); err != nil && ctx.Err() == nil {
				p.log.LogAttrs(ctx, slog.LevelWarn, "leases of places not renewed", slog.Any("err", err))
				break
			}
		}
		p.dropReleased(ctx, calls)
	}
}

// dropReleased takes back renewals of places that were given back meanwhile:
// a renewal puts back what it does not find.
func (p *Places) dropReleased(ctx context.Context, calls []call) {
	p.mu.Lock()
	calls = slices.DeleteFunc(calls, func(c call) bool { return p.held[c.args[0].(string)] != nil })
	p.mu.Unlock()
	pipe := p.redis.Pipeline()
	for _, c := range calls {
		pipe.ZRem(ctx, c.keys[0], c.args[0])
	}
	if len(calls) > 0 {
		_, _ = pipe.Exec(ctx) // their leases will end
	}
}
