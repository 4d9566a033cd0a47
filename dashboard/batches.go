package dashboard

import (
	"context"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// BatchLine is a batch in a list.
type BatchLine struct {
	*store.Batch
	Bar Bar
	// Took is how long the audits took, negative while that is not known.
	Took time.Duration
}

func newBatchLine(b *store.Batch) BatchLine {
	return BatchLine{b, newBar(entryCounts(b), b.Entries, plural(b.Entries, "entry", "entries")), took(b)}
}

func took(b *store.Batch) time.Duration {
	if b.StartedAt.IsZero() || b.FinishedAt.IsZero() {
		return -1
	}
	return b.FinishedAt.Sub(b.StartedAt)
}

func entryCounts(b *store.Batch) map[report.Outcome]int64 {
	counts := map[report.Outcome]int64{}
	for o, c := range b.Outcomes {
		counts[o] = c.Entries
	}
	return counts
}

// BatchesPage lists batches, the newest first.
type BatchesPage struct {
	Frame
	Batches []BatchLine
	// Later says that it is not the first page, Next is the last batch of a
	// page that is not the last.
	Later bool
	Next  store.BatchID
}

const batchesPerPage = 30

func batchesPage(ctx context.Context, r *Request, read Reader) (*BatchesPage, error) {
	if err := r.Only("before"); err != nil {
		return nil, err
	}
	p := &BatchesPage{Frame: Frame{Title: "Batches", Section: "batches"}}
	var before store.BatchID
	if raw := r.Query.Get("before"); raw != "" {
		var err error
		if before, err = store.ParseBatchID(raw); err != nil {
			return nil, badRequest("The parameter before is no batch: %s", sentence(err.Error()))
		}
		p.Later = true
	}
	list, err := read.Batches(ctx, before, batchesPerPage+1)
	if err != nil {
		return nil, err
	}
	if len(list) > batchesPerPage {
		list = list[:batchesPerPage]
		p.Next = list[batchesPerPage-1].ID
	}
	for i := range list {
		p.Batches = append(p.Batches, newBatchLine(&list[i]))
	}
	return p, nil
}

// Origin says where a batch with a name came from, and one without what its
// list was.
func (l BatchLine) Origin() string {
	sources := strings.Join(l.Sources, ", ")
	if l.Name == "" || sources == "" || sources == l.Name {
		return sources
	}
	return string(l.ID) + ", " + sources
}
