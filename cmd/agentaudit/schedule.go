package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/store"
	"agentaudit/worker/producer"
	"agentaudit/worker/schedule"
)

func scheduleCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:  "schedule",
		Usage: "audit a list again and again",
		Subcommands: []*cli.Command{
			scheduleAddCommand(s),
			scheduleListCommand(s),
			scheduleStep(s, "pause", "let a schedule rest", "What becomes due meanwhile is not made up for.",
				func(ctx context.Context, st *store.Store, v *store.Schedule) error {
					return st.PauseSchedule(ctx, v.ID)
				}, "rests"),
			scheduleStep(s, "resume", "go on with a schedule that rests", "It fires next at its next time.",
				func(ctx context.Context, st *store.Store, v *store.Schedule) error {
					due, at, err := nextOf(v, time.Now())
					if err != nil {
						return err
					}
					return st.ResumeSchedule(ctx, v.ID, due, at)
				}, "goes on"),
			scheduleStep(s, "run", "let a schedule fire now", "Beside its times, and also while it rests. Whoever runs the schedules (agentaudit serve,\n"+
				"or agentaudit worker --schedules) does it within seconds.",
				func(ctx context.Context, st *store.Store, v *store.Schedule) error {
					return st.FireScheduleNow(ctx, v.ID)
				}, "fires now"),
			scheduleStep(s, "remove", "forget a schedule", "Its batches and their results stay.",
				func(ctx context.Context, st *store.Store, v *store.Schedule) error {
					return st.RemoveSchedule(ctx, v.ID)
				}, "is removed"),
		},
	}
}

// nextOf is when a schedule is next due and fires, from a time on.
func nextOf(v *store.Schedule, after time.Time) (due, at time.Time, err error) {
	spec, err := schedule.Of(v)
	if err == nil {
		err = spec.Check(after)
	}
	if err != nil {
		return due, at, usagef("%v", err)
	}
	due = spec.Next(after)
	return due, spec.At(due), nil
}

func scheduleAddCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "keep a schedule",
		UsageText: "agentaudit schedule add NAME SOURCE... --cron EXPRESSION [--zone ZONE]\n   agentaudit schedule add NAME --batch BATCH|--from URL --cron EXPRESSION [--zone ZONE]",
		Description: "Makes a batch at each time that the cron expression names (minute, hour, day of month, month, day of\n" +
			"week), of a list or a directory's API that is read anew each time, or of the sites of a batch. agentaudit serve does the work,\n" +
			"or agentaudit worker --schedules. After a stop, however long, one firing is made up for.\n\n" +
			"EXAMPLE\n   agentaudit schedule add weekly /srv/listings.csv --cron \"30 3 * * 1\" --zone Europe/Berlin --spread 12h",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "cron", Usage: "fire at the times of `EXPRESSION`, as in \"30 3 * * 1\" or @daily"},
			&cli.StringFlag{Name: "zone", Usage: "read the expression in time zone `ZONE`, as in Europe/Berlin", Value: "UTC"},
			&cli.DurationFlag{Name: "jitter", Usage: "put each firing off by a different part of `DURATION`, as in 20m"},
			&cli.DurationFlag{Name: "spread", Usage: "let the sites become due evenly over `DURATION`, not all at once"},
			&cli.StringFlag{Name: "batch", Usage: "audit the sites of `BATCH`"},
			fromFlag(),
			writeBackFlag(),
		}, listFlags()...), append(auditFlags(audit.DiscoverAlways), webhookFlags()...)...),
		Action: func(c *cli.Context) error {
			cfg, err := newConfig(c, s)
			if err != nil {
				return err
			}
			v, err := newSchedule(c)
			if err != nil {
				return err
			}
			return addSchedule(c, s, cfg, v)
		},
	}
}

