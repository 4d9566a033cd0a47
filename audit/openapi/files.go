package openapi

import (
	"errors"
	"fmt"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
)

// Files are local files to be validated.
type Files struct {
	Profile []byte
	// OpenAPI is used only where HasOpenAPI is set.
	OpenAPI    []byte
	HasOpenAPI bool
	AllowLocal bool
}

// The names of the files in errors.
const (
	FileProfile = "profile"
	FileOpenAPI = "openapi"
)

// FileError is one thing that is wrong with a file.
type FileError struct {
	File string `json:"file"` // FileProfile or FileOpenAPI
	// Pointer is the JSON Pointer of the value, "" for the whole document.
	Pointer string `json:"pointer"`
	// Line and Column count from 1; both are 0 where no place can be named.
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Verdict is the outcome of validating files.
type Verdict struct {
	Valid bool `json:"valid"`
	// ProfileType is "" where the profile is not JSON.
	ProfileType profile.Type `json:"profileType,omitempty"`
	Errors      []FileError  `json:"errors"`
	// More counts the errors beyond those that are listed.
	More     int      `json:"more,omitempty"`
	Warnings []string `json:"warnings"`
	Notes    []string `json:"notes"`
}

// ValidateFiles judges a local profile and, where it is given, one OpenAPI
// document, against which every action is checked (specification section 9).
func ValidateFiles(f Files) *Verdict {
	v := &Verdict{Errors: []FileError{}, Warnings: []string{}, Notes: []string{}}
	p := v.profile(f)
	if f.HasOpenAPI {
		v.openapi(f, p)
	} else if _, ok := p.(*profile.Action); ok {
		v.Notes = append(v.Notes, "the OpenAPI binding was not checked; give the OpenAPI document to have it checked")
	}
	v.Valid = len(v.Errors) == 0
	return v
}

func (v *Verdict) fail(file string, err error) {
	e := FileError{File: file, Message: err.Error()}
	if s, ok := errors.AsType[*jsontree.SyntaxError](err); ok {
		e.Line, e.Column, e.Message = s.Line, s.Column, s.Message
	}
	v.Errors = append(v.Errors, e)
}

// profile judges the profile; the result is nil where it is not valid.
func (v *Verdict) profile(f Files) profile.Profile {
	if err := profile.CheckSize(f.Profile); err != nil {
		v.fail(FileProfile, err)
		return nil
	}
	d, err := profile.Decode(f.Profile)
	if err != nil {
		v.fail(FileProfile, err)
		return nil
	}
	v.ProfileType = d.Type
	judged := d.Validate(profile.Options{AllowLocal: f.AllowLocal})
	for _, p := range judged.Problems {
		v.Errors = append(v.Errors, FileError{FileProfile, p.Pointer, p.Line, p.Column, p.Message, ""})
	}
	v.More = judged.More
	return judged.Profile
}

// openapi judges the document, beside a profile that may be nil.
func (v *Verdict) openapi(f Files, p profile.Profile) {
	if err := CheckSize(f.OpenAPI); err != nil {
		v.fail(FileOpenAPI, err)
		return
	}
	d, err := Parse(f.OpenAPI)
	_, otherJSON := errors.AsType[*KindError](err)
	switch {
	case err != nil && !(otherJSON && v.ProfileType == profile.SiteType):
		v.fail(FileOpenAPI, err)
	case p == nil:
		v.Notes = append(v.Notes, "the OpenAPI document was only read, since the profile is not valid")
	case p.Type() == profile.SiteType:
		v.Notes = append(v.Notes, "the OpenAPI document is JSON and was not used otherwise: site profiles are checked against their documents by an audit")
	default:
		action := p.(*profile.Action)
		if paths := action.OpenAPIPaths(); len(paths) > 1 {
			v.Warnings = append(v.Warnings, fmt.Sprintf("the profile names %d OpenAPI documents; all actions were checked against the one given", len(paths)))
		}
		for _, p := range CheckBindings(d, action.Actions) {
			v.Errors = append(v.Errors, FileError{FileOpenAPI, p.Pointer, p.Line, p.Column, p.String(), p.Remedy})
		}
	}
}
