package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"agentaudit/store"
)

// shareDays are the lives of shared links that forms offer, in days.
var shareDays = []int{1, 7, 30, 90}

const (
	mostShares      = 1000
	longestShareDay = 365
)

// SharedPage tells the link that was just made; it is shown this once.
type SharedPage struct {
	Frame
	Share store.Share
	// Of says what is shared, Link is the link in full.
	Of, Link string
}

// newShare shares one result (field run) or one view (batch and filters).
func (s *Server) newShare(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.c.PageTimeout)
	defer cancel()
	q := s.request(r)
	secret, share, of, err := s.share(ctx, q.Who, r.PostForm)
	if err != nil {
		return err
	}
	s.c.Log.InfoContext(ctx, "shared", "share", share.ID, "user", q.Who.CreatedBy())
	p := &SharedPage{Frame: Frame{Title: "Shared", Section: "settings"}, Share: *share, Of: of, Link: q.Origin + s.links.Shared(secret)}
	return s.show(w, http.StatusCreated, "shared", p, q)
}

// share makes the link; of says in words what it shows.
func (s *Server) share(ctx context.Context, who Who, form url.Values) (secret string, _ *store.Share, of string, err error) {
	days, err := strconv.Atoi(field(form, "days"))
	if err != nil || days < 1 || days > longestShareDay {
		return "", nil, "", blame("days", badRequest("A link lasts from 1 to %d days.", longestShareDay))
	}
	v := store.Share{CreatedBy: who.CreatedBy(), ExpiresAt: s.c.Now().AddDate(0, 0, days)}
	if run := store.RunID(field(form, "run")); run != "" {
		found, err := s.c.Store.Run(ctx, run)
		if err != nil {
			return "", nil, "", blame("run", err)
		}
		v.Run, v.Batch, of = run, run.Batch(), "The result of "+runName(found.Label, found.Target)
	} else {
		b, err := s.c.Store.Batch(ctx, store.BatchID(field(form, "batch")))
		if err != nil {
			return "", nil, "", blame("batch", err)
		}
		f, err := readFilter(form, b.ID)
		if err != nil {
			return "", nil, "", err
		}
		v.Batch, v.Query = b.ID, filterQuery(f).Encode()
		of = viewName(b, f)
	}
	have, err := s.c.Write.Shares(ctx)
	if err != nil {
		return "", nil, "", err
	}
	if len(have) >= mostShares {
		return "", nil, "", &HTTPError{Code: http.StatusConflict, Message: plural(int64(len(have)), "link is", "links are") + " shared already.", Advice: "Revoke those that are no longer needed, on the page of settings."}
	}
	secret, share, err := s.c.Write.NewShare(ctx, v)
	return secret, share, of, err
}

// viewName says what a view shows.
func viewName(b *store.Batch, f store.Filter) string {
	var words []string
	for _, v := range filterValues(f) {
		if v.Value != "" {
			words = append(words, strings.ToLower(paramWords[v.Param])+" "+v.Value)
		}
	}
	if len(words) == 0 {
		return "All results of " + batchName(b)
	}
	return "Results of " + batchName(b) + " with " + strings.Join(words, ", ")
}

// ShareLine is a shared link in the list of all.
type ShareLine struct {
	store.Share
	// View is where it leads inside the dashboard.
	View string
}

// What it shows, in short.
func (l ShareLine) What() string {
	if l.Run != "" {
		return "result " + string(l.Run)
	}
	if l.Query == "" {
		return "all results of " + string(l.Batch)
	}
	q, _ := url.QueryUnescape(l.Query)
	return "results of " + string(l.Batch) + " with " + q
}

func (s *Server) shareLines(ctx context.Context) ([]ShareLine, error) {
	list, err := s.c.Write.Shares(ctx)
	if err != nil {
		return nil, err
	}
	var all []ShareLine
	for _, v := range list {
		l := ShareLine{Share: v, View: s.links.Run(v.Run)}
		if v.Run == "" {
			f, err := sharedFilter(&v)
			if err != nil {
				return nil, err
			}
			l.View = s.links.Results(f)
		}
		all = append(all, l)
	}
	return all, nil
}

