package openapi

import (
	"fmt"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
)

// Code names what is wrong; tests and callers rely on it, not on the prose.
type Code string

// What can be wrong with a document, an index or a binding.
const (
	CodeVersion          Code = "version"
	CodePaths            Code = "paths"
	CodeServers          Code = "servers"
	CodePathMissing      Code = "path-missing"
	CodeMethodMissing    Code = "method-missing"
	CodeOperationID      Code = "operation-id"
	CodeNotFound         Code = "operation-not-found"
	CodeAmbiguous        Code = "operation-twice"
	CodeMethod           Code = "method"
	CodePath             Code = "path"
	CodePlaceholder      Code = "placeholder"
	CodePathItem         Code = "path-item"
	CodeOperationServers Code = "operation-servers"
	CodeParameter        Code = "parameter"
	CodeHeader           Code = "header"
	CodeBody             Code = "body"
)

// Problem is one thing that is wrong, with what to do about it.
type Problem struct {
	Code Code
	// Action is the id of the action whose binding fails, "" where the problem
	// is that of the document or of an index.
	Action string
	// OperationID, Method and Path name the operation where there is one.
	OperationID, Method, Path string
	// Pointer is the JSON Pointer of the place in the OpenAPI document, Line
	// and Column its place in the text; both count from 1.
	Pointer      string
	Line, Column int
	// Message says what is wrong, Remedy what to do: clauses without a final
	// full stop.
	Message, Remedy string
}

// String is the message, led by the id of the action.
func (p Problem) String() string {
	if p.Action != "" {
		return p.Action + ": " + p.Message
	}
	return p.Message
}

// Messages are the problems as sentences.
func Messages(problems []Problem) []string {
	out := make([]string, 0, len(problems))
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

// problem starts a problem at a place of the document; what names a member of
// the root where there is no place. A member that is missing is the document.
func (d *Document) problem(code Code, at *place, what string) Problem {
	p := Problem{Code: code}
	offset := 0
	switch {
	case at != nil && at.operation != nil:
		method := at.operation.method
		p.Method, p.Path, offset = method, at.path.Name, at.operation.offset
		p.OperationID = d.operation(*at).OperationID
		p.Pointer = jsontree.Pointer("paths", at.path.Name, lower(method))
	case at != nil:
		p.Path, offset = at.path.Name, at.path.offset
		p.Pointer = jsontree.Pointer("paths", at.path.Name)
	case what != "":
		if at, ok := d.offsets[what]; ok {
			p.Pointer, offset = jsontree.Pointer(what), at
		}
	}
	p.Pointer = jsontree.WellFormed(p.Pointer)
	position := d.text.Position(offset)
	p.Line, p.Column = position.Line, position.Column
	return p
}

func (p Problem) say(message, remedy string) Problem {
	p.Message, p.Remedy = message, remedy
	return p
}

// CheckDocument judges what any OpenAPI document of a site profile must be: it
// has paths and is of version 3 (specification section 7).
func CheckDocument(d *Document) []Problem {
	return d.checkDocument("3.", "an OpenAPI 3 document")
}

func (d *Document) checkDocument(version, what string) []Problem {
	var problems []Problem
	if len(d.T.OpenAPI) < len(version) || d.T.OpenAPI[:len(version)] != version {
		found := "there is none"
		if d.T.OpenAPI != "" {
			found = "it is " + profile.Show(d.T.OpenAPI, 40)
		}
		problems = append(problems, d.problem(CodeVersion, nil, "openapi").say(
			fmt.Sprintf("the member openapi must be a text that starts with %s, %s", version, found),
			"publish "+what+" as JSON"))
	}
	if !d.HasPaths {
		problems = append(problems, d.problem(CodePaths, nil, "paths").say(
			"the member paths must be an object, and there is none", "list the operations of the API under paths"))
	}
	return problems
}
