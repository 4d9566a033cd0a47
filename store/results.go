package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentaudit/audit/report"
)

// ErrCursor is the error for a cursor that is none, or of another filter.
var ErrCursor = errors.New("not a cursor of this list")

// MaxPage is the largest number of rows on one page.
const MaxPage = 1000

// Results reads one page of at most limit final rows ([MaxPage] at most), in
// the order of the filter; with [Filter.Text] by what was found. cursor is "" for the first page
// and [Page.Next] for those that follow. Rows that come while pages are turned
// show on the pages not yet turned. Where filters seldom meet, a page looks at
// some entries ([Options.MaxLooked]) and then ends early: it can have fewer rows than limit,
// or none, and others behind it. The error is [ErrNotFound] or [ErrCursor].
func (s *Store) Results(ctx context.Context, f Filter, cursor string, limit int) (*Page, error) {
	b, err := s.Batch(ctx, f.Batch)
	if err != nil {
		return nil, err
	}
	page, err := s.page(ctx, b, f, cursor, limit, false)
	if err != nil {
		return nil, fmt.Errorf("read results of batch %s: %w", f.Batch, err)
	}
	return page, nil
}

// EachResult calls fn for all final rows that pass the filter, in the order of
// [Store.Results], with Parts if full is set. It reads page by page: no
// transaction stays open, and writers are not held up however long fn takes.
// An error of fn ends it and is returned.
func (s *Store) EachResult(ctx context.Context, f Filter, full bool, fn func(Row) error) error {
	b, err := s.Batch(ctx, f.Batch)
	if err != nil {
		return err
	}
	limit := 500
	if full {
		limit = 100
	}
	for cursor := ""; ; {
		page, err := s.page(ctx, b, f, cursor, limit, full)
		if err != nil {
			return fmt.Errorf("read results of batch %s: %w", f.Batch, err)
		}
		for _, r := range page.Rows {
			if err := fn(r); err != nil {
				return err
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// position is what a cursor says: behind which row the next page begins. Kind
// and Word are only set where a text is searched, Word also in other orders than
// that of the list.
type position struct {
	entry int64
	kind  int // index into textKinds
	word  string
}

func (p position) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.entry, 36) + "." + strconv.Itoa(p.kind) + "." + p.word))
}

func parseCursor(s string) (p position, err error) {
	if s == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.SplitN(string(raw), ".", 3)
	if err != nil || len(parts) != 3 {
		return p, ErrCursor
	}
	var e1, e2 error
	p.entry, e1 = strconv.ParseInt(parts[0], 36, 64)
	p.kind, e2 = strconv.Atoi(parts[1])
	p.word = parts[2]
	if e1 != nil || e2 != nil || p.entry < 0 || p.kind < 0 || p.kind >= len(textKinds) {
		return p, ErrCursor
	}
	return p, nil
}

// number is the word of a list that is sorted by numbers.
func (p position) number() int64 {
	n, _ := strconv.ParseInt(p.word, 10, 64) // [Store.pageOf] looked at it
	return n
}

// textKinds are the words in which [Filter.Text] is looked for, in this order.
var textKinds = []string{kindHost, kindLabel, kindRef}

// group is a part of a list that is sorted by a word: all rows with that word.
type group struct {
	word string // groups come in the order of these
	f    Filter
}

// groups are the parts of a list that is sorted by outcome or reason, nil for
// other orders.
func (s *Store) groups(ctx context.Context, b *Batch, f Filter) ([]group, error) {
	if f.Run != "" || f.Text != "" {
		return nil, nil
	}
	var all []group
	add := func(word string, f Filter) {
		f.Order = InList
		all = append(all, group{word, f})
	}
	switch {
	case f.Order == RowByOutcome && f.Outcome == "":
		for i, o := range []report.Outcome{report.OutcomeFailed, report.OutcomePartial, report.OutcomeUnchecked, report.OutcomeSuccessful, Cancelled} {
			of := f
			of.Outcome = o
			add(strconv.Itoa(i), of)
		}
	case f.Order == RowByReason && f.Reason == "":
		counts, err := s.TopReasons(ctx, b.ID, 1000)
		if err != nil {
			return nil, err
		}
		for _, c := range counts {
			of := f
			of.Reason = c.Reason
			if !slices.ContainsFunc(all, func(g group) bool { return g.word == string(c.Reason) }) {
				add(string(c.Reason), of)
			}
		}
		slices.SortFunc(all, func(a, b group) int { return strings.Compare(a.word, b.word) })
		if f.Outcome == "" || f.Outcome == Cancelled {
			of := f
			of.Outcome = Cancelled
			add("\U0010FFFF", of)
		}
	}
	return all, nil
}

