package publication

// listing writes LISTING.md: copy for submissions to directories (seed
// PUBLICATION, "README and listing copy").
func (s *subject) listing() string {
	head := "# Listing: " + s.name + "\n\n" +
		"Copy for directories of agent services. It submits nothing by itself.\n" +
		"\n## Title\n\n" + s.name + "\n" +
		"\n## Short description\n\n" + s.short + "\n" +
		"\n## Full description\n\n" + s.full + "\n" +
		"\n## Links\n\n"
	if s.website != "" {
		head += "- Website: " + s.website + "\n"
	}
	head += s.fileLines()
	tail := "\n## References\n\n" + references + `
## Before you submit

- Read what the directory asks for today; this text follows no provider's format.
- Add what cannot be found from outside: repository, licence, transport, how to get credentials, and examples that work.
- Try every connection yourself. "Linked, not tried" means that a page names the address, and no more.
- A link to a directory is no listing in it, and no approval by it.
`
	return compose(head, s.sections, tail)
}
