package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentaudit/store"
)

// SignInPage asks for name and password.
type SignInPage struct {
	Frame
	// Needed is false where nobody has to sign in.
	Needed bool
	// Next is where it goes on, Name what was typed.
	Next, Name string
}

func (s *Server) signInPage(_ context.Context, r *Request, _ Reader) (*SignInPage, error) {
	if err := r.Only("next"); err != nil {
		return nil, err
	}
	return s.newSignInPage(r, s.ownPath(r.Query.Get("next"))), nil
}

func (s *Server) newSignInPage(r *Request, next string) *SignInPage {
	return &SignInPage{Frame: Frame{Title: "Sign in", Section: "signin", Bare: !r.Known}, Needed: s.c.Users != nil, Next: next}
}

// signIn begins a session.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	if s.c.Users == nil {
		return &HTTPError{Code: http.StatusConflict, Message: "Nobody has to sign in here."}
	}
	if err := readForm(w, r); err != nil {
		return err
	}
	name, password, next := strings.TrimSpace(r.PostForm.Get("name")), r.PostForm.Get("password"), s.ownPath(r.PostForm.Get("next"))
	address, now := remoteAddress(r), s.c.Now()
	q := s.request(r)
	p := s.newSignInPage(q, next)
	p.Name = name
	if wait := s.attempts.Begin(address, name, now); wait > 0 {
		s.c.Log.WarnContext(r.Context(), "too many attempts to sign in", "address", address, "user", fmt.Sprintf("%.64q", name))
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		return s.again(w, q, &HTTPError{Code: http.StatusTooManyRequests, Field: "password", Message: "There were too many attempts.", Advice: "Try again in " + span(roundUp(wait)) + "."}, "signin", p, "s-")
	}
	if !s.c.Users.Check(name, password) {
		s.c.Log.WarnContext(r.Context(), "a sign-in failed", "address", address, "user", fmt.Sprintf("%.64q", name))
		return s.again(w, q, &HTTPError{Code: http.StatusUnauthorized, Field: "password", Message: "Name and password do not belong together."}, "signin", p, "s-")
	}
	s.attempts.Succeeded(address, name, now)
	secret, err := s.c.Write.NewSession(r.Context(), store.Session{User: name, Proof: s.c.Users.Proof(name), ExpiresAt: now.Add(sessionLength)})
	if err != nil {
		return err
	}
	s.c.Log.InfoContext(r.Context(), "signed in", "address", address, "user", name)
	s.setCookie(w, r, s.sessionCookie(r), secret, sessionLength)
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// roundUp is a wait to whole minutes, or seconds where it is short.
func roundUp(wait time.Duration) time.Duration {
	unit := time.Minute
	if wait < unit {
		unit = time.Second
	}
	return wait.Truncate(unit) + unit
}

// signOut ends the session, here and in the store.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	name := s.sessionCookie(r)
	if c, err := r.Cookie(name); err == nil && s.c.Users != nil {
		if err := s.c.Write.EndSession(r.Context(), c.Value); err != nil {
			return err
		}
	}
	s.setCookie(w, r, name, "", -1)
	http.Redirect(w, r, s.links.SignIn(""), http.StatusSeeOther)
	return nil
}
