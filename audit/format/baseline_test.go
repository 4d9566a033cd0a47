package format_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agentaudit/audit/format"
	"agentaudit/audit/report"
)

// What was found before, in each of the forms that a baseline may have.
func baselineForms(t *testing.T) map[string]string {
	old := sites()[1]
	old.Report.Readme.Checks = nil
	whole, err := json.Marshal(old.Report)
	if err != nil {
		t.Fatal(err)
	}
	row := `{"target":"https://bad.example/agentic.json","outcome":"failed","readme":"matched","failing":["structure","api:/v1/openapi.json","resource:https://bad.example/docs.md","txt"],"warning":["readme:json"]}`
	return map[string]string{
		"report":        string(whole),
		"rows":          row + "\n" + strings.ReplaceAll(row, "bad.", "other.") + "\n",
		"array":         "[\n" + row + ",\n" + strings.ReplaceAll(row, "bad.", "other.") + "\n]\n",
		"with BOM":      "\uFEFF" + row,
		"SARIF":         write(t, format.SARIF, format.Options{}, sites()[1]),
		"two documents": string(whole) + "\n" + row,
	}
}

func TestBaselineForms(t *testing.T) {
	for name, text := range baselineForms(t) {
		b := baseline(t, text)
		e := sites()[1]
		if fresh, err := b.New(e, format.ObjectPartial); err != nil || fresh {
			t.Errorf("%s: the same findings are new (%v)", name, err)
		}
		e.Report.Checks = append(e.Report.Checks, check("origin", report.Fail, "another"))
		if fresh, err := b.New(e, format.ObjectInvalid); err != nil || !fresh {
			t.Errorf("%s: another finding is not new (%v)", name, err)
		}
		if fresh, err := b.New(sites()[2], format.ObjectPartial); err != nil || !fresh {
			t.Errorf("%s: another site's finding is not new (%v)", name, err)
		}
	}
}

func TestBaselineKnowsStatus(t *testing.T) {
	b := baseline(t, known)
	failing := entry("bad.example", report.OutcomeFailed, report.ReasonTextConflict, check("txt", report.Fail, "differs"))
	if fresh, _ := b.New(failing, format.ObjectFailed); !fresh {
		t.Error("a warning that became a failure is not new")
	}
	milder := entry("bad.example", report.OutcomePartial, report.ReasonIncomplete, check("structure", report.Warn, "odd"))
	if fresh, _ := b.New(milder, format.ObjectPartial); fresh {
		t.Error("a failure that became a warning is new")
	}
}

func TestObjections(t *testing.T) {
	e := entry("x.example", report.OutcomeFailed, report.ReasonTextConflict,
		check("txt", report.Fail, "differs"), check("readme:json", report.Fail, "elsewhere"), check("linked", report.Warn, "info"))
	warned := entry("x.example", report.OutcomePartial, report.ReasonIncomplete, check("json-type", report.Warn, "odd"), check("linked", report.Warn, "info"))
	linked := entry("x.example", report.OutcomeSuccessful, report.ReasonComplete, check("linked", report.Warn, "info"))
	linked.Agents = json.RawMessage(agentsReport)
	none := baseline(t, known)
	for _, c := range []struct {
		name string
		e    *format.Entry
		o    format.Objection
		want bool
	}{
		{"companions do not make it invalid", e, format.ObjectInvalid, false},
		{"companions make it fail", e, format.ObjectFailed, true},
		{"a warning is no failure", warned, format.ObjectFailed, false},
		{"a warning makes it partial", warned, format.ObjectPartial, true},
		{"information and agents.txt count for nothing", linked, format.ObjectPartial, false},
		{"no verdict is no finding", sites()[3], format.ObjectPartial, false},
	} {
		if got, err := none.New(c.e, c.o); err != nil || got != c.want {
			t.Errorf("%s: %v (%v)", c.name, got, err)
		}
	}
}

// Sites without a verdict leave nothing behind that later hides a failure.
func TestBaselineOfUnchecked(t *testing.T) {
	b := baseline(t, `{"target":"https://unchecked.example/agentic.json","outcome":"unchecked","failing":["json"],"warning":[]}`)
	now := entry("unchecked.example", report.OutcomeFailed, report.ReasonMissingProfile, check("json", report.Fail, "HTTP 404."))
	if fresh, _ := b.New(now, format.ObjectFailed); !fresh {
		t.Error("what was never seen is known")
	}
	sarif := baseline(t, write(t, format.SARIF, format.Options{}, sites()[3]))
	if fresh, _ := sarif.New(now, format.ObjectFailed); !fresh {
		t.Error("what was never seen is known from SARIF")
	}
}

func TestBaselineMarks(t *testing.T) {
	run := readSARIF(t, write(t, format.SARIF, format.Options{Baseline: baseline(t, known)}, sites()[1])).Runs[0]
	for _, r := range run.Results {
		want := "new"
		if r.RuleID == "structure" {
			want = "unchanged"
		}
		if r.BaselineState != want {
			t.Errorf("%s is %q, want %q", r.RuleID, r.BaselineState, want)
		}
	}
}

func TestNoBaseline(t *testing.T) {
	for name, text := range map[string]string{
		"empty":           " \n",
		"no JSON":         "batch,entry\n1,2\n",
		"cut":             `{"target":"https://a.example/agentic.json","outcome":"failed","failing":["js`,
		"cut array":       `[{"target":"https://a.example/agentic.json","outcome":"failed"}`,
		"two arrays":      "[]\n" + `[{"target":"https://a.example/agentic.json","outcome":"failed","failing":["json"]}]`,
		"another object":  `{"hello":"world"}`,
		"another program": `{"version":"2.1.0","runs":[{"results":[],"tool":{"driver":{"name":"other"}}}]}`,
		"a wrong type":    `{"target":7}`,
	} {
		if _, err := format.ReadBaseline(strings.NewReader(text)); !errors.Is(err, format.ErrBaseline) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
