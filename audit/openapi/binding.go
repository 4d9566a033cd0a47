package openapi

import (
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"agentaudit/audit/profile"
)

// CheckBindings judges whether the operations of actions are bound as section
// 4 of the specification asks: first the document as a whole, then each action
// with all that is wrong. No problem means that all are bound.
func CheckBindings(d *Document, actions []profile.ActionItem) []Problem {
	problems := d.checkDocument("3.1.", "an OpenAPI 3.1 document")
	if d.servers == filled || d.servers == odd {
		problems = append(problems, d.problem(CodeServers, nil, "servers").say(
			"the document names servers; operations are called on the origin of the profile alone",
			"remove servers from the document, or leave its list empty"))
	}
	if !d.HasPaths {
		return problems
	}
	for _, a := range actions {
		problems = append(problems, d.CheckAction(a)...)
	}
	return problems
}

// role is one of the three operations of an action.
type role struct {
	name, id, method string
	placeholder      string // name of the path parameter, "" for submit
}

// CheckAction judges the three operations of one action, leaving out the
// document as a whole.
func (d *Document) CheckAction(a profile.ActionItem) []Problem {
	var problems []Problem
	for _, r := range []role{
		{"submit", a.Submit, "POST", ""},
		{"status", a.Status, "GET", a.Bindings.StatusRequestID},
		{"verify", a.Verify, "GET", a.Bindings.VerifyResourceID},
	} {
		for _, p := range d.checkRole(r) {
			p.Action = a.ID
			problems = append(problems, p)
		}
	}
	return problems
}

// operationsOf finds get and post operations by their id.
func (d *Document) operationsOf(id string) []place {
	d.once.Do(func() {
		d.byID = map[string][]place{}
		for i := range d.Paths {
			p := &d.Paths[i]
			for _, method := range []string{"GET", "POST"} {
				if o := p.find(method); o != nil {
					at := place{p, o}
					if id := d.operation(at).OperationID; id != "" {
						d.byID[id] = append(d.byID[id], at)
					}
				}
			}
		}
	})
	return d.byID[id]
}

func (d *Document) checkRole(r role) []Problem {
	found := d.operationsOf(r.id)
	switch len(found) {
	case 0:
		p := d.problem(CodeNotFound, nil, "paths").say(
			fmt.Sprintf("%s names the operation %s, but no get or post operation has this operationId", r.name, r.id),
			fmt.Sprintf("give the %s operation the operationId %s in the OpenAPI document, or correct %s in agentic.json", r.method, r.id, r.name))
		p.OperationID = r.id
		return []Problem{p}
	case 1:
		return d.checkPlace(r, found[0])
	}
	return []Problem{d.problem(CodeAmbiguous, &found[1], "").say(
		fmt.Sprintf("%s names the operation %s, but %d operations have this operationId, %s and %s among them", r.name, r.id, len(found), found[0], found[1]),
		fmt.Sprintf("give each operation an operationId of its own; %s must stand once", r.id))}
}

func (d *Document) checkPlace(r role, at place) []Problem {
	var problems []Problem
	report := func(code Code, remedy, message string, args ...any) {
		problems = append(problems, d.problem(code, &at, "").say(
			fmt.Sprintf("%s (%s, %s) ", r.name, r.id, at)+fmt.Sprintf(message, args...), remedy))
	}
	op := d.operation(at)
	if at.path.hasParameters {
		report(CodePathItem, "move the parameters into the operations", "inherits parameters of its path item, which is not supported")
	}
	if at.path.hasServers {
		report(CodePathItem, "remove servers from the path item", "inherits servers of its path item, which is not supported")
	}
	if s := at.operation.servers; s == filled || s == odd {
		report(CodeOperationServers, "remove servers from the operation", "names servers; it is called on the origin of the profile alone")
	}
	if fault := profile.PathFault(at.path.Name); fault != "" {
		report(CodePath, "give the operation a plain path such as /tickets", "has a path that %s", fault)
	}
	if at.operation.method != r.method {
		// What the right operation must have cannot be asked of this one.
		report(CodeMethod, fmt.Sprintf("let %s in agentic.json name a %s operation", r.name, r.method), "must be a %s operation", r.method)
		return problems
	}
	if r.placeholder == "" {
		if strings.ContainsAny(at.path.Name, "{}") {
			report(CodePlaceholder, "submit to a path without parameters; send the input in the body", "must have no { or } in its path")
		}
		if !hasParameter(op, openapi3.ParameterInHeader, profile.IdempotencyHeader) {
			report(CodeHeader, fmt.Sprintf(`add {"name": "%s", "in": "header", "required": true, "schema": {"type": "string"}} to the parameters of %s`, profile.IdempotencyHeader, at),
				"declares no inline header parameter %s with required true", profile.IdempotencyHeader)
		}
		if !takesJSON(op) {
			report(CodeBody, fmt.Sprintf("declare a requestBody with content application/json in %s itself, not by reference", at), "takes no inline application/json request body")
		}
		return problems
	}
	if name, ok := placeholder(at.path.Name); !ok || name != r.placeholder {
		report(CodePlaceholder, fmt.Sprintf("use {%s} once in the path and no other braces, or correct bindings in agentic.json", r.placeholder),
			"must have {%s} as the only placeholder in its path", r.placeholder)
	}
	if !hasParameter(op, openapi3.ParameterInPath, r.placeholder) {
		report(CodeParameter, fmt.Sprintf(`add {"name": "%s", "in": "path", "required": true, "schema": {"type": "string"}} to the parameters of %s`, r.placeholder, at),
			"declares no inline path parameter %s with required true", r.placeholder)
	}
	return problems
}

// placeholder is the name in the one pair of braces of a path; ok is false
// where there are other braces, or no name.
func placeholder(path string) (name string, ok bool) {
	_, rest, _ := strings.Cut(path, "{")
	name, rest, ok = strings.Cut(rest, "}")
	return name, ok && name != "" && strings.Count(path, "{") == 1 && !strings.Contains(rest, "}") && strings.Count(path, "}") == 1
}

// hasParameter looks for a required parameter; all that were kept are inline. Names of headers compare
// without case, in ASCII.
func hasParameter(op *openapi3.Operation, in, name string) bool {
	for _, p := range op.Parameters {
		if p.Value.In != in || !p.Value.Required {
			continue
		}
		if p.Value.Name == name || in == openapi3.ParameterInHeader && equalFold(p.Value.Name, name) {
			return true
		}
	}
	return false
}

// takesJSON reports whether there is an inline application/json body.
func takesJSON(op *openapi3.Operation) bool {
	if op.RequestBody == nil || op.RequestBody.Ref != "" {
		return false
	}
	for name := range op.RequestBody.Value.Content {
		kind, _, _ := strings.Cut(name, ";")
		if equalFold(strings.Trim(kind, " \t"), "application/json") {
			return true
		}
	}
	return false
}

// equalFold is [strings.EqualFold] for ASCII: all letters that fold into it
// from beyond take more bytes.
func equalFold(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }
