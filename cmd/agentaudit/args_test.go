package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestArrange(t *testing.T) {
	app := &cli.App{
		Flags: []cli.Flag{&cli.StringFlag{Name: "data-dir"}, &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}}},
		Commands: []*cli.Command{
			{Name: "audit", Flags: []cli.Flag{&cli.BoolFlag{Name: "json"}, &cli.StringFlag{Name: "readme"}}},
			{Name: "schedule", Subcommands: []*cli.Command{{Name: "add", Flags: []cli.Flag{&cli.StringFlag{Name: "cron"}}}}},
		},
	}
	for _, c := range []struct{ in, want string }{
		{"audit site.example --json", "audit --json -- site.example"},
		{"audit site.example -json", "audit -json -- site.example"},
		{"audit site.example --readme https://r.example/x", "audit --readme https://r.example/x -- site.example"},
		{"audit site.example --readme=https://r.example/x --data-dir d", "--data-dir d audit --readme=https://r.example/x -- site.example"},
		{"--data-dir d audit a -q b", "--data-dir d -q audit -- a b"},
		{"schedule add list.txt --cron daily", "schedule add --cron daily -- list.txt"},
		{"audit - --json", "audit --json -- -"},
		{"audit -- --json", "audit -- --json"},
		{"audit schedule", "audit -- schedule"},
		{"audit x --nonsense y", "audit --nonsense -- x y"},
		{"audti site.example", "audti site.example"},
		{"--version", "--version"},
	} {
		got := arrange(app, append([]string{"agentaudit"}, strings.Fields(c.in)...))
		if s := strings.Join(got[1:], " "); s != c.want {
			t.Errorf("%q becomes %q, want %q", c.in, s, c.want)
		}
	}
}
