package store

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"agentaudit/audit/report"
)

// pageQuery is the statement for one page.
type pageQuery struct {
	from  string
	where []string
	order string
	args  []any
	full  bool
	found string // the column that holds the word found, '' without one
}

func (q *pageQuery) arg(v any) string {
	q.args = append(q.args, v)
	return "$" + strconv.Itoa(len(q.args))
}

func (q *pageQuery) and(cond string) { q.where = append(q.where, cond) }

func (q *pageQuery) pick(alias string, x facet, batch string) string {
	cond := alias + `.batch = ` + batch
	for i, c := range x.columns {
		cond += ` AND ` + alias + `.` + c + ` = ` + q.arg(x.values[i])
	}
	return cond
}

// textRange bounds a column to words that begin with the text, behind pos and
// up to end (nil: no end). The bounds on the word alone are what an index goes
// by.
func (q *pageQuery) textRange(v *view, word, entry string, pos position, end *position) {
	text := lowerASCII(v.f.Text)
	from := text
	if pos.word != "" {
		from = pos.word
	}
	w := q.arg(from)
	q.and(word + ` >= ` + w + ` AND (` + word + ` > ` + w + ` OR ` + entry + ` > ` + q.arg(pos.entry) + `)`)
	if end == nil {
		q.and(word + ` < ` + q.arg(text+"\U0010FFFF"))
		return
	}
	w = q.arg(end.word)
	q.and(word + ` <= ` + w + ` AND (` + word + ` < ` + w + ` OR ` + entry + ` <= ` + q.arg(end.entry) + `)`)
}

// textColumns are the columns behind [textKinds].
var textColumns = []string{"r.host", "lower(e.label)", "lower(e.ref)"}

// drive adds the table w that gives candidates behind pos, in their order, up
// to end (nil: no end).
func (q *pageQuery) drive(v *view, batch string, pos position, end *position) {
	q.order = "w.entry"
	switch {
	case v.run != 0:
		n := q.arg(v.run)
		q.from = `(SELECT entry FROM runs WHERE batch = ` + batch + ` AND n = ` + n +
			` UNION ALL SELECT n AS entry FROM entries WHERE batch = ` + batch + ` AND run = ` + n + ` AND dup = true) w`
	case v.byChange:
		since := q.arg(v.f.ChangedSince.UnixMilli())
		changed := ` FROM sites c CROSS JOIN results d CROSS JOIN `
		where := ` WHERE c.since >= ` + since + ` AND d.site = c.key AND d.finished_at >= ` + since + ` AND d.batch = ` + batch + ` AND z.batch = ` + batch
		q.from = `(SELECT z.entry AS entry` + changed + `runs z` + where + ` AND z.n = d.run UNION ALL SELECT z.n AS entry` + changed + `entries z` + where + ` AND z.run = d.run AND z.dup = true) w`
	case v.byNumber:
		q.found = "w." + v.f.number()
		q.from = `entry_results w`
		q.and(`w.batch = ` + batch)
		q.numberRange(q.found, pos, end)
		q.order = q.found + " DESC, w.entry DESC"
		return
	case v.byText:
		q.found = "w.word"
		q.from = `entry_words w`
		q.and(`w.batch = ` + batch + ` AND w.kind = ` + q.arg(textKinds[pos.kind]))
		q.textRange(v, "w.word", "w.entry", pos, end)
		q.order = "w.word, w.entry"
		return
	case len(v.facets) > 0:
		x := v.facets[0]
		q.from = x.table + ` w`
		q.and(q.pick("w", x, batch))
	default:
		q.from = `entry_results w`
		q.and(`w.batch = ` + batch)
	}
	if len(v.f.kinds()) > 0 || v.f.number() != "" {
		return // few, and sorted by what is found
	}
	q.and(`w.entry > ` + q.arg(pos.entry))
	if end != nil {
		q.and(`w.entry <= ` + q.arg(end.entry))
	}
}

