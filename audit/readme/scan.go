package readme

import (
	"bytes"
	"unicode/utf8"
)

// The functions of this file read one construct of CommonMark at a place in a
// text and say where it ends. The texts are the lines of one block, so a line
// end in them is never followed by a blank line.

// definition is a link reference definition.
type definition struct {
	label, dest, title []byte
}

// maxLabel is the length of a link label in code points (CommonMark 6.3).
const maxLabel = 999

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

func isPunct(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}

// skipSpaces gives the next place at or behind i without a blank, tab or line end.
func skipSpaces(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// scanDefinition reads a link reference definition (CommonMark 4.7) that
// begins at i; end is the start of the line behind it.
func scanDefinition(b []byte, i int) (d definition, end int, ok bool) {
	i = skipSpaces(b, i)
	if i >= len(b) || b[i] != '[' {
		return d, 0, false
	}
	label := i + 1
	i, ok = scanLabel(b, i)
	if !ok || i >= len(b) || b[i] != ':' {
		return d, 0, false
	}
	d.label = b[label : i-1]
	i = skipSpaces(b, i+1)
	if i >= len(b) {
		return d, 0, false
	}
	d.dest, i, ok = scanDestination(b, i)
	if !ok {
		return d, 0, false
	}
	// The end without a title, if there is one.
	plainEnd := lineEnd(b, i)
	j := skipSpaces(b, i)
	if j > i && j < len(b) {
		if title, k, ok := scanTitle(b, j); ok {
			if end := lineEnd(b, k); end >= 0 {
				d.title = title
				return d, end, true
			}
		}
	}
	return d, plainEnd, plainEnd >= 0
}

// lineEnd gives the start of the next line if only blanks stand between i and
// it, else -1.
func lineEnd(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	switch {
	case i == len(b):
		return i
	case b[i] == '\n':
		return i + 1
	}
	return -1
}

// scanLabel reads a link label that begins with the bracket at i; end is
// behind its closing bracket.
func scanLabel(b []byte, i int) (end int, ok bool) {
	blank := true
	n := 0
	for i++; i < len(b); i++ {
		c := b[i]
		switch {
		case c == ']':
			return i + 1, !blank
		case c == '[':
			return 0, false
		case c == '\\' && i+1 < len(b) && isPunct(b[i+1]):
			blank = false
			n++
			i++
		case !isSpace(c):
			blank = false
		}
		if utf8.RuneStart(c) {
			if n++; n > maxLabel {
				return 0, false
			}
		}
	}
	return 0, false
}

// scanDestination reads a link destination (CommonMark 6.3); dest is as
// written, without angle brackets.
func scanDestination(b []byte, i int) (dest []byte, end int, ok bool) {
	if i < len(b) && b[i] == '<' {
		return scanAngled(b, i)
	}
	depth := 0
	for end = i; end < len(b); end++ {
		switch c := b[end]; {
		case c == '\\' && end+1 < len(b) && isPunct(b[end+1]):
			end++
		case c <= ' ' || c == 0x7F:
			return b[i:end], end, end > i && depth == 0
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return b[i:end], end, end > i
			}
		}
	}
	return b[i:end], end, end > i && depth == 0
}

func scanAngled(b []byte, i int) (dest []byte, end int, ok bool) {
	for j := i + 1; j < len(b); j++ {
		switch c := b[j]; {
		case c == '\\' && j+1 < len(b) && isPunct(b[j+1]):
			j++
		case c == '>':
			return b[i+1 : j], j + 1, true
		case c == '<' || c == '\n':
			return nil, 0, false
		}
	}
	return nil, 0, false
}

