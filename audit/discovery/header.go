package discovery

import "strings"

// headerLinks lists the targets of Link headers (RFC 8288, section 3), whatever
// their relation. What is no link value is passed over to the next comma.
func headerLinks(values []string) (targets []string) {
	for _, v := range values {
		for v != "" && len(targets) < maxLinks {
			v = strings.TrimLeft(v, " \t,")
			if target, rest, ok := strings.Cut(v, ">"); ok && strings.HasPrefix(v, "<") {
				targets = append(targets, strings.Trim(target[1:], " \t"))
				v = rest
			}
			v = skipParameters(v)
		}
	}
	return targets
}

// skipParameters is what follows the next comma outside quoted strings.
func skipParameters(s string) string {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[i+1:]
		}
	}
	return ""
}
