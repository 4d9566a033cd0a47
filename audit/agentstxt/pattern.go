package agentstxt

import (
	"cmp"
	"slices"
	"strings"

	"agentaudit/audit/robots"
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
			m.rules = append(m.rules, accessRule{robots.NormalPattern(t.Value), list.allow, t})
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
	request = robots.NormalPath(request)
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
		if robots.Match(r.pattern, request) {
			return pathDecision{matched: true, allowed: r.allow, rule: r.rule}
		}
	}
	return pathDecision{}
}
