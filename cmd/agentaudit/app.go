package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/spelling"
	"agentaudit/fetch"
)

// streams are where a command reads and writes: results go to Out, all else
// (progress, logs, notes, errors) to Err.
type streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Connect makes the clients that visit sites; nil is fetch.New. Tests put a
	// small internet of their own here.
	Connect func(fetch.Config) (*fetch.Client, error)
}

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, s streams) int {
	app := newApp(s)
	err := app.RunContext(ctx, arrange(app, args))
	code := exitCode(ctx, err)
	if err != nil && err.Error() != "" && !(code == exitInterrupted && errors.Is(err, context.Canceled)) {
		fmt.Fprintln(s.Err, "agentaudit:", clean(err.Error()))
	}
	if code == exitInterrupted {
		fmt.Fprintln(s.Err, "agentaudit: interrupted")
	}
	return code
}

// newApp builds the command tree. Commands stand in the order in which a
// newcomer meets them.
func newApp(s streams) *cli.App {
	app := &cli.App{
		Name:      "agentaudit",
		Usage:     "audit what websites publish for AI agents, one or millions",
		UsageText: "agentaudit COMMAND [FLAGS] [ARGUMENTS]",
		Description: "Reads agentic.json, agentic.txt, README.md and the OpenAPI documents behind them\n" +
			"from public websites, judges them, and says what to publish to put them right.\n" +
			"Start with: agentaudit demo",
		Version:               versionLine(),
		Flags:                 sharedFlags(),
		Commands:              commands(s),
		HideHelpCommand:       true,
		Reader:                s.In,
		Writer:                s.Out,
		ErrWriter:             s.Err,
		ExitErrHandler:        func(*cli.Context, error) {},
		OnUsageError:          usageError,
		CustomAppHelpTemplate: appHelp,
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return cli.ShowAppHelp(c)
			}
			name := c.Args().First()
			if name == "help" {
				return cli.ShowAppHelp(c)
			}
			return noCommand(name, name, "agentaudit", c.App.Commands)
		},
	}
	prepare(app.Commands)
	return app
}

// prepare gives every command what all of them share.
func prepare(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = usageError
		c.CustomHelpTemplate = commandHelp
		c.HideHelpCommand = true
		for _, f := range c.Flags {
			if b, ok := f.(*cli.BoolFlag); ok {
				b.DisableDefaultText = true // "default: false" says nothing
			}
		}
		if len(c.Subcommands) > 0 && c.Action == nil {
			name := c.Name
			c.CustomHelpTemplate = groupHelp
			c.Action = func(ctx *cli.Context) error {
				if ctx.NArg() == 0 {
					return cli.ShowSubcommandHelp(ctx)
				}
				word := ctx.Args().First()
				return noCommand(word, name+" "+word, "agentaudit "+name, c.Subcommands)
			}
		}
		prepare(c.Subcommands)
	}
}

// noCommand is the error for a word that is no command, with the one that it
// may mean. name is the word as people see it, parent what lists the commands.
func noCommand(word, name, parent string, commands []*cli.Command) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.Names()...)
	}
	if near := spelling.Nearest(word, names); near != "" {
		return usagef("there is no command %q; did you mean %q? %s --help lists all", clean(name), near, parent)
	}
	return usagef("there is no command %q; %s --help lists all", clean(name), parent)
}

// usageError turns the flag parser's complaint into one of ours, with the
// nearest flag where one is near.
func usageError(c *cli.Context, err error, _ bool) error {
	msg := err.Error()
	const undefined = "flag provided but not defined: -"
	if name, ok := strings.CutPrefix(msg, undefined); ok {
		flags := c.App.Flags
		where := "agentaudit"
		if c.Command != nil && c.Command.Name != "" && c.Command.Name != c.App.Name {
			flags = append(append([]cli.Flag{}, c.Command.Flags...), flags...)
			where = c.Command.HelpName
		}
		name = strings.TrimLeft(name, "-")
		msg = fmt.Sprintf("%s has no flag --%s", where, clean(name))
		names := []string{"help"}
		for _, f := range flags {
			names = append(names, f.Names()...)
		}
		if near := spelling.Nearest(name, names); near != "" {
			msg += "; did you mean --" + near + "?"
		} else {
			msg += "; " + where + " --help lists all"
		}
		return usagef("%s", msg)
	}
	return usagef("%s", msg)
}

// sharedFlags work with every command, before or behind its name.
func sharedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "data-dir", Usage: "keep batches and results in `DIR` (default: " + defaultDataDirWords + ")", EnvVars: []string{"AGENTAUDIT_DATA_DIR"}},
		&cli.StringFlag{Name: "redis", Usage: "use the Redis server at `URL` as the queue (default: one inside the process)", EnvVars: []string{"AGENTAUDIT_REDIS"}},
		&cli.StringFlag{Name: "redis-password-file", Usage: "read the password for --redis from `FILE` (or AGENTAUDIT_REDIS_PASSWORD)", EnvVars: []string{"AGENTAUDIT_REDIS_PASSWORD_FILE"}, TakesFile: true},
		&cli.StringFlag{Name: "store", Usage: "keep batches and results in the database at `URL` (default: SQLite in the data directory)", EnvVars: []string{"AGENTAUDIT_STORE"}},
		&cli.StringFlag{Name: "log-level", Usage: "log messages of `LEVEL` and worse: debug, info, warn or error (services: info)", Value: "warn", EnvVars: []string{"AGENTAUDIT_LOG_LEVEL"}},
		&cli.StringFlag{Name: "log-format", Usage: "log as `FORMAT` text or json (default: text on a terminal, json elsewhere)", EnvVars: []string{"AGENTAUDIT_LOG_FORMAT"}},
	}
}

const appHelp = `{{.Name}}: {{.Usage}}

USAGE
   {{.UsageText}}

{{.Description}}

COMMANDS{{range .VisibleCommands}}
   {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}

FLAGS OF ALL COMMANDS{{range .VisibleFlags}}
   {{.}}{{end}}

EXIT CODES
   0 fine, 1 the audit objects, 2 wrong use or bad input, 3 it could not be done or checked, 130 interrupted

agentaudit COMMAND --help has more, with an example.
`

const commandHelp = `{{.HelpName}}: {{.Usage}}

USAGE
   {{.UsageText}}

{{.Description}}
{{if .Subcommands}}
COMMANDS{{range .Subcommands}}
   {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}
{{end}}{{if .VisibleFlags}}
FLAGS{{range .VisibleFlags}}
   {{.}}{{end}}
{{end}}
--data-dir, --redis, --store, --log-level and --log-format work here too; see agentaudit --help.
`

const groupHelp = `{{.HelpName}}: {{.Usage}}

COMMANDS{{range .VisibleCommands}}
   {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}

agentaudit {{.FullName}} COMMAND --help has more, with an example.
`
