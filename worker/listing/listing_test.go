package listing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentaudit/audit/sitelist"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker/listing"
)

// directory is a fake listing API.
type directory struct {
	mu    sync.Mutex
	items []map[string]any
	limit int
	// paging writes what a page says of the next one.
	paging func(d *directory, w http.ResponseWriter, r *http.Request, from int) (page map[string]any)
	// before happens before the request with a number, counted from 1; it may
	// answer itself.
	before   map[int]func(d *directory, w http.ResponseWriter) (answered bool)
	requests []string
}

func (d *directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = append(d.requests, r.URL.RequestURI())
	if f := d.before[len(d.requests)]; f != nil && f(d, w) {
		return
	}
	q := r.URL.Query()
	from, _ := strconv.Atoi(q.Get("offset"))
	if page, err := strconv.Atoi(q.Get("page")); err == nil {
		from = (page - 1) * d.limit
	}
	if last := q.Get("cursor"); last != "" {
		if i := slices.IndexFunc(d.items, func(m map[string]any) bool { return m["id"] == last }); i >= 0 {
			from = i + 1
		} else {
			http.Error(w, "the cursor is too old", http.StatusGone)
			return
		}
	}
	page := d.paging(d, w, r, from)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page)
}

func (d *directory) slice(from int) []map[string]any {
	from = min(from, len(d.items))
	return d.items[from:min(from+d.limit, len(d.items))]
}

// The ways in which directories page.
var pagings = map[string]func(d *directory, w http.ResponseWriter, r *http.Request, from int) map[string]any{
	"offset": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		page := map[string]any{"listings": d.slice(from), "nextOffset": from + d.limit, "total": len(d.items)}
		if from+d.limit >= len(d.items) {
			page["nextOffset"] = nil
		}
		return page
	},
	// The offset is clamped, and the pages never end.
	"clamped": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		from = min(from, max(0, len(d.items)-d.limit))
		return map[string]any{"listings": d.slice(from), "nextOffset": from + d.limit}
	},
	"clamped, growing": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		at := min(from, max(0, len(d.items)-d.limit))
		return map[string]any{"listings": d.slice(at), "nextOffset": from + d.limit}
	},
	"has more": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		return map[string]any{"data": d.slice(from), "meta": map[string]any{"has_more": from+d.limit < len(d.items)}}
	},
	"next_cursor": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		page := d.slice(from)
		next := ""
		if len(page) == d.limit {
			next = page[len(page)-1]["id"].(string)
		}
		return map[string]any{"items": page, "next_cursor": next}
	},
	"metadata.nextCursor": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		page := d.slice(from)
		metadata := map[string]any{"count": len(page)}
		if from+d.limit < len(d.items) {
			metadata["nextCursor"] = page[len(page)-1]["id"]
		}
		return map[string]any{"servers": page, "metadata": metadata}
	},
	"a cursor that stays": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		page := d.slice(from)
		next := d.items[len(d.items)-1]["id"]
		if len(page) > 0 {
			next = page[len(page)-1]["id"]
		}
		return map[string]any{"items": page, "next_cursor": next}
	},
	"page": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		page := map[string]any{"results": d.slice(from)}
		if from+d.limit < len(d.items) {
			page["next_page"] = from/d.limit + 2
		}
		return page
	},
	"link header": func(d *directory, w http.ResponseWriter, r *http.Request, from int) map[string]any {
		if from+d.limit < len(d.items) {
			w.Header().Set("Link", fmt.Sprintf(`<https://dir.example/api>; rel="first", </api?limit=100&offset=%d>; rel="next"`, from+d.limit))
		}
		return map[string]any{"listings": d.slice(from)}
	},
	"link in the page": func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
		page := map[string]any{"listings": d.slice(from)}
		if from+d.limit < len(d.items) {
			page["links"] = map[string]any{"next": map[string]any{"href": fmt.Sprintf("/api?offset=%d", from+d.limit)}}
		}
		return page
	},
}

