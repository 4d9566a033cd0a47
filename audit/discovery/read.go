package discovery

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// The limits of one scan (specification section 8).
const (
	// MaxRequests is the number of answers, redirects included.
	MaxRequests = 22
	// MaxBatch is how many documents are read at a time.
	MaxBatch = 5
	// MaxBytes is the allowance of bodies, in which a failed read is charged
	// all that it might have used.
	MaxBytes = 8 << 20
	// MaxDocument is the size of one body in bytes.
	MaxDocument = 1 << 20
	// MaxRedirects is the number of redirects followed for one document.
	MaxRedirects = 3
	// Budget is the time for one scan. A lookup of a name that is under way
	// at its end may take [fetch.DefaultDNS] more.
	Budget = 40 * time.Second
)

// Fetcher reads one public file: one GET that follows nothing. Its errors are
// [*fetch.Error] values. A [fetch.Visit] is one.
type Fetcher interface {
	Fetch(ctx context.Context, req fetch.Request) (*fetch.Response, error)
}

// errLimit ends a read that the limits leave no room for.
var errLimit = errors.New("the scan reached its limit")

// reader reads documents within the budget of a scan.
type reader struct {
	f Fetcher
	// mayFollow reports whether a redirect may be followed to a document.
	mayFollow    func(ctx context.Context, to *weburl.URL) bool
	requests     int
	bytes, used  int64
	observations []report.Observation
	limited      bool // something was not read for want of budget or time
}

// document is one document of a batch on its way through redirects.
type document struct {
	url     *weburl.URL // where it is asked for next
	asked   bool        // by whoever wants the scan, not by a page
	hops    int
	limit   int64
	started bool
	again   bool // it was redirected
	answer  *fetch.Response
	err     error // why there is none
	final   *weburl.URL
}

// room is how many documents a batch may have now.
func (r *reader) room() int {
	return min(MaxBatch, MaxRequests-r.requests, int((MaxBytes-r.used+MaxDocument-1)/MaxDocument))
}

// read reads a batch. Hosts are read side by side, the documents of one host
// one after the other, as a visit would do in any case. Redirects are followed
// in rounds: who gets the last request does not depend on who is faster.
func (r *reader) read(ctx context.Context, batch []*document) {
	for round := batch; len(round) > 0; {
		byHost := r.allot(round)
		var wg sync.WaitGroup
		faults := make([]any, len(byHost))
		for i, documents := range byHost {
			wg.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						faults[i] = fault{p, debug.Stack()}
					}
				}()
				for _, d := range documents {
					if d.started = ctx.Err() == nil; d.started {
						d.answer, d.err = r.f.Fetch(ctx, fetch.Request{URL: d.url, Accept: fetch.AcceptDiscovery, MaxBytes: d.limit})
					}
				}
			})
		}
		wg.Wait()
		for _, f := range faults {
			if f != nil {
				panic(f)
			}
		}
		for _, documents := range byHost {
			for _, d := range documents {
				d.again = r.settle(ctx, d)
			}
		}
		round = slices.DeleteFunc(slices.Clone(batch), func(d *document) bool {
			again := d.again
			d.again = false
			return !again
		})
	}
}

// fault is a panic of a read. It goes on in the goroutine of the scan, where
// whoever called it can contain it; by itself it would end the process.
type fault struct {
	value any
	stack []byte
}

// Error tells what happened, and where.
func (f fault) Error() string { return fmt.Sprintf("%v\n\n%s", f.value, f.stack) }

// allot gives requests and allowances to documents in order, and groups those
// that have them by host.
func (r *reader) allot(round []*document) (byHost [][]*document) {
	index := map[string]int{}
	left := int64(MaxBytes) - r.used
	for _, d := range round {
		if d.limit = min(MaxDocument, left); d.limit <= 0 || r.requests == MaxRequests {
			d.err, r.limited = errLimit, true
			continue
		}
		left -= d.limit
		r.requests++
		host := d.url.Hostname()
		i, ok := index[host]
		if !ok {
			i = len(byHost)
			index[host] = i
			byHost = append(byHost, nil)
		}
		byHost[i] = append(byHost[i], d)
	}
	return byHost
}

// settle books what came of a read and reports whether it goes on elsewhere.
func (r *reader) settle(ctx context.Context, d *document) (again bool) {
	if !d.started {
		r.requests--
		d.err, r.limited = errLimit, true
		return false
	}
	o := report.Observation{URL: d.url.Location()}
	defer func() { r.observations = append(r.observations, o) }()
	if d.err == nil {
		d.final = d.url
		r.bytes += d.answer.Bytes
		r.used += d.answer.Bytes
		o.Status, o.ContentType, o.Bytes = d.answer.Status, d.answer.ContentType, &d.answer.Bytes
		return false
	}
	fe, ok := errors.AsType[*fetch.Error](d.err)
	if !ok {
		r.used += d.limit
		o.Error = d.err.Error()
		return false
	}
	o.Status, o.ContentType = fe.Status, fe.ContentType
	if fe.Kind != fetch.KindRedirect {
		r.used += d.limit
		o.Error = fe.Error()
		return false
	}
	// The body of a redirect is not read: it costs nothing.
	next, err := follow(d.url, fe.Location)
	if err == nil && d.hops == MaxRedirects {
		err = fmt.Errorf("it redirects more than %d times; give the final address", MaxRedirects)
	}
	if err == nil && !d.asked && !r.mayFollow(ctx, next) {
		err = errors.New("it redirects to " + next.Location() + ", which robots.txt does not allow")
	}
	if err != nil {
		d.err = err
		o.Error = err.Error()
		return false
	}
	d.url, d.err = next, nil
	d.hops++
	return true
}

// follow is where a redirect may lead: on the same origin or its exact www or
// non-www counterpart, as a site link without fragment.
func follow(from *weburl.URL, location string) (*weburl.URL, error) {
	if location == "" {
		return nil, errors.New("it redirects without naming a destination")
	}
	to, err := from.Resolve(location)
	if err == nil {
		to, err = weburl.Parse(to.Location())
	}
	if err != nil {
		return nil, errors.New("it redirects to something that is no URL")
	}
	if err := weburl.CheckSiteLink(to); err != nil {
		return nil, fmt.Errorf("it redirects to an address that is not read: %w", err)
	}
	if from.Origin() != to.Origin() && !counterparts(from.Hostname(), to.Hostname()) {
		return nil, fmt.Errorf("it redirects to another site, %s; give its final address", to.Hostname())
	}
	return to, nil
}

func counterparts(a, b string) bool {
	without, ok := strings.CutPrefix(a, "www.")
	if ok && without == b {
		return true
	}
	without, ok = strings.CutPrefix(b, "www.")
	return ok && without == a
}
