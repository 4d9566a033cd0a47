package agentstxt

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBody is the size limit of one file in bytes. Larger files are refused,
// and a check says so (section 2.1, "size").
const MaxBody = 1 << 20

// Protective limits (section 2.1): what lies beyond is not read, and a check
// says so. A real file has a hundredth of this.
const (
	maxLines        = 100_000
	maxCapabilities = 10_000
	maxAgents       = 10_000
)

// source is a decoded file: UTF-8 without a byte order mark.
type source struct {
	text string
	bom  bool
	// invalid is the offset of the first byte that was no UTF-8, -1 if all was.
	invalid int
	// loneCR: the file has no LF at all and CR ends its lines.
	loneCR bool
	// starts are the offsets of the lines, marks the count of characters
	// before every markEvery bytes: columns are cheap even in one long line.
	starts []int
	marks  []int
}

const markEvery = 1024

func newSource(body []byte) *source {
	s := &source{text: string(body), invalid: -1}
	s.text, s.bom = strings.CutPrefix(s.text, "\ufeff")
	if !utf8.ValidString(s.text) {
		for i, r := range s.text {
			if r == utf8.RuneError {
				if _, n := utf8.DecodeRuneInString(s.text[i:]); n == 1 {
					s.invalid = i
					break
				}
			}
		}
		s.text = toValid(s.text)
	}
	s.loneCR = !strings.Contains(s.text, "\n") && strings.Contains(s.text, "\r")
	end := byte('\n')
	if s.loneCR {
		end = '\r'
	}
	s.starts = []int{0}
	for i := 0; i < len(s.text); i++ {
		if s.text[i] == end {
			s.starts = append(s.starts, i+1)
		}
	}
	n := 0
	for i := 0; i < len(s.text); i++ {
		if i%markEvery == 0 {
			s.marks = append(s.marks, n)
		}
		if utf8.RuneStart(s.text[i]) {
			n++
		}
	}
	return s
}

// toValid replaces every byte that is no UTF-8 by U+FFFD of its own, as
// browsers do for the bytes that occur in practice.
func toValid(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// line is the raw text of line i (from 0) without its line end.
func (s *source) line(i int) string {
	from, to := s.starts[i], len(s.text)
	if i+1 < len(s.starts) {
		to = s.starts[i+1] - 1
	}
	text := s.text[from:to]
	if !s.loneCR && i+1 < len(s.starts) {
		text = strings.TrimSuffix(text, "\r")
	}
	return text
}

// position is the line and column of an offset, both from 1; columns count
// characters.
func (s *source) position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(s.text))
	i := sort.SearchInts(s.starts, offset+1) - 1
	return i + 1, s.characters(offset) - s.characters(s.starts[i]) + 1
}

// characters counts the characters before an offset.
func (s *source) characters(offset int) int {
	if len(s.marks) == 0 {
		return 0
	}
	m := min(offset/markEvery, len(s.marks)-1)
	n := s.marks[m]
	for i := m * markEvery; i < offset; i++ {
		if utf8.RuneStart(s.text[i]) {
			n++
		}
	}
	return n
}

// isSpace is the set that is trimmed: ASCII and Unicode white space and the
// byte order mark (section 2.1, "trimming").
func isSpace(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

func trim(s string) string { return strings.TrimFunc(s, isSpace) }

// trimAt trims and says how many bytes went at the front.
func trimAt(s string) (string, int) {
	t := strings.TrimLeftFunc(s, isSpace)
	return strings.TrimRightFunc(t, isSpace), len(s) - len(t)
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

func itoa(n int) string { return strconv.Itoa(n) }
