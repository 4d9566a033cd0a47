package agentstxt

import (
	"cmp"
	"slices"
	"time"

	"agentaudit/audit/report"
)

// Judge is the audit itself. It is pure: the same input gives the same report.
// An origin that is no URL leaves out what depends on it.
func Judge(in Input) *Report {
	j := newJudge(in)
	j.replies = indexReplies(in.Replies)
	text := j.pair(TextForm, TextPath, TextRootPath)
	json := j.pair(JSONForm, JSONPath, JSONRootPath)
	j.site(text, json)
	j.finish(text, json)
	for _, r := range in.Replies {
		j.observe(r)
	}
	return j.report
}

// LocalFile is a file to be judged without a server.
type LocalFile struct {
	Name string
	Body []byte
}

// JudgeFiles judges local files; either may be nil. How they are served, and
// what would have to be asked for, is left out. in.Replies is not looked at.
func JudgeFiles(text, json *LocalFile, in Input) *Report {
	in.Replies = nil
	j := newJudge(in)
	j.local = true
	read := func(form Form, f *LocalFile) *place {
		if f == nil {
			return &place{form: form, format: Absent}
		}
		p := &place{form: form, path: f.Name, got: got{state: present, reply: &Reply{Body: f.Body}}}
		if len(f.Body) > MaxBody {
			p.state = tooLarge
		}
		j.read(p)
		j.files = append(j.files, p)
		j.judgePlace(p)
		return p
	}
	t, js := read(TextForm, text), read(JSONForm, json)
	j.finish(t, js)
	return j.report
}

type judge struct {
	in      Input
	rules   rulesInput
	replies replies
	local   bool
	report  *Report
	files   []*place
	both    findings // what concerns both files together
	targets map[string]*Document
	masker  *masker // known once everything is judged
}

// place is one of the places of a file.
type place struct {
	got
	form   Form
	path   string
	format Format
	doc    *Document
	f      findings
	hits   []hit
	judged bool
}

func (p *place) isDraft() bool { return p.format == Draft }

// there reports whether the place holds a file of whatever format.
func (p *place) there() bool {
	return (p.state == present || p.state == tooLarge) && p.format != Absent
}

func newJudge(in Input) *judge {
	j := &judge{in: in, targets: map[string]*Document{}}
	j.rules = rulesInput{now: in.Now, strict: in.Strict}
	if l, ok := parseLink(in.Origin); ok {
		j.rules.origin = l
		in.Origin = l.origin()
	}
	j.report = &Report{
		ReportVersion: ReportVersion, Kind: ReportKind,
		ObservedAt: in.Now.UTC().Format("2006-01-02T15:04:05.000Z"), Origin: in.Origin,
		Files: []File{}, Checks: []Check{}, Differences: []Difference{}, Observations: []report.Observation{},
	}
	return j
}

func (j *judge) look(form Form, path string) *place {
	p := &place{got: j.replies.follow(j.report.Origin + path), form: form, path: path, format: Absent}
	j.read(p)
	if p.state != notAsked || len(p.hops) > 0 {
		j.files = append(j.files, p)
	}
	return p
}

// read parses a body and tells its format.
func (j *judge) read(p *place) {
	switch p.state {
	case present:
	case unchecked:
		p.format = Unchecked
		return
	case tooLarge:
		p.format = Unrecognised
		return
	case notAsked:
		p.format = Absent
		if len(p.hops) > 0 { // it is not known what stands at the end
			p.format = Unchecked
		}
		return
	default:
		p.format = Absent
		return
	}
	if p.form == TextForm {
		p.doc = ParseText(p.reply.Body)
		p.format = textFormat(p.doc)
	} else {
		p.doc = ParseJSON(p.reply.Body)
		p.format = jsonFormat(p.doc)
	}
	if kind, _, _ := mediaType(p.reply.Header.Get("Content-Type")); kind == "text/html" || kind == "application/xhtml+xml" {
		if !p.isDraft() || p.doc.broken { // a clear draft served as HTML is judged
			p.format = Absent
		}
	}
}

