package sitelist

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// readCSV reads comma, semicolon or tab separated values (RFC 4180) with a
// header. A record that is broken is rejected and reading goes on with the
// next line.
func readCSV(in *input, opt Options, to sink) error {
	r := &csvReader{lines: newLineReader(in, MaxLine), comma: ','}
	want := newColumns(opt)
	header, err := r.header(in, want)
	if err != nil || header == nil {
		return err
	}
	for {
		rec, err := r.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if rec.blank() {
			continue
		}
		if !to(header.line(rec)) {
			return errStop
		}
	}
}

// record is one record, good or broken.
type record struct {
	number int64
	cells  []string
	raw    string
	// lines are those that it took for good, the first line at least.
	lines []csvLine
	// broken says what is wrong with it, "" if nothing is.
	broken string
	long   bool
}

func (r record) blank() bool {
	return r.broken == "" && !slices.ContainsFunc(r.cells, func(c string) bool {
		c, _ = trimInvisible(c)
		return c != ""
	})
}

// csvReader reads records, and reads lines again that a broken record took.
type csvReader struct {
	lines *lineReader
	comma byte
	// again has lines to be read again, the next one last.
	again []csvLine
}

type csvLine struct {
	number int64
	text   string
	long   bool
}

func (r *csvReader) line() (csvLine, error) {
	if n := len(r.again); n > 0 {
		l := r.again[n-1]
		r.again = r.again[:n-1]
		return l, nil
	}
	b, long, err := r.lines.next()
	if err != nil {
		return csvLine{}, err
	}
	return csvLine{r.lines.number, string(b), long}, nil
}

// next reads a record, over several lines where a quoted cell has line ends.
func (r *csvReader) next() (record, error) {
	first, err := r.line()
	if err != nil {
		return record{}, err
	}
	rec := record{number: first.number, raw: first.text, lines: []csvLine{first}, long: first.long}
	if first.long {
		return rec, nil
	}
	var p csvParser
	more := p.add(first.text, r.comma)
	var taken []csvLine
	for more && p.broken == "" {
		l, err := r.line()
		if err == io.EOF {
			p.broken = "a quotation mark is not closed"
			break
		}
		if err != nil {
			return record{}, err
		}
		taken = append(taken, l)
		if len(p.cell)+len(l.text) > MaxLine || l.long {
			p.broken = fmt.Sprintf("a quotation mark is not closed within %d bytes", MaxLine)
			break
		}
		more = p.add("\n"+l.text, r.comma)
	}
	if p.broken != "" {
		// What it took beyond its first line may be good records.
		r.unread(taken)
		rec.broken = p.broken
		return rec, nil
	}
	rec.cells = p.cells
	if len(taken) > 0 {
		rec.lines = append(rec.lines, taken...)
		rec.raw = joined(rec.lines)
	}
	return rec, nil
}

// unread has lines read again.
func (r *csvReader) unread(lines []csvLine) {
	for _, l := range slices.Backward(lines) {
		r.again = append(r.again, l)
	}
}

func joined(lines []csvLine) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
	}
	return b.String()
}

// csvParser reads the cells of one record.
type csvParser struct {
	cells  []string
	cell   []byte
	quoted bool
	broken string
}

// add reads a line of a record and reports whether the record goes on.
func (p *csvParser) add(s string, comma byte) bool {
	i := 0
	for {
		if p.quoted {
			n := strings.IndexByte(s[i:], '"')
			if n < 0 {
				p.cell = append(p.cell, s[i:]...)
				return true
			}
			p.cell = append(p.cell, s[i:i+n]...)
			i += n + 1
			if i < len(s) && s[i] == '"' {
				p.cell = append(p.cell, '"')
				i++
				continue
			}
			p.quoted = false
			for i < len(s) && s[i] == ' ' {
				i++
			}
			if i < len(s) && s[i] != comma {
				p.broken = "there is text behind a closing quotation mark; quotation marks in a cell must be doubled"
				return false
			}
		} else {
			start := i
			for i < len(s) && s[i] == ' ' {
				i++
			}
			if i < len(s) && s[i] == '"' {
				p.quoted = true
				i++
				continue
			}
			n := strings.IndexByte(s[start:], comma)
			if n < 0 {
				n = len(s) - start
			}
			p.cell = append(p.cell, s[start:start+n]...)
			i = start + n
		}
		p.cells = append(p.cells, string(p.cell))
		p.cell = p.cell[:0]
		if i >= len(s) {
			return false
		}
		i++ // the comma
	}
}

// csvHeader says which cell has what; -1 is none.
type csvHeader struct {
	columns
	names                         []string
	at, id, label, tags, readmeAt int
}

