package jsontree

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// DecodeText decodes UTF-8 as browsers do (WHATWG Encoding Standard,
// TextDecoder with ignoreBOM): each maximal invalid part becomes one U+FFFD,
// and a byte order mark stays (specification section 2).
func DecodeText(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	// This decoder replaces and never fails.
	out, _ := unicode.UTF8.NewDecoder().Bytes(data)
	return string(out)
}

// WellFormed makes UTF-8 of WTF-8: lone surrogates become U+FFFD, as in
// ECMAScript's String.prototype.toWellFormed.
func WellFormed(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, n := decodeRune(s)
		if isSurrogate(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// RuneCount counts code points; a lone surrogate is one.
func RuneCount(s string) int {
	n := utf8.RuneCountInString(s)
	for i := 0; i+2 < len(s); i++ {
		if s[i] == 0xED && s[i+1] >= 0xA0 {
			n -= 2
		}
	}
	return n
}

// decodeRune reads one code point of WTF-8; anything else that is not UTF-8
// is U+FFFD of one byte.
func decodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 && len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, n
}

func isSurrogate(r rune) bool { return r >= 0xD800 && r <= 0xDFFF }

// appendRune is utf8.AppendRune for WTF-8: surrogates stay.
func appendRune(dst []byte, r rune) []byte {
	if isSurrogate(r) {
		return append(dst, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(dst, r)
}

// Unquote decodes a JSON string literal that is known to be well formed, with
// its quotes, to WTF-8. Without escapes the result shares raw's memory.
func Unquote(raw string) string {
	raw = raw[1 : len(raw)-1]
	i := strings.IndexByte(raw, '\\')
	if i < 0 {
		return raw
	}
	dst := make([]byte, 0, len(raw))
	for ; i >= 0; i = strings.IndexByte(raw, '\\') {
		dst = append(dst, raw[:i]...)
		c := raw[i+1]
		raw = raw[i+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(raw)
			raw = raw[4:]
			if r >= 0xD800 && r < 0xDC00 && strings.HasPrefix(raw, `\u`) {
				if low := hex4(raw[2:]); low >= 0xDC00 && low <= 0xDFFF {
					r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
					raw = raw[6:]
				}
			}
			dst = appendRune(dst, r)
		default: // " \ /
			dst = append(dst, c)
		}
	}
	return string(append(dst, raw...))
}

func hex4(s string) rune {
	var r rune
	for i := range 4 {
		c := s[i]
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}
