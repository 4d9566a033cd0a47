package publication

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
	"agentaudit/audit/readme"
	"agentaudit/audit/report"
	"agentaudit/audit/textindex"
	"agentaudit/fetch/weburl"
)

// File is one file to publish.
type File struct {
	// Name is a file name, URL where to publish it.
	Name string `json:"name"`
	URL  string `json:"url"`
	// ContentType is what to serve it as.
	ContentType string `json:"contentType"`
	Content     string `json:"content"`
	// Why says in a sentence what it mends.
	Why string `json:"why"`
}

// Kit is what can be generated to mend a publication.
type Kit struct {
	// ProfileURL is where agentic.json is once the kit is published: what is to
	// be audited then. It is another address than before where the site has
	// moved.
	ProfileURL string `json:"profileUrl"`
	// ReadmeURL is the README's address that audits are to be given then, ""
	// where it lies beside the profile.
	ReadmeURL string `json:"readmeUrl,omitempty"`
	// Files has at most one file for each URL; JSON, TXT, README, LISTING.
	Files []File `json:"files"`
	// Changed says what is not as it was in an agentic.json that is the owner's
	// own with changes, a sentence each; the rest of it is as it was.
	Changed []string `json:"changed,omitempty"`
	// ByHand says what the owner has to do beyond publishing the files, a
	// sentence or two each; whatever the files do not mend is named here.
	ByHand []string `json:"byHand"`

	facts Facts
	at    *weburl.URL
}

// Facts are what an audit found out about one publication, and what a scan
// would publish instead.
type Facts struct {
	// ProfileURL is where the profile is, or is expected.
	ProfileURL *weburl.URL
	// Profile is the published JSON where it could be read and parsed, else nil.
	Profile *profile.Document
	// Report is what the audit says.
	Report *report.Report
	// Readme is the published README where it answered 200, else nil.
	Readme []byte
	// Generated is the profile that a scan came to, nil where there is none;
	// Missing says why, as the end of a sentence.
	Generated *profile.Document
	Missing   string
	// Amended is nil where nothing right can be made of what is published.
	Amended *Amendment
}

// Amendment is the published site profile with what is wrong in it put right.
type Amendment struct {
	Profile *profile.Document
	// Changes say what is not as it was, ByHand what has to be looked at; a
	// sentence each.
	Changes, ByHand []string
}

// FixKit writes the files that mend a publication. A profile that is right is
// kept, and TXT and README are fitted to it; so is an action profile that is
// right in itself, because a contract cannot be made from outside. A site
// profile that is not right is published as amended. Anything else is replaced
// by what the scan made, fitted to the audited address. What cannot be
// generated is told in ByHand. It is a pure function.
func FixKit(f Facts) (*Kit, error) {
	k := &Kit{Files: []File{}, ByHand: []string{}, facts: f, at: f.ProfileURL}
	var err error
	switch p := f.published(); {
	case p != nil && (f.Report.Valid || p.Type() == profile.ActionType):
		err = k.keep(p)
	case f.Amended != nil:
		k.Changed, k.ByHand = f.Amended.Changes, append(k.ByHand, f.Amended.ByHand...)
		err = k.replace(f.Amended.Profile, "It is the published profile, changed only where it has to be: see below what is changed.")
	case f.Generated != nil:
		err = k.replace(f.Generated, k.whyGenerated())
	default:
		k.hand("No agentic.json could be generated: %s.", f.Missing)
		err = k.mendReadme("")
	}
	k.ProfileURL = k.at.String()
	k.rest()
	return k, err
}

// published is the published profile, or nil unless it is valid and speaks for
// the origin that serves it.
func (f Facts) published() profile.Profile {
	if f.Profile == nil {
		return nil
	}
	v := f.Profile.Validate(profile.Options{})
	if !v.Valid() || v.Profile.ServingOrigin() != f.ProfileURL.Origin() {
		return nil
	}
	return v.Profile
}

func (k *Kit) hand(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(k.ByHand, s) {
		k.ByHand = append(k.ByHand, s)
	}
}

func (k *Kit) add(name string, u *weburl.URL, contentType, content, why string) {
	k.Files = append(k.Files, File{name, u.String(), contentType, content, why})
}

// taken names the file that an address belongs to, "" where it is free for a
// README: whoever gives the address of a README, or of a profile, may give one
// of those.
func (k *Kit) taken(u *weburl.URL) string {
	switch u.Location() {
	case k.at.Location():
		return NameJSON
	case beside(k.at, NameText).Location():
		return NameText
	}
	return ""
}

// addText adds agentic.txt unless its place is that of the profile.
func (k *Kit) addText(text, why string) {
	at := beside(k.at, NameText)
	if k.taken(at) == NameJSON {
		k.hand("%s cannot be at %s, where the profile is: publish the profile as %s, and audit it there.", NameText, at, NameJSON)
		return
	}
	k.add(NameText, at, TypeText, text, why)
}