// tag begins the cursors of a list: that of one order means nothing in another.
func (f *Filter) tag() string {
	switch {
	case f.Run != "":
		return "1"
	case f.Text != "":
		return "t"
	case f.Order == InList:
		return "l"
	}
	return string(f.Order[:1])
}

func (s *Store) page(ctx context.Context, b *Batch, f Filter, cursor string, limit int, full bool) (*Page, error) {
	behind, ok := strings.CutPrefix(cursor, f.tag())
	if cursor != "" && (!ok || behind == "") {
		return nil, ErrCursor
	}
	pos, err := parseCursor(behind)
	if err != nil {
		return nil, err
	}
	p, err := s.pageBehind(ctx, b, f, pos, limit, full)
	if err == nil && p.Next != "" {
		p.Next = f.tag() + p.Next
	}
	return p, err
}

// pageBehind reads a page; its Next has no tag yet.
func (s *Store) pageBehind(ctx context.Context, b *Batch, f Filter, pos position, limit int, full bool) (*Page, error) {
	limit = min(max(limit, 1), MaxPage)
	groups, err := s.groups(ctx, b, f)
	if err != nil {
		return nil, err
	}
	if groups == nil {
		return s.pageOf(ctx, b, f, pos, limit, full)
	}
	p := &Page{}
	for _, g := range groups {
		if g.word < pos.word {
			continue
		}
		at := position{}
		if g.word == pos.word {
			at.entry = pos.entry
		}
		part, err := s.pageOf(ctx, b, g.f, at, limit-len(p.Rows), full)
		if err != nil {
			return nil, err
		}
		p.Rows = append(p.Rows, part.Rows...)
		if part.Next != "" {
			next, err := parseCursor(part.Next)
			if err != nil {
				return nil, err
			}
			p.Next = position{entry: next.entry, word: g.word}.cursor()
			return p, nil
		}
	}
	return p, nil
}

// pageOf reads a page of a list that is one group. A limit of 0 only tells
// whether there are rows.
func (s *Store) pageOf(ctx context.Context, b *Batch, f Filter, pos position, limit int, full bool) (*Page, error) {
	v, err := s.view(ctx, b, f)
	if err != nil {
		return nil, err
	}
	if pos.kind >= max(len(v.f.kinds()), 1) {
		return nil, ErrCursor
	}
	if v.f.number() != "" && pos.word != "" {
		if _, err := strconv.ParseInt(pos.word, 10, 64); err != nil {
			return nil, ErrCursor
		}
	}
	p := &Page{}
	if v.empty {
		return p, nil
	}
	for {
		end, err := s.windowEnd(ctx, v, pos)
		if err != nil {
			return nil, err
		}
		// One row more than the page tells whether another page follows.
		rows, last, err := s.rows(ctx, b, v.query(pos, end, full), limit+1-len(p.Rows))
		if err != nil {
			return nil, err
		}
		p.Rows = append(p.Rows, rows...)
		if len(p.Rows) > limit {
			p.Rows = p.Rows[:limit]
			before := position{} // the extra row is the first of its kind
			if len(last) > 1 {
				before = last[len(last)-2]
			}
			before.kind = pos.kind
			p.Next = before.cursor()
			return p, nil
		}
		if end != nil {
			p.Next = end.cursor()
			return p, nil
		}
		if pos.kind >= len(f.kinds())-1 {
			return p, nil
		}
		pos = position{kind: pos.kind + 1}
	}
}

