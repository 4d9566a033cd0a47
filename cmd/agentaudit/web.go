package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/urfave/cli/v2"

	"agentaudit/dashboard"
	"agentaudit/dashboard/signin"
	"agentaudit/store"
)

// web is what the flags say of the dashboard.
type web struct {
	listen string
	// config lacks the store.
	config   dashboard.Config
	listener net.Listener
}

// webFlags are those of all commands that show the dashboard.
func webFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "listen", Usage: "show the dashboard at `HOST:PORT`; port 0 is any free one", Value: defaultListen, EnvVars: []string{"AGENTAUDIT_LISTEN"}},
		&cli.StringFlag{Name: "base-path", Usage: "put the dashboard below `PATH` of its host, as behind a proxy", EnvVars: []string{"AGENTAUDIT_BASE_PATH"}},
		&cli.StringFlag{Name: "users", Usage: "let those sign in whose names and hashes stand in `FILE` (agentaudit password makes its lines)", EnvVars: []string{"AGENTAUDIT_USERS"}},
		&cli.StringFlag{Name: "public-url", Usage: "the world reaches the dashboard at `URL`, as in https://audit.example.org", EnvVars: []string{"AGENTAUDIT_PUBLIC_URL"}},
		&cli.BoolFlag{Name: "no-badges", Usage: "serve no badges of sites to people who have not signed in", EnvVars: []string{"AGENTAUDIT_NO_BADGES"}},
		&cli.StringSliceFlag{Name: "host", Usage: "answer for this host `NAME`, too (may be repeated; localhost always is)", EnvVars: []string{"AGENTAUDIT_HOST"}},
	}
}

// newWeb reads the flags of the dashboard. Who may see it is decided here and
// nowhere else: without sign-in, only who is on this machine.
func newWeb(c *cli.Context, cfg *config) (*web, error) {
	w := &web{listen: c.String("listen")}
	w.config = dashboard.Config{
		BasePath: c.String("base-path"), Hosts: c.StringSlice("host"), Version: programVersion(), Log: cfg.log,
	}
	w.config.PublicURL, w.config.NoBadges = c.String("public-url"), c.Bool("no-badges")
	if file := c.String("users"); file != "" {
		users, err := signin.ReadFile(file)
		if err != nil {
			return nil, usagef("--users: %v", err)
		}
		w.config.Users = users
	}
	err := checkListen("--listen", w.listen, w.config.Users != nil, "nobody would have to sign in; make a file of users with agentaudit password and give it with --users, or listen on 127.0.0.1")
	return w, err
}

// take listens at the address, so that trouble with it is told before any work
// is done.
func (w *web) take(ctx context.Context) (err error) {
	w.listener, err = listen(ctx, "--listen", w.listen)
	return err
}

// part makes the dashboard over a store.
func (w *web) part(st *store.Store) (part, error) {
	config := w.config
	config.Store, config.Write = st, st
	server, err := dashboard.New(config)
	if err != nil {
		return part{}, usagef("%v", err)
	}
	return httpPart("the dashboard", w.listener, server.Handler(), config.Log, server.Close), nil
}

// url is where the dashboard is for a browser on this machine.
func (w *web) url() string {
	return urlOf(w.listener, strings.TrimRight(w.config.BasePath, "/")+"/")
}

// announce says where the dashboard is: to people as a line, to machines as
// part of the log.
func (w *web) announce(s streams, cfg *config) {
	if cfg.jsonLog && cfg.log.Enabled(context.Background(), slog.LevelInfo) {
		cfg.log.Info("the dashboard is open", "url", w.url())
		return
	}
	fmt.Fprintf(s.Err, "\nThe dashboard is at %s (Ctrl+C ends it)\n", w.url())
}