// pair judges the two places of one form and returns the one that counts.
func (j *judge) pair(form Form, path, rootPath string) *place {
	known, root := j.look(form, path), j.look(form, rootPath)
	counts := known
	switch {
	case root.isDraft() && !known.isDraft():
		counts = root
		if known.there() {
			j.judgePlace(known)
		}
		if known.state == absent || known.state == present {
			root.f.add("location", Fail, -1, "The only copy is at %s. The draft demands %s; readers that keep to it find nothing.", rootPath, path).
				fix("Serve the file at %s as well.", path)
		}
	case root.isDraft() && known.isDraft():
		if string(root.reply.Body) != string(known.reply.Body) {
			known.f.add("root-differs", Warn, -1, "There is another file at %s, and the two differ. The one at %s counts.", rootPath, path).
				fix("Serve the same file at both places, or nothing at %s.", rootPath)
		}
	case !known.there() && root.there():
		counts = root
	}
	if counts.there() {
		j.judgePlace(counts)
	}
	if known.isDraft() && root.state == present && root.format != Absent {
		// It does not count, but what it gives away is published all the same.
		root.hits = scanDocument(root.doc, j.in.Now)
		credentialFindings(&root.f, root.hits)
	}
	for _, p := range []*place{known, root} {
		j.noteState(p, p == known || !known.there())
	}
	return counts
}

// noteState says why a place gave no file, where that is worth a note.
func (j *judge) noteState(p *place, matters bool) {
	switch {
	case !matters:
	case p.state == present && p.format == Absent:
		p.f.add("html", Info, -1, "There is no file: an HTML page was answered instead.").fix("Answer with status 404 where there is no file.")
	case p.state == unchecked:
		p.f.add("not-checked", Info, -1, "The file could not be looked at: %s.", plain(p.why)).fix("Answer agents like any other reader.")
	case p.state == notAsked && len(p.hops) > 0:
		p.f.add("not-checked", Info, -1, "The file could not be looked at: the address is redirected more often than is followed.").
			fix("Serve the file at its well-known place without a redirect.")
	case p.state == absent && len(p.hops) > 0:
		p.f.add("not-checked", Info, -1, "There is no file: the address is redirected, and in the end %s.", plain(p.why)).
			fix("Answer with status 404 where there is no file.")
	}
}

// judgePlace judges what one place holds.
func (j *judge) judgePlace(p *place) {
	p.judged = true
	if p.state == tooLarge {
		p.f.add("too-large", Fail, -1, "The file is larger than 1 MiB. It was not read.").fix("Publish a file of at most 1 MiB; a few kilobytes are usual.")
		return
	}
	p.hits = scanDocument(p.doc, j.in.Now)
	name, other := p.format.Other()
	switch {
	case p.format == Absent:
		p.hits = nil
		return
	case p.isDraft() || p.format == capabilityLookAlike:
		rules := judgeDocument(p.doc, j.rules)
		p.f.merge(rules)
	case p.format == Unrecognised && trim(p.doc.src.text) == "":
		p.f.add("empty", Fail, -1, "The file is empty.").fix("Publish a declaration, or answer with status 404.")
	case p.format == Unrecognised && p.form == JSONForm:
		for _, x := range p.doc.findings.list {
			if x.id == "agents:json" {
				p.f.keep(x)
			}
		}
	}
	if p.format == Unrecognised && trim(p.doc.src.text) != "" {
		p.f.add("other-format", Info, -1, "This is of no format that we know of.").
			fix("A declaration of the draft begins with Spec-Version: 1.0, its JSON has the members specVersion and site.")
	}
	credentialFindings(&p.f, p.hits)
	switch {
	case p.isDraft():
		if !j.local {
			judgeServing(&p.f, servingInput{form: p.form, strict: j.in.Strict, header: p.reply.Header, hops: p.hops, bom: p.doc.src.bom})
		} else if p.doc.src.bom && p.form == TextForm {
			p.f.add("bom", Info, 0, "The file begins with a byte order mark. It is skipped.").fix("Save the file as UTF-8 without byte order mark.")
		}
		j.askedFor(p)
	case other:
		j.otherFormat(p, name)
	}
}

// otherFormat names another format, and warns where it takes the draft's
// well-known place (section 9).
func (j *judge) otherFormat(p *place, name string) {
	severity, note := Info, ""
	if p.path == TextPath || p.path == JSONPath {
		severity, note = Warn, " Readers of the draft find nothing that they can use at this well-known place."
	}
	p.f.add("other-format", severity, -1, "This is another format, %s: %s.%s", name, formatTitles[name], note).
		fix("Nothing, if that format is meant; a declaration of the draft begins with Spec-Version: 1.0.")
}

// site adds what concerns the site as a whole.
func (j *judge) site(text, json *place) {
	if !text.isDraft() && !json.isDraft() {
		return
	}
	open := false // a file that came over plain http, without an https address before
	for _, p := range []*place{text, json} {
		l, _ := parseLink(p.url)
		open = open || p.isDraft() && l.scheme == "http"
	}
	if o := j.rules.origin; open && o.scheme == "http" && !isDevHost(o.host) {
		j.both.add("https", Fail, -1, "The file is served over plain http: anybody on the way can change it.").fix("Serve it over https.")
	}
	if json.isDraft() && text.format == Absent && text.state != notAsked {
		json.f.add("json-only", Info, -1, "There is no text file, only the JSON. That is legal.").fix("Nothing; some readers look for the text only.")
	}
}

