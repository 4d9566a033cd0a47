package mcp

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// Caller is who asks over HTTP.
type Caller struct {
	// ID is that of the token, which tells callers apart, "" for the user of a
	// machine without sign-in.
	ID string
	// Address is where the request comes from.
	Address string
	// Write says that the caller may submit batches.
	Write bool
}

// key is what the rates of a caller are kept under.
func (c Caller) key() string {
	if c.ID != "" {
		return "token " + c.ID
	}
	return "address " + c.Address
}

// Rates are how many calls one caller may make. They fill up evenly; a minute's
// worth can be used at once.
type Rates struct {
	// Requests counts all HTTP requests in a minute, 0 means 240.
	Requests int
	// Visits counts calls of tools that visit a site or submit a batch in a
	// minute, 0 means 12.
	Visits int
}

// maxBody bounds one HTTP request: the largest list, with every character
// escaped, and some room.
const maxBody = 8 << 20

// sessionLength is how long a session without requests lives.
const sessionLength = 30 * time.Minute

// Handler serves the tools over streamable HTTP. who says who asks; it is told
// of requests that were admitted already, and is asked once for each. A session
// belongs to the token that began it. Requests beyond the rates get status 429
// with Retry-After. The error says what is missing in the configuration.
func Handler(c Config, r Rates, who func(*http.Request) Caller) (http.Handler, error) {
	t, err := newTools(c)
	if err != nil {
		return nil, err
	}
	if r.Requests == 0 {
		r.Requests = 240
	}
	if r.Visits == 0 {
		r.Visits = 12
	}
	requests, visits := newLimits(r.Requests, t.Now), newLimits(r.Visits, t.Now)
	reads, writes := t.server(false), t.server(true)
	for _, s := range []*sdk.Server{reads, writes} {
		s.AddReceivingMiddleware(visits.limitCalls)
	}
	sessions := sdk.NewStreamableHTTPHandler(func(req *http.Request) *sdk.Server {
		if callerOf(req.Context()).Write {
			return writes
		}
		return reads
	}, &sdk.StreamableHTTPOptions{
		Logger: sdkLog(t.Log), SessionTimeout: sessionLength, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// The dashboard has its own list of hosts.
		DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		caller := who(req)
		if wait := requests.wait(caller.key()); wait > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(math.Ceil(wait.Seconds()))))
			http.Error(w, "Too many requests; go on after the time that Retry-After gives.", http.StatusTooManyRequests)
			return
		}
		req = req.WithContext(context.WithValue(req.Context(), callerKey{}, caller))
		if caller.ID == "" {
			sessions.ServeHTTP(w, req)
			return
		}
		// The SDK binds sessions to the user of a token that it knows of.
		known := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
			return &auth.TokenInfo{UserID: caller.ID, Expiration: time.Now().Add(time.Hour)}, nil
		}
		auth.RequireBearerToken(known, nil)(sessions).ServeHTTP(w, req)
	}), nil
}

type callerKey struct{}

func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// maxCallers is how many callers' rates are remembered; beyond that those who
// have all their calls left are forgotten.
const maxCallers = 10_000

// limits are the rates of callers.
type limits struct {
	perMinute int
	now       func() time.Time
	mu        sync.Mutex
	by        map[string]*rate.Limiter
}

func newLimits(perMinute int, now func() time.Time) *limits {
	return &limits{perMinute: perMinute, now: now, by: map[string]*rate.Limiter{}}
}

// wait counts a call, and says how long the caller has to wait; 0 lets it
// through. A call that has to wait does not count.
func (l *limits) wait(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	limiter := l.by[key]
	if limiter == nil {
		if len(l.by) >= maxCallers {
			l.forget(now)
		}
		limiter = rate.NewLimiter(rate.Every(time.Minute/time.Duration(l.perMinute)), l.perMinute)
		l.by[key] = limiter
	}
	r := limiter.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

func (l *limits) forget(now time.Time) {
	for key, limiter := range l.by {
		if limiter.TokensAt(now) >= float64(l.perMinute) {
			delete(l.by, key)
		}
	}
}

// visiting are the tools that cause visits of sites.
var visiting = map[string]bool{"discover_agentic_site": true, "audit_agentic_url": true, "audit_agents_txt": true, "submit_batch": true}

// limitCalls makes a tool error of a visit beyond the rate: agents read these,
// and seldom HTTP statuses.
func (l *limits) limitCalls(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		call, ok := req.(*sdk.CallToolRequest)
		if !ok || !visiting[call.Params.Name] {
			return next(ctx, method, req)
		}
		if wait := l.wait(callerOf(ctx).key()); wait > 0 {
			res := &sdk.CallToolResult{}
			res.SetError(fmt.Errorf("too many visits of sites: %d in a minute are allowed. Wait %d seconds, or submit many sites as one batch", l.perMinute, int(math.Ceil(wait.Seconds()))))
			return res, nil
		}
		return next(ctx, method, req)
	}
}
