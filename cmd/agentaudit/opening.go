package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/store"
)

// openStore opens the store that the flags name with an error for people.
func openStore(ctx context.Context, cfg *config, access store.Access) (*store.Store, error) {
	st, err := store.Open(ctx, cfg.place(), store.Options{Access: access, Log: cfg.log})
	if errors.Is(err, store.ErrNotFound) {
		return nil, usagef("there are no batches in %s yet; %s makes the first, --data-dir or --store names another place", cfg.placeName(), cfg.hint("run", "LIST"))
	}
	if err != nil {
		return nil, undone(fmt.Errorf("cannot open the store: %w", err))
	}
	return st, nil
}

// withStore lets a command do something with the store that its flags name.
func withStore(c *cli.Context, s streams, access store.Access, do func(*config, *store.Store) error) error {
	cfg, err := newConfig(c, s)
	if err != nil {
		return err
	}
	st, err := openStore(c.Context, cfg, access)
	if err != nil {
		return err
	}
	defer st.Close()
	return do(cfg, st)
}

// openBeside opens the store for a process that shares it with others. Where
// nobody has made or updated it yet it does that first. alone says that no
// other process owns the store at the moment.
func openBeside(ctx context.Context, cfg *config) (st *store.Store, alone bool, err error) {
	made, err := store.Open(ctx, cfg.place(), store.Options{Access: store.Own, Log: cfg.log})
	_, locked := errors.AsType[*store.LockedError](err)
	switch {
	case err == nil:
		if err := made.Close(); err != nil {
			return nil, false, undone(fmt.Errorf("cannot open the store: %w", err))
		}
	case !locked:
		return nil, false, undone(fmt.Errorf("cannot open the store: %w", err))
	}
	for deadline := time.Now().Add(ownerStarts); ; {
		st, err = store.Open(ctx, cfg.place(), store.Options{Access: store.Shared, Log: cfg.log})
		if err == nil || !locked || !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrSchema) || time.Now().After(deadline) {
			break
		}
		// The owner has only just begun, and makes or updates the store now.
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
	if err != nil {
		return nil, false, undone(fmt.Errorf("cannot open the store: %w", err))
	}
	return st, made != nil && made.Sole(), nil
}

// ownerStarts is how long another process may take to make or update the store.
const ownerStarts = 5 * time.Second

// latest is what stands for the newest batch where a batch is asked for.
const latest = "latest"

// findBatch finds a batch by its id, by the beginning of its id where only one
// batch begins so, or as the newest one ("latest" or nothing).
func findBatch(ctx context.Context, cfg *config, st *store.Store, name string) (*store.Batch, error) {
	if name == "" || name == latest {
		newest, err := st.Batches(ctx, "", 1)
		if err != nil {
			return nil, undone(err)
		}
		if len(newest) == 0 {
			return nil, usagef("there are no batches yet; %s makes the first", cfg.hint("run", "LIST"))
		}
		return &newest[0], nil
	}
	if id, err := store.ParseBatchID(name); err == nil {
		b, err := st.Batch(ctx, id)
		if err == nil || !errors.Is(err, store.ErrNotFound) {
			return b, err
		}
	}
	var found *store.Batch
	var before store.BatchID
	for {
		page, err := st.Batches(ctx, before, 500)
		if err != nil {
			return nil, undone(err)
		}
		for i := range page {
			if !strings.HasPrefix(string(page[i].ID), strings.ToLower(strings.TrimSpace(name))) {
				continue
			}
			if found != nil {
				return nil, usagef("more than one batch begins with %q; %s lists them", clean(name), cfg.hint("batches"))
			}
			found = &page[i]
		}
		if len(page) < 500 {
			break
		}
		before = page[len(page)-1].ID
	}
	if found == nil {
		return nil, usagef("there is no batch %q; %s lists them", clean(name), cfg.hint("batches"))
	}
	return found, nil
}
