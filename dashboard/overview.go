package dashboard

import (
	"context"
	"slices"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// OverviewPage is the present state of everything.
type OverviewPage struct {
	Frame
	// Sites counts all sites ever audited, by their present outcome.
	Sites   int64
	Tallies []Tally
	Bar     Bar

	Running []Progress
	// Load is what is on its way; Idle says that there is work and nobody at it.
	Load store.Load
	Idle bool
	// OpenIDs are the ids of Running, separated by blanks.
	OpenIDs string

	// Newest is the newest finished batch that has results, or one under way
	// where none has finished; nil if there is none. Reasons and Checks are of it.
	Newest  *store.Batch
	Reasons []Ranked
	Checks  []Ranked
	// Since is what changed from the last finished batch of the same list to
	// the newest, nil where there are not two.
	Since *Since

	Batches []BatchLine
}

// Since is a comparison in short.
type Since struct {
	Before, After *store.Batch
	// Ready is false while it is still being made.
	Ready  bool
	Counts map[store.Change]int64
}

// Count is the number of sites behind a change.
func (s *Since) Count(c store.Change) int64 { return s.Counts[c] }

func overviewPage(ctx context.Context, r *Request, read Reader) (*OverviewPage, error) {
	if err := r.Only(); err != nil {
		return nil, err
	}
	p := &OverviewPage{Frame: Frame{Title: "Overview", Section: "overview", Live: true}}
	sites, err := read.SiteCounts(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[report.Outcome]int64{}
	for _, c := range sites {
		counts[c.Outcome] += c.Runs
		p.Sites += c.Runs
	}
	p.Tallies = tallies(counts, p.Sites, func(o report.Outcome) string { return r.Links.Sites(store.SiteFilter{Outcome: o}, "") })
	p.Bar = newBar(counts, p.Sites, plural(p.Sites, "site", "sites"))
	open, err := read.OpenBatches(ctx, mostOpen)
	if err != nil {
		return nil, err
	}
	for i := range open {
		if isDraft(&open[i]) {
			continue // nobody has started it
		}
		p.Running = append(p.Running, progressOf(&open[i], r.rate, r.Now))
	}
	p.OpenIDs = idList(open)
	if p.Load, err = read.Load(ctx); err != nil {
		return nil, err
	}
	p.Idle = idle(open, p.Load, r.Now)
	list, err := read.Batches(ctx, "", 30)
	if err != nil {
		return nil, err
	}
	for i := range list[:min(len(list), 6)] {
		p.Batches = append(p.Batches, newBatchLine(&list[i]))
	}
	i := slices.IndexFunc(list, func(b store.Batch) bool { return b.State == store.StateFinished && b.Done() > 0 })
	if i < 0 {
		i = slices.IndexFunc(list, func(b store.Batch) bool { return b.Done() > 0 })
	}
	if i < 0 {
		return p, nil
	}
	p.Newest = &list[i]
	if p.Reasons, p.Checks, err = frequent(ctx, r, read, p.Newest, 8); err != nil {
		return nil, err
	}
	p.Since = since(ctx, r, list)
	return p, nil
}

// frequent ranks reasons and checks of a batch.
func frequent(ctx context.Context, r *Request, read Reader, b *store.Batch, limit int) (reasons, checks []Ranked, err error) {
	byReason, err := read.TopReasons(ctx, b.ID, 2*len(report.Reasons))
	if err != nil {
		return nil, nil, err
	}
	byCheck, err := read.TopChecks(ctx, b.ID, 100)
	if err != nil {
		return nil, nil, err
	}
	return rankReasons(r.Links, b, byReason, limit), rankChecks(r.Links, b, byCheck, limit), nil
}

// since compares the newest finished batch with the one before of the same
// list. A large comparison is not waited for; it is there the next time.
func since(ctx context.Context, r *Request, list []store.Batch) *Since {
	var after *store.Batch
	for i := range list {
		b := &list[i]
		switch {
		case b.State != store.StateFinished || b.Runs == 0:
		case after == nil:
			after = b
		case sameList(after, b):
			s := &Since{Before: b, After: after}
			if c, ready, err := r.compared.soon(ctx, b, after, r.compared.patience/3); ready && err == nil {
				s.Ready, s.Counts = true, c.counts
			}
			return s
		}
	}
	return nil
}

// sameList guesses whether two batches are of one list: they have the same
// name, or where one has no name, came from the same sources.
func sameList(a, b *store.Batch) bool {
	if a.Name != "" && b.Name != "" {
		return a.Name == b.Name
	}
	return len(a.Sources) > 0 && slices.Equal(a.Sources, b.Sources)
}

func idList(list []store.Batch) string {
	ids := ""
	for i, b := range list {
		if i > 0 {
			ids += " "
		}
		ids += string(b.ID)
	}
	return ids
}

// SinceChanges are the changes that the overview counts.
func (*OverviewPage) SinceChanges() []store.Change {
	return []store.Change{store.Regression, store.Repair, store.StillFailing}
}

// LatelyChanged are the sites whose outcome changed in the last seven days.
func (p *OverviewPage) LatelyChanged() store.SiteFilter {
	return store.SiteFilter{ChangedSince: p.AsOf.AddDate(0, 0, -7), Order: store.ByChange}
}

// Enqueued is how many sites are handed over and not begun.
func (p *OverviewPage) Enqueued() int64 { return handedOver(p.Load) }

func handedOver(l store.Load) (n int64) {
	for _, c := range l.Enqueued {
		n += c
	}
	return n
}

// idle says that there is work and nobody at it.
func idle(open []store.Batch, l store.Load, now time.Time) bool {
	return l.Running == 0 && !l.NextDue.After(now) && slices.ContainsFunc(open, func(b store.Batch) bool {
		return (b.State == store.StateQueued || b.State == store.StateRunning) && b.OpenRuns > 0
	})
}
