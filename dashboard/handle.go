package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"agentaudit/store"
)

// HTTPError is an error with a half for the reader of the page and a half for
// the log.
type HTTPError struct {
	Code int
	// Title is the heading, "" for the usual words for Code. Message says what
	// is wrong, Advice what to do; both are sentences.
	Title, Message, Advice string
	// To is a path of the dashboard that leads on, ToWords what it is called; ""
	// for none.
	To, ToWords string
	// Field is the field of a form that is to blame, "" for none; in the API it is
	// the member or parameter.
	Field string
	// Err is only logged, nil for nothing more.
	Err error

	logged bool
}

// Error is what the log reads.
func (e *HTTPError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%d: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%d: %s (%v)", e.Code, e.Message, e.Err)
}

// Unwrap is Err.
func (e *HTTPError) Unwrap() error { return e.Err }

func notFound(message string, err error) *HTTPError {
	return &HTTPError{Code: http.StatusNotFound, Message: message, Err: err}
}

func noPage() *HTTPError {
	e := notFound("There is no page at this address.", nil)
	e.Advice = "Check that it was copied in full, or begin with one of these."
	return e
}

func badRequest(format string, args ...any) *HTTPError {
	return &HTTPError{Code: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// explain finds what the reader of a page can be told of an error.
func explain(err error) *HTTPError {
	if e, ok := errors.AsType[*HTTPError](err); ok {
		return e
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notFound("It is not in the store: "+sentence(err.Error()), err)
	case errors.Is(err, store.ErrCursor):
		return &HTTPError{Code: http.StatusBadRequest, Field: "after", Message: "The address names a page that this view does not have.",
			Advice: "Leave \"after\" out of the address to begin with the first page.", Err: err}
	case errors.Is(err, store.ErrConflict):
		why, _ := strings.CutSuffix(err.Error(), ": "+store.ErrConflict.Error())
		return &HTTPError{Code: http.StatusConflict, Title: "Not possible now", Message: sentence(why), Err: err}
	case errors.Is(err, store.ErrUnavailable):
		return &HTTPError{Code: http.StatusServiceUnavailable, Message: "The database does not answer at the moment.",
			Advice: "Nothing is lost, and audits go on when it is back. Try again in a moment.", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &HTTPError{Code: http.StatusServiceUnavailable, Message: "The store did not answer in time.",
			Advice: "It may be busy with a large list. Try again in a moment.", Err: err}
	}
	return &HTTPError{Code: http.StatusInternalServerError, Message: "The page could not be made.",
		Advice: "Try again; if it stays so, look for the number below in the log.", Err: err}
}

// goTo is no failure, but the path of another page of the dashboard that shows
// what was asked for.
type goTo string

func (g goTo) Error() string { return "see " + string(g) }

// Request is what a page function is asked.
type Request struct {
	Query url.Values
	Links Links
	Now   time.Time
	// Origin is how the world calls this host, as in https://audit.example.
	Origin string
	// Who asks, where Known; others get open pages alone.
	Who   Who
	Known bool

	path     func(name string) string
	rate     func(store.BatchID) (perSecond float64, ok bool)
	compared *comparisons
	vitals   *vitals
}

// Path is a part of the path, as in "batch".
func (r *Request) Path(name string) string { return r.path(name) }

// Only refuses parameters that a page does not know: a misspelled filter must
// not look like a view of everything.
func (r *Request) Only(names ...string) error {
	for name := range r.Query {
		if !slices.Contains(names, name) {
			return &HTTPError{Code: http.StatusBadRequest, Field: name, Message: fmt.Sprintf("This page has no parameter %.60q.", name),
				Advice: "It knows " + strings.Join(names, ", ") + "."}
		}
		if len(r.Query[name]) > 1 {
			return blame(name, badRequest("The parameter %q is given more than once.", name))
		}
	}
	return nil
}

func (s *Server) request(r *http.Request) *Request {
	q := &Request{Links: s.links, Now: s.c.Now(), rate: s.live.rate, compared: s.compared, vitals: s.vitals, path: func(string) string { return "" }}
	if r != nil {
		q.Query, q.path, q.Origin = r.URL.Query(), r.PathValue, s.origin(r)
		q.Who, q.Known = r.Context().Value(whoKey{}).(Who)
	}
	return q
}

// origin is how the world, or else this reader, calls this host.
func (s *Server) origin(r *http.Request) string {
	switch {
	case s.public != nil:
		return s.public.Scheme + "://" + s.public.Host
	case s.secureRequest(r):
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// logged is the path of a request for the log: links that are shared are
// secrets.
func (s *Server) logged(r *http.Request) string {
	const shared = "/share/"
	path := strings.TrimPrefix(r.URL.Path, s.links.base)
	if strings.HasPrefix(path, shared) {
		return shared + "…"
	}
	return r.URL.Path
}

// whoKey is under what a request carries the Who that was admitted.
type whoKey struct{}

// framed is a page: every one embeds a [Frame].
type framed interface{ frame() *Frame }

// page serves a page: f makes the struct, the template of that name shows it.
func page[P framed](s *Server, mux *http.ServeMux, pattern, name string, f func(ctx context.Context, r *Request, read Reader) (P, error)) {
	servePage(s, mux, pattern, reading, name, f)
}

// openPage serves a page to all who come.
func openPage[P framed](s *Server, mux *http.ServeMux, pattern, name string, f func(ctx context.Context, r *Request, read Reader) (P, error)) {
	servePage(s, mux, pattern, open, name, f)
}

func servePage[P framed](s *Server, mux *http.ServeMux, pattern string, n need, name string, f func(ctx context.Context, r *Request, read Reader) (P, error)) {
	s.handle(mux, pattern, n, func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), s.c.PageTimeout)
		defer cancel()
		q := s.request(r)
		p, err := f(ctx, q, s.c.Store)
		if bad, ok := errors.AsType[*HTTPError](err); ok && bad.Field != "" && !reflect.ValueOf(p).IsNil() {
			// The page is a form itself, and shows what is wrong with it.
			return s.again(w, q, err, name, p, "f-")
		}
		if err != nil {
			return err
		}
		p.frame().Notice = s.notice(w, r)
		return s.show(w, http.StatusOK, name, p, q)
	})
}

// show answers with a page.
func (s *Server) show(w http.ResponseWriter, status int, name string, p framed, q *Request) error {
	s.dress(p.frame(), q)
	body, err := s.render(name, p)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who has left needs no page
	return nil
}

// handle serves those who may use it with what may fail: an error becomes a
// page, and a log line.
func (s *Server) handle(mux *http.ServeMux, pattern string, n need, f func(w http.ResponseWriter, r *http.Request) error) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		who, ok, err := s.admit(w, r, n)
		if ok {
			if n > open || who != (Who{}) || s.c.Users == nil {
				r = r.WithContext(context.WithValue(r.Context(), whoKey{}, who))
			}
			err = f(w, r)
		}
		if to, ok := errors.AsType[goTo](err); ok {
			http.Redirect(w, r, string(to), http.StatusSeeOther)
		} else if err != nil {
			s.fail(w, r, err)
		}
		s.c.Log.DebugContext(r.Context(), "served", "url", s.logged(r), "dur", time.Since(start), "err", err)
	})
}