// has reports whether the kit has a file for an address.
func (k *Kit) has(u *weburl.URL) bool {
	return slices.ContainsFunc(k.Files, func(f File) bool { return f.URL == u.String() })
}

// keep fits TXT and README to the published profile.
func (k *Kit) keep(p profile.Profile) error {
	f := k.facts
	if !f.Report.Valid {
		k.hand("The contract in %s is kept, because nobody but its owner can make one: correct the OpenAPI documents, or the actions that name them.", f.ProfileURL)
	}
	unfit := slices.ContainsFunc(f.Report.Publication.NextSteps, func(s report.NextStep) bool { return s.ID == "bindings" })
	// A profile that has to be changed by hand changes the text, too.
	if f.Report.TextIndex.Status != report.TextMatched && !unfit {
		text, err := textindex.Build(p, f.ProfileURL.String(), textindex.Publication)
		if err != nil {
			return err
		}
		k.addText(string(text), "It is generated from the published agentic.json and matches it to the byte.")
	}
	return k.mendReadme(describe(p, f.ProfileURL).readme())
}

// whyGenerated says what the profile that the scan made is good for.
func (k *Kit) whyGenerated() string {
	f := k.facts
	switch {
	case f.Generated.Type == profile.ActionType:
		return "It is the contract that the site publishes elsewhere, as it stands."
	case f.Profile != nil && f.Profile.Type == profile.ActionType:
		return "It is made from what a scan of the site found, and takes the place of an action profile that is not valid. To keep the contract, correct it as the report says, and publish that instead."
	case f.Profile != nil:
		return "It is made from what a scan of the site found, and takes the place of a profile that is not valid any more; review name and description, then publish it."
	}
	return "It is made from what a scan of the site found; review name and description, then publish it."
}

// replace publishes another profile.
func (k *Kit) replace(doc *profile.Document, why string) error {
	v := doc.Validate(profile.Options{})
	if err := v.Err(); err != nil {
		return fmt.Errorf("the new profile: %w", err)
	}
	if origin := v.Profile.ServingOrigin(); origin != k.at.Origin() {
		// A profile speaks for the origin that serves it: the site's pages are
		// on the www or non-www twin.
		moved, err := weburl.Parse(origin + k.at.Path())
		if err != nil {
			return fmt.Errorf("the new profile speaks for %s: %w", origin, err)
		}
		k.hand("The site sends its visitors from %s on to %s: publish the files there, and give %s to directories and audits from now on.", k.at.Origin(), origin, moved)
		k.at = moved
	}
	options := Options{ProfileURL: k.at.String()}
	files, err := Bundle(doc, options)
	if big, ok := errors.AsType[*SizeError](err); ok && big.Name == NameJSON {
		// The owner's own may be as large as it is because it is written so.
		options.compact = true
		files, err = Bundle(doc, options)
	}
	if err != nil {
		return fmt.Errorf("the new profile does not fit %s: %w", k.at, err)
	}
	k.add(NameJSON, k.at, TypeJSON, files.JSON, why)
	k.addText(files.Text, "It is generated from this agentic.json and matches it to the byte.")
	if err := k.mendReadme(files.Readme); err != nil {
		return err
	}
	if at := beside(k.at, NameListing); k.taken(at) == "" && !k.has(at) {
		k.add(NameListing, at, TypeMarkdown, files.Listing, "It is copy for directories; publishing it is optional.")
	} else {
		k.hand("The kit has no %s, because something else is at its address, %s.", NameListing, at)
	}
	return nil
}

