package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"agentaudit/store"
)

func listing(id, url string) store.Listing {
	return store.Listing{Key: "id " + id, ID: id, URL: url, Line: store.Line{Input: url, Target: url + "/agentic.json", ID: id}}
}

func beginListing(t *testing.T, s *store.Store, source string) store.BatchID {
	t.Helper()
	b, err := s.CreateBatch(t.Context(), store.NewBatch{Sources: []string{source}})
	if err == nil {
		err = s.BeginListing(t.Context(), b.ID, source, "https://dir.example/hook")
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.ID
}

func at(position string) func([]bool) (json.RawMessage, error) {
	return func([]bool) (json.RawMessage, error) { return json.RawMessage(position), nil }
}

func addListings(t *testing.T, s *store.Store, id store.BatchID, position string, page ...store.Listing) store.AddedListings {
	t.Helper()
	added, err := s.AddListings(t.Context(), id, page, at(position))
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// A listing is taken in once, whatever pages say twice, and goes on at its
// position after a kill.
func testListing(t *testing.T, open opener) {
	s := open(t, store.Options{})
	id := beginListing(t, s, "https://dir.example/api")
	first := addListings(t, s, id, `{"next":2}`, listing("1", "https://a.example"), listing("2", "https://b.example"), listing("1", "https://a.example"))
	if first.Fresh != 2 || first.Entries != 2 || first.Known[0] || !first.Known[2] {
		t.Errorf("%+v", first)
	}
	rejected := store.Listing{Key: "id 3", ID: "3", URL: "https://{tenant}.example", Line: store.Line{Input: "https://{tenant}.example", Reject: "a template"}}
	addListings(t, s, id, `{"next":4}`, listing("2", "https://b.example"), rejected)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, store.Options{})
	if _, err := s.AddListings(t.Context(), id, []store.Listing{listing("4", "https://c.example")}, at("{}")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an interrupted intake takes more: %v", err)
	}
	position, err := s.ResumeListing(t.Context(), id)
	if err != nil || string(position) != `{"next":4}` {
		t.Fatalf("%s, %v", position, err)
	}
	// The last page comes again; a new listing of a known site shares its run.
	again := addListings(t, s, id, `{"next":6}`, rejected, listing("4", "https://a.example"), listing("5", "https://c.example"))
	if again.Fresh != 2 || !again.Known[0] || again.Duplicates != 1 || again.Rejected != 0 {
		t.Errorf("%+v", again)
	}
	b, err := s.SealBatch(t.Context(), id)
	if err != nil || b.Entries != 4 || b.Runs != 3 || b.Rejected != 1 || b.Duplicates != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := s.ResumeListing(t.Context(), id); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a sealed batch goes on: %v", err)
	}
}

func testListingConflicts(t *testing.T, open opener) {
	s := open(t, store.Options{})
	b, err := s.CreateBatch(t.Context(), store.NewBatch{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddListings(t.Context(), b.ID, []store.Listing{listing("1", "https://a.example")}, at("{}")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a batch without a listing takes a page: %v", err)
	}
	if got, err := s.Batch(t.Context(), b.ID); err != nil || got.Entries != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.ResumeListing(t.Context(), b.ID); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a batch without a listing goes on: %v", err)
	}
	if _, err := s.ResumeListing(t.Context(), "zzzzz"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no batch goes on: %v", err)
	}
	// What was discarded begins anew.
	id := beginListing(t, s, "https://dir.example/api")
	addListings(t, s, id, `{"next":1}`, listing("1", "https://a.example"))
	if err := s.DiscardIntake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if position, err := s.ResumeListing(t.Context(), id); err != nil || position != nil {
		t.Errorf("%s, %v", position, err)
	}
	if again := addListings(t, s, id, `{"next":1}`, listing("1", "https://a.example")); again.Fresh != 1 {
		t.Errorf("%+v", again)
	}
}

func testListingChanges(t *testing.T, open opener) {
	s := open(t, store.Options{})
	batch := func(source string, page ...store.Listing) store.BatchID {
		id := beginListing(t, s, source)
		addListings(t, s, id, "{}", page...)
		if _, err := s.SealBatch(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	one := batch("one", listing("1", "https://a.example"), listing("2", "https://b.example"), listing("3", "https://c.example"))
	batch("other", listing("9", "https://z.example"))
	beginListing(t, s, "one") // never read to its end
	two := batch("one", listing("2", "https://b2.example"), listing("3", "https://c.example"), listing("4", "https://d.example"), listing("5", "https://e.example"))
	c, err := s.ListingChanges(t.Context(), two, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Before == one, c.New, c.Gone, c.Moved, c.NewListings, c.GoneListings, c.MovedListings)
	if want := "true 2 1 1 [{4  https://d.example}] [{1 https://a.example }] [{2 https://b.example https://b2.example}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := s.ListingChanges(t.Context(), one, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the first batch has changes: %v", err)
	}
}

// What went out of the memory of an intake is found after a resumption, too.
func testListingResumesLargeIntake(t *testing.T, open opener) {
	o := store.Options{IntakeKeys: 100}
	s := open(t, o)
	id := beginListing(t, s, "https://dir.example/api")
	const n, size = 1000, 70
	fill := func(from int) []store.Listing {
		var page []store.Listing
		for i := from; i < min(from+size, n); i++ {
			page = append(page, listing(fmt.Sprint(i), fmt.Sprintf("https://h%d.example", i)))
		}
		return page
	}
	for from := 0; from < n; from += size {
		addListings(t, s, id, "{}", fill(from)...)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	if _, err := s.ResumeListing(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if again := addListings(t, s, id, "{}", fill(0)...); again.Fresh != 0 {
		t.Errorf("%d listings are new again", again.Fresh)
	}
	// Other listings of sites that were there first and last.
	more := addListings(t, s, id, "{}", listing("x", "https://h0.example"), listing("y", fmt.Sprintf("https://h%d.example", n-1)), listing("z", "https://new.example"))
	if more.Duplicates != 2 || more.Runs != 1 {
		t.Errorf("%+v", more)
	}
	if b, err := s.SealBatch(t.Context(), id); err != nil || b.Runs != n+1 || b.Entries != n+3 {
		t.Errorf("%+v, %v", b, err)
	}
}
