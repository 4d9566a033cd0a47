package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"agentaudit/audit/agentstxt"
	"agentaudit/audit/report"
	"agentaudit/audit/shell"
)

// agentsSentence says in words what became of a site's agents.txt.
func agentsSentence(v agentstxt.Verdict, f agentstxt.Format) string {
	switch v {
	case agentstxt.VerdictValid:
		return "The declaration keeps to the draft."
	case agentstxt.VerdictInvalid:
		return "Something has to be corrected."
	case agentstxt.VerdictAbsent:
		return "There is neither an agents.txt nor an agents.json. Nobody has to have one."
	case agentstxt.VerdictUnchecked:
		return "This is no verdict about the site: it gave no definite answer. Audit it again later."
	}
	if name, ok := f.Other(); ok {
		return "The file is of another format: " + clean(name) + "."
	}
	return "The file is of no format that we know."
}

func agentsBadge(s *screen, v agentstxt.Verdict) string {
	style := blue
	switch v {
	case agentstxt.VerdictValid:
		style = green
	case agentstxt.VerdictInvalid:
		style = red
	case agentstxt.VerdictOther:
		style = yellow
	}
	return s.in(strings.ToUpper(string(v)), style, bold)
}

// printAgents shows an agents.txt report to people: the verdict first, then
// what is wrong, the most important first, each with what to do about it.
func printAgents(w io.Writer, r *agentstxt.Report) error {
	s := newScreen(w)
	what := r.Origin
	if what == "" {
		what = "local files"
	}
	fmt.Fprintf(w, "%s  agents.txt of %s\n%s\n", agentsBadge(s, r.Verdict), s.in(clean(what), bold), s.wrap(agentsSentence(r.Verdict, r.Format), "  "))
	wrong, notes := splitAgents(r.Checks)
	if len(wrong) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.in("What to do", bold))
	}
	for i, c := range wrong {
		fmt.Fprintln(w)
		printAgentsCheck(s, c, fmt.Sprintf("%d. ", i+1))
	}
	if len(notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.in("Good to know", bold))
		for _, c := range notes {
			fmt.Fprintln(w, s.wrap("· "+agentsPlace(c)+clean(c.Detail), "  "))
		}
	}
	if d := r.Declaration; d != nil {
		fmt.Fprintf(w, "\n%s\n  %s, %s\n", s.in("Declared", bold), plural(int64(len(d.Capabilities)), "capability", "capabilities"),
			plural(int64(len(d.Agents)), "agent block", "agent blocks"))
	}
	if len(r.Files) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", s.in("Files", bold))
	for _, f := range r.Files {
		status := ""
		if f.Status != 0 {
			status = fmt.Sprintf("%d  ", f.Status)
		}
		_, err = fmt.Fprintf(w, "  %-13s %s%s\n", clean(string(f.Format)), status, clean(f.Path))
	}
	return err
}

// splitAgents parts checks that ask for something, failures first, from notes.
func splitAgents(checks []agentstxt.Check) (wrong, notes []agentstxt.Check) {
	for _, c := range checks {
		if c.Severity == agentstxt.Info {
			notes = append(notes, c)
		} else {
			wrong = append(wrong, c)
		}
	}
	slices.SortStableFunc(wrong, func(a, b agentstxt.Check) int { return agentsRank(a.Severity) - agentsRank(b.Severity) })
	return wrong, notes
}

func agentsRank(s agentstxt.Severity) int {
	if s == agentstxt.Fail {
		return 0
	}
	return 1
}

// agentsPlace is "FILE:LINE:COLUMN: ", as compilers write it.
func agentsPlace(c agentstxt.Check) string {
	switch {
	case c.File == "":
		return ""
	case c.Line == 0:
		return clean(c.File) + ": "
	}
	return fmt.Sprintf("%s:%d:%d: ", clean(c.File), c.Line, c.Column)
}

func printAgentsCheck(s *screen, c agentstxt.Check, number string) {
	mark, style := "!", yellow
	if c.Severity == agentstxt.Fail {
		mark, style = "✗", red
	}
	id := clean(c.ID)
	if c.Rule != nil {
		id += fmt.Sprintf(" (rule %d)", *c.Rule)
	}
	fmt.Fprintf(s.w, "%s %s%s\n", s.in(number+mark, style, bold), agentsPlace(c), s.in(id, dim))
	fmt.Fprintln(s.w, s.wrap(clean(c.Detail), "     "))
	say, line := correctedLine(c.Remedy)
	fmt.Fprintln(s.w, s.wrap("→ "+clean(say), "     "))
	if line != "" {
		// It is there to be copied: never wrapped, and indented as in the file.
		fmt.Fprintln(s.w, "       "+s.in(clean(line), bold))
	}
}

// fileLine is what a line of an agents.txt, a member of an agents.json or a
// header looks like at the end of a remedy.
var fileLine = regexp.MustCompile(`^ *(?:[A-Z][A-Za-z-]*:(?: .*)?|"[^"]*": .*|# .*|https?://\S+)$`)

// correctedLine parts a remedy from the line that it tells to write, "" if it
// tells none.
func correctedLine(remedy string) (say, line string) {
	for from := 0; ; {
		i := strings.Index(remedy[from:], ": ")
		if i < 0 {
			return remedy, ""
		}
		from += i + 2
		if rest := remedy[from:]; fileLine.MatchString(rest) && !strings.Contains(rest, " and Access-Control-") {
			return remedy[:from-1], rest
		}
	}
}

// maxAgentsBeside is how many checks of agents.txt an audit of the rest shows.
const maxAgentsBeside = 3

// printAgentsBeside adds what became of agents.txt to the page of an audit, in
// short. It counts for nothing there.
func printAgentsBeside(s *screen, res *report.Result) error {
	if res.AgentsVerdict == "" || len(res.Agents) == 0 {
		return nil
	}
	var r struct {
		Origin  string
		Format  agentstxt.Format
		Verdict agentstxt.Verdict
		Checks  []agentstxt.Check
	}
	if err := json.Unmarshal(res.Agents, &r); err != nil {
		return fmt.Errorf("the agents.txt report cannot be read: %w", err)
	}
	fmt.Fprintf(s.w, "\n%s  %s\n", s.in("agents.txt", bold), agentsBadge(s, r.Verdict))
	fmt.Fprintln(s.w, s.wrap(agentsSentence(r.Verdict, r.Format), "  "))
	wrong, notes := splitAgents(r.Checks)
	for i, c := range wrong {
		if i == maxAgentsBeside {
			fmt.Fprintf(s.w, "  … and %d more\n", len(wrong)-i)
			break
		}
		printAgentsCheck(s, c, "  ")
	}
	for _, c := range notes {
		if c.ID == "agents:other-convention" || c.ID == "agents:not-checked" {
			fmt.Fprintln(s.w, s.wrap("· "+clean(c.Detail), "  "))
		}
	}
	if r.Verdict == agentstxt.VerdictAbsent {
		return nil
	}
	_, err := fmt.Fprintln(s.w, s.in("  All of it: "+shell.Line("agentaudit", "agents", strings.TrimPrefix(r.Origin, "https://")), dim))
	return err
}
