package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// screen writes text for people: coloured where that is wanted, wrapped to
// the width of the terminal.
type screen struct {
	w      io.Writer
	colour bool
	width  int
	// terminal says that lines longer than width are hard to read. What goes
	// elsewhere is read by programs, or searched, and loses nothing.
	terminal bool
}

// newScreen looks at the writer: colours need a terminal and no NO_COLOR
// (https://no-color.org).
func newScreen(w io.Writer) *screen {
	s := &screen{w: w, width: 100}
	f, ok := w.(*os.File)
	if !ok || !isTerminal(w) {
		return s
	}
	s.terminal = true
	s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols >= 40 {
		s.width = min(cols, 120)
	}
	return s
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// The styles of a screen are ANSI SGR numbers.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)

// cut shortens text to n characters for a line of a table on a terminal; what
// is cut is shown by an ellipsis.
func (s *screen) cut(text string, n int) string {
	if !s.terminal || utf8.RuneCountInString(text) <= n {
		return text
	}
	r := []rune(text)
	return string(r[:max(n-1, 0)]) + "…"
}

// in puts text into styles where the screen has colours.
func (s *screen) in(text string, styles ...string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + strings.Join(styles, ";") + "m" + text + "\x1b[0m"
}

// wrap breaks text at blanks so that it fits behind an indentation. A word
// longer than the line, such as a URL, stays whole: it is there to be copied.
func (s *screen) wrap(text, indent string) string {
	room := s.width - utf8.RuneCountInString(indent)
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
			b.WriteString(indent)
		case column+1+n > room:
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
