package dashboard

import (
	"context"
	"errors"
	"net/http"
	"time"

	"agentaudit/store"
	"agentaudit/worker/producer"
)

// hold lets a list wait to be confirmed, also where the program is started anew
// meanwhile.
func (s *Server) hold(ctx context.Context, b *store.Batch) error {
	if err := s.c.Write.HoldIntake(ctx, b.ID); err != nil {
		return errors.Join(err, s.c.Write.RemoveIntake(context.WithoutCancel(ctx), b.ID))
	}
	return nil
}

// isDraft reports whether a batch waits to be confirmed in the dashboard.
func isDraft(b *store.Batch) bool { return b.State == store.StateIntake && posted(b) }

// dropOldDrafts removes lists that nobody confirmed. The error says where too
// many others wait.
func (s *Server) dropOldDrafts(ctx context.Context) error {
	list, err := s.c.Store.OpenBatches(ctx, 1000)
	if err != nil {
		return err
	}
	waiting := 0
	for i := range list {
		b := &list[i]
		if !isDraft(b) {
			continue
		}
		if s.c.Now().Sub(b.CreatedAt) < draftLife {
			waiting++
			continue
		}
		if err := s.c.Write.RemoveIntake(ctx, b.ID); err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return err
		}
		s.c.Log.InfoContext(ctx, "removed a list that was not confirmed", "batch", b.ID)
	}
	if waiting >= mostDrafts {
		return &HTTPError{Code: http.StatusConflict, Message: plural(int64(waiting), "list waits", "lists wait") + " to be confirmed already.", Advice: "Start or drop some of them; they stand among the batches, in the state intake."}
	}
	return nil
}

// DraftPage shows what was understood of a list before it is audited.
type DraftPage struct {
	Frame
	Batch    *store.Batch
	Lines    int64
	Entries  []store.Entry
	Rejected []store.Rejected
	Options  producer.Options
	Estimate Estimate
	// Ends is when the list is removed if nobody confirms it.
	Ends time.Time
}

const draftLines = 20

func (s *Server) draftPage(ctx context.Context, r *Request, read Reader) (*DraftPage, error) {
	if err := r.Only(); err != nil {
		return nil, err
	}
	b, err := pathBatch(ctx, r, read)
	if err != nil {
		return nil, err
	}
	if !isDraft(b) {
		return nil, goTo(r.Links.Batch(b.ID))
	}
	p := &DraftPage{Frame: Frame{Title: "Check the list", Section: "new"}, Batch: b, Lines: b.Entries + b.Rejected, Ends: b.CreatedAt.Add(draftLife)}
	if p.Options, err = producer.OptionsOf(b); err != nil {
		return nil, err
	}
	if p.Entries, err = read.Entries(ctx, b.ID, 0, draftLines); err != nil {
		return nil, err
	}
	if p.Rejected, err = read.RejectedLines(ctx, b.ID, 0, draftLines); err != nil {
		return nil, err
	}
	p.Estimate, err = estimate(ctx, read, b.Runs)
	return p, err
}

// Estimate is how long an audit will take, by the pace of an earlier batch.
type Estimate struct {
	Took time.Duration
	// By is the batch, nil where none tells.
	By *store.Batch
}

// estimate looks for the newest finished batch that is large enough to tell.
func estimate(ctx context.Context, read Reader, runs int64) (Estimate, error) {
	const enough = 10
	list, err := read.Batches(ctx, "", 30)
	if err != nil {
		return Estimate{}, err
	}
	for i := range list {
		b := &list[i]
		took := b.FinishedAt.Sub(b.StartedAt)
		if b.State != store.StateFinished || b.Runs < enough || b.StartedAt.IsZero() || took <= 0 {
			continue
		}
		return Estimate{roundSpan(took.Seconds() * float64(runs) / float64(b.Runs)), b}, nil
	}
	return Estimate{}, nil
}

// startHeld opens a list that was read to its end to the workers, if there is a
// site in it.
func (s *Server) startHeld(ctx context.Context, id store.BatchID, who Who) (*store.Batch, error) {
	b, err := s.c.Store.Batch(ctx, id)
	if err != nil {
		return nil, err
	}
	if b.Held && b.Entries == 0 {
		return nil, s.noSite(ctx, b)
	}
	b, err = s.c.Write.SealHeld(ctx, id)
	if errors.Is(err, store.ErrConflict) {
		return nil, &HTTPError{Code: http.StatusConflict, Message: "This list cannot be started: it was started already, is still being read, or the program was restarted while it was being read.",
			Advice: "Look at the list of batches: once it is read it can be started; if it is not there, hand it in again.", Err: err}
	}
	if err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "batch started", "batch", b.ID, "entries", b.Entries, "user", who.CreatedBy())
	return b, nil
}

// noSite says why a list without a site is not audited: nobody gives one on
// purpose.
func (s *Server) noSite(ctx context.Context, b *store.Batch) error {
	first, err := s.c.Store.RejectedLines(ctx, b.ID, 0, 1)
	if err != nil {
		return err
	}
	e := &HTTPError{Code: http.StatusUnprocessableEntity, Message: "The list has no site to audit.", Advice: "Correct it and send it again."}
	switch {
	case len(first) == 0:
	case b.Rejected == 1:
		e.Message = "The list has no site to audit: its one line was rejected: " + sentence(first[0].Reason)
	default:
		e.Message = "The list has no site to audit: all its " + number(b.Rejected) + " lines were rejected, the first because of this: " + sentence(first[0].Reason)
	}
	return e
}

// startDraft opens a list to the workers. Sealing a long one takes seconds.
func (s *Server) startDraft(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), longestIntake)
	defer cancel()
	patient(w)
	b, err := s.startHeld(ctx, store.BatchID(r.PathValue("batch")), s.request(r).Who)
	if err != nil {
		return err
	}
	s.goOn(w, r, Done{s.links.Batch(b.ID), "The audit has been started."})
	return nil
}

func (s *Server) dropDraft(w http.ResponseWriter, r *http.Request) error {
	if err := s.c.Write.RemoveIntake(r.Context(), store.BatchID(r.PathValue("batch"))); err != nil {
		return err
	}
	s.goOn(w, r, Done{s.links.New(), "The list was dropped; nothing of it is kept."})
	return nil
}
