package dashboard

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentaudit/store"
)

func TestExports(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Now: x.clock.Now})
	for query, want := range map[string]int{"": 40, "?outcome=failed&tag=coast": 4, "?q=quiet": 5, "?tag=nowhere": 0} {
		f, err := readFilter(mustQuery(t, query), x.after)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		if err := x.EachResult(t.Context(), f, false, func(r store.Row) error {
			b, err := json.Marshal(r)
			rows = append(rows, string(b)+"\n")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		res, body := get(t, s, "/batches/"+string(x.after)+"/results.ndjson"+query)
		if len(rows) != want || body != strings.Join(rows, "") || res.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%q: %d rows, wanted %d, type %s", query, len(rows), want, res.Header.Get("Content-Type"))
		}
		res, body = get(t, s, "/batches/"+string(x.after)+"/results.csv"+query)
		if n := strings.Count(body, "\n"); n < want+1 || !strings.HasPrefix(body, "batch,entry,line,input,target,") {
			t.Errorf("%q: %d lines of CSV", query, n)
		}
		if got, want := res.Header.Get("Content-Disposition"), `attachment; filename="agentaudit-`+string(x.after)+`.csv"`; got != want {
			t.Errorf("named %s, want %s", got, want)
		}
	}
	// Half a file is not passed off as a whole one.
	web := httptest.NewServer(serve(t, Config{Store: broken{x, 7}, Now: x.clock.Now}).Handler())
	defer web.Close()
	res, err := http.Get(web.URL + "/batches/" + string(x.after) + "/results.csv")
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err == nil {
		t.Error("an export that broke off looks complete")
	}
}

// endless is a store in which filters never meet.
type endless struct{ Reader }

func (e endless) Results(context.Context, store.Filter, string, int) (*store.Page, error) {
	return &store.Page{Next: "bW9yZQ"}, nil
}

// Filters that seldom meet do not keep the reader waiting.
func TestSearchOn(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: endless{x}, Now: x.clock.Now})
	path := "/batches/" + string(x.after) + "/results?outcome=failed&tag=coast"
	doc := read(t, s, path)
	has(t, doc, "main p", "Nothing found yet: these filters seldom meet")
	want(t, doc, ".pager a", "Search on")
	if got, want := links(doc, ".pager a")[0], "/batches/"+string(x.after)+"/results?after=bW9yZQ&outcome=failed&tag=coast"; got != want {
		t.Errorf("it goes on at %s, want %s", got, want)
	}
}
