package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/audit/agentstxt"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
	"agentaudit/worker"
)

func agentsCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:  "agents",
		Usage: "audit one site's agents.txt and agents.json, or local files",
		UsageText: "agentaudit agents TARGET [--json] [--strict]\n" +
			"   agentaudit agents [--file FILE] [--json-file FILE] [--origin URL] [--json] [--strict]\n" +
			"   agentaudit agents TARGET --who USER-AGENT --can \"METHOD PATH\"\n" +
			"   agentaudit agents convert FILE [--to text|json] [--out FILE]",
		Description: "Judges the capability declaration of draft-car-agents-txt-wellknown-00, in both forms. TARGET is a domain\n" +
			"or any URL on the site; redirects and operators' declarations are followed, also to other hosts. With\n" +
			"--file or --json-file nothing is read from the network, and how the files are served is not judged.\n" +
			"--who and --can ask what an agent may do; where text and JSON differ the JSON answers, as for readers.\n" +
			"Exit code 1 means invalid (to a question: no), 3 that the site gave no definite answer or has no\n" +
			"declaration that could answer. No file, or one of another format, is no fault.\n\n" +
			"EXAMPLE\n   agentaudit agents shop.example\n" +
			"   agentaudit agents --file agents.txt --json-file agents.json --origin https://shop.example\n" +
			"   agentaudit agents shop.example --who \"ExampleBot/1.0\" --can \"GET /products\"",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "file", Usage: "judge the local agents.txt `FILE`"},
			&cli.StringFlag{Name: "json-file", Usage: "judge the local agents.json `FILE`"},
			&cli.StringFlag{Name: "origin", Usage: "the local files are for the site at `URL`"},
			&cli.StringFlag{Name: "who", Usage: "ask for the agent that sends `USER-AGENT`"},
			&cli.StringFlag{Name: "can", Usage: "ask whether it may make the `REQUEST`, as in \"GET /products\""},
			&cli.BoolFlag{Name: "json", Usage: "print the agents.txt report (to a question: the answer) as JSON"},
			&cli.BoolFlag{Name: "strict", Usage: "object to a missing charset and to unknown parameter types"},
		}, visitFlags()...),
		Subcommands: []*cli.Command{convertCommand(s)},
		Action: func(c *cli.Context) error {
			q, err := newQuestion(c)
			if err != nil {
				return err
			}
			if _, err := newConfig(c, s); err != nil {
				return err
			}
			var d *declared
			if c.IsSet("file") || c.IsSet("json-file") {
				d, err = localAgents(c)
			} else {
				d, err = siteAgents(c, s)
			}
			if err != nil {
				return err
			}
			if q != nil {
				return q.answer(s, d, c.Bool("json"))
			}
			if c.Bool("json") {
				err = printJSON(s.Out, d.report)
			} else {
				err = printAgents(s.Out, d.report)
			}
			if err != nil {
				return undone(err)
			}
			switch d.report.Verdict {
			case agentstxt.VerdictInvalid:
				return objects()
			case agentstxt.VerdictUnchecked:
				return &exitError{code: exitUndone}
			}
			return nil
		},
	}
}

// declared is what a site or local files declare.
type declared struct {
	report *agentstxt.Report
	// text and json are nil where there is no declaration of that form;
	// textName and jsonName say where they were found.
	text, json         *agentstxt.Document
	textName, jsonName string
	local              bool
}

// siteAgents reads and judges the files of the one site that was named.
func siteAgents(c *cli.Context, s streams) (*declared, error) {
	if c.NArg() != 1 {
		return nil, usagef("agents takes one site, not %d, or local files with --file and --json-file", c.NArg())
	}
	if c.IsSet("origin") {
		return nil, usagef("--origin is for local files; name the site or the files, not both")
	}
	t, err := audit.ParseTarget(c.Args().First(), "")
	if err != nil {
		return nil, usagef("%v", err)
	}
	client, err := newClient(c, s, fetch.Config{})
	if err != nil {
		return nil, err
	}
	in, err := readAgents(c, s, client, t)
	if err != nil {
		return nil, err
	}
	d := &declared{report: agentstxt.Judge(in), textName: agentstxt.TextPath, jsonName: agentstxt.JSONPath}
	d.text, d.json = agentstxt.Documents(in)
	for _, f := range d.report.Files {
		switch {
		case f.Format != agentstxt.Draft:
		case f.Path == agentstxt.TextRootPath && !d.has(agentstxt.TextPath):
			d.textName = f.Path
		case f.Path == agentstxt.JSONRootPath && !d.has(agentstxt.JSONPath):
			d.jsonName = f.Path
		}
	}
	return d, nil
}

