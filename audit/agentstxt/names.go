package agentstxt

import (
	"strings"

	"agentaudit/audit/spelling"
)

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
	return spelling.Nearest(strings.NewReplacer("_", "-", " ", "-").Replace(got), names)
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
