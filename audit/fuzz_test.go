package audit

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"agentaudit/audit/report"
	"agentaudit/fetch"
)

// shelf is a fetcher without a network: files by path, with the same limits
// and refusals as the real one.
type shelf map[string]fetch.Response

func (s shelf) Fetch(_ context.Context, req fetch.Request) (*fetch.Response, error) {
	r, ok := s[req.URL.Path()]
	switch {
	case !ok:
		r = fetch.Response{Status: 404, ContentType: "text/plain", Body: []byte("no")}
	case r.Status >= 300 && r.Status <= 399:
		return nil, &fetch.Error{Kind: fetch.KindRedirect, URL: req.URL.Location(), Status: r.Status, Location: string(r.Body)}
	case r.Status < 100:
		return nil, &fetch.Error{Kind: fetch.Kinds[r.Status%len(fetch.Kinds)], URL: req.URL.Location(), Host: req.URL.Hostname()}
	case int64(len(r.Body)) > req.MaxBytes:
		return nil, &fetch.Error{Kind: fetch.KindTooLarge, URL: req.URL.Location(), Status: r.Status, ContentType: r.ContentType, Bytes: req.MaxBytes, Limit: req.MaxBytes}
	}
	r.URL, r.Bytes = req.URL.Location(), int64(len(r.Body))
	r.Header = http.Header{"Content-Type": {r.ContentType}}
	r.Trace = fetch.Trace{Started: time.Unix(1, 0), Elapsed: time.Millisecond}
	return &r, nil
}

// FuzzJudge judges any bytes as the files of a publication, with any status
// and media type.
func FuzzJudge(f *testing.F) {
	for _, profile := range []string{siteProfile(host), actionProfile(host), actionProfile(host, "/openapi.json", "/b.json"), `{"type":"site"}`, "[]", ""} {
		text := ""
		if strings.Contains(profile, host) {
			text = textFor(f, profile)
		}
		for _, openapi := range []string{siteOpenAPI, actionOpenAPI, "{}", "<html>"} {
			f.Add([]byte(profile), []byte(text), []byte(readmeFor(host)), []byte(openapi), "application/json", uint16(200), uint16(200), uint16(200), uint16(200))
		}
		f.Add([]byte(profile), []byte(text), []byte(readmeFor(host)), []byte("https://other.example/"), "text/html; charset=x", uint16(200), uint16(404), uint16(503), uint16(301))
		f.Add([]byte(profile), []byte("<html>g-recaptcha"), []byte("<html>"), []byte("<title>just a moment"), "text/html", uint16(403), uint16(7), uint16(2), uint16(9))
	}
	for name, text := range hostileJSON(2000) {
		f.Add([]byte(text), []byte(name), []byte(text), []byte(text), name, uint16(200), uint16(200), uint16(200), uint16(200))
	}
	f.Fuzz(func(t *testing.T, profile, text, readme, document []byte, mediaType string, a, b, c, d uint16) {
		judgeFiles(t, shelf{
			"/agentic.json": {Status: int(a % 1000), ContentType: mediaType, Body: profile}, "/agentic.txt": {Status: int(b % 1000), ContentType: mediaType, Body: text},
			"/README.md": {Status: int(c % 1000), ContentType: "text/markdown", Body: readme}, "/readme.md": {Status: int(c % 999), ContentType: mediaType, Body: readme},
			"/openapi.json": {Status: int(d % 1000), ContentType: mediaType, Body: document}, "/guide": {Status: int(d % 999), ContentType: mediaType, Body: document},
			"/llms.txt": {Status: int(b % 999), ContentType: mediaType, Body: text},
		})
	})
}

