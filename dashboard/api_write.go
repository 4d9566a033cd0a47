package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/audit/sitelist"
	"agentaudit/store"
	"agentaudit/worker/producer"
)

// apiNewBatch is a list that is sent as JSON: urls, or the text of a list in
// any form.
type apiNewBatch struct {
	Name    string            `json:"name"`
	URLs    []json.RawMessage `json:"urls"`
	List    string            `json:"list"`
	Format  string            `json:"format"`
	Column  string            `json:"column"`
	Pointer string            `json:"pointer"`
	// The other columns are as those of the page.
	IDColumn     string `json:"idColumn"`
	LabelColumn  string `json:"labelColumn"`
	TagColumn    string `json:"tagColumn"`
	ReadmeColumn string `json:"readmeColumn"`
	audit.Options
	// Draft leaves the batch to be started later.
	Draft bool `json:"draft"`
}

// apiCreateBatch takes a list, as JSON or as it is, and starts it unless it is
// to be a draft.
func apiCreateBatch(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	l, draft, err := s.newListOf(r)
	if err != nil {
		return nil, err
	}
	b, err := s.startTaking(ctx, l)
	if bad, ok := errors.AsType[*HTTPError](err); ok && bad.Code == http.StatusUnprocessableEntity {
		err = blame(l.Member, err)
	}
	if err != nil {
		return nil, err
	}
	return s.started(ctx, r, b, draft)
}

// started starts a draft, if it is not to stay one.
func (s *Server) started(ctx context.Context, r *apiRequest, b *store.Batch, draft bool) (any, error) {
	if draft {
		if err := s.hold(ctx, b); err != nil {
			return nil, err
		}
	} else {
		if b.Entries == 0 {
			return nil, errors.Join(s.noSite(ctx, b), s.c.Write.RemoveIntake(context.WithoutCancel(ctx), b.ID))
		}
		var err error
		if b, err = s.c.Write.SealBatch(ctx, b.ID); err != nil {
			return nil, err
		}
		s.c.Log.InfoContext(ctx, "batch started", "batch", b.ID, "entries", b.Entries, "user", r.Who.CreatedBy())
	}
	r.location = s.links.base + apiPath + "/batches/" + string(b.ID)
	return r.batch(b), nil
}

// listTypes are the media types of a list that is sent as it is, and the form
// that each says; with FormatAuto it is found out.
var listTypes = []struct {
	name   string
	format sitelist.Format
}{
	{"text/plain", sitelist.FormatAuto},
	{"text/csv", sitelist.FormatCSV},
	{"text/tab-separated-values", sitelist.FormatCSV},
	{"application/x-ndjson", sitelist.FormatNDJSON},
	{"application/jsonl", sitelist.FormatNDJSON},
	{"application/xml", sitelist.FormatSitemap},
	{"text/xml", sitelist.FormatSitemap},
	{"application/gzip", sitelist.FormatAuto},
	{"application/octet-stream", sitelist.FormatAuto},
}

// notTaken refuses a body of another kind, also one of a form: nothing that was
// not sent as a list is audited.
func notTaken(w http.ResponseWriter, mediaType string, err error) *HTTPError {
	all := []string{"application/json"}
	for _, t := range listTypes {
		all = append(all, t.name)
	}
	w.Header().Set("Accept", strings.Join(all, ", ")) // RFC 9110, section 15.5.16
	e := &HTTPError{Code: http.StatusUnsupportedMediaType, Message: "The request has no readable Content-Type.", Err: err,
		Advice: "Send application/json as the OpenAPI document says, or a list as it is: as " + strings.Join(all[1:len(all)-1], ", ") + " or " + all[len(all)-1] + "."}
	if mediaType != "" {
		e.Message = fmt.Sprintf("A body with the Content-Type %.100q is not taken, and nothing was started.", mediaType)
	}
	return e
}

