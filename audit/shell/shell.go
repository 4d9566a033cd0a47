// Package shell writes commands that people copy into a POSIX shell, with
// words from outside in them: URLs of sites, names of files.
package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is a command line of words. A shell splits it into these words again,
// and does nothing else with them.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Quote writes a word so that a POSIX shell takes it for exactly this word
// (IEEE 1003.1, "Shell Command Language", section 2.2). A word that means
// itself stays as it is.
//
// The result is one line of characters that can be seen. What cannot be seen
// in the word is written by printf; of a word that ends in line feeds these
// are lost, and so is everything from a NUL on, which no word can hold.
func Quote(word string) string {
	word, _, _ = strings.Cut(word, "\x00")
	switch {
	case word == "":
		return "''"
	case !visible(word):
		return printed(word)
	case plain(word):
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plain reports whether no shell in use finds anything in the word to act on.
// Some expand a = or ~ at the start of a word.
func plain(word string) bool {
	for i := range len(word) {
		c := word[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("@%+:,./-_", c) >= 0, c == '=' && i > 0:
		default:
			return false
		}
	}
	return true
}

// visible reports whether the word is UTF-8 without control, format and odd
// space characters.
func visible(word string) bool {
	return utf8.ValidString(word) && !strings.ContainsFunc(word, hidden)
}

func hidden(r rune) bool { return !unicode.IsPrint(r) || r == '\u2800' }

// printed has printf write the word. Bytes that printf or an interactive shell
// would take for something else are octal, too.
func printed(word string) string {
	var b strings.Builder
	b.WriteString(`"$(printf '`)
	for i, r := range word {
		_, size := utf8.DecodeRuneInString(word[i:])
		invalid := r == utf8.RuneError && size == 1
		option := i == 0 && r == '-' // of printf
		if !invalid && !option && !hidden(r) && !strings.ContainsRune("'\\\"!%`$", r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(word[i : i+size]) {
			if c == '%' {
				b.WriteString("%%")
			} else {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
	}
	b.WriteString(`')"`)
	return b.String()
}
