package queue

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/queue/queuetest"
)

// rivals are two keys of one slot.
func rivals(t *testing.T) (a, b string) {
	t.Helper()
	taken := map[uint32]string{}
	for i := range CacheSlots + 1 {
		key := fmt.Sprintf("https://h%d.example", i)
		slot, _ := place(key)
		if other, ok := taken[slot]; ok {
			return other, key
		}
		taken[slot] = key
	}
	panic("more keys than slots, and none shared")
}

// cacheKeeps holds for two that should share a cache, or for one twice.
func cacheKeeps(t *testing.T, a, b *Cache) {
	t.Helper()
	ctx := t.Context()
	first, second := rivals(t)
	expect := func(c *Cache, key, want string) {
		t.Helper()
		if got := c.Get(ctx, key); string(got) != want || want == "" && got != nil {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	expect(a, first, "")
	a.Put(ctx, first, []byte("1\n2"), time.Hour)
	expect(a, first, "1\n2")
	expect(b, first, "1\n2")
	expect(b, second, "") // not what another key has there
	expect(b, first+"\n1", "")
	b.Put(ctx, first, []byte("3"), time.Hour)
	expect(a, first, "3")
	b.Put(ctx, second, []byte("4"), time.Hour)
	expect(a, first, "")
	expect(a, second, "4")
	// What is too large stays away, and leaves alone what is there.
	room := MaxCached - len(second) - 1
	a.Put(ctx, second, make([]byte, room+1), time.Hour)
	expect(a, second, "4")
	a.Put(ctx, second, bytes.Repeat([]byte("x"), room), time.Hour)
	expect(b, second, strings.Repeat("x", room))
	a.Put(ctx, first, nil, 0)
	expect(a, first, "")
}

func TestCacheIsSharedByProcesses(t *testing.T) {
	r := queuetest.Redis(t)
	var conns []*Conn
	for range 2 {
		c, err := Connect(t.Context(), Options{URL: r.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		conns = append(conns, c)
	}
	a := conns[0].NewCache("robots", nil)
	cacheKeeps(t, a, conns[1].NewCache("robots", nil))
	a.Put(t.Context(), "k", []byte("v"), time.Hour)
	if v := conns[1].NewCache("others", nil).Get(t.Context(), "k"); v != nil {
		t.Errorf("a cache of another name has %q", v)
	}
	// The server forgets by itself, and holds no more keys than there are slots.
	keys, err := conns[0].redis.Keys(t.Context(), namespace+"robots:*").Result()
	if err != nil || len(keys) != 2 {
		t.Errorf("keys %q, %v", keys, err)
	}
	for _, k := range keys {
		if left, err := conns[0].redis.PTTL(t.Context(), k).Result(); err != nil || left <= 0 || left > time.Hour {
			t.Errorf("%s ends in %v, %v", k, left, err)
		}
	}
}

func TestCacheInACluster(t *testing.T) {
	c, err := Connect(t.Context(), Options{URL: queuetest.Cluster(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	a := c.NewCache("robots", nil)
	cacheKeeps(t, a, a)
}

func TestCacheInTheProcess(t *testing.T) {
	c := Embedded()
	t.Cleanup(func() { c.Close() })
	a := c.NewCache("robots", nil)
	cacheKeeps(t, a, a)
	if len(a.slots) != 1 {
		t.Errorf("%d slots for two keys of one slot", len(a.slots))
	}
}

func TestCacheForgetsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Cache{slots: map[uint32]cached{}}
		a.Put(t.Context(), "k", []byte("v"), time.Minute)
		time.Sleep(time.Minute - time.Nanosecond)
		if v := a.Get(t.Context(), "k"); string(v) != "v" {
			t.Errorf("before its time: %q", v)
		}
		time.Sleep(time.Nanosecond)
		if v := a.Get(t.Context(), "k"); v != nil {
			t.Errorf("after its time: %q", v)
		}
	})
}

func TestCacheNeverFails(t *testing.T) {
	r := queuetest.Redis(t)
	c, err := Connect(t.Context(), Options{URL: r.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var log bytes.Buffer
	a := c.NewCache("robots", slog.New(slog.NewTextHandler(&log, nil)))
	a.patience = 50 * time.Millisecond
	ctx := t.Context()
	trouble := func(what string) {
		t.Helper()
		log.Reset()
		a.Put(ctx, "k", []byte("v"), time.Hour)
		if v := a.Get(ctx, "k"); v != nil {
			t.Errorf("%s: got %q", what, v)
		}
		for _, want := range []string{"cache not read", "cache not written", "cache=robots", "key=k"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: the log does not say %q: %s", what, want, log.String())
			}
		}
	}
	admin := r.Client()
	defer admin.Close()
	if err := admin.Do(ctx, "CLIENT", "PAUSE", time.Hour.Milliseconds()).Err(); err != nil {
		t.Fatal(err)
	}
	trouble("a server that does not answer")
	r.Kill()
	trouble("no server")
}
