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
		contactFlag(),
		&cli.BoolFlag{Name: "no-retry", Usage: "do not try again after a passing trouble"},
		&cli.BoolFlag{Name: "no-agents", Usage: "leave agents.txt and agents.json out: up to four requests less for each site"},
	}
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
