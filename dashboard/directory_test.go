package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

const (
	directoryURL = "https://directory.example/api/listings?key=s3cret"
	hookURL      = "https://anna:s3cret@directory.example/hook?key=s3cret"
)

// directory adds two batches that were read from a directory's listing, of which
// changes are told: shop-1 is repaired, shop-2 broken, shop-3 stays, shop-4 is
// gone, shop-5 new, and shop-6 has moved. Of the two messages one was taken and
// the other is to be sent again.
func directory(t testing.TB, s *store.Store, clock *storetest.Clock) (first, second store.BatchID) {
	t.Helper()
	ctx := t.Context()
	options := fmt.Appendf(nil, `{"list":{"from":%q,"writeBack":%q,"read":{}}}`, directoryURL, hookURL)
	read := func(outcomes map[int]report.Outcome, address func(int) string) store.BatchID {
		b, err := s.CreateBatch(ctx, store.NewBatch{Name: "The directory", Sources: []string{directoryURL}, Options: options})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.BeginListing(ctx, b.ID, directoryURL, hookURL); err != nil {
			t.Fatal(err)
		}
		var page []store.Listing
		for i := range 7 {
			if _, ok := outcomes[i]; ok {
				id, u := fmt.Sprint("shop-", i), address(i)
				page = append(page, store.Listing{Key: id, ID: id, URL: u, Line: store.Line{Number: int64(i), Input: u, Target: u + "/agentic.json", ID: id, Label: fmt.Sprint("Shop ", i)}})
			}
		}
		if _, err := s.AddListings(ctx, b.ID, page, func([]bool) (json.RawMessage, error) { return []byte("{}"), nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SealBatch(ctx, b.ID); err != nil {
			t.Fatal(err)
		}
		due, err := s.TakeDue(ctx, store.ClassSmall, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range due {
			if d.Run.Batch() != b.ID {
				continue
			}
			c, err := s.ClaimRun(ctx, d.Run, "seed", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var i int
			if _, err := fmt.Sscanf(c.Target, "https://shop-%d.", &i); err != nil {
				t.Fatal(err)
			}
			reason := map[report.Outcome]report.Reason{report.OutcomeSuccessful: report.ReasonComplete, report.OutcomeFailed: report.ReasonMissingProfile}[outcomes[i]]
			if err := s.FinishRun(ctx, c, storetest.Result(c.Target, outcomes[i], reason, clock.Add(time.Second))); err != nil {
				t.Fatal(err)
			}
		}
		for more := true; more; {
			if _, more, err = s.PlanDeliveries(ctx); err != nil {
				t.Fatal(err)
			}
		}
		return b.ID
	}
	good, bad := report.OutcomeSuccessful, report.OutcomeFailed
	plain := func(i int) string { return fmt.Sprintf("https://shop-%d.example", i) }
	first = read(map[int]report.Outcome{1: bad, 2: good, 3: good, 4: bad, 6: good}, plain)
	clock.Add(time.Hour)
	second = read(map[int]report.Outcome{1: good, 2: bad, 3: good, 5: good, 6: good}, func(i int) string {
		if i == 6 {
			return "https://shop-6.moved.example"
		}
		return plain(i)
	})
	taken, err := s.TakeDeliveries(ctx, false, 10, time.Minute)
	if err != nil || len(taken) != 2 {
		t.Fatalf("%+v, %v", taken, err)
	}
	taken[0].State, taken[0].Status = store.DeliveryDone, http.StatusNoContent
	taken[1].State, taken[1].Status, taken[1].Error = store.DeliveryDue, http.StatusBadGateway, "the answer was 502 <b>Bad Gateway</b>"
	for _, d := range taken {
		if err := s.EndDelivery(ctx, d, clock.Now().Add(10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return first, second
}

func TestDeliveries(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now})
	doc := read(t, s, "/deliveries")
	want(t, doc, "#none", "No message has been sent yet")
	if len(find(doc, "main form")) > 0 {
		t.Error("there is something to filter, of nothing")
	}
	first, second := directory(t, x, clock)
	doc = read(t, s, "/deliveries")
	want(t, doc, "tbody th a", "Shop 2", string(second), "Shop 1", string(second))
	want(t, doc, "tbody .state", "due", "done")
	has(t, doc, "tbody td", "successful → failed missing-profile")
	has(t, doc, "tbody td", "due answered 502 the answer was 502 <b>Bad Gateway</b>")
	has(t, doc, "tbody td", "next 30 Nov 2026")
	has(t, doc, "tbody td pre", `"event":"listing.outcome-changed","id":"shop-1"`)
	if _, body := get(t, s, "/deliveries"); strings.Contains(body, "s3cret") || !strings.Contains(body, "https://directory.example/hook …") {
		t.Error("the address is told with its secrets, or not at all")
	}
	want(t, read(t, s, "/deliveries?state=done&batch="+string(second)), "tbody th a", "Shop 1", string(second))
	has(t, read(t, s, "/deliveries?state=failed"), "main p", "No message matches all of these filters.")
	has(t, read(t, s, "/deliveries?before=1"), "main p", "No message is older.")
	for _, bad := range []string{"state=lost", "batch=x", "before=x", "before=0", "page=1"} {
		readStatus(t, s, "/deliveries?"+bad, 400)
	}
	// From where one looks for them.
	for _, path := range []string{"/batches/" + string(second), "/batches"} {
		found := false
		for _, l := range links(read(t, s, path), "main a") {
			found = found || strings.HasPrefix(l, "/deliveries")
		}
		if !found {
			t.Errorf("%s does not lead to the messages", path)
		}
	}
	if l := links(read(t, s, "/batches/"+string(first)), ".facts a"); len(l) < 2 || l[0] != "/batches/"+string(first)+"/listing" {
		t.Errorf("the batch leads to %q", l)
	}
}

func TestListingChanges(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Now: clock.Now})
	first, second := directory(t, x, clock)
	doc := read(t, s, s.links.Listing(second))
	want(t, doc, ".changes strong", "1", "1", "1")
	want(t, doc, "tbody tr", "shop-5https://shop-5.example", "shop-4https://shop-4.example", "shop-6https://shop-6.examplehttps://shop-6.moved.example")
	want(t, doc, ".target", "https://directory.example/api/listings …")
	want(t, read(t, s, s.links.Listing(first)), "#none", "There is nothing to compare with")
	plain := storetest.Batch(t, x, storetest.Targets(1)...)
	doc = readStatus(t, s, s.links.Listing(plain.ID), 404)
	want(t, doc, "h1", "This batch was not read from a directory")
	if got := links(doc, ".actions a")[0]; got != s.links.Batch(plain.ID) {
		t.Errorf("it leads on to %s", got)
	}
}
