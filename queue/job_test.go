package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The bytes of a payload outlive a deploy.
func TestPayloadGolden(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "payload-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	j := Job{Runs: []string{"1m8p570g0-17"}}
	if b, err := j.encode(); err != nil || string(b)+"\n" != string(golden) {
		t.Fatalf("%s, %v, want %s", b, err, golden)
	}
	if got, err := decodeJob(golden); err != nil || !slices.Equal(got.Runs, j.Runs) {
		t.Fatalf("%+v, %v", got, err)
	}
	// What later versions add is no trouble.
	if got, err := decodeJob([]byte(`{"v":1,"run":"a-1","more":true}`)); err != nil || !slices.Equal(got.Runs, []string{"a-1"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	some := Job{Runs: []string{"a-1", "a-2"}}
	if b, err := some.encode(); err != nil || string(b) != `{"v":2,"runs":["a-1","a-2"]}` {
		t.Fatalf("%s, %v", b, err)
	}
	if got, err := decodeJob([]byte(`{"v":2,"runs":["a-1","a-2"]}`)); err != nil || !slices.Equal(got.Runs, some.Runs) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func FuzzDecodeJob(f *testing.F) {
	f.Add([]byte(`{"v":1,"run":"a-1"}`))
	f.Add([]byte(`{"v":1}`))
	f.Add([]byte(`{"v":2,"runs":["a-1","a-2"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := decodeJob(b)
		if err != nil {
			return
		}
		again, err := j.encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeJob(again); err != nil || !slices.Equal(back.Runs, j.Runs) {
			t.Fatalf("%q became %q, %v", j.Runs, back.Runs, err)
		}
	})
}

func testGroups(t *testing.T, b backend) {
	c := b.conn.NewClient(0)
	want := map[string]int{}
	var tasks []Task
	for i := range 5*GroupSize + 3 {
		tasks = append(tasks, Task{fmt.Sprint("r-", i), Bulk, 0})
		want[tasks[i].Run] = 1
	}
	for range 2 { // the same groups are there already
		if left, err := c.EnqueueGroups(t.Context(), tasks); err != nil || len(left) != 0 {
			t.Fatalf("%d left, %v", len(left), err)
		}
	}
	if d := depth(t, b.conn, Bulk); d != (Depth{Pending: int64(len(tasks))}) {
		t.Fatalf("%d runs are counted as %+v", len(tasks), d)
	}
	// Another company is another job.
	if left, err := c.EnqueueGroups(t.Context(), tasks[1:GroupSize+1]); err != nil || len(left) != 0 {
		t.Fatalf("%d left, %v", len(left), err)
	}
	for _, task := range tasks[1 : GroupSize+1] {
		want[task.Run]++
	}
	type job struct {
		runs []string
		goOn chan error
	}
	got := make(chan job)
	serve(t, b.conn, 1, func(_ context.Context, j Job) error {
		goOn := make(chan error)
		got <- job{j.Runs, goOn}
		return <-goOn
	})
	seen, sizes := map[string]int{}, map[int]int{}
	failed := false
	for len(tasks) > 0 && sizes[1]+GroupSize*sizes[GroupSize] < len(tasks)+GroupSize {
		j := <-got
		if len(j.runs) == GroupSize && !failed {
			failed = true // the whole comes again
			j.goOn <- RetryIn(errors.New("the store does not answer"), 0)
			continue
		}
		sizes[len(j.runs)]++
		for _, r := range j.runs {
			seen[r]++
		}
		j.goOn <- nil
	}
	emptied(t, b.conn)
	if !maps.Equal(seen, want) || sizes[GroupSize] != 6 || sizes[1] != 3 {
		t.Fatalf("jobs by size %v, runs %v", sizes, seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if left, err := c.EnqueueGroups(ctx, tasks); err == nil || len(left) != len(tasks) {
		t.Fatalf("after cancel: %d left, %v", len(left), err)
	}
}
