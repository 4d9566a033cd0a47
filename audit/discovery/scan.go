package discovery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agentaudit/audit/openapi"
	"agentaudit/audit/profile"
	"agentaudit/fetch/weburl"
)

// maxWaiting is how many candidates may wait (specification section 8).
const maxWaiting = 50

// Options change how a scan goes.
type Options struct {
	// Now is the clock for observedAt, nil for time.Now.
	Now func() time.Time
	// IgnoreRobots reads linked documents whatever robots.txt says: for one's
	// own sites.
	IgnoreRobots bool
	// Agent is the product token looked for in robots.txt, "" for "agentaudit".
	Agent string
	// RobotsCache, if not nil, is asked before a site is asked for its
	// robots.txt.
	RobotsCache RobotsCache
}

// scan is one scan under way.
type scan struct {
	reader
	Options
	start       *weburl.URL
	origin      string
	originURL   *weburl.URL // its root
	name        string      // "" until known
	description string

	titleOfAPI, descriptionOfAPI string

	waiting []*candidate
	known   map[string]*candidate // by URL: all that ever waited, and the start
	found   resources
	apis    []profile.API
	indexes map[string][]profile.Operation
	cutAPIs bool

	existing existing
	contents map[string]api // OpenAPI documents by final URL, for bindings

	rules      map[string]*rules // by origin
	robots     *Robots           // nil until rules were read
	robotsWork int
}

// Scan scans a site from a start that is a site link ([weburl.ParseStart]).
//
// The error is an [*Error] where the first document does not allow for a scan,
// and wraps the context's where ctx ended. Whatever else the site answers is
// part of the report. Scan keeps to [Budget] by itself.
func Scan(ctx context.Context, f Fetcher, start *weburl.URL, o Options) (*Report, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Agent == "" {
		o.Agent = "agentaudit"
	}
	s := &scan{
		reader: reader{f: f}, Options: o, start: start,
		known: map[string]*candidate{}, indexes: map[string][]profile.Operation{}, contents: map[string]api{},
		rules: map[string]*rules{},
	}
	s.mayFollow = s.allowed
	at := o.Now()
	timed, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	err := s.first(timed)
	if ctx.Err() == nil && err == nil {
		s.rest(timed)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the scan of %s was stopped: %w", start, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	s.limited = s.limited || timed.Err() != nil
	return s.report(at)
}

// first reads the start.
func (s *scan) first(ctx context.Context) error {
	if err := weburl.CheckSiteLink(s.start); err != nil {
		return err
	}
	d := &document{url: s.start, asked: true}
	s.read(ctx, []*document{d})
	fail := func(format string, args ...any) error {
		return &Error{URL: s.start.Location(), Message: fmt.Sprintf(format, args...), Observations: s.sortedObservations(), Err: d.err}
	}
	if d.err != nil {
		return fail("it could not be read: %v", d.err)
	}
	if d.answer.Status != 200 {
		return fail("it answered with status %d; give the address of a public page or document", d.answer.Status)
	}
	done, ok := turn(ctx, len(d.answer.Body))
	if !ok {
		return fail("there was no time to take it apart; scan the site again later")
	}
	defer done()
	c := newContent(d.final, d.answer)
	if !c.isPage() {
		return fail("it is no page or document that can be read (media type %s)", profile.Show(d.answer.ContentType, 80))
	}
	s.origin = d.final.Origin()
	root, err := d.final.Resolve("/")
	if err != nil {
		return fail("it has no origin")
	}
	s.originURL = root
	taken := &candidate{url: d.final, kind: profile.KindWebsite}
	s.known[d.final.Location()] = taken
	for _, p := range conventional {
		if u, err := root.Resolve(p.path); err == nil {
			s.wait(&candidate{url: u, kind: p.kind, free: true})
		}
	}
	s.interpret(c, taken, true)
	s.keep(c)
	return nil
}

// conventional are the paths that are tried in any case.
var conventional = []struct {
	path string
	kind profile.ResourceKind
}{
	{"/agentic.json", profile.KindAgentic},
	{"/llms.txt", profile.KindLLMs},
	{"/api/openapi.json", profile.KindOpenAPI},
	{"/openapi.json", profile.KindOpenAPI},
	{"/docs", profile.KindDocumentation},
	{"/.well-known/agent-card.json", profile.KindA2A},
	{"/.well-known/agent-configuration", profile.KindAgentAuth},
}

// order is that in which candidates are read.
var order = []profile.ResourceKind{
	profile.KindAgentic, profile.KindOpenAPI, profile.KindLLMs, profile.KindDocumentation, profile.KindA2A, profile.KindAgentAuth,
}

// rest reads what waits, batch by batch.
func (s *scan) rest(ctx context.Context) {
	for len(s.waiting) > 0 && s.room() > 0 && ctx.Err() == nil {
		batch := s.next(ctx)
		documents := make([]*document, len(batch))
		for i, c := range batch {
			documents[i] = &document{url: c.url}
		}
		s.read(ctx, documents)
		for i, d := range documents {
			if d.err == nil && d.answer.Status == 200 {
				s.take(ctx, d, batch[i])
			}
			d.answer = nil
		}
	}
	if len(s.waiting) > 0 || s.used >= MaxBytes {
		s.limited = true
	}
}

// large is the size in bytes from which a document waits for its turn: taken
// apart it may need a hundred times as much memory.
const large = 128 << 10

// turns lets two large documents at a time be taken apart in this process,
// however many sites are scanned at the same time.
var turns = make(chan struct{}, 2)

// turn waits for the turn of a document of some size, and is false where ctx
// ends before.
func turn(ctx context.Context, size int) (done func(), ok bool) {
	if size < large {
		return func() {}, true
	}
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, true
	case <-ctx.Done():
		return nil, false
	}
}

