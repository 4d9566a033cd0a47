// Package robots decides by a robots.txt what may be read (RFC 9309). Its
// patterns for paths are also those of agents.txt.
//
// It stands in for a library because those at hand differ from the RFC where
// it matters for the sites: github.com/temoto/robotstxt (v1.1.2) passes over a
// rule "*", looks for a rule with wildcards anywhere in a path, compares
// percent-encodings as they are written, takes "agent" for "agentaudit" but not
// "agentaudit/1.0", and makes of each wildcard a regular expression.
package robots

import (
	"slices"
	"strings"
)

// MaxSize is the size of a robots.txt in bytes that is read (section 2.5).
const MaxSize = 500 << 10

// Rules are what a robots.txt asks of one agent. The zero value allows all.
type Rules struct {
	list []rule // that which decides first
}

type rule struct {
	pattern string // normal
	allow   bool
}

// Parse reads the rules for an agent, given as its product token: those of
// all groups that name it, or else of all groups for "*" (section 2.2.1). Names
// compare without case, as a whole, and end at a slash or blank. Lines that say
// neither who is meant nor what may be read are passed over, also between the
// names of a group.
//
// A file of n bytes makes at most n/8 rules, and takes time linear in n but for
// their sorting.
func Parse(file []byte, agent string) *Rules {
	text := strings.TrimPrefix(string(file), "\uFEFF")
	var ours, everyones []rule
	// A group begins with the names that it is for.
	named, isOurs, isEveryones, inRules := false, false, false, false
	for text != "" {
		var line string
		if end := strings.IndexAny(text, "\r\n"); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			line, text = text, ""
		}
		line, _, _ = strings.Cut(line, "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key = strings.TrimSpace(key); {
		case strings.EqualFold(key, "user-agent"):
			if inRules {
				isOurs, isEveryones, inRules = false, false, false
			}
			isEveryones = isEveryones || value == "*"
			if strings.EqualFold(token(value), agent) {
				named, isOurs = true, true
			}
		case strings.EqualFold(key, "allow"), strings.EqualFold(key, "disallow"):
			inRules = true
			// Other patterns match no path, which begins with a slash.
			if value == "" || value[0] != '/' && value[0] != '*' || !isOurs && !isEveryones {
				continue
			}
			r := rule{NormalPattern(value), len(key) == len("allow")}
			if isOurs {
				ours = append(ours, r)
			}
			if isEveryones {
				everyones = append(everyones, r)
			}
		}
	}
	if !named {
		ours = everyones
	}
	// The longest pattern decides, and of equals Allow (section 2.2.2).
	slices.SortFunc(ours, func(a, b rule) int {
		switch {
		case len(a.pattern) != len(b.pattern):
			return len(b.pattern) - len(a.pattern)
		case a.allow != b.allow && a.allow:
			return -1
		case a.allow != b.allow:
			return 1
		}
		return strings.Compare(a.pattern, b.pattern)
	})
	return &Rules{slices.Clip(slices.Compact(ours))}
}

// token is the product token at the beginning of a name.
func token(name string) string {
	if end := strings.IndexAny(name, "/ \t"); end >= 0 {
		return name[:end]
	}
	return name
}

// Allows reports whether a path, with its query if it has one, may be read.
// work is what it took to find out: the rules looked at and the octets of path
// and patterns that their wildcards were tried on. It is never more than
// the length of the path in its normal form and one for each rule, and the
// length of all patterns.
func (r *Rules) Allows(path string) (allowed bool, work int) {
	path = NormalPath(path)
	for _, rule := range r.list {
		matches, octets := match(rule.pattern, path)
		work += 1 + octets
		if matches {
			return rule.allow, work
		}
	}
	return true, work
}

// String is a robots.txt that asks the same of everybody.
func (r *Rules) String() string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for _, rule := range r.list {
		if rule.allow {
			b.WriteString("Allow: ")
		} else {
			b.WriteString("Disallow: ")
		}
		b.WriteString(rule.pattern)
		b.WriteByte('\n')
	}
	return b.String()
}
