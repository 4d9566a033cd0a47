package agentstxt

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// Fetcher reads one public file: one GET that follows nothing. Its errors are
// [*fetch.Error] values. A visit of package fetch is one.
type Fetcher interface {
	Fetch(ctx context.Context, req fetch.Request) (*fetch.Response, error)
}

// Collect asks a site for its files: the well-known places, redirects, the
// places at the root, what the files point to, in this order and with at most
// requests requests (see [PipelineRequests]). What was left out is not among
// the replies, and [Judge] says so.
//
// The error is not nil only where the caller's context ended; whatever the
// site does is part of the replies.
func Collect(ctx context.Context, f Fetcher, site *weburl.URL, requests int) ([]Reply, error) {
	c := &collector{origin: site.Origin(), left: requests, get: func(url string) Reply { return read(ctx, f, url) }}
	c.stop = func() bool { return ctx.Err() != nil }
	c.run()
	return c.list, ctx.Err()
}

// read makes one request.
func read(ctx context.Context, f Fetcher, url string) Reply {
	u, err := weburl.Parse(url)
	if err != nil {
		return Reply{URL: url, Kind: kindRefused, Message: err.Error()}
	}
	resp, err := f.Fetch(ctx, fetch.Request{URL: u, MaxBytes: MaxBody})
	if err == nil {
		r := Reply{URL: url, Status: resp.Status, Header: resp.Header, Body: resp.Body, Bytes: resp.Bytes}
		r.Evidence = evidence(&r, resp.Trace)
		sum := sha256.Sum256(resp.Body)
		r.Evidence.SHA256 = hex.EncodeToString(sum[:])
		return r
	}
	r := Reply{URL: url, Kind: string(fetch.KindOf(err)), Message: err.Error(), Header: http.Header{}}
	if r.Kind == "" {
		r.Kind = string(fetch.KindProtocol)
	}
	var trace fetch.Trace
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		r.Status, r.Bytes, trace = e.Status, e.Bytes, e.Trace
		r.Header.Set("Content-Type", e.ContentType)
		r.Header.Set("Location", e.Location)
	}
	r.Evidence = evidence(&r, trace)
	if r.Kind == string(fetch.KindRedirect) { // an answer like any other here
		r.Kind, r.Message = "", ""
	}
	return r
}

func evidence(r *Reply, t fetch.Trace) report.Evidence {
	e := report.Evidence{
		URL: r.URL, Status: r.Status, MediaType: r.Header.Get("Content-Type"), Bytes: r.Bytes, Error: r.Kind, Message: r.Message,
		StartedAt: t.Started, DurationMs: t.Elapsed.Milliseconds(),
	}
	if t.Addr.IsValid() {
		e.Address = t.Addr.String()
	}
	if t.TLSVersion != 0 {
		e.TLS = tls.VersionName(t.TLSVersion)
	}
	return e
}

// PipelineRequests is how many requests an audit in the pipeline may spend on
// this convention (issue 4).
const PipelineRequests = 4

// maxDeclarations is how many operators' declarations are asked for.
const maxDeclarations = 5

// collector asks for the places of one site, in the order of their weight, as
// long as there are requests left.
type collector struct {
	origin string
	left   int
	get    func(url string) Reply
	stop   func() bool // nil: never
	list   []Reply
}

// ask makes one request, unless it was made already or none is left.
func (c *collector) ask(url string) {
	if c.stop != nil && c.stop() {
		c.left = 0
	}
	if c.left <= 0 || indexReplies(c.list)[location(url)] != nil {
		return
	}
	c.left--
	r := c.get(url)
	r.URL = url
	c.list = append(c.list, r)
}

// place asks for a URL and follows redirects.
func (c *collector) place(url string) got {
	for {
		g := indexReplies(c.list).follow(url)
		if g.state != notAsked || c.left <= 0 || len(g.hops) > maxHops {
			return g
		}
		c.ask(g.url)
	}
}

func (c *collector) run() {
	// Both well-known places first: redirects must not use up the requests.
	c.ask(c.origin + TextPath)
	c.ask(c.origin + JSONPath)
	text := c.place(c.origin + TextPath)
	json := c.place(c.origin + JSONPath)
	if !isFile(text) {
		text = c.place(c.origin + TextRootPath)
	}
	if !isFile(json) {
		json = c.place(c.origin + JSONRootPath)
	}
	for _, url := range c.targets(text, json) {
		c.place(url)
	}
	// A second copy that differs is a warning only, so it comes last.
	if isFile(text) {
		c.place(c.origin + TextRootPath)
	}
	if isFile(json) {
		c.place(c.origin + JSONRootPath)
	}
}

// isFile reports whether an answer is a file, not a page or nothing.
func isFile(g got) bool {
	if g.state != present {
		return g.state == tooLarge
	}
	body := string(g.reply.Body)
	return trim(strings.TrimPrefix(body, "\ufeff")) != "" && !isHTML(body)
}

// targets are what the files point to: the JSON of Agents-JSON on the same
// origin, and operators' declarations.
func (c *collector) targets(text, json got) []string {
	var out []string
	seen := map[string]bool{}
	add := func(url string) {
		if !seen[url] && len(seen) <= maxDeclarations {
			seen[url] = true
			out = append(out, url)
		}
	}
	origin, _ := parseLink(c.origin)
	for i, g := range []got{text, json} {
		if g.state != present || len(g.reply.Body) > MaxBody {
			continue
		}
		var d *Document
		if i == 0 {
			d = ParseText(g.reply.Body)
			if textFormat(d) != Draft {
				continue
			}
			if l, ok := parseLink(d.Declaration.Metadata.Get(fAgentsJSON.text).Value); ok && l.origin() == origin.origin() {
				add(l.origin() + l.request())
			}
		} else {
			d = ParseJSON(g.reply.Body)
			if jsonFormat(d) != Draft {
				continue
			}
		}
		for _, a := range d.Declaration.Agents {
			if l, ok := parseLink(a.AgentDeclaration.Value); ok && (l.scheme == "https" || l.scheme == "http") && !l.user {
				add(l.origin() + l.request())
			}
		}
	}
	return out
}
