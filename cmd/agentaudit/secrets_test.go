package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// Commands print no key that stands in the address of a list or receiver; the
// paths of the lists they print to whoever has these.
func TestCommandsTellNoSecrets(t *testing.T) {
	const (
		from = "https://directory.example/api/listings?key=secret"
		hook = "https://anna:secret@directory.example/hook?key=secret"
		file = "/srv/lists/shops.csv"
	)
	dir := t.TempDir()
	st := storetest.Open(t, dir, store.Options{})
	options := fmt.Appendf(nil, `{"list":{"files":[%q],"from":%q,"writeBack":%q,"read":{}}}`, file, from, hook)
	webhook := &store.Webhook{URL: "https://chat.example/hooks/secret?token=secret", Finished: true, ConfirmAfter: -1}
	b, err := st.CreateBatch(t.Context(), store.NewBatch{Sources: []string{from}, Options: options, Webhook: webhook})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.AddLines(t.Context(), b.ID, []store.Line{{Number: 1, Input: "?", Reject: "no URL"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.SealBatch(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		if more, err = st.PlanWebhooks(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	dropped, err := st.CreateBatch(t.Context(), store.NewBatch{Sources: []string{from}, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.CancelBatch(t.Context(), dropped.ID, "cannot read "+from+": no answer; open "+file+": no such file"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.AddSchedule(t.Context(), store.Schedule{Name: "daily", Cron: "@daily", Zone: "UTC", Sources: []string{from}, Options: options, Webhook: webhook}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, tells string }{
		{"batches", "directory.example/api/listings"}, {"batches --json", file}, {"batches latest", "no answer; open " + file}, {"batches latest --json", file},
		{"schedule list", "directory.example/api/listings"}, {"schedule list --json", file},
		{"deliveries", "https://chat.example/"}, {"deliveries --json", "directory.example/api/listings"},
		{"results " + string(b.ID) + " --rejected", "directory.example/api/listings"}, {"results " + string(b.ID) + " --rejected --format csv", "directory.example/api/listings"},
		{"results " + string(b.ID) + " --format markdown", ""}, {"results " + string(b.ID) + " --format junit", ""}, {"results " + string(b.ID) + " --format sarif", ""},
	} {
		code, out, errs := command(t, append(strings.Fields(c.line), "--data-dir", dir)...)
		if code != 0 {
			t.Errorf("%s: exit %d, %s", c.line, code, errs)
		}
		if strings.Contains(out+errs, "secret") || !strings.Contains(out, c.tells) {
			t.Errorf("%s:\n%s%s", c.line, out, errs)
		}
		if strings.HasSuffix(c.line, "--json") && !strings.HasPrefix(c.line, "deliveries") && !json.Valid([]byte(out)) {
			t.Errorf("%s is no JSON", c.line)
		}
	}
	// Workers still have it all.
	st = storetest.Open(t, dir, store.Options{})
	kept, err := st.Schedules(t.Context())
	if err != nil || len(kept) != 1 || string(kept[0].Options) != string(options) || kept[0].Webhook.URL != webhook.URL {
		t.Errorf("%+v, %v", kept, err)
	}
	if kept, err := st.Batch(t.Context(), b.ID); err != nil || string(kept.Options) != string(options) {
		t.Errorf("%+v, %v", kept, err)
	}
}
