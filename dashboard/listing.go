package dashboard

import (
	"context"
	"errors"
	"net/http"

	"agentaudit/store"
	"agentaudit/worker/producer"
)

// ListingPage is how a directory's listing changed from one batch to the next.
type ListingPage struct {
	Frame
	Batch *store.Batch
	// Source is the address of the listing.
	Source string
	// Changes is nil for the first batch of a listing, and Reading says that the
	// listing is still being read.
	Changes *store.ListingChanges
	Reading bool
	Lists   []ListingList
}

// ListingList is one kind of change. Shown are the first of Count.
type ListingList struct {
	ID, Title, Means string
	Count            int64
	Shown            []store.ListingChange
}

// listingShown is how many listings of each kind a page shows; programs read all.
const listingShown = 200

// listingSource is where the list of a batch was read, "" for one that was not
// read from a directory's API.
func listingSource(b *store.Batch) string {
	o, err := producer.OptionsOf(b)
	if err != nil {
		return ""
	}
	return o.List.From
}

func listingPage(ctx context.Context, r *Request, read Reader) (*ListingPage, error) {
	if err := r.Only(); err != nil {
		return nil, err
	}
	b, err := pathBatch(ctx, r, read)
	if err != nil {
		return nil, err
	}
	p := &ListingPage{Frame: Frame{Title: "Changes of the listing", Section: "batches"}, Batch: b, Source: listingSource(b), Reading: b.State == store.StateIntake}
	if listingSource(b) == "" {
		return nil, &HTTPError{Code: http.StatusNotFound, Title: "This batch was not read from a directory",
			Message: "Its list was handed over as a whole, so there is nothing to tell of what changed in a listing.",
			Advice:  "What agentaudit run --from URL reads from a directory's listing API is compared with the reading before.",
			To:      r.Links.Batch(b.ID), ToWords: "Back to the batch"}
	}
	if p.Reading {
		return p, nil
	}
	p.Changes, err = read.ListingChanges(ctx, b.ID, listingShown)
	if errors.Is(err, store.ErrNotFound) {
		return p, nil // it is the first one
	}
	if err != nil {
		return nil, err
	}
	c := p.Changes
	p.Lists = []ListingList{
		{"new", "New", "not in the batch before", c.New, c.NewListings},
		{"gone", "Gone", "no longer listed", c.Gone, c.GoneListings},
		{"moved", "Moved", "listed with another address", c.Moved, c.MovedListings},
	}
	return p, nil
}
