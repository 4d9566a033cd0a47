package queue

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"agentaudit/queue/queuetest"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct{ url, name string }{
		{"redis://localhost:6379", "tcp:localhost:6379"},
		{"redis://user:pass@10.0.0.1:7000/3", "tcp:10.0.0.1:7000"},
		{"rediss://h:6380", "tcp:h:6380"},
		{"unix:///run/redis.sock", "unix:/run/redis.sock"},
		{"unix://user:pw@/run/redis.sock?db=2", "unix:/run/redis.sock"},
		{"redis-sentinel://user:pw@a:1/2?addr=b:2&master_name=m", "sentinel:a:1,b:2/m"},
		{"rediss-sentinel://a:1?master_name=m", "sentinel:a:1/m"},
		{"redis-cluster://a:1?addr=b:2&addr=c:3", "cluster:a:1,b:2,c:3"},
		{"rediss-cluster://:pw@a:1", "cluster:a:1"},
	} {
		client, name, err := Options{URL: c.url, Password: "secret"}.open()
		if err != nil || name != c.name {
			t.Errorf("%s: %q, %v", c.url, name, err)
			continue
		}
		secure, password := false, ""
		switch r := client.(type) {
		case *redis.Client:
			secure, password = r.Options().TLSConfig != nil && !r.Options().TLSConfig.InsecureSkipVerify, r.Options().Password
		case *redis.ClusterClient:
			secure, password = r.Options().TLSConfig != nil && !r.Options().TLSConfig.InsecureSkipVerify, r.Options().Password
		}
		if secure != strings.HasPrefix(c.url, "rediss") || password != "secret" {
			t.Errorf("%s: TLS verified %v, password %q", c.url, secure, password)
		}
		client.Close()
	}
	for _, bad := range []string{"", "localhost:6379", "http://x", "redis://u:hunter2@h:x/", "redis://u:hunter2%@h", "redis://u:hunter2@h/notanumber",
		"redis://u:hunter2@h/0?pool=1", "unix://u:hunter2@", "redis-sentinel://u:hunter2@h:1", "redis-cluster://u:hunter2@h:1?pool=1",
		"redis://u:hunter2@h?ca=/tmp/x", "rediss://u:hunter2@h?ca=/does/not/exist", "rediss://u:hunter2@h?key=/does/not/exist", "redis-tree://u:hunter2@h"} {
		_, _, err := Options{URL: bad}.open()
		if !errors.Is(err, ErrOptions) {
			t.Errorf("%q: %v", bad, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error shows the password: %v", bad, err)
		}
	}
}

func TestTLS(t *testing.T) {
	server := queuetest.TLS(t, "hunter2")
	b := connected(t, Options{URL: server, Password: "hunter2"})
	if !put(t, b.conn.NewClient(0), "r-1", 0) {
		t.Fatal("not taken")
	}
	strange, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	q := strange.Query()
	q.Del("ca")
	strange.RawQuery = q.Encode()
	if c, err := Connect(t.Context(), Options{URL: strange.String(), Password: "hunter2"}); err == nil {
		c.Close()
		t.Fatal("a certificate by an issuer that nobody trusts was taken")
	}
	_, err = Connect(t.Context(), Options{URL: server, Password: "wrong"})
	if err == nil || !strings.Contains(err.Error(), "password") {
		t.Fatalf("%v", err)
	}
}

func TestCheck(t *testing.T) {
	if notes, err := Embedded().Check(t.Context()); err != nil || len(notes) != 0 {
		t.Fatal(notes, err)
	}
	b := connected(t, Options{URL: queuetest.Redis(t).URL})
	for _, c := range []struct {
		memory, policy string
		want           []string
	}{
		{"0", "allkeys-lru", nil},
		{"1gb", "noeviction", nil},
		{"1gb", "allkeys-lru", []string{"allkeys-lru"}},
		{"4mb", "noeviction", []string{"4194304 bytes"}},
		{"4mb", "volatile-ttl", []string{"volatile-ttl", "4194304 bytes"}},
	} {
		for k, v := range map[string]string{"maxmemory": c.memory, "maxmemory-policy": c.policy} {
			if err := b.conn.redis.ConfigSet(t.Context(), k, v).Err(); err != nil {
				t.Fatal(err)
			}
		}
		notes, err := b.conn.Check(t.Context())
		if err != nil || len(notes) != len(c.want) {
			t.Errorf("%s %s: %q, %v", c.memory, c.policy, notes, err)
			continue
		}
		for i, word := range c.want {
			if !strings.Contains(notes[i], word) {
				t.Errorf("%s %s: %q", c.memory, c.policy, notes[i])
			}
		}
	}
	cluster := connected(t, Options{URL: queuetest.Cluster(t)})
	if notes, err := cluster.conn.Check(t.Context()); err != nil || slices.Contains(notes, "") || len(notes) > 0 {
		t.Error(notes, err)
	}
	gone := &Conn{redis: redis.NewClient(&redis.Options{Network: "unix", Addr: filepath.Join(t.TempDir(), "none"), MaxRetries: -1}), name: "gone"}
	defer gone.Close()
	if _, err := gone.Check(t.Context()); err == nil {
		t.Error("a server that is not there was checked")
	}
}
