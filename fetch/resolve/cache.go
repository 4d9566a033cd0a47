package resolve

import (
	"container/list"
	"sync"
	"time"
)

// cache keeps answers until they expire; when it is full, the one that was
// not asked for longest goes.
type cache struct {
	mu      sync.Mutex
	max     int
	entries map[string]*list.Element
	recent  *list.List // of *entry, most recent first
}

type entry struct {
	host    string
	answer  answer
	expires time.Time
}

func newCache(max int) *cache {
	return &cache{max: max, entries: map[string]*list.Element{}, recent: list.New()}
}

func (c *cache) get(host string, now time.Time) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[host]
	if e == nil {
		return answer{}, false
	}
	if !now.Before(e.Value.(*entry).expires) {
		c.remove(e)
		return answer{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*entry).answer, true
}

func (c *cache) put(host string, a answer, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[host]; e != nil {
		c.remove(e)
	}
	for len(c.entries) >= c.max && c.recent.Len() > 0 {
		c.remove(c.recent.Back())
	}
	c.entries[host] = c.recent.PushFront(&entry{host, a, expires})
}

func (c *cache) remove(e *list.Element) {
	delete(c.entries, e.Value.(*entry).host)
	c.recent.Remove(e)
}
