//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentaudit/queue/queuetest"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

const (
	fleetSize = 4
	// fleetLease is short, so that what the dead held is not waited for.
	fleetLease = 6 * time.Second
)

// TestFaults lets four workers on one Redis server and one PostgreSQL server
// audit a list while things break. After each, every line has exactly one final
// result and the counts are right.
func TestFaults(t *testing.T) {
	for _, f := range []struct {
		name string
		// says is what the log must tell.
		says string
		// breaks is called again and again until it returns false, each time
		// when the next part of the list has been looked at.
		breaks func(f *fleet, n int) bool
		redis  func(t testing.TB) *queuetest.Server
	}{
		{"workers are killed", "runs of workers that are gone were put back", killWorkers, queuetest.Redis},
		{"Redis is killed with its data", "", restartRedis, queuetest.Redis},
		{"Redis is killed and keeps its data", "", restartRedis, queuetest.DurableRedis},
		{"Redis is emptied", "", func(f *fleet, n int) bool { f.redis.FlushAll(f.t); return n < f.rounds }, queuetest.Redis},
		{"Redis is full", "OOM", fillRedis, queuetest.Redis},
		{"PostgreSQL is killed", store.ErrUnavailable.Error(), restartPostgres, queuetest.Redis},
		{"PostgreSQL is frozen", "", freezePostgres, queuetest.Redis},
	} {
		t.Run(f.name, func(t *testing.T) {
			inside(t)
			fleet := newFleet(t, f.redis(t), newOrdeal(t, storetest.FaultSites(t), 100*time.Millisecond))
			fleet.onPostgres()
			fleet.enqueue()
			fleet.sail()
			for n := 1; ; n++ {
				fleet.until(n * len(fleet.sites) / (fleet.rounds + 2))
				if !f.breaks(fleet, n) {
					break
				}
			}
			fleet.land(f.says)
		})
	}
}

// fleet is a list and the workers that audit it, which are started again when
// they end, as a service manager does.
type fleet struct {
	*ordeal
	t        *testing.T
	redis    *queuetest.Server
	postgres *storetest.Server
	rounds   int
	// concurrency is that of each worker.
	concurrency int

	mu      sync.Mutex
	workers [fleetSize]*exec.Cmd
	log     strings.Builder
	landing bool
	ended   sync.WaitGroup
}

func newFleet(t *testing.T, redis *queuetest.Server, o *ordeal) *fleet {
	t.Helper()
	f := &fleet{ordeal: o, t: t, redis: redis, rounds: max(3, len(o.sites)/250), concurrency: 6}
	f.env = append(f.env, "AGENTAUDIT_REDIS="+redis.URL)
	return f
}

// onPostgres gives the fleet a PostgreSQL server of its own.
func (f *fleet) onPostgres() {
	f.t.Helper()
	f.postgres = storetest.PostgresServer(f.t)
	f.env = append(f.env, "AGENTAUDIT_STORE="+f.postgres.Database(f.t))
}

// enqueue hands the list over before there is anybody to work on it.
func (f *fleet) enqueue() {
	f.t.Helper()
	f.mustRun("enqueue", f.list.path, "--data-dir", f.data, "--quiet")
}

// Write takes the log of all workers.
func (f *fleet) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(p)
}

// sail starts the workers.
func (f *fleet) sail() {
	ctx, cancel := context.WithCancel(f.t.Context())
	for i := range f.workers {
		f.ended.Go(func() {
			for f.start(ctx, i) {
				select {
				case <-ctx.Done():
				case <-time.After(300 * time.Millisecond): // of rest between two lives
				}
			}
		})
	}
	f.t.Cleanup(func() {
		cancel()
		f.ended.Wait()
	})
}

// start runs worker i until it ends, and reports whether it is to live again.
func (f *fleet) start(ctx context.Context, i int) bool {
	f.mu.Lock()
	if f.landing || ctx.Err() != nil {
		f.mu.Unlock()
		return false
	}
	cmd := f.command(ctx, "worker", "--data-dir", f.data, "--concurrency", strconv.Itoa(f.concurrency), "--lease", fleetLease.String(), "--log-level", "info", "--log-format", "json")
	cmd.Stdout, cmd.Stderr = f, f
	err := cmd.Start()
	f.workers[i] = cmd
	f.mu.Unlock()
	if err != nil {
		f.t.Error(err)
		return false
	}
	cmd.Wait()
	return true
}

// signal is for one worker, which may just be between two lives.
func (f *fleet) signal(i int, sig syscall.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cmd := f.workers[i]; cmd != nil && cmd.Process != nil {
		cmd.Process.Signal(sig)
	}
}

// until waits until a number of sites has been asked for their profile.
func (f *fleet) until(sites int) {
	f.t.Helper()
	f.wait(fmt.Sprintf("%d of %d sites are asked", sites, len(f.sites)), func() bool {
		asked := 0
		for _, n := range f.snapshot() {
			if n > 0 {
				asked++
			}
		}
		return asked >= sites
	})
}

