package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"agentaudit/dashboard/signin"
)

func passwordCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "password",
		Usage:     "make a line for the file of those who may sign in to the dashboard",
		UsageText: "agentaudit password [NAME]",
		Description: "Reads a password from standard input, without showing it on a terminal, and prints NAME and its\n" +
			"argon2id hash (NAME is admin where none is given). The password itself is kept nowhere.\n\n" +
			"EXAMPLE\n   agentaudit password anna >> users && chmod 600 users",
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usagef("password takes one name; %d were given", c.NArg())
			}
			name := signin.DefaultUser
			if c.NArg() == 1 {
				name = c.Args().First()
			}
			password, err := readPassword(s)
			if err != nil {
				return err
			}
			hash, err := signin.Hash(password)
			if errors.Is(err, signin.ErrPassword) {
				return usagef("%v", err)
			}
			if err != nil {
				return undone(err)
			}
			line := name + ":" + hash
			if _, err := signin.Parse(line); err != nil {
				return usagef("%q cannot be the name of a user: it has up to 64 letters, digits and . _ @ -", clean(name))
			}
			_, err = fmt.Fprintln(s.Out, line)
			return err
		},
	}
}

// readPassword reads one line; the end of the line is no part of it.
func readPassword(s streams) (string, error) {
	if f, ok := s.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(s.Err, "Password (it is not shown): ")
		password, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.Err)
		if err != nil {
			return "", undone(fmt.Errorf("cannot read the password: %w", err))
		}
		return string(password), nil
	}
	line, err := bufio.NewReader(io.LimitReader(s.In, signin.LongestPassword+2)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", undone(fmt.Errorf("cannot read the password: %w", err))
	}
	if line == "" {
		return "", usagef("there is no password on standard input")
	}
	return strings.TrimRight(line, "\r\n"), nil
}