// newSchedule reads the flags; the batch, if one is named, is left to the store.
func newSchedule(c *cli.Context) (*store.Schedule, error) {
	if c.NArg() == 0 {
		return nil, usagef("schedule add needs a name and a list; agentaudit schedule add --help has an example")
	}
	v := &store.Schedule{Name: c.Args().First(), Cron: c.String("cron"), Zone: c.String("zone"), Jitter: c.Duration("jitter"), Spread: c.Duration("spread")}
	switch {
	case strings.TrimSpace(v.Name) == "" || len(v.Name) > 100 || clean(v.Name) != v.Name:
		return nil, usagef("%q cannot be the name of a schedule: give up to 100 visible characters", clean(v.Name))
	case v.Cron == "":
		return nil, usagef("--cron is missing: say when, as in --cron \"30 3 * * 1\" for Mondays at 3:30")
	case v.Spread < 0:
		return nil, usagef("--spread is less than nothing")
	}
	if _, _, err := nextOf(v, time.Now()); err != nil {
		return nil, err
	}
	var err error
	var o producer.Options
	if o.Options, err = auditOptions(c, audit.DiscoverAlways); err != nil {
		return nil, err
	}
	switch {
	case c.IsSet("batch") && (c.NArg() > 1 || c.IsSet("from")):
		return nil, usagef("give a list or --batch, not both")
	case c.IsSet("batch") && c.IsSet("write-back"):
		return nil, usagef("--write-back is for --from: only a directory's own ids say which listing is meant")
	case !c.IsSet("batch"):
		if o.List, err = newListOrFromOf(c, c.Args().Tail()); err != nil {
			return nil, err
		}
		if !o.List.Rereadable() {
			return nil, usagef("a schedule reads its list again and again, which standard input does not allow; name a file")
		}
		v.Sources = o.List.SourceNames()
	}
	if v.Webhook, err = listWebhook(c, &o.List, confirmLater); err != nil {
		return nil, err
	}
	v.Options, err = json.Marshal(o)
	return v, err
}

func addSchedule(c *cli.Context, s streams, cfg *config, v *store.Schedule) error {
	st, _, err := openBeside(c.Context, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	if c.IsSet("batch") {
		b, err := findBatch(c.Context, cfg, st, c.String("batch"))
		if err != nil {
			return err
		}
		v.Batch, v.Sources = b.ID, []string{"the sites of batch " + string(b.ID)}
	}
	if v.NextDue, v.NextAt, err = nextOf(v, time.Now()); err != nil {
		return err
	}
	kept, err := st.AddSchedule(c.Context, *v)
	if errors.Is(err, store.ErrConflict) {
		return usagef("there is a schedule %q already; %s forgets it", v.Name, cfg.hint("schedule", "remove", v.Name))
	}
	if err != nil {
		return undone(err)
	}
	fmt.Fprintf(s.Err, "schedule %q fires next on %s\n", kept.Name, momentWords(kept.NextAt, kept.Zone, time.Now()))
	return nil
}

func scheduleListCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "list the schedules, with their next and last times",
		UsageText:   "agentaudit schedule list [--json]",
		Description: "Times are in the zone of each schedule.\n\nEXAMPLE\n   agentaudit schedule list",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print a JSON array"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("schedule list takes no arguments")
			}
			return withStore(c, s, store.ReadOnly, func(cfg *config, st *store.Store) error {
				all, err := st.Schedules(c.Context)
				if err != nil {
					return undone(err)
				}
				forOwner.Schedules(all)
				if c.Bool("json") {
					if all == nil {
						all = []store.Schedule{}
					}
					return printJSON(s.Out, all)
				}
				printSchedules(s.Out, cfg, all, time.Now())
				return nil
			})
		},
	}
}