// mendReadme adds the README to the kit unless it is right as it is: the
// owner's own text with a section more where there is one, else the whole one,
// "" where none can be written.
func (k *Kit) mendReadme(whole string) error {
	status := k.facts.Report.Readme.Status
	p := readme.Publication{Readme: beside(k.at, NameReadme), Profile: k.at, Text: beside(k.at, NameText)}
	body := k.facts.Readme
	own := len(bytes.TrimSpace(body)) > 0 && (status == report.ReadmeMatched || status == report.ReadmeIncomplete)
	if own && k.at == k.facts.ProfileURL || k.facts.Report.Readme.ProvidedByUser {
		u, err := weburl.Parse(k.facts.Report.Readme.URL)
		if err != nil {
			return fmt.Errorf("the README of the report: %w", err)
		}
		p.Readme = u
	}
	if other := k.taken(p.Readme); other != "" {
		free := beside(k.at, NameReadme)
		if k.taken(free) != "" {
			k.hand("There is no place for a README beside %s: publish the profile as %s, and audit it there.", k.at, NameJSON)
			return nil
		}
		k.hand("The README cannot be at %s, which is the address of %s: publish it at %s, and audit without another address for it.", p.Readme, other, free)
		p.Readme, own = free, false
	}
	matched := own && p.Judge("", body).Status == report.ReadmeMatched
	if renamed, misspelled := withoutMisspelling(p.Readme); misspelled && !matched {
		k.hand("Publish the README as %s, not as %s, and give that address to audits.", renamed, p.Readme)
		p.Readme = renamed
	}
	if k.facts.Report.Readme.ProvidedByUser && p.Readme.String() != beside(k.at, NameReadme).String() {
		k.ReadmeURL = p.Readme.String()
	}
	if matched {
		return nil
	}
	if own && !utf8.Valid(body) {
		k.hand("The published README is not UTF-8 text: in the one of the kit, what cannot be read is replaced by \uFFFD. Save your own as UTF-8 and add the section with the links to it.")
		body = []byte(jsontree.DecodeText(body))
	}
	name := NameReadme
	if own {
		path := p.Readme.Path()
		name = path[lastSlash(path)+1:]
		if text, where := mended(p, body); text != nil {
			k.add(name, p.Readme, TypeMarkdown, string(text), "It is the published README with the missing links "+where+".")
			return nil
		}
		k.hand("The links could not be added to the published README (it has no room for them within %d bytes, or hides what is added); merge the generated text into it.", MaxSize)
	}
	if whole == "" {
		return nil
	}
	if status == report.ReadmeInvalid {
		k.hand("Serve %s as raw Markdown (%s), not as a web page; for a file on a code hosting site give the address of its raw view.", p.Readme, TypeMarkdown)
	}
	k.add(name, p.Readme, TypeMarkdown, whole, "It describes the service and links to the published files; merge it with a README that you have elsewhere.")
	return nil
}

// rest tells what the report asks for and no file of the kit gives.
func (k *Kit) rest() {
	replaced := k.has(k.at) // with agentic.json, and with it all that it lists
	for _, s := range k.facts.Report.Publication.NextSteps {
		given := replaced
		switch {
		case s.ID == "json-type" || s.ID == "txt-type":
			given = false // the server's configuration
		case s.ID == "limit" && k.facts.Amended != nil:
			given = false // the owner's list is not shortened
		case s.ID == "txt":
			at := beside(k.at, NameText)
			given = k.has(at) && k.taken(at) != NameJSON
		case strings.HasPrefix(s.ID, readme.CheckReadme):
			given = slices.ContainsFunc(k.Files, func(f File) bool { return f.ContentType == TypeMarkdown && f.Name != NameListing })
		}
		if !given {
			k.hand("%s", s.Remedy)
		}
	}
}

// mended adds the missing links where a reader sees them: at the end, or, in a
// README that would hide them there (in an open code block or comment), at the
// top. It returns nil where neither helps.
func mended(p readme.Publication, body []byte) (text []byte, where string) {
	var missing []string
	for _, c := range p.Judge("", body).Checks {
		if c.Status != report.Pass {
			missing = append(missing, c.ID)
		}
	}
	if !slices.ContainsFunc(missing, func(id string) bool { return id != readme.CheckReadme && id != readme.CheckFilename }) {
		// Too short to be judged: all links are wanted.
		missing = []string{readme.CheckJSON, readme.CheckText, readme.CheckSpecification, readme.CheckDirectory}
	}
	section := []byte(ReadmeSection(p.Profile, missing))
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	for _, try := range []struct {
		text  []byte
		where string
	}{
		{bytes.Join([][]byte{bytes.TrimRight(body, " \t\r\n"), section}, []byte("\n\n")), "at its end"},
		{bytes.Join([][]byte{section, body}, []byte("\n")), "at its top"},
	} {
		if len(try.text) <= readme.MaxBytes && p.Judge("", try.text).Status == report.ReadmeMatched {
			return try.text, try.where
		}
	}
	return nil, ""
}

// ReadmeSection is a section for an existing README with the links that are
// missing, named by the ids of the checks that did not pass ("readme:json" and
// its like; others are passed over). at is where agentic.json is.
func ReadmeSection(at *weburl.URL, missing []string) string {
	s := "## Files for agents\n\n"
	for _, m := range []struct{ id, line string }{
		{readme.CheckJSON, "- " + fileLink(NameJSON, at) + ": the authoritative profile of this service.\n"},
		{readme.CheckText, "- " + fileLink(NameText, beside(at, NameText)) + ": an index of the profile for reading, generated from it.\n"},
		{readme.CheckSpecification, "- [Agentic](" + specificationURL + "): " + specificationText + "\n"},
		{readme.CheckDirectory, "- [RUAGENTIC](" + directoryURL + "): " + directoryText + "\n"},
	} {
		if slices.Contains(missing, m.id) {
			s += m.line
		}
	}
	return s
}
