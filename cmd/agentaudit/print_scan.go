package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"agentaudit/audit/discovery"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
)

// printScanBeside adds to the page of an audit what a scan found, how the
// published profile differs from that, and what mends the publication. kit is
// the command that writes the fix kit.
func printScanBeside(s *screen, res *report.Result, kit string) error {
	if len(res.Discovery) > 0 {
		r := new(discovery.Report)
		if err := json.Unmarshal(res.Discovery, r); err != nil {
			return fmt.Errorf("the discovery report cannot be read: %w", err)
		}
		printScanShort(s, r)
	}
	k, err := publication.DecodeKit(res.FixKit)
	if err != nil {
		return err
	}
	if k != nil && len(k.Files) > 0 {
		names := make([]string, len(k.Files))
		for i, f := range k.Files {
			names[i] = clean(f.Name)
		}
		fmt.Fprintf(s.w, "\n%s  %s\n  write it with: %s\n", s.in("Fix kit", bold), strings.Join(names, ", "), kit)
	}
	return nil
}

func printScanShort(s *screen, r *discovery.Report) {
	fmt.Fprintf(s.w, "\n%s\n", s.in("What the site offers", bold))
	if r.Error != "" {
		fmt.Fprintln(s.w, s.wrap("A scan came to nothing: "+clean(sentence(r.Error)), "  "))
		return
	}
	fmt.Fprintln(s.w, s.wrap(fmt.Sprintf("A scan with %s found %s.", plural(int64(r.Requests), "request", "requests"), sourceCounts(r.Sources)), "  "))
	for _, n := range r.Notes {
		fmt.Fprintln(s.w, s.wrap("· "+clean(n), "  "))
	}
	if r.Drift == nil {
		return
	}
	if r.Drift.Empty() {
		fmt.Fprintln(s.w, s.wrap("· agentic.json lists all of it.", "  "))
		return
	}
	fmt.Fprintf(s.w, "\n%s  %s\n", s.in("Changed since agentic.json was made", bold), s.in("for information; it counts for nothing above", dim))
	for _, l := range driftLines(r.Drift) {
		fmt.Fprintln(s.w, s.wrap(clean(l), "  "))
	}
}

// sourceCounts says how many resources of each kind a scan found, in the order
// of the list.
func sourceCounts(sources []discovery.Source) string {
	type key struct {
		kind profile.ResourceKind
		how  profile.Availability
	}
	var order []key
	n := map[key]int{}
	for _, src := range sources {
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

// maxDriftLines bounds each list of differences.
const maxDriftLines = 8

func driftLines(d *discovery.Drift) (lines []string) {
	list := func(n int, line func(i int) string) {
		for i := range n {
			if i == maxDriftLines {
				lines = append(lines, fmt.Sprintf("  … and %d more", n-i))
				return
			}
			lines = append(lines, line(i))
		}
	}
	operations := func(mark string, ops []discovery.DriftOperation, what string) {
		list(len(ops), func(i int) string {
			return fmt.Sprintf("%s %s %s  %s %s", mark, ops[i].Method, ops[i].Path, what, ops[i].Document)
		})
	}
	sources := func(mark string, all []discovery.Source, what string) {
		list(len(all), func(i int) string { return fmt.Sprintf("%s %s %s  %s", mark, all[i].Kind, all[i].URL, what) })
	}
	operations("+", d.OperationsAdded, "is new in")
	operations("-", d.OperationsGone, "is gone from")
	sources("+", d.ConnectionsUnlisted, "is advertised, but not listed")
	sources("+", d.DocumentsUnlisted, "is there, but not listed")
	sources("-", d.DocumentsVanished, "has vanished")
	return lines
}