// wait looks again and again whether something has come true.
func (f *fleet) wait(what string, done func() bool) {
	f.t.Helper()
	patience := time.After(2*time.Minute + time.Duration(len(f.sites))*50*time.Millisecond)
	for !done() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-patience:
			f.mu.Lock()
			defer f.mu.Unlock()
			f.t.Fatalf("it does not come true that %s; the log ends with\n%s", what, f.log.String()[max(0, f.log.Len()-8000):])
		}
	}
}

// waitBatch waits until something is true of the batch.
func (f *fleet) waitBatch(what string, done func(b store.Batch) bool) {
	f.t.Helper()
	place := f.data
	for _, v := range f.env {
		if url, ok := strings.CutPrefix(v, "AGENTAUDIT_STORE="); ok {
			place = url
		}
	}
	var st *store.Store
	f.wait("the store can be opened", func() (opened bool) {
		var err error
		if st, err = store.Open(f.t.Context(), place, store.Options{Access: store.ReadOnly}); err != nil && !errors.Is(err, store.ErrUnavailable) {
			f.t.Fatal(err)
		}
		return err == nil
	})
	f.t.Cleanup(func() { st.Close() })
	f.wait(what, func() bool {
		b, err := st.Batches(f.t.Context(), "", 1)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			f.t.Fatal(err)
		}
		return err == nil && len(b) == 1 && done(b[0])
	})
}

// land waits for the end of the batch, stops the workers, and looks at what
// has come of it.
func (f *fleet) land(says string) {
	f.t.Helper()
	f.waitBatch("the batch ends", func(b store.Batch) bool { return !b.State.Open() })
	f.mu.Lock()
	f.landing = true
	f.mu.Unlock()
	for i := range f.workers {
		f.signal(i, syscall.SIGTERM)
	}
	f.ended.Wait()
	for i, cmd := range f.workers {
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			f.t.Errorf("worker %d ended with %d when it was told to stop", i, code)
		}
	}
	rows := readRows(f.t, f.mustRun("results", "--format", "ndjson", "--data-dir", f.data))
	f.list.check(f.t, rows)
	f.list.checkBatch(f.t, f.showBatch(f.data), rows)
	twice := 0
	for _, n := range f.snapshot() {
		if n > 1 {
			twice++
		}
	}
	f.t.Logf("%d of %d sites were audited more than once", twice, len(f.sites))
	log := f.log.String()
	if !strings.Contains(log, says) {
		f.t.Errorf("the log does not say %q", says)
	}
	if f.t.Failed() {
		f.t.Log(log[max(0, len(log)-8000):])
	}
}

func killWorkers(f *fleet, n int) bool {
	f.signal(f.chance.IntN(fleetSize), syscall.SIGKILL)
	f.signal(n%fleetSize, syscall.SIGKILL)
	return n < f.rounds
}

func restartRedis(f *fleet, n int) bool {
	f.redis.Kill()
	f.redis.Start(f.t)
	return n < f.rounds
}

// fillRedis takes the memory of Redis away until the workers have met that.
func fillRedis(f *fleet, n int) bool {
	c := f.redis.Client()
	defer c.Close()
	ctx := f.t.Context()
	if err := c.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(); err != nil {
		f.t.Fatal(err)
	}
	if err := c.ConfigSet(ctx, "maxmemory", "100kb").Err(); err != nil {
		f.t.Fatal(err)
	}
	f.wait("the workers find Redis full", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return strings.Count(f.log.String(), "OOM") >= n
	})
	if err := c.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		f.t.Fatal(err)
	}
	return n < 2
}

func restartPostgres(f *fleet, n int) bool {
	if n%2 == 1 {
		f.postgres.Kill()
	} else {
		f.postgres.Stop()
	}
	f.postgres.Start(f.t)
	return n < f.rounds
}

// freezePostgres stops the server for a while with all connections open: the
// long form for longer than anybody is patient.
func freezePostgres(f *fleet, n int) bool {
	long := 8 * time.Second // more than a lease
	if len(f.sites) >= 1000 {
		long = 90 * time.Second
	}
	f.postgres.Freeze(f.t)
	defer f.postgres.Thaw(f.t)
	select {
	case <-time.After(long):
	case <-f.t.Context().Done():
	}
	return n < 2
}

// TestFullDisk lets workers on one machine run into a full disk, which ends
// them, and go on when there is room again.
func TestFullDisk(t *testing.T) {
	inside(t)
	f := newFleet(t, queuetest.Redis(t), newOrdeal(t, storetest.FaultSites(t), 100*time.Millisecond))
	if err := syscall.Mount("none", f.data, "tmpfs", 0, "size=64m"); err != nil {
		queuetest.Require(t, "netns", "mounting a small disk: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(f.data, syscall.MNT_DETACH) })
	f.enqueue()
	ballast := filepath.Join(f.data, "ballast")
	f.sail()
	f.until(len(f.sites) / 4)
	file, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 64<<10); err == nil; {
		_, err = file.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	file.Close()
	f.wait("the workers find the disk full", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return strings.Contains(f.log.String(), store.ErrFull.Error())
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	f.land(store.ErrFull.Error())
}
