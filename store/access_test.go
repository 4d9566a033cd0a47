package store_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

func testSessions(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	in := store.Session{User: "anna", Proof: "p", CreatedAt: clock.Now(), ExpiresAt: clock.Now().Add(time.Hour)}
	secret, err := s.NewSession(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.NewSession(t.Context(), store.Session{User: "bert", ExpiresAt: in.ExpiresAt})
	if err != nil || other == secret || len(secret) < 30 {
		t.Fatalf("secrets %q and %q: %v", secret, other, err)
	}
	if got, err := s.Session(t.Context(), secret); err != nil || !got.CreatedAt.Equal(in.CreatedAt) || got.User != "anna" || got.Proof != "p" || !got.ExpiresAt.Equal(in.ExpiresAt) {
		t.Errorf("the session is %+v, %v", got, err)
	}
	for _, wrong := range []string{"", "x", secret + "x", strings.ToUpper(secret)} {
		if _, err := s.Session(t.Context(), wrong); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if err := errors.Join(s.EndSession(t.Context(), secret), s.EndSession(t.Context(), secret)); err != nil {
		t.Error(err)
	}
	if _, err := s.Session(t.Context(), secret); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an ended session: %v", err)
	}
	if _, err := s.Session(t.Context(), other); err != nil {
		t.Errorf("another one: %v", err)
	}
	clock.Add(time.Hour)
	if _, err := s.Session(t.Context(), other); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an expired session: %v", err)
	}
}

func testTokens(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	start := clock.Now()
	secret, made, err := s.NewToken(t.Context(), store.Token{Name: "CI", Scope: store.ScopeWrite, CreatedBy: "anna", ExpiresAt: start.Add(24 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	clock.Add(time.Minute)
	second, later, err := s.NewToken(t.Context(), store.Token{Name: "x", Scope: store.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	clock.Add(90 * time.Minute)
	got, err := s.TokenOf(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	want := *made
	want.UsedAt = start.Add(time.Hour).Truncate(time.Hour)
	if !got.CreatedAt.Equal(start) || !got.UsedAt.Equal(want.UsedAt) || !got.ExpiresAt.Equal(want.ExpiresAt) || got.Name != "CI" || got.Scope != store.ScopeWrite || got.CreatedBy != "anna" {
		t.Errorf("the token is %+v, want %+v", got, want)
	}
	list, err := s.Tokens(t.Context())
	if err != nil || len(list) != 2 || list[0].ID != later.ID || !reflect.DeepEqual(list[1], *got) || !list[0].UsedAt.IsZero() {
		t.Errorf("tokens %+v, %v", list, err)
	}
	if _, err := s.TokenOf(t.Context(), made.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the id is no secret: %v", err)
	}
	clock.Add(24 * time.Hour)
	if _, err := s.TokenOf(t.Context(), secret); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an expired token: %v", err)
	}
	if _, err := s.TokenOf(t.Context(), second); err != nil {
		t.Errorf("a token without an end: %v", err)
	}
	if err := s.RevokeToken(t.Context(), later.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.TokenOf(t.Context(), second); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a revoked token: %v", err)
	}
	if err := s.RevokeToken(t.Context(), later.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
	// One that is used in the hour in which it was made was not used before that.
	third, made, err := s.NewToken(t.Context(), store.Token{Name: "y", Scope: store.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, time.Second} {
		clock.Add(after)
		if got, err := s.TokenOf(t.Context(), third); err != nil || !got.UsedAt.Equal(made.CreatedAt) || got.CreatedAt.Equal(got.CreatedAt.Truncate(time.Hour)) {
			t.Errorf("made %v, used %+v, %v", made.CreatedAt, got, err)
		}
	}
	used := clock.Add(time.Hour).Truncate(time.Hour)
	if got, err := s.TokenOf(t.Context(), third); err != nil || !got.UsedAt.Equal(used) {
		t.Errorf("%+v, %v, want %v", got, err, used)
	}
}

func testShares(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	secret, made, err := s.NewShare(t.Context(), store.Share{Run: "1hgw3k2xa-17", CreatedBy: "anna", ExpiresAt: clock.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	view, _, err := s.NewShare(t.Context(), store.Share{Batch: "1hgw3k2xa", Query: "outcome=failed", ExpiresAt: clock.Now().Add(2 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.ShareOf(t.Context(), secret); err != nil || !reflect.DeepEqual(got, made) || got.Run != "1hgw3k2xa-17" {
		t.Errorf("the share is %+v, want %+v, %v", got, made, err)
	}
	if got, err := s.ShareOf(t.Context(), view); err != nil || got.Query != "outcome=failed" || got.Batch != "1hgw3k2xa" || got.Run != "" {
		t.Errorf("the view is %+v, %v", got, err)
	}
	if _, err := s.ShareOf(t.Context(), made.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the id is no secret: %v", err)
	}
	if list, err := s.Shares(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("shares %+v, %v", list, err)
	}
	clock.Add(time.Hour)
	if _, err := s.ShareOf(t.Context(), secret); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an expired share: %v", err)
	}
	list, err := s.Shares(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("shares %+v, %v", list, err)
	}
	if err := s.RevokeShare(t.Context(), list[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := s.ShareOf(t.Context(), view); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a revoked share: %v", err)
	}
	if err := s.RevokeShare(t.Context(), list[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
}