func items(n int) []map[string]any {
	all := make([]map[string]any, n)
	for i := range all {
		all[i] = map[string]any{"id": fmt.Sprintf("id-%d", i), "name": fmt.Sprintf("Site %d", i), "url": fmt.Sprintf("https://h%d.example/", i), "tags": []string{"a", "b"}}
	}
	return all
}

// reading is a directory, a store, and what is needed to read one into the other.
type reading struct {
	dir    *directory
	store  *store.Store
	config listing.Config
	slept  []time.Duration
	notes  []string
}

func newReading(t *testing.T, d *directory) *reading {
	t.Helper()
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	n.Handle("dir.example", d)
	source, err := listing.ParseSource("https://dir.example/api?limit=100")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := storetest.New(t)
	r := &reading{dir: d, store: s}
	r.config = listing.Config{
		Source: source, Client: n.Client(fetch.Config{}),
		Sleep: func(_ context.Context, d time.Duration) error { r.slept = append(r.slept, d); return nil },
		Note:  func(format string, args ...any) { r.notes = append(r.notes, fmt.Sprintf(format, args...)) },
	}
	return r
}

func (r *reading) batch(t *testing.T) store.BatchID {
	t.Helper()
	b, err := r.store.CreateBatch(t.Context(), store.NewBatch{Sources: []string{"dir.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return b.ID
}

// taken are the ids of the entries of a batch, in order; an id that stands
// twice fails the test.
func (r *reading) taken(t *testing.T, id store.BatchID) []string {
	t.Helper()
	var ids []string
	for after := int64(0); ; {
		page, err := r.store.Entries(t.Context(), id, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			ids = append(ids, e.ID)
			after = e.N
		}
	}
	sorted := slices.Sorted(slices.Values(ids))
	if n := len(slices.Compact(sorted)); n != len(ids) {
		t.Errorf("%d entries of %d listings", len(ids), n)
	}
	return ids
}

func (r *reading) said(words string) bool {
	return slices.ContainsFunc(r.notes, func(n string) bool { return strings.Contains(n, words) })
}

func TestPaging(t *testing.T) {
	for name, paging := range pagings {
		for _, n := range []int{0, 1, 99, 100, 101, 250, 300} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				if name == "a cursor that stays" && n == 0 || strings.HasPrefix(name, "clamped") && (n == 1 || n == 99 || n == 100) {
					t.Skip("such a directory has no end that can be told from a beginning")
				}
				r := newReading(t, &directory{items: items(n), limit: 100, paging: paging})
				id := r.batch(t)
				counts, err := listing.Fill(t.Context(), r.store, id, r.config)
				if err != nil {
					t.Fatalf("%v after %q", err, r.dir.requests)
				}
				if got := r.taken(t, id); len(got) != n || counts.Entries != int64(n) || counts.Lines != int64(n) {
					t.Errorf("%d of %d were taken (%+v) with %q", len(got), n, counts, r.dir.requests)
				}
				if most := n/100 + 6; len(r.dir.requests) > most {
					t.Errorf("%d requests for %d pages", len(r.dir.requests), n/100+1)
				}
				if !r.said("the site at /url, the id at /id, the label at /name") && n > 0 {
					t.Errorf("the shape was not shown: %q", r.notes)
				}
				if strings.HasPrefix(name, "clamped") && !r.said("taken for the end") {
					t.Errorf("the end was not told: %q", r.notes)
				}
			})
		}
	}
}

