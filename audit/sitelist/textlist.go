package sitelist

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// readText reads one URL a line. Blank lines and lines that begin with '#' are
// passed over, and so is a comment behind a blank on the same line.
func readText(in *input, to sink) error {
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
		if !to(makeLine(lines.number, entry{text: text, site: site})) {
			return errStop
		}
	}
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
