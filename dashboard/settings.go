package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"agentaudit/store"
)

// SettingsPage shows how the dashboard is set up, and manages tokens.
type SettingsPage struct {
	Frame
	// Tokens and Shares are for those who may change something, as in the API.
	Tokens []store.Token
	Shares []ShareLine
	// Secret is the token just made: it is shown this once.
	Secret string
	// SignIn says that readers have to sign in, ReadOnly that nothing can be
	// changed.
	SignIn, ReadOnly bool
	Facts            []Fact
	// Form is what was sent, where it made no token.
	Form url.Values
}

// Fact is something that was set when the dashboard was started.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// tokenDays are the lives of tokens that the form offers; 0 is for ever.
var tokenDays = []int{30, 90, 365, 0}

func (s *Server) settingsPage(ctx context.Context, r *Request, _ Reader) (*SettingsPage, error) {
	if err := r.Only(); err != nil {
		return nil, err
	}
	return s.newSettingsPage(ctx, r.Who)
}

func (s *Server) newSettingsPage(ctx context.Context, who Who) (*SettingsPage, error) {
	p := &SettingsPage{Frame: Frame{Title: "Settings", Section: "settings"}, SignIn: s.c.Users != nil, ReadOnly: s.c.Write == nil}
	p.Facts = slices.Clone(s.c.Facts)
	if s.c.Write == nil || !who.Write {
		return p, nil
	}
	var err error
	if p.Tokens, err = s.c.Write.Tokens(ctx); err != nil {
		return nil, err
	}
	p.Shares, err = s.shareLines(ctx)
	return p, err
}

// Days are the lives that a token can have, in words.
func (p *SettingsPage) Days() []Option {
	var all []Option
	for _, d := range tokenDays {
		o := Option{Value: strconv.Itoa(d), Words: strconv.Itoa(d) + " days", Selected: p.Form == nil && d == 90 || p.Form.Get("days") == strconv.Itoa(d)}
		if d == 0 {
			o.Words = "no end"
		}
		all = append(all, o)
	}
	return all
}

const (
	longestName = 100
	mostTokens  = 200
)

// makeToken makes a token from the fields name, scope and days.
func (s *Server) makeToken(ctx context.Context, who Who, form url.Values) (secret string, _ *store.Token, err error) {
	t := store.Token{Name: field(form, "name"), Scope: store.Scope(field(form, "scope")), CreatedBy: who.CreatedBy()}
	switch {
	case t.Name == "":
		return "", nil, blame("name", badRequest("A token needs a name, so that you know later what it is for."))
	case len(t.Name) > longestName:
		return "", nil, blame("name", badRequest("The name of a token has at most %d bytes.", longestName))
	case t.Scope != store.ScopeRead && t.Scope != store.ScopeWrite:
		return "", nil, blame("scope", unknown("scope", string(t.Scope), []store.Scope{store.ScopeRead, store.ScopeWrite}))
	}
	days, err := strconv.Atoi(field(form, "days"))
	if err != nil || days < 0 || days > 3650 {
		return "", nil, blame("days", badRequest("A token lasts a number of days up to 3650, or 0 for no end."))
	}
	if days > 0 {
		t.ExpiresAt = s.c.Now().AddDate(0, 0, days)
	}
	have, err := s.c.Write.Tokens(ctx)
	if err != nil {
		return "", nil, err
	}
	if len(have) >= mostTokens {
		return "", nil, &HTTPError{Code: http.StatusConflict, Message: "There are " + strconv.Itoa(len(have)) + " tokens already.", Advice: "Revoke those that are not used."}
	}
	return s.c.Write.NewToken(ctx, t)
}

// newToken answers with the page of settings itself: the secret must not stand
// in an address or a cookie.
func (s *Server) newToken(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.c.PageTimeout)
	defer cancel()
	q := s.request(r)
	secret, t, err := s.makeToken(ctx, q.Who, r.PostForm)
	p, pageErr := s.newSettingsPage(ctx, q.Who)
	if err != nil {
		if pageErr != nil {
			return pageErr
		}
		p.Form = r.PostForm
		return s.again(w, q, err, "settings", p, "t-")
	}
	s.c.Log.InfoContext(ctx, "token made", "token", t.ID, "scope", t.Scope, "user", q.Who.CreatedBy())
	if pageErr != nil {
		return pageErr
	}
	p.Secret = secret
	return s.show(w, http.StatusCreated, "settings", p, q)
}

func (s *Server) revokeToken(ctx context.Context, r *Request, _ url.Values) (Done, error) {
	if err := s.c.Write.RevokeToken(ctx, r.Path("token")); err != nil {
		return Done{}, err
	}
	s.c.Log.InfoContext(ctx, "token revoked", "token", r.Path("token"), "user", r.Who.CreatedBy())
	return Done{s.links.Settings(), "The token was revoked; whoever still uses it is refused."}, nil
}

// Value is what a field of the form holds at first.
func (p *SettingsPage) Value(name string) string { return p.Form.Get(name) }

// Expired reports whether a token can no longer be used.
func (p *SettingsPage) Expired(t store.Token) bool {
	return !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(p.AsOf)
}
