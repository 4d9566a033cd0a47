package agentstxt

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/audittest"
)

type vectorReply struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    audittest.Text    `json:"body"`
}

type vectorInput struct {
	Origin    string                 `json:"origin"`
	Now       time.Time              `json:"now"`
	Strict    bool                   `json:"strict"`
	Responses map[string]vectorReply `json:"responses"`
}

type words struct {
	Fails []string `json:"fails"`
	Warns []string `json:"warns"`
	Infos []string `json:"infos"`
}

type vectorDifference struct {
	Severity   Severity `json:"severity"`
	Field      string   `json:"field"`
	Capability string   `json:"capability,omitempty"`
	Agent      string   `json:"agent,omitempty"`
}

type vectorExpect struct {
	Format      Format              `json:"format"`
	Formats     map[string]Format   `json:"formats"`
	Verdict     Verdict             `json:"verdict"`
	Fails       []int               `json:"fails"`
	Warns       []int               `json:"warns"`
	Infos       []int               `json:"infos"`
	NearMisses  []int               `json:"nearMisses"`
	Serving     *words              `json:"serving"`
	Model       json.RawMessage     `json:"model"`
	Differences *[]vectorDifference `json:"differences"`
	Credentials []struct {
		Kind     string   `json:"kind"`
		Severity Severity `json:"severity"`
	} `json:"credentials"`
	NeverPrinted []audittest.Text `json:"neverPrinted"`
}

// servingWords are the findings of which expectations list all.
var servingWords = []string{
	"location", "root-differs", "json-only", "https", "redirect", "content-type", "charset", "content-type-parameter",
	"cache-control", "cors", "empty", "bom",
}

// fakeSite answers as a vector says; whatever is not listed answers 404.
func fakeSite(in vectorInput) func(url string) Reply {
	m := map[string]vectorReply{}
	for k, r := range in.Responses {
		if strings.HasPrefix(k, "/") {
			k = in.Origin + k
		}
		m[location(k)] = r
	}
	return func(url string) Reply {
		r, ok := m[location(url)]
		if !ok {
			return Reply{Status: 404, Header: http.Header{}}
		}
		h := http.Header{}
		for k, v := range r.Headers {
			h.Set(k, v)
		}
		return Reply{Status: r.Status, Header: h, Body: r.Body}
	}
}

func TestVectors(t *testing.T) {
	audittest.Run(t, "agents-txt", func(t *testing.T, c audittest.Case) {
		if strings.HasPrefix(c.Name, "a") {
			testQuestion(t, c)
			return
		}
		var in vectorInput
		var want vectorExpect
		audittest.Decode(t, c.Input, &in)
		audittest.Decode(t, c.Expect, &want)
		col := &collector{origin: in.Origin, left: 50, get: fakeSite(in)}
		col.run()
		rep := Judge(Input{Origin: in.Origin, Now: in.Now, Strict: in.Strict, Replies: col.list})
		out, err := json.MarshalIndent(rep, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if t.Failed() {
				t.Logf("%s\n%s", c.About, out)
			}
		}()
		if rep.Format != want.Format || rep.Verdict != want.Verdict {
			t.Errorf("format %s, verdict %s; want %s, %s", rep.Format, rep.Verdict, want.Format, want.Verdict)
		}
		for path, f := range want.Formats {
			i := slices.IndexFunc(rep.Files, func(x File) bool { return x.Path == path })
			if i < 0 || rep.Files[i].Format != f {
				t.Errorf("%s is not %s", path, f)
			}
		}
		checkRules(t, rep, want)
		if want.Serving != nil {
			checkServing(t, rep, *want.Serving)
		}
		if want.Model != nil {
			checkModel(t, rep, want.Model)
		}
		checkDifferences(t, rep, want.Differences)
		checkCredentials(t, rep, want)
		for _, secret := range want.NeverPrinted {
			if strings.Contains(strings.ToLower(string(out)), strings.ToLower(secret.String())) {
				t.Errorf("the report prints a credential")
			}
			if s := fmt.Sprintf("%+v", rep.Checks); strings.Contains(s, secret.String()) {
				t.Error("a check holds a credential")
			}
		}
		checkTexts(t, rep)
	})
}

