package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"agentaudit/dashboard/signin"
	"agentaudit/store"
	"agentaudit/worker/mcp"
)

// Reader is all that the pages read; *store.Store is one. Errors are those of
// package store.
type Reader interface {
	Batch(ctx context.Context, id store.BatchID) (*store.Batch, error)
	Batches(ctx context.Context, before store.BatchID, limit int) ([]store.Batch, error)
	OpenBatches(ctx context.Context, limit int) ([]store.Batch, error)
	Entries(ctx context.Context, id store.BatchID, after int64, limit int) ([]store.Entry, error)
	RejectedLines(ctx context.Context, id store.BatchID, after int64, limit int) ([]store.Rejected, error)

	TopReasons(ctx context.Context, id store.BatchID, limit int) ([]store.ReasonCount, error)
	TopChecks(ctx context.Context, id store.BatchID, limit int) ([]store.CheckCount, error)
	SiteCounts(ctx context.Context) ([]store.ReasonCount, error)

	Results(ctx context.Context, f store.Filter, cursor string, limit int) (*store.Page, error)
	EachResult(ctx context.Context, f store.Filter, full bool, fn func(store.Row) error) error

	Load(ctx context.Context) (store.Load, error)
	Pulse(ctx context.Context) (store.Pulse, error)
	Schedules(ctx context.Context) ([]store.Schedule, error)
	Schedule(ctx context.Context, id store.ScheduleID) (*store.Schedule, error)

	ListingChanges(ctx context.Context, id store.BatchID, most int) (*store.ListingChanges, error)
	FindDeliveries(ctx context.Context, f store.DeliveryFilter, before int64, limit int) ([]store.Delivery, error)
	Webhooks(ctx context.Context, before store.BatchID, limit int) ([]store.BatchWebhook, error)

	Run(ctx context.Context, id store.RunID) (*store.Run, error)
	Parts(ctx context.Context, id store.RunID) (*store.Parts, error)
	Sites(ctx context.Context, f store.SiteFilter, cursor string, limit int) (*store.SitePage, error)
	Site(ctx context.Context, target string) (*store.Site, error)
	SiteHistory(ctx context.Context, target string, before time.Time, limit int) ([]store.SiteResult, error)

	Compare(ctx context.Context, before, after store.BatchID) (*store.Comparison, error)
	RunResults(ctx context.Context, id store.BatchID, ids []store.RunID) ([]store.RunResult, error)
}

// Writer is what the pages change; *store.Store is one. Errors are those of
// package store.
type Writer interface {
	NewSession(ctx context.Context, v store.Session) (secret string, err error)
	Session(ctx context.Context, secret string) (*store.Session, error)
	EndSession(ctx context.Context, secret string) error
	NewToken(ctx context.Context, v store.Token) (secret string, _ *store.Token, err error)
	Tokens(ctx context.Context) ([]store.Token, error)
	TokenOf(ctx context.Context, secret string) (*store.Token, error)
	RevokeToken(ctx context.Context, id string) error
	NewShare(ctx context.Context, v store.Share) (secret string, _ *store.Share, err error)
	Shares(ctx context.Context) ([]store.Share, error)
	ShareOf(ctx context.Context, secret string) (*store.Share, error)
	RevokeShare(ctx context.Context, id string) error
	BeginAnswer(ctx context.Context, key string) (*store.Answer, error)
	KeepAnswer(ctx context.Context, key string) error
	EndAnswer(ctx context.Context, key string, a *store.Answer) error

	AddSchedule(ctx context.Context, v store.Schedule) (*store.Schedule, error)
	ChangeSchedule(ctx context.Context, v store.Schedule) error
	PauseSchedule(ctx context.Context, id store.ScheduleID) error
	ResumeSchedule(ctx context.Context, id store.ScheduleID, nextDue, nextAt time.Time) error
	FireScheduleNow(ctx context.Context, id store.ScheduleID) error
	RemoveSchedule(ctx context.Context, id store.ScheduleID) error
	SetScheduleWebhook(ctx context.Context, id store.ScheduleID, w *store.Webhook) error
	SetBatchWebhook(ctx context.Context, id store.BatchID, w *store.Webhook) error

	CreateBatch(ctx context.Context, b store.NewBatch) (*store.Batch, error)
	AddLines(ctx context.Context, id store.BatchID, lines []store.Line) (store.Added, error)
	HoldIntake(ctx context.Context, id store.BatchID) error
	SealBatch(ctx context.Context, id store.BatchID) (*store.Batch, error)
	SealHeld(ctx context.Context, id store.BatchID) (*store.Batch, error)
	RemoveIntake(ctx context.Context, id store.BatchID) error
	PauseBatch(ctx context.Context, id store.BatchID, note string) error
	ResumeBatch(ctx context.Context, id store.BatchID) error
	CancelBatch(ctx context.Context, id store.BatchID, note string) error
	RetryBatch(ctx context.Context, id store.BatchID, sel store.Selection) (int64, error)
}

