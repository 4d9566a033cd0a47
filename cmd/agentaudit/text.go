package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/profile"
	"agentaudit/audit/shell"
	"agentaudit/audit/textindex"
)

func textCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "text",
		Usage:     "write the agentic.txt that belongs to an agentic.json",
		UsageText: "agentaudit text PROFILE [--out FILE] [--profile-url URL] [--legacy] [--check]",
		Description: "Writes agentic.txt beside PROFILE, never over an existing file. With --check it writes nothing and\n" +
			"compares the file that is there: exit code 1 if it differs or is missing.\n\n" +
			"EXAMPLE\n   agentaudit text public/agentic.json --check",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write to (or with --check compare) `FILE` (default: agentic.txt beside PROFILE)"},
			&cli.StringFlag{Name: "profile-url", Usage: "the profile is published at `URL` (default: /agentic.json at its origin)"},
			&cli.BoolFlag{Name: "legacy", Usage: "write the older form, TXT 1.0 or 1.1, without the project references"},
			&cli.BoolFlag{Name: "check", Usage: "compare instead of writing"},
			&cli.BoolFlag{Name: "allow-local", Usage: "let the origin be http on localhost, 127.0.0.1 or [::1]"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("text needs one profile file, as in: agentaudit text agentic.json")
			}
			path := c.Args().First()
			p, err := readProfile(path, c.Bool("allow-local"))
			if err != nil {
				return err
			}
			url := textindex.DefaultURL(p)
			if c.IsSet("profile-url") {
				if url, err = textindex.CheckURL(p, c.String("profile-url")); err != nil {
					return usagef("--profile-url: %v", err)
				}
			}
			form := textindex.Publication
			if c.Bool("legacy") {
				form = textindex.Legacy
			}
			text, err := textindex.Build(p, url, form)
			if err != nil {
				return usagef("%v", err)
			}
			out := c.String("out")
			if out == "" {
				out = filepath.Join(filepath.Dir(path), "agentic.txt")
			}
			if c.Bool("check") {
				return checkText(s, out, text, p, url, form, c.IsSet("legacy"))
			}
			if err := writeNew(out, text); err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "wrote %s for %s\n", out, url)
			return nil
		},
	}
}

// readProfile reads a local profile that must be valid.
func readProfile(path string, allowLocal bool) (profile.Profile, error) {
	data, err := readBounded(path, profile.MaxSize, "a profile")
	if err != nil {
		return nil, err
	}
	doc, err := profile.Decode(data)
	if err != nil {
		return nil, usagef("%s is not valid JSON: %v", clean(path), err)
	}
	v := doc.Validate(profile.Options{AllowLocal: allowLocal})
	if !v.Valid() {
		words := []string{"agentaudit", "validate", path}
		if allowLocal {
			words = append(words, "--allow-local")
		}
		return nil, usagef("%s is not a valid profile: %s (%s lists all problems)", clean(path), clean(v.Messages()[0]), shell.Line(words...))
	}
	return v.Profile, nil
}

// checkText compares a local file. Either form will do unless --legacy asks
// for the older one.
func checkText(s streams, path string, want []byte, p profile.Profile, url string, form textindex.Form, exact bool) error {
	got, err := readBounded(path, textindex.MaxSize, "an agentic.txt")
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(s.Out, "%s is missing; agentaudit text writes it\n", clean(path))
		return objects()
	}
	if err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		fmt.Fprintf(s.Out, "%s is up to date\n", clean(path))
		return nil
	}
	comparison, err := textindex.Compare(got, p, url)
	if err != nil {
		return usagef("%v", err)
	}
	if comparison.Matched && !exact {
		fmt.Fprintf(s.Out, "%s is up to date (TXT %s)\n", clean(path), clean(comparison.Version))
		return nil
	}
	if comparison.Matched {
		fmt.Fprintf(s.Out, "%s is TXT %s, not the form asked for (TXT %s)\n", clean(path), clean(comparison.Version), textindex.Version(p.Type(), form))
		return objects()
	}
	fmt.Fprintf(s.Out, "%s has drifted: %s\n", clean(path), clean(comparison.Difference.String()))
	return objects()
}
