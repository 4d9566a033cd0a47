package readme

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/audittest"
	"agentaudit/audit/report"
	"agentaudit/fetch/publicip"
	"agentaudit/fetch/weburl"
)

func publication(t testing.TB, readme string) Publication {
	return Publication{mustURL(t, readme), mustURL(t, "https://site.example/agentic.json"), mustURL(t, "https://site.example/agentic.txt")}
}

// statuses gives "id=status" for each check, and fails the test where one
// that is no pass lacks what the report promises.
func statuses(t *testing.T, j Judgement) string {
	t.Helper()
	var out []string
	for _, c := range j.Checks {
		out = append(out, c.ID+"="+string(c.Status))
		if c.Label == "" || c.Detail == "" {
			t.Errorf("%s has no label or detail", c.ID)
		}
		if (c.Status == report.Pass) != (c.Remedy == "") || (c.Remedy == "") != (c.HelpURL == "") {
			t.Errorf("%s is %s, remedy %q, help %q", c.ID, c.Status, c.Remedy, c.HelpURL)
		}
	}
	return strings.Join(out, " ")
}

type answer struct {
	URL     string            `json:"url"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    audittest.Text    `json:"body"`
	Error   string            `json:"error"`
}

// answers reads the sites of a case, keyed by their normalised URL.
func answers(t *testing.T, raw json.RawMessage) map[string]answer {
	list := []answer{}
	if strings.HasPrefix(string(raw), "{") {
		var byURL map[string]answer
		audittest.Decode(t, raw, &byURL)
		for u, a := range byURL {
			a.URL = u
			list = append(list, a)
		}
	} else {
		audittest.Decode(t, raw, &list)
	}
	out := map[string]answer{}
	for _, a := range list {
		out[mustURL(t, a.URL).String()] = a
	}
	return out
}

// judgeAnswer judges what a site answers, as the auditor will.
func judgeAnswer(p Publication, a answer, known bool) Judgement {
	header := func(name string) string {
		for k, v := range a.Headers {
			if strings.EqualFold(k, name) {
				return v
			}
		}
		return ""
	}
	coding := header("Content-Encoding")
	addr, err := netip.ParseAddr(strings.Trim(p.Readme.Hostname(), "[]"))
	switch {
	case err == nil && publicip.Check(addr) != nil:
		return p.Unavailable("the address is not public")
	case !known || a.Status == 404:
		return p.Missing()
	case a.Error != "":
		return p.Unavailable("the connection failed")
	case a.Status != 200:
		return p.Unavailable("the server answered with another status")
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return p.Unavailable("the answer is compressed")
	}
	return p.Judge(header("Content-Type"), a.Body)
}

func TestAuditVectors(t *testing.T) {
	audittest.Run(t, "agentic/audit", func(t *testing.T, c audittest.Case) {
		var in struct {
			Input     audittest.Text  `json:"input"`
			ReadmeURL string          `json:"readmeUrl"`
			Sites     json.RawMessage `json:"sites"`
		}
		var want struct {
			Readme *struct {
				Status report.ReadmeStatus `json:"status"`
				URL    string              `json:"url"`
			} `json:"readme"`
			Checks [][2]string `json:"checks"`
		}
		audittest.Decode(t, c.Input, &in)
		if err := json.Unmarshal(c.Expect, &want); err != nil {
			t.Fatal(err)
		}
		if want.Readme == nil {
			return
		}
		profile, err := weburl.ParseTarget(in.Input.String())
		if err != nil {
			t.Fatal(err)
		}
		p := Publication{Profile: profile}
		if p.Text, err = profile.Resolve("agentic.txt"); err != nil {
			t.Fatal(err)
		}
		names := []string{"README.md", "readme.md"}
		if in.ReadmeURL != "" {
			names = []string{in.ReadmeURL}
		}
		sites := answers(t, in.Sites)
		var got Judgement
		var first *weburl.URL
		for _, name := range names {
			if in.ReadmeURL != "" {
				p.Readme, err = weburl.ParseStart(name)
			} else {
				p.Readme, err = profile.Resolve(name)
			}
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = p.Readme
			}
			a, known := sites[p.Readme.String()]
			if got = judgeAnswer(p, a, known); got.Status != report.ReadmeMissing {
				first = p.Readme
				break
			}
		}
		var rows []string
		for _, row := range want.Checks {
			if row[0] == CheckReadme || strings.HasPrefix(row[0], "readme:") {
				rows = append(rows, row[0]+"="+row[1])
			}
		}
		have := strings.Fields(statuses(t, got))
		slices.Sort(have)
		slices.Sort(rows)
		if !slices.Equal(have, rows) || got.Status != want.Readme.Status || first.String() != want.Readme.URL {
			t.Errorf("got  %s %s %v\nwant %s %s %v", got.Status, first, have, want.Readme.Status, want.Readme.URL, rows)
		}
	})
}

const complete = "The ferry line: [p](agentic.json) [t](agentic.txt) <https://ruagentic.org> <https://ruagentic.com>\n"

func TestJudge(t *testing.T) {
	const allPass = "readme=pass readme:json=pass readme:txt=pass readme:specification=pass readme:directory=pass"
	for _, c := range []struct {
		about, readme, contentType, body string
		status                           report.ReadmeStatus
		checks                           string
	}{
		{"complete", "README.md", "text/markdown", complete, report.ReadmeMatched, allPass},
		{"no content type", "README.md", "", complete, report.ReadmeMatched, allPass},
		{"fragments do not matter", "README.md", "", strings.ReplaceAll(complete, ")", "#x)"), report.ReadmeMatched, allPass},
		{"text/html of any spelling", "README.md", " Text/HTML ;charset=utf-8", complete, report.ReadmeInvalid, "readme=warn"},
		{"media types that only begin so", "README.md", "text/html-fragment", complete, report.ReadmeMatched, allPass},
		{"a doctype", "README.md", "text/plain", "\ufeff \n<!doCtype html>" + complete, report.ReadmeInvalid, "readme=warn"},
		{"an html tag with an attribute", "README.md", "text/plain", "<Html\tlang=en>" + complete, report.ReadmeInvalid, "readme=warn"},
		{"an element that begins like html", "README.md", "text/plain", "<html-x>" + complete, report.ReadmeMatched, allPass},
		{"a comment first", "README.md", "text/plain", "<!-- x --> y <html>\n" + complete, report.ReadmeMatched, allPass},
		{"19 code points", "README.md", "", "\ufeff" + strings.Repeat("é", 19) + "\n", report.ReadmeIncomplete, "readme=warn"},
		{"20 code points", "README.md", "", "\u00a0" + strings.Repeat("🚢", 20) + "\n", report.ReadmeIncomplete,
			"readme=pass readme:json=warn readme:txt=warn readme:specification=warn readme:directory=warn"},
		{"line ends count", "README.md", "", "a" + strings.Repeat("\n", 18) + "b", report.ReadmeIncomplete,
			"readme=pass readme:json=warn readme:txt=warn readme:specification=warn readme:directory=warn"},
		{".me in any case", "x/README.ME", "", strings.ReplaceAll(complete, "(", "(/"), report.ReadmeIncomplete, allPass + " readme:filename=warn"},
		{"over the limit", "README.md", "", complete + strings.Repeat(" ", MaxBytes), report.ReadmeUnavailable, "readme=warn"},
		{"another file of the name", "README.md", "", "The ferry line [a](x/agentic.json) [b](https://other.example/agentic.txt)", report.ReadmeIncomplete,
			"readme=pass readme:json=fail readme:txt=fail readme:specification=warn readme:directory=warn"},
		{"names that only end so", "README.md", "", "The ferry line [a](my-agentic.json) [b](AGENTIC.TXT)", report.ReadmeIncomplete,
			"readme=pass readme:json=warn readme:txt=warn readme:specification=warn readme:directory=warn"},
		{"encoded letters are other letters", "README.md", "", strings.ReplaceAll(complete, "agentic.json", "%61gentic.json"), report.ReadmeIncomplete,
			"readme=pass readme:json=warn readme:txt=pass readme:specification=pass readme:directory=pass"},
		{"ports and subdomains are other origins", "README.md", "", "The ferry line <https://ruagentic.org:8443> <https://x.ruagentic.com> <https://ruagentic.org.example>", report.ReadmeIncomplete,
			"readme=pass readme:json=warn readme:txt=warn readme:specification=warn readme:directory=warn"},
	} {
		j := publication(t, "https://site.example/"+c.readme).Judge(c.contentType, []byte(c.body))
		if got := statuses(t, j); j.Status != c.status || got != c.checks {
			t.Errorf("%s: %s %s\nwant %s %s", c.about, j.Status, got, c.status, c.checks)
		}
	}
}

func TestRoundBracketsMayBeEncoded(t *testing.T) {
	p := Publication{mustURL(t, "https://site.example/(x)/README.md"), mustURL(t, "https://site.example/(x)/agentic.json"), mustURL(t, "https://site.example/(x)/agentic.txt")}
	for _, folder := range []string{"%28x%29", "\\(x\\)", "(x)"} {
		j := p.Judge("", []byte("The ferry line [a](/"+folder+"/agentic.json) [a](/"+folder+"/agentic.txt) <https://ruagentic.org> <https://ruagentic.com>"))
		if j.Status != report.ReadmeMatched {
			t.Errorf("%s: %s", folder, statuses(t, j))
		}
	}
	// The line that we ask for must pass, as must the one for the plain URL.
	if j := p.Judge("", []byte(p.lines())); j.Status != report.ReadmeMatched {
		t.Errorf("our own lines: %s", statuses(t, j))
	}
}

func TestRemediesNameTheExactLine(t *testing.T) {
	p := publication(t, "https://site.example/README.md")
	for _, c := range []struct{ id, want string }{
		{CheckJSON, "[agentic.json](https://site.example/agentic.json)"},
		{CheckText, "[agentic.txt](https://site.example/agentic.txt)"},
		{CheckSpecification, "[Agentic](https://ruagentic.org)"},
		{CheckDirectory, "[RUAGENTIC](https://ruagentic.com)"},
	} {
		j := p.Judge("", []byte("A ferry line, and no links at all"))
		i := slices.IndexFunc(j.Checks, func(x report.Check) bool { return x.ID == c.id })
		if i < 0 || !strings.Contains(j.Checks[i].Remedy, c.want) {
			t.Errorf("%s: %+v, want %s in the remedy", c.id, j.Checks, c.want)
		}
		if !strings.Contains(p.Missing().Checks[0].Remedy, c.want) {
			t.Errorf("a missing README must be told of %s", c.want)
		}
	}
	me := publication(t, "https://site.example/a/README.Me").Judge("", []byte(complete)).Checks
	if r := me[len(me)-1].Remedy; !strings.Contains(r, "https://site.example/a/README.md") {
		t.Errorf("the name to use is missing: %s", r)
	}
	if d := p.Unavailable("the server sent nothing.").Checks[0].Detail; !strings.HasSuffix(d, "could not be read: the server sent nothing.") {
		t.Error(d)
	}
}

func TestBoundsAreSaid(t *testing.T) {
	deep := strings.Repeat("> ", 100) + complete
	j := publication(t, "https://site.example/README.md").Judge("", []byte(deep))
	if j.Status != report.ReadmeMatched || !strings.Contains(j.Checks[0].Detail, "nested too deeply") {
		t.Errorf("%s %+v", j.Status, j.Checks[0])
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("text/plain", []byte(complete))
	f.Add("text/html", []byte("<a href=agentic.json>x</a> <code>[b](agentic.txt)"))
	f.Add("", []byte("[x]: agentic.json\n\n![a][x] [x] `[x]`"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		j := publication(t, "https://site.example/README.md").Judge(contentType, body)
		statuses(t, j)
		if j.Status == report.ReadmeMatched != (len(j.Checks) == 5 && !slices.ContainsFunc(j.Checks, func(c report.Check) bool { return c.Status != report.Pass })) {
			t.Fatalf("%s with %+v", j.Status, j.Checks)
		}
	})
}
