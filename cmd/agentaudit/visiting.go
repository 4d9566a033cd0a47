package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
	"agentaudit/worker"
)

// defaultContact explains audits of this convention to those who find us in
// their logs; operators should name a page of their own.
const defaultContact = "https://ruagentic.org/docs/AUDIT.md"

// visitFlags are those of all commands that visit sites.
func visitFlags() []cli.Flag {
	return []cli.Flag{
		contactFlag(),
		&cli.BoolFlag{Name: "no-retry", Usage: "do not try again after a passing trouble"},
	}
}

// retryPolicy is that of somebody who waits for the end.
func retryPolicy(c *cli.Context) worker.Retry {
	if c.Bool("no-retry") {
		return worker.Retry{Never: true}
	}
	return worker.RetryRun
}

// auditFlags say what is done at each site. With a batch they are kept.
func auditFlags(discover audit.Discover) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "no-agents", Usage: "leave agents.txt and agents.json out: up to four requests less for each site"},
		&cli.StringFlag{Name: "discover", Usage: "scan what a site offers, and make the files that it should publish, `WHEN`: always, missing (no valid profile was found) or never",
			DefaultText: string(discover)},
		&cli.BoolFlag{Name: "ignore-robots", Usage: "let scans follow links that robots.txt disallows: for your own sites"},
	}
}

// auditOptions reads the flags of auditFlags.
func auditOptions(c *cli.Context, discover audit.Discover) (audit.Options, error) {
	o := audit.Options{NoAgents: c.Bool("no-agents"), Discover: discover, IgnoreRobots: c.Bool("ignore-robots")}
	if c.IsSet("discover") {
		o.Discover = audit.Discover(c.String("discover"))
	}
	if !slices.Contains(audit.Discovers, o.Discover) {
		return o, usagef("--discover %q: use always, missing or never", clean(string(o.Discover)))
	}
	return o, nil
}

func contactFlag() cli.Flag {
	return &cli.StringFlag{Name: "contact", Usage: "tell the visited sites that `URL` explains the visits", Value: defaultContact, EnvVars: []string{"AGENTAUDIT_CONTACT"}}
}

// newClient makes the client that visits sites; cfg is completed from the flags.
func newClient(c *cli.Context, s streams, cfg fetch.Config) (*fetch.Client, error) {
	contact, err := weburl.Parse(c.String("contact"))
	if err != nil || contact.Scheme() != "https" && contact.Scheme() != "http" {
		return nil, usagef("--contact %q: give the URL of a page that explains your visits", clean(c.String("contact")))
	}
	cfg.UserAgent = fetch.UserAgent(programVersion(), contact.String())
	connect := s.Connect
	if connect == nil {
		connect = fetch.New
	}
	client, err := connect(cfg)
	if err != nil {
		return nil, undone(fmt.Errorf("cannot visit sites: %w", err))
	}
	return client, nil
}