// Config is what a dashboard needs; only Store has no usable zero value.
type Config struct {
	Store Reader
	// Write is the same store for pages that change something; nil makes a
	// dashboard that only reads.
	Write Writer
	// Queue tells of queue and workers; nil for a dashboard that has none to ask.
	Queue Queue
	// Users are those who may sign in; they need Write. nil lets everybody in
	// who can reach the dashboard, with all rights: for one's own machine.
	Users *signin.Users
	// PublicURL is the address by which the world reaches the dashboard, with
	// the base path, as in https://audit.example.org; "" if it does not. With an
	// https address the dashboard serves an agentic.json and agents.txt of its own.
	PublicURL string
	// Facts are shown on the page of settings: how the program was started.
	// They hold no secrets.
	Facts []Fact
	// Messages is what this process sends to webhooks.
	Messages Messages
	// BasePath is where the dashboard lives on its host, as in "/audit"; "" and
	// "/" are the root. A proxy in front must pass the path on unchanged.
	BasePath string
	// Hosts are the host names, without port, by which browsers reach the
	// dashboard, besides localhost and the loopback addresses. Requests for
	// another host are refused: a stranger's web page could otherwise point a
	// name of its own at this machine and read everything. "*" allows any, for
	// a dashboard that is open to all who can reach it anyway.
	Hosts []string
	// NoBadges serves no badges. They are for all who come, and say of a site
	// what anybody finds out by auditing it: the outcome and its day.
	NoBadges bool
	// MaxUpload bounds a list that is sent in, in bytes; 0 is 250 MB. MaxLines
	// bounds its lines; 0 is 2,000,000.
	MaxUpload, MaxLines int64
	// MCP are the tools for agents at /mcp, nil for none.
	MCP *mcp.Config
	// Version is shown at the foot of each page, "" for none.
	Version string
	// Log hears of failures, and of every request at debug level; nil is silence.
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// LiveEvery is how often running batches are looked at while somebody
	// watches; 0 is two seconds.
	LiveEvery time.Duration
	// AskEvery is how often a stream of updates looks whether its reader may
	// still read; 0 is 15 s.
	AskEvery time.Duration
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
	public     *url.URL            // nil for none
	own        map[string]selfFile // by path
	origins    *http.CrossOriginProtection
	attempts   signin.Limit
	intakes    chan struct{} // has room for each intake that may go on
	live       *live
	compared   *comparisons
	vitals     *vitals
	background sync.WaitGroup
	stop       context.CancelFunc
	ended      context.Context // after stop
	tools      *http.ServeMux  // of /mcp
	apiDoc     []byte          // of /openapi.json
}

