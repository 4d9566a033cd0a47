package audit

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"agentaudit/audit/readme"
	"agentaudit/audit/report"
)

// Judge judges what was read. It is a pure function: the same bundle gives
// the same result, whenever and however often it is judged under the same
// [report.RulesVersion].
func Judge(b *Bundle) *report.Result { return newJudge(b).result() }

func newJudge(b *Bundle) *judge {
	t, err := b.parsedTarget()
	if err != nil {
		// Only a bundle that was not made by Collect can hold such a URL.
		panic(fmt.Sprintf("audit: bundle of no target: %v", err))
	}
	s := b.subject
	if s == nil {
		s = newSubject(b, t)
	}
	return &judge{b: b, t: t, s: s}
}

func (j *judge) result() *report.Result {
	b := j.b
	r := j.report()
	res := &report.Result{Report: r, RulesVersion: report.RulesVersion, StartedAt: b.ObservedAt, FinishedAt: b.ObservedAt}
	for i := range b.Reads {
		read := &b.Reads[i]
		res.Evidence = append(res.Evidence, read.evidence())
		if end := read.Started.Add(read.Elapsed); end.After(res.FinishedAt) {
			res.FinishedAt = end
		}
	}
	res.Outcome, res.Reason, res.Detail = j.outcome(r)
	j.agents(res)
	return res
}

func (b *Bundle) parsedTarget() (Target, error) {
	if b.target != nil {
		return *b.target, nil
	}
	return ParseTarget(b.ProfileURL, b.ReadmeURL)
}

// judge holds what the parts of one judgement share.
type judge struct {
	b *Bundle
	t Target
	s *subject

	checks   []report.Check
	errors   []string
	bindings []report.Binding
	text     report.TextIndex
	readme   readme.Judgement
	// troubled are the documents that failed without a definite answer, wrong
	// those that failed for good, each with its check.
	troubled, wrong []failure
}

// failure is a document whose check failed.
type failure struct {
	doc    *document
	read   *Read
	detail string
}

const limitation = "This audit reads public files and compares them with each other. It invokes no API, protocol or action, and does not test how the service behaves."

func (j *judge) report() *report.Report {
	r := &report.Report{
		ReportVersion: report.Version, Kind: report.Kind, ObservedAt: Instant(j.b.ObservedAt),
		ProfileURL: j.t.ProfileURL.String(), Limitation: limitation,
	}
	if j.s.validation != nil {
		r.Structure = &report.Validation{Valid: j.s.validation.Valid(), Errors: wellFormed(j.s.validation.Messages()), Warnings: []string{}}
		if j.s.validation.Type == "site" {
			r.ProfileType = "site"
		}
	}
	j.profileChecks()
	j.textChecks()
	r.TextIndex = j.text
	r.Bindings = j.bindings
	if r.Bindings == nil {
		r.Bindings = []report.Binding{}
	}
	r.Errors = j.errors
	if r.Errors == nil {
		r.Errors = []string{}
	}
	r.Valid = j.valid(r)
	j.readmeChecks(r)
	j.publish(r)
	return r
}

// valid speaks of the JSON and its documents alone (specification section 7).
func (j *judge) valid(r *report.Report) bool {
	if r.Structure == nil || !r.Structure.Valid || len(r.Errors) > 0 {
		return false
	}
	if j.s.site != nil {
		return !slices.ContainsFunc(j.checks, func(c report.Check) bool { return c.Status == report.Fail && c.ID != "txt" })
	}
	return len(r.Bindings) > 0 && !slices.ContainsFunc(r.Bindings, func(b report.Binding) bool { return b.Validation == nil || !b.Validation.Valid })
}

