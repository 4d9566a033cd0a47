package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"agentaudit/audit/discovery"
	"agentaudit/audit/report"
	"agentaudit/fetch"
)

// scans reports whether a scan is to follow an audit that is final. Where the
// site gave no verdict, or no answer at all for its profile, there is nothing
// to scan.
//
// A host that asked to be left alone is left alone.
func (o Options) scans(j *judge, w Judgement) bool {
	res := w.Result
	switch {
	case o.Discover == DiscoverNever, res.Outcome == report.OutcomeUnchecked, j.s.read.Status == 0, len(w.Verdict.Rests) > 0:
		return false
	case o.Discover == DiscoverAlways:
		return true
	}
	return !res.Report.Valid
}

// errBrokeDown stands for a panic in a scan.
var errBrokeDown = errors.New("the scan broke down through a fault of agentaudit itself; its log says more")

// scan scans the site of an audit by the same visit and adds the reads to the
// evidence. Trouble is part of its report, and never of the audit's result: the
// error is not nil only where the caller wants no result any more.
func (a *Auditor) scan(ctx context.Context, m *memory, j *judge, o Options, w *Judgement) (*discovery.Report, error) {
	start, err := j.t.ProfileURL.Resolve("/")
	if err != nil {
		return nil, fmt.Errorf("the root of %s: %w", j.t.ProfileURL, err)
	}
	at := a.now()
	m.begin()
	r, err := func() (r *discovery.Report, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = errBrokeDown
				if a.Log != nil {
					a.Log.LogAttrs(ctx, slog.LevelError, "panic while scanning a site", slog.String("target", j.t.ProfileURL.String()),
						slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
				}
			}
		}()
		return discovery.Scan(ctx, m, start, discovery.Options{Now: a.now, IgnoreRobots: o.IgnoreRobots, RobotsCache: a.Robots})
	}()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		r = discovery.Failed(start, at, err)
	}
	// Also where a document is gone or disagrees: that is drift, too.
	if j.s.site != nil && j.s.ownOrigin && r.Error == "" {
		reads := make([]report.Observation, len(j.b.Reads))
		for i := range j.b.Reads {
			reads[i] = j.b.Reads[i].observation()
		}
		r.Drift = discovery.Compare(j.s.site, r, reads)
	}
	evidence, rests := m.end()
	w.Result.Evidence = append(w.Result.Evidence, evidence...)
	w.Verdict.Rests = append(w.Verdict.Rests, rests...)
	return r, nil
}

// encoded is a part of a result as JSON.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("audit: %T is no JSON: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// memory is a visit that remembers what the audit read, so that a scan behind
// it asks the site for nothing twice that could not come out otherwise.
type memory struct {
	f Fetcher
	// known are the answers that would be the same for any Accept header.
	known map[string]remembered

	mu       sync.Mutex
	scanning bool
	evidence []report.Evidence
	verdict  Verdict // its rests
}

type remembered struct {
	resp *fetch.Response
	err  error
}

func newMemory(f Fetcher) *memory { return &memory{f: f, known: map[string]remembered{}} }

// begin starts a scan; end is what it read, and which hosts asked for rest.
func (m *memory) begin() { m.scanning = true }

func (m *memory) end() ([]report.Evidence, []Rest) { return m.evidence, m.verdict.Rests }

// Fetch reads a file, or knows it already.
func (m *memory) Fetch(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	at := req.URL.Location()
	if m.scanning {
		if k, ok := m.known[at]; ok && (k.resp == nil || k.resp.Bytes <= req.MaxBytes) {
			return k.resp, k.err
		}
	}
	resp, err := m.f.Fetch(ctx, req)
	if m.scanning {
		r := newRead("", req.URL, req.MaxBytes, resp, err)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.evidence = append(m.evidence, r.evidence())
		m.verdict.rest(&r)
	} else if isLasting(resp, err) {
		m.known[at] = remembered{resp, err}
	}
	return resp, err
}

// Rest has a host left alone for the rest of the visit.
func (m *memory) Rest(host string, d time.Duration) {
	if visit, ok := m.f.(rester); ok {
		visit.Rest(host, d)
	}
}

// isLasting reports an answer that is the same for whoever asks.
func isLasting(resp *fetch.Response, err error) bool {
	if err != nil {
		kind := fetch.KindOf(err)
		return kind == fetch.KindRedirect || kind == fetch.KindEncoding
	}
	if resp.Status == http.StatusOK {
		return mediaType(resp.ContentType) == "application/json"
	}
	return resp.Status != http.StatusNotAcceptable && resp.Status < 500
}

// now is the auditor's clock.
func (a *Auditor) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}
