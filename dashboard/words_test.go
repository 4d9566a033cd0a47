package dashboard

import (
	"fmt"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// Failures come first, whatever the order of the report, and the README's
// checks stand once though they are in two lists.
func TestOrderOfChecks(t *testing.T) {
	check := func(id string, s report.Status) report.Check {
		return report.Check{ID: id, Status: s, Detail: "About " + id}
	}
	p := &RunPage{Report: &report.Report{
		Checks: []report.Check{check("a", report.Warn), check("b", report.Pass), check("c", report.Fail), check("linked", report.Warn), check("readme", report.Warn), check("d", report.Fail)},
		Readme: report.Readme{Checks: []report.Check{check("readme", report.Warn)}},
	}}
	p.sortChecks()
	ids := func(list []report.Check) (s string) {
		for _, c := range list {
			s += " " + c.ID
		}
		return s
	}
	if ids(p.ToDo) != " c d a readme" || ids(p.Passed) != " b" || ids(p.Notes) != " linked" || len(p.Same) != 0 {
		t.Errorf("to do%s, passed%s, notes%s, same %v", ids(p.ToDo), ids(p.Passed), ids(p.Notes), p.Same)
	}
}

// A number of rows is only told where a counter holds it.
func TestTotals(t *testing.T) {
	b := &store.Batch{ID: "b", Outcomes: map[report.Outcome]store.Count{report.OutcomeFailed: {Entries: 3}, report.OutcomePartial: {Entries: 4}}}
	reasons := []store.ReasonCount{{Outcome: report.OutcomeFailed, Reason: "r", Count: store.Count{Entries: 2}}, {Outcome: report.OutcomePartial, Reason: "r", Count: store.Count{Entries: 1}}}
	checks := []store.CheckCount{{Check: "api", Status: report.Fail, Count: store.Count{Entries: 2}}, {Check: "api", Status: report.Warn, Count: store.Count{Entries: 2}}, {Check: "txt", Status: report.Warn, Count: store.Count{Entries: 4}}}
	for _, c := range []struct {
		f    store.Filter
		want int64
	}{
		{store.Filter{}, 7}, {store.Filter{Outcome: report.OutcomeFailed}, 3}, {store.Filter{Outcome: report.OutcomeUnchecked}, 0},
		{store.Filter{Reason: "r"}, 3}, {store.Filter{Reason: "r", Outcome: report.OutcomeFailed}, 2}, {store.Filter{Reason: "other"}, 0},
		{store.Filter{Check: "txt"}, 4}, {store.Filter{Check: "txt", CheckStatus: report.Fail}, 0}, {store.Filter{Check: "api", CheckStatus: report.Fail}, 2},
		{store.Filter{Check: "api"}, -1}, // an entry may fail and warn
		{store.Filter{Check: "api:/x.json"}, -1}, {store.Filter{Check: "txt", Outcome: report.OutcomeFailed}, -1}, {store.Filter{Tag: "t"}, -1}, {store.Filter{Text: "t"}, -1},
	} {
		c.f.Batch = b.ID
		if got := total(b, c.f, reasons, checks); got != c.want {
			t.Errorf("%+v: %d, want %d", c.f, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(1234567), "1,234,567"}, {number(-1234), "-1,234"},
		{share(0, 10), "0 %"}, {share(10, 10), "100 %"}, {share(1, 100000), "< 0.1 %"}, {share(99999, 100000), "> 99.9 %"}, {share(1, 3), "33 %"}, {share(1, 40), "2.5 %"}, {share(999, 1000), "99.9 %"}, {share(9995, 10000), "> 99.9 %"}, {share(5, 0), "–"},
		{span(-1), "–"}, {span(20 * time.Millisecond), "20 ms"}, {span(1500 * time.Millisecond), "1.5 s"}, {span(59 * time.Second), "59 s"}, {span(60 * time.Second), "1 min"}, {span(61 * time.Minute), "1 h 1 min"}, {span(49 * time.Hour), "2 days 1 h"},
		{size(1), "1 byte"}, {size(999), "999 bytes"}, {size(65536), "65.5 kB"}, {size(1 << 20), "1.0 MB"},
		{pace(0), "–"}, {pace(1234.4), "1,234 a second"}, {pace(2.5), "2.5 a second"}, {pace(0.5), "30 a minute"}, {pace(0.005), "18.0 an hour"},
		{siteName("https://a.example/agentic.json"), "a.example"}, {siteName("https://a.example/x/agentic.json"), "a.example/x"}, {siteName("https://a.example/p.json"), "a.example/p.json"},
		{shortCheck("resource:https://a.example/x", "https://a.example/agentic.json"), "resource:/x"}, {shortCheck("resource:https://b.example/x", "https://a.example/agentic.json"), "resource:https://b.example/x"},
		{shortCheck("txt", "https://a.example/agentic.json"), "txt"}, {sentence("éa"), "éa."}, {sentence("what?"), "What?"}, {sentence(""), ""},
		{webAddress("https://a"), "https://a"}, {webAddress("javascript:alert(1)"), ""}, {webAddress("http://a"), ""},
		{fmt.Sprint(roundSpan(0.2)), "5s"}, {fmt.Sprint(roundSpan(3725)), "1h2m0s"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	// Every word that can come up is explained.
	for _, r := range report.Reasons {
		if r.Words() == "" {
			t.Errorf("no words for the reason %s", r)
		}
	}
	for _, o := range outcomes {
		if outcomeWords[o] == "" {
			t.Errorf("no words for the outcome %s", o)
		}
	}
	for _, c := range store.Changes {
		if changeWords[c][0] == "" || changeWords[c][1] == "" {
			t.Errorf("no words for the change %s", c)
		}
	}
}