// query is the statement for the rows behind pos, up to end. CROSS JOIN keeps
// SQLite at the order of the tables; PostgreSQL chooses for itself.
func (v *view) query(pos position, end *position, full bool) *pageQuery {
	q := &pageQuery{full: full, found: "''"}
	id := q.arg(v.batch)
	q.drive(v, id, pos, end)
	rest := v.facets
	if !v.byText && !v.byNumber && !v.byChange && v.run == 0 && len(rest) > 0 {
		rest = rest[1:]
	}
	// What indexes can tell is asked before the tables with the rows. A join is
	// meant here: an EXISTS would be looked at last.
	check := "w"
	for i, x := range rest {
		if x.table == "entry_results" {
			continue
		}
		alias := "y" + strconv.Itoa(i)
		q.from += ` CROSS JOIN ` + x.table + ` ` + alias
		q.and(q.pick(alias, x, id) + ` AND ` + alias + `.entry = w.entry`)
		if x.table == "entry_checks" {
			check = alias
		}
	}
	q.from += ` CROSS JOIN entry_results x`
	if !v.f.ChangedSince.IsZero() {
		q.filterChange(v.f.ChangedSince)
	}
	q.from += ` CROSS JOIN entries e CROSS JOIN runs r LEFT JOIN results s ON s.batch = x.batch AND s.run = x.run AND x.outcome <> 'cancelled'`
	if full {
		q.from += ` LEFT JOIN reports p ON p.batch = x.batch AND p.run = x.run AND x.outcome <> 'cancelled'`
	}
	q.and(`x.batch = ` + id + ` AND x.entry = w.entry AND e.batch = x.batch AND e.n = x.entry AND r.batch = x.batch AND r.n = x.run`)
	for _, x := range rest {
		if x.table == "entry_results" {
			q.and(`x.` + x.columns[0] + ` = ` + q.arg(x.values[0]))
		}
	}
	if v.f.Agents != "" {
		q.and(`s.agents = ` + q.arg(v.f.Agents))
	}
	if v.f.Check != "" {
		q.filterCheck(v.f, id, check)
	}
	if number := v.f.number(); number != "" && !v.byNumber {
		q.found = "x." + number
		q.numberRange(q.found, pos, nil)
		q.order = q.found + " DESC, w.entry DESC"
	}
	if len(v.f.kinds()) == 0 {
		return q
	}
	if !v.byText {
		q.found = textColumns[pos.kind]
		q.textRange(v, q.found, "w.entry", pos, nil)
		q.order = q.found + ", w.entry"
	}
	// What was found by an earlier kind of word has its row there.
	text := lowerASCII(v.f.Text)
	for _, column := range textColumns[:pos.kind] {
		q.and(`NOT (` + column + ` >= ` + q.arg(text) + ` AND ` + column + ` < ` + q.arg(text+"\U0010FFFF") + `)`)
	}
	return q
}

// filterCheck narrows to the status and the one id of a class of checks that
// are asked for. c is the table of checks in the query.
func (q *pageQuery) filterCheck(f Filter, batch, c string) {
	status := string(f.CheckStatus)
	if status != "" {
		q.and(c + `.status = ` + q.arg(status))
	} else {
		// An entry can fail and warn in one class; it has one row.
		q.and(`(` + c + `.status = 'fail' OR NOT EXISTS (SELECT 1 FROM entry_checks d WHERE d.batch = ` + batch +
			` AND d.check_class = ` + c + `.check_class AND d.entry = ` + c + `.entry AND d.status = 'fail'))`)
	}
	if report.CheckClass(f.Check) == f.Check {
		return
	}
	// One of many ids of its class: it stands in the lists of the result.
	id, _ := json.Marshal(f.Check)
	like := q.arg("%" + strings.NewReplacer(`!`, `!!`, `%`, `!%`, `_`, `!_`).Replace(string(id)) + "%")
	in := func(column string) string { return column + ` LIKE ` + like + ` ESCAPE '!'` }
	switch report.Status(status) {
	case report.Fail:
		q.and(in("s.failing"))
	case report.Warn:
		q.and(in("s.warning"))
	default:
		q.and(`(` + in("s.failing") + ` OR ` + in("s.warning") + `)`)
	}
}

// filterChange picks results of sites that changed since a time, before the
// tables with the rows are looked at. Every change is also noted with its site,
// where it costs less to look.
func (q *pageQuery) filterChange(since time.Time) {
	at := q.arg(since.UnixMilli())
	q.from += ` CROSS JOIN results g CROSS JOIN sites h`
	q.and(`x.outcome <> 'cancelled' AND g.batch = x.batch AND g.run = x.run AND g.finished_at >= ` + at + ` AND h.key = g.site AND h.since >= ` + at)
	q.and(`x.outcome <> (SELECT o.outcome FROM results o WHERE o.site = g.site AND o.finished_at < ` + at + ` ORDER BY o.finished_at DESC, o.batch DESC, o.run DESC LIMIT 1)`)
}

// numberRange bounds a column to what is behind pos and up to end, the largest
// number first (nil: no end).
func (q *pageQuery) numberRange(column string, pos position, end *position) {
	if pos.word != "" {
		q.and(`(` + column + `, w.entry) < (` + q.arg(pos.number()) + `, ` + q.arg(pos.entry) + `)`)
	}
	if end != nil {
		q.and(`(` + column + `, w.entry) >= (` + q.arg(end.number()) + `, ` + q.arg(end.entry) + `)`)
	}
}

// lowerASCII is what lower() of the databases does.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
