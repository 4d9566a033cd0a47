package dashboard

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// longestForm bounds what a form without a file may send, in bytes.
const longestForm = 64 << 10

// readForm reads the fields of a form.
func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, longestForm)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return &HTTPError{Code: http.StatusRequestEntityTooLarge, Message: "The form is too long.", Err: err}
		}
		return &HTTPError{Code: http.StatusBadRequest, Message: "The form cannot be read.", Err: err}
	}
	return nil
}

// Done is what came of an action: where to go on, and a sentence to be shown
// there, "" for none.
type Done struct{ Next, Notice string }

// action serves a form that changes something: f does it, and the browser goes
// on to a page, so that loading that again does nothing twice.
func action(s *Server, mux *http.ServeMux, pattern string, f func(ctx context.Context, r *Request, form url.Values) (Done, error)) {
	s.handle(mux, "POST "+pattern, writing, func(w http.ResponseWriter, r *http.Request) error {
		if err := readForm(w, r); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.c.PageTimeout)
		defer cancel()
		done, err := f(ctx, s.request(r), r.PostForm)
		if err != nil {
			return err
		}
		s.goOn(w, r, done)
		return nil
	})
}

// goOn sends the browser to the page where it goes on.
func (s *Server) goOn(w http.ResponseWriter, r *http.Request, done Done) {
	if done.Notice != "" {
		s.setCookie(w, r, noticeCookie, base64.RawURLEncoding.EncodeToString([]byte(done.Notice)), time.Minute)
	}
	http.Redirect(w, r, done.Next, http.StatusSeeOther)
}

// noticeCookie carries a sentence over to the next page.
const noticeCookie = "agentaudit_notice"

// notice is the sentence that was carried over; it is shown once.
func (s *Server) notice(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(noticeCookie)
	if err != nil || r.Method != http.MethodGet {
		return ""
	}
	s.setCookie(w, r, noticeCookie, "", -1)
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(text) > 1000 {
		return ""
	}
	return string(text)
}

// field is a field of a form without blanks around it.
func field(form url.Values, name string) string { return strings.TrimSpace(form.Get(name)) }
