package publication

import (
	"fmt"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
	"agentaudit/audit/textindex"
	"agentaudit/fetch/weburl"
)

// MaxSize is the limit of each file in bytes.
const MaxSize = 65_536

// The names of the files.
const (
	NameJSON    = "agentic.json"
	NameText    = "agentic.txt"
	NameReadme  = "README.md"
	NameListing = "LISTING.md"
)

// The media types to serve the files with.
const (
	TypeJSON     = "application/json"
	TypeText     = "text/plain; charset=utf-8"
	TypeMarkdown = "text/markdown; charset=utf-8"
)

// Files are the four files of a publication. As JSON they are an object from
// name to content.
type Files struct {
	JSON    string `json:"agentic.json"`
	Text    string `json:"agentic.txt"`
	Readme  string `json:"README.md"`
	Listing string `json:"LISTING.md"`
}

// Options say what a bundle is for.
type Options struct {
	// ProfileURL is where agentic.json will be published; "" means at the root
	// of the profile's origin. (A user's empty --profile-url is the command
	// line's to refuse.)
	ProfileURL string
	// AllowLocal lets an action profile speak for http on localhost.
	AllowLocal bool

	// compact writes agentic.json without white space.
	compact bool
}

// SizeError says that a file would be larger than [MaxSize].
type SizeError struct {
	Name string
	Size int // in bytes
}

// Error says what to do as well.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s would have %d bytes, at most %d are allowed; shorten the profile", e.Name, e.Size, MaxSize)
}

// Bundle writes the four files for a profile. agentic.json is what
// JSON.stringify(value, null, 2) gives with a newline behind it, so that a
// contract is preserved as it is; agentic.txt is TXT 1.2.
//
// The error is that of the profile's validation, a [*textindex.URLError], a
// [*textindex.SizeError] or a [*SizeError]. README.md and LISTING.md list less
// where they would be too large.
func Bundle(doc *profile.Document, o Options) (*Files, error) {
	v := doc.Validate(profile.Options{AllowLocal: o.AllowLocal})
	if err := v.Err(); err != nil {
		return nil, err
	}
	p := v.Profile
	if o.ProfileURL == "" {
		o.ProfileURL = textindex.DefaultURL(p)
	}
	raw, err := textindex.CheckURL(p, o.ProfileURL)
	if err != nil {
		return nil, err
	}
	at, err := weburl.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the profile URL: %w", err)
	}
	f := &Files{JSON: indented(doc)}
	if o.compact {
		f.JSON = jsontree.Stringify(&doc.Tree.Root, "") + "\n"
	}
	if len(f.JSON) > MaxSize {
		return nil, &SizeError{NameJSON, len(f.JSON)}
	}
	text, err := textindex.Build(p, raw, textindex.Publication)
	if err != nil {
		return nil, err
	}
	f.Text = string(text)
	s := describe(p, at)
	f.Readme, f.Listing = s.readme(), s.listing()
	return f, nil
}

func indented(doc *profile.Document) string {
	return jsontree.Stringify(&doc.Tree.Root, "  ") + "\n"
}

// beside is a file in the folder of another.
func beside(u *weburl.URL, name string) *weburl.URL {
	other, err := u.Resolve(name)
	if err != nil {
		panic(fmt.Sprintf("publication: %s does not resolve against a valid URL: %v", name, err))
	}
	return other
}