// judgeFiles audits files and checks what holds for all audits.
func judgeFiles(t *testing.T, files shelf) Judgement {
	target, err := ParseTarget(host, "")
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := Collect(t.Context(), files, target, time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(bundle.Reads) > 10 {
		t.Errorf("%d reads", len(bundle.Reads))
	}
	j := Weigh(bundle)
	checkInvariants(t, j.Result)
	checkRejudged(t, bundle, j.Result)
	if j.Verdict.Definite != (j.Result.Outcome != report.OutcomeUnchecked) || j.Result.Outcome == report.OutcomeSuccessful && j.Verdict.Again != Final {
		t.Errorf("%s with the verdict %+v", j.word(), j.Verdict)
	}
	return j
}

// TestMutatedPublications changes one to four values in good files, which gets
// further than random bytes, and wants every judgement to be consistent.
func TestMutatedPublications(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	outcomes := map[string]int{}
	for range 800 {
		profile, openapi := siteProfile(host), siteOpenAPI
		if random.IntN(2) == 0 {
			profile, openapi = actionProfile(host, "/openapi.json", "/b.json"), actionOpenAPI
		}
		text := textFor(t, profile)
		readme := readmeFor(host)
		for range 1 + random.IntN(4) {
			switch random.IntN(6) {
			case 0, 1, 2:
				profile = mutateJSON(random, profile)
			case 3, 4:
				openapi = mutateJSON(random, openapi)
			default:
				readme = mutateText(random, readme)
				text = mutateText(random, text)
			}
		}
		file := func(mediaType, body string) fetch.Response {
			return fetch.Response{Status: 200, ContentType: mediaType, Body: []byte(body)}
		}
		j := judgeFiles(t, shelf{
			"/agentic.json": file("application/json", profile), "/agentic.txt": file("text/plain", text), "/README.md": file("text/markdown", readme),
			"/openapi.json": file("application/json", openapi), "/b.json": file("application/json", openapi), "/guide": file("text/html", "x"), "/llms.txt": file("text/plain", "x"),
		})
		outcomes[j.word()]++
		if t.Failed() {
			t.Fatalf("profile %s\nopenapi %s\ntext %q\nreadme %q", profile, openapi, text, readme)
		}
	}
	for _, word := range []string{"successful complete", "partial incomplete", "failed invalid-profile", "failed api-mismatch", "failed txt-conflict", "failed readme-conflict"} {
		if outcomes[word] == 0 {
			t.Errorf("no mutation led to %s: %v", word, outcomes)
		}
	}
}

// oddities take the place of values and names.
var oddities = []string{
	`null`, `true`, `0`, `-1`, `1e400`, `60.5`, `""`, `" "`, `"\ud800"`, `"\u202e\u0000"`, `[]`, `{}`, `[null]`, `{"":{}}`, `"https://site.example/openapi.json"`, `"https://site.example/guide"`,
	`"https://other.example/x"`, `"https://site.example/agentic.json"`, `"https://site.example/agentic.txt"`, `"/a/../b"`, `"//x"`, `"retrieved"`, `"linked"`, `"mcp"`, `"openapi"`, `"GET"`, `"state"`, `"reserve"`, `"1.1.0"`, `"site"`, `"/b.json"`, `"3.0.3"`,
}

// mutateJSON replaces, removes, doubles or renames one value of a JSON text.
func mutateJSON(random *rand.Rand, text string) string {
	var starts []int
	for i := range len(text) {
		if i > 0 && strings.IndexByte(":,[", text[i-1]) >= 0 {
			starts = append(starts, i)
		}
	}
	if len(starts) == 0 {
		return text
	}
	at := starts[random.IntN(len(starts))]
	decoder := json.NewDecoder(strings.NewReader(text[at:]))
	var value json.RawMessage
	if decoder.Decode(&value) != nil {
		return text
	}
	end := at + int(decoder.InputOffset())
	odd := oddities[random.IntN(len(oddities))]
	switch random.IntN(4) {
	case 0:
		return text[:end] + "," + text[at:]
	case 1:
		if strings.HasPrefix(text[end:], ",") {
			return text[:at] + text[end+1:]
		}
	}
	return text[:at] + odd + text[end:]
}

func mutateText(random *rand.Rand, text string) string {
	at := random.IntN(len(text))
	switch random.IntN(8) {
	case 0:
		return text[:at] + []string{"\r\n", "\ufeff", "`", "<!--", "](", "\u202e", "\xff", "agentic.json", "\n\n"}[random.IntN(9)] + text[at:]
	case 1:
		return strings.Replace(text, "site.example", "other.example", 1)
	case 2:
		return text[:at] + " "
	}
	return text
}

// checkConsistency holds the parts of a report against each other
// (specification section 7).
func checkConsistency(t *testing.T, res *report.Result) {
	t.Helper()
	r := res.Report
	fails, warns, steps, site := 0, 0, []string{}, true
	seen := map[string]bool{}
	for _, c := range r.Checks {
		if seen[c.ID] || checkRank(c.ID) < 0 {
			t.Errorf("check %q is unknown or stands twice", c.ID)
		}
		seen[c.ID] = true
		switch {
		case c.Status == report.Fail:
			fails++
			site = site && (c.ID == "txt" || strings.HasPrefix(c.ID, "readme"))
		case c.Status == report.Warn && c.ID != "linked":
			warns++
		}
		if c.Status != report.Pass && c.ID != "linked" {
			steps = append(steps, c.ID)
		}
		if c.Status == report.Pass && (c.Remedy != "" || c.HelpURL != "") {
			t.Errorf("check %s passes and has a remedy: %+v", c.ID, c)
		}
		checkSentence(t, c.ID, c.Detail)
		if c.Status != report.Pass {
			checkSentence(t, c.ID, c.Remedy)
		}
	}
	var got []string
	for _, s := range r.Publication.NextSteps {
		got = append(got, s.ID)
	}
	if !slices.Equal(got, steps) && len(got)+len(steps) > 0 {
		t.Errorf("next steps %v, want %v", got, steps)
	}
	want := report.Successful
	switch {
	case !r.Valid || fails > 0:
		want = report.Failed
	case warns > 0 || r.TextIndex.Status != report.TextMatched || r.Readme.Status != report.ReadmeMatched:
		want = report.Partial
	}
	if r.Publication.Status != want {
		t.Errorf("publication is %s, want %s", r.Publication.Status, want)
	}
	structured := r.Structure != nil && r.Structure.Valid && len(r.Errors) == 0
	valid := structured && site
	if r.ProfileType == "" {
		valid = structured && len(r.Bindings) > 0 && !slices.ContainsFunc(r.Bindings, func(b report.Binding) bool { return b.Validation == nil || !b.Validation.Valid })
	}
	if r.Valid != valid {
		t.Errorf("valid is %v, want %v", r.Valid, valid)
	}
	if r.Structure != nil && r.Structure.Valid != (len(r.Structure.Errors) == 0) {
		t.Errorf("structure %+v", r.Structure)
	}
	for _, b := range r.Bindings {
		if (b.Validation == nil) == (b.Error == "") || b.Validation != nil && b.Validation.Valid != (len(b.Validation.Errors) == 0) {
			t.Errorf("binding %+v", b)
		}
	}
	if f := r.Publication.Files; len(f) != 3 || (f[0].Status == report.FilePassed) != r.Valid || f[1].Status != string(r.TextIndex.Status) || f[2].Status != string(r.Readme.Status) || f[2].URL != r.Readme.URL {
		t.Errorf("files %+v", f)
	}
	for _, list := range [][]report.Observation{r.Observations, r.Readme.Observations} {
		if !slices.IsSortedFunc(list, func(a, b report.Observation) int { return strings.Compare(a.URL, b.URL) }) {
			t.Errorf("observations out of order: %+v", list)
		}
	}
	if (r.TextIndex.Status == report.TextMatched || r.TextIndex.Status == report.TextMissing || r.TextIndex.Status == report.TextSkipped) != (len(r.TextIndex.Errors) == 0) {
		t.Errorf("text index %+v", r.TextIndex)
	}
	checkSentence(t, "detail", res.Detail)
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), `\ufffd`) {
		t.Errorf("the report is not well-formed text: %v", err)
	}
}

// checkSentence holds prose to a few rules: one line of printable text that
// neither stops twice nor begins or ends in blanks.
func checkSentence(t *testing.T, where, s string) {
	t.Helper()
	bad := strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f || r == '\u202e' || r == '\u2028' })
	if !utf8.ValidString(s) || bad || strings.TrimSpace(s) != s || strings.HasSuffix(s, "..") || strings.HasSuffix(s, ":.") || s == "" {
		t.Errorf("%s: %q", where, s)
	}
}
