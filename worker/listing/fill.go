package listing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agentaudit/audit/sitelist"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
	"agentaudit/store"
	"agentaudit/worker/producer"
)

// Store is what the intake of a listing needs of the store; *store.Store is one.
type Store interface {
	BeginListing(ctx context.Context, id store.BatchID, source, writeBack string) error
	AddListings(ctx context.Context, id store.BatchID, page []store.Listing, position func(known []bool) (json.RawMessage, error)) (store.AddedListings, error)
	ResumeListing(ctx context.Context, id store.BatchID) (json.RawMessage, error)
}

// Config says what to read, and how. Source and Client are required.
type Config struct {
	Source Source
	// Client reads the pages: public addresses alone, and nothing is followed.
	Client *fetch.Client
	// WriteBack is where changes of outcomes are told, "" for nowhere.
	WriteBack string
	// Read is what the user knows of the shape ([NewShape]).
	Read   sitelist.Options
	Budget Budget
	// Sleep waits; nil is the clock.
	Sleep func(context.Context, time.Duration) error
	// Note hears of what people should know: the shape before anything is
	// taken, troubles, what was odd at the end. nil hears nothing.
	Note func(format string, args ...any)
	// Progress is told the counts after each page, nil for nobody.
	Progress func(producer.Counts)
}

// Source is the listing of a directory.
type Source struct {
	// URL is its first page.
	URL *weburl.URL
	// Shape is nil where it has to be found out.
	Shape *Shape
}

// The sources that are known by name.
const (
	MCPRegistry = "mcp-registry"
	Ruagentic   = "ruagentic"
)

// registryShape is that of the official MCP registry's v0.1/servers.
var registryShape = Shape{
	List: "/servers", Site: []string{"/server/remotes/0/url", "/server/websiteUrl"}, ID: []string{"/server/name"},
	Label: []string{"/server/title", "/server/name"}, Origin: true,
}

// ParseSource reads what a user names: a URL, or one of the known names.
func ParseSource(text string) (Source, error) {
	switch text {
	case MCPRegistry:
		u, err := weburl.Parse("https://registry.modelcontextprotocol.io/v0.1/servers?limit=100&version=latest")
		return Source{URL: u, Shape: &registryShape}, err
	case Ruagentic:
		u, err := weburl.Parse("https://ruagentic.com/api/v1/listings")
		return Source{URL: u}, err
	}
	u, err := weburl.Parse(text)
	switch {
	case err != nil:
		return Source{}, fmt.Errorf("%.200q is neither a URL nor %s or %s", store.PlainSource(text), MCPRegistry, Ruagentic)
	case u.HasCredentials():
		return Source{}, errors.New("the URL carries a user name or password; only public listings are read")
	case u.Scheme() != "https" || u.Port() != "":
		return Source{}, fmt.Errorf("%.200q: only https on the standard port is read", store.PlainSource(text))
	}
	return Source{URL: u}, nil
}

// Fill reads a listing into a batch that was just created. A page that cannot
// be read is a [*PageError], a first page that shows no listings an
// [*ShapeError]: what was taken stays, and [Resume] goes on.
func Fill(ctx context.Context, st Store, id store.BatchID, c Config) (producer.Counts, error) {
	if err := st.BeginListing(ctx, id, c.Source.URL.String(), c.WriteBack); err != nil {
		return producer.Counts{}, err
	}
	return c.fill(ctx, st, id, position{}, false)
}

// Resume goes on with a batch whose intake by [Fill] was interrupted.
func Resume(ctx context.Context, st Store, id store.BatchID, c Config) (producer.Counts, error) {
	raw, err := st.ResumeListing(ctx, id)
	if err != nil {
		return producer.Counts{}, err
	}
	var p position
	if raw != nil {
		if err := json.Unmarshal(raw, &p); err != nil {
			return producer.Counts{}, fmt.Errorf("the position of batch %s cannot be read: %w", id, err)
		}
	}
	return c.fill(ctx, st, id, p, raw != nil)
}

