package publication

import (
	"strings"
	"testing"

	"agentaudit/audit/audittest"
	"agentaudit/audit/profile"
	"agentaudit/audit/readme"
	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
)

func TestVectors(t *testing.T) {
	audittest.Run(t, "agentic/bundle", func(t *testing.T, c audittest.Case) {
		var input struct {
			ProfileText audittest.Text `json:"profileText"`
			ProfileURL  audittest.Text `json:"profileUrl"`
		}
		var want struct {
			Rejected       bool                `json:"rejected"`
			Text           *audittest.Expected `json:"agentic.txt"`
			JSON           *audittest.Expected `json:"agentic.json"`
			ReadmeMustPass bool                `json:"readmeMustPass"`
		}
		audittest.Decode(t, c.Input, &input)
		audittest.Decode(t, c.Expect, &want)
		f, err := bundleText(input.ProfileText, Options{ProfileURL: input.ProfileURL.String()})
		if (err != nil) != want.Rejected {
			t.Fatalf("error %v, want rejected %v", err, want.Rejected)
		}
		if want.Rejected {
			return
		}
		if d := want.Text.Match([]byte(f.Text)); d != "" {
			t.Errorf("agentic.txt: %s", d)
		}
		if d := want.JSON.Match([]byte(f.JSON)); d != "" {
			t.Errorf("agentic.json: %s", d)
		}
		checkSizes(t, f)
		if want.ReadmeMustPass {
			checkReadme(t, f, profileURL(t, f))
		}
	})
}

func bundleText(text []byte, o Options) (*Files, error) {
	if err := profile.CheckSize(text); err != nil {
		return nil, err
	}
	doc, err := profile.Decode(text)
	if err != nil {
		return nil, err
	}
	return Bundle(doc, o)
}

// profileURL is what the generated text index says it is.
func profileURL(t testing.TB, f *Files) *weburl.URL {
	_, rest, _ := strings.Cut(f.Text, "\nProfile: ")
	line, _, _ := strings.Cut(rest, "\n")
	u, err := weburl.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func checkSizes(t testing.TB, f *Files) {
	t.Helper()
	for name, text := range map[string]string{NameJSON: f.JSON, NameText: f.Text, NameReadme: f.Readme, NameListing: f.Listing} {
		if len(text) > MaxSize || text == "" {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}

// checkReadme judges a generated README beside its profile.
func checkReadme(t testing.TB, f *Files, at *weburl.URL) {
	t.Helper()
	p := readme.Publication{Readme: beside(at, NameReadme), Profile: at, Text: beside(at, NameText)}
	for _, c := range p.Judge(TypeMarkdown, []byte(f.Readme)).Checks {
		if c.Status != report.Pass {
			t.Errorf("%s: %s\n%s", c.ID, c.Detail, f.Readme)
		}
	}
}
