package robots

import "strings"

// Match reports whether a pattern matches a path, both in their normal form
// ([NormalPattern], [NormalPath]): from the first octet on, where * is any run
// of octets, $ at the end is the end of the path, and a pattern without it is a
// beginning (section 2.2.3). An empty pattern matches nothing. The time is
// linear in the length of both.
func Match(pattern, path string) bool {
	matches, _ := match(pattern, path)
	return matches
}

// match is [Match] and counts the octets of both that wildcards were tried on:
// none for a pattern whose beginning up to the first wildcard is not that of
// the path.
func match(pattern, path string) (matches bool, work int) {
	if pattern == "" {
		return false, 0
	}
	pattern, anchored := strings.CutSuffix(pattern, "$")
	first, rest, star := strings.Cut(pattern, "*")
	path, ok := strings.CutPrefix(path, first)
	if !ok {
		return false, 0
	}
	if !star {
		return !anchored || path == "", 0
	}
	// Each part between two wildcards may be taken where it comes first: that
	// leaves most of the path for the others. So nothing is tried twice.
	for {
		part, more, star := strings.Cut(rest, "*")
		work += len(part) + 1
		if !star && anchored {
			return strings.HasSuffix(path, part), work
		}
		at := strings.Index(path, part)
		if at < 0 {
			return false, work + len(path)
		}
		work += at
		if !star {
			return true, work
		}
		path, rest = path[at+len(part):], more
	}
}

// NormalPattern is the normal form of a pattern, in which equal octets are
// written in one way (section 2.2.2): escapes of unreserved characters are
// decoded, others have upper-case digits, and what cannot stand in a URL by
// itself is escaped. * stays what it is, and so does $ at the end; another $ is
// an ordinary character.
func NormalPattern(s string) string {
	before, anchored := strings.CutSuffix(s, "$")
	before = normal(before, "$")
	if anchored {
		return before + "$"
	}
	return before
}

// NormalPath is the normal form of a path with its query, if it has one. In it *
// and $ are escaped, as they are in patterns that mean the characters.
func NormalPath(s string) string { return normal(s, "*$") }

// normal escapes also some characters that may stand in a URL.
func normal(s, also string) string {
	isPlain := func(c byte) bool { return ' ' < c && c < 0x7F && c != '%' && strings.IndexByte(also, c) < 0 }
	i := 0
	for i < len(s) && isPlain(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	const hex = "0123456789ABCDEF"
	b := append(make([]byte, 0, len(s)+16), s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case isPlain(c):
			b = append(b, c)
			continue
		case c == '%' && i+2 < len(s) && digit(s[i+1]) >= 0 && digit(s[i+2]) >= 0:
			c = byte(digit(s[i+1])<<4 | digit(s[i+2]))
			i += 2
			if isUnreserved(c) {
				b = append(b, c)
				continue
			}
		}
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	return string(b)
}

// isUnreserved knows the characters that mean the same with and without an
// escape (RFC 3986, section 2.3).
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// digit is the value of a hexadecimal digit, or -1.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