// newListOf reads what was sent.
func (s *Server) newListOf(r *apiRequest) (l newList, draft bool, err error) {
	mediaType, _, err := mime.ParseMediaType(r.http.Header.Get("Content-Type"))
	if err != nil {
		return l, false, notTaken(r.w, "", err)
	}
	if mediaType != "application/json" {
		for _, t := range listTypes {
			if t.name == mediaType {
				return s.rawList(r, t.format)
			}
		}
		return l, false, notTaken(r.w, mediaType, nil)
	}
	if len(r.Query) > 0 {
		return l, false, badRequest("With a JSON body the options stand in it, not in the address.")
	}
	var in apiNewBatch
	if err := r.body(&in); err != nil {
		return l, false, err
	}
	l = newList{Name: strings.TrimSpace(in.Name), Options: producer.Options{Options: in.Options}}
	l.Options.List.Read = sitelist.Options{Format: sitelist.Format(in.Format), Column: in.Column, Pointer: in.Pointer,
		IDColumn: in.IDColumn, LabelColumn: in.LabelColumn, TagColumn: in.TagColumn, ReadmeColumn: in.ReadmeColumn}
	switch {
	case len(in.URLs) == 0 && in.List == "":
		return l, false, blame("urls", badRequest("There is no list: give urls, or list."))
	case len(in.URLs) > 0 && in.List != "":
		return l, false, blame("list", badRequest("Give urls or list, not both."))
	case len(in.URLs) > 0:
		for _, m := range []param{{"format", in.Format}, {"column", in.Column}, {"pointer", in.Pointer},
			{"idColumn", in.IDColumn}, {"labelColumn", in.LabelColumn}, {"tagColumn", in.TagColumn}, {"readmeColumn", in.ReadmeColumn}} {
			if m.Value != "" {
				return l, false, blame(m.Param, badRequest("The member %s goes with list, not with urls.", m.Param))
			}
		}
		body, err := json.Marshal(in.URLs)
		if err != nil {
			return l, false, err
		}
		l.Options.List.Read.Format = sitelist.FormatJSON
		l.Member = "urls"
		l.add(l.Member, bytes.NewReader(body))
	default:
		l.Member = "list"
		l.add(l.Member, strings.NewReader(in.List))
	}
	return l, in.Draft, nil
}

func (l *newList) add(name string, r io.Reader) {
	l.Options.List.Posted = append(l.Options.List.Posted, name)
	l.Inputs = append(l.Inputs, producer.Reader(name, r))
}

// rawListParams are the options of a list that is sent as it is.
var rawListParams = []string{"name", "filename", "format", "column", "pointer", "idColumn", "labelColumn", "tagColumn", "readmeColumn", "discover", "noAgents", "ignoreRobots", "draft"}

// rawList reads a list that is sent as it is; the parameter format says more
// than the media type.
func (s *Server) rawList(r *apiRequest, format sitelist.Format) (l newList, draft bool, err error) {
	q := r.Query
	flag := func(name string) (set bool) {
		if raw := q.Get(name); raw != "" && err == nil {
			if set, err = strconv.ParseBool(raw); err != nil {
				err = blame(name, badRequest("The parameter %s is true or false, not %.40q.", name, raw))
			}
		}
		return set
	}
	l = newList{Name: strings.TrimSpace(q.Get("name"))}
	l.Options.Discover = audit.Discover(q.Get("discover"))
	l.Options.NoAgents, l.Options.IgnoreRobots, draft = flag("noAgents"), flag("ignoreRobots"), flag("draft")
	if err != nil {
		return l, false, err
	}
	if asked := q.Get("format"); asked != "" {
		format = sitelist.Format(asked)
	}
	l.Options.List.Read = sitelist.Options{Format: format, Column: q.Get("column"), Pointer: q.Get("pointer"),
		IDColumn: q.Get("idColumn"), LabelColumn: q.Get("labelColumn"), TagColumn: q.Get("tagColumn"), ReadmeColumn: q.Get("readmeColumn")}
	name := uploadName(q.Get("filename"))
	if q.Get("filename") == "" {
		name = rawName
	}
	l.add(name, http.MaxBytesReader(r.w, r.http.Body, s.c.MaxUpload))
	return l, draft, nil
}

func apiStartBatch(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	b, err := s.startHeld(ctx, store.BatchID(r.Path("batch")), r.Who)
	if err != nil {
		return nil, err
	}
	return r.batch(b), nil
}

func apiDropBatch(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	return nil, s.c.Write.RemoveIntake(ctx, store.BatchID(r.Path("batch")))
}

// apiSteer serves an action on a batch, which answers with the batch.
func apiSteer(what string, f func(*Server, context.Context, store.BatchID, Who) error) func(context.Context, *Server, *apiRequest) (any, error) {
	return func(ctx context.Context, s *Server, r *apiRequest) (any, error) {
		id := store.BatchID(r.Path("batch"))
		if err := f(s, ctx, id, r.Who); err != nil {
			return nil, err
		}
		s.c.Log.InfoContext(ctx, "batch steered", "batch", id, "what", what, "user", r.Who.CreatedBy())
		b, err := s.c.Store.Batch(ctx, id)
		if err != nil {
			return nil, err
		}
		return r.batch(b), nil
	}
}

// apiRetried is how many runs are audited again.
type apiRetried struct {
	Runs int64 `json:"runs"`
}

