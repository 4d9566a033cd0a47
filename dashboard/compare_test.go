package dashboard

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// comparing counts how often two batches are compared.
type comparing struct {
	Reader
	mu   sync.Mutex
	n    int
	fail error
}

func (c *comparing) Compare(ctx context.Context, a, b store.BatchID) (*store.Comparison, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if c.fail != nil {
		return nil, c.fail
	}
	return c.Reader.Compare(ctx, a, b)
}

func TestComparisonsAreKept(t *testing.T) {
	x := seed(t)
	c := &comparing{Reader: x}
	s := serve(t, Config{Store: c, Now: x.clock.Now})
	path := "/compare?before=" + string(x.before) + "&after=" + string(x.after)
	c.fail = errors.New("no")
	readStatus(t, s, path, 500)
	c.fail = nil
	for range 3 {
		read(t, s, path)
	}
	if c.n != 2 {
		t.Errorf("compared %d times, want once for the failure and once more", c.n)
	}
	// It is made anew when the batch has changed.
	if _, err := x.RetryBatch(t.Context(), x.after, store.Selection{Outcomes: []report.Outcome{report.OutcomeUnchecked}}); err != nil {
		t.Fatal(err)
	}
	has(t, read(t, s, path), ".changes a", "4 Not done yet")
	if c.n != 3 {
		t.Errorf("compared %d times after a change, want 3", c.n)
	}
	for i := range mostCompared + 3 {
		b := store.Batch{ID: store.BatchID(fmt.Sprint(i))}
		if _, err := s.compared.wait(t.Context(), &b, &b); !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if n := len(s.compared.made); n > mostCompared {
		t.Errorf("%d comparisons are kept", n)
	}
}

// slowToCompare is a store that compares when it is let.
type slowToCompare struct {
	Reader
	let chan struct{}
}

func (x slowToCompare) Compare(ctx context.Context, before, after store.BatchID) (*store.Comparison, error) {
	<-x.let
	return x.Reader.Compare(ctx, before, after)
}

// A page does not wait for a long comparison, and has it when it is made.
func TestLongComparison(t *testing.T) {
	x := seed(t)
	slow := slowToCompare{x, make(chan struct{})}
	s := serve(t, Config{Store: slow, Now: x.clock.Now})
	s.compared.patience = 0
	path := s.links.Compare(x.before, x.after, store.Regression, 0)
	want(t, read(t, s, path), "#making", "These lists are long: they are being compared")
	has(t, read(t, s, "/"), "section p", "Compare them. The lists are long; the numbers will stand here when they have been made.")
	close(slow.let)
	before, err := x.Batch(t.Context(), x.before)
	if err != nil {
		t.Fatal(err)
	}
	after, err := x.Batch(t.Context(), x.after)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.compared.wait(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}
	s.compared.patience = time.Hour
	has(t, read(t, s, path), "#rows", "Regressions: worse than before")
}

// The tiles of the overview tell by how much each outcome has grown or shrunk.
func TestOverviewTellsMoves(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Now: x.clock.Now})
	c, err := x.Compare(t.Context(), x.before, x.after)
	if err != nil {
		t.Fatal(err)
	}
	is, was := map[report.Outcome]int64{}, map[report.Outcome]int64{}
	for b, row := range c.Matrix() {
		for a, n := range row {
			was[b] += n
			is[a] += n
		}
	}
	doc := readStatus(t, s, "/", 200)
	changed := 0
	for _, o := range report.Outcomes {
		tile := find(doc, ".tallies li."+string(o)+" .moved")
		if len(tile) != 1 {
			t.Fatalf("%s: %d tiles tell a change", o, len(tile))
		}
		want := "no change"
		switch d := is[o] - was[o]; {
		case d > 0:
			want = "+" + strconv.FormatInt(d, 10)
			changed++
		case d < 0:
			want = "−" + strconv.FormatInt(-d, 10)
			changed++
		}
		if got := text(tile[0]); !strings.HasPrefix(got, want+" since") {
			t.Errorf("%s: %q, want %s", o, got, want)
		}
	}
	if changed == 0 {
		t.Error("the seeds have no change")
	}
}
