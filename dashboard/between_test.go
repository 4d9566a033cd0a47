package dashboard

import (
	"strings"
	"testing"
	"time"

	"agentaudit/store"
)

// The page of a site shows what changed between two results of it, the same as
// the API, and offers them all.
func TestSiteBetween(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Now: x.clock.Now})
	run, err := x.Run(t.Context(), x.failed)
	if err != nil {
		t.Fatal(err)
	}
	history, err := x.SiteHistory(t.Context(), run.Target, time.Time{}, 10)
	if err != nil || len(history) < 2 {
		t.Fatalf("%d results, %v", len(history), err)
	}
	was, is := history[len(history)-1], history[0]
	want := store.DiffChecks(&was, &is)
	doc := readStatus(t, s, "/site?target="+run.Target+"&was="+string(was.Run)+"&is="+string(is.Run), 200)
	for name, chosen := range map[string]store.RunID{"was": was.Run, "is": is.Run} {
		options := find(doc, "#f-"+name+" option")
		selected := find(doc, "#f-"+name+" option[selected]")
		if len(options) != len(history) || len(selected) != 1 || attr(selected[0], "value") != string(chosen) {
			t.Errorf("%s: %d results are offered, %d chosen", name, len(options), len(selected))
		}
	}
	shown := find(doc, "section[aria-labelledby=between] dl.diff dd")
	var got []string
	for _, dd := range shown {
		got = append(got, strings.Fields(text(dd))...)
	}
	all := append(append(append([]string(nil), want.Fixed...), want.New...), want.Still...)
	if len(all) == 0 || strings.Join(got, " ") != strings.Join(all, " ") {
		t.Errorf("the page shows %q, want %q", got, all)
	}
	readStatus(t, s, "/site?target="+run.Target+"&was="+string(was.Run), 400)
	readStatus(t, s, "/site?target="+run.Target+"&was=x&is="+string(is.Run), 404)
}
