package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/worker/producer"
)

// steer makes an action on the batch of the path.
func (s *Server) steer(notice string, f func(ctx context.Context, id store.BatchID, who Who) error) func(context.Context, *Request, url.Values) (Done, error) {
	return func(ctx context.Context, r *Request, _ url.Values) (Done, error) {
		id := store.BatchID(r.Path("batch"))
		if err := f(ctx, id, r.Who); err != nil {
			return Done{}, err
		}
		s.c.Log.InfoContext(ctx, "batch steered", "batch", id, "what", notice, "user", r.Who.CreatedBy())
		return Done{s.links.Batch(id), notice}, nil
	}
}

func (s *Server) pauseBatch(ctx context.Context, id store.BatchID, who Who) error {
	return s.c.Write.PauseBatch(ctx, id, "paused in the dashboard by "+who.CreatedBy())
}

func (s *Server) resumeBatch(ctx context.Context, id store.BatchID, _ Who) error {
	return s.c.Write.ResumeBatch(ctx, id)
}

func (s *Server) cancelBatch(ctx context.Context, id store.BatchID, who Who) error {
	return s.c.Write.CancelBatch(ctx, id, "cancelled in the dashboard by "+who.CreatedBy())
}

// retryBatch audits what is unchecked, or another outcome, again in place.
func (s *Server) retryBatch(ctx context.Context, r *Request, form url.Values) (Done, error) {
	id := store.BatchID(r.Path("batch"))
	f, err := readFilter(form, id)
	if err != nil {
		return Done{}, err
	}
	if f != (store.Filter{Batch: id, Outcome: f.Outcome, Reason: f.Reason}) {
		return Done{}, badRequest("Only whole outcomes and reasons can be audited again in place; audit these again as a batch of their own.")
	}
	sel := store.Selection{}
	if f.Outcome != "" {
		sel.Outcomes = []report.Outcome{f.Outcome}
	}
	if f.Reason != "" {
		sel.Reasons = []report.Reason{f.Reason}
	}
	n, err := s.c.Write.RetryBatch(ctx, id, sel)
	if err != nil {
		return Done{}, err
	}
	s.c.Log.InfoContext(ctx, "batch retried", "batch", id, "runs", n, "user", r.Who.CreatedBy())
	return Done{s.links.Batch(id), fmt.Sprintf("%s audited again.", plural(n, "site is being", "sites are being"))}, nil
}

// auditAgain makes a list of all that a view shows, to be looked at and started
// as a batch of its own: how many they are, and how long they will take, is
// seen before.
func (s *Server) auditAgain(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	patient(w)
	b, err := s.draftOf(r.Context(), store.BatchID(r.PathValue("batch")), r.PostForm)
	if err == nil {
		err = s.hold(r.Context(), b)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, s.links.Draft(b.ID), http.StatusSeeOther)
	return nil
}

// draftOf makes the list; it has the name and the options of the batch, so that
// the two can be compared.
func (s *Server) draftOf(ctx context.Context, id store.BatchID, form url.Values) (*store.Batch, error) {
	f, err := readFilter(form, id)
	if err != nil {
		return nil, err
	}
	old, err := s.c.Store.Batch(ctx, id)
	if err != nil {
		return nil, err
	}
	o, err := producer.OptionsOf(old)
	if err != nil {
		return nil, err
	}
	o.List = producer.List{Posted: []string{"results of " + string(id)}}
	b, err := s.draft(ctx, newList{Name: old.Name, Options: o}, func(ctx context.Context, to store.BatchID) error {
		c, err := producer.Copy(ctx, producer.Picked(ctx, s.c.Store, f), s.c.Write, to)
		if err == nil && c.Lines == 0 {
			return &HTTPError{Code: http.StatusConflict, Message: "This view shows nothing that could be audited again."}
		}
		return err
	})
	return b, err
}
