package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/agentstxt"
)

func convertCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "turn an agents.txt into an agents.json, or back",
		UsageText: "agentaudit agents convert FILE [--to text|json] [--out FILE] [--lossy]",
		Description: "Writes the other form of a declaration to standard output, or to a new file with --out. FILE is either\n" +
			"form, - is standard input. What the other form cannot hold (comments, for one) is listed on standard\n" +
			"error; then nothing is written and the exit code is 1, unless --lossy says that it may be left out. A\n" +
			"file that seems to hold a real credential is not converted.\n\n" +
			"EXAMPLE\n   agentaudit agents convert agents.txt --out agents.json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "write `FORM` text or json", DefaultText: "the other one"},
			&cli.StringFlag{Name: "out", Usage: "write to the new `FILE`"},
			&cli.BoolFlag{Name: "lossy", Usage: "leave out what the other form cannot hold"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("convert takes one file, not %d, as in: agentaudit agents convert agents.txt", c.NArg())
			}
			return convert(s, c.Args().First(), c.String("to"), c.String("out"), c.Bool("lossy"))
		},
	}
}

func convert(s streams, path, to, out string, lossy bool) error {
	switch agentstxt.Form(to) {
	case "", agentstxt.TextForm, agentstxt.JSONForm:
	default:
		return usagef("--to %q: use text or json", clean(to))
	}
	doc, err := readDeclaration(s, path)
	if err != nil {
		return err
	}
	form := agentstxt.Form(to)
	if form == "" {
		form = agentstxt.JSONForm
		if doc.Form == agentstxt.JSONForm {
			form = agentstxt.TextForm
		}
	}
	for _, found := range doc.Credentials(time.Now()) {
		if found.Severity != agentstxt.Info {
			fmt.Fprintf(s.Err, "%s seems to hold a real credential (%s); it is not converted. Remove it and make it invalid:\n"+
				"agentaudit agents says where it stands\n", clean(path), found.Kind)
			return objects()
		}
	}
	body, losses := doc.Convert(form)
	if len(losses) > 0 {
		fmt.Fprintf(s.Err, "%s as %s cannot hold:\n", clean(path), form)
		for _, l := range losses {
			where := clean(path)
			if l.Line > 0 {
				where = fmt.Sprintf("%s:%d:%d", where, l.Line, l.Column)
			}
			fmt.Fprintf(s.Err, "  %s: %s\n", where, clean(l.What))
		}
		if !lossy {
			fmt.Fprintln(s.Err, "nothing is written; --lossy leaves these out")
			return objects()
		}
	}
	if !doc.Valid() {
		fmt.Fprintf(s.Err, "%s is not valid, and neither will be what is written; agentaudit agents says what is wrong\n", clean(path))
	}
	if out == "" {
		if _, err := s.Out.Write(body); err != nil {
			return undone(err)
		}
		return nil
	}
	if err := writeNew(out, body); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "wrote %s\n", clean(out))
	return nil
}

// readDeclaration reads a file of either form, which must be one of the draft.
func readDeclaration(s streams, path string) (*agentstxt.Document, error) {
	var body []byte
	var err error
	if path == "-" {
		if body, err = io.ReadAll(io.LimitReader(s.In, agentstxt.MaxBody+1)); err != nil {
			return nil, undone(fmt.Errorf("cannot read standard input: %w", err))
		}
		if len(body) > agentstxt.MaxBody {
			return nil, usagef("standard input is over the limit of %d bytes for a declaration; shorten it", agentstxt.MaxBody)
		}
	} else if body, err = readBounded(path, agentstxt.MaxBody, "a declaration"); err != nil {
		return nil, err
	}
	file := &agentstxt.LocalFile{Name: path, Body: body}
	parse, text, json := agentstxt.ParseText, file, (*agentstxt.LocalFile)(nil)
	if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(string(body), "\ufeff")), "{") {
		parse, text, json = agentstxt.ParseJSON, nil, file
	}
	r := agentstxt.JudgeFiles(text, json, agentstxt.Input{Now: time.Now()})
	if r.Format == agentstxt.Draft && r.Declaration != nil {
		return parse(body), nil
	}
	for _, k := range r.Checks {
		if k.Severity == agentstxt.Fail {
			return nil, usagef("%s:%d:%d: %s", clean(path), k.Line, k.Column, clean(k.Detail))
		}
	}
	return nil, usagef("%s is no declaration to convert: %s", clean(path), agentsSentence(r.Verdict, r.Format))
}
