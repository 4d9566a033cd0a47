package main

import (
	"context"
	"net"
	"net/http"

	"github.com/urfave/cli/v2"
)

// ops is what operators and their programs ask of a process: on a listener of
// its own, because it is nothing for the readers of the dashboard.
type ops struct {
	listen   string
	listener net.Listener
	cfg      *config
	// checks are what must be well for the process to be ready.
	checks []check
}

// check is one thing that a process needs.
type check struct {
	name string
	ask  func(context.Context) error
}

func opsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "metrics-listen", Usage: "answer /healthz and /readyz at the private address `HOST:PORT`", EnvVars: []string{"AGENTAUDIT_METRICS_LISTEN"}},
	}
}

// newOps reads the flags; without an address the result is nil.
func newOps(c *cli.Context, cfg *config) (*ops, error) {
	o := &ops{listen: c.String("metrics-listen"), cfg: cfg}
	if o.listen == "" {
		return nil, nil
	}
	return o, checkListen("--metrics-listen", o.listen, true, "")
}

// take listens at the address.
func (o *ops) take(ctx context.Context) (err error) {
	o.listener, err = listen(ctx, "--metrics-listen", o.listen)
	return err
}

// part answers until ctx ends; from then on the process is not ready.
func (o *ops) part(stopping context.Context) part {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if stopping.Err() != nil {
			say(w, http.StatusServiceUnavailable, "stopping")
			return
		}
		for _, c := range o.checks {
			if err := c.ask(r.Context()); err != nil {
				o.cfg.log.Warn("not ready", "check", c.name, "err", err)
				say(w, http.StatusServiceUnavailable, c.name+" is not available; the log says more")
				return
			}
		}
		say(w, http.StatusOK, "ready")
	})
	return httpPart("operations", o.listener, mux, o.cfg.log, nil)
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}
