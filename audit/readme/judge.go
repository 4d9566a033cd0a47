package readme

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
)

// The checks of a README, in the order of the report.
const (
	CheckReadme        = "readme"
	CheckJSON          = "readme:json"
	CheckText          = "readme:txt"
	CheckSpecification = "readme:specification"
	CheckDirectory     = "readme:directory"
	CheckFilename      = "readme:filename"
)

const (
	// minLength is the length of a README that says anything, in code points.
	minLength = 20

	specificationOrigin = "https://ruagentic.org"
	directoryOrigin     = "https://ruagentic.com"

	helpPublication = "https://ruagentic.org/docs/PUBLICATION.md"
	helpAudit       = "https://ruagentic.org/docs/AUDIT.md"
)

// Publication is where the files of the publication are.
type Publication struct {
	// Readme is the file that is judged, Profile the agentic.json that is
	// audited, Text the agentic.txt beside it.
	Readme, Profile, Text *weburl.URL
}

// Judgement is the README's part of a report: its status word and the checks
// "readme", "readme:json", "readme:txt", "readme:specification",
// "readme:directory" and, where the name is odd, "readme:filename" in this
// order. A README that is not judged has the check "readme" alone.
type Judgement struct {
	Status report.ReadmeStatus
	Checks []report.Check
}

// Judge judges a README that was read with status 200 (specification section
// 6). body is the raw body, contentType its Content-Type header, "" if none.
func (p Publication) Judge(contentType string, body []byte) Judgement {
	text := string(decode(body))
	switch {
	case isHTMLType(contentType):
		return p.unjudged(report.ReadmeInvalid,
			fmt.Sprintf("%s is served as text/html: this is a web page, not the Markdown file.", p.Readme),
			p.rawRemedy())
	case startsAsHTML(text):
		return p.unjudged(report.ReadmeInvalid,
			fmt.Sprintf("%s begins as an HTML page does, so this is not the Markdown file.", p.Readme),
			p.rawRemedy())
	}
	if n := utf8.RuneCountInString(strings.TrimFunc(text, isBlank)); n < minLength {
		return p.unjudged(report.ReadmeIncomplete,
			fmt.Sprintf("%s holds %d characters of text; a README of under %d says too little to be judged.", p.Readme, n, minLength),
			fmt.Sprintf("Describe the service in %s and add these lines: %s", p.Readme, p.lines()))
	}
	links, notes, err := linksTo(body, p.Readme, p.Profile, p.Text)
	if err != nil {
		return p.Unavailable(err.Error())
	}
	checks := append([]report.Check{p.found(notes)}, p.judgeLinks(links)...)
	if strings.HasSuffix(strings.ToLower(p.Readme.Path()), ".me") {
		checks = append(checks, p.filename())
	}
	status := report.ReadmeMatched
	for _, c := range checks {
		if c.Status != report.Pass {
			status = report.ReadmeIncomplete
		}
	}
	return Judgement{status, checks}
}

// Missing is the judgement where the README's address answered 404.
func (p Publication) Missing() Judgement {
	return p.unjudged(report.ReadmeMissing,
		fmt.Sprintf("There is no README at %s (status 404).", p.Readme),
		fmt.Sprintf("Publish your README as raw Markdown at %s with these lines in it: %s", p.Readme, p.lines()))
}

// Unavailable is the judgement where the README could not be read for any
// other reason. reason is a sentence for people, with or without a full stop.
func (p Publication) Unavailable(reason string) Judgement {
	return p.unjudged(report.ReadmeUnavailable,
		fmt.Sprintf("The README at %s could not be read: %s.", p.Readme, strings.TrimSuffix(reason, ".")),
		fmt.Sprintf("Let %s answer 200 over https with the raw Markdown, at most %d bytes, without a redirect or compression; then audit again.", p.Readme, MaxBytes))
}

func (p Publication) unjudged(status report.ReadmeStatus, detail, remedy string) Judgement {
	return Judgement{status, []report.Check{{
		ID: CheckReadme, Label: "README", Status: report.Warn,
		Detail: detail, Remedy: remedy, HelpURL: helpPublication,
	}}}
}

func (p Publication) rawRemedy() string {
	return fmt.Sprintf("Serve the README itself at %s as text/markdown or text/plain; for a file on a code hosting site give the address of its raw view.", p.Readme)
}

func (p Publication) found(notes []Note) report.Check {
	detail := fmt.Sprintf("%s was read as Markdown.", p.Readme)
	for _, n := range notes {
		switch n {
		case NoteNesting:
			detail += fmt.Sprintf(" Its lists or quotes are nested too deeply (more than %d levels, or deeply over very many lines): they were read as plain text from there on.", maxOpen)
		case NoteBlocks:
			detail += fmt.Sprintf(" It has more than %d blocks; what follows them was not read.", maxBlocks)
		}
	}
	return report.Check{ID: CheckReadme, Label: "README", Status: report.Pass, Detail: detail}
}

