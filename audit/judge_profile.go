package audit

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
	"agentaudit/audit/report"
)

// The pages that explain the convention; every check that asks for something
// names one.
const (
	helpAudit       = "https://ruagentic.org/docs/AUDIT.md"
	helpPublication = "https://ruagentic.org/docs/PUBLICATION.md"
	helpGenerator   = "https://ruagentic.org/docs/GENERATOR.md"
	helpSite        = "https://ruagentic.org/docs/SITE-PROFILE.md"
	helpAction      = "https://ruagentic.org/docs/SPEC.md"
	helpText        = "https://ruagentic.org/docs/AGENTIC-TXT.md"
)

func (j *judge) pass(id, label, format string, args ...any) {
	j.checks = append(j.checks, report.Check{ID: id, Label: label, Status: report.Pass, Detail: fmt.Sprintf(format, args...)})
}

func (j *judge) object(id, label string, status report.Status, detail, remedy, help string) {
	j.checks = append(j.checks, report.Check{ID: id, Label: label, Status: status, Detail: sentence(detail), Remedy: sentence(remedy), HelpURL: help})
}

// sentence makes a sentence of a clause: a capital at the start, a full stop
// at the end. Neither touches a URL, a file name or a text to be copied.
func sentence(s string) string {
	if s == "" {
		return s
	}
	first, _, _ := strings.Cut(s, " ")
	if !strings.ContainsAny(first, ":/.\"") {
		r, size := utf8.DecodeRuneInString(s)
		s = string(unicode.ToUpper(r)) + s[size:]
	}
	return stopped(s)
}

