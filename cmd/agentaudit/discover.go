package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/discovery"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/audit/shell"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

func discoverCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "discover",
		Usage:     "scan what a site offers and write the files that it should publish",
		UsageText: "agentaudit discover URL --out DIR\n   agentaudit discover URL --json",
		Description: "Reads at most 22 public documents of the site and writes agentic.json, agentic.txt, README.md, LISTING.md\n" +
			"and discovery-report.json into the new directory DIR. robots.txt is obeyed when links are followed.\n" +
			"Exit code 3 means that the first document could not be read.\n\n" +
			"EXAMPLE\n   agentaudit discover shop.example --out shop-files",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write the files into the new directory `DIR`"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON"},
			&cli.BoolFlag{Name: "ignore-robots", Usage: "do not ask robots.txt: for your own sites"},
		}, contactFlag()),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("discover takes one site, not %d", c.NArg())
			}
			if c.String("out") == "" && !c.Bool("json") {
				return usagef("discover needs --out DIR for the files, or --json for the report alone")
			}
			start, err := weburl.ParseStart(c.Args().First())
			if err != nil {
				return usagef("cannot scan this: %v", err)
			}
			if _, err := newConfig(c, s); err != nil {
				return err
			}
			client, err := newClient(c, s, fetch.Config{})
			if err != nil {
				return err
			}
			v := client.Visit()
			defer v.Close()
			// A directory that cannot be written costs the site nothing.
			var d *newDir
			if c.String("out") != "" {
				if d, err = openDir(c.String("out"), "--out"); err != nil {
					return err
				}
				defer d.drop()
			}
			r, err := scan(c.Context, v, start, c.Bool("ignore-robots"))
			if err != nil {
				return err
			}
			return giveReport(s, r, d, c.Bool("json"))
		},
	}
}

// robotsAgent is the name by which robots.txt can address us.
const robotsAgent = "agentaudit"

func scan(ctx context.Context, f discovery.Fetcher, start *weburl.URL, ignoreRobots bool) (*discovery.Report, error) {
	r, err := discovery.Scan(ctx, f, start, discovery.Options{IgnoreRobots: ignoreRobots, Agent: robotsAgent})
	if _, ok := errors.AsType[*weburl.RuleError](err); ok {
		return nil, usagef("cannot scan this: %v", err)
	}
	if err != nil && ctx.Err() == nil {
		return nil, undone(fmt.Errorf("no files could be made: %s", clean(err.Error())))
	}
	return r, err
}

// giveReport writes the files, unless d is nil, and says what is in them.
func giveReport(s streams, r *discovery.Report, d *newDir, asJSON bool) error {
	out := ""
	if d != nil {
		report, err := jsonText(r)
		if err != nil {
			return undone(err)
		}
		if err := d.folder("", append(publicationFiles(r.Files), namedFile{"discovery-report.json", report})); err != nil {
			return err
		}
		if err := d.keep(); err != nil {
			return err
		}
		out = d.path
	}
	if asJSON {
		return printJSON(s.Out, r)
	}
	printScan(s.Out, r, out)
	return nil
}

// trouble says what came of a read instead of a document.
func trouble(o report.Observation) string {
	if o.Error != "" {
		return o.Error
	}
	return fmt.Sprintf("HTTP %d", o.Status)
}

func publicationFiles(f *publication.Files) []namedFile {
	return []namedFile{
		{publication.NameJSON, f.JSON}, {publication.NameText, f.Text}, {publication.NameReadme, f.Readme}, {publication.NameListing, f.Listing},
	}
}

