package main

import (
	"context"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/urfave/cli/v2"
)

// ops is what operators and their programs ask of a process: on a listener of
// its own, because it is nothing for the readers of the dashboard.
type ops struct {
	listen   string
	listener net.Listener
	cfg      *config
	// profiles says that profiles of the running program may be read.
	profiles bool
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
		&cli.StringFlag{Name: "metrics-listen", Usage: "answer /metrics (Prometheus), /healthz, /readyz and /debug/pprof/ at the private address `HOST:PORT`", EnvVars: []string{"AGENTAUDIT_METRICS_LISTEN"}},
		&cli.BoolFlag{Name: "pprof", Usage: "answer /debug/pprof/ also where other machines reach --metrics-listen", EnvVars: []string{"AGENTAUDIT_PPROF"}},
	}
}

// operations reads the flags; without an address there are none.
func (v *services) operations(c *cli.Context) error {
	o := &ops{listen: c.String("metrics-listen"), cfg: v.cfg}
	if o.listen == "" {
		if c.Bool("pprof") {
			return usagef("--pprof does nothing without --metrics-listen HOST:PORT")
		}
		return nil
	}
	if err := checkListen("--metrics-listen", o.listen, true, ""); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(o.listen)
	o.profiles = c.Bool("pprof") || isLoopback(host)
	v.ops, v.metrics = o, newMetrics(v.cfg.log)
	return nil
}

// take listens at the address.
func (o *ops) take(ctx context.Context) (err error) {
	o.listener, err = listen(ctx, "--metrics-listen", o.listen)
	return err
}

// part answers until ctx ends; from then on the process is not ready.
func (o *ops) part(stopping context.Context, m *metrics) part {
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
	mux.Handle("GET /metrics", m.handler())
	if o.profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return httpPart("operations", o.listener, mux, o.cfg.log, nil)
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}