func (c Config) fill(ctx context.Context, st Store, id store.BatchID, p position, resumed bool) (counts producer.Counts, err error) {
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Note == nil {
		c.Note = func(string, ...any) {}
	}
	r := &reader{client: c.Client, budget: c.Budget.withDefaults(), sleep: c.Sleep, note: c.Note}
	defer r.close()
	counts.Lines = p.Fresh
	for !p.Done {
		if err := r.within(p); err != nil {
			return counts, err
		}
		u, at, err := p.address(c.Source.URL)
		if err != nil {
			return counts, fmt.Errorf("the address of the next page: %w", err)
		}
		value, header, err := r.get(ctx, u)
		if bad, ok := errors.AsType[*PageError](err); ok && resumed && bad.Status >= 400 && bad.Status < 500 {
			// A cursor does not live for ever. What is known is not taken again.
			c.Note("%v; reading from the beginning again, without what is there already", err)
			p, resumed = position{Shape: p.Shape, Fresh: p.Fresh, Again: p.Fresh}, false
			continue
		}
		if err != nil {
			return counts, err
		}
		resumed = false
		if p.Pages == 0 && len(p.Shape.Site) == 0 {
			if p.Shape, err = c.shape(value); err != nil {
				return counts, err
			}
		}
		if p, err = c.take(ctx, st, id, p, value, header["Link"], u, at, &counts); err != nil {
			return counts, err
		}
		if c.Progress != nil {
			c.Progress(counts)
		}
	}
	if p.Note != "" {
		c.Note("%s", p.Note)
	}
	return counts, nil
}

// within reports whether there is budget for another page.
func (r *reader) within(p position) error {
	b := r.budget
	switch {
	case p.Pages >= b.Pages:
		return fmt.Errorf("the listing has more than %d pages; ask for larger ones in its URL, as in ?limit=1000", b.Pages)
	case p.Fresh >= b.Listings:
		return fmt.Errorf("the listing has more than %d sites; read it in parts", b.Listings)
	case r.bytes >= b.Bytes:
		return fmt.Errorf("the listing has more than %d bytes; read it in parts", b.Bytes)
	}
	return nil
}

func (c Config) shape(value any) (Shape, error) {
	s := c.Source.Shape
	if s == nil {
		found, err := NewShape(value, c.Read)
		if err != nil {
			return found, err
		}
		s = &found
	}
	c.Note("reading %s: %s", c.Source.URL.Location(), s)
	return *s, nil
}

// take takes a page in, and returns the position behind it.
func (c Config) take(ctx context.Context, st Store, id store.BatchID, p position, value any, link []string, u *weburl.URL, at int64, counts *producer.Counts) (position, error) {
	items, err := p.Shape.items(value)
	if err != nil {
		return p, &PageError{URL: u.Location(), Message: err.Error() + "; choose it with --pointer"}
	}
	s, err := nextOf(value, link, u, len(items))
	if err != nil {
		return p, &PageError{URL: u.Location(), Message: err.Error()}
	}
	if p.Pages == 0 {
		c.Note("first page: %d listings, %s", len(items), s.describe())
	}
	listings := make([]store.Listing, len(items))
	keys := make([]string, len(items))
	for i, item := range items {
		l := item.Line(p.Read + int64(i) + 1)
		keys[i] = key(item)
		listings[i] = store.Listing{Key: keys[i], ID: l.ID, URL: item.Site, Line: producer.Line(0, l)}
	}
	g := page{count: len(items), sum: sumOf(keys), step: s}
	var next position
	added, err := st.AddListings(ctx, id, listings, func(known []bool) (json.RawMessage, error) {
		var err error
		if next, err = p.after(g, at, known); err != nil {
			return nil, &PageError{URL: u.Location(), Message: err.Error()}
		}
		return json.Marshal(next)
	})
	if err != nil {
		return p, err
	}
	if next.Back && !p.Back {
		c.Note("listings were taken away while the listing was read; going back to find what moved")
	}
	counts.Lines += added.Fresh
	counts.Entries += added.Entries
	counts.Runs += added.Runs
	counts.Duplicates += added.Duplicates
	counts.Rejected += added.Rejected
	return next, nil
}

// key tells listings apart: by their own id, else by what they say of the site.
func key(item sitelist.Item) string {
	switch {
	case item.ID != "":
		return "id " + item.ID
	case item.Site != "":
		return "site " + item.Site + "\n" + item.Label
	}
	return "item " + item.Text
}

// describe says how the API pages.
func (s step) describe() string {
	of := ""
	if s.total > 0 {
		of = fmt.Sprintf(" of %d", s.total)
	}
	switch s.kind {
	case Single:
		return "and no other" + of
	case Link:
		return "the next by a link" + of
	}
	return fmt.Sprintf("the next by %s=%.40s%s", s.param, s.value, of)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
