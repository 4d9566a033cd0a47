package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/agentstxt"
)

// question is what somebody wants to know of a declaration: whether an agent
// may make a request.
type question struct{ agent, method, path string }

// newQuestion reads --who and --can; nil is no question.
func newQuestion(c *cli.Context) (*question, error) {
	switch {
	case !c.IsSet("who") && !c.IsSet("can"):
		return nil, nil
	case !c.IsSet("who") || !c.IsSet("can"):
		return nil, usagef("--who and --can belong together, as in: --who \"ExampleBot/1.0\" --can \"GET /products\"")
	}
	q := &question{agent: strings.TrimSpace(c.String("who")), method: "GET", path: strings.TrimSpace(c.String("can"))}
	if method, path, ok := strings.Cut(q.path, " "); ok && !strings.HasPrefix(method, "/") {
		q.method, q.path = strings.ToUpper(method), strings.TrimSpace(path)
	}
	isLetter := func(r rune) bool { return 'A' <= r && r <= 'Z' }
	if !strings.HasPrefix(q.path, "/") || strings.Trim(q.method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || !strings.ContainsFunc(q.method, isLetter) {
		return nil, usagef("--can %q: give a method and a path, as in \"GET /products\"", clean(c.String("can")))
	}
	if q.agent == "" {
		return nil, usagef("--who is empty; give a User-Agent, as in \"ExampleBot/1.0\"")
	}
	return q, nil
}

// answered is an answer with the file that gave it.
type answered struct {
	File string `json:"file"`
	agentstxt.Decision
}

// answer answers from the JSON where text and JSON differ, as readers do;
// else from the text, whose lines are easier to read.
func (q *question) answer(s streams, d *declared, asJSON bool) error {
	doc, name := d.text, d.textName
	if doc == nil || d.json != nil && len(d.report.Differences) > 0 {
		doc, name = d.json, d.jsonName
	}
	if doc == nil {
		return d.none()
	}
	a := answered{d.place(name), agentstxt.Answer(doc, q.agent, q.method, q.path)}
	var err error
	if asJSON {
		err = printJSON(s.Out, a)
	} else {
		err = q.print(s.Out, a)
	}
	switch {
	case err != nil:
		return undone(err)
	case a.Allowed == agentstxt.Disallowed:
		return objects()
	}
	return nil
}

func (q *question) print(w io.Writer, a answered) error {
	sc := newScreen(w)
	style := green
	if a.Allowed == agentstxt.Disallowed {
		style = red
	}
	list := func(words []string) string {
		if len(words) == 0 {
			return "none"
		}
		return clean(strings.Join(words, ", "))
	}
	fmt.Fprintf(w, "%s  %s for %s\n", sc.in(strings.ToUpper(string(a.Allowed)), style, bold), clean(q.method+" "+q.path), clean(q.agent))
	fmt.Fprintln(w, sc.wrap(clean(a.Why), "  "))
	if a.Line > 0 {
		fmt.Fprintf(w, "\n  %s  %s\n", sc.in(fmt.Sprintf("%s:%d", clean(a.File), a.Line), dim), clean(a.DecidedBy))
	} else {
		fmt.Fprintf(w, "\n  %s\n", sc.in(clean(a.File), dim))
	}
	agent := "none applies"
	if a.Agent != "" {
		agent = clean(a.Agent)
	}
	limit := "none"
	if a.RateLimit != nil {
		limit = clean(a.RateLimit.String())
	}
	fmt.Fprintf(w, "\n  agent block   %s\n  capabilities  %s\n", agent, list(a.Capabilities))
	if len(a.Used) > 0 {
		fmt.Fprintf(w, "  at this path  %s\n", list(a.Used))
	}
	fmt.Fprintf(w, "  rate limit    %s\n", limit)
	for _, n := range a.Notes {
		fmt.Fprintln(w, sc.wrap("· "+clean(n), "  "))
	}
	_, err := fmt.Fprintln(w, sc.wrap("· This is advice: nothing in these files enforces anything.", "  "))
	return err
}
