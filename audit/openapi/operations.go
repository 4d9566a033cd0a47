package openapi

import (
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
)

func lower(method string) string { return strings.ToLower(method) }

// operation is the operation at a place.
func (d *Document) operation(at place) *openapi3.Operation {
	return *slot(at.path.Item, lower(at.operation.method))
}

// find is the operation of a method (in capitals), nil where there is none.
func (p *Path) find(method string) *operation {
	for i := range p.operations {
		if p.operations[i].method == method {
			return &p.operations[i]
		}
	}
	return nil
}

// Path is a member of paths by its exact name, or nil.
func (d *Document) Path(name string) *Path {
	if i, ok := d.index[name]; ok {
		return &d.Paths[i]
	}
	return nil
}

// Operations lists what may be indexed in a site profile: paths in the order
// of the document, within a path in the order of [profile.Methods]. Paths that
// break the rules of a site profile are left out, and so are operation ids of
// no or more than 160 code points. Summaries are as in the document.
func (d *Document) Operations() []profile.Operation {
	var out []profile.Operation
	for i := range d.Paths {
		p := &d.Paths[i]
		if !profile.IndexablePath(p.Name) || jsontree.RuneCount(p.Name) > profile.MaxPathLength {
			continue
		}
		for _, method := range profile.Methods {
			o := p.find(method)
			if o == nil {
				continue
			}
			op := d.operation(place{p, o})
			listed := profile.Operation{Method: method, Path: p.Name, OperationID: op.OperationID, Summary: op.Summary}
			if jsontree.RuneCount(listed.OperationID) > profile.MaxOperationIDLength {
				listed.OperationID = ""
			}
			out = append(out, listed)
		}
	}
	return out
}

// CheckIndex judges a document against the index that a site profile gives of
// it: what [CheckDocument] asks, and every indexed operation under that path
// and method, with the same operation id where the index gives one.
func CheckIndex(d *Document, api profile.API) []Problem {
	if problems := CheckDocument(d); len(problems) > 0 {
		return problems
	}
	var problems []Problem
	for _, o := range api.Operations {
		path := d.Path(o.Path)
		name := o.Method + " " + profile.Show(o.Path, 120)
		report := func(code Code, at *place, message, remedy string) {
			p := d.problem(code, at, "paths").say(message, remedy)
			p.Method, p.Path = o.Method, o.Path
			if p.OperationID == "" {
				p.OperationID = o.OperationID
			}
			problems = append(problems, p)
		}
		switch {
		case path == nil:
			report(CodePathMissing, nil, fmt.Sprintf("%s is indexed, but the document has no such path", name),
				fmt.Sprintf("remove %s from the index in agentic.json, or add the path to the document", name))
		case path.find(o.Method) == nil:
			report(CodeMethodMissing, &place{path: path}, fmt.Sprintf("%s is indexed, but the document has no %s operation under this path", name, lower(o.Method)),
				fmt.Sprintf("remove %s from the index in agentic.json, or add the operation to the document", name))
		case o.OperationID != "":
			at := place{path, path.find(o.Method)}
			if found := d.operation(at).OperationID; found != o.OperationID {
				is := "none"
				if found != "" {
					is = profile.Show(found, 60)
				}
				report(CodeOperationID, &at, fmt.Sprintf("%s is indexed with the operationId %s, the document has %s", name, profile.Show(o.OperationID, 60), is),
					fmt.Sprintf("copy the operationId of %s from the document into agentic.json as it is, or leave it out", name))
			}
		}
	}
	return problems
}
