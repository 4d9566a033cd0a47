package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"agentaudit/store"
)

// Reader is all that the pages read; *store.Store is one. Errors are those of
// package store.
type Reader interface {
	Batch(ctx context.Context, id store.BatchID) (*store.Batch, error)
	Batches(ctx context.Context, before store.BatchID, limit int) ([]store.Batch, error)
	OpenBatches(ctx context.Context, limit int) ([]store.Batch, error)
	RejectedLines(ctx context.Context, id store.BatchID, after int64, limit int) ([]store.Rejected, error)

	TopReasons(ctx context.Context, id store.BatchID, limit int) ([]store.ReasonCount, error)
	TopChecks(ctx context.Context, id store.BatchID, limit int) ([]store.CheckCount, error)
	SiteCounts(ctx context.Context) ([]store.ReasonCount, error)

	Results(ctx context.Context, f store.Filter, cursor string, limit int) (*store.Page, error)
	EachResult(ctx context.Context, f store.Filter, full bool, fn func(store.Row) error) error

	Run(ctx context.Context, id store.RunID) (*store.Run, error)
	Parts(ctx context.Context, id store.RunID) (*store.Parts, error)
	Site(ctx context.Context, target string) (*store.Site, error)
	SiteHistory(ctx context.Context, target string, before time.Time, limit int) ([]store.SiteResult, error)

	Compare(ctx context.Context, before, after store.BatchID) (*store.Comparison, error)
	RunResults(ctx context.Context, id store.BatchID, ids []store.RunID) ([]store.RunResult, error)
}

// Config is what a dashboard needs; only Store has no usable zero value.
type Config struct {
	Store Reader
	// BasePath is where the dashboard lives on its host, as in "/audit"; "" and
	// "/" are the root. A proxy in front must pass the path on unchanged.
	BasePath string
	// Hosts are the host names, without port, by which browsers reach the
	// dashboard, besides localhost and the loopback addresses. Requests for
	// another host are refused: a stranger's web page could otherwise point a
	// name of its own at this machine and read everything. "*" allows any, for
	// a dashboard that is open to all who can reach it anyway.
	Hosts []string
	// Version is shown at the foot of each page, "" for none.
	Version string
	// Log hears of failures, and of every request at debug level; nil is silence.
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// LiveEvery is how often running batches are looked at while somebody
	// watches; 0 is two seconds.
	LiveEvery time.Duration
	// PageTimeout bounds the reading for one page; 0 is 30 seconds. Exports and
	// live updates have no such bound.
	PageTimeout time.Duration
}

// Server is the dashboard over one store.
type Server struct {
	c          Config
	links      Links
	hosts      map[string]bool
	pages      map[string]*template.Template
	assets     *assets
	live       *live
	compared   *comparisons
	background sync.WaitGroup
	stop       context.CancelFunc
}

// New checks the configuration and the templates. The error says what is wrong
// with the configuration.
func New(c Config) (*Server, error) {
	if c.Store == nil {
		return nil, errors.New("dashboard: no store")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.LiveEvery <= 0 {
		c.LiveEvery = 2 * time.Second
	}
	if c.PageTimeout <= 0 {
		c.PageTimeout = 30 * time.Second
	}
	links, err := newLinks(c.BasePath)
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, links: links, hosts: map[string]bool{}}
	for _, h := range c.Hosts {
		if h = strings.ToLower(strings.TrimSpace(h)); h == "" || strings.ContainsAny(h, "/@ ") {
			return nil, fmt.Errorf("dashboard: %q is no host name; give names such as audit.example.org", h)
		}
		s.hosts[h] = true
	}
	if s.assets, err = newAssets(); err != nil {
		return nil, err
	}
	if s.pages, err = parseTemplates(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.live = newLive(ctx, c.Store, c.LiveEvery, c.Now, c.Log)
	s.compared = newComparisons(ctx, c.Store, &s.background)
	// An error page that fails could not say so: it is tried before it is needed.
	if _, err := s.render("error", s.errorPage(s.request(nil), &HTTPError{Code: 500, Message: "A test."})); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends live updates and work in the background, and waits for them. The
// handler must not be called any more.
func (s *Server) Close() {
	s.stop()
	s.live.wait()
	s.background.Wait()
}

// Handler serves the dashboard below the base path.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	// Pages, opened by people.
	page(s, mux, "GET /{$}", "overview", overviewPage)
	page(s, mux, "GET /batches", "batches", batchesPage)
	page(s, mux, "GET /batches/{batch}", "batch", batchPage)
	page(s, mux, "GET /batches/{batch}/rejected", "rejected", rejectedPage)
	page(s, mux, "GET /batches/{batch}/results", "results", resultsPage)
	page(s, mux, "GET /runs/{run}", "run", runPage)
	page(s, mux, "GET /site", "site", sitePage)
	page(s, mux, "GET /compare", "compare", comparePage)
	// Files, downloaded from pages and by scripts.
	s.handle(mux, "GET /batches/{batch}/results.csv", s.export(exportCSV))
	s.handle(mux, "GET /batches/{batch}/results.ndjson", s.export(exportNDJSON))
	s.handle(mux, "GET /runs/{run}/{document}", s.document)
	// Live numbers, read by the script of the pages.
	s.handle(mux, "GET /events", s.events)
	// Our own style sheet, script and icon.
	mux.Handle("GET /static/{hash}/{name}", s.assets)
	s.handle(mux, "/", func(http.ResponseWriter, *http.Request) error {
		return noPage()
	})
	return s.secure(s.host(s.recovered(s.based(mux))))
}
