package dashboard

import (
	"context"
	"strconv"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/worker/producer"
)

// BatchPage is one batch.
type BatchPage struct {
	Frame
	Batch    *store.Batch
	Progress Progress
	Took     time.Duration

	// Tallies and Bar count entries: what the list asked for.
	Tallies []Tally
	Bar     Bar
	Done    int64
	// Audited are entries with a verdict about their site.
	Audited int64
	// Lines are all lines of the list, accepted or not.
	Lines int64

	Reasons []Ranked
	Checks  []Ranked
	// Rejected are the first lines that were not accepted; MoreRejected says
	// that there are others.
	Rejected     []store.Rejected
	MoreRejected bool
	// Draft says that the list waits to be confirmed. Unchecked counts entries.
	Draft     bool
	Unchecked int64
	// Listing says that the list was read from a directory, WriteBack that the
	// directory is told of changes; Told picks these messages.
	Listing, WriteBack bool
	Told               store.DeliveryFilter
	// All is the filter that shows all results.
	All store.Filter
	// Earlier is the finished batch of the same list before this one, nil for
	// none.
	Earlier *store.Batch
}

// Name is what the batch is called: its name, or its id.
func batchName(b *store.Batch) string {
	if b.Name != "" {
		return b.Name
	}
	return "Batch " + string(b.ID)
}

func pathBatch(ctx context.Context, r *Request, read Reader) (*store.Batch, error) {
	id, err := store.ParseBatchID(r.Path("batch"))
	if err != nil {
		return nil, err
	}
	return read.Batch(ctx, id)
}

func batchPage(ctx context.Context, r *Request, read Reader) (*BatchPage, error) {
	if err := r.Only(); err != nil {
		return nil, err
	}
	b, err := pathBatch(ctx, r, read)
	if err != nil {
		return nil, err
	}
	p := &BatchPage{Frame: Frame{Title: batchName(b), Section: "batches", Live: b.State.Open()}, Batch: b, Progress: progressOf(b, r.rate, r.Now), Took: took(b),
		Done: b.Done(), Lines: b.Entries + b.Rejected, All: store.Filter{Batch: b.ID}}
	o, err := producer.OptionsOf(b)
	if err != nil {
		return nil, err
	}
	p.Listing, p.WriteBack, p.Told = o.List.From != "", o.List.WriteBack != "", store.DeliveryFilter{Batch: b.ID}
	counts := entryCounts(b)
	p.Draft, p.Unchecked = isDraft(b), counts[report.OutcomeUnchecked]
	p.Tallies = tallies(counts, p.Done, func(o report.Outcome) string { return r.Links.Outcome(b.ID, o) })
	p.Bar = newBar(counts, b.Entries, plural(b.Entries, "entry", "entries"))
	for o, n := range counts {
		if definite(o) {
			p.Audited += n
		}
	}
	if p.Reasons, p.Checks, err = frequent(ctx, r, read, b, 12); err != nil {
		return nil, err
	}
	if b.Rejected > 0 {
		const some = 10
		if p.Rejected, err = read.RejectedLines(ctx, b.ID, 0, some); err != nil {
			return nil, err
		}
		p.MoreRejected = b.Rejected > some
	}
	older, err := read.Batches(ctx, b.ID, 30)
	if err != nil {
		return nil, err
	}
	for i := range older {
		if older[i].State == store.StateFinished && sameList(b, &older[i]) && older[i].Runs > 0 {
			p.Earlier = &older[i]
			break
		}
	}
	return p, nil
}

// RejectedPage lists lines that were not accepted.
type RejectedPage struct {
	Frame
	Batch *store.Batch
	Lines []store.Rejected
	// Later says that it is not the first page, Next is the number of the last
	// line of a page that is not the last.
	Later bool
	Next  int64
}

const rejectedPerPage = 200

func rejectedPage(ctx context.Context, r *Request, read Reader) (*RejectedPage, error) {
	if err := r.Only("after"); err != nil {
		return nil, err
	}
	b, err := pathBatch(ctx, r, read)
	if err != nil {
		return nil, err
	}
	p := &RejectedPage{Frame: Frame{Title: "Rejected lines", Section: "batches"}, Batch: b}
	var after int64
	if raw := r.Query.Get("after"); raw != "" {
		if after, err = strconv.ParseInt(raw, 10, 64); err != nil || after < 0 {
			return nil, badRequest("The parameter after is no number: %.40q.", raw)
		}
		p.Later = after > 0
	}
	if p.Lines, err = read.RejectedLines(ctx, b.ID, after, rejectedPerPage+1); err != nil {
		return nil, err
	}
	if len(p.Lines) > rejectedPerPage {
		p.Lines = p.Lines[:rejectedPerPage]
		p.Next = p.Lines[rejectedPerPage-1].N
	}
	return p, nil
}
