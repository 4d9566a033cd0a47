package agentstxt

import (
	"strings"
	"time"
	"unicode/utf8"
)

// rulesInput is what the rules of section 4 need besides the file. The zero
// value judges a file by itself.
type rulesInput struct {
	// origin is where the file came from; its host is "" for a local file.
	origin link
	// now is the clock, zero for none.
	now    time.Time
	strict bool
}

// judgeDocument applies the numbered rules that concern one file, apart from
// credentials (45), what has to be asked for (57, 68) and the comparison (69).
func judgeDocument(d *Document, in rulesInput) *findings {
	r := &ruleRun{Document: d, rulesInput: in, findings: d.findings.clone()}
	if d.broken {
		return &r.findings
	}
	r.header()
	r.site()
	r.capabilities()
	r.accessRules()
	r.agentBlocks()
	return &r.findings
}

func (f *findings) clone() findings {
	out := findings{}
	if f.n == nil {
		return out
	}
	out.n, out.count = make(map[findingKey]int, len(f.n)), make(map[findingKey]*finding, len(f.n))
	for k, n := range f.n {
		out.n[k] = n
	}
	for _, x := range f.list {
		y := *x
		out.list = append(out.list, &y)
		out.count[findingKey{strings.TrimPrefix(y.id, "agents:"), y.severity}] = &y
	}
	return out
}

// ruleRun judges one document; its findings begin with those of the parser.
type ruleRun struct {
	*Document
	rulesInput
	findings findings
	siteLink link // the Site-URL, where it can be read
	siteOK   bool
}

func (r *ruleRun) add(id string, severity Severity, offset int, format string, args ...any) *finding {
	return r.findings.add(id, severity, offset, format, args...)
}

func (r *ruleRun) isAgentType() bool { return r.Declaration.DeclarationType.Value == "agent" }

// closedHint adds what is worth knowing about a value outside a closed list.
func closedHint(list []string, value string) string {
	if w := nearest(list, value); w != "" {
		if equalFold(w, value) {
			return "; it differs from " + w + " in case only"
		}
		return "; what stands behind # is part of the value, not a remark"
	}
	return ""
}

func (r *ruleRun) header() {
	d := &r.Declaration
	switch v := d.SpecVersion; {
	case v.wrong:
	case v.Value == "":
		offset, why := v.offset, ""
		if !r.legacy.IsZero() {
			offset, why = r.legacy.offset, "; a comment of the old form stands here, which the draft does not read"
		}
		r.add("spec-version-missing", Fail, offset, "%s is missing%s.", r.name(fSpecVersion), why).
			fix("Write: %s", r.write(fSpecVersion, "1.0"))
	case v.Value != "1.0":
		r.add("spec-version", Fail, v.offset, "%s is %s; the draft's version is 1.0.", r.name(fSpecVersion), quoted(v.Value)).
			fix("Write: %s", r.write(fSpecVersion, "1.0"))
	}
	if v := d.GeneratedAt; v.Value != "" {
		at, kind := parseStamp(v.Value)
		example := r.write(fGeneratedAt, "2026-05-04T09:30:00Z")
		switch kind {
		case stampNone:
			r.add("generated-at", Fail, v.offset, "%s %s is no ISO 8601 time.", r.name(fGeneratedAt), quoted(v.Value)).
				fix("Write it like: %s", example)
		case stampISO:
			r.add("generated-at", Warn, v.offset, "%s %s is ISO 8601, but the reference library takes UTC with Z only, like 2026-05-04T09:30:00Z.",
				r.name(fGeneratedAt), quoted(v.Value)).fix("Write: %s", r.write(fGeneratedAt, at.UTC().Format(time.RFC3339)))
		}
		if kind != stampNone && !r.now.IsZero() && at.After(r.now.Add(24*time.Hour)) {
			r.add("generated-future", Warn, v.offset, "%s %s lies more than a day in the future.", r.name(fGeneratedAt), quoted(v.Value)).
				fix("Write the time at which the file was made.")
		}
	}
	r.declarationType()
	for _, v := range d.OperatesOn {
		l, ok := parseLink(v.Value)
		switch {
		case !ok || l.scheme != "https" && l.scheme != "http":
			r.add("operates-on", Fail, v.offset, "%s %s is no absolute http or https URL.", r.name(fOperatesOn), quoted(v.Value)).
				fix("Write: %s", r.write(fOperatesOn, "https://platform.example"))
		case l.scheme == "http":
			r.add("operates-on", Warn, v.offset, "%s %s is not https.", r.name(fOperatesOn), quoted(v.Value)).
				fix("Write: %s", plain(r.write(fOperatesOn, "https"+v.Value[len("http"):])))
		}
	}
}

func (r *ruleRun) declarationType() {
	d := &r.Declaration
	v := d.DeclarationType
	if v.wrong {
		return
	}
	if v.Value != "" && !contains(declarationTypes, v.Value) {
		w := nearest(declarationTypes, v.Value)
		if w == "" {
			w = "platform"
		}
		r.add("declaration-type", Fail, v.offset, "%s %s is neither platform nor agent%s.", r.name(fDeclarationType), quoted(v.Value),
			closedHint(declarationTypes, v.Value)).fix("Write: %s", r.write(fDeclarationType, w))
		return
	}
	switch agent := r.isAgentType(); {
	case agent && len(d.OperatesOn) == 0 && !r.operatesWrong:
		r.add("operates-on-missing", Warn, v.offset, "An agent declaration is expected to say on which platforms the agent operates.").
			fix("Add for each platform: %s", r.write(fOperatesOn, "https://platform.example"))
	case !agent && len(d.OperatesOn) > 0:
		r.add("operates-on-unused", Warn, d.OperatesOn[0].offset, "%s is not used in platform declarations.", r.name(fOperatesOn)).
			fix("Remove it, or declare the type: %s", r.write(fDeclarationType, "agent"))
	}
}

