package sitelist

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// readText reads one URL a line. Blank lines and lines that begin with '#' are
// passed over, and so is a comment behind a blank on the same line. Where the
// form was only guessed, lines of several cells are rejected: they are records
// of CSV that lack a header, and read as URLs they would name files that no
// site has.
func readText(in *input, guessed bool, to sink) error {
	lines := newLineReader(in, MaxLine)
	for {
		b, long, err := lines.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if b = bytes.TrimSpace(b); len(b) == 0 || b[0] == '#' {
			continue
		}
		text := string(b)
		if long {
			if !to(tooLong(lines.number, text, MaxLine)) {
				return errStop
			}
			continue
		}
		site := text
		if i := strings.IndexByte(text, '#'); i > 0 && (text[i-1] == ' ' || text[i-1] == '\t') {
			site = text[:i]
		}
		if rest, _ := trimInvisible(site); rest == "" {
			continue // nothing that could be seen
		}
		l := makeLine(lines.number, entry{text: text, site: site})
		if guessed && severalCells(site, l.Reject == "") {
			l = rejectLine(lines.number, text, "%s", rejectCells)
		}
		if !to(l) {
			return errStop
		}
	}
}

// rejectCells says why a line of several cells is no site.
const rejectCells = "there is more than one URL in the line: it looks like a record of CSV without a header; let the list begin with a line that names " +
	"its columns, such as url,id - or, where all of it is one URL, say that this is plain text (--list-format text)"

// severalCells reports whether a line is a record of CSV rather than a URL, or,
// where it can be read as one, has words behind it: the standard drops tabs in a
// URL, and takes all else for a part of the host or path.
func severalCells(site string, readable bool) bool {
	site, _ = trimInvisible(site)
	return strings.ContainsAny(site, ",;\t\"") || readable && strings.Contains(site, " ")
}

func tooLong(number int64, text string, most int) Line {
	// The start may end within a character.
	for n := 0; n < utf8.UTFMax && len(text) > 0 && !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]); n++ {
		text = text[:len(text)-1]
	}
	l := rejectLine(number, text, "the line is longer than %d bytes", most)
	l.Notes = append(l.Notes, "only the start of the line was kept")
	return l
}
