//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	manyListings    = 12_000
	listingsPerPage = 100
)

// directory is a listing API on the fake internet.
type directory struct {
	sites []site
	mu    sync.Mutex
	// requests counts requests for pages; kill is called with the answer to the
	// request number killAt, and answers it or not.
	requests int
	killAt   int
	kill     func(answer func())
}

func (d *directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.requests++
	kill := d.kill
	if d.requests != d.killAt {
		kill = nil
	}
	d.mu.Unlock()
	from, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	answer := func() {
		var page []map[string]string
		for i := from; i < min(from+listingsPerPage, manyListings); i++ {
			page = append(page, map[string]string{"id": fmt.Sprint("listing-", i), "name": fmt.Sprint("Listing ", i), "url": "https://" + d.sites[i%len(d.sites)].host.name + "/"})
		}
		body := map[string]any{"listings": page, "total": manyListings}
		if from+listingsPerPage < manyListings {
			body["nextOffset"] = from + listingsPerPage
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
		_ = http.NewResponseController(w).Flush()
	}
	if kill != nil {
		kill(answer)
		return
	}
	answer()
}

// TestKilledWhileAListingIsRead kills the program again and again, before and
// after a page of a directory's API has come, and goes on: every listing is an
// entry once, and no page but those around a kill is asked for twice.
func TestKilledWhileAListingIsRead(t *testing.T) {
	inside(t)
	o := newOrdeal(t, 40, 0) // many listings share a site
	d := &directory{sites: o.sites}
	o.host("directory.example").whole = d
	chance := rand.New(rand.NewPCG(12, 12))
	args := []string{"run", "--from", "https://directory.example/api?limit=100", "--data-dir", o.data, "--quiet"}
	live := func() (*exec.Cmd, *strings.Builder) {
		var said strings.Builder
		cmd := o.command(t.Context(), args...)
		cmd.Stdout, cmd.Stderr = &said, &said
		return cmd, &said
	}
	const kills = 10
	for n := range kills {
		cmd, said := live()
		started := make(chan struct{})
		d.mu.Lock()
		d.killAt = d.requests + 2 + chance.IntN(10)
		d.kill = func(answer func()) {
			<-started
			if n%2 == 0 {
				answer()
			}
			cmd.Process.Kill()
		}
		d.mu.Unlock()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		close(started)
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("life %d was not killed: %v\n%s", n+1, err, said)
		}
		args = []string{"run", "--resume", "--data-dir", o.data, "--quiet"}
	}
	d.mu.Lock()
	before := d.requests
	d.mu.Unlock()
	if most := manyListings / listingsPerPage; before >= most {
		t.Fatalf("the kills came too late: %d requests", before)
	}
	cmd, said := live()
	if err := cmd.Run(); err != nil {
		t.Fatalf("the last life: %v\n%s", err, said)
	}
	// Pages overlap by a listing, so that there are a few more of them.
	if most := manyListings/(listingsPerPage-1) + 2 + 2*kills; d.requests > most {
		t.Errorf("%d requests for pages, want at most %d", d.requests, most)
	}
	b := o.showBatch(o.data)
	if b.Entries != manyListings || b.Rejected != 0 {
		t.Errorf("the batch has %d entries and %d rejected lines", b.Entries, b.Rejected)
	}
	seen := map[string]int{}
	for _, r := range readRows(t, o.mustRun("results", "--format", "ndjson", "--data-dir", o.data)) {
		seen[r.ID]++
	}
	for i := range manyListings {
		if id := fmt.Sprint("listing-", i); seen[id] != 1 {
			t.Errorf("%s has %d rows", id, seen[id])
		}
	}
	if len(seen) != manyListings {
		t.Errorf("%d listings have rows", len(seen))
	}
	var batches []batch
	if out := o.mustRun("batches", "--json", "--data-dir", o.data); json.Unmarshal([]byte(out), &batches) != nil || len(batches) != 1 {
		t.Errorf("there is more than one batch: %s", out)
	}
}