// readAgents reads the files, again after a passing trouble as audit does.
func readAgents(c *cli.Context, s streams, client *fetch.Client, t audit.Target) (agentstxt.Input, error) {
	policy := retryPolicy(c)
	for attempt := 1; ; attempt++ {
		in, wait, err := readAgentsOnce(c.Context, client, t, attempt, c.Bool("strict"), policy)
		if err != nil || wait == 0 {
			return in, err
		}
		fmt.Fprintf(s.Err, "The site gave no definite answer. Trying again in %s.\n", duration(wait))
		select {
		case <-time.After(wait):
		case <-c.Context.Done():
			return in, c.Context.Err()
		}
	}
}

// readAgentsOnce makes one attempt; wait is the time until the next, 0 where
// this one stands.
func readAgentsOnce(ctx context.Context, client *fetch.Client, t audit.Target, attempt int, strict bool, policy worker.Retry) (in agentstxt.Input, wait time.Duration, err error) {
	var options []fetch.VisitOption
	if attempt > 1 {
		options = append(options, fetch.Fresh())
	}
	v := client.Visit(options...)
	defer v.Close()
	heard := &listener{Fetcher: v}
	if in, err = audit.ReadAgents(ctx, heard, t, time.Now()); err != nil {
		return in, 0, err
	}
	in.Strict = strict
	if agentstxt.Judge(in).Verdict != agentstxt.VerdictUnchecked || !heard.passing {
		return in, 0, nil
	}
	j := audit.Judgement{Result: &report.Result{}, Verdict: audit.Verdict{Again: audit.Trouble, RetryAfter: heard.retryAfter}}
	return in, policy.Next(j, attempt, nil).After, nil
}

// listener hears whether a site is in passing trouble, and for how long it
// asks to be left alone.
type listener struct {
	audit.Fetcher
	passing    bool
	retryAfter time.Duration
}

func (l *listener) Fetch(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	resp, err := l.Fetcher.Fetch(ctx, req)
	switch {
	case err != nil:
		l.passing = l.passing || fetch.KindOf(err).Temporary()
	case resp.Status == http.StatusTooManyRequests || resp.Status >= 500 && resp.Status <= 599:
		l.passing, l.retryAfter = true, max(l.retryAfter, resp.RetryAfter)
	}
	return resp, err
}

// has reports whether a declaration was found at a place.
func (d *declared) has(path string) bool {
	for _, f := range d.report.Files {
		if f.Path == path && f.Format == agentstxt.Draft {
			return true
		}
	}
	return false
}

// localAgents judges local files.
func localAgents(c *cli.Context) (*declared, error) {
	if c.NArg() > 0 {
		return nil, usagef("name a site or local files, not both: %s", clean(c.Args().First()))
	}
	in := agentstxt.Input{Now: time.Now(), Strict: c.Bool("strict")}
	if c.IsSet("origin") {
		u, err := weburl.Parse(c.String("origin"))
		if err != nil || u.Scheme() != "https" && u.Scheme() != "http" || u.HasCredentials() {
			return nil, usagef("--origin: give the site's address, as in https://shop.example")
		}
		in.Origin = u.Origin()
	}
	d := &declared{textName: c.String("file"), jsonName: c.String("json-file"), local: true}
	read := func(flag string) (*agentstxt.LocalFile, error) {
		if !c.IsSet(flag) {
			return nil, nil
		}
		// A file that is too large gets a check that says so.
		body, err := readBeyond(c.String(flag), agentstxt.MaxBody, "a declaration")
		return &agentstxt.LocalFile{Name: c.String(flag), Body: body}, err
	}
	text, err1 := read("file")
	json, err2 := read("json-file")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	d.report = agentstxt.JudgeFiles(text, json, in)
	// The report lists the files in this order.
	files := d.report.Files
	if text != nil {
		if files[0].Format == agentstxt.Draft {
			d.text = agentstxt.ParseText(text.Body)
		}
		files = files[1:]
	}
	if json != nil && files[0].Format == agentstxt.Draft {
		d.json = agentstxt.ParseJSON(json.Body)
	}
	return d, nil
}

// place is the whole name of a file, for people.
func (d *declared) place(name string) string {
	if d.local {
		return name
	}
	return d.report.Origin + name
}

// none says that there is no declaration to work with.
func (d *declared) none() error {
	err := fmt.Errorf("there is no declaration of the draft to answer from: %s", agentsSentence(d.report.Verdict, d.report.Format))
	if d.local {
		return &exitError{exitUsage, err}
	}
	return undone(err)
}
