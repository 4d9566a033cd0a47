package publication

import "fmt"

// readme writes README.md: what the service is, where its files are, what
// there is to read and to connect to, the two projects, and what to do when
// something changes (seed PUBLICATION, "README and listing copy").
func (s *subject) readme() string {
	head := "# " + s.name + "\n\n" + s.full + "\n"
	if s.website != "" {
		head += "\nWebsite: " + s.website + "\n"
	}
	head += "\n## Files for agents\n\n" + s.fileLines()
	tail := "\n## The convention behind these files\n\n" + references +
		"\nThese links name the projects. They do not say that either of them lists or endorses this service.\n" +
		"\n## When something changes\n\n" + s.maintenance()
	return compose(head, s.sections, tail)
}

func (s *subject) fileLines() string {
	kind := "Action Profile 1.0.0: the contract of each action"
	if s.site {
		kind = "Site Profile 1.1.0: resources and API operations"
	}
	return "- " + fileLink(NameJSON, s.at) + ": the authoritative profile (" + kind + "). Validate it before relying on it.\n" +
		"- " + fileLink(NameText, beside(s.at, NameText)) + ": an index of the profile for reading, generated from it.\n"
}

func (s *subject) maintenance() string {
	first := "Correct agentic.json, or scan the site again, whenever pages, API operations or connections change."
	if !s.site {
		first = "Change agentic.json only together with the API that it binds; requests under way stay bound to the old contract."
	}
	return fmt.Sprintf(`1. %s
2. Generate agentic.txt anew from that agentic.json and publish the two together: agentic.json as %s, agentic.txt as %s.
3. Merge this text into the README that you have. Keep what it says about setup, authentication, usage, licence and support, and keep the links above visible.
4. Publish the README as raw Markdown beside agentic.json, and audit the publication after every change.
`, first, TypeJSON, TypeText)
}
