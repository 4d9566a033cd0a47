package queue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agentaudit/queue/queuetest"
)

// The rights that the manual names are enough; without any of them the check
// says what is missing and names them all.
func TestRightsOfUsers(t *testing.T) {
	r := queuetest.Redis(t)
	admin := r.Client()
	defer admin.Close()
	as := func(name string, rights ...string) backend {
		t.Helper()
		args := []any{"ACL", "SETUSER", name, "on", ">pw", "resetkeys", "resetchannels", "-@all"}
		for _, w := range rights {
			args = append(args, w)
		}
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
		return connected(t, Options{URL: strings.Replace(r.URL, "unix://", "unix://"+name+":pw@", 1)})
	}
	rights := strings.Fields(Rights)
	b := as("worker", rights...)
	if notes, err := b.conn.Check(t.Context()); err != nil || len(notes) > 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	p := b.conn.NewPlaces(nil)
	if release, busy, _ := take(t, p, Place{Key: "host a.example", Most: 1}); busy != "" {
		t.Fatal(busy)
	} else {
		release()
	}
	ended := make(chan string, 1)
	s := serve(t, b.conn, 1, func(_ context.Context, j Job) error { ended <- j.Runs[0]; return nil })
	put(t, b.conn.NewClient(0), "r-1", 0)
	<-ended
	emptied(t, b.conn)
	s.Shutdown()
	if left, err := admin.Keys(t.Context(), "*check*").Result(); err != nil || len(left) > 0 {
		t.Errorf("the checks leave %v behind, %v", left, err)
	}
	if log, err := admin.ACLLog(t.Context(), 10).Result(); err != nil || len(log) > 0 {
		t.Errorf("the server refused something: %+v, %v", log, err)
	}

	for _, c := range []struct {
		name   string
		rights []string
		want   []string
	}{
		{"no-asynq", slices.Delete(slices.Clone(rights), 0, 1), []string{"the keys asynq:*"}},
		{"no-ours", slices.Delete(slices.Clone(rights), 1, 2), []string{"the keys agentaudit-*"}},
		{"few-of-ours", append([]string{"~agentaudit-workers"}, slices.Delete(slices.Clone(rights), 1, 2)...), []string{"the keys agentaudit-*"}},
		{"no-channel", slices.Delete(slices.Clone(rights), 2, 3), []string{"the channels asynq:*"}},
		{"read-only", []string{"~*", "&*", "+@read", "+@connection"}, []string{"may not run SET, INCR, PEXPIRE", " other commands"}},
		{"no-scripts", append(slices.Clone(rights), "-@scripting"), []string{"may not run EVAL"}},
		{"no-lists", append(slices.Clone(rights), "-rpoplpush"), []string{"may not run RPOPLPUSH;"}},
		{"no-subscribe", append(slices.Clone(rights), "-subscribe"), []string{"may not run SUBSCRIBE;"}},
	} {
		b := as(c.name, c.rights...)
		_, err := b.conn.Check(t.Context())
		if err == nil {
			t.Errorf("%s: a user with %v passes", c.name, c.rights)
			continue
		}
		for _, want := range append(c.want, "ACL SETUSER "+c.name+" "+Rights) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", c.name, err, want)
			}
		}
		if ready := b.conn.Usable(t.Context()); (ready == nil) != (c.name == "no-subscribe") {
			t.Errorf("%s: usable says %v", c.name, ready)
		}
	}
	b = as("no-info", slices.DeleteFunc(slices.Clone(rights), func(w string) bool { return w == "+info" })...)
	if notes, err := b.conn.Check(t.Context()); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "+info") {
		t.Errorf("without INFO: %q, %v", notes, err)
	}
}

// A server that answers but cannot be used is told apart, and what to do.
func TestServersThatCannotBeUsed(t *testing.T) {
	r := queuetest.Redis(t)
	admin := r.Client()
	defer admin.Close()
	set := func(key, value string) {
		t.Helper()
		if err := admin.ConfigSet(t.Context(), key, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(c *Conn, words ...string) {
		t.Helper()
		_, err := c.Check(t.Context())
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("want %q: %v", w, err)
			}
		}
	}
	b := connected(t, Options{URL: r.URL})
	set("maxmemory", "1")
	if notes, err := b.conn.Check(t.Context()); err != nil || len(notes) != 2 || !strings.Contains(notes[0], "is full") {
		t.Errorf("a full server: %q, %v", notes, err)
	}
	if err := b.conn.Usable(t.Context()); !IsFull(err) {
		t.Errorf("a full server: %v", err)
	}
	set("maxmemory", "0")
	set("replica-serve-stale-data", "yes")
	if err := admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	refused(b.conn, "is a replica", "master")
	if err := b.conn.Usable(t.Context()); err == nil {
		t.Error("a replica is usable")
	}
	set("replica-read-only", "no") // what it takes it loses
	refused(b.conn, "is a replica", "master")
	if err := admin.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.conn.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if node := connected(t, Options{URL: strings.Replace(queuetest.Cluster(t), "redis-cluster:", "redis:", 1)}); node.conn != nil {
		refused(node.conn, "one node of a cluster", "redis-cluster://")
	}
	set("requirepass", "right")
	for _, password := range []string{"", "false"} {
		c, err := Connect(t.Context(), Options{URL: r.URL, Password: password})
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, ErrPassword) || strings.Contains(err.Error(), "does not answer") {
			t.Errorf("password %q: %v", password, err)
		}
	}
}
