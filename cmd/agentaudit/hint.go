package main

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/shell"
)

// given are the flags that say where a command works, as they stand on its
// command line: what it suggests next is to work there, too. What comes from
// the environment is still there then.
type given struct{ store, queue []string }

func newGiven(c *cli.Context) (g given) {
	flag := func(to *[]string, name, env string, show func(string) string) {
		if value := c.String(name); value != "" && value != os.Getenv(env) {
			*to = append(*to, "--"+name, show(value))
		}
	}
	asIs := func(s string) string { return s }
	flag(&g.store, "data-dir", "AGENTAUDIT_DATA_DIR", asIs)
	flag(&g.store, "store", "AGENTAUDIT_STORE", withoutPassword)
	flag(&g.queue, "redis", "AGENTAUDIT_REDIS", withoutPassword)
	flag(&g.queue, "redis-password-file", "AGENTAUDIT_REDIS_PASSWORD_FILE", asIs)
	return g
}

// queued are the commands that have to know the queue.
var queued = []string{"retry", "run", "serve", "worker"}

// hint is a command that people can copy and run after this one, for the same
// store and queue. It is safe to show.
func (c *config) hint(words ...string) string {
	line := append([]string{"agentaudit"}, words...)
	if c == nil {
		return shell.Line(line...)
	}
	line = append(line, c.given.store...)
	if slices.Contains(queued, words[0]) {
		line = append(line, c.given.queue...)
	}
	return shell.Line(line...)
}

// withoutPassword is a server's URL with a word in the place of its password.
func withoutPassword(raw string) string {
	const word = "PASSWORD"
	u, err := url.Parse(raw)
	if err != nil {
		return "URL"
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), word)
	}
	query, changed := u.Query(), false
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, word)
			changed = true
		}
	}
	if changed {
		u.RawQuery = query.Encode()
	}
	return u.String()
}