// printScan tells people what was read, what was only linked, what failed, what
// to publish where, and what to check by hand.
func printScan(w io.Writer, r *discovery.Report, out string) {
	sc := newScreen(w)
	what := "a site profile"
	if r.Mode == discovery.ModeAction {
		what = "the site's own action profile, kept as it is"
	}
	fmt.Fprintf(w, "%s  %s (%d requests, %d bytes)\n", sc.in(clean(r.Origin), bold), what, r.Requests, r.Bytes)
	list := func(title string, of profile.Availability) {
		first := true
		for _, src := range r.Sources {
			if src.Availability != of {
				continue
			}
			if first {
				fmt.Fprintf(w, "\n%s\n", sc.in(title, bold))
				first = false
			}
			fmt.Fprintf(w, "  %-13s  %s\n", src.Kind, clean(src.URL))
		}
	}
	list("Read", profile.Retrieved)
	list("Only linked, not read", profile.Linked)
	first := true
	for _, o := range r.Observations {
		if o.Error == "" && o.Status < 400 {
			continue
		}
		if first {
			fmt.Fprintf(w, "\n%s\n", sc.in("Not there, or not readable", bold))
			first = false
		}
		fmt.Fprintf(w, "  %s  %s\n", clean(o.URL), sc.in(clean(trouble(o)), dim))
	}
	if r.Robots != nil && len(r.Robots.Disallowed) > 0 {
		fmt.Fprintf(w, "\n%s\n", sc.in("Not read because robots.txt forbids it (--ignore-robots for your own site)", bold))
		for _, o := range []*report.Observation{&r.Robots.Observation, r.Robots.Also} {
			// Nobody forbade anything where the rules could not be had. One that
			// redirects too far is as none.
			if o != nil && o.Status/100 != 3 && (o.Error != "" || o.Status >= 500 || o.Status == http.StatusTooManyRequests) {
				fmt.Fprintf(w, "  %s\n", sc.in(clean(fmt.Sprintf("%s: %s; rules that cannot be had allow nothing", o.URL, trouble(*o))), dim))
			}
		}
		for _, u := range r.Robots.Disallowed {
			fmt.Fprintf(w, "  %s\n", clean(u))
		}
	}
	if len(r.Notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", sc.in("To check by hand", bold))
		for _, n := range r.Notes {
			fmt.Fprintln(w, sc.wrap("· "+clean(n), "  "))
		}
	}
	if out == "" {
		return
	}
	fmt.Fprintf(w, "\n%s\n", sc.in("To publish", bold))
	at, err := weburl.Parse(r.ProfileURL)
	for _, name := range []string{publication.NameJSON, publication.NameText, publication.NameReadme} {
		place := r.ProfileURL
		if err == nil && name != publication.NameJSON {
			if u, err := at.Resolve(name); err == nil {
				place = u.String()
			}
		}
		fmt.Fprintf(w, "  %s/%-12s  at %s\n", clean(out), name, clean(place))
	}
	fmt.Fprintf(w, "  %s/%-12s  is for directories: read it before you submit it\n", clean(out), publication.NameListing)
	fmt.Fprintf(w, "\nRead the files before you publish them; then check with: %s\n", shell.Line("agentaudit", "audit", r.ProfileURL, "--publication"))
}

func bundleCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:        "bundle",
		Usage:       "write the files of a publication from a valid agentic.json",
		UsageText:   "agentaudit bundle PROFILE --out DIR [--profile-url URL]",
		Description: "Writes agentic.json, agentic.txt, README.md and LISTING.md into the new directory DIR, without any network.\n\nEXAMPLE\n   agentaudit bundle agentic.json --out publication-files",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write the files into the new directory `DIR`"},
			&cli.StringFlag{Name: "profile-url", Usage: "the profile is published at `URL` (default: /agentic.json at its origin)"},
			&cli.BoolFlag{Name: "allow-local", Usage: "let the origin be http on localhost, 127.0.0.1 or [::1]"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("bundle needs one profile file, as in: agentaudit bundle agentic.json --out DIR")
			}
			if c.String("out") == "" {
				return usagef("bundle needs --out DIR for the files")
			}
			if c.IsSet("profile-url") && c.String("profile-url") == "" {
				return usagef("--profile-url is empty; leave it out for the default")
			}
			path := c.Args().First()
			data, err := readBounded(path, profile.MaxSize, "a profile")
			if err != nil {
				return err
			}
			doc, err := profile.Decode(data)
			if err != nil {
				return usagef("%s is not valid JSON: %v", clean(path), err)
			}
			files, err := publication.Bundle(doc, publication.Options{ProfileURL: c.String("profile-url"), AllowLocal: c.Bool("allow-local")})
			if err != nil {
				return usagef("%s: %s", clean(path), clean(err.Error()))
			}
			if err := writeDir(c.String("out"), publicationFiles(files)); err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "wrote agentic.json, agentic.txt, README.md and LISTING.md to %s\n", clean(c.String("out")))
			return nil
		},
	}
}

func initCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "start an action profile by hand",
		UsageText: "agentaudit init --origin URL [--action-id ID] [--out FILE]",
		Description: "Writes a ticket contract that has to be adapted to your service: its operations, evidence and retention\n" +
			"are those of an example. It does not look at the site; discover does.\n\nEXAMPLE\n   agentaudit init --origin https://service.example",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "origin", Usage: "the service is at `URL`"},
			&cli.StringFlag{Name: "action-id", Usage: "call the action `ID`", Value: publication.DefaultActionID},
			&cli.StringFlag{Name: "out", Usage: "write to the new `FILE`", Value: publication.NameJSON},
			&cli.BoolFlag{Name: "allow-local", Usage: "let the origin be http on localhost, 127.0.0.1 or [::1]"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 0 {
				return usagef("init takes no arguments; the site is given with --origin")
			}
			if c.String("origin") == "" {
				return usagef("init needs --origin URL, as in: agentaudit init --origin https://service.example")
			}
			text, err := publication.Starter(c.String("origin"), c.String("action-id"), profile.Options{AllowLocal: c.Bool("allow-local")})
			if err != nil {
				return usagef("%s", clean(err.Error()))
			}
			if err := writeNew(c.String("out"), []byte(text)); err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "wrote %s: adapt its operations, then check it with: %s\n", clean(c.String("out")), shell.Line("agentaudit", "validate", c.String("out"), "openapi.json"))
			return nil
		},
	}
}