func ruleSet(rep *Report, s Severity) []int {
	var out []int
	for _, c := range rep.Checks {
		if c.Rule != nil && c.Severity == s {
			out = append(out, *c.Rule)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func checkRules(t *testing.T, rep *Report, want vectorExpect) {
	t.Helper()
	fails, warns, infos := ruleSet(rep, Fail), ruleSet(rep, Warn), ruleSet(rep, Info)
	if !slices.Equal(fails, want.Fails) && len(fails)+len(want.Fails) > 0 {
		t.Errorf("fails %v, want %v", fails, want.Fails)
	}
	if !slices.Equal(warns, want.Warns) && len(warns)+len(want.Warns) > 0 {
		t.Errorf("warns %v, want %v", warns, want.Warns)
	}
	for _, n := range want.Infos {
		if !slices.Contains(infos, n) {
			t.Errorf("infos %v lack %d", infos, n)
		}
	}
	for _, n := range want.NearMisses {
		if slices.Contains(slices.Concat(fails, warns, infos), n) {
			t.Errorf("rule %d is reported", n)
		}
	}
}

func checkServing(t *testing.T, rep *Report, want words) {
	t.Helper()
	got := map[Severity][]string{}
	for _, c := range rep.Checks {
		if word := strings.TrimPrefix(c.ID, "agents:"); slices.Contains(servingWords, word) {
			got[c.Severity] = append(got[c.Severity], word)
		}
	}
	exact := func(s Severity, want []string) {
		g := slices.Compact(slices.Sorted(slices.Values(got[s])))
		if w := slices.Sorted(slices.Values(want)); !slices.Equal(g, w) {
			t.Errorf("serving %s %v, want %v", s, g, w)
		}
	}
	exact(Fail, want.Fails)
	exact(Warn, want.Warns)
	for _, w := range want.Infos {
		if !slices.Contains(got[Info], w) {
			t.Errorf("serving infos %v lack %s", got[Info], w)
		}
	}
}

// canonicalModel removes what the README says makes no difference.
func canonicalModel(t *testing.T, raw []byte) any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"operatesOn", "capabilities"} {
		if l, ok := v[k].([]any); ok && len(l) == 0 {
			delete(v, k)
		}
	}
	if a, ok := v["access"].(map[string]any); ok {
		for _, k := range []string{"allow", "disallow"} {
			if l, ok := a[k].([]any); ok && len(l) == 0 {
				delete(a, k)
			}
		}
		if len(a) == 0 {
			delete(v, "access")
		}
	}
	for _, k := range []string{"agents", "metadata"} {
		if m, ok := v[k].(map[string]any); ok && len(m) == 0 {
			delete(v, k)
		}
	}
	list, _ := v["capabilities"].([]any)
	for _, x := range list {
		c := x.(map[string]any)
		set := map[string]bool{}
		collect := func(l any) {
			items, _ := l.([]any)
			for _, s := range items {
				set[s.(string)] = true
			}
		}
		collect(c["scopes"])
		delete(c, "scopes")
		if a, ok := c["auth"].(map[string]any); ok {
			collect(a["scopes"])
			delete(a, "scopes")
			if len(a) == 0 {
				delete(c, "auth")
			}
		}
		if len(set) > 0 {
			c["scopes"] = set
		}
		if p, ok := c["parameters"].([]any); ok && len(p) == 0 {
			delete(c, "parameters")
		}
	}
	return v
}

func checkModel(t *testing.T, rep *Report, want json.RawMessage) {
	t.Helper()
	got, err := json.Marshal(rep.Declaration)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := canonicalModel(t, got), canonicalModel(t, want); !reflect.DeepEqual(a, b) {
		t.Errorf("model\n%v\nwant\n%v", a, b)
	}
}

func checkDifferences(t *testing.T, rep *Report, want *[]vectorDifference) {
	t.Helper()
	if want == nil {
		return
	}
	key := func(d vectorDifference) string { return fmt.Sprint(d) }
	var got []string
	for _, d := range rep.Differences {
		got = append(got, key(vectorDifference{d.Severity, d.Field, d.Capability, d.Agent}))
	}
	var exp []string
	for _, d := range *want {
		exp = append(exp, key(d))
	}
	slices.Sort(got)
	slices.Sort(exp)
	if !slices.Equal(got, exp) {
		t.Errorf("differences %v, want %v", got, exp)
	}
}

func checkCredentials(t *testing.T, rep *Report, want vectorExpect) {
	t.Helper()
	for _, w := range want.Credentials {
		if !slices.ContainsFunc(rep.Checks, func(c Check) bool {
			return c.ID == "agents:credential" && c.Severity == w.Severity && strings.HasPrefix(c.Detail, w.Kind+": ")
		}) {
			t.Errorf("%s is not found as %s", w.Kind, w.Severity)
		}
	}
}

// checkTexts: every check is of the table, has a detail and a remedy, and
// a format string that met its arguments.
func checkTexts(t *testing.T, rep *Report) {
	t.Helper()
	for _, c := range rep.Checks {
		n, known := ruleNumbers[c.ID]
		if !known || (c.Rule == nil) != (n == 0) || c.Rule != nil && *c.Rule != n {
			t.Errorf("%s is not in the table with that rule", c.ID)
		}
		if c.Detail == "" || c.Remedy == "" || strings.Contains(c.Detail+c.Remedy, "%!") {
			t.Errorf("%s: detail %q, remedy %q", c.ID, c.Detail, c.Remedy)
		}
		if (c.Line == 0) != (c.Column == 0) {
			t.Errorf("%s: line %d, column %d", c.ID, c.Line, c.Column)
		}
	}
}

func testQuestion(t *testing.T, c audittest.Case) {
	var in struct {
		Text   audittest.Text `json:"text"`
		Agent  string         `json:"agent"`
		Method string         `json:"method"`
		Path   string         `json:"path"`
	}
	var want struct {
		Allowed      Permission `json:"allowed"`
		Capabilities []string   `json:"capabilities"`
		RateLimit    any        `json:"rateLimit"`
	}
	audittest.Decode(t, c.Input, &in)
	audittest.Decode(t, c.Expect, &want)
	got := Answer(ParseText(in.Text), in.Agent, in.Method, in.Path)
	limit, err := json.Marshal(got.RateLimit)
	if err != nil {
		t.Fatal(err)
	}
	var gotLimit any
	if err := json.Unmarshal(limit, &gotLimit); err != nil {
		t.Fatal(err)
	}
	if got.Allowed != want.Allowed || !slices.Equal(got.Capabilities, want.Capabilities) || !reflect.DeepEqual(gotLimit, want.RateLimit) {
		t.Errorf("%s\n%s\ngot %+v, limit %s\nwant %+v", c.About, in.Text, got, limit, want)
	}
	if got.Why == "" || (got.Line == 0) != (got.DecidedBy == "") {
		t.Errorf("no reason: %+v", got)
	}
}