// rows runs a page query; it returns the position of each row beside it.
func (s *Store) rows(ctx context.Context, b *Batch, q *pageQuery, limit int) ([]Row, []position, error) {
	columns := `x.entry, x.run, x.outcome, x.reason, ` + q.found + `, e.source, e.line, e.input, e.ref, e.label, e.tags, e.notes, r.target, r.readme, r.attempt,
		coalesce(s.detail, ''), coalesce(s.valid, false), coalesce(s.publication, ''), coalesce(s.text_index, ''), coalesce(s.readme, ''),
		coalesce(s.agents, ''), coalesce(s.failing, '[]'), coalesce(s.warning, '[]'), coalesce(s.started_at, 0), coalesce(s.finished_at, 0)`
	if q.full {
		columns += `, p.enc, p.body`
	}
	query := `SELECT ` + columns + ` FROM ` + q.from + ` WHERE ` + strings.Join(q.where, " AND ") + ` ORDER BY ` + q.order + ` LIMIT ` + q.arg(limit)
	batch, err := b.ID.number()
	if err != nil {
		return nil, nil, err
	}
	type found struct {
		Row
		word string
	}
	list, err := collect(ctx, s.read, query, q.args, func(r *sql.Rows, v *found) error {
		var run, started, finished int64
		var source int
		var tags, notes, failing, warning string
		var enc sql.NullInt64
		var body []byte
		dest := []any{&v.Entry, &run, &v.Outcome, &v.Reason, &v.word, &source, &v.Line, &v.Input, &v.ID, &v.Label, &tags, &notes, &v.Target, &v.ReadmeURL, &v.Attempts,
			&v.Detail, &v.Valid, &v.Publication, &v.TextIndex, &v.Readme, &v.Agents, &failing, &warning, &started, &finished}
		if q.full {
			dest = append(dest, &enc, &body)
		}
		if err := r.Scan(dest...); err != nil {
			return err
		}
		v.Batch, v.Run, v.Source = b.ID, runID(batch, run), sourceName(b.Sources, source)
		v.StartedAt, v.FinishedAt, v.DurationMs = instant(started), instant(finished), finished-started
		var errs [4]error
		v.Tags, errs[0] = decodeList(tags)
		v.Failing, errs[1] = decodeList(failing)
		v.Warning, errs[2] = decodeList(warning)
		v.Notes, errs[3] = decodeList(notes)
		if err := errors.Join(errs[:]...); err != nil || !enc.Valid {
			return err
		}
		v.Parts, err = s.codec.unpackParts(packed{enc.Int64, body})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	rows, at := make([]Row, len(list)), make([]position, len(list))
	for i, v := range list {
		rows[i], at[i] = v.Row, position{entry: v.Entry, word: v.word}
		if q.full && v.Parts == nil {
			rows[i].Parts = &Parts{} // cancelled, or its documents are no longer kept
		}
	}
	return rows, at, nil
}

// Parts reads the documents of a run's result. The error is [ErrNotFound],
// and [ErrDropped] where they were there once.
func (s *Store) Parts(ctx context.Context, id RunID) (*Parts, error) {
	batch, n, err := id.numbers()
	if err != nil {
		return nil, err
	}
	var p packed
	err = s.read.QueryRowContext(ctx, `SELECT enc, body FROM reports WHERE batch = $1 AND run = $2`, batch, n).Scan(&p.enc, &p.body)
	if err == sql.ErrNoRows {
		return nil, s.noDocuments(ctx, id, batch, n)
	}
	if err != nil {
		return nil, fmt.Errorf("read the result of run %s: %w", id, explain(err))
	}
	parts, err := s.codec.unpackParts(p)
	if err != nil {
		return nil, fmt.Errorf("read the result of run %s: %w", id, err)
	}
	return parts, nil
}

// Report reads the report of a run's result. The error is [ErrNotFound].
func (s *Store) Report(ctx context.Context, id RunID) (*report.Report, error) {
	r := new(report.Report)
	return r, s.part(ctx, id, func(p *Parts) json.RawMessage { return p.Report }, r)
}

// Evidence reads what each read of a run left behind. The error is
// [ErrNotFound].
func (s *Store) Evidence(ctx context.Context, id RunID) ([]report.Evidence, error) {
	var e []report.Evidence
	err := s.part(ctx, id, func(p *Parts) json.RawMessage { return p.Evidence }, &e)
	return e, err
}

func (s *Store) part(ctx context.Context, id RunID, which func(*Parts) json.RawMessage, v any) error {
	p, err := s.Parts(ctx, id)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(which(p), v); err != nil {
		return fmt.Errorf("read the result of run %s: %w: %w", id, errDamaged, err)
	}
	return nil
}

// FindRun is the run of a target in a batch; readme is the README URL that the
// list gave, "" for none. Runs can be found when the intake has ended. The
// error is [ErrNotFound].
func (s *Store) FindRun(ctx context.Context, id BatchID, target, readme string) (RunID, error) {
	batch, err := id.number()
	if err != nil {
		return "", err
	}
	var n int64
	key := runKey(target, readme)
	err = s.read.QueryRowContext(ctx, `SELECT run FROM run_keys WHERE batch = $1 AND key = $2`, batch, key[:]).Scan(&n)
	if err == sql.ErrNoRows {
		return "", fmt.Errorf("%.200q in batch %s: %w", target, id, ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("find %.200q in batch %s: %w", target, id, explain(err))
	}
	return runID(batch, n), nil
}
