package sitelist

import "strings"

// The names of columns and members that are looked for, in this order.
var (
	siteColumns   = []string{"url", "website", "site", "homepage", "domain", "origin", "link"}
	idColumns     = []string{"id", "slug"}
	labelColumns  = []string{"label", "name", "title"}
	tagColumns    = []string{"tags", "tag"}
	readmeColumns = []string{"readmeurl", "readme_url", "readme"}
)

// columns are the names to look for in one list, in lower case.
type columns struct {
	site, id, label, tags, readme []string
	// asked are the names that the caller gave: they must be there.
	asked []string
}

func newColumns(opt Options) columns {
	var c columns
	pick := func(given string, usual []string) []string {
		if given = columnName(given); given == "" {
			return usual
		}
		c.asked = append(c.asked, given)
		return []string{given}
	}
	c.site = pick(opt.Column, siteColumns)
	c.id = pick(opt.IDColumn, idColumns)
	c.label = pick(opt.LabelColumn, labelColumns)
	c.tags = pick(opt.TagColumn, tagColumns)
	c.readme = pick(opt.ReadmeColumn, readmeColumns)
	return c
}

// columnName is a name as names are compared.
func columnName(s string) string {
	s, _ = trimInvisible(s)
	return strings.ToLower(s)
}

// readmeText reports whether a value that is called "readme", by us and not
// by the user, is the README itself and not where it is.
func (c columns) readmeText(name, value string) bool {
	if name != "readme" || len(c.readme) == 1 {
		return false
	}
	value, _ = trimInvisible(value)
	return len(value) > 2048 || strings.ContainsAny(value, " \t\n\r")
}

const noteReadmeText = "what the list calls readme is a text, not a URL; it was not used"