// lines are the Markdown lines that a complete README has.
func (p Publication) lines() string {
	return strings.Join([]string{
		markdownLink("agentic.json", p.Profile), markdownLink("agentic.txt", p.Text),
		referenceLink("Agentic", specificationOrigin), referenceLink("RUAGENTIC", directoryOrigin),
	}, " ")
}

func (p Publication) judgeLinks(links []*weburl.URL) []report.Check {
	return []report.Check{
		fileCheck(CheckJSON, "README link to agentic.json", "agentic.json", p.Profile, links),
		fileCheck(CheckText, "README link to agentic.txt", "agentic.txt", p.Text, links),
		referenceCheck(CheckSpecification, "README reference to the specification", "Agentic", specificationOrigin, links),
		referenceCheck(CheckDirectory, "README reference to the directory", "RUAGENTIC", directoryOrigin, links),
	}
}

func fileCheck(id, label, name string, want *weburl.URL, links []*weburl.URL) report.Check {
	c := report.Check{ID: id, Label: label, Status: report.Pass, Detail: fmt.Sprintf("A visible link leads to %s.", want)}
	wanted := sameFile(want)
	var other *weburl.URL
	for _, l := range links {
		if sameFile(l) == wanted {
			return c
		}
		if other == nil && strings.HasSuffix(l.Path(), "/"+name) {
			other = l
		}
	}
	c.HelpURL = helpPublication
	if other != nil {
		c.Status = report.Fail
		c.Detail = fmt.Sprintf("The README links to %s, which is another file than %s.", other.Location(), want)
		c.Remedy = fmt.Sprintf("Let the link lead to the published file: %s", markdownLink(name, want))
		return c
	}
	c.Status = report.Warn
	c.Detail = fmt.Sprintf("No visible link leads to %s; links in code, comments and images do not count.", want)
	c.Remedy = fmt.Sprintf("Add this line to the README: %s", markdownLink(name, want))
	return c
}

func referenceCheck(id, label, name, origin string, links []*weburl.URL) report.Check {
	for _, l := range links {
		if l.Origin() == origin {
			return report.Check{ID: id, Label: label, Status: report.Pass, Detail: fmt.Sprintf("A visible link leads to %s.", l)}
		}
	}
	return report.Check{
		ID: id, Label: label, Status: report.Warn, HelpURL: helpPublication,
		Detail: fmt.Sprintf("No visible link leads to %s; the same name with www or over http is another address.", origin),
		Remedy: fmt.Sprintf("Add this line to the README: %s", referenceLink(name, origin)),
	}
}

func (p Publication) filename() report.Check {
	path := p.Readme.Path()
	fixed := path[:len(path)-len(".me")] + ".md"
	return report.Check{
		ID: CheckFilename, Label: "README file name", Status: report.Warn, HelpURL: helpAudit,
		Detail: fmt.Sprintf("%s ends in .me, a common slip for .md.", p.Readme),
		Remedy: fmt.Sprintf("Publish the file as %s%s and give that address.", p.Readme.Origin(), fixed),
	}
}

// sameFile is what two links to one file have in common. Round brackets may
// be percent-encoded, as Markdown likes them (specification section 9).
func sameFile(u *weburl.URL) string {
	return roundBrackets.Replace(u.Location())
}

var roundBrackets = strings.NewReplacer("%28", "(", "%29", ")")

// markdownLink is a link that reads the same in every Markdown tool: round
// brackets in the URL are encoded.
func markdownLink(name string, u *weburl.URL) string {
	return referenceLink(name, strings.NewReplacer("(", "%28", ")", "%29").Replace(u.String()))
}

func referenceLink(name, url string) string { return "[" + name + "](" + url + ")" }

func isHTMLType(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/html")
}

// startsAsHTML looks past white space and byte order marks, at any case.
func startsAsHTML(text string) bool {
	text = strings.TrimLeftFunc(text, isBlank)
	head := strings.ToLower(cut(text, len("<!doctype")+1))
	if strings.HasPrefix(head, "<!doctype") {
		return true
	}
	rest, ok := strings.CutPrefix(head, "<html")
	return ok && (rest == "" || strings.IndexByte(" \t\n\f/>", rest[0]) >= 0)
}

// isBlank is what ECMAScript's String.prototype.trim removes: white space and
// the byte order mark.
func isBlank(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= r && r <= 0x200A
}
