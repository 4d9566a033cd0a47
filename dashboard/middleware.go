package dashboard

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// policy allows our own style sheet, script, icon and stream and nothing else:
// a text that slipped through all escaping could still not act.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets the headers that every answer has.
func (s *Server) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		// The address of a dashboard is nobody else's business. Its own pages
		// must say where a form comes from: with no-referrer browsers send
		// "Origin: null".
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("X-Robots-Tag", "noindex")
		next.ServeHTTP(w, r)
	})
}

// host refuses requests for names that are not ours (DNS rebinding).
func (s *Server) host(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.knownHost(r.Host) {
			s.fail(w, r, &HTTPError{Code: http.StatusMisdirectedRequest, Title: "Not by this name",
				Message: "The dashboard does not answer for the host of this address.",
				Advice:  "Open it by the address that it printed when it started, or start it with this host name allowed."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) knownHost(host string) bool {
	if s.hosts["*"] {
		return true
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || s.hosts[host] {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}

// recovered turns a panic into an error page and a log line.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				s.c.Log.ErrorContext(r.Context(), "a page panicked", "url", s.logged(r), "err", p, "stack", string(debug.Stack()))
				s.fail(w, r, &HTTPError{Code: http.StatusInternalServerError, Message: "The page could not be made.", logged: true})
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what a page of another origin makes a browser send
// (cross-site request forgery). Browsers say where a request comes from in
// Sec-Fetch-Site or Origin, and pages cannot change that; all that changes
// something is a POST. Session cookies are SameSite=Lax besides, and programs
// send tokens, not cookies: no page of another origin has these.
func (s *Server) sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.origins.Check(r); err != nil {
			s.fail(w, r, &HTTPError{Code: http.StatusForbidden, Title: "Not from here", Message: "This was sent by the page of another web site, so that nothing was done.",
				Advice: "Open the dashboard itself and do it there. Behind a proxy, start it with its public URL.", Err: err})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// methods are those that an address takes, as the mux has them; none for one
// that is nowhere.
func methods(mux *http.ServeMux, r *http.Request) (all []string) {
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		asked := r.Clone(r.Context())
		asked.Method = m
		if _, pattern := mux.Handler(asked); pattern != "" && pattern != "/" {
			all = append(all, m)
			if m == http.MethodGet {
				all = append(all, http.MethodHead)
			}
		}
	}
	return all
}

// notAllowed tells the methods that the address takes instead (RFC 9110, section
// 15.5.6).
func notAllowed(w http.ResponseWriter, r *http.Request, all []string) *HTTPError {
	w.Header().Set("Allow", strings.Join(all, ", "))
	e := &HTTPError{Code: http.StatusMethodNotAllowed, Message: "This page can only be read."}
	if !slices.Equal(all, []string{http.MethodGet, http.MethodHead}) {
		e.Message = fmt.Sprintf("This address does not take %.20s; it takes %s.", r.Method, strings.Join(all, ", "))
	}
	return e
}

// based cuts the base path off. Its redirect leads to a fixed address: paths
// that the mux would clean and redirect to are not found.
func (s *Server) based(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := path.Clean(r.URL.Path)
		switch {
		case r.URL.Path != clean && r.URL.Path != s.links.Overview():
			s.fail(w, r, noPage())
		case s.links.base == "":
			next.ServeHTTP(w, r)
		case r.URL.Path == s.links.base:
			http.Redirect(w, r, s.links.Overview(), http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, s.links.base+"/"):
			http.StripPrefix(s.links.base, next).ServeHTTP(w, r)
		default:
			s.fail(w, r, notFound("The dashboard lives at "+s.links.Overview()+".", nil))
		}
	})
}

// requestID is a short word by which a failure can be found in the log.
func requestID() string { return strings.ToLower(rand.Text()[:8]) }

// extend moves the deadline for writing an answer that takes long, whatever
// the server that we run in allows for one.
func extend(w http.ResponseWriter) {
	// Without support for deadlines there is none to move.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
}

// patient lets one answer take up to longestIntake, whatever the server that we
// run in allows for one.
func patient(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longestIntake + time.Minute))
}