// header reads the first record. It is nil where the list is empty.
func (r *csvReader) header(in *input, want columns) (*csvHeader, error) {
	for {
		rec, err := r.next()
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if sep, ok := strings.CutPrefix(strings.ToLower(rec.raw), "sep="); ok && len(sep) == 1 {
			r.comma = sep[0] // spreadsheets write this line
			continue
		}
		if rec.broken == "" && rec.blank() {
			continue
		}
		// Only now the separator can be told, so the lines are read again.
		r.unread(rec.lines)
		if rec, err = r.separated(want); err != nil {
			return nil, err
		}
		if rec.long {
			rec.broken = fmt.Sprintf("it is longer than %d bytes", MaxLine)
		}
		if rec.broken != "" {
			return nil, in.fail(rec.number, 0, nil, "the header is not readable: %s", rec.broken)
		}
		return newHeader(in, rec, want)
	}
}

// separated reads the header with the separator that makes it name a wanted
// column, or else divides it most often.
func (r *csvReader) separated(want columns) (record, error) {
	best, score := r.comma, -1
	for _, c := range []byte{r.comma, ',', ';', '\t'} {
		r.comma = c
		rec, err := r.next()
		if err != nil {
			return rec, err
		}
		r.unread(rec.lines)
		if n := headerScore(rec.cells, want); n > score {
			best, score = c, n
		}
	}
	r.comma = best
	return r.next()
}

func headerScore(cells []string, want columns) int {
	n := len(cells)
	for _, name := range cells {
		if slices.Contains(want.site, columnName(name)) {
			n += 1000
		}
	}
	return n
}

func newHeader(in *input, rec record, want columns) (*csvHeader, error) {
	h := &csvHeader{columns: want}
	for _, c := range rec.cells {
		h.names = append(h.names, columnName(c))
	}
	found := fmt.Sprintf("the columns are: %s", quoteAll(rec.cells))
	for _, name := range want.asked {
		if !slices.Contains(h.names, name) {
			return nil, in.fail(rec.number, 0, nil, "there is no column %q; %s", name, found)
		}
	}
	find := func(names []string) int {
		for _, name := range names {
			if i := slices.Index(h.names, name); i >= 0 {
				return i
			}
		}
		return -1
	}
	h.at, h.id, h.label, h.tags, h.readmeAt = find(want.site), find(want.id), find(want.label), find(want.tags), find(want.readme)
	if h.at < 0 {
		return nil, in.fail(rec.number, 0, nil, "no column is named %s; %s; name the one with the sites (--column), or say that this is plain text (--list-format text)", strings.Join(want.site, ", "), found)
	}
	for _, i := range []int{h.at, h.id, h.label, h.tags, h.readmeAt} {
		if i >= 0 && slices.Contains(h.names[i+1:], h.names[i]) {
			return nil, in.fail(rec.number, 0, nil, "two columns are named %q; %s; rename one of them", h.names[i], found)
		}
	}
	return h, nil
}

func quoteAll(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == 40 || b.Len() > 1000 {
			fmt.Fprintf(&b, "and %d more", len(names)-i)
			break
		}
		fmt.Fprintf(&b, "%q", cut(strings.TrimSpace(n), 80))
	}
	return b.String()
}

// line makes a line of a record.
func (h *csvHeader) line(rec record) Line {
	switch {
	case rec.long:
		return tooLong(rec.number, rec.raw, MaxLine)
	case rec.broken != "":
		return rejectLine(rec.number, rec.raw, "this is not CSV: %s", rec.broken)
	case len(rec.cells) <= h.at:
		return rejectLine(rec.number, rec.raw, "the record has %d cells, but the site stands in the %s", len(rec.cells), ordinal(h.at+1))
	}
	for _, c := range rec.cells[min(len(h.names), len(rec.cells)):] {
		if strings.TrimSpace(c) != "" {
			return rejectLine(rec.number, rec.raw, "the record has %d cells, but the header has %d; a cell that holds a separator needs quotation marks", len(rec.cells), len(h.names))
		}
	}
	cell := func(i int) string {
		if i < 0 || i >= len(rec.cells) {
			return ""
		}
		return strings.TrimSpace(rec.cells[i])
	}
	e := entry{site: rec.cells[h.at], id: cell(h.id), label: cell(h.label), tags: splitTags(cell(h.tags)), readme: cell(h.readmeAt)}
	if e.readme != "" && h.readmeText(h.names[h.readmeAt], e.readme) {
		e.readme = ""
		e.notes = append(e.notes, noteReadmeText)
	}
	if site, _ := trimInvisible(e.site); site == "" {
		e.text = rec.raw // the record says something, but no site
	}
	return makeLine(rec.number, e)
}

func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// looksLikeHeader reports whether the first line of a list names a column
// that is wanted.
func looksLikeHeader(first []byte, opt Options) bool {
	if strings.HasPrefix(strings.ToLower(string(first)), "sep=") {
		return true
	}
	want := newColumns(opt)
	for _, c := range []byte{',', ';', '\t'} {
		var p csvParser
		p.add(string(first), c)
		if headerScore(p.cells, want) >= 1000 {
			return true
		}
	}
	return false
}
