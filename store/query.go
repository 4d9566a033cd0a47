package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

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

// newPageQuery chooses the index that drives the query: the filter that leaves
// the fewest rows comes first, the others look at each of these. CROSS JOIN
// keeps SQLite at this order; PostgreSQL chooses for itself.
func newPageQuery(b *Batch, f Filter, pos position, full bool) (*pageQuery, error) {
	q := &pageQuery{full: full, found: "''"}
	batch, err := b.ID.number()
	if err != nil {
		return nil, err
	}
	id := q.arg(batch)
	rest := `CROSS JOIN entries e CROSS JOIN runs r LEFT JOIN results s ON s.batch = x.batch AND s.run = x.run AND x.outcome <> 'cancelled'`
	if full {
		rest += ` LEFT JOIN reports p ON p.batch = x.batch AND p.run = x.run AND x.outcome <> 'cancelled'`
	}
	type word struct{ kind, word string }
	var words []word
	for _, w := range []word{{kindHost, strings.ToLower(f.Host)}, {kindRef, lowerASCII(f.ID)}, {kindLabel, lowerASCII(f.Label)}, {kindTag, f.Tag}} {
		if w.word != "" {
			words = append(words, w)
		}
	}
	driver := "x.entry"
	switch {
	case f.Run != "":
		of, run, err := f.Run.numbers()
		if err != nil || of != batch {
			return nil, fmt.Errorf("run %s of batch %s: %w", f.Run, b.ID, ErrNotFound)
		}
		driver = "w.entry"
		n := q.arg(run)
		q.from = `(SELECT entry FROM runs WHERE batch = ` + id + ` AND n = ` + n +
			` UNION ALL SELECT n AS entry FROM entries WHERE batch = ` + id + ` AND run = ` + n + ` AND dup = true) w CROSS JOIN entry_results x ` + rest
	case f.Text != "":
		text := lowerASCII(f.Text)
		driver, q.found = "w.entry", "w.word"
		q.from = `entry_words w CROSS JOIN entry_results x ` + rest
		q.and(`w.batch = ` + id + ` AND w.kind = ` + q.arg(textKinds[pos.kind]))
		from := text
		if pos.word != "" {
			from = pos.word
		}
		// The bound on word alone lets the index start there.
		word := q.arg(from)
		q.and(`w.word >= ` + word + ` AND w.word < ` + q.arg(text+"\U0010FFFF") +
			` AND (w.word > ` + word + ` OR w.entry > ` + q.arg(pos.entry) + `)`)
		q.order = "w.word, w.entry"
		for _, earlier := range textKinds[:pos.kind] {
			q.and(`NOT EXISTS (SELECT 1 FROM entry_words y WHERE y.batch = ` + id + ` AND y.kind = ` + q.arg(earlier) +
				` AND y.entry = w.entry AND y.word >= ` + q.arg(text) + ` AND y.word < ` + q.arg(text+"\U0010FFFF") + `)`)
		}
	case len(words) > 0:
		driver = "w.entry"
		q.from = `entry_words w CROSS JOIN entry_results x ` + rest
		q.and(`w.batch = ` + id + ` AND w.kind = ` + q.arg(words[0].kind) + ` AND w.word = ` + q.arg(words[0].word))
		words = words[1:]
	case f.Check != "":
		driver = "c.entry"
		q.from = `entry_checks c CROSS JOIN entry_results x ` + rest
		q.and(`c.batch = ` + id + ` AND c.check_class = ` + q.arg(CheckClass(f.Check)))
	default:
		q.from = `entry_results x ` + rest
	}
	if f.Text == "" || f.Run != "" {
		q.and(driver + ` > ` + q.arg(pos.entry))
		q.order = driver
	}
	q.and(`x.batch = ` + id + ` AND x.entry = ` + driver + ` AND e.batch = x.batch AND e.n = x.entry AND r.batch = x.batch AND r.n = x.run`)
	for _, w := range words {
		q.and(`EXISTS (SELECT 1 FROM entry_words y WHERE y.batch = ` + id + ` AND y.kind = ` + q.arg(w.kind) +
			` AND y.word = ` + q.arg(w.word) + ` AND y.entry = x.entry)`)
	}
	if f.Outcome != "" {
		q.and(`x.outcome = ` + q.arg(string(f.Outcome)))
	}
	if f.Reason != "" {
		q.and(`x.reason = ` + q.arg(string(f.Reason)))
	}
	if f.Agents != "" {
		q.and(`s.agents = ` + q.arg(f.Agents))
	}
	q.filterCheck(f, id)
	return q, nil
}

func (q *pageQuery) filterCheck(f Filter, batch string) {
	if f.Check == "" {
		return
	}
	status := ""
	if f.CheckStatus != "" {
		status = string(f.CheckStatus)
	}
	if strings.HasPrefix(q.from, "entry_checks") {
		if status != "" {
			q.and(`c.status = ` + q.arg(status))
		} else {
			// An entry can fail and warn in one class; it has one row.
			q.and(`(c.status = 'fail' OR NOT EXISTS (SELECT 1 FROM entry_checks d WHERE d.batch = ` + batch +
				` AND d.check_class = c.check_class AND d.entry = c.entry AND d.status = 'fail'))`)
		}
	} else {
		cond := `EXISTS (SELECT 1 FROM entry_checks c WHERE c.batch = ` + batch + ` AND c.check_class = ` + q.arg(CheckClass(f.Check)) + ` AND c.entry = x.entry`
		if status != "" {
			cond += ` AND c.status = ` + q.arg(status)
		}
		q.and(cond + `)`)
	}
	if CheckClass(f.Check) == f.Check {
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

// lowerASCII is what lower() of the databases does.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
