// Package profile reads agentic.json: the Site Profile 1.1.0 and the Action
// Profile 1.0.0 (specification sections 3 and 4, seed SITE-PROFILE and SPEC).
//
// [Decode] parses, [Document.Validate] judges by the embedded schema and then
// by the rules that a schema cannot say. What comes out is either a typed
// [*Site] or [*Action], or problems with their places in the published file.
//
// All strings are WTF-8 (package jsontree): a lone surrogate of the JSON is
// still there, so that a text built from a profile is right to the byte.
package profile

import (
	"fmt"

	"agentaudit/audit/jsontree"
)

// Sizes of files, in bytes as read (specification sections 2 and 9). One byte
// more is refused.
const (
	// MaxSize holds for the profile itself, and for the compact JSON of a
	// site profile.
	MaxSize = 65_536
	// MaxOpenAPISize holds for the OpenAPI document of an action profile.
	MaxOpenAPISize = 262_144
)

// CheckSize refuses a profile that is over [MaxSize].
func CheckSize(data []byte) error {
	if len(data) > MaxSize {
		return fmt.Errorf("the profile has %d bytes, at most %d are allowed; shorten it", len(data), MaxSize)
	}
	return nil
}

// Type tells the two kinds of profiles apart.
type Type string

// A document is a site profile if it says so; all else is judged as an action
// profile.
const (
	SiteType   Type = "site"
	ActionType Type = "action"
)

// Document is a file that is JSON. It is immutable and safe for concurrent
// use.
type Document struct {
	// Tree is the whole JSON, with the text as decoded.
	Tree *jsontree.Document
	// Type is what the document is judged as.
	Type Type
}

// Decode parses the bytes of a file. The error is a [*jsontree.SyntaxError].
// Names that stand twice are no error here: see [Document.DuplicateProblems].
// The size is the caller's to check, before reading or with [CheckSize].
func Decode(data []byte) (*Document, error) {
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, err
	}
	return FromTree(tree), nil
}

// FromTree is [Decode] for a JSON that was parsed already.
func FromTree(tree *jsontree.Document) *Document {
	d := &Document{Tree: tree, Type: ActionType}
	if tree.Root.Get("type").IsString(string(SiteType)) {
		d.Type = SiteType
	}
	return d
}

// Options say what is allowed beyond the rules for published files.
type Options struct {
	// AllowLocal lets the origin of an action profile be http on localhost,
	// 127.0.0.1 or [::1].
	AllowLocal bool
}

// Profile is a valid profile: a [*Site] or an [*Action].
type Profile interface {
	// Type tells which.
	Type() Type
	// ServingOrigin is the origin that the profile speaks for, in WHATWG form.
	ServingOrigin() string
	sealed()
}

// Validation is the outcome of judging a document.
type Validation struct {
	Type Type
	// Profile is nil where the document is not valid.
	Profile Profile
	// Problems are sorted by their place in the text, at most [MaxProblems].
	Problems []Problem
	// More counts the problems beyond those.
	More int
}

// Valid reports whether there is no problem.
func (v *Validation) Valid() bool { return len(v.Problems) == 0 && v.More == 0 }

// Messages are the problems as sentences with their places, and one more that
// counts those left out.
func (v *Validation) Messages() []string { return messages(v.Problems, v.More) }

// Err is nil where the document is valid, else an error with the first problem
// and the number of the others.
func (v *Validation) Err() error {
	switch others := len(v.Problems) + v.More - 1; {
	case v.Valid():
		return nil
	case others > 0:
		return fmt.Errorf("the profile is not valid: %v (and %d more)", v.Problems[0], others)
	}
	return fmt.Errorf("the profile is not valid: %v", v.Problems[0])
}

// Validate judges the document. Where names stand twice nothing else is
// judged, since it is open which value counts.
func (d *Document) Validate(o Options) *Validation {
	v := &Validation{Type: d.Type}
	if v.Problems, v.More = d.DuplicateProblems(); len(v.Problems) > 0 {
		return v
	}
	c := collector{doc: d.Tree}
	root := &d.Tree.Root
	if d.Type == SiteType {
		if c.schema(siteSchema(), root); c.none() {
			if s := newSite(root); c.site(s) {
				v.Profile = s
			}
		}
	} else {
		if c.schema(actionSchema(), root); c.none() {
			if a := newAction(root); c.action(a, o) {
				v.Profile = a
			}
		}
	}
	v.Problems, v.More = c.sorted()
	return v
}