func (s *Server) revokeShare(ctx context.Context, r *Request, _ url.Values) (Done, error) {
	if err := s.c.Write.RevokeShare(ctx, r.Path("share")); err != nil {
		return Done{}, err
	}
	s.c.Log.InfoContext(ctx, "share revoked", "share", r.Path("share"), "user", r.Who.CreatedBy())
	return Done{s.links.Settings(), "The link was revoked; whoever opens it is told that it is over."}, nil
}

// openShare is what the secret of the path opens.
func (s *Server) openShare(ctx context.Context, r *http.Request) (*store.Share, error) {
	over := &HTTPError{Code: http.StatusNotFound, Title: "This link is over", Message: "It was revoked, its time is over, or it was not copied in full.", Advice: "Ask whoever sent it for a new one."}
	if s.c.Write == nil {
		return nil, over
	}
	v, err := s.c.Write.ShareOf(ctx, r.PathValue("secret"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, over
	}
	return v, err
}

func sharedFilter(v *store.Share) (store.Filter, error) {
	q, err := url.ParseQuery(v.Query)
	if err != nil {
		return store.Filter{}, fmt.Errorf("the share %s is damaged: %w", v.ID, err)
	}
	return readFilter(q, v.Batch)
}

// shared shows what was shared, and leads nowhere else in the dashboard.
func (s *Server) shared(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.c.PageTimeout)
	defer cancel()
	v, err := s.openShare(ctx, r)
	if err != nil {
		return err
	}
	q := s.request(r)
	q.Who, q.Known = Who{}, false // it looks the same for all
	self := s.links.Shared(r.PathValue("secret"))
	if v.Run != "" {
		if err := q.Only(); err != nil {
			return err
		}
		q.path = func(string) string { return string(v.Run) }
		p, err := runPage(ctx, q, s.c.Store)
		if err != nil {
			return err
		}
		p.Shared, p.SharedUntil = self, v.ExpiresAt
		return s.show(w, http.StatusOK, "sharedrun", p, q)
	}
	if err := q.Only("after"); err != nil {
		return err
	}
	f, err := sharedFilter(v)
	if err != nil {
		return err
	}
	b, err := s.c.Store.Batch(ctx, v.Batch)
	if err != nil {
		return err
	}
	p := &SharedView{Frame: Frame{Title: viewName(b, f), Section: "shared", Shared: self, SharedUntil: v.ExpiresAt}, Later: q.Query.Get("after") != ""}
	page, err := search(ctx, s.c.Store, f, q.Query.Get("after"), resultsPerPage)
	if err != nil {
		return err
	}
	for _, row := range page.Rows {
		p.Rows = append(p.Rows, sharedLine(row))
	}
	if page.Next != "" {
		p.Next, p.Searching = self+"?"+url.Values{"after": {page.Next}}.Encode(), len(p.Rows) < resultsPerPage
	}
	return s.show(w, http.StatusOK, "sharedview", p, q)
}

// sharedFile gives the files that belong to what was shared.
func (s *Server) sharedFile(w http.ResponseWriter, r *http.Request) error {
	v, err := s.openShare(r.Context(), r)
	if err != nil {
		return err
	}
	switch name := r.PathValue("file"); {
	case v.Run != "" && name == "report.json":
		return s.writeDocument(w, r, v.Run, name)
	case v.Run != "" && name == kitName:
		return s.writeKit(w, r, v.Run)
	case v.Run == "" && (name == "results.csv" || name == "results.ndjson"):
		format := sharedCSV
		if name == "results.ndjson" {
			format = sharedNDJSON
		}
		f, err := sharedFilter(v)
		if err != nil {
			return err
		}
		return s.writeExport(w, r, format, f, false)
	}
	return noPage()
}

// ShareDays are the lives that a link can have, in words.
func (f *Frame) ShareDays() []Option {
	var all []Option
	for _, d := range shareDays {
		all = append(all, Option{Value: strconv.Itoa(d), Words: plural(int64(d), "day", "days"), Selected: d == 7})
	}
	return all
}
