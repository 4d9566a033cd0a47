package publication

import (
	"bytes"
	"fmt"
	"slices"

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
	// Files has at most one file for each URL; JSON, TXT, README, LISTING.
	Files []File `json:"files"`
	// ByHand says what the owner has to do beyond publishing the files.
	ByHand []string `json:"byHand"`
}

// Facts are what an audit found out about one publication, and what a scan
// would publish instead.
type Facts struct {
	// ProfileURL is where the profile is, or is expected.
	ProfileURL *weburl.URL
	// Profile is the published JSON where it could be read and parsed, else
	// nil. Valid is the report's verdict on it and its documents.
	Profile *profile.Document
	Valid   bool
	// JSONType and TextType are the Content-Type headers, "" where the file was
	// not read; they are judged for what is kept.
	JSONType, TextType string
	// Text is the verdict on agentic.txt.
	Text report.TextStatus
	// Readme is the README's part of the report; Body its bytes where it
	// answered 200, else nil.
	Readme report.Readme
	Body   []byte
	// Generated are the files that a scan made, nil where there was none.
	Generated *Files
}

// FixKit writes the files that mend a publication. A profile that is right is
// kept, and TXT and README are fitted to it; so is an action profile that is
// right in itself, because a contract cannot be made from outside. Anything
// else is replaced by what the scan made, fitted to the audited address. Where
// nothing needs to be or can be generated the kit has no files, and ByHand
// says what is left to do. It is a pure function.
func FixKit(f Facts) (*Kit, error) {
	k := &Kit{Files: []File{}, ByHand: []string{}}
	if p := f.published(); p != nil && (f.Valid || p.Type() == profile.ActionType) {
		return k, k.keep(f, p)
	}
	if f.Generated == nil {
		k.hand("No profile can be generated without a scan of the site; scan it, or correct agentic.json as the report says.")
		return k, nil
	}
	return k, k.replace(f)
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
	k.ByHand = append(k.ByHand, fmt.Sprintf(format, args...))
}

func (k *Kit) add(name string, u *weburl.URL, contentType, content, why string) {
	k.Files = append(k.Files, File{name, u.String(), contentType, content, why})
}

// keep fits TXT and README to the published profile.
func (k *Kit) keep(f Facts, p profile.Profile) error {
	if !f.Valid {
		k.hand("The contract in %s is kept: correct the OpenAPI documents, or the actions that name them, as the report says.", f.ProfileURL)
	}
	if !isMedia(f.JSONType, "application/json") {
		k.hand("Serve %s as %s; its content is right.", f.ProfileURL, TypeJSON)
	}
	textURL := beside(f.ProfileURL, NameText)
	if f.Text != report.TextMatched {
		text, err := textindex.Build(p, f.ProfileURL.String(), textindex.Publication)
		if err != nil {
			return err
		}
		k.add(NameText, textURL, TypeText, string(text), "It is generated from the published agentic.json and matches it to the byte.")
	} else if !isMedia(f.TextType, "text/plain") {
		k.hand("Serve %s as %s; its content is right.", textURL, TypeText)
	}
	return k.mendReadme(f, describe(p, f.ProfileURL).readme())
}

// replace publishes what the scan made.
func (k *Kit) replace(f Facts) error {
	doc, err := profile.Decode([]byte(f.Generated.JSON))
	if err != nil {
		return fmt.Errorf("the profile of the scan: %w", err)
	}
	files, err := Bundle(doc, Options{ProfileURL: f.ProfileURL.String()})
	if err != nil {
		return fmt.Errorf("the profile of the scan does not fit %s: %w", f.ProfileURL, err)
	}
	why := "It is made from what a scan of the site found; review name and description, then publish it."
	if doc.Type == profile.ActionType {
		why = "It is the contract that the site publishes elsewhere, as it stands."
	}
	k.add(NameJSON, f.ProfileURL, TypeJSON, files.JSON, why)
	k.add(NameText, beside(f.ProfileURL, NameText), TypeText, files.Text, "It is generated from this agentic.json and matches it to the byte.")
	if err := k.mendReadme(f, files.Readme); err != nil {
		return err
	}
	k.add(NameListing, beside(f.ProfileURL, NameListing), TypeMarkdown, files.Listing, "It is copy for directories; publishing it is optional.")
	return nil
}

// mendReadme adds the README to the kit unless it is right as it is: the
// owner's own text with a section more where there is one, else a whole one.
func (k *Kit) mendReadme(f Facts, whole string) error {
	p := readme.Publication{Readme: beside(f.ProfileURL, NameReadme), Profile: f.ProfileURL, Text: beside(f.ProfileURL, NameText)}
	own := len(bytes.TrimSpace(f.Body)) > 0 && (f.Readme.Status == report.ReadmeMatched || f.Readme.Status == report.ReadmeIncomplete)
	if own || f.Readme.ProvidedByUser {
		u, err := weburl.Parse(f.Readme.URL)
		if err != nil {
			return fmt.Errorf("the README of the report: %w", err)
		}
		p.Readme = u
	}
	if own && p.Judge("", f.Body).Status == report.ReadmeMatched {
		return nil
	}
	if renamed, ok := withoutMisspelling(p.Readme); ok {
		k.hand("Publish the README as %s, not as %s, and give that address to audits.", renamed, p.Readme)
		p.Readme = renamed
	}
	name := NameReadme
	if own {
		path := p.Readme.Path()
		name = path[lastSlash(path)+1:]
		if text, where := mended(p, f.Body); text != nil {
			k.add(name, p.Readme, TypeMarkdown, string(text), "It is the published README with the missing links "+where+".")
			return nil
		}
		k.hand("The links could not be added to the published README (it has no room for them within %d bytes, or hides what is added); merge the generated text into it.", MaxSize)
	}
	if f.Readme.Status == report.ReadmeInvalid {
		k.hand("Serve %s as raw Markdown (%s), not as a web page; for a file on a code hosting site give the address of its raw view.", p.Readme, TypeMarkdown)
	}
	k.add(name, p.Readme, TypeMarkdown, whole, "It describes the service and links to the published files; merge it with a README that you have elsewhere.")
	return nil
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
