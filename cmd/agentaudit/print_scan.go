package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"agentaudit/audit/discovery"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
)

// printScanBeside adds to the page of an audit what a scan found, how the
// published profile differs from that, and what mends the publication. kit says
// how to get the fix kit.
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
		fmt.Fprintf(s.w, "\n%s  %s\n  %s\n", s.in("Fix kit", bold), strings.Join(names, ", "), kit)
		for i, c := range k.Changed {
			if i == maxDriftLines {
				fmt.Fprintf(s.w, "  … and %s more, which the kit tells\n", plural(int64(len(k.Changed)-i), "change", "changes"))
				break
			}
			if i == 0 {
				fmt.Fprintf(s.w, "  agentic.json is the published one, with %s:\n", plural(int64(len(k.Changed)), "change", "changes"))
			}
			fmt.Fprintln(s.w, s.wrap("· "+clean(c), "  "))
		}
	}
	return nil
}

// maxDriftLines bounds each list of differences.
const maxDriftLines = 8

func printScanShort(s *screen, r *discovery.Report) {
	fmt.Fprintf(s.w, "\n%s\n", s.in("What the site offers", bold))
	if r.Error != "" {
		fmt.Fprintln(s.w, s.wrap("A scan came to nothing: "+clean(sentence(r.Error)), "  "))
		return
	}
	fmt.Fprintln(s.w, s.wrap(fmt.Sprintf("A scan with %s found %s.", plural(int64(r.Requests), "request", "requests"), r.Found()), "  "))
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
	for _, l := range r.Drift.Lines(maxDriftLines) {
		fmt.Fprintln(s.w, s.wrap(clean(l), "  "))
	}
}
