package worker_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"agentaudit/audit"
	"agentaudit/audit/discovery"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/queue"
	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

// What one worker was told by a robots.txt holds for the listings on the same
// host that another one audits.
func TestWorkersAskForRobotsOnce(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		q := embedded(t)
		shared := q.NewCache("robots", nil)
		askOnce(t, func() (*queue.Conn, *queue.Cache) { return q, shared })
	})
	t.Run("redis", func(t *testing.T) {
		r := queuetest.Redis(t)
		askOnce(t, func() (*queue.Conn, *queue.Cache) {
			q := realRedis(t, r)
			return q, q.NewCache("robots", nil)
		})
	})
}

func askOnce(t *testing.T, process func() (*queue.Conn, *queue.Cache)) {
	const host = "platform.example"
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	n.Static(host, "/", 200, fakenet.HTML, `<title>Platform</title><a href="/private/docs">Documentation</a><a href="/docs/a">a</a>`)
	n.Static(host, "/docs/a", 200, fakenet.HTML, "a")
	n.Static(host, "/robots.txt", 200, fakenet.PlainText, "User-agent: *\nDisallow: /private/\n")
	s := newStore(t)
	const batches, listings = 2, 3
	told := 0
	for i := range batches {
		var targets []string
		for j := range listings {
			targets = append(targets, fmt.Sprintf("https://%s/%d-%d/agentic.json", host, i, j))
		}
		b := storetest.Batch(t, s.Store, targets...)
		q, cache := process()
		c := quick(s, q, &fake{})
		client := n.Client(fetch.Config{Admit: c.Manners.Admit})
		c.Auditor = &audit.Auditor{Client: client, Robots: cache}
		stop := start(t, c)
		ended(t, s, b.ID)
		stop()
		err := s.EachResult(t.Context(), store.Filter{Batch: b.ID}, true, func(row store.Row) error {
			var found discovery.Report
			if err := json.Unmarshal(row.Parts.Discovery, &found); err != nil {
				return err
			}
			if found.Robots == nil || len(found.Robots.Disallowed) != 1 {
				t.Errorf("%s: robots %+v", row.Target, found.Robots)
			} else if found.Robots.Cached {
				told++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	asked := n.Stats(host).Requests
	if told != batches*listings-1 || asked["/robots.txt"] != 1 || asked["/docs/a"] != batches*listings || asked["/private/docs"] != 0 {
		t.Errorf("%d scans knew the rules; asked for %v", told, asked)
	}
}

var _ discovery.RobotsCache = (*queue.Cache)(nil)