// scanTitle reads a link title that begins at i.
func scanTitle(b []byte, i int) (title []byte, end int, ok bool) {
	if i >= len(b) {
		return nil, 0, false
	}
	open := b[i]
	closer := open
	switch open {
	case '(':
		closer = ')'
	case '"', '\'':
	default:
		return nil, 0, false
	}
	for j := i + 1; j < len(b); j++ {
		switch c := b[j]; {
		case c == '\\' && j+1 < len(b) && isPunct(b[j+1]):
			j++
		case c == closer:
			return b[i+1 : j], j + 1, true
		case c == open: // only '(': it needs an escape within itself
			return nil, 0, false
		}
	}
	return nil, 0, false
}

// scanAutolink reads an autolink (CommonMark 6.5) that begins with the angle
// bracket at i. uri is nil for an e-mail address; end is 0 if there is none.
func scanAutolink(b []byte, i int) (uri []byte, end int) {
	j := i + 1
	for j < len(b) && j-i <= 33 && (isLetter(b[j]) || j > i+1 && (isDigit(b[j]) || b[j] == '+' || b[j] == '.' || b[j] == '-')) {
		j++
	}
	if n := j - i - 1; n >= 2 && n <= 32 && j < len(b) && b[j] == ':' {
		for j++; j < len(b); j++ {
			switch c := b[j]; {
			case c == '>':
				return b[i+1 : j], j + 1
			case c <= ' ' || c == 0x7F || c == '<':
				return nil, 0
			}
		}
		return nil, 0
	}
	return nil, scanEmail(b, i)
}

func scanEmail(b []byte, i int) int {
	j := i + 1
	for j < len(b) && (isLetter(b[j]) || isDigit(b[j]) || bytes.IndexByte([]byte(".!#$%&'*+/=?^_`{|}~-"), b[j]) >= 0) {
		j++
	}
	if j == i+1 || j >= len(b) || b[j] != '@' {
		return 0
	}
	for {
		j++
		label := j
		for j < len(b) && (isLetter(b[j]) || isDigit(b[j]) || b[j] == '-') {
			j++
		}
		if j == label || j-label > 63 || b[label] == '-' || b[j-1] == '-' || j >= len(b) {
			return 0
		}
		if b[j] == '>' {
			return j + 1
		}
		if b[j] != '.' {
			return 0
		}
	}
}

// scanTag reads an open or closing tag (CommonMark 6.6) that begins at i; it
// gives 0 if there is none.
func scanTag(b []byte, i int) int {
	j := i + 1
	closing := j < len(b) && b[j] == '/'
	if closing {
		j++
	}
	if j >= len(b) || !isLetter(b[j]) {
		return 0
	}
	for j < len(b) && (isLetter(b[j]) || isDigit(b[j]) || b[j] == '-') {
		j++
	}
	for {
		k := skipSpaces(b, j)
		if k < len(b) && b[k] == '/' && !closing {
			if k+1 < len(b) && b[k+1] == '>' {
				return k + 2
			}
			return 0
		}
		if k < len(b) && b[k] == '>' {
			return k + 1
		}
		if closing || k == j || k >= len(b) {
			return 0
		}
		if j = scanAttribute(b, k); j == 0 {
			return 0
		}
	}
}

// scanAttribute reads an attribute with its value, if it has one.
func scanAttribute(b []byte, i int) int {
	if c := b[i]; !isLetter(c) && c != '_' && c != ':' {
		return 0
	}
	for i < len(b) && (isLetter(b[i]) || isDigit(b[i]) || bytes.IndexByte([]byte("_.:-"), b[i]) >= 0) {
		i++
	}
	j := skipSpaces(b, i)
	if j >= len(b) || b[j] != '=' {
		return i
	}
	if j = skipSpaces(b, j+1); j >= len(b) {
		return 0
	}
	if q := b[j]; q == '"' || q == '\'' {
		n := bytes.IndexByte(b[j+1:], q)
		if n < 0 {
			return 0
		}
		return j + n + 2
	}
	start := j
	for j < len(b) && !isSpace(b[j]) && bytes.IndexByte([]byte("\"'=<>`"), b[j]) < 0 {
		j++
	}
	if j == start {
		return 0
	}
	return j
}
