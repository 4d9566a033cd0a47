package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/openapi"
	"agentaudit/audit/profile"
)

func validateCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "check local files before they are published",
		UsageText: "agentaudit validate PROFILE [OPENAPI] [--json] [--allow-local]",
		Description: "Checks the structure of an agentic.json and, with OPENAPI, the bindings of its actions. Nothing is read\n" +
			"from the network. Exit code 1 means that something is not valid; each problem has its place.\n\n" +
			"EXAMPLE\n   agentaudit validate agentic.json openapi.json",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print {valid, profileType, errors, more, warnings, notes} as JSON"},
			&cli.BoolFlag{Name: "allow-local", Usage: "let the origin be http on localhost, 127.0.0.1 or [::1]"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() < 1 || c.NArg() > 2 {
				return usagef("validate takes a profile and at most one OpenAPI document, as in: agentaudit validate agentic.json openapi.json")
			}
			files := openapi.Files{AllowLocal: c.Bool("allow-local"), HasOpenAPI: c.NArg() == 2}
			var err error
			if files.Profile, err = readBounded(c.Args().First(), profile.MaxSize, "a profile"); err != nil {
				return err
			}
			if files.HasOpenAPI {
				if files.OpenAPI, err = readBounded(c.Args().Get(1), profile.MaxOpenAPISize, "an OpenAPI document"); err != nil {
					return err
				}
			}
			v := openapi.ValidateFiles(files)
			if c.Bool("json") {
				err = printJSON(s.Out, v)
			} else {
				printVerdict(s, c.Args().Slice(), v)
			}
			if err != nil {
				return undone(err)
			}
			if !v.Valid {
				return objects()
			}
			return nil
		},
	}
}

// printVerdict shows problems as compilers do: file, line, column, message.
func printVerdict(s streams, names []string, v *openapi.Verdict) {
	sc := newScreen(s.Out)
	for _, e := range v.Errors {
		name := names[0]
		if e.File == openapi.FileOpenAPI {
			name = names[1]
		}
		where := clean(name)
		if e.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", where, e.Line, e.Column)
		}
		pointer := ""
		if e.Pointer != "" {
			pointer = clean(profile.ShowPointer(e.Pointer)) + ": "
		}
		fmt.Fprintf(s.Out, "%s: %s %s%s\n", where, sc.in("✗", red), pointer, clean(e.Message))
		if e.Remedy != "" {
			fmt.Fprintln(s.Out, sc.wrap("→ "+clean(e.Remedy), "   "))
		}
	}
	if v.More > 0 {
		fmt.Fprintf(s.Out, "and %d more\n", v.More)
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(s.Out, "%s %s\n", sc.in("!", yellow), clean(w))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(s.Out, "· %s\n", clean(n))
	}
	if v.Valid {
		what := "action profile"
		if v.ProfileType == profile.SiteType {
			what = "site profile"
		}
		fmt.Fprintf(s.Out, "%s %s is a valid %s\n", sc.in("✓", green), clean(names[0]), what)
	}
}