func (r *ruleRun) site() {
	s := &r.Declaration.Site
	if s.wrong {
		return
	}
	if s.Name.missing() {
		r.add("site-name", Fail, s.Name.offset, "%s is missing.", r.name(fSiteName)).
			fix("Write: %s", r.write(fSiteName, "the name of the site"))
	}
	r.length(s.Name, fSiteName, 200)
	r.length(s.Description, fSiteDescription, 500)
	r.siteURL(s.URL)
	if v := s.Contact; v.Value != "" && !isEmail(v.Value) {
		r.contact(v)
	}
	if v := s.PrivacyPolicy; v.Value != "" {
		r.document("privacy-policy", fPrivacyPolicy, v)
	}
}

func (r *ruleRun) length(v Text, f field, limit int) {
	if n := utf8.RuneCountInString(v.Value); n > limit {
		r.add("length", Warn, v.offset, "%s has %d characters. The reference library takes %d at most.", r.name(f), n, limit).
			fix("Shorten it to %d characters.", limit)
	}
}

// document judges a URL of something to read: no URL is a fail, http an info
// (rules 16 and 37).
func (r *ruleRun) document(id string, f field, v Text) {
	l, ok := parseLink(v.Value)
	switch {
	case !ok:
		r.add(id, Fail, v.offset, "%s %s is no absolute URL.", r.name(f), quoted(v.Value)).
			fix("Write the whole address: %s", r.write(f, "https://site.example/page"))
	case l.scheme != "https":
		r.add(id, Info, v.offset, "%s %s is not https.", r.name(f), quoted(v.Value)).fix("Give the https address.")
	}
}

func (r *ruleRun) siteURL(v Text) {
	if v.wrong {
		return
	}
	good := r.origin.origin()
	if r.origin.host == "" {
		good = "https://site.example"
	}
	if v.Value == "" {
		r.add("site-url-missing", Fail, v.offset, "%s is missing.", r.name(fSiteURL)).fix("Write: %s", plain(r.write(fSiteURL, good)))
		return
	}
	l, ok := parseLink(v.Value)
	if !ok {
		x := r.add("site-url", Fail, v.offset, "%s %s is no absolute URL with a host.", r.name(fSiteURL), quoted(v.Value))
		if _, ok := parseLink("https://" + v.Value); ok && !strings.Contains(v.Value, ":") {
			good = "https://" + v.Value
		}
		x.fix("Write: %s", plain(r.write(fSiteURL, good)))
		return
	}
	r.siteLink, r.siteOK = l, true
	secure := plain(r.write(fSiteURL, "https://"+l.hostPort))
	switch {
	case l.scheme == "https":
	case l.scheme == "http" && isDevHost(l.host):
		r.add("site-url-https", Info, v.offset, "%s is http, which is fine on a development host only.", r.name(fSiteURL)).
			fix("Nothing, unless the file is published.")
	default:
		r.add("site-url-https", Fail, v.offset, "%s %s is not https.", r.name(fSiteURL), quoted(v.Value)).fix("Write: %s", secure)
	}
	if r.origin.host != "" {
		a, b := bare(l.hostPort), bare(r.origin.hostPort)
		switch {
		case a == b:
		case parentOrChild(bare(l.host), bare(r.origin.host)):
			r.add("site-url-host", Info, v.offset, "%s is %s, the file came from %s, a domain above or below it.",
				r.name(fSiteURL), quoted(l.hostPort), r.origin.hostPort).fix("Nothing, if both are meant; else write: %s", plain(r.write(fSiteURL, good)))
		default:
			r.add("site-url-host", Warn, v.offset, "%s names the host %s, but the file came from %s.",
				r.name(fSiteURL), quoted(l.hostPort), r.origin.hostPort).fix("Write: %s", plain(r.write(fSiteURL, good)))
		}
	}
	if l.path != "" && l.path != "/" || l.query != "" || l.fragment != "" || l.user {
		r.add("site-url-extra", Info, v.offset, "%s has a path, query, fragment or user name; it names a site.", r.name(fSiteURL)).
			fix("Write: %s", secure)
	}
}

func (r *ruleRun) contact(v Text) {
	why := "is not one e-mail address"
	fixed := "agents@site.example"
	switch low := strings.ToLower(v.Value); {
	case strings.HasPrefix(low, "mailto:"):
		why = "is a mailto: link; the bare address belongs here"
		address, _, _ := strings.Cut(v.Value[len("mailto:"):], "?")
		if isEmail(address) {
			fixed = address
		}
	case strings.Contains(v.Value, "://"):
		why = "is a URL; an e-mail address belongs here"
	case strings.Count(v.Value, "@") > 1:
		why = "is more than one address"
		first, _, _ := strings.Cut(strings.NewReplacer(";", ",", " ", ",").Replace(v.Value), ",")
		if isEmail(first) {
			fixed = first
		}
	}
	r.add("contact", Warn, v.offset, "%s %s %s. The reference library refuses it.", r.name(fSiteContact), quoted(v.Value), why).
		fix("Write: %s", plain(r.write(fSiteContact, fixed)))
}
