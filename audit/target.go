package audit

import (
	"fmt"

	"agentaudit/fetch/weburl"
)

// Target is what the user asked to audit.
type Target struct {
	// ProfileURL is where the JSON is expected; it is never nil.
	ProfileURL *weburl.URL
	// ReadmeURL is where the user says the README is, nil for beside the JSON.
	ReadmeURL *weburl.URL

	// text and readmes are what [ParseTarget] found to be beside the profile;
	// parsing URLs is a tenth of the cost of a judgement.
	text    *weburl.URL
	readmes []*weburl.URL
}

// ParseTarget reads a target and an optional README URL as typed by a user. An
// empty readme is as none. The error wraps a [*weburl.RuleError] and says
// which of the two is wrong; nothing has been read from the network then.
func ParseTarget(input, readme string) (Target, error) {
	p, err := weburl.ParseTarget(input)
	if err != nil {
		return Target{}, fmt.Errorf("cannot audit this: %w", err)
	}
	t := Target{ProfileURL: p}
	if readme != "" {
		if t.ReadmeURL, err = weburl.ParseStart(readme); err != nil {
			return Target{}, fmt.Errorf("cannot use this README URL: %w", err)
		}
	}
	t.text, t.readmes = t.TextURL(), t.readmeURLs()
	return t, nil
}

// TextURL is where agentic.txt is expected: beside the JSON.
func (t Target) TextURL() *weburl.URL {
	if t.text != nil {
		return t.text
	}
	return beside(t.ProfileURL, "agentic.txt")
}

// readmeURLs lists where the README is looked for, in order.
func (t Target) readmeURLs() []*weburl.URL {
	switch {
	case t.readmes != nil:
		return t.readmes
	case t.ReadmeURL != nil:
		return []*weburl.URL{t.ReadmeURL}
	}
	return []*weburl.URL{beside(t.ProfileURL, "README.md"), beside(t.ProfileURL, "readme.md")}
}

// beside resolves a fixed file name against a URL that was parsed already,
// which cannot fail.
func beside(u *weburl.URL, name string) *weburl.URL {
	r, err := u.Resolve(name)
	if err != nil {
		panic(fmt.Sprintf("audit: %q beside %s: %v", name, u, err))
	}
	return r
}
