package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// outcomes lists what a row can say, best first.
var outcomes = append(append([]report.Outcome{}, report.Outcomes...), store.Cancelled)

// outcomeWords say what an outcome means, for people who see it first.
var outcomeWords = map[report.Outcome]string{
	report.OutcomeSuccessful: "all files are there and agree",
	report.OutcomePartial:    "usable, but something is missing",
	report.OutcomeFailed:     "missing, invalid or contradictory",
	report.OutcomeUnchecked:  "no definite answer: no verdict about the site",
	store.Cancelled:          "not audited: the batch was cancelled",
}

// stateWords say what the state of a batch means.
var stateWords = map[store.BatchState]string{
	store.StateIntake:    "its list is being read",
	store.StateQueued:    "waiting for a worker",
	store.StateRunning:   "being audited",
	store.StatePaused:    "paused",
	store.StateCancelled: "cancelled",
	store.StateFinished:  "finished",
}

// changeWords are the headings of the lists of a comparison, and what they mean.
var changeWords = map[store.Change][2]string{
	store.Regression:   {"Regressions", "worse than before"},
	store.Repair:       {"Repairs", "better than before"},
	store.StillFailing: {"Still failing", "failed both times"},
	store.Unchanged:    {"Unchanged", "the same, and not failed"},
	store.NoVerdict:    {"No verdict", "unchecked or cancelled in one of them"},
	store.Pending:      {"Not done yet", "no final result in one of them"},
	store.OnlyBefore:   {"Only before", "not in the later list"},
	store.OnlyAfter:    {"Only after", "not in the earlier list"},
}

// number writes 1234567 as 1,234,567.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// share writes a part of a whole in percent. It rounds, but never to none or
// all where that is not so.
func share(n, of int64) string {
	if of <= 0 {
		return "–"
	}
	p := 100 * float64(n) / float64(of)
	switch {
	case n == 0 || n == of:
		return fmt.Sprintf("%.0f %%", p)
	case p < 0.1:
		return "< 0.1 %"
	case p > 99.9:
		return "> 99.9 %"
	case p < 10 || p > 90:
		return fmt.Sprintf("%.1f %%", math.Min(p, 99.9))
	}
	return fmt.Sprintf("%.0f %%", p)
}

// plural counts things: "1 site", "2,000 sites".
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// span writes a length of time in its two largest units.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return two(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < 48*time.Hour:
		return two(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	}
	return two(int(d.Hours())/24, "days", int(d.Hours())%24, "h")
}

// ago says how long something is over, in its largest unit.
func ago(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours())/24)
}

// moment is an instant for machines, "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func two(a int, first string, b int, second string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, first)
	}
	return fmt.Sprintf("%d %s %d %s", a, first, b, second)
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 1000:
		return plural(n, "byte", "bytes")
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// pace writes a rate in the unit that makes a number people can grasp.
func pace(perSecond float64) string {
	switch {
	case perSecond <= 0:
		return "–"
	case perSecond >= 10:
		return number(int64(math.Round(perSecond))) + " a second"
	case perSecond >= 1:
		return fmt.Sprintf("%.1f a second", perSecond)
	case perSecond*60 >= 1:
		return fmt.Sprintf("%.0f a minute", perSecond*60)
	}
	return fmt.Sprintf("%.1f an hour", perSecond*3600)
}

// siteName is a target as people call it: without scheme and the usual path.
func siteName(target string) string {
	return strings.TrimSuffix(strings.TrimPrefix(target, "https://"), "/agentic.json")
}

// sentence makes a sentence of a clause.
func sentence(s string) string {
	if s == "" {
		return s
	}
	if 'a' <= s[0] && s[0] <= 'z' {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// inLine makes a name safe to stand in a line with other words: marks that turn
// the order of what follows them are shown as what they are, strange.
func inLine(s string) string {
	return strings.Map(func(r rune) rune {
		if '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' {
			return '\ufffd'
		}
		return r
	}, s)
}

// pieces cuts an address behind its slashes, where a line may be broken.
func pieces(u string) []string { return strings.SplitAfter(u, "/") }

// webAddress is u where it is safe to follow: an https URL. Others are text.
func webAddress(u string) string {
	if strings.HasPrefix(u, "https://") {
		return u
	}
	return ""
}

// shortCheck leaves out of a check's id what the site's own address says
// already: resource:https://shop.example/guide of shop.example is resource:/guide.
func shortCheck(id, target string) string {
	class := report.CheckClass(id)
	if class == id {
		return id
	}
	origin, _, _ := strings.Cut(strings.TrimPrefix(target, "https://"), "/")
	if path, own := strings.CutPrefix(id, class+":https://"+origin+"/"); own {
		return class + ":/" + path
	}
	return id
}