// Everything that a large directory can do at once: offsets that are clamped
// for ever, listings that come and go while it is read, a limit of requests, a
// broken page, a server error, a kill. What was there all the time is taken
// once.
func TestTwelveThousand(t *testing.T) {
	d := &directory{items: items(12_000), limit: 100, paging: pagings["clamped, growing"]}
	stay := map[string]bool{}
	for _, m := range d.items {
		stay[m["id"].(string)] = true
	}
	remove := func(from, n int) func(*directory, http.ResponseWriter) bool {
		return func(d *directory, _ http.ResponseWriter) bool {
			for _, m := range d.items[from : from+n] {
				delete(stay, m["id"].(string))
			}
			d.items = slices.Delete(d.items, from, from+n)
			return false
		}
	}
	insert := func(n int) func(*directory, http.ResponseWriter) bool {
		return func(d *directory, _ http.ResponseWriter) bool {
			fresh := make([]map[string]any, n)
			for i := range fresh {
				fresh[i] = map[string]any{"id": fmt.Sprintf("new-%d-%d", len(d.requests), i), "url": "https://new.example", "name": "New"}
			}
			d.items = append(fresh, d.items...)
			return false
		}
	}
	ctx, kill := context.WithCancel(t.Context())
	d.before = map[int]func(*directory, http.ResponseWriter) bool{
		5: insert(1),
		10: func(_ *directory, w http.ResponseWriter) bool {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(429)
			return true
		},
		15: func(_ *directory, w http.ResponseWriter) bool {
			fmt.Fprint(w, `{"listings": [{"id": "id-1"`)
			return true
		},
		20: remove(0, 1),
		25: insert(150),
		30: remove(200, 730), // more than seven pages
		45: func(_ *directory, w http.ResponseWriter) bool { w.WriteHeader(502); return true },
		60: func(*directory, http.ResponseWriter) bool { kill(); return false },
		62: remove(10, 40), // while nobody reads
		90: insert(3),
		95: remove(0, 5),
	}
	r := newReading(t, d)
	dir := t.TempDir()
	r.store = storetest.Open(t, dir, store.Options{})
	id := r.batch(t)
	if _, err := listing.Fill(ctx, r.store, id, r.config); !errors.Is(err, context.Canceled) {
		t.Fatalf("it was killed: %v", err)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	r.store = storetest.Open(t, dir, store.Options{})
	before := len(d.requests)
	if _, err := listing.Resume(t.Context(), r.store, id, r.config); err != nil {
		t.Fatal(err)
	}
	if first := d.requests[before]; !strings.Contains(first, "offset=") {
		t.Errorf("it began again with %s", first)
	}
	got := r.taken(t, id)
	missing := 0
	for key := range stay {
		if !slices.Contains(got, key) {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d listings are missing", missing, len(stay))
	}
	if !slices.Contains(r.slept, 90*time.Second) {
		t.Errorf("it waited for %v, not for the 90 s that were asked for", r.slept)
	}
	if len(d.requests) > 180 {
		t.Errorf("%d requests for 120 pages", len(d.requests))
	}
	if b, err := r.store.SealBatch(t.Context(), id); err != nil || b.Entries != int64(len(got)) {
		t.Errorf("%+v, %v", b, err)
	}
}

// A cursor that has died meanwhile is no end.
func TestDeadCursor(t *testing.T) {
	d := &directory{items: items(1000), limit: 100, paging: pagings["next_cursor"]}
	ctx, kill := context.WithCancel(t.Context())
	d.before = map[int]func(*directory, http.ResponseWriter) bool{8: func(*directory, http.ResponseWriter) bool { kill(); return false }}
	r := newReading(t, d)
	dir := t.TempDir()
	r.store = storetest.Open(t, dir, store.Options{})
	id := r.batch(t)
	if _, err := listing.Fill(ctx, r.store, id, r.config); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.store.Close()
	r.store = storetest.Open(t, dir, store.Options{})
	d.items = slices.DeleteFunc(d.items, func(m map[string]any) bool { return m["id"] == "id-699" })
	if _, err := listing.Resume(t.Context(), r.store, id, r.config); err != nil {
		t.Fatal(err)
	}
	if got := r.taken(t, id); len(got) != 1000 || !r.said("from the beginning again") {
		t.Errorf("%d entries, %q", len(got), r.notes)
	}
}

func TestTroubles(t *testing.T) {
	always := func(h http.Handler) *directory {
		d := &directory{limit: 100}
		d.before = map[int]func(*directory, http.ResponseWriter) bool{}
		for i := 1; i < 20; i++ {
			d.before[i] = func(_ *directory, w http.ResponseWriter) bool {
				h.ServeHTTP(w, nil)
				return true
			}
		}
		return d
	}
	answer := func(status int, header, value, body string) *directory {
		return always(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set(header, value)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
	}
	for _, c := range []struct {
		name     string
		dir      *directory
		want     string
		requests int
	}{
		{"a redirect", answer(302, "Location", "https://other.example/api", ""), "redirects to \"https://other.example/api\"", 1},
		{"a login", answer(401, "", "", ""), "not public", 1},
		{"no such page", answer(404, "", "", ""), "check the address", 1},
		{"a web page", answer(200, "", "", "<html>"), "web page", 5},
		{"an error for ever", answer(500, "", "", ""), "status 500", 5},
		{"a long rest", answer(429, "Retry-After", "7200", ""), "left alone for 2h0m0s", 1},
		{"no list", answer(200, "", "", `{"hello": "world"}`), "no list of sites", 1},
		{"two lists", answer(200, "", "", `{"a": [{"url": "a.example"}], "b": [{"url": "b.example"}]}`), "--pointer", 1},
		{"another site", answer(200, "", "", `{"a": [{"url": "a.example"}], "next": "https://evil.example/api"}`), "another site", 1},
		{"an offset that is none", answer(200, "", "", `{"a": [{"url": "a.example"}], "nextOffset": "x"}`), "no number", 1},
		{"offsets that change nothing", &directory{items: items(500), limit: 100, paging: func(d *directory, _ http.ResponseWriter, _ *http.Request, from int) map[string]any {
			return map[string]any{"listings": d.items[:100], "nextOffset": from + 100}
		}}, "first page again", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReading(t, c.dir)
			_, err := listing.Fill(t.Context(), r.store, r.batch(t), r.config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if len(c.dir.requests) != c.requests {
				t.Errorf("%d requests, want %d", len(c.dir.requests), c.requests)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	for name, b := range map[string]listing.Budget{"pages": {Pages: 2}, "sites": {Listings: 150}, "bytes": {Bytes: 1000}} {
		r := newReading(t, &directory{items: items(500), limit: 100, paging: pagings["offset"]})
		r.config.Budget = b
		if _, err := listing.Fill(t.Context(), r.store, r.batch(t), r.config); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.dir.requests) > 2 {
			t.Errorf("%s: %d requests", name, len(r.dir.requests))
		}
	}
}

// Lines that cannot be audited are rejected with the reason, once each.
func TestRejectedListings(t *testing.T) {
	d := &directory{limit: 100, paging: pagings["offset"], items: []map[string]any{
		{"id": "1", "url": "https://{tenant}.example/mcp"}, {"id": "2", "url": "https://a.example"}, {"id": "3"}, {"id": "1", "url": "https://{tenant}.example/mcp"},
	}}
	r := newReading(t, d)
	id := r.batch(t)
	counts, err := listing.Fill(t.Context(), r.store, id, r.config)
	if err != nil || counts.Entries != 1 || counts.Rejected != 2 {
		t.Fatalf("%+v, %v", counts, err)
	}
	lines, err := r.store.RejectedLines(t.Context(), id, 0, 10)
	if err != nil || len(lines) != 2 || !strings.Contains(lines[0].Reason, "unfilled template, {tenant}") || !strings.Contains(lines[1].Reason, "no site") {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestRegistry(t *testing.T) {
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	const path = "/v0.1/servers?limit=100&version=latest"
	n.Static("registry.modelcontextprotocol.io", path, 200, fakenet.JSON, `{"servers": [
		{"server": {"name": "io.example/a", "title": "A", "remotes": [{"type": "streamable-http", "url": "https://mcp.a.example/v1/mcp"}], "websiteUrl": "https://a.example/x"}},
		{"server": {"name": "io.example/b", "websiteUrl": "https://b.example/docs", "repository": {"url": "https://code.example/b"}}},
		{"server": {"name": "io.example/c", "remotes": [{"type": "sse", "url": "https://{tenant}.c.example/sse"}]}}
	], "metadata": {"nextCursor": "io.example/c", "count": 3}}`)
	n.Static("registry.modelcontextprotocol.io", "/v0.1/servers?cursor=io.example%2Fc&limit=100&version=latest", 200, fakenet.JSON, `{"servers": [
		{"server": {"name": "io.example/d", "packages": []}}], "metadata": {"count": 1}}`)
	source, err := listing.ParseSource(listing.MCPRegistry)
	if err != nil {
		t.Fatal(err)
	}
	r := newReading(t, &directory{})
	r.config.Source, r.config.Client = source, n.Client(fetch.Config{})
	id := r.batch(t)
	counts, err := listing.Fill(t.Context(), r.store, id, r.config)
	if err != nil || counts.Entries != 2 || counts.Rejected != 2 {
		t.Fatalf("%+v, %v", counts, err)
	}
	entries, err := r.store.Entries(t.Context(), id, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(entries[0].ID, entries[0].Label, entries[0].Target, entries[1].ID, entries[1].Label, entries[1].Target)
	if want := "io.example/aAhttps://mcp.a.example/agentic.jsonio.example/bio.example/bhttps://b.example/agentic.json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(entries[0].Notes) != 1 || !strings.Contains(entries[0].Notes[0], "https://mcp.a.example/v1/mcp") {
		t.Errorf("%v", entries[0].Notes)
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name, page string
		opt        sitelist.Options
		want       string
	}{
		{"a bare list", `[{"homepage": "a.example", "slug": "a", "title": "A"}]`, sitelist.Options{}, "listings in the whole page, the site at /homepage, the id at /slug, the label at /title"},
		{"texts", `{"sites": ["a.example"]}`, sitelist.Options{}, "listings in /sites, the site at "},
		{"nested", `{"data": {"items": [{"node": {"url": "https://a.example", "id": 7}}]}}`, sitelist.Options{}, "listings in /data/items, the site at /node/url, the id at /node/id"},
		{"the longest list", `{"featured": [{"url": "a.example"}], "all": [{"url": "a.example"}, {"url": "b.example"}]}`, sitelist.Options{}, "listings in /all, the site at /url"},
		{"a pointer", `{"featured": [{"url": "a.example"}], "all": [{"url": "a.example"}, {"url": "b.example"}]}`, sitelist.Options{Pointer: "/featured"}, "listings in /featured, the site at /url"},
		{"a column", `[{"url": "https://dir.example/l/1", "shop": {"link": "a.example"}, "key": "k"}]`, sitelist.Options{Column: "/shop/link", IDColumn: "key"}, "listings in the whole page, the site at /shop/link, the id at /key"},
		{"words that are no sites", `[{"url": "n/a", "website_url": "https://a.example"}]`, sitelist.Options{}, "listings in the whole page, the site at /website_url"},
		{"escapes", `{"a/b": [{"url": "a.example"}]}`, sitelist.Options{}, "listings in /a~1b, the site at /url"},
	} {
		var page any
		if err := json.Unmarshal([]byte(c.page), &page); err != nil {
			t.Fatal(err)
		}
		s, err := listing.NewShape(page, c.opt)
		if err != nil || s.String() != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, s, err, c.want)
		}
	}
	if _, err := listing.NewShape(map[string]any{"a": "b"}, sitelist.Options{Pointer: "/a"}); err == nil {
		t.Error("a pointer to a text")
	}
}

func TestSources(t *testing.T) {
	for text, want := range map[string]string{
		"nonsense": "neither a URL", "http://dir.example/api": "only https", "https://dir.example:8443/api": "only https",
		"https://anna:hunter2@dir.example/": "user name or password",
	} {
		if _, err := listing.ParseSource(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if s, err := listing.ParseSource(listing.Ruagentic); err != nil || !strings.HasSuffix(s.URL.String(), "/api/v1/listings") {
		t.Errorf("%v, %v", s, err)
	}
}
