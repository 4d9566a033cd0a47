package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentaudit/audit/openapi"
	"agentaudit/audit/report"
)

// passed is the detail of a document in order.
func (d *document) passed() string {
	switch {
	case len(d.actions) > 0:
		return d.url.String() + " describes the operations of " + count(len(d.actions), "action", "actions") + " as the profile binds them."
	case len(d.indexes) > 0:
		n := 0
		for _, api := range d.indexes {
			n += len(api.Operations)
		}
		return d.url.String() + " can be read and holds the " + count(n, "indexed operation", "indexed operations") + "."
	case d.openapi:
		return d.url.String() + " can be read and is OpenAPI 3."
	}
	return d.url.String() + " can be read."
}

// judgeDocument judges what was read of a document. detail is "" where it is
// in order. For documents of an action profile the validation is that of its
// binding, nil where the document is no JSON.
func (j *judge) judgeDocument(d *document, r *Read) (detail, remedy string, v *report.Validation) {
	switch {
	case d.url == nil:
		return "The OpenAPI path " + d.name + " leads to another origin", "Name a document on the profile's own origin", nil
	case r == nil:
		return d.url.String() + " was not read", "Audit the site again", nil
	case r.answer(true) != answerFile:
		return r.trouble("the document", true), d.troubleRemedy(r), nil
	case r.challenged(!d.openapi):
		return r.trouble("the document", false), d.troubleRemedy(r), nil
	case !d.openapi:
		return "", "", nil
	}
	doc, err := openapi.Parse(r.Body)
	if kind, ok := errors.AsType[*openapi.KindError](err); ok {
		detail, remedy = sentence(kind.Error()), "Publish the OpenAPI document, a JSON object with openapi and paths, at "+d.url.String()
		if len(d.actions) > 0 {
			v = &report.Validation{Errors: []string{detail}, Warnings: []string{}}
		}
		return detail, remedy, v
	}
	if err != nil {
		if r.isPage() {
			return d.url.String() + " answers with an HTML page instead of an OpenAPI document", "Serve the OpenAPI document as JSON at " + d.url.String(), nil
		}
		return "The OpenAPI document is not valid JSON: " + err.Error(), "Correct the JSON at this place and publish it at " + d.url.String(), nil
	}
	var problems []openapi.Problem
	if len(d.actions) > 0 {
		problems = openapi.CheckBindings(doc, d.actions)
		v = &report.Validation{Valid: len(problems) == 0, Errors: []string{}, Warnings: []string{}}
	} else if problems = openapi.CheckDocument(doc); len(problems) == 0 {
		for _, api := range d.indexes {
			problems = append(problems, openapi.CheckIndex(doc, api)...)
		}
	}
	if len(problems) == 0 {
		return "", "", v
	}
	var messages, details, remedies []string
	for _, p := range problems {
		message := p.String()
		if p.Pointer != "" {
			message += fmt.Sprintf(" (line %d, column %d)", p.Line, p.Column)
		}
		message = sentence(wellFormed1(message))
		messages = append(messages, message)
		if len(details) < 3 {
			details = append(details, message)
		}
		if r := sentence(wellFormed1(p.Remedy)); !slices.Contains(remedies, r) {
			remedies = append(remedies, r)
		}
	}
	if v != nil {
		v.Errors = messages
	}
	if more := len(messages) - len(details); more > 0 {
		details = append(details, "And "+count(more, "more problem", "more problems")+".")
	}
	if more := len(remedies) - 5; more > 0 {
		remedies = append(remedies[:5], "And so on for "+count(more, "more place", "more places")+".")
	}
	return strings.Join(details, " "), strings.Join(remedies, " ") + " The document is " + d.url.String(), v
}
