package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// arrange puts a command line into the order that the flag parser of
// urfave/cli v2 reads: flags of the program, command, flags of the command, a
// "--", arguments. Left alone it takes everything behind the first argument
// for an argument, and users do write "audit example.com --json".
//
// Only the order changes; unknown flags stay where the parser complains about
// them.
func arrange(app *cli.App, args []string) []string {
	if len(args) == 0 {
		return args
	}
	var global, local, positional, path []string
	commands, known := app.Commands, app.Flags
	rest := args[1:]
	for len(rest) > 0 {
		word := rest[0]
		rest = rest[1:]
		if word == "--" {
			positional = append(positional, rest...)
			break
		}
		if len(word) < 2 || word[0] != '-' {
			// Command names lead as long as there are commands to name.
			if c := commandNamed(commands, word); c != nil && len(positional) == 0 {
				path = append(path, word)
				commands, known = c.Subcommands, c.Flags
				continue
			}
			positional = append(positional, word)
			continue
		}
		name, _, glued := strings.Cut(strings.TrimLeft(word, "-"), "=")
		to, flag := &local, flagNamed(known, name)
		if flag == nil {
			if flag = flagNamed(app.Flags, name); flag != nil {
				to = &global
			}
		}
		if len(path) == 0 {
			to = &global
		}
		*to = append(*to, word)
		if flag != nil && !glued && takesValue(flag) && len(rest) > 0 {
			*to = append(*to, rest[0])
			rest = rest[1:]
		}
	}
	out := append([]string{args[0]}, global...)
	out = append(append(out, path...), local...)
	if len(positional) == 0 {
		return out
	}
	if len(path) == 0 {
		// No such command: the parser says so and suggests one.
		return append(out, positional...)
	}
	return append(append(out, "--"), positional...)
}

func commandNamed(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return f
			}
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}
