package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"agentaudit/audit/report"
)

// printResult shows one audit to people: the verdict first, then what is
// wrong, the most important first, each with what to do about it. kit says
// how to get the fix kit.
func printResult(w io.Writer, res *report.Result, kit string) error {
	s := newScreen(w)
	r := res.Report
	fmt.Fprintf(w, "%s  %s\n", outcomeBadge(s, res.Outcome), s.in(clean(r.ProfileURL), bold))
	fmt.Fprintln(w, s.wrap(clean(sentence(res.Detail)), "  "))
	if res.Outcome == report.OutcomeUnchecked {
		fmt.Fprintln(w, s.wrap("This is no verdict about the site: it gave no definite answer. Audit it again later.", "  "))
	}

	var wrong, notes, passed []report.Check
	for _, c := range r.Checks {
		switch {
		case c.Status == report.Pass:
			passed = append(passed, c)
		case c.ID == "linked":
			notes = append(notes, c)
		default:
			wrong = append(wrong, c)
		}
	}
	// Failures come before warnings; within each the report's own order
	// already goes from the profile outwards.
	slices.SortStableFunc(wrong, func(a, b report.Check) int { return severity(b.Status) - severity(a.Status) })
	if len(wrong) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.in("What to do", bold))
	}
	wrong, same := fold(wrong)
	for i, c := range wrong {
		mark, style := "!", yellow
		if c.Status == report.Fail {
			mark, style = "✗", red
		}
		fmt.Fprintf(w, "\n%s %s  %s\n", s.in(fmt.Sprintf("%d. %s", i+1, mark), style, bold), s.in(clean(c.Label), bold), s.in(clean(c.ID), dim))
		fmt.Fprintln(w, s.wrap(clean(c.Detail), "     "))
		fmt.Fprintln(w, s.wrap("→ "+clean(c.Remedy), "     "))
		fmt.Fprintln(w, s.in("     "+c.HelpURL, dim))
	}
	if len(same) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.wrap("For the same reason: "+strings.Join(same, ", ")+".", "   "))
	}
	if len(passed) > 0 {
		ids := make([]string, len(passed))
		for i, c := range passed {
			ids[i] = clean(c.ID)
		}
		fmt.Fprintf(w, "\n%s\n", s.in("In order", bold))
		fmt.Fprintln(w, s.wrap(s.in("✓", green)+" "+strings.Join(ids, ", "), "  "))
	}
	for _, c := range notes {
		fmt.Fprintln(w, s.wrap("· "+clean(c.Detail), "  "))
	}
	fmt.Fprintf(w, "\n%s\n", s.in("Files", bold))
	for _, f := range r.Publication.Files {
		fmt.Fprintf(w, "  %-13s %s  %s\n", f.Name, fileStatus(s, f.Status), clean(f.URL))
	}
	return errors.Join(printScanBeside(s, res, kit), printAgentsBeside(s, res))
}

// fold leaves out checks that only repeat what the first one says: where a
// host cannot be reached, none of its files can. It returns their ids apart.
func fold(checks []report.Check) (different []report.Check, same []string) {
	for i, c := range checks {
		if i > 0 && strings.Contains(strings.ToLower(c.Detail), strings.ToLower(strings.TrimSuffix(checks[0].Detail, "."))) {
			same = append(same, clean(c.ID))
			continue
		}
		different = append(different, c)
	}
	return different, same
}

func severity(st report.Status) int {
	switch st {
	case report.Fail:
		return 2
	case report.Warn:
		return 1
	}
	return 0
}

func outcomeBadge(s *screen, o report.Outcome) string {
	return s.in(strings.ToUpper(string(o)), outcomeStyle(o), bold)
}

func fileStatus(s *screen, status string) string {
	padded := fmt.Sprintf("%-11s", status)
	switch status {
	case report.FilePassed, string(report.TextMatched):
		return s.in(padded, green)
	case report.FileFailed, string(report.TextMismatch):
		return s.in(padded, red)
	}
	return s.in(padded, yellow)
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// outcomeWord is the outcome in its colour.
func outcomeWord(s *screen, o report.Outcome) string { return s.in(string(o), outcomeStyle(o)) }

func outcomeStyle(o report.Outcome) string {
	switch o {
	case report.OutcomeSuccessful:
		return green
	case report.OutcomePartial:
		return yellow
	case report.OutcomeFailed:
		return red
	}
	return blue
}
