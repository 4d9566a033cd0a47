package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

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

// internet serves the sites of a vector; host is another that exists.
func (s caseSites) internet(t *testing.T, host string) *fakenet.Net {
	n := fakenet.New(fakenet.Options{})
	n.Site(host)
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

type expected struct {
	Rejected      bool                `json:"rejected"`
	Mode          Mode                `json:"mode"`
	Origin        string              `json:"origin"`
	Requests      *int                `json:"requests"`
	Bytes         *int64              `json:"bytes"`
	BudgetUsed    *int64              `json:"budgetUsed"`
	Profile       map[string]any      `json:"profile"`
	AgenticTxt    *audittest.Expected `json:"agenticTxt"`
	Observations  [][]any             `json:"observations"`
	ResourcesSeen [][]any             `json:"resourcesSeen"`
	NoteCount     *int                `json:"noteCount"`
}

func TestVectors(t *testing.T) {
	audittest.Run(t, "agentic/discover", func(t *testing.T, c audittest.Case) {
		var input struct {
			Input audittest.Text `json:"input"`
			Sites caseSites      `json:"sites"`
		}
		var want expected
		audittest.Decode(t, c.Input, &input)
		audittest.Decode(t, c.Expect, &want)
		start, err := weburl.ParseStart(input.Input.String())
		if err != nil {
			if !want.Rejected {
				t.Fatal(err)
			}
			return
		}
		r, err := scanInternet(t, input.Sites, start)
		if (err != nil) != want.Rejected {
			t.Fatalf("error %v, want rejected %v", err, want.Rejected)
		}
		if err == nil {
			want.compare(t, r)
		}
	})
}

// scanInternet scans over the real reader, in a bubble where time costs none.
func scanInternet(t *testing.T, sites caseSites, start *weburl.URL) (r *Report, err error) {
	synctest.Test(t, func(t *testing.T) {
		n := sites.internet(t, strings.TrimSuffix(start.Hostname(), "."))
		defer n.Close()
		visit := n.Client(fetch.Config{}).Visit()
		defer visit.Close()
		r, err = Scan(context.Background(), visit, start, Options{})
		if f := n.Forbidden(); len(f) > 0 {
			t.Errorf("forbidden connections: %v", f)
		}
	})
	return r, err
}

func (want expected) compare(t *testing.T, r *Report) {
	if r.Mode != want.Mode || r.Origin != want.Origin {
		t.Errorf("mode %s, origin %s; want %s, %s", r.Mode, r.Origin, want.Mode, want.Origin)
	}
	number(t, "requests", int64(r.Requests), want.Requests)
	number(t, "bytes", r.Bytes, want.Bytes)
	number(t, "budgetUsed", r.BudgetUsed, want.BudgetUsed)
	number(t, "notes", int64(len(r.Notes)), want.NoteCount)
	if t.Failed() {
		t.Logf("notes: %q", r.Notes)
	}
	if want.Profile != nil {
		var got map[string]any
		if err := json.Unmarshal(r.Profile, &got); err != nil {
			t.Fatal(err)
		}
		if d, ok := want.Profile["description"]; ok && d == nil {
			if s, _ := got["description"].(string); !strings.HasPrefix(s, "Public pages, documentation and interfaces of ") {
				t.Errorf("description %q, want the generic one", s)
			}
			got["description"] = nil
		}
		if !reflect.DeepEqual(got, want.Profile) {
			t.Errorf("profile\n%s\nwant\n%s", pretty(got), pretty(want.Profile))
		}
	}
	if want.AgenticTxt != nil {
		if d := want.AgenticTxt.Match([]byte(r.Files.Text)); d != "" {
			t.Errorf("agentic.txt: %s", d)
		}
	}
	if want.Observations != nil {
		rows(t, "observations", observationRows(r.Observations), want.Observations)
	}
	if want.ResourcesSeen != nil {
		var got [][]any
		for _, s := range r.Sources {
			got = append(got, []any{s.Kind, s.URL, s.Availability})
		}
		rows(t, "resourcesSeen", got, want.ResourcesSeen)
	}
}

func number[N int | int64](t *testing.T, what string, got int64, want *N) {
	t.Helper()
	if want != nil && got != int64(*want) {
		t.Errorf("%s: %d, want %d", what, got, *want)
	}
}

func observationRows(list []report.Observation) (rows [][]any) {
	for _, o := range list {
		row := []any{o.URL, o.Status}
		if o.Error != "" {
			row[1] = "error"
		}
		rows = append(rows, row)
	}
	return rows
}

func rows(t *testing.T, what string, got, want [][]any) {
	t.Helper()
	text := func(rows [][]any) []string {
		var lines []string
		for _, r := range rows {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintln(r...), "\n"))
		}
		slices.Sort(lines)
		return lines
	}
	if g, w := text(got), text(want); !slices.Equal(g, w) {
		t.Errorf("%s\n%s\nwant\n%s", what, strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
}

func pretty(v any) string {
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}
