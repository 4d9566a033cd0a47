package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

const chatHook = "https://chat.example/hooks/s3cret"

func TestWebhooksPage(t *testing.T) {
	x, clock := storetest.New(t)
	ctx := t.Context()
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, PublicURL: "https://audit.example", Users: testUsers(t, "anna")})
	v := visit(t, s)
	v.do("/signin", "name", "anna", "password", testPassword)
	has(t, v.page("/webhooks"), "main p", "No schedule and no open batch has a webhook.")
	has(t, v.page("/webhooks"), "main p", "There is no schedule and no open batch yet.")
	b := storetest.Batch(t, x, storetest.Targets(2)...)
	k, err := x.AddSchedule(ctx, store.Schedule{Name: "Weekly", Cron: "@weekly", Zone: "UTC", Batch: b.ID, NextDue: clock.Now(), NextAt: clock.Now()})
	if err != nil {
		t.Fatal(err)
	}
	// From where one looks for it, filled in.
	for path, want := range map[string]string{"/batches/" + string(b.ID): "/webhooks?batch=" + string(b.ID), "/schedules/" + string(k.ID): "/webhooks?schedule=" + string(k.ID), "/deliveries": "/webhooks", "/batches": "/webhooks"} {
		if found := strings.Join(links(v.page(path), "main a"), " ") + " "; !strings.Contains(found, want+" ") {
			t.Errorf("%s does not lead to %s: %s", path, want, found)
		}
	}
	want(t, v.page("/webhooks?batch="+string(b.ID)), "#w-for option[selected]", "test, queued")
	has(t, v.page("/webhooks"), ".note", "This process has no secret to sign messages with")

	for _, whose := range []string{forSchedule + string(k.ID), forBatch + string(b.ID)} {
		if next := v.do("/webhooks", "for", whose, "url", chatHook, "on", "finished,regressed", "threshold", "5,2%", "settle", "48", "confirm", "-1"); next != "/webhooks" {
			t.Errorf("it goes on at %s", next)
		}
		has(t, v.page("/webhooks"), ".notice", "Messages wait for a process that has the secret")
	}
	doc := v.page("/webhooks")
	want(t, doc, "tbody th a", "Weekly", "test")
	want(t, doc, "tbody td[data-label=Receiver]", "https://chat.example/…", "https://chat.example/…")
	has(t, doc, "tbody td", "every end, and when 5 sites or 2 % became worse")
	has(t, doc, "tbody td", "told as found, held back until settled for 2 days")
	if _, body := v.get("/webhooks"); strings.Contains(body, "s3cret") {
		t.Error("the address is shown again")
	}
	kept, err := x.WebhookOf(ctx, b.ID)
	if err != nil || *kept != (store.Webhook{URL: chatHook, Finished: true, Regressed: true, MinSites: 5, MinPercent: 2, Settle: 48 * time.Hour, ConfirmAfter: -time.Minute, Links: "https://audit.example"}) {
		t.Errorf("%+v, %v", kept, err)
	}
	if k, err = x.Schedule(ctx, k.ID); err != nil || k.Webhook == nil || *k.Webhook != *kept {
		t.Errorf("%+v, %v", k, err)
	}

	// What is wrong is said at the field, and the form stays as it was.
	good := []string{"for", forBatch + string(b.ID), "url", "https://other.example/", "on", "finished", "threshold", "1", "settle", "24", "confirm", "5"}
	for _, c := range []struct{ field, value, says string }{
		{"for", "", "Choose the schedule or the batch"}, {"for", forBatch + "000000000", "not in the store"}, {"for", forSchedule + "x", "not in the store"},
		{"url", "", "absolute URL"}, {"url", "http://chat.example/", "Only https"}, {"url", "https://u:p@chat.example/", "password"},
		{"url", "http://127.0.0.1:9/", "the machine of this dashboard"}, {"url", "https://localhost/", "the machine of this dashboard"}, {"url", "http://[::1]/", "the machine of this dashboard"},
		{"on", "often", "use finished"}, {"threshold", "0", "a number of sites"}, {"settle", "-1", "from 0 to 10,000"}, {"confirm", "soon", "from -1 to 10,000"},
	} {
		fields := append([]string{}, good...)
		for i := 0; i < len(fields); i += 2 {
			if fields[i] == c.field {
				fields[i+1] = c.value
			}
		}
		res, body := v.post("/webhooks", fields...)
		page := parsed(t, body)
		if res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusNotFound {
			t.Errorf("%s %q: %d", c.field, c.value, res.StatusCode)
		}
		has(t, page, "#wrong", c.says)
		if len(find(page, "#w-"+c.field+"[aria-invalid=true]")) != 1 {
			t.Errorf("%s %q: the field is not marked", c.field, c.value)
		}
	}

	// A batch that has ended keeps what it told; others lose theirs.
	v.do("/schedules/" + string(k.ID) + "/webhook/remove")
	v.do("/batches/" + string(b.ID) + "/webhook/remove")
	has(t, v.page("/webhooks"), "main p", "No schedule and no open batch has a webhook.")
	for _, path := range []string{"/schedules/" + string(k.ID), "/batches/" + string(b.ID)} {
		if res, _ := v.post(path + "/webhook/remove"); res.StatusCode != http.StatusNotFound {
			t.Errorf("removed twice: %d", res.StatusCode)
		}
	}
	if err := x.CancelBatch(ctx, b.ID, ""); err != nil {
		t.Fatal(err)
	}
	if res, body := v.post("/webhooks", good...); res.StatusCode != http.StatusConflict || !strings.Contains(body, "It has ended") && !strings.Contains(body, "it has ended") {
		t.Errorf("a batch that has ended: %d", res.StatusCode)
	}
}

