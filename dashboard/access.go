package dashboard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"agentaudit/store"
)

// Who is the one that asks.
type Who struct {
	// Name is that of the user or token, "" for the local user of a dashboard
	// without sign-in.
	Name string
	// Token is the id of the token, "" for who has none: two can have one name.
	Token string
	// SignedIn says that there is a session that can be ended.
	SignedIn bool
	// Write says that Who may change things.
	Write bool
}

// CreatedBy is the name under which things that Who makes are kept.
func (w Who) CreatedBy() string {
	if w.Name == "" {
		return "local user"
	}
	return w.Name
}

// key tells all who may ask apart; names of users and of tokens may be equal.
func (w Who) key() string {
	if w.Token != "" {
		return "token " + w.Token
	}
	return "user " + w.Name
}

// need is what a page asks of its readers.
type need int

const (
	open    need = iota // anybody
	reading             // who has signed in, or a token
	writing             // the same with the right to change things
)

// sessionLength is how long a sign-in lasts.
const sessionLength = 7 * 24 * time.Hour

// secureRequest reports whether the browser came by TLS, here or at a proxy. A
// forged header only makes the cookies of the forger stricter.
func (s *Server) secureRequest(r *http.Request) bool {
	return r.TLS != nil || (s.public != nil && s.public.Scheme == "https") || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// sessionCookie is the name of the cookie. With __Host- no other host can set
// it; browsers take that only with Secure and the path "/".
func (s *Server) sessionCookie(r *http.Request) string {
	if s.secureRequest(r) && s.links.base == "" {
		return "__Host-agentaudit"
	}
	return "agentaudit"
}

// setCookie sets or, with a negative maxAge, removes a cookie of this dashboard.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, name, value string, maxAge time.Duration) {
	c := &http.Cookie{Name: name, Value: value, Path: s.links.Overview(), HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.secureRequest(r), MaxAge: int(maxAge.Seconds())}
	if maxAge < 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// errSignIn says that Who is not known.
var errSignIn = errors.New("not signed in")

// who finds out who asks. The error is errSignIn, an *HTTPError for a token
// that is none, or one of the store.
func (s *Server) who(r *http.Request) (Who, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		return s.tokenUser(r.Context(), header)
	}
	if s.c.Users == nil {
		return Who{Write: s.c.Write != nil}, nil
	}
	c, err := r.Cookie(s.sessionCookie(r))
	if err != nil {
		return Who{}, errSignIn
	}
	session, err := s.c.Write.Session(r.Context(), c.Value)
	if errors.Is(err, store.ErrNotFound) {
		return Who{}, errSignIn
	}
	if err != nil {
		return Who{}, err
	}
	// Who was taken out of the users, or has a new password, signs in again.
	if session.Proof == "" || session.Proof != s.c.Users.Proof(session.User) {
		return Who{}, errSignIn
	}
	return Who{Name: session.User, SignedIn: true, Write: true}, nil
}

func (s *Server) tokenUser(ctx context.Context, header string) (Who, error) {
	bad := &HTTPError{Code: http.StatusUnauthorized, Message: "The token is not valid.", Advice: "Send it as Authorization: Bearer TOKEN; tokens are made on the page of settings."}
	scheme, secret, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || s.c.Write == nil {
		return Who{}, bad
	}
	t, err := s.c.Write.TokenOf(ctx, strings.TrimSpace(secret))
	if errors.Is(err, store.ErrNotFound) {
		return Who{}, bad
	}
	if err != nil {
		return Who{}, err
	}
	return Who{Name: t.Name, Token: t.ID, Write: t.Scope == store.ScopeWrite}, nil
}

// admit lets those through who may use a page. For others it gives an error, or
// answers with the way to the sign-in, and ok is false.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, n need) (who Who, ok bool, err error) {
	who, err = s.who(r)
	switch {
	case n == open:
		return who, true, nil // whoever it is
	case errors.Is(err, errSignIn):
		if s.isAPI(r) {
			return who, false, &HTTPError{Code: http.StatusUnauthorized, Message: "Nobody is signed in.", Advice: "Send a token as Authorization: Bearer TOKEN; tokens are made on the page of settings."}
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return who, false, &HTTPError{Code: http.StatusUnauthorized, Title: "Sign in first", Message: "Your session has ended, so that nothing was changed.", Advice: "Sign in and do it again."}
		}
		http.Redirect(w, r, s.links.SignIn(s.links.base+r.URL.RequestURI()), http.StatusSeeOther)
		return who, false, nil
	case err != nil:
		return who, false, err
	case n == writing && s.c.Write == nil:
		return who, false, &HTTPError{Code: http.StatusForbidden, Title: "Only for reading", Message: "This dashboard was started without the right to change anything."}
	case n == writing && !who.Write:
		return who, false, &HTTPError{Code: http.StatusForbidden, Title: "Not allowed", Message: "This token may only read.", Advice: "Make one with the scope write on the page of settings."}
	}
	return who, true, nil
}

// ownPath is where a form says to go next, the overview unless it is a path of
// this dashboard: nobody is sent elsewhere.
func (s *Server) ownPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || u.User != nil || strings.ContainsAny(next, "\\\r\n\t") ||
		!strings.HasPrefix(next, s.links.Overview()) || strings.HasPrefix(next, "//") || (u.Path != s.links.Overview() && u.Path != path.Clean(u.Path)) {
		return s.links.Overview()
	}
	return next
}

// remoteAddress is where a request comes from. Behind a proxy on this machine
// it is what the proxy says.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.IsLoopback() {
		return host
	}
	// Some proxies (HAProxy) add a line of their own behind those of the client:
	// all lines are one list (RFC 9110, section 5.3).
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if far, err := netip.ParseAddr(strings.TrimSpace(list[len(list)-1])); err == nil {
		return far.String()
	}
	return host
}
