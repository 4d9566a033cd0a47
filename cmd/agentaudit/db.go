package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/store"
)

func dbCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:  "db",
		Usage: "look after the database of a store",
		Subcommands: []*cli.Command{
			dbCommandOf(s, "status", "say what is in the database, and whether this program can work with it",
				"agentaudit db status [--json]",
				"The database is the one that --store or --data-dir name. Exit code 3 says that it has to be made, or\n"+
					"updated by agentaudit db migrate, or that it is of a newer version.\n\n"+
					"EXAMPLE\n   agentaudit db status --store postgres://audit@db.example/audit",
				dbStatus, &cli.BoolFlag{Name: "json", Usage: "print JSON"}),
			dbCommandOf(s, "migrate", "make or update the tables",
				"agentaudit db migrate",
				"Every process that works in a store does this when it starts, and several never get in each other's way.\n"+
					"As a command it suits a role of its own, the only one with the right to make tables.\n\n"+
					"EXAMPLE\n   agentaudit db migrate --store postgres://owner@db.example/audit",
				dbMigrate),
			dbCommandOf(s, "copy", "copy a data directory into a PostgreSQL database",
				"agentaudit db copy --store postgres://USER@HOST/DATABASE",
				"Copies everything in the data directory into a database that is empty: all of it, or nothing when it is\n"+
					"interrupted. Nobody may use the directory meanwhile; it stays as it is. Rows are counted on both sides.\n\n"+
					"EXAMPLE\n   agentaudit db copy --data-dir ./audits --store postgres://audit@db.example/audit",
				dbCopy),
		},
	}
}

func dbCommandOf(s streams, name, usage, text, description string, do func(context.Context, *cli.Context, streams, *config) error, flags ...cli.Flag) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, UsageText: text, Description: description, Flags: flags,
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("db %s takes no arguments; --store and --data-dir name the database", name)
			}
			cfg, err := newConfig(c, s)
			if err != nil {
				return err
			}
			return do(c.Context, c, s, cfg)
		},
	}
}

func dbStatus(ctx context.Context, c *cli.Context, s streams, cfg *config) error {
	st, err := store.ReadStatus(ctx, cfg.place(), store.Options{})
	if errors.Is(err, store.ErrNotFound) {
		return undone(fmt.Errorf("there is no database in %s yet; %s or %s makes one", cfg.placeName(), cfg.hint("run", "LIST"), cfg.hint("db", "migrate")))
	}
	if err != nil {
		return undone(err)
	}
	if c.Bool("json") {
		if err := printJSON(s.Out, st); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(s.Out, "%s, %s\n", st.Database, cfg.placeName())
		fmt.Fprintf(s.Out, "size      %.1f MB\n", float64(st.Bytes)/1e6)
		schema := plural(int64(len(st.Steps)), "step", "steps") + ", up to date"
		switch {
		case len(st.Steps) == 0:
			schema = "none yet"
		case st.Trouble != "":
			schema = clean(st.Trouble)
		case len(st.Pending) > 0:
			schema = fmt.Sprintf("%s, %d missing (next: %s)", plural(int64(len(st.Steps)), "step", "steps"), len(st.Pending), st.Pending[0])
		}
		fmt.Fprintf(s.Out, "schema    %s\n", schema)
		fmt.Fprintf(s.Out, "batches   %d\nentries   %d\nruns      %d, %d of them open\nsites     %d\n", st.Batches, st.Entries, st.Runs, st.OpenRuns, st.Sites)
	}
	switch {
	case st.Trouble != "":
		return undone(fmt.Errorf("this program cannot work with the database: %s", st.Trouble))
	case len(st.Pending) > 0:
		return undone(fmt.Errorf("the database is not up to date; %s, or the next process that works with it, brings it there", cfg.hint("db", "migrate")))
	}
	return nil
}

func dbMigrate(ctx context.Context, _ *cli.Context, s streams, cfg *config) error {
	steps, err := store.Migrate(ctx, cfg.place(), store.Options{Log: cfg.log})
	if err != nil {
		return undone(err)
	}
	for _, step := range steps {
		fmt.Fprintln(s.Out, "done:", step)
	}
	if len(steps) == 0 {
		fmt.Fprintln(s.Out, "nothing to do: the database is up to date")
	}
	return nil
}

func dbCopy(ctx context.Context, _ *cli.Context, s streams, cfg *config) error {
	if cfg.store == "" {
		return usagef("db copy needs --store postgres://USER@HOST/DATABASE, the database to copy into")
	}
	started := time.Now()
	copied, err := store.Copy(ctx, cfg.dataDir, cfg.store, store.Options{Log: cfg.log}, func(c store.Copied) {
		fmt.Fprintf(s.Err, "%-16s %s\n", c.Table, plural(c.Rows, "row", "rows"))
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return usagef("there is no store in %s; --data-dir names another place", cfg.dataDir)
	case err != nil:
		return undone(err)
	}
	var rows int64
	for _, c := range copied {
		rows += c.Rows
	}
	fmt.Fprintf(s.Out, "copied %s from %s to %s (%s), the same number on both sides\n", plural(rows, "row", "rows"), cfg.dataDir, cfg.placeName(), duration(time.Since(started)))
	return nil
}