// Whoever may use a dashboard without sign-in is on the machine anyway. A
// schedule that writes back goes on confirming when its webhook is gone.
func TestWebhooksOfThisMachine(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, Messages: Messages{Signs: true, Default: &store.Webhook{URL: "https://all.example/s3cret", Regressed: true, MinPercent: 2.5}}})
	v := visit(t, s)
	has(t, v.page("/webhooks"), "p.panel", "told to https://all.example/…: when 2.5 % of the sites became worse.")
	k, err := x.AddSchedule(t.Context(), store.Schedule{Name: "Directory", Cron: "@weekly", Zone: "UTC", Options: []byte(`{"list":{"from":"mcp-registry","writeBack":"https://directory.example/hook","read":{}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	v.do("/webhooks", "for", forSchedule+string(k.ID), "url", "http://127.0.0.1:9/hook", "confirm", "7")
	v.do("/schedules/" + string(k.ID) + "/webhook/remove")
	if k, err = x.Schedule(t.Context(), k.ID); err != nil || k.Webhook == nil || *k.Webhook != (store.Webhook{ConfirmAfter: 7 * time.Minute}) {
		t.Errorf("%+v, %v", k.Webhook, err)
	}
}

// webhooksOfTheAPI calls what there is for webhooks.
func webhooksOfTheAPI(t *testing.T, x *seeded, p *program, schedule string) {
	t.Helper()
	var made apiWebhook
	p.do("POST", schedule+"/webhook", map[string]any{"url": chatHook, "on": "regressed", "threshold": "2%", "settleHours": 0, "confirmMinutes": -1}, 200, &made)
	if made.Receiver != "https://chat.example/…" || made.On != "regressed" || made.Threshold != "2%" || made.SettleSeconds != 0 || made.ConfirmSeconds != -1 || made.Schedule == "" || made.Batch != "" {
		t.Errorf("%+v", made)
	}
	batch := "/batches/" + string(x.running)
	p.do("POST", batch+"/webhook", map[string]any{"url": chatHook}, 200, &made)
	if made.On != "finished" || made.Threshold != "1" || made.SettleSeconds != 24*3600 || made.ConfirmSeconds != 300 || made.Batch != x.running || made.Name == "" || made.State == "" {
		t.Errorf("%+v", made)
	}
	var all listOf[apiWebhook]
	p.do("GET", "/webhooks?limit=1", nil, 200, &all)
	if len(all.Items) != 2 || all.Items[1] != made || all.Next != "" {
		t.Errorf("%+v", all)
	}
	p.do("POST", "/batches/"+string(x.cancelled)+"/webhook", map[string]any{"url": chatHook}, 409, nil)
	p.do("POST", "/batches/000000000/webhook", map[string]any{"url": chatHook}, 404, nil)
	p.do("POST", "/schedules/000000000/webhook", map[string]any{"url": chatHook}, 404, nil)
	for _, path := range []string{schedule, batch} {
		p.do("DELETE", path+"/webhook", nil, 204, nil)
		p.do("DELETE", path+"/webhook", nil, 404, nil)
	}
	p.do("GET", "/webhooks", nil, 200, &all)
	if len(all.Items) != 0 {
		t.Errorf("%+v", all)
	}
}

// Messages about batches stand in the log with what they say in short.
func TestDeliveriesAboutBatches(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now})
	b, err := x.CreateBatch(t.Context(), store.NewBatch{Name: "Monday", Sources: []string{"list.txt"}, Webhook: &store.Webhook{URL: chatHook, Finished: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.AddLines(t.Context(), b.ID, []store.Line{{Number: 1, Input: "?", Reject: "no URL"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.SealBatch(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		if more, err = x.PlanWebhooks(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	doc := read(t, s, "/deliveries?event=batch.finished")
	has(t, doc, "tbody th", "Monday")
	has(t, doc, "tbody td", "a batch ended: 0 fixed, 0 newly failing, 0 still broken")
	has(t, doc, ".chips li", "a batch ended")
	has(t, doc, "tbody td p", "To https://chat.example/…")
	has(t, read(t, s, "/deliveries?event=listing.outcome-changed"), "main p", "No message matches all of these filters.")
	readStatus(t, s, "/deliveries?event=lost", 400)
}
