package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

func testAnswers(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	begin := func(key string) (*store.Answer, error) {
		t.Helper()
		a, err := s.BeginAnswer(t.Context(), key)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			t.Fatal(err)
		}
		return a, err
	}
	if a, err := begin("k"); a != nil || err != nil {
		t.Fatalf("a new key: %+v, %v", a, err)
	}
	if _, err := begin("k"); err == nil {
		t.Fatal("a request under way was begun again")
	}
	if a, err := begin("other"); a != nil || err != nil {
		t.Fatalf("another key: %+v, %v", a, err)
	}
	want := &store.Answer{Fingerprint: "f", Status: 201, Location: "/x", Body: []byte("{}")}
	if err := s.EndAnswer(t.Context(), "k", want); err != nil {
		t.Fatal(err)
	}
	if a, err := begin("k"); err != nil || !reflect.DeepEqual(a, want) {
		t.Fatalf("%+v, %v", a, err)
	}
	if err := s.EndAnswer(t.Context(), "other", nil); err != nil {
		t.Fatal(err)
	}
	if a, err := begin("other"); a != nil || err != nil {
		t.Fatalf("a request that failed cannot be sent again: %+v, %v", a, err)
	}
	// A request that lasts says so.
	for range 20 {
		clock.Add(50 * time.Second)
		if err := s.KeepAnswer(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := begin("other"); err == nil {
		t.Fatal("a request that lasts was begun again")
	}
	if err := s.KeepAnswer(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	// Whoever began it is gone.
	clock.Add(time.Minute)
	if a, err := begin("other"); a != nil || err != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	clock.Add(24*time.Hour - 20*50*time.Second - time.Minute)
	if a, err := begin("k"); a != nil || err != nil {
		t.Fatalf("an answer outlived its day: %+v, %v", a, err)
	}
}
