package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math"

	"agentaudit/store"
)

// noParts is a store that keeps no documents.
type noParts struct{ Reader }

func (noParts) Parts(_ context.Context, id store.RunID) (*store.Parts, error) {
	return nil, fmt.Errorf("run %s has no result: %w", id, store.ErrNotFound)
}

// damaged is a store whose reports are no JSON.
type damaged struct{ Reader }

func (damaged) Parts(context.Context, store.RunID) (*store.Parts, error) {
	return &store.Parts{Report: []byte("{")}, nil
}

var errBroken = errors.New("disk on fire at /var/secret")

// broken is a store that fails at every read of rows, after some.
type broken struct {
	Reader
	after int
}

func (b broken) Results(context.Context, store.Filter, string, int) (*store.Page, error) {
	return nil, errBroken
}

func (b broken) EachResult(ctx context.Context, f store.Filter, full bool, fn func(store.Row) error) error {
	n := 0
	err := b.Reader.EachResult(ctx, f, full, func(r store.Row) error {
		if n++; n > b.after {
			return errBroken
		}
		return fn(r)
	})
	return err
}

// linear is the share of light behind a colour value (WCAG 2.2, relative
// luminance).
func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}