// readmeChecks judges the README and adds its checks behind all others.
func (j *judge) readmeChecks(r *report.Report) {
	pub := readme.Publication{Profile: j.t.ProfileURL, Text: j.t.TextURL(), Readme: j.t.readmeURLs()[0]}
	r.Readme.ProvidedByUser = j.t.ReadmeURL != nil
	r.Readme.Observations = []report.Observation{}
	var read *Read
	for i := range j.b.Reads {
		if j.b.Reads[i].Role != RoleReadme {
			continue
		}
		o := j.b.Reads[i].observation()
		r.Readme.Observations = append(r.Readme.Observations, o)
		// The verdict is about the first place, unless the second one is
		// not simply missing too.
		if read == nil || !j.b.Reads[i].answered(http.StatusNotFound) {
			read = &j.b.Reads[i]
		}
	}
	switch {
	case read == nil:
		j.readme = pub.Unavailable("the README was not read")
	case read.answered(http.StatusNotFound):
		j.readme = pub.Missing()
	default:
		for _, u := range j.t.readmeURLs() {
			if u.Location() == read.URL {
				pub.Readme = u
			}
		}
		if read.answer(true) == answerFile {
			j.readme = pub.Judge(read.ContentType, read.Body)
		} else {
			j.readme = pub.Unavailable(read.trouble("the README", true))
		}
	}
	r.Readme.URL = pub.Readme.Location()
	r.Readme.Status = j.readme.Status
	r.Readme.Checks = j.readme.Checks
	j.checks = append(j.checks, j.readme.Checks...)
}

// publish sums up and puts all lists in their order.
func (j *judge) publish(r *report.Report) {
	slices.SortStableFunc(j.checks, compareChecks)
	r.Checks = j.checks
	for i := range j.b.Reads {
		if j.b.Reads[i].Role != RoleReadme {
			r.Observations = append(r.Observations, j.b.Reads[i].observation())
		}
	}
	byURL := func(a, b report.Observation) int { return strings.Compare(a.URL, b.URL) }
	slices.SortStableFunc(r.Observations, byURL)
	slices.SortStableFunc(r.Readme.Observations, byURL)

	p := &r.Publication
	p.NextSteps = []report.NextStep{}
	failing, warning := 0, 0
	for _, c := range r.Checks {
		switch {
		case c.Status == report.Fail:
			failing++
		case c.Status == report.Warn && c.ID != "linked":
			warning++
		default:
			continue
		}
		p.NextSteps = append(p.NextSteps, report.NextStep{ID: c.ID, Label: c.Label, Detail: c.Detail, Remedy: c.Remedy, HelpURL: c.HelpURL})
	}
	profile := report.FilePassed
	if !r.Valid {
		profile = report.FileFailed
	}
	p.Files = []report.File{
		{Name: "agentic.json", URL: r.ProfileURL, Status: profile},
		{Name: "agentic.txt", URL: r.TextIndex.URL, Status: string(r.TextIndex.Status)},
		{Name: "README.md", URL: r.Readme.URL, Status: string(r.Readme.Status)},
	}
	switch {
	case !r.Valid || failing > 0:
		p.Status = report.Failed
		p.Summary = fmt.Sprintf("The publication has to be corrected: %s. The steps below say how.", countWords(failing, warning))
	case warning > 0 || r.TextIndex.Status != report.TextMatched || r.Readme.Status != report.ReadmeMatched:
		p.Status = report.Partial
		p.Summary = fmt.Sprintf("agentic.json is right; the files around it are not complete: %s. The steps below say how to complete them.", countWords(failing, warning))
	default:
		p.Status = report.Successful
		p.Summary = "agentic.json, agentic.txt and README.md are published, agree with each other and link to each other."
	}
}

func countWords(failing, warning int) string {
	word := func(n int, what string) string {
		if n == 1 {
			return "one check " + what + "s"
		}
		return fmt.Sprintf("%d checks %s", n, what)
	}
	switch {
	case failing > 0 && warning > 0:
		return word(failing, "fail") + ", " + word(warning, "warn")
	case failing > 0:
		return word(failing, "fail")
	}
	return word(warning, "warn")
}

// checkOrder is the order of checks in a report (specification section 7). api
// and resource checks stand side by side and are sorted by their ids.
var checkOrder = []string{
	"json", "json-type", "structure", "origin", "bindings", "api:", "limit", "linked", "txt", "txt-type",
	"readme", "readme:json", "readme:txt", "readme:specification", "readme:directory", "readme:filename",
}

func compareChecks(a, b report.Check) int {
	if d := checkRank(a.ID) - checkRank(b.ID); d != 0 {
		return d
	}
	return strings.Compare(a.ID, b.ID)
}

func checkRank(id string) int {
	if strings.HasPrefix(id, "api:") || strings.HasPrefix(id, "resource:") {
		id = "api:"
	}
	return slices.Index(checkOrder, id)
}

// Instant is a time as reports write it: RFC 3339 in UTC with milliseconds.
func Instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
