package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/urfave/cli/v2"
)

const defaultDataDirWords = "agentaudit in the XDG data folder"

// config is what the shared flags say, checked once.
type config struct {
	dataDir string
	redis   string
	// redisPasswordFile holds the password for redis, "" for none.
	redisPasswordFile string
	store             string
	log               *slog.Logger
	// level is that of log, jsonLog its format.
	level   *slog.LevelVar
	jsonLog bool
	// given is what suggested commands repeat.
	given given
}

// newConfig reads the shared flags. The error is one of use.
func newConfig(c *cli.Context, s streams) (*config, error) {
	cfg := &config{dataDir: c.String("data-dir"), redis: c.String("redis"), redisPasswordFile: c.String("redis-password-file"), store: c.String("store"), given: newGiven(c)}
	if cfg.dataDir == "" {
		cfg.dataDir = filepath.Join(xdg.DataHome, "agentaudit")
	}
	if scheme, _, _ := strings.Cut(cfg.store, "://"); cfg.store != "" && scheme != "postgres" && scheme != "postgresql" {
		return nil, usagef("--store %s: use postgres://USER@HOST/DATABASE, or leave --store out for SQLite in the data directory", hideSecret(cfg.store))
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.String("log-level"))); err != nil {
		return nil, usagef("--log-level %q: use debug, info, warn or error", clean(c.String("log-level")))
	}
	cfg.level = new(slog.LevelVar)
	cfg.level.Set(level)
	options := &slog.HandlerOptions{Level: cfg.level}
	switch format := c.String("log-format"); {
	case format == "json" || format == "" && !isTerminal(s.Err):
		cfg.log, cfg.jsonLog = slog.New(slog.NewJSONHandler(s.Err, options)), true
	case format == "text" || format == "":
		cfg.log = slog.New(slog.NewTextHandler(s.Err, options))
	default:
		return nil, usagef("--log-format %q: use text or json", clean(format))
	}
	return cfg, nil
}

// forService lets a process that runs for long say more than one that a person
// waits for, unless the flags say how much.
func (c *config) forService(ctx *cli.Context) {
	if !ctx.IsSet("log-level") {
		c.level.Set(slog.LevelInfo)
	}
}

// place is where the store is, for store.Open.
func (c *config) place() string {
	if c.store != "" {
		return c.store
	}
	return c.dataDir
}

// placeName is place for people.
func (c *config) placeName() string {
	if c.store != "" {
		return hideSecret(c.store)
	}
	return c.dataDir
}

// LogValue shows the configuration without its secrets.
func (c *config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("dataDir", c.dataDir),
		slog.String("redis", hideSecret(c.redis)),
		slog.String("store", hideSecret(c.store)),
	)
}

// hideSecret shows a server's URL without user, password and parameters.
func hideSecret(raw string) string {
	if raw == "" {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" && u.Path == "" {
		return "(unreadable URL)"
	}
	u.User, u.RawQuery = nil, ""
	return fmt.Sprint(u)
}