// fail answers with the error page.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody is there to read it
	}
	e := explain(err)
	id := requestID()
	if e.Code >= 500 && !e.logged {
		s.c.Log.ErrorContext(r.Context(), "a page failed", "url", s.logged(r), "request", id, "err", err)
	}
	if s.isAPI(r) {
		s.problem(w, e, id)
		return
	}
	p := s.errorPage(s.request(r), e)
	p.RequestID = id
	if r.URL.Path == "/site" {
		p.Lookup = r.URL.Query().Get("target")
	}
	body, err := s.render("error", p)
	if err != nil {
		s.c.Log.ErrorContext(r.Context(), "the error page failed", "request", id, "err", err)
		body = []byte("<!doctype html><title>Error</title><p>The page could not be made.</p>")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("Content-Disposition")
	w.WriteHeader(e.Code)
	_, _ = w.Write(body)
}

// ErrorPage tells what went wrong.
type ErrorPage struct {
	Frame
	Code    int
	Message string
	Advice  string
	// To leads on, where there is a better way than to the overview.
	To, ToWords string
	RequestID   string // only shown for failures of ours
}

func (s *Server) errorPage(r *Request, e *HTTPError) *ErrorPage {
	title := e.Title
	if title == "" {
		title = map[int]string{
			400: "This cannot be read", 401: "Not signed in", 403: "Not allowed", 404: "Not found", 405: "Not possible here", 409: "Not possible now",
			500: "Something went wrong here", 503: "Not available at the moment",
		}[e.Code]
	}
	if title == "" {
		title = http.StatusText(e.Code)
	}
	p := &ErrorPage{Frame: Frame{Title: title, Bare: !r.Known}, Code: e.Code, Message: e.Message, Advice: e.Advice, To: e.To, ToWords: e.ToWords}
	s.dress(&p.Frame, r)
	return p
}
