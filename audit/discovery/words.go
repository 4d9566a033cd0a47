package discovery

import (
	"fmt"
	"strings"

	"agentaudit/audit/profile"
)

// Found says how many resources of each kind the scan found, in the order of
// the list, as in "2 openapi, 1 mcp (only linked)".
func (r *Report) Found() string {
	type key struct {
		kind profile.ResourceKind
		how  profile.Availability
	}
	var order []key
	n := map[key]int{}
	for _, src := range r.Sources {
		k := key{src.Kind, src.Availability}
		if n[k]++; n[k] == 1 {
			order = append(order, k)
		}
	}
	var words []string
	for _, k := range order {
		word := fmt.Sprintf("%d %s", n[k], k.kind)
		if k.how == profile.Linked {
			word += " (only linked)"
		}
		words = append(words, word)
	}
	if words == nil {
		return "nothing to list"
	}
	return strings.Join(words, ", ")
}

// Lines are the differences for people, one a line, of each of the lists at
// the most so many and a line that counts the others. The texts are those of
// the site, uncleaned.
func (d *Drift) Lines(most int) (lines []string) {
	list := func(n int, line func(i int) string) {
		for i := range n {
			if i == most {
				lines = append(lines, fmt.Sprintf("… and %d more", n-i))
				return
			}
			lines = append(lines, line(i))
		}
	}
	operations := func(mark string, ops []DriftOperation, what string) {
		list(len(ops), func(i int) string {
			return fmt.Sprintf("%s %s %s %s %s", mark, ops[i].Method, ops[i].Path, what, ops[i].Document)
		})
	}
	sources := func(mark string, all []Source, what string) {
		list(len(all), func(i int) string { return fmt.Sprintf("%s %s %s %s", mark, all[i].Kind, all[i].URL, what) })
	}
	operations("+", d.OperationsAdded, "is new in")
	operations("-", d.OperationsGone, "is gone from")
	sources("+", d.ConnectionsUnlisted, "is advertised, but not listed")
	sources("+", d.DocumentsUnlisted, "is there, but not listed")
	sources("-", d.DocumentsVanished, "has vanished")
	return lines
}
