package agentstxt

import "strings"

// The field names by where they may stand, for hints.
var (
	topNames = []string{
		"Spec-Version", "Generated-At", "Declaration-Type", "Operates-On", "Site-Name", "Site-URL", "Site-Description",
		"Site-Contact", "Site-Privacy-Policy", "Agents-JSON", "Allow", "Disallow", "Capability", "Agent",
	}
	capabilityNames = []string{
		"Endpoint", "Protocol", "Method", "Auth", "Auth-Endpoint", "Auth-Docs", "Scopes", "Rate-Limit", "Description", "OpenAPI", "Param",
	}
	agentNames = []string{"Rate-Limit", "Capabilities", "Agent-Declaration"}
)

// unknown notes a field that the draft does not define here (rule 58).
func (p *textParser) unknown(f textField, here []string) {
	x := p.add("unknown", Info, f.at, "%s is not a field of the draft at this place. Readers ignore it.", quoted(f.key))
	if x.more > 0 || p.findings.n[findingKey{"unknown", Info}] > maxPerCheck {
		return // nobody sees it; spare the search
	}
	if p.open == noBlock {
		for _, name := range append(capabilityNames[:len(capabilityNames):len(capabilityNames)], agentNames...) {
			if equalFold(name, f.key) {
				x.fix("%s belongs into a block: indent it with two spaces below its Capability or Agent line.", name)
				return
			}
		}
	} else {
		for _, name := range topNames {
			if equalFold(name, f.key) {
				x.fix("%s is a top-level field: write it without indentation: %s: %s", name, name, plain(f.value))
				return
			}
		}
	}
	if name := didYouMean(f.key, here); name != "" {
		x.fix("Did you mean %s? Write: %s: %s", name, name, plain(f.value))
		return
	}
	x.fix("Remove it, or leave it for readers of your own.")
}

// didYouMean is the name that a misspelled one most likely means.
func didYouMean(got string, names []string) string {
	if len(got) > 40 {
		return ""
	}
	got = strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(got))
	best, limit := "", 3
	for _, name := range names {
		n := distance(got, strings.ToLower(name))
		if n < limit && n*3 <= len(name) {
			best, limit = name, n
		}
	}
	return best
}

// distance is the number of letters to insert, delete or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// cutBytes bounds a name that becomes part of a path. It leaves more than a
// report ever shows, so that masking still knows a secret by its beginning.
func cutBytes(s string) string {
	const limit = 6 * maxShown
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "")
	}
	return s
}