func apiRetryBatch(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	var in struct {
		Outcome report.Outcome `json:"outcome"`
		Reason  report.Reason  `json:"reason"`
	}
	if err := r.body(&in); err != nil {
		return nil, err
	}
	id := store.BatchID(r.Path("batch"))
	if _, err := readFilter(url.Values{paramOutcome: {string(in.Outcome)}, paramReason: {string(in.Reason)}}, id); err != nil {
		return nil, err
	}
	var sel store.Selection
	switch {
	case in.Outcome != "":
		sel.Outcomes = []report.Outcome{in.Outcome}
	case in.Reason == "":
		sel.Outcomes = []report.Outcome{report.OutcomeUnchecked}
	}
	if in.Reason != "" {
		sel.Reasons = []report.Reason{in.Reason}
	}
	n, err := s.c.Write.RetryBatch(ctx, id, sel)
	if err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "batch retried", "batch", id, "runs", n, "user", r.Who.CreatedBy())
	return apiRetried{n}, nil
}

// apiView are the filters of a view in a body, by the names that they have in
// an address.
type apiView struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Check   string `json:"check"`
	Status  string `json:"status"`
	Agents  string `json:"agents"`
	Host    string `json:"host"`
	Label   string `json:"label"`
	Tag     string `json:"tag"`
	ID      string `json:"id"`
	Since   string `json:"since"`
	Search  string `json:"q"`
	Sort    string `json:"sort"`
}

func (v apiView) form() url.Values {
	q := url.Values{}
	for _, p := range []param{{paramOutcome, v.Outcome}, {paramReason, v.Reason}, {paramCheck, v.Check}, {paramStatus, v.Status}, {paramAgents, v.Agents},
		{paramHost, v.Host}, {paramLabel, v.Label}, {paramTag, v.Tag}, {paramID, v.ID}, {paramSince, v.Since}, {paramSearch, v.Search}, {paramOrder, v.Sort}} {
		if p.Value != "" {
			q.Set(p.Param, p.Value)
		}
	}
	return q
}

func apiAuditAgain(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	var in struct {
		apiView
		Draft bool `json:"draft"`
	}
	if err := r.body(&in); err != nil {
		return nil, err
	}
	b, err := s.draftOf(ctx, store.BatchID(r.Path("batch")), in.form())
	if err != nil {
		return nil, err
	}
	return s.started(ctx, r, b, in.Draft)
}

func apiListTokens(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	list, err := s.c.Write.Tokens(ctx)
	return pageOf(list, ""), err
}

// apiMade is what was made, with the secret that is shown once.
type apiMade struct {
	Secret string       `json:"secret,omitempty"`
	Token  *store.Token `json:"token,omitempty"`
	Share  *store.Share `json:"share,omitempty"`
	// Link is where a share is opened.
	Link string `json:"link,omitempty"`
}

func apiCreateToken(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	var in struct {
		Name  string `json:"name"`
		Scope string `json:"scope"`
		Days  int    `json:"days"`
	}
	if err := r.body(&in); err != nil {
		return nil, err
	}
	secret, t, err := s.makeToken(ctx, r.Who, url.Values{"name": {in.Name}, "scope": {in.Scope}, "days": {strconv.Itoa(in.Days)}})
	if err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "token made", "token", t.ID, "scope", t.Scope, "user", r.Who.CreatedBy())
	return apiMade{Secret: secret, Token: t}, nil
}

func apiRevokeToken(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	if err := s.c.Write.RevokeToken(ctx, r.Path("token")); err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "token revoked", "token", r.Path("token"), "user", r.Who.CreatedBy())
	return nil, nil
}

func apiListShares(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	list, err := s.c.Write.Shares(ctx)
	return pageOf(list, ""), err
}

func apiCreateShare(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	var in struct {
		apiView
		Run   string `json:"run"`
		Batch string `json:"batch"`
		Days  int    `json:"days"`
	}
	if err := r.body(&in); err != nil {
		return nil, err
	}
	form := in.form()
	if in.Run != "" && (in.Batch != "" || len(form) > 0) {
		return nil, blame("run", badRequest("A link shows one result (run), or a view (batch and filters), not both."))
	}
	form.Set("run", in.Run)
	form.Set("batch", in.Batch)
	form.Set("days", strconv.Itoa(in.Days))
	secret, share, _, err := s.share(ctx, r.Who, form)
	if err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "shared", "share", share.ID, "user", r.Who.CreatedBy())
	return apiMade{Share: share, Link: r.Origin + s.links.Shared(secret)}, nil
}

func apiRevokeShare(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	err := s.c.Write.RevokeShare(ctx, r.Path("share"))
	if err == nil {
		s.c.Log.InfoContext(ctx, "share revoked", "share", r.Path("share"), "user", r.Who.CreatedBy())
	}
	return nil, err
}

// apiMe is who asks, and of whom.
type apiMe struct {
	Name    string `json:"name"`
	Write   bool   `json:"write"`
	Version string `json:"version"`
}

func apiGetMe(_ context.Context, s *Server, r *apiRequest) (any, error) {
	return apiMe{r.Who.CreatedBy(), r.Who.Write, s.c.Version}, nil
}
