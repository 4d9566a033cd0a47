package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// defaultContact explains audits of this convention to those who find us in
// their logs; operators should name a page of their own.
const defaultContact = "https://ruagentic.org/docs/AUDIT.md"

// visitFlags are those of all commands that visit sites.
func visitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "contact", Usage: "tell the visited sites that `URL` explains the visits", Value: defaultContact, EnvVars: []string{"AGENTAUDIT_CONTACT"}},
		&cli.BoolFlag{Name: "no-retry", Usage: "do not try again after a passing trouble"},
	}
}

// newClient makes the client that visits sites; cfg is completed from the flags.
func newClient(c *cli.Context, cfg fetch.Config) (*fetch.Client, error) {
	contact, err := weburl.Parse(c.String("contact"))
	if err != nil || contact.Scheme() != "https" && contact.Scheme() != "http" {
		return nil, usagef("--contact %q: give the URL of a page that explains your visits", clean(c.String("contact")))
	}
	cfg.UserAgent = fetch.UserAgent(programVersion(), contact.String())
	client, err := fetch.New(cfg)
	if err != nil {
		return nil, undone(fmt.Errorf("cannot visit sites: %w", err))
	}
	return client, nil
}
