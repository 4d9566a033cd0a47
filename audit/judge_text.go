package audit

import (
	"net/http"

	"agentaudit/audit/report"
	"agentaudit/audit/shell"
	"agentaudit/audit/textindex"
)

const textLabel = "agentic.txt"

// comparable reports that the profile is good enough for a text index to be
// generated from it: the JSON audit did not end early.
func (s *subject) comparable() bool {
	return s.validation != nil && s.validation.Valid() && s.ownOrigin && (s.action == nil || !s.tooManyPaths())
}

// textChecks judges agentic.txt. Beside unusable JSON it can only be said
// whether the file is there.
func (j *judge) textChecks() {
	url := j.t.TextURL().String()
	j.text = report.TextIndex{URL: j.t.TextURL().Location(), Errors: []string{}}
	r := j.b.first(RoleText)
	generate := "Generate agentic.txt from the published agentic.json with \"" + j.textCommand() + "\" and publish it at " + url + " as text/plain"
	switch {
	case r == nil:
		j.text.Status = report.TextUnavailable
		j.noText("agentic.txt was not read", "Audit the site again")
	case r.answered(http.StatusNotFound):
		j.text.Status = report.TextMissing
		if !j.s.comparable() {
			generate = "Put agentic.json right first. " + generate
		}
		j.object("txt", textLabel, report.Warn, "There is no agentic.txt: "+url+" answers with "+statusWords(r.Status), generate, helpText)
	case r.answer(true) != answerFile || r.challenged(false):
		j.text.Status = report.TextUnavailable
		j.noText(r.trouble("agentic.txt", false), r.remedy("agentic.txt", url, false))
	case !j.s.comparable():
		j.text.Status = report.TextSkipped
		if r.isPage() && textindex.PublishedVersion(r.Body) == "" {
			// A web page at the address is no agentic.txt, whatever its status says.
			j.object("txt", textLabel, report.Warn, url+" answers with an HTML page instead of agentic.txt", "Put agentic.json right first. "+generate, helpText)
			return
		}
		j.object("txt", textLabel, report.Warn, "agentic.txt is there but could not be compared, because agentic.json beside it is not usable",
			"Correct agentic.json first; then generate agentic.txt anew from it and publish it at "+url, helpText)
	default:
		j.compareText(r, generate)
	}
}

// noText records that the file could not be read.
func (j *judge) noText(detail, remedy string) {
	j.text.Errors = append(j.text.Errors, sentence(detail))
	j.object("txt", textLabel, report.Warn, detail, remedy, helpText)
}

func (j *judge) compareText(r *Read, generate string) {
	c, err := textindex.Compare(r.Body, j.s.validation.Profile, j.t.ProfileURL.Location())
	j.text.Version = wellFormed1(c.Version)
	url := j.t.TextURL().String()
	if c.Matched {
		j.text.Status = report.TextMatched
		j.pass("txt", textLabel, "%s is what the profile generates.", url)
	} else {
		j.text.Status = report.TextMismatch
		detail := "agentic.txt differs from what agentic.json generates"
		switch {
		case err != nil:
			detail = err.Error()
		case r.isPage() && c.Version == "":
			detail = url + " answers with an HTML page instead of agentic.txt"
		case c.Difference != nil:
			detail += ": " + c.Difference.String()
		}
		j.text.Errors = append(j.text.Errors, sentence(detail))
		j.object("txt", textLabel, report.Fail, detail, generate, helpText)
	}
	if mt := mediaType(r.ContentType); mt != "text/plain" {
		j.object("txt-type", "Media type of agentic.txt", report.Warn, servedAs(url, r.ContentType),
			"Serve "+url+" with the header \"Content-Type: text/plain; charset=utf-8\"", helpText)
	}
}

// textCommand is the command that generates the file, to be copied.
func (j *judge) textCommand() string {
	words := []string{"agentaudit", "text", "agentic.json"}
	if u := j.t.ProfileURL; u.Location() != u.Origin()+"/agentic.json" {
		words = append(words, "--profile-url", u.Location())
	}
	return shell.Line(words...)
}
