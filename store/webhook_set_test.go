package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// Webhooks are given to open batches and to schedules, replaced and taken away.
func testSetWebhooks(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	ctx := t.Context()
	hooks := func() string {
		text := ""
		for _, w := range must[[]store.BatchWebhook](t)(s.Webhooks(ctx, "", 10)) {
			text += fmt.Sprintf("%s %s %s;", w.Name, w.State, w.Webhook.URL)
		}
		return text
	}
	first := storetest.Batch(t, s, storetest.Targets(1)...)
	clock.Add(time.Second)
	back := must[*store.Batch](t)(s.CreateBatch(ctx, store.NewBatch{Name: "back", Sources: []string{"https://directory.example/?key=k"}, Webhook: &store.Webhook{ConfirmAfter: time.Minute}}))
	if err := s.BeginListing(ctx, back.ID, "https://directory.example/?key=k", "https://directory.example/hook"); err != nil {
		t.Fatal(err)
	}
	if got := hooks(); got != "" {
		t.Errorf("before: %s", got)
	}
	w := &store.Webhook{URL: "https://chat.example/a", Finished: true, Settle: time.Hour, ConfirmAfter: 2 * time.Minute}
	for _, id := range []store.BatchID{first.ID, back.ID} {
		if err := s.SetBatchWebhook(ctx, id, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("none was taken away: %v", err)
		}
		if err := s.SetBatchWebhook(ctx, id, w); err != nil {
			t.Fatal(err)
		}
	}
	other := *w
	other.URL, other.Regressed = "https://chat.example/b", true
	if err := s.SetBatchWebhook(ctx, first.ID, &other); err != nil {
		t.Fatal(err)
	}
	if got := hooks(); got != "back intake https://chat.example/a;test queued https://chat.example/b;" {
		t.Errorf("after: %s", got)
	}
	page := must[[]store.BatchWebhook](t)(s.Webhooks(ctx, back.ID, 10))
	if len(page) != 1 || page[0].Webhook != other || page[0].Batch != first.ID || page[0].Confirming || len(page[0].Sources) != 1 {
		t.Errorf("%+v", page)
	}
	// What is written back is confirmed with and without.
	for _, id := range []store.BatchID{first.ID, back.ID} {
		if err := s.SetBatchWebhook(ctx, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := s.WebhookOf(ctx, back.ID); err != nil || *kept != (store.Webhook{ConfirmAfter: 2 * time.Minute}) {
		t.Errorf("%+v, %v", kept, err)
	}
	if _, err := s.WebhookOf(ctx, first.ID); !errors.Is(err, store.ErrNotFound) || hooks() != "" {
		t.Errorf("%v, %s", err, hooks())
	}
	if err := s.CancelBatch(ctx, first.ID, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.SetBatchWebhook(ctx, first.ID, w); !errors.Is(err, store.ErrConflict) {
		t.Errorf("to a batch that has ended: %v", err)
	}
	for _, id := range []store.BatchID{"000000000", "x"} {
		if err := s.SetBatchWebhook(ctx, id, w); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("to %s: %v", id, err)
		}
	}

	v := must[*store.Schedule](t)(s.AddSchedule(ctx, store.Schedule{Name: "weekly", Cron: "@weekly", Zone: "UTC"}))
	for _, want := range []*store.Webhook{w, &other, nil} {
		if err := s.SetScheduleWebhook(ctx, v.ID, want); err != nil {
			t.Fatal(err)
		}
		got := must[*store.Schedule](t)(s.Schedule(ctx, v.ID)).Webhook
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if err := s.SetScheduleWebhook(ctx, "000000000", w); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("to no schedule: %v", err)
	}
}
