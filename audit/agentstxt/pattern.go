package agentstxt

import (
	"cmp"
	"slices"
	"strings"
)

// matcher decides paths by the access rules, as RFC 9309 does: the longest
// pattern wins, a tie goes to Allow (section 6).
type matcher struct {
	rules []accessRule
	// work bounds how much is compared, 0 for no bound; exhausted is set when
	// it is used up, and decisions mean nothing then.
	work      int
	exhausted bool
}

type accessRule struct {
	pattern string // normalised
	allow   bool
	rule    Text
}

// maxWork bounds rule 50: rules times endpoints could be quadratic in the size
// of a hostile file.
const maxWork = 32 << 20

func newMatcher(a Access) *matcher {
	m := &matcher{work: maxWork}
	seen := map[string]bool{}
	for _, list := range []struct {
		rules []Text
		allow bool
	}{{a.Allow, true}, {a.Disallow, false}} {
		for _, t := range list.rules {
			if t.Value == "" || seen[t.Value] && list.allow {
				continue
			}
			seen[t.Value] = true
			m.rules = append(m.rules, accessRule{normalPattern(t.Value), list.allow, t})
		}
	}
	slices.SortStableFunc(m.rules, func(a, b accessRule) int {
		return cmp.Or(cmp.Compare(len(b.pattern), len(a.pattern)), cmp.Compare(b2i(b.allow), b2i(a.allow)))
	})
	return m
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

type pathDecision struct {
	matched, allowed bool
	rule             Text
}

// decide finds the rule for a path with its query.
func (m *matcher) decide(request string) pathDecision {
	request = normalPattern(request)
	for _, r := range m.rules {
		if m.work > 0 {
			m.work -= 16 + min(len(r.pattern), len(request))
			if strings.IndexByte(r.pattern, '*') >= 0 {
				m.work -= len(request) + len(r.pattern)
			}
			if m.work <= 0 {
				m.exhausted = true
				return pathDecision{}
			}
		}
		if matchPattern(r.pattern, request) {
			return pathDecision{matched: true, allowed: r.allow, rule: r.rule}
		}
	}
	return pathDecision{}
}

// matchPattern matches a normalised pattern against a normalised path: * is
// any run of octets, $ at the end is the end, else a pattern is a prefix.
func matchPattern(pattern, path string) bool {
	if pattern == "" {
		return false
	}
	pattern, anchored := strings.CutSuffix(pattern, "$")
	first, rest, star := strings.Cut(pattern, "*")
	path, ok := strings.CutPrefix(path, first)
	if !ok {
		return false
	}
	if !star {
		return !anchored || path == ""
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			if anchored {
				return strings.HasSuffix(path, part)
			}
			return strings.Contains(path, part)
		}
		i := strings.Index(path, part)
		if i < 0 {
			return false
		}
		path, rest = path[i+len(part):], more
	}
}

// normalPattern normalises percent-encoding: escapes of unreserved characters
// are decoded, others get upper-case digits, bytes beyond ASCII are escaped.
func normalPattern(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] == '%' || s[i] >= 0x80 || s[i] <= ' ' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			v := byte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			if isAlnum(v) || strings.IndexByte("-._~", v) >= 0 {
				b = append(b, v)
			} else {
				b = append(b, '%', hex[v>>4], hex[v&15])
			}
			i += 2
		case c >= 0x80 || c <= ' ':
			b = append(b, '%', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func unhex(c byte) int {
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
