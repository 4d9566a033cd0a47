package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"agentaudit/fetch"
)

// answer is what a fake site says at one URL.
type answer struct {
	status int // 0 is 200
	media  string
	body   string
	link   string // Link header
	to     string // Location
	err    error
	takes  time.Duration
}

// fakeWeb is a Fetcher without a network. What it does not know is missing.
type fakeWeb struct {
	answers map[string]answer
	any     func(url string) answer // nil: missing

	mu       sync.Mutex
	asked    []string
	busy     map[string]int
	crowded  bool // two reads of one host at once
	overlong bool // an allowance beyond the limit of a document
}

func (w *fakeWeb) Fetch(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	url, host := req.URL.Location(), req.URL.Hostname()
	w.mu.Lock()
	w.asked = append(w.asked, url)
	if w.busy == nil {
		w.busy = map[string]int{}
	}
	w.busy[host]++
	w.crowded = w.crowded || w.busy[host] > 1
	w.overlong = w.overlong || req.MaxBytes > MaxDocument || req.MaxBytes <= 0
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.busy[host]--
		w.mu.Unlock()
	}()
	a, ok := w.answers[url]
	if !ok {
		a = answer{status: 404, media: "text/plain", body: "Missing"}
		if w.any != nil {
			a = w.any(url)
		}
	}
	if a.takes > 0 {
		select {
		case <-ctx.Done():
			return nil, &fetch.Error{Kind: fetch.KindTimeout, URL: url, Err: ctx.Err()}
		case <-time.After(a.takes):
		}
	}
	status := cmp.Or(a.status, 200)
	switch {
	case a.err != nil:
		return nil, a.err
	case status >= 300 && status < 400:
		return nil, &fetch.Error{Kind: fetch.KindRedirect, URL: url, Status: status, Location: a.to}
	case int64(len(a.body)) > req.MaxBytes:
		return nil, &fetch.Error{Kind: fetch.KindTooLarge, URL: url, Status: status, Limit: req.MaxBytes}
	}
	h := http.Header{}
	if a.link != "" {
		h.Set("Link", a.link)
	}
	return &fetch.Response{URL: url, Status: status, Header: h, ContentType: a.media, Body: []byte(a.body), Bytes: int64(len(a.body))}, nil
}

func (w *fakeWeb) countOf(url string) (n int) {
	for _, a := range w.asked {
		if a == url {
			n++
		}
	}
	return n
}

const site = "https://site.example"

func pageOf(body string) answer { return answer{media: "text/html; charset=utf-8", body: body} }

func jsonOf(body string) answer { return answer{media: "application/json", body: body} }

func newWeb(pages map[string]answer) *fakeWeb {
	w := &fakeWeb{answers: map[string]answer{}}
	for path, a := range pages {
		if strings.HasPrefix(path, "/") {
			path = site + path
		}
		w.answers[path] = a
	}
	return w
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func (w *fakeWeb) scan(t testing.TB, start string, o Options) (*Report, error) {
	t.Helper()
	o.Now = func() time.Time { return noon }
	r, err := Scan(t.Context(), w, mustURL(t, start), o)
	if w.crowded {
		t.Error("two reads of one host at the same time")
	}
	if w.overlong {
		t.Error("a document was given more than its limit")
	}
	return r, err
}

func (w *fakeWeb) mustScan(t testing.TB, o Options) *Report {
	t.Helper()
	r, err := w.scan(t, site+"/", o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// source finds a resource of a report.
func (r *Report) source(path string) *Source {
	for i := range r.Sources {
		if r.Sources[i].URL == site+path {
			return &r.Sources[i]
		}
	}
	return nil
}

func asJSON(t testing.TB, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var errReset = &fetch.Error{Kind: fetch.KindReset, Err: errors.New("reset")}
