package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// Segment is a part of a bar that is 100 wide.
type Segment struct {
	Outcome  report.Outcome
	Count    int64
	X, Width string
}

// Bar is a stacked bar over outcomes, with its text alternative.
type Bar struct {
	Segments []Segment
	Label    string
}

// least is the width below which a part could not be seen.
const least = 0.5

// newBar stacks counts by outcome within a whole, of which a rest may be left.
func newBar(counts map[report.Outcome]int64, whole int64, what string) Bar {
	var b Bar
	var words []string
	x := 0.0
	for _, o := range outcomes {
		n := counts[o]
		width := 0.0
		if whole > 0 && n > 0 {
			width = min(max(100*float64(n)/float64(whole), least), 100-x)
			words = append(words, fmt.Sprintf("%s %s (%s)", number(n), o, share(n, whole)))
		}
		// Every outcome has its place, so that live numbers find it.
		b.Segments = append(b.Segments, Segment{o, n, fmt.Sprintf("%.2f", x), fmt.Sprintf("%.2f", width)})
		x += width
	}
	if len(words) == 0 {
		words = []string{"none yet"}
	}
	b.Label = fmt.Sprintf("Of %s: %s.", what, strings.Join(words, ", "))
	return b
}

// Tally is the number of things with one outcome.
type Tally struct {
	Outcome report.Outcome
	Count   int64
	Of      int64
	// Link is where they are listed, "" for nowhere.
	Link string
	// Moved is how many more or fewer there are than before, in words, "" where
	// nothing is known of that.
	Moved string
}

// moved is a change of a number in words.
func moved(n int64) string {
	switch {
	case n > 0:
		return "+" + number(n)
	case n < 0:
		return "−" + number(-n)
	}
	return "no change"
}

// tallies lists the four outcomes, and cancelled only where it occurs.
func tallies(counts map[report.Outcome]int64, of int64, link func(report.Outcome) string) []Tally {
	var all []Tally
	for _, o := range outcomes {
		if o == store.Cancelled && counts[o] == 0 {
			continue
		}
		t := Tally{Outcome: o, Count: counts[o], Of: of}
		if link != nil && t.Count > 0 {
			t.Link = link(o)
		}
		all = append(all, t)
	}
	return all
}

// Ranked is a line of a list of the most frequent: a reason, or a check with
// its failures and warnings. Widths are in percent of the widest line.
type Ranked struct {
	Name    string
	Words   string
	Outcome report.Outcome // of a reason
	Count   int64          // of a reason; failures and warnings of a check
	Fails   int64
	Warns   int64
	Of      int64
	Link    string

	Width, FailWidth string
}

// rankReasons leaves out what is no trouble.
func rankReasons(l Links, b *store.Batch, counts []store.ReasonCount, limit int) []Ranked {
	var all []Ranked
	for _, c := range counts {
		if c.Reason == report.ReasonComplete || len(all) == limit {
			continue
		}
		all = append(all, Ranked{Name: string(c.Reason), Words: c.Reason.Words(), Outcome: c.Outcome, Count: c.Entries, Of: b.Done(), Link: l.Reason(b.ID, c.Reason, c.Outcome)})
	}
	scale(all)
	return all
}

// rankChecks joins failures and warnings of a check, and leaves out what is
// only information.
func rankChecks(l Links, b *store.Batch, counts []store.CheckCount, limit int) []Ranked {
	var all []Ranked
	at := map[string]int{}
	for _, c := range counts {
		if c.Check == "linked" {
			continue
		}
		i, ok := at[c.Check]
		if !ok {
			i = len(all)
			at[c.Check] = i
			all = append(all, Ranked{Name: c.Check, Words: report.CheckWords(c.Check), Of: b.Done(), Link: l.Check(b.ID, c.Check, "")})
		}
		all[i].Count += c.Entries
		if c.Status == report.Fail {
			all[i].Fails += c.Entries
		} else {
			all[i].Warns += c.Entries
		}
	}
	sortRanked(all)
	all = all[:min(len(all), limit)]
	scale(all)
	return all
}

// sortRanked puts the most frequent first.
func sortRanked(all []Ranked) {
	slices.SortStableFunc(all, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Fails, a.Fails), cmp.Compare(a.Name, b.Name))
	})
}

// scale sets the widths of the lines.
func scale(all []Ranked) {
	var most int64
	for _, r := range all {
		most = max(most, r.Count)
	}
	for i := range all {
		r := &all[i]
		r.Width = fmt.Sprintf("%.2f", max(100*float64(r.Count)/float64(most), least))
		r.FailWidth = "0"
		if r.Fails > 0 {
			r.FailWidth = fmt.Sprintf("%.2f", max(100*float64(r.Fails)/float64(most), least))
		}
	}
}
