package dashboard

import (
	"context"
	"slices"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/worker/producer"
)

// OverviewPage is the present state of everything.
type OverviewPage struct {
	Frame
	// Sites counts all sites ever audited, by their present outcome.
	Sites   int64
	Tallies []Tally
	Bar     Bar

	Running []Progress
	// Health is how queue and workers are.
	Health *Health
	// OpenIDs are the ids of all open batches, separated by blanks.
	OpenIDs string

	// Newest is the newest finished batch that is not small beside the others, or
	// one under way where none has finished; nil if there is none. Reasons and
	// Checks are of it.
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
	// Moves is by how much the number of sites of each outcome has changed.
	Moves map[report.Outcome]int64
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
	if p.Health, err = r.vitals.look(ctx); err != nil {
		return nil, err
	}
	open := p.Health.Open
	for i := range open {
		if isDraft(&open[i]) {
			continue // nobody has started it
		}
		p.Running = append(p.Running, progressOf(&open[i], r.rate, r.Now))
	}
	p.OpenIDs = p.Health.OpenIDs
	list, err := read.Batches(ctx, "", 30)
	if err != nil {
		return nil, err
	}
	for i := range list[:min(len(list), 6)] {
		p.Batches = append(p.Batches, newBatchLine(&list[i]))
	}
	var largest int64
	for _, b := range list {
		largest = max(largest, b.Done())
	}
	i := slices.IndexFunc(list, func(b store.Batch) bool {
		return b.State == store.StateFinished && b.Done() > 0 && b.Done() >= largest/smallPart
	})
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
	if p.Since = since(ctx, r, list); p.Since != nil && p.Since.Ready {
		for i := range p.Tallies {
			p.Tallies[i].Moved = moved(p.Since.Moves[p.Tallies[i].Outcome])
		}
	}
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

// smallPart says which batches are left out of what is most frequent: those
// with less than this part of the largest. A look at one site again must not
// hide what is the matter with thousands.
const smallPart = 10

// since compares the newest finished batch that has one before of the same list
// with that. A large comparison is not waited for; it is there the next time.
func since(ctx context.Context, r *Request, list []store.Batch) *Since {
	finished := func(b *store.Batch) bool { return b.State == store.StateFinished && b.Runs > 0 }
	for i := range list {
		after := &list[i]
		if !finished(after) {
			continue
		}
		j := slices.IndexFunc(list[i+1:], func(b store.Batch) bool { return finished(&b) && sameList(after, &b) })
		if j < 0 {
			continue
		}
		s := &Since{Before: &list[i+1+j], After: after}
		if c, ready, err := r.compared.soon(ctx, s.Before, after, r.compared.patience/3); ready && err == nil {
			s.Ready, s.Counts, s.Moves = true, c.counts, c.moves
		}
		return s
	}
	return nil
}

// sameList guesses whether two batches are of one list: they have the same
// name, or where one has no name, came from the same sources, which have a name.
func sameList(a, b *store.Batch) bool {
	if a.Name != "" && b.Name != "" {
		return a.Name == b.Name
	}
	return len(a.Sources) > 0 && a.Origin == b.Origin && !nameless(a)
}

// posted says that a list was pasted or sent in.
func posted(b *store.Batch) bool { return len(postedNames(b)) > 0 }

// postedNames are what the parts of a list are called that were sent in.
func postedNames(b *store.Batch) []string {
	o, err := producer.OptionsOf(b)
	if err != nil {
		return nil
	}
	return o.List.Posted
}

// nameless says that a list was pasted, or sent in without a name: that of two
// such lists are called the same says nothing.
func nameless(b *store.Batch) bool {
	return slices.ContainsFunc(postedNames(b), func(name string) bool { return name == pastedName || name == rawName })
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