// take interprets a document that was read, while there is time.
func (s *scan) take(ctx context.Context, d *document, taken *candidate) {
	done, ok := turn(ctx, len(d.answer.Body))
	if !ok {
		s.limited = true
		return
	}
	defer done()
	c := newContent(d.final, d.answer)
	s.interpret(c, taken, false)
	s.keep(c)
}

// next takes the next candidates from the queue; those that robots.txt
// disallows leave it unread.
func (s *scan) next(ctx context.Context) (batch []*candidate) {
	slices.SortStableFunc(s.waiting, func(a, b *candidate) int {
		return slices.Index(order, a.kind) - slices.Index(order, b.kind)
	})
	room := s.room()
	for len(s.waiting) > 0 && len(batch) < room {
		c := s.waiting[0]
		s.waiting = s.waiting[1:]
		if c.free || s.allowed(ctx, c.url) {
			batch = append(batch, c)
		}
	}
	return batch
}

// wait queues a candidate that can be read: on this origin, no endpoint, and
// not seen before.
func (s *scan) wait(c *candidate) {
	url := c.url.Location()
	if c.kind == profile.KindMCP || c.url.Origin() != s.origin || s.known[url] != nil || len(s.waiting) >= maxWaiting {
		return
	}
	s.known[url] = c
	s.waiting = append(s.waiting, c)
}

// follow takes a link of a page.
func (s *scan) follow(base *weburl.URL, href, title string, from *weburl.URL) {
	u, err := base.Resolve(href)
	if err == nil && (u.Fragment() != "" || u.Location() != u.String()) {
		u, err = weburl.Parse(u.Location())
	}
	if err != nil || weburl.CheckSiteLink(u) != nil {
		return
	}
	if kind := classify(u, title); kind != "" {
		s.advertise(&candidate{url: u, kind: kind, source: from.Location(), title: title})
	}
}

// advertise lists what a document refers to and queues it.
func (s *scan) advertise(c *candidate) {
	c.linked = true
	url := c.url.Location()
	s.found.link(Source{Kind: c.kind, URL: url, Source: c.source, Title: c.title})
	if k := s.known[url]; k != nil && k.kind == c.kind && !k.linked {
		k.linked, k.source, k.title = true, c.source, c.title
		return
	}
	s.wait(c)
}

// api is an OpenAPI document, or why it is too large for bindings.
type api struct {
	body []byte
	err  error
}

// keep holds on to documents that bindings are checked against.
func (s *scan) keep(c *content) {
	if c.get("openapi") != nil {
		a := api{err: openapi.CheckSize(c.body)}
		if a.err == nil {
			a.body = c.body
		}
		s.contents[c.at.Location()] = a
	}
}
