package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/audit/audittest"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/weburl"
)

// caseAnswer is what a site of a vector answers at one URL.
type caseAnswer struct {
	URL     audittest.Text    `json:"url"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    audittest.Text    `json:"body"`
	Error   string            `json:"error"`
}

// caseSites is an object from URL to answer, or a list of answers.
type caseSites []caseAnswer

func (s *caseSites) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]caseAnswer)(s))
	}
	var byURL map[string]caseAnswer
	err := json.Unmarshal(data, &byURL)
	for u, a := range byURL {
		a.URL = audittest.Text(u)
		*s = append(*s, a)
	}
	return err
}

// internet serves the sites of a vector; hosts lists others that exist.
func (s caseSites) internet(t *testing.T, hosts ...string) *fakenet.Net {
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	for _, h := range hosts {
		n.Site(h)
	}
	for _, a := range s {
		u, err := weburl.Parse(a.URL.String())
		if err != nil {
			t.Fatalf("site %q: %v", a.URL, err)
		}
		site := n.Site(strings.TrimSuffix(u.Hostname(), "."))
		if a.Error != "" {
			site.Path(u.Path()+u.Query(), fakenet.ResetAfter(""))
			continue
		}
		h := http.Header{}
		for k, v := range a.Headers {
			h.Set(k, v)
		}
		site.Static(u.Path()+u.Query(), a.Status, h, a.Body.String())
	}
	return n
}

func TestVectors(t *testing.T) {
	audittest.Run(t, "agentic/audit", func(t *testing.T, c audittest.Case) {
		var in struct {
			Input     audittest.Text `json:"input"`
			ReadmeURL audittest.Text `json:"readmeUrl"`
			Sites     caseSites      `json:"sites"`
		}
		audittest.Decode(t, c.Input, &in)
		want := map[string]json.RawMessage{}
		audittest.Decode(t, c.Expect, &want)
		synctest.Test(t, func(t *testing.T) {
			target, err := ParseTarget(in.Input.String(), in.ReadmeURL.String())
			if _, rejected := want["rejected"]; rejected {
				if err == nil {
					t.Fatalf("accepted as %s", target.ProfileURL)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			hosts := []string{strings.TrimSuffix(target.ProfileURL.Hostname(), ".")}
			if target.ReadmeURL != nil {
				hosts = append(hosts, target.ReadmeURL.Hostname())
			}
			n := in.Sites.internet(t, hosts...)
			v := n.Client(fetch.Config{UserAgent: "test"}).Visit()
			defer v.Close()
			b, err := Collect(t.Context(), v, target, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			res := Judge(b)
			compareReport(t, res.Report, want)
			checkInvariants(t, res)
			checkRejudged(t, b, res)
		})
	})
}

// compareReport holds a report against every member of an expectation.
func compareReport(t *testing.T, r *report.Report, want map[string]json.RawMessage) {
	t.Helper()
	var structureValid, profileType any
	if r.Structure != nil {
		structureValid = r.Structure.Valid
	}
	if r.ProfileType != "" {
		profileType = r.ProfileType
	}
	var version any
	if r.TextIndex.Version != "" {
		version = r.TextIndex.Version
	}
	checks, bindings, observations, steps, files := [][]any{}, [][]any{}, [][]any{}, []any{}, [][]any{}
	for _, c := range r.Checks {
		checks = append(checks, []any{c.ID, c.Status})
	}
	for _, b := range r.Bindings {
		var valid any
		if b.Validation != nil {
			valid = b.Validation.Valid
		}
		bindings = append(bindings, []any{b.Path, valid})
	}
	for _, o := range append(slices.Clone(r.Observations), r.Readme.Observations...) {
		if o.Error != "" {
			observations = append(observations, []any{o.URL, "error"})
		} else {
			observations = append(observations, []any{o.URL, o.Status})
		}
	}
	for _, s := range r.Publication.NextSteps {
		steps = append(steps, s.ID)
	}
	for _, f := range r.Publication.Files {
		files = append(files, []any{f.Name, f.URL, f.Status})
	}
	byText := func(a, b []any) int { return strings.Compare(fmt.Sprint(a...), fmt.Sprint(b...)) }
	slices.SortFunc(checks, byText)
	slices.SortFunc(bindings, byText)
	slices.SortFunc(observations, byText)
	slices.SortFunc(steps, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	got := map[string]any{
		"valid": r.Valid, "profileUrl": r.ProfileURL, "publication": r.Publication.Status, "profileType": profileType, "structureValid": structureValid,
		"textIndex": map[string]any{"status": r.TextIndex.Status, "version": version},
		"readme":    map[string]any{"status": r.Readme.Status, "url": r.Readme.URL, "providedByUser": r.Readme.ProvidedByUser},
		"checks":    checks, "bindings": bindings, "observations": observations, "nextSteps": steps, "files": files,
	}
	for member, raw := range want {
		g, known := got[member]
		if !known {
			t.Fatalf("the expectation has a member %q that is not compared", member)
		}
		var w any
		if err := json.Unmarshal(raw, &w); err != nil {
			t.Fatal(err)
		}
		gotJSON, _ := json.Marshal(g)
		wantJSON, _ := json.Marshal(expandTexts(t, w))
		var g2, w2 any
		json.Unmarshal(gotJSON, &g2)
		json.Unmarshal(wantJSON, &w2)
		if a, b := fmt.Sprint(sorted(member, g2)), fmt.Sprint(sorted(member, w2)); a != b {
			t.Errorf("%s:\n got %s\nwant %s", member, a, b)
		}
	}
}

// sorted puts rows into one order on both sides.
func sorted(member string, v any) any {
	rows, ok := v.([]any)
	if !ok || member == "files" {
		return v
	}
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return rows
}

// expandTexts replaces the text forms in an expectation.
func expandTexts(t *testing.T, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = expandTexts(t, v[i])
		}
	case map[string]any:
		for _, form := range []string{"repeat", "hex", "join", "count"} {
			if _, is := v[form]; is {
				raw, _ := json.Marshal(v)
				var x audittest.Text
				if err := json.Unmarshal(raw, &x); err != nil {
					t.Fatal(err)
				}
				return x.String()
			}
		}
		for k := range v {
			v[k] = expandTexts(t, v[k])
		}
	}
	return v
}

// checkInvariants holds for every report, whatever the site did.
func checkInvariants(t *testing.T, res *report.Result) {
	t.Helper()
	r := res.Report
	for _, c := range r.Checks {
		if c.Label == "" || c.Detail == "" {
			t.Errorf("check %s has no label or detail: %+v", c.ID, c)
		}
		if c.Status != report.Pass && (c.Remedy == "" || c.HelpURL == "") {
			t.Errorf("check %s asks for something without a remedy or help: %+v", c.ID, c)
		}
	}
	if !slices.IsSortedFunc(r.Checks, compareChecks) {
		t.Errorf("the checks are not in order")
	}
	if res.Detail == "" || res.Outcome == "" || res.Reason == "" || !slices.Contains(report.Reasons, res.Reason) {
		t.Errorf("outcome %q, reason %q, detail %q", res.Outcome, res.Reason, res.Detail)
	}
	if r.Publication.Summary == "" || r.Limitation == "" {
		t.Errorf("no summary or limitation")
	}
	if res.Outcome != report.OutcomeUnchecked && string(res.Outcome) != string(r.Publication.Status) {
		t.Errorf("outcome %s but publication %s", res.Outcome, r.Publication.Status)
	}
	if len(res.Evidence) != len(r.Observations)+len(r.Readme.Observations) {
		t.Errorf("%d reads left evidence, %d observations", len(res.Evidence), len(r.Observations)+len(r.Readme.Observations))
	}
	checkConsistency(t, res)
}

// checkRejudged keeps a bundle as JSON, judges it again and wants the same.
func checkRejudged(t *testing.T, b *Bundle, res *report.Result) {
	t.Helper()
	kept, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var again Bundle
	if err := json.Unmarshal(kept, &again); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(res.Report)
	c, _ := json.Marshal(Judge(&again).Report)
	if string(a) != string(c) {
		t.Errorf("judged again, the report differs:\n%s\n%s", a, c)
	}
}
