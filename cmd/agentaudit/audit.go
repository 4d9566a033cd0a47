package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/worker"
)

func auditCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "audit",
		Usage:     "audit one site and say what to do",
		UsageText: "agentaudit audit TARGET [--json] [--publication] [--readme URL] [--no-agents]",
		Description: "TARGET is a domain, a directory or the URL of an agentic.json. Exit code 0 means that the JSON and its\n" +
			"API documents are valid (with --publication: that the whole publication is successful), 1 that they\n" +
			"are not, 3 that the site gave no definite answer. agents.txt, another convention, is audited beside it\n" +
			"and changes neither; --json leaves it out (see agentaudit agents).\n\n" +
			"EXAMPLE\n   agentaudit audit shop.example --publication",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print the report, version 3, and nothing else"},
			&cli.BoolFlag{Name: "publication", Usage: "object to everything but a successful publication"},
			&cli.StringFlag{Name: "readme", Usage: "the README is at `URL` (default: beside the JSON)"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no notes"},
		}, visitFlags()...),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("audit takes one site, not %d; agentaudit run takes lists", c.NArg())
			}
			target, err := audit.ParseTarget(c.Args().First(), c.String("readme"))
			if err != nil {
				return usagef("%v", err)
			}
			if _, err := newConfig(c, s); err != nil {
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
			policy := worker.RetryRun
			if c.Bool("no-retry") {
				policy = worker.Retry{Never: true}
			}
			res, err := auditOne(c.Context, &audit.Auditor{Client: client, Agents: !c.Bool("no-agents") && !c.Bool("json")}, target, policy, note)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				err = printJSON(s.Out, res.Report)
			} else {
				err = printResult(s.Out, res)
			}
			if err != nil {
				return undone(err)
			}
			return judgeExit(res, c.Bool("publication"))
		},
	}
}

// auditOne audits a site with as many attempts as the policy grants, and keeps
// the last definite result.
func auditOne(ctx context.Context, a *audit.Auditor, t audit.Target, policy worker.Retry, note func(string, ...any)) (*report.Result, error) {
	var kept *report.Result
	for attempt := 1; ; attempt++ {
		j, err := a.Audit(ctx, t, attempt)
		if err != nil {
			return nil, err
		}
		next := policy.Next(j, attempt, kept)
		if next.Result != nil {
			return next.Result, nil
		}
		kept = next.Kept
		note("%s Trying again in %s.", clean(j.Result.Detail), duration(next.After))
		select {
		case <-time.After(next.After):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// judgeExit is the exit code of a result.
func judgeExit(res *report.Result, publication bool) error {
	switch {
	case res.Outcome == report.OutcomeUnchecked:
		return &exitError{code: exitUndone}
	case publication && res.Report.Publication.Status != report.Successful, !publication && !res.Report.Valid:
		return objects()
	}
	return nil
}
