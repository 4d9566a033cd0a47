package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/fetch"
	"agentaudit/store"
	"agentaudit/worker/listing"
	"agentaudit/worker/producer"
)

func fromFlag() cli.Flag {
	return &cli.StringFlag{Name: "from", Usage: "take the listings of a directory's API at `URL`, or of mcp-registry or ruagentic; --pointer and the columns (names, or pointers in a listing) say what is not found out"}
}

// newListOrFrom reads --from, or the arguments as newList does.
func newListOrFrom(c *cli.Context) (producer.List, error) {
	return newListOrFromOf(c, c.Args().Slice())
}

func newListOrFromOf(c *cli.Context, words []string) (producer.List, error) {
	if !c.IsSet("from") {
		o, err := newList(c, words)
		if err == nil {
			err = setWriteBack(c, &o)
		}
		return o, err
	}
	o := producer.List{From: c.String("from"), Read: readOptions(c)}
	if len(words) > 0 {
		return o, usagef("--from is a list of its own; leave out %s, or audit it by itself", clean(words[0]))
	}
	if o.Read.Format != "" {
		return o, usagef("--list-format is for files; --from reads JSON")
	}
	if _, err := listing.ParseSource(o.From); err != nil {
		return o, usagef("--from: %v", err)
	}
	return o, setWriteBack(c, &o)
}

// pageLimits give a listing API more time than an audited site has: its pages
// can be large, and nobody waits behind it.
var pageLimits = fetch.Limits{Read: 60 * time.Second}

// listing reads a listing API into a batch. What was taken stays when it cannot
// be read to its end, and --resume goes on; where nothing was, the batch goes.
func (r *runner) listing(ctx context.Context, st *store.Store, b *store.Batch, resume bool) error {
	source, err := listing.ParseSource(r.list.From)
	if err != nil {
		return usagef("--from: %v", err)
	}
	client, err := r.client(fetch.Config{Limits: pageLimits})
	if err != nil {
		return err
	}
	read, last := listing.Fill, time.Now()
	if resume {
		read = listing.Resume
		r.note("batch %s was stopped while its listing was read; going on where it was", b.ID)
	}
	counts, err := read(ctx, st, b.ID, listing.Config{
		Source: source, Client: client, Read: r.list.Read, WriteBack: r.list.WriteBack,
		Note: func(format string, args ...any) { r.note("%s", clean(fmt.Sprintf(format, args...))) },
		Progress: func(c producer.Counts) {
			if time.Since(last) > time.Second {
				last = time.Now()
				r.note("%d listings read", c.Lines)
			}
		},
	})
	if err == nil {
		return nil
	}
	bad, wrong := errors.AsType[*listing.ShapeError](err)
	if wrong || counts.Lines == 0 && ctx.Err() == nil {
		if dropErr := st.AbandonIntake(context.WithoutCancel(ctx), b.ID, "its listing could not be read"); dropErr != nil {
			return undone(errors.Join(err, dropErr))
		}
		if wrong {
			return usagef("--from %s: %v", clean(store.PlainSource(r.list.From)), bad)
		}
		return undone(err)
	}
	if r.drops {
		return errors.Join(undone(err), st.AbandonIntake(context.WithoutCancel(ctx), b.ID, "its listing could not be read to its end"))
	}
	r.note("%s were taken; %s goes on, %s drops them", plural(counts.Lines, "listing", "listings"), r.cfg.hint("run", "--resume", string(b.ID)), r.cfg.hint("cancel", string(b.ID)))
	if ctx.Err() != nil {
		return err
	}
	return undone(err)
}

// changesShown is how many listings of a kind are named.
const changesShown = 5

// changes says how the listing differs from the last time.
func (r *runner) changes(ctx context.Context, st *store.Store, b *store.Batch) error {
	c, err := st.ListingChanges(ctx, b.ID, changesShown)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it is the first
	}
	if err != nil {
		return undone(err)
	}
	r.note("since batch %s: %d new, %d gone, %d with another address", c.Before, c.New, c.Gone, c.Moved)
	name := func(l store.ListingChange) string {
		if l.ID == "" {
			return ""
		}
		return clean(l.ID) + " "
	}
	for _, l := range c.NewListings {
		r.note("  new    %s%s", name(l), clean(l.After))
	}
	for _, l := range c.GoneListings {
		r.note("  gone   %s%s", name(l), clean(l.Before))
	}
	for _, l := range c.MovedListings {
		r.note("  moved  %s%s, was %s", name(l), clean(l.After), clean(l.Before))
	}
	if c.New > changesShown || c.Gone > changesShown || c.Moved > changesShown {
		r.note("  (the first of each kind)")
	}
	return nil
}