func printSchedules(w io.Writer, cfg *config, all []store.Schedule, now time.Time) {
	sc := newScreen(w)
	if len(all) == 0 {
		fmt.Fprintf(w, "There are no schedules yet. %s makes the first.\n", cfg.hint("schedule", "add", "NAME", "LIST", "--cron", "EXPRESSION"))
	}
	for i := range all {
		v := &all[i]
		if i > 0 {
			fmt.Fprintln(w)
		}
		when := v.Cron + " (" + v.Zone + ")"
		if v.Jitter > 0 {
			when += ", put off by up to " + spanWords(v.Jitter)
		}
		if v.Spread > 0 {
			when += ", spread over " + spanWords(v.Spread)
		}
		fmt.Fprintf(w, "%s  %s\n", sc.in(clean(v.Name), bold), when)
		fmt.Fprintf(w, "  list  %s\n", clean(strings.Join(v.Sources, ", ")))
		next := momentWords(v.NextAt, v.Zone, now)
		switch {
		case v.Forced:
			next = "as soon as agentaudit serve, or worker --schedules, looks"
		case v.Paused:
			next = sc.in("paused", yellow) + "; " + cfg.hint("schedule", "resume", v.Name) + " goes on"
		case v.Filling:
			next = "its list is being read; then " + next
		case now.Sub(v.NextAt) > schedule.LateAfter:
			next = sc.in("late", red) + ": it was due on " + next + ", and nobody runs the schedules (agentaudit serve does)"
		}
		fmt.Fprintf(w, "  next  %s\n", next)
		if v.LastAt.IsZero() {
			fmt.Fprintln(w, "  last  never")
			continue
		}
		last := momentWords(v.LastAt, v.Zone, now) + ", batch " + string(v.LastBatch)
		if v.Late > schedule.LateAfter {
			last += sc.in(", "+duration(v.Late)+" late", yellow)
		}
		fmt.Fprintf(w, "  last  %s\n", last)
		if v.LastError != "" {
			fmt.Fprintln(w, sc.in(sc.wrap(clean(v.LastError), "        "), red))
		}
		if v.Missed > 0 {
			fmt.Fprintf(w, "        %s missed so far, while nobody ran the schedules\n", plural(v.Missed, "time", "times"))
		}
	}
}

// momentWords is a time in words, in a zone, with how far away it is.
func momentWords(t time.Time, zone string, now time.Time) string {
	if loc, err := time.LoadLocation(zone); err == nil {
		t = t.In(loc)
	}
	away := t.Sub(now)
	words := t.Format("Monday, 2 January 2006, 15:04 MST")
	if away > -time.Minute && away < time.Minute {
		return words + " (now)"
	}
	if away < 0 {
		return words + " (" + spanWords(-away) + " ago)"
	}
	return words + " (in " + spanWords(away) + ")"
}

// spanWords is a time span to two units.
func spanWords(d time.Duration) string {
	units := []struct {
		length time.Duration
		one    string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}}
	var words []string
	for i, u := range units {
		if n := int64(d / u.length); n > 0 || i == len(units)-1 && len(words) == 0 {
			words = append(words, plural(n, u.one, u.one+"s"))
			d -= time.Duration(n) * u.length
		}
		if len(words) == 2 {
			break
		}
	}
	return strings.Join(words, " ")
}

// scheduleStep is a command that does one thing to one schedule.
func scheduleStep(s streams, name, usage, about string, do func(context.Context, *store.Store, *store.Schedule) error, done string) *cli.Command {
	return &cli.Command{
		Name:        name,
		Usage:       usage,
		UsageText:   "agentaudit schedule " + name + " NAME",
		Description: about + "\n\nEXAMPLE\n   agentaudit schedule " + name + " weekly",
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("schedule %s needs one schedule; agentaudit schedule list lists them", name)
			}
			return withStore(c, s, store.Shared, func(cfg *config, st *store.Store) error {
				v, err := findSchedule(c.Context, cfg, st, c.Args().First())
				if err != nil {
					return err
				}
				switch err := do(c.Context, st, v); {
				case errors.Is(err, store.ErrConflict) && v.Filling:
					return usagef("the list of schedule %q is being read at the moment", clean(v.Name))
				case errors.Is(err, store.ErrConflict) && v.Paused:
					return usagef("schedule %q rests already", clean(v.Name))
				case errors.Is(err, store.ErrConflict):
					return usagef("schedule %q does not rest", clean(v.Name))
				case err != nil:
					return err
				}
				fmt.Fprintf(s.Err, "schedule %q %s\n", clean(v.Name), done)
				return nil
			})
		},
	}
}

// findSchedule finds a schedule by its name or id.
func findSchedule(ctx context.Context, cfg *config, st *store.Store, name string) (*store.Schedule, error) {
	all, err := st.Schedules(ctx)
	if err != nil {
		return nil, undone(err)
	}
	for i := range all {
		if all[i].Name == name || string(all[i].ID) == name {
			return &all[i], nil
		}
	}
	return nil, usagef("there is no schedule %q; %s lists them", clean(name), cfg.hint("schedule", "list"))
}
