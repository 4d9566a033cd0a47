package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/audit/format"
	"agentaudit/audit/report"
	"agentaudit/audit/shell"
	"agentaudit/fetch"
)

func auditCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "audit",
		Usage:     "audit one site and say what to do",
		UsageText: "agentaudit audit TARGET [--publication] [--format FORMAT] [--baseline FILE] [--readme URL] [--fix-kit DIR]",
		Description: "TARGET is a domain, a directory or the URL of an agentic.json. Exit code 0 means that the JSON and its\n" +
			"API documents are valid (with --publication: that the whole publication is successful), 1 that they\n" +
			"are not, 3 that the site gave no definite answer. agents.txt, another convention, is audited beside it\n" +
			"and changes neither; --json leaves it out (see agentaudit agents). With --baseline only findings that\n" +
			"are not in an earlier output (json, ndjson or sarif) make the exit code 1. --fix-kit writes the files that\n" +
			"mend the publication, with what to publish where; --discover also shows what else the site offers.\n\n" +
			"EXAMPLE\n   agentaudit audit shop.example --publication\n" +
			"   agentaudit audit shop.example --fix-kit shop-files\n" +
			"   agentaudit audit shop.example --format sarif --baseline last.sarif > now.sarif",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print the report, version 3, and nothing else"},
			&cli.StringFlag{Name: "format", Usage: "print as `FORMAT`: text, json (as --json), sarif, junit or markdown", Value: formatText},
			baselineFlag(),
			&cli.BoolFlag{Name: "publication", Usage: "object to everything but a successful publication"},
			&cli.StringFlag{Name: "readme", Usage: "the README is at `URL` (default: beside the JSON)"},
			fixKitFlag("write what mends the publication into the new directory `DIR`; a site without a valid profile is scanned for it"),
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no notes"},
		}, append(auditFlags(audit.DiscoverNever), visitFlags()...)...),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("audit takes one site, not %d; agentaudit run takes lists", c.NArg())
			}
			target, err := audit.ParseTarget(c.Args().First(), c.String("readme"))
			if err != nil {
				return usagef("%v", err)
			}
			cfg, err := newConfig(c, s)
			if err != nil {
				return err
			}
			out, err := newAuditOut(c)
			if err != nil {
				return err
			}
			client, err := newClient(c, s, fetch.Config{})
			if err != nil {
				return err
			}
			note := func(format string, args ...any) {
				if !c.Bool("quiet") {
					fmt.Fprintf(s.Err, format+"\n", args...)
				}
			}
			usually := audit.DiscoverNever
			var kit *newDir
			if c.IsSet(fixKitName) {
				usually = audit.DiscoverMissing
				if kit, err = openDir(c.String(fixKitName), "--"+fixKitName); err != nil {
					return err
				}
				defer kit.drop()
			}
			options, err := auditOptions(c, usually)
			if err != nil {
				return err
			}
			options.NoAgents = options.NoAgents || out.format == formatJSON
			at := audit.Attempt{Target: target, Options: options}
			res, err := retryPolicy(c).Audit(c.Context, &audit.Auditor{Client: client, Log: cfg.log}, at, func(attempt *report.Result, after time.Duration) {
				note("%s Trying again in %s.", clean(attempt.Detail), duration(after))
			})
			if err != nil {
				return err
			}
			if kit != nil {
				out.kit = kit.path
			}
			if err := out.print(s.Out, res); err != nil {
				return undone(err)
			}
			if kit != nil {
				if err := giveKit(kit, res, note); err != nil {
					return err
				}
			}
			return out.exit(res, note)
		},
	}
}

// auditOut is how the result of one audit is shown and judged.
type auditOut struct {
	format      string
	publication bool
	baseline    *format.Baseline
	// kit is the directory that the fix kit goes to, "" for none.
	kit string
}

func newAuditOut(c *cli.Context) (*auditOut, error) {
	o := &auditOut{format: c.String("format"), publication: c.Bool("publication")}
	if c.Bool("json") {
		if c.IsSet("format") && o.format != formatJSON {
			return nil, usagef("--json and --format %s contradict each other; leave one out", clean(o.format))
		}
		o.format = formatJSON
	}
	if o.format != formatText && o.format != formatJSON && !isDocument(o.format) {
		return nil, usagef("--format %q: use text, json, sarif, junit or markdown", clean(o.format))
	}
	var err error
	o.baseline, err = readBaseline(c)
	return o, err
}

func (o *auditOut) objection() format.Objection {
	if o.publication {
		return format.ObjectPartial
	}
	return format.ObjectInvalid
}

func (o *auditOut) print(w io.Writer, res *report.Result) error {
	switch o.format {
	case formatText:
		words := []string{"agentaudit", "audit", res.Report.ProfileURL}
		if res.Report.Readme.ProvidedByUser {
			words = append(words, "--readme", res.Report.Readme.URL)
		}
		kit := "write it with: " + shell.Line(append(words, "--"+fixKitName, "DIR")...)
		if o.kit != "" {
			kit = "it goes to " + clean(o.kit)
		}
		return printResult(w, res, kit)
	case formatJSON:
		return printJSON(w, res.Report)
	}
	e := resultEntry(res)
	doc, err := format.NewWriter(format.Name(o.format), w, format.Options{Version: programVersion(), Title: e.Target, Objection: o.objection(), Baseline: o.baseline})
	if err != nil {
		return err
	}
	return errors.Join(doc.Write(e), doc.End())
}

// exit is the exit code of a result: what a baseline knows is not objected to.
func (o *auditOut) exit(res *report.Result, note func(string, ...any)) error {
	switch {
	case res.Outcome == report.OutcomeUnchecked:
		return &exitError{code: exitUndone}
	case o.publication && res.Report.Publication.Status == report.Successful, !o.publication && res.Report.Valid:
		return nil
	case o.baseline == nil:
		return objects()
	}
	fresh, err := o.baseline.New(resultEntry(res), o.objection())
	if err != nil {
		return undone(err)
	}
	if fresh {
		return objects()
	}
	note("all of this is in the baseline already")
	return nil
}
