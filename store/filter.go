package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentaudit/audit/report"
)

// facet is one criterion of a filter that an index can find entries by.
type facet struct {
	table string // entry_results, entry_words or entry_checks
	// columns and values pick its rows beside the batch.
	columns []string
	values  []string
	// counted is the kind of its counter, "" where none is kept; name is its
	// name, and sub the status that alone can pass, "" for any.
	counted, name, sub string
	// entries is about how many entries it leaves, at most one more than
	// few where there is no counter.
	entries int64
}

// few is how many entries can be read and sorted for one page.
func (s *Store) few() int64 { return int64(s.o.MaxLooked / 5) }

// view is a filter with the way to read it: the facet that leaves the fewest
// entries drives the query, the others look at each of these.
type view struct {
	batch  int64
	run    int64 // 0 without [Filter.Run]
	f      Filter
	facets []facet // the driving one first
	// byText says that the words found drive the query, byNumber that the order
	// does. Otherwise the few entries of the first facet are sorted.
	byText, byNumber bool
	// byChange says that the few sites that changed lately drive the query.
	byChange bool
	// empty says that nothing can pass.
	empty bool
}

// view chooses the way to read a filter.
func (s *Store) view(ctx context.Context, b *Batch, f Filter) (*view, error) {
	batch, err := b.ID.number()
	if err != nil {
		return nil, err
	}
	v := &view{batch: batch, f: f}
	if f.Run != "" {
		of, run, err := f.Run.numbers()
		if err != nil || of != batch {
			return nil, fmt.Errorf("run %s of batch %s: %w", f.Run, b.ID, ErrNotFound)
		}
		v.run, v.f.Text = run, ""
	}
	v.facets = facetsOf(f)
	v.byText, v.byNumber = len(v.f.kinds()) > 0, v.f.number() != ""
	sorted := v.byText || v.byNumber
	if v.run != 0 || f.ChangedSince.IsZero() && (len(v.facets) == 0 || len(v.facets) == 1 && !sorted && f.CheckStatus == "") {
		return v, nil // there is nothing to choose
	}
	for i := range v.facets {
		x := &v.facets[i]
		if x.entries, err = s.entriesOf(ctx, batch, x); err != nil {
			return nil, err
		}
		v.empty = v.empty || x.entries <= 0
	}
	slices.SortStableFunc(v.facets, func(a, b facet) int { return int(min(max(a.entries-b.entries, -1), 1)) })
	least := s.few() + 1
	if len(v.facets) > 0 {
		least = v.facets[0].entries
	}
	if !f.ChangedSince.IsZero() {
		changed, err := s.changedSites(ctx, b, f.ChangedSince)
		if err != nil {
			return nil, err
		}
		v.empty = v.empty || changed == 0
		if v.byChange = changed <= s.few() && changed <= least; v.byChange {
			least = changed
		}
	}
	v.byText, v.byNumber = v.byText && least > s.few(), v.byNumber && least > s.few()
	return v, nil
}

// changedSites is how many sites have changed since a time, at most one more
// than few, and none where the batch has no result since then.
func (s *Store) changedSites(ctx context.Context, b *Batch, since time.Time) (n int64, err error) {
	if b.OpenRuns == 0 && !b.FinishedAt.IsZero() && b.FinishedAt.Before(since) {
		return 0, nil
	}
	err = s.read.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM sites WHERE since >= $1 LIMIT $2) AS found`, since.UnixMilli(), s.few()+1).Scan(&n)
	return n, explain(err)
}

func facetsOf(f Filter) []facet {
	var all []facet
	host := f.Host
	if link, ok := strings.CutPrefix(f.Check, "resource:https://"); ok && host == "" {
		// Only documents on the site's own host are checked by their URL.
		host = hostOf("https://" + link)
	}
	for _, w := range []struct{ kind, word string }{{kindHost, strings.ToLower(host)}, {kindRef, lowerASCII(f.ID)}, {kindLabel, lowerASCII(f.Label)}, {kindTag, f.Tag}} {
		if w.word != "" {
			all = append(all, facet{table: "entry_words", columns: []string{"kind", "word"}, values: []string{w.kind, w.word}})
		}
	}
	if f.Check != "" {
		class := report.CheckClass(f.Check)
		all = append(all, facet{table: "entry_checks", columns: []string{"check_class"}, values: []string{class}, counted: kindCheck, name: class, sub: string(f.CheckStatus)})
	}
	if f.Reason != "" {
		all = append(all, facet{table: "entry_results", columns: []string{"reason"}, values: []string{string(f.Reason)}, counted: kindReason, name: string(f.Reason)})
	}
	if f.Outcome != "" {
		all = append(all, facet{table: "entry_results", columns: []string{"outcome"}, values: []string{string(f.Outcome)}, counted: kindOutcome, name: string(f.Outcome)})
	}
	return all
}

// entriesOf is about how many entries a facet leaves.
func (s *Store) entriesOf(ctx context.Context, batch int64, x *facet) (n int64, err error) {
	if x.counted != "" {
		var passing int64
		err = s.read.QueryRowContext(ctx, `SELECT coalesce(sum(entries), 0), coalesce(sum(CASE WHEN $4 IN ('', sub) THEN entries ELSE 0 END), 0)
			FROM counts WHERE batch = $1 AND kind = $2 AND name = $3`, batch, x.counted, x.name, x.sub).Scan(&n, &passing)
		if passing == 0 {
			n = 0
		}
	} else {
		err = s.read.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM entry_words WHERE batch = $1 AND kind = $2 AND word = $3 LIMIT $4) AS found`,
			batch, x.values[0], x.values[1], s.few()+1).Scan(&n)
	}
	return n, explain(err)
}

// windowEnd is the last candidate that one page looks at, nil where it can look
// at all: there are few, or each of them is a row.
func (s *Store) windowEnd(ctx context.Context, v *view, pos position) (*position, error) {
	// narrowed says that more is asked than the facets can tell.
	narrowed := v.f.Agents != "" || !v.f.ChangedSince.IsZero() || v.f.CheckStatus != "" || report.CheckClass(v.f.Check) != v.f.Check
	bounded := false
	switch {
	case v.run != 0 || v.byChange: // few
	case v.byNumber:
		bounded = len(v.facets) > 0 || narrowed
	case v.byText:
		// In an order of hosts most may have no row yet.
		bounded = len(v.facets) > 0 || pos.kind > 0 || narrowed || v.f.Text == ""
	case len(v.f.kinds()) > 0 || v.f.number() != "": // few
	case len(v.facets) > 1:
		bounded = v.facets[0].entries > s.few()
	default:
		bounded = narrowed
	}
	if !bounded {
		return nil, nil
	}
	looked := max(s.o.MaxLooked/8, 1)
	q := &pageQuery{}
	q.drive(v, q.arg(v.batch), pos, nil)
	columns := "w.entry, ''"
	switch {
	case v.byText:
		columns = "w.entry, w.word"
	case v.byNumber:
		columns = "w.entry, w." + v.f.number()
	}
	end := &position{kind: pos.kind}
	err := s.read.QueryRowContext(ctx, `SELECT `+columns+` FROM `+q.from+` WHERE `+strings.Join(q.where, " AND ")+` ORDER BY `+q.order+
		` LIMIT 1 OFFSET `+q.arg(looked-1), q.args...).Scan(&end.entry, &end.word)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	return end, nil
}
