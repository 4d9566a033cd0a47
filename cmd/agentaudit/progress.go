package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"agentaudit/audit/report"
)

// snapshot is how far a batch is.
type snapshot struct {
	done, total int64
	outcomes    map[report.Outcome]int64
	// note says what holds the batch up, "" if nothing does.
	note string
}

// progress shows how a batch goes on: a live bar on a terminal, a line every
// few seconds elsewhere, nothing with --quiet. Results never go this way.
type progress struct {
	w     io.Writer
	now   func() time.Time
	start time.Time
	// first is what was done when this process began: the rate is ours.
	first int64
	sc    *screen

	mu   sync.Mutex
	last snapshot

	bars *mpb.Progress
	bar  *mpb.Bar

	lineEvery time.Duration
	lastLine  time.Time
}

func newProgress(w io.Writer, quiet bool, s snapshot, now func() time.Time) *progress {
	p := &progress{w: w, now: now, start: now(), first: s.done, last: s, sc: newScreen(w), lineEvery: 5 * time.Second}
	switch {
	case quiet:
		p.w = nil
	case isTerminal(w):
		p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(32), mpb.WithRefreshRate(150*time.Millisecond))
		p.bar = p.bars.New(s.total, mpb.BarStyle().Lbound("").Rbound("").Filler("█").Tip("█").Padding("░"),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return p.head() })),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.tail() })))
		p.bar.SetCurrent(s.done)
	}
	return p
}

// update takes the newest numbers.
func (p *progress) update(s snapshot) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	p.last = s
	line := p.bar == nil && p.now().Sub(p.lastLine) >= p.lineEvery
	if line {
		p.lastLine = p.now()
	}
	p.mu.Unlock()
	switch {
	case p.bar != nil:
		p.bar.SetTotal(s.total, false)
		p.bar.SetCurrent(s.done)
	case line:
		fmt.Fprintln(p.w, p.head()+" "+p.tail())
	}
}

// end leaves the last state standing and gives the terminal back.
func (p *progress) end() {
	if p.w == nil {
		return
	}
	if p.bar == nil {
		fmt.Fprintln(p.w, p.head()+" "+p.tail())
		return
	}
	p.bar.Abort(false)
	p.bars.Wait()
}

func (p *progress) head() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	percent := 100.0
	if p.last.total > 0 {
		percent = 100 * float64(p.last.done) / float64(p.last.total)
	}
	return fmt.Sprintf("%d/%d %3.0f%% ", p.last.done, p.last.total, percent)
}

func (p *progress) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var parts []string
	elapsed := p.now().Sub(p.start).Seconds()
	if ours := p.last.done - p.first; ours > 0 && elapsed > 0 {
		rate := float64(ours) / elapsed
		parts = append(parts, fmt.Sprintf("%.1f/s", rate))
		if left := p.last.total - p.last.done; left > 0 {
			parts = append(parts, "ETA "+duration(time.Duration(float64(left)/rate*float64(time.Second))))
		}
	}
	for _, o := range report.Outcomes {
		if n := p.last.outcomes[o]; n > 0 {
			parts = append(parts, p.sc.in(fmt.Sprintf("%d %s", n, o), outcomeStyle(o)))
		}
	}
	if p.last.note != "" {
		parts = append(parts, clean(p.last.note))
	}
	return " " + strings.Join(parts, "  ")
}
