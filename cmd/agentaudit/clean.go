package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text from sites, lists and arguments harmless on a terminal:
// control characters (escape sequences begin with one), invisible format
// characters and those that turn the reading direction are left out, and line
// breaks become blanks.
func clean(s string) string {
	harmless := true
	for _, r := range s {
		if r == utf8.RuneError || !shown(r) {
			harmless = false
			break
		}
	}
	if harmless {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == 0x2028 || r == 0x2029:
			return ' '
		case !shown(r):
			return -1
		}
		return r
	}, s)
}

func shown(r rune) bool {
	return !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) && r != 0x2028 && r != 0x2029 && r != 0x2800
}