// New checks the configuration and the templates. The error says what is wrong
// with the configuration.
func New(c Config) (*Server, error) {
	if c.Store == nil {
		return nil, errors.New("dashboard: no store")
	}
	c.Store = plainReader{c.Store}
	if c.Write != nil {
		c.Write = plainWriter{c.Write}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.AskEvery <= 0 {
		c.AskEvery = 15 * time.Second
	}
	if c.LiveEvery <= 0 {
		c.LiveEvery = 2 * time.Second
	}
	if c.PageTimeout <= 0 {
		c.PageTimeout = 30 * time.Second
	}
	if c.MaxUpload <= 0 {
		c.MaxUpload = 250_000_000
	}
	if c.MaxLines <= 0 {
		c.MaxLines = 2_000_000
	}
	links, err := newLinks(c.BasePath)
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, links: links, hosts: map[string]bool{}, intakes: make(chan struct{}, mostIntakes)}
	for _, h := range c.Hosts {
		if h = strings.ToLower(strings.TrimSpace(h)); h == "" || strings.ContainsAny(h, "/@ ") {
			return nil, fmt.Errorf("dashboard: %q is no host name; give names such as audit.example.org", h)
		}
		s.hosts[h] = true
	}
	if c.Users != nil && c.Write == nil {
		return nil, errors.New("dashboard: users sign in, but the store cannot be written to")
	}
	if err := s.setPublic(c.PublicURL); err != nil {
		return nil, err
	}
	if s.own, err = selfFiles(s.public, c.MCP != nil); err != nil {
		return nil, err
	}
	if s.assets, err = newAssets(); err != nil {
		return nil, err
	}
	if s.pages, err = parseTemplates(); err != nil {
		return nil, err
	}
	if s.apiDoc, err = describeAPI(links.base, c.Version, c.Users != nil); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.ended, s.tools = stop, ctx, http.NewServeMux()
	if err := s.serveMCP(s.tools); err != nil {
		stop()
		return nil, err
	}
	s.vitals = &vitals{read: c.Store, queue: c.Queue, now: c.Now, patience: 500 * time.Millisecond, ctx: ctx, asking: &s.background}
	s.live = newLive(ctx, s.vitals, c.LiveEvery, c.Log)
	s.compared = newComparisons(ctx, c.Store, &s.background)
	// An error page that fails could not say so: it is tried before it is needed.
	if _, err := s.render("error", s.errorPage(s.request(nil), &HTTPError{Code: 500, Message: "A test."})); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// setPublic takes in the public address: its host is known, and forms may come
// from it.
func (s *Server) setPublic(address string) error {
	s.origins = http.NewCrossOriginProtection()
	if address == "" {
		return nil
	}
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != s.links.base {
		return fmt.Errorf("dashboard: public URL %.200q: give an address such as https://audit.example.org%s, with the base path and nothing behind it", address, s.links.base)
	}
	s.public = u
	s.hosts[strings.ToLower(u.Hostname())] = true
	return s.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host)
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
	page(s, mux, "GET /batches/{batch}/listing", "listing", listingPage)
	page(s, mux, "GET /deliveries", "deliveries", deliveriesPage)
	page(s, mux, "GET /batches/{batch}/results", "results", resultsPage)
	page(s, mux, "GET /runs/{run}", "run", runPage)
	page(s, mux, "GET /sites", "sites", sitesPage)
	page(s, mux, "GET /site", "site", sitePage)
	page(s, mux, "GET /compare", "compare", comparePage)
	page(s, mux, "GET /new", "new", s.newPage)
	page(s, mux, "GET /new/{batch}", "draft", s.draftPage)
	page(s, mux, "GET /schedules", "schedules", schedulesPage)
	page(s, mux, "GET /schedules/{schedule}", "schedule", schedulePage)
	page(s, mux, "GET /webhooks", "webhooks", s.webhooksPage)
	page(s, mux, "GET /settings", "settings", s.settingsPage)
	// Files, downloaded from pages and by scripts.
	s.handle(mux, "GET /batches/{batch}/results.csv", reading, s.export(exportCSV))
	s.handle(mux, "GET /batches/{batch}/results.ndjson", reading, s.export(exportNDJSON))
	s.handle(mux, "GET /runs/{run}/{document}", reading, s.document)
	s.handle(mux, "GET /runs/{run}/"+kitName, reading, s.kit)
	// Live numbers, read by the script of the pages.
	s.handle(mux, "GET /events", reading, s.events)
	// Forms of the pages.
	s.handle(mux, "POST /new", writing, s.newAudit)
	s.handle(mux, "POST /new/{batch}/start", writing, s.startDraft)
	s.handle(mux, "POST /new/{batch}/drop", writing, s.dropDraft)
	s.handle(mux, "POST /batches/{batch}/again", writing, s.auditAgain)
	action(s, mux, "/batches/{batch}/retry", s.retryBatch)
	action(s, mux, "/batches/{batch}/pause", s.steer("The batch is paused: what is under way ends, nothing new is begun.", s.pauseBatch))
	action(s, mux, "/batches/{batch}/resume", s.steer("The batch goes on.", s.resumeBatch))
	action(s, mux, "/batches/{batch}/cancel", s.steer("The batch was cancelled.", s.cancelBatch))
	s.handle(mux, "POST /settings/tokens", writing, s.newToken)
	action(s, mux, "/settings/tokens/{token}/revoke", s.revokeToken)
	s.handle(mux, "POST /schedules", writing, s.newSchedule)
	s.handle(mux, "POST /schedules/{schedule}", writing, s.changeSchedule)
	action(s, mux, "/schedules/{schedule}/pause", s.onSchedule("The schedule rests; what becomes due meanwhile is not made up for.", s.pauseSchedule))
	action(s, mux, "/schedules/{schedule}/resume", s.onSchedule("The schedule goes on.", s.resumeSchedule))
	action(s, mux, "/schedules/{schedule}/run", s.onSchedule("It fires as soon as a scheduler looks, within seconds.", s.fireSchedule))
	action(s, mux, "/schedules/{schedule}/remove", s.onSchedule("The schedule was removed; its batches stay.", s.removeSchedule))
	s.handle(mux, "POST /webhooks", writing, s.newWebhook)
	action(s, mux, "/schedules/{schedule}/webhook/remove", s.removeScheduleWebhook)
	action(s, mux, "/batches/{batch}/webhook/remove", s.removeBatchWebhook)
	s.handle(mux, "POST /share", writing, s.newShare)
	action(s, mux, "/shares/{share}/revoke", s.revokeShare)
	// For all who have a link.
	s.handle(mux, "GET /share/{secret}", open, s.shared)
	s.handle(mux, "GET /share/{secret}/{file}", open, s.sharedFile)
	// For all who come: badges, the sign-in, and our own style sheet, script and icon.
	s.handle(mux, "GET /badge.svg", open, s.serveBadge("image/svg+xml", badgeSVG))
	s.handle(mux, "GET /badge.json", open, s.serveBadge("application/json", badgeJSON))
	openPage(s, mux, "GET /signin", "signin", s.signInPage)
	s.handle(mux, "POST /signin", open, s.signIn)
	s.handle(mux, "POST /signout", open, s.signOut)
	for path, f := range s.own {
		s.handle(mux, "GET "+path, open, s.self(f))
	}
	mux.HandleFunc("GET /static/{hash}/{name}", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.assets.files[r.PathValue("name")]; !ok {
			s.fail(w, r, noPage())
			return
		}
		s.assets.ServeHTTP(w, r)
	})
	// The API, called by programs.
	s.mountAPI(mux)
	// Tools, called by agents.
	if s.c.MCP != nil {
		mux.Handle(mcpPath, s.tools)
	}
	s.handle(mux, "/", reading, func(w http.ResponseWriter, r *http.Request) error {
		if all := methods(mux, r); len(all) > 0 {
			return notAllowed(w, r, all)
		}
		return noPage()
	})
	return s.secure(s.host(s.recovered(s.sameOrigin(s.based(mux)))))
}