// finish compares, masks and writes the report.
func (j *judge) finish(text, json *place) {
	differences := j.compare(text, json)
	r := j.report
	r.Format = overallFormat(text, json)
	if r.Format == Draft {
		j.both.add("advisory", Info, -1, "The files tell agents what is meant for them. They enforce nothing and are no boundary of trust.").
			fix("Enforce permissions and limits on the server.")
	}
	var lists [][]hit
	for _, p := range j.files {
		lists = append(lists, p.hits)
	}
	lists = append(lists, j.urlHits())
	m := newMasker(lists...)
	j.masker = m

	for _, p := range j.files {
		r.Files = append(r.Files, p.file(m))
		var checks []Check
		var src *source
		if p.doc != nil {
			src = p.doc.src
		}
		for _, x := range p.f.list {
			checks = append(checks, x.check(p.path, src, m))
		}
		slices.SortStableFunc(checks, func(a, b Check) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		r.Checks = append(r.Checks, checks...)
	}
	for _, x := range j.both.list {
		r.Checks = append(r.Checks, x.check("", nil, m))
	}
	for _, d := range differences {
		r.Differences = append(r.Differences, d.masked(m))
	}
	for _, p := range []*place{text, json} {
		if r.Declaration == nil && p.doc != nil && !p.doc.broken && (p.isDraft() || p.format == capabilityLookAlike) {
			r.Declaration = p.doc.Declaration.mapped(m.mask)
		}
	}
	r.Verdict = j.verdict(text, json)
}

func overallFormat(text, json *place) Format {
	if text.isDraft() || json.isDraft() {
		return Draft
	}
	best := Absent
	for _, p := range []*place{json, text} {
		_, other := p.format.Other()
		_, bestOther := best.Other()
		switch {
		case other, p.format == Unrecognised && !bestOther, p.format == Unchecked && best == Absent:
			best = p.format
		}
	}
	return best
}

func (j *judge) verdict(text, json *place) Verdict {
	switch f := j.report.Format; {
	case j.report.Count(Fail) > 0:
		return VerdictInvalid
	case f == Draft:
		return VerdictValid
	case f == Unchecked:
		return VerdictUnchecked
	case f == Absent && (text.state == notAsked || json.state == notAsked) && !j.local:
		return VerdictUnchecked
	case f == Absent:
		return VerdictAbsent
	}
	return VerdictOther
}

func (p *place) file(m *masker) File {
	f := File{Path: p.path, URL: m.mask(p.url), Format: p.format}
	if p.reply != nil {
		f.Status = p.reply.Status
		f.ContentType = m.mask(p.reply.Header.Get("Content-Type"))
		f.Bytes = max(int64(len(p.reply.Body)), p.reply.Bytes)
	}
	return f
}

// observe adds what one request saw.
func (j *judge) observe(r Reply) {
	m := j.masker
	o := report.Observation{URL: m.mask(r.URL), Status: r.Status, ContentType: m.mask(r.Header.Get("Content-Type")), Error: m.mask(r.Message)}
	if r.Kind != "" && r.Message == "" {
		o.Error = r.Kind
	}
	if r.Status != 0 {
		n := max(int64(len(r.Body)), r.Bytes)
		o.Bytes = &n
	}
	j.report.Observations = append(j.report.Observations, o)
}

// urlHits are credentials inside the URLs that were asked for: redirects may
// carry signed addresses. They are masked, not reported.
func (j *judge) urlHits() []hit {
	var out []hit
	for _, r := range j.in.Replies {
		for _, text := range []string{r.URL, r.Header.Get("Location")} {
			for _, c := range scanShapes(text, time.Time{}) {
				out = append(out, hit{secret: text[c.from:c.to]})
			}
		}
	}
	return out
}

// Documents are the declarations of a site that [Judge] judges, nil where
// there is none of that form.
func Documents(in Input) (text, json *Document) {
	j := newJudge(in)
	j.replies = indexReplies(in.Replies)
	one := func(p *place) *Document {
		if !p.isDraft() || p.doc.broken {
			return nil
		}
		return p.doc
	}
	return one(j.pair(TextForm, TextPath, TextRootPath)), one(j.pair(JSONForm, JSONPath, JSONRootPath))
}