// stopped is the end of [sentence] alone, for what stands behind a colon.
func stopped(s string) string {
	last := s[strings.LastIndexByte(s, ' ')+1:]
	if s == "" || strings.Contains(last, "://") || strings.HasPrefix(last, "/") || strings.HasSuffix(last, "…") || strings.ContainsRune(".!?`", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// parse reads the JSON of the profile, or says why it cannot be judged.
func (s *subject) parse(t Target) *unusable {
	u := t.ProfileURL.String()
	r := s.read
	switch r.answer(false) {
	case answerFile:
	case answerMissing:
		return &unusable{
			r.trouble("agentic.json", false),
			"Publish agentic.json at " + u + " and serve it with status 200 as application/json. The generator at https://ruagentic.org/generate/ makes one from your public website",
		}
	case answerRedirect:
		remedy := "Serve agentic.json at " + u + " itself with status 200"
		if to := r.destination(); to != nil {
			remedy += ", or audit the address that it redirects to: " + to.Location()
		}
		return &unusable{r.Message, remedy}
	default:
		return &unusable{r.trouble("agentic.json", false), r.remedy("agentic.json", u, false)}
	}
	doc, err := profile.Decode(r.Body)
	if err != nil {
		if start := strings.TrimSpace(string(r.Body[:min(len(r.Body), 64)])); start == "" {
			return &unusable{u + " answers with an empty file", "Publish the whole agentic.json at " + u}
		}
		remedy := "Correct the JSON at this place, check it with \"agentaudit validate agentic.json\", and publish it at " + u
		if bytes.HasPrefix(r.Body, []byte("\xef\xbb\xbf")) {
			remedy = "Save agentic.json as UTF-8 without a byte order mark (BOM) and publish it at " + u
		}
		return &unusable{"the file is not valid JSON: " + err.Error(), remedy}
	}
	if dups := doc.DuplicateMessages(); len(dups) > 0 {
		return &unusable{
			"a member name stands twice, so that readers disagree on its value: " + strings.Join(dups, "; "),
			"Keep one of the two members, check with \"agentaudit validate agentic.json\", and publish the file at " + u,
		}
	}
	s.doc = doc
	return nil
}

// profileChecks judges the JSON and the documents behind it, step by step;
// each step has to pass before the next makes sense.
func (j *judge) profileChecks() {
	s := j.s
	if s.unusable != nil {
		j.errors = append(j.errors, sentence(wellFormed1(s.unusable.detail)))
		help := helpPublication
		if s.read.answer(false) == answerMissing {
			help = helpGenerator
		}
		j.object("json", "agentic.json", report.Fail, s.unusable.detail, s.unusable.remedy, help)
		return
	}
	url := j.t.ProfileURL.String()
	j.pass("json", "agentic.json", "%s is reachable and holds JSON.", url)
	if mt := mediaType(s.read.ContentType); mt != "application/json" {
		j.object("json-type", "Media type of agentic.json", report.Warn, servedAs(url, s.read.ContentType),
			"Serve "+url+" with the header \"Content-Type: application/json\"", helpPublication)
	}
	if !j.structureCheck() || !j.originCheck() {
		return
	}
	if s.action != nil && s.tooManyPaths() {
		paths := s.action.OpenAPIPaths()
		detail := fmt.Sprintf("The actions name %d different OpenAPI paths; an audit reads %d at the most, and none of more", len(paths), MaxDocuments)
		j.errors = append(j.errors, sentence(detail))
		j.object("bindings", "OpenAPI documents", report.Fail, detail,
			"Describe all operations in at most five OpenAPI documents and name those in \"openapi\". Now named: "+shown(strings.Join(paths, ", "), 600), helpAction)
		return
	}
	for i := range s.documents {
		j.documentCheck(&s.documents[i])
	}
	if len(s.unread) > 0 {
		j.object("limit", "Documents beyond the limit", report.Warn,
			fmt.Sprintf("One audit reads %d documents of a profile; not read: %s", MaxDocuments, shown(strings.Join(s.unread, ", "), 600)),
			"Check the others yourself, or list fewer documents as retrieved", helpAudit)
	}
	if s.elsewhere > 0 {
		j.object("linked", "Listed connections", report.Warn,
			count(s.elsewhere, "listed resource is", "listed resources are")+" only linked, of kind mcp or on another origin. They were not read or invoked; this is information, not a fault",
			"Nothing has to be done. Test such connections with the tools of their own protocol", helpAudit)
	}
}

func (j *judge) structureCheck() bool {
	v := j.s.validation
	label, format, help := "Structure of the action profile", "Agentic Action Profile 1.0", helpAction
	if v.Type == profile.SiteType {
		label, format, help = "Structure of the site profile", "Agentic Site Profile 1.1", helpSite
	}
	if v.Valid() {
		j.pass("structure", label, "The file keeps to %s.", format)
		return true
	}
	messages := wellFormed(v.Messages())
	detail := "The file breaks " + format + ": " + messages[0]
	if more := len(messages) - 1; more > 0 {
		detail += fmt.Sprintf(" (and %s, listed under structure.errors)", count(more, "more problem", "more problems"))
	}
	steps := messages
	if len(steps) > 5 {
		steps = append(append([]string{}, steps[:5]...), "and so on")
	}
	j.object("structure", label, report.Fail, detail,
		"Correct in agentic.json: "+strings.Join(steps, "; ")+". Then check it with \"agentaudit validate agentic.json\" and publish it at "+j.t.ProfileURL.String(), help)
	return false
}

func (j *judge) originCheck() bool {
	const label = "Origin of the profile"
	serving, named := j.t.ProfileURL.Origin(), j.s.validation.Profile.ServingOrigin()
	if j.s.ownOrigin {
		j.pass("origin", label, "The profile speaks for %s, which serves it.", serving)
		return true
	}
	detail := fmt.Sprintf("The profile speaks for %s but is served by %s", named, serving)
	j.errors = append(j.errors, sentence(detail))
	j.object("origin", label, report.Fail, detail,
		fmt.Sprintf("Either set \"origin\": \"%s\" in agentic.json and generate agentic.txt and README.md anew, or publish the profile on %s", serving, named), helpPublication)
	return false
}

// documentCheck judges one document and files it under its check.
func (j *judge) documentCheck(d *document) {
	label := "Document " + d.name
	if d.openapi {
		label = "OpenAPI document " + d.name
	}
	label = shown(wellFormed1(label), 200)
	var read *Read
	if d.url != nil {
		read = j.b.document(d.url.Location())
	}
	detail, remedy, validation := j.judgeDocument(d, read)
	if j.s.action != nil {
		b := report.Binding{Path: d.name, Validation: validation}
		if validation == nil {
			b.Error = sentence(detail)
		}
		j.bindings = append(j.bindings, b)
	}
	if detail == "" {
		j.pass(d.id, label, "%s", d.passed())
		return
	}
	help := helpSite
	if j.s.action != nil {
		help = helpAction
	}
	j.object(d.id, label, report.Fail, detail, remedy, help)
	f := failure{d, read, sentence(detail)}
	if read != nil && validation == nil && !read.answer(!d.openapi).definite() {
		j.troubled = append(j.troubled, f)
	} else {
		j.wrong = append(j.wrong, f)
	}
}

// troubleRemedy says what to do about a document that cannot be read.
func (d *document) troubleRemedy(r *Read) string {
	u := d.url.String()
	switch r.answer(!d.openapi) {
	case answerRedirect:
		remedy := "Serve the document at " + u + " itself with status 200"
		switch to := r.destination(); {
		case to == nil:
		case to.Origin() != d.url.Origin():
			if len(d.actions) == 0 {
				remedy += ", or list its final address in agentic.json, with the availability \"linked\": " + to.Location()
			}
		case len(d.actions) == 0:
			remedy += ", or name its final address in agentic.json: " + to.Location()
		case profile.PathFault(to.Path()) == "":
			remedy += ", or name its final path in agentic.json: \"openapi\": \"" + to.Path() + "\""
		}
		return remedy
	case answerMissing:
		return "Publish the document at " + u + " with status 200, or take it out of agentic.json and generate agentic.txt and README.md anew"
	case answerBlocked:
		if len(d.actions) == 0 && r.Status != http.StatusTooManyRequests {
			return "Let " + u + " be read without login, cookies or a challenge, or list it in agentic.json with the availability \"linked\" instead of \"retrieved\""
		}
	}
	return r.remedy("the document", u, !d.openapi)
}

func servedAs(url, contentType string) string {
	if contentType == "" {
		return url + " is served without a Content-Type header"
	}
	return fmt.Sprintf("%s is served as %q", url, printable(contentType))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// shown cuts a text for a sentence; what is cut is shown by an ellipsis.
func shown(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// wellFormed makes texts of a profile, which may hold lone surrogates, fit for
// a report.
func wellFormed(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = wellFormed1(s)
	}
	return out
}

func wellFormed1(s string) string { return jsontree.WellFormed(s) }
