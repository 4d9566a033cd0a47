package format

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"agentaudit/audit/publication"
	"agentaudit/audit/report"
)

// What a summary shows at the most; GitHub takes 1 MiB. The numbers above the
// list count everything, and a line says how much the list leaves out.
const (
	maxListed   = 100
	maxFindings = 8
	maxShown    = 400     // code points of one text
	maxGroup    = 200_000 // bytes of one list, but for the last site in it
)

// markdown is a summary: counts of all, and those sites in full that are
// objected to, new findings first.
type markdown struct {
	w        io.Writer
	o        Options
	sites    int
	outcomes map[report.Outcome]int
	found    struct{ fresh, known int }
	groups   [len(groupTitles)]group
}

var groupTitles = [...]string{"New findings", "Failed", "Partial", "No verdict"}

const (
	groupNew = iota
	groupFailed
	groupPartial
	groupNone
)

type group struct {
	n, shown int
	text     strings.Builder
}

func newMarkdown(w io.Writer, o Options) *markdown {
	return &markdown{w: w, o: o, outcomes: map[report.Outcome]int{}}
}

func (m *markdown) Write(e *Entry) error {
	findings, err := e.Findings()
	if err != nil {
		return err
	}
	m.sites++
	m.outcomes[e.Outcome]++
	var shown []Finding
	fresh := 0
	for _, f := range findings {
		if f.Status == report.Pass || f.Info || f.Beside {
			continue
		}
		shown = append(shown, f)
		switch {
		case m.o.Baseline.Known(e.Target, f):
			m.found.known++
		case f.Objects(m.o.Objection):
			fresh++
			m.found.fresh++
		}
	}
	g := &m.groups[groupNone]
	switch {
	case e.Outcome == report.OutcomeSuccessful:
		return nil
	case m.o.Baseline != nil && fresh > 0:
		g = &m.groups[groupNew]
	case e.Outcome == report.OutcomeFailed:
		g = &m.groups[groupFailed]
	case e.Outcome == report.OutcomePartial:
		g = &m.groups[groupPartial]
	}
	if g.n++; g.shown == maxListed || g.text.Len() > maxGroup {
		return nil
	}
	g.shown++
	m.site(&g.text, e, shown)
	return nil
}

func (m *markdown) site(w *strings.Builder, e *Entry, findings []Finding) {
	fmt.Fprintf(w, "- %s", code(e.Target))
	if label := publication.Markdown(cut(e.Label)); label != "" {
		fmt.Fprintf(w, " (%s)", label)
	}
	if e.Reason != "" {
		fmt.Fprintf(w, " **%s**", publication.Markdown(string(e.Reason)))
	}
	if len(findings) == 0 && e.Detail != "" {
		fmt.Fprintf(w, ": %s", code(e.Detail))
	}
	w.WriteString("\n")
	slices.SortStableFunc(findings, func(a, b Finding) int { return m.rank(e, a) - m.rank(e, b) })
	for i, f := range findings {
		if i == maxFindings {
			fmt.Fprintf(w, "  - and %d more\n", len(findings)-i)
			break
		}
		mark := "warning"
		if f.Status == report.Fail {
			mark = "**failure**"
		}
		switch {
		case m.o.Baseline == nil:
		case m.o.Baseline.Known(e.Target, f):
			mark += ", known"
		default:
			mark += ", **new**"
		}
		fmt.Fprintf(w, "  - %s %s: %s", mark, code(f.Check), code(f.Detail))
		if f.Remedy != "" {
			fmt.Fprintf(w, " *To do:* %s", code(f.Remedy)) // to be copied as it is
		}
		for _, r := range report.Rules {
			if r.ID == f.Rule {
				fmt.Fprintf(w, " [More](%s)", r.HelpURL)
			}
		}
		w.WriteString("\n")
	}
}

// rank puts what is new before what is known, and failures before warnings.
func (m *markdown) rank(e *Entry, f Finding) int {
	n := 0
	if m.o.Baseline.Known(e.Target, f) {
		n += 2
	}
	if f.Status != report.Fail {
		n++
	}
	return n
}

func (m *markdown) End() error {
	var b strings.Builder
	b.WriteString("## agentaudit")
	if title := publication.Markdown(cut(m.o.Title)); title != "" {
		b.WriteString(": " + title)
	}
	b.WriteString("\n\n| outcome | sites |\n| --- | ---: |\n")
	counted := 0
	for _, o := range report.Outcomes {
		fmt.Fprintf(&b, "| %s | %d |\n", o, m.outcomes[o])
		counted += m.outcomes[o]
	}
	if counted < m.sites {
		fmt.Fprintf(&b, "| cancelled | %d |\n", m.sites-counted)
	}
	fmt.Fprintf(&b, "| **all** | **%d** |\n", m.sites)
	if m.o.Baseline != nil {
		fmt.Fprintf(&b, "\nCompared with the baseline: %d new, %d known.\n", m.found.fresh, m.found.known)
	}
	for i := range m.groups {
		g := &m.groups[i]
		if g.n == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s (%d)\n\n%s", groupTitles[i], g.n, g.text.String())
		if more := g.n - g.shown; more > 0 {
			fmt.Fprintf(&b, "- and %d more: `agentaudit results` lists them\n", more)
		}
	}
	_, err := io.WriteString(m.w, b.String())
	return err
}

// code is a code span, in which nothing is markup. White space is folded, and
// the fence is longer than every row of backticks inside.
func code(s string) string {
	s = cmp.Or(cut(publication.Plain(s)), "(nothing)")
	longest, row := 0, 0
	for _, r := range s {
		if row++; r != '`' {
			row = 0
		}
		longest = max(longest, row)
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// cut bounds a text; an ellipsis stands for what is left out.
func cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxShown {
			return s[:i] + "…"
		}
	}
	return s
}
