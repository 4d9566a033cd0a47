package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// defaultListen is where the dashboard is when nobody says otherwise: to be
// reached from this machine alone.
const defaultListen = "127.0.0.1:8080"

// checkListen refuses an address that flag names and that is none, and one that
// other machines reach unless open says that this is safe; why says what to do
// then.
func checkListen(flag, address string, open bool, why string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return usagef("%s %q: give HOST:PORT, as in %s", flag, clean(address), defaultListen)
	}
	if open || isLoopback(host) {
		return nil
	}
	return usagef("%s %s can be reached from other machines: %s", flag, clean(address), why)
}

// isLoopback reports whether only this machine reaches a host. Other names than
// localhost are not looked up: what they lead to can change.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// listen takes an address, with advice where that is not possible.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		host, _, _ := net.SplitHostPort(address)
		return nil, undone(fmt.Errorf("cannot listen on %s: another program does, perhaps another agentaudit; %s %s takes any free port",
			address, flag, net.JoinHostPort(host, "0")))
	case errors.Is(err, syscall.EACCES):
		return nil, undone(fmt.Errorf("cannot listen on %s: this user may not; use a port above 1023 with %s", address, flag))
	}
	return nil, undone(fmt.Errorf("cannot listen on %s (%s): %w", address, flag, err))
}

// urlOf is the address of a listener for a browser on this machine.
func urlOf(l net.Listener, path string) string {
	host, port, _ := net.SplitHostPort(l.Addr().String())
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + path
}

// httpPart serves HTTP until ctx ends. closing, if not nil, is called when
// nothing new comes in any more, and has to end answers that would not end by
// themselves.
func httpPart(name string, l net.Listener, h http.Handler, log *slog.Logger, closing func()) part {
	return part{name: name, run: func(ctx context.Context) error {
		log := log.With("server", name)
		srv := &http.Server{
			Handler:           h,
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       30 * time.Second,
			WriteTimeout:      time.Minute,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		}
		closed := make(chan struct{})
		srv.RegisterOnShutdown(func() {
			if closing != nil {
				closing()
			}
			close(closed)
		})
		ended := make(chan error, 1)
		go func() { ended <- srv.Serve(l) }()
		var trouble error
		select {
		case trouble = <-ended:
			ended <- nil
		case <-ctx.Done():
		}
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if err := srv.Shutdown(patience); err != nil {
			log.Warn("answers were cut off", "err", err)
			_ = srv.Close()
		}
		<-ended
		<-closed
		return trouble
	}}
}
