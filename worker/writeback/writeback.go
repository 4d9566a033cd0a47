// Package writeback sends signed messages to receivers that operators name:
// directories hear which of their listings have another outcome than before, one
// message for each listing with its own id ([store.OutcomeChange]); webhooks hear
// of the end of batches, in one digest of what became better and worse
// ([store.BatchEnd]), never one message for each site.
//
// A digest looks like this; lists name the first 20 sites and say how many more
// there are:
//
//	{"event": "batch.finished", "batch": "1hgw3k2xa", "name": "weekly", "state": "finished", "note": "",
//	 "sources": ["listings.csv"], "url": "https://audit.example.org/batches/1hgw3k2xa",
//	 "createdAt": "…", "finishedAt": "…", "entries": 5000, "rejected": 2,
//	 "outcomes": {"successful": 4100, "partial": 300, "failed": 580, "unchecked": 20}, "regressed": true,
//	 "difference": {"compared": 4970,
//	   "fixed": {"count": 3, "sites": [{"target": "https://shop.example/agentic.json", "id": "17", "label": "Shop",
//	     "before": "failed", "outcome": "successful", "reason": "complete", "detail": "…", "checkedAt": "…",
//	     "url": "https://audit.example.org/runs/1hgw3k2xa-12"}, …], "more": 0},
//	   "newFailures": {…}, "stillBroken": {…}, "unsettled": {…},
//	   "firstSeen": 10, "unchecked": 20, "unconfirmed": 1}}
//
// What is to be told, and what came of it, is in the store, so that nothing is
// told twice on purpose and nothing is lost by a kill; a receiver can still get
// a message twice (its answer was lost) and tells by Agentaudit-Delivery. They
// come in no order: of two about one listing, checkedAt says which is the later.
// The messages go to addresses of the operator's own and never to audited sites,
// by [fetch.NewTransport]: public addresses, unless the operator allows others.
package writeback

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agentaudit/fetch"
	"agentaudit/fetch/publicip"
	"agentaudit/store"
)

// The headers of a message.
const (
	// HeaderTimestamp is when it was sent, in Unix seconds.
	HeaderTimestamp = "Agentaudit-Timestamp"
	// HeaderSignature is "v1=" and the signature ([Sign]).
	HeaderSignature = "Agentaudit-Signature"
	// HeaderDelivery is the same for all attempts at one message.
	HeaderDelivery = "Agentaudit-Delivery"
)

// ShortestSecret is the least length of a secret in bytes.
const ShortestSecret = 16

// Delays are the times before the second, third … attempt; their number bounds
// the attempts.
var Delays = []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour}

// What is taken is sent side by side, so that all of it has ended long before
// the lease has, however slow a receiver is. perTake bounds what a receiver gets
// at a time.
const (
	timeout = 15 * time.Second
	lease   = time.Minute
	perTake = 8
)

// Store is what a sender needs of the store; *store.Store is one.
type Store interface {
	AdoptBatches(ctx context.Context, w store.Webhook, since time.Time) (int64, error)
	PlanWebhooks(ctx context.Context) (more bool, err error)
	PlanDeliveries(ctx context.Context) (made int64, more bool, err error)
	TakeDeliveries(ctx context.Context, batches bool, limit int, lease time.Duration, except ...string) ([]store.Delivery, error)
	EndDelivery(ctx context.Context, d store.Delivery, again time.Time) error
}

// Config says what to send with. Store and one secret are required.
type Config struct {
	Store Store
	// Secret signs messages to directories, WebhookSecret those to webhooks;
	// without one of them its messages wait for who has it.
	Secret, WebhookSecret []byte
	// Webhook is for batches that have none of their own, nil for none.
	Webhook *store.Webhook
	// Private lets messages go to addresses that are not public.
	Private bool
	// UserAgent is the User-Agent header.
	UserAgent string
	// Every is how often Run looks for what is due; 0 is five seconds.
	Every time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log hears of messages that could not be delivered; nil is silence.
	Log *slog.Logger
}

// Sender sends messages.
type Sender struct {
	c       Config
	client  *http.Client
	started time.Time
	rests   rests
}

// New makes a sender. The error says what is missing.
func New(c Config) (*Sender, error) {
	if c.Store == nil || len(c.Secret)+len(c.WebhookSecret) == 0 {
		return nil, errors.New("messages need a store and a secret")
	}
	for _, secret := range [][]byte{c.Secret, c.WebhookSecret} {
		if len(secret) > 0 && len(secret) < ShortestSecret {
			return nil, fmt.Errorf("a secret needs at least %d bytes", ShortestSecret)
		}
	}
	if c.Every == 0 {
		c.Every = 5 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Sender{c: c, started: c.Now(), rests: rests{all: map[string]rest{}}, client: &http.Client{
		Timeout:       timeout,
		Transport:     fetch.NewTransport(c.Private),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// CheckURL checks the address of a receiver: https, or http on this machine.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return errors.New("give an absolute URL, as in https://directory.example/hooks/audit")
	case u.User != nil:
		return errors.New("leave user and password out of the URL; messages are signed")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && fetch.IsThisMachine(u.Hostname()):
		return nil
	}
	return errors.New("only https, or http on this machine, is written to")
}

// Sign is the signature of a message: HMAC-SHA-256 over the timestamp, a full
// stop and the body, in lower case hexadecimal.
func Sign(secret []byte, timestamp string, body []byte) string {
	h := hmac.New(sha256.New, secret)
	io.WriteString(h, timestamp+".")
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// Counts say what Once has done.
type Counts struct {
	// Sent, Again and Failed count messages that were delivered, are to be tried
	// again, and are given up.
	Sent, Again, Failed int64
	// Batches is how many of those sent are about batches.
	Batches int64
}

func (c *Counts) add(n Counts) {
	c.Sent += n.Sent
	c.Again += n.Again
	c.Failed += n.Failed
	c.Batches += n.Batches
}

// Once plans what is to be told and makes one attempt at each message that is
// due. The error is one of the store, or that of an ended ctx.
func (s *Sender) Once(ctx context.Context) (c Counts, err error) {
	if err := s.plan(ctx); err != nil {
		return c, err
	}
	var counts [2]Counts
	var errs [2]error
	var wg sync.WaitGroup
	for i, batches := range []bool{true, false} {
		wg.Go(func() { counts[i], errs[i] = s.pass(ctx, batches) })
	}
	wg.Wait()
	for _, n := range counts {
		c.add(n)
	}
	return c, errors.Join(errs[:]...)
}

// plan finds what is to be told, also of batches that name no receiver.
func (s *Sender) plan(ctx context.Context) error {
	if s.c.Webhook != nil {
		if _, err := s.c.Store.AdoptBatches(ctx, *s.c.Webhook, s.started); err != nil {
			return err
		}
	}
	return Plan(ctx, s.c.Store)
}

// Plan finds what is to be told, without telling it. The error is one of the
// store. A batch whose changed outcomes are confirmed is open again after it.
func Plan(ctx context.Context, st Store) error {
	for more := true; more; {
		var err error
		if more, err = st.PlanWebhooks(ctx); err != nil {
			return err
		}
	}
	for more := true; more; {
		var err error
		if _, more, err = st.PlanDeliveries(ctx); err != nil {
			return err
		}
	}
	return nil
}

// secret signs the messages about batches, or those about listings.
func (s *Sender) secret(batches bool) []byte {
	if batches {
		return s.c.WebhookSecret
	}
	return s.c.Secret
}

// deliverAll makes an attempt at each of some messages to one receiver, at the
// same time.
func (s *Sender) deliverAll(ctx context.Context, due []store.Delivery, c *Counts) error {
	counts, errs, answers := make([]Counts, len(due)), make([]error, len(due)), make([]bool, len(due))
	var wg sync.WaitGroup
	for i, d := range due {
		wg.Go(func() { answers[i], errs[i] = s.deliver(ctx, d, &counts[i]) })
	}
	wg.Wait()
	for _, n := range counts {
		c.add(n)
	}
	if ctx.Err() == nil {
		s.rests.note(due[0].Origin(), slices.Contains(answers, true), s.c.Now())
	}
	return errors.Join(errs...)
}

// Run plans and sends until ctx ends. Trouble with the store is logged and tried
// again. Planning, messages about batches and those about listings do not wait
// for each other.
func (s *Sender) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, do := range []func(context.Context) error{
		s.plan,
		func(ctx context.Context) error { _, err := s.pass(ctx, true); return err },
		func(ctx context.Context) error { _, err := s.pass(ctx, false); return err },
	} {
		wg.Go(func() { s.every(ctx, do) })
	}
	wg.Wait()
	return nil
}

// every does something again and again until ctx ends.
func (s *Sender) every(ctx context.Context, do func(context.Context) error) {
	tick := time.NewTicker(s.c.Every)
	defer tick.Stop()
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			s.c.Log.ErrorContext(ctx, "messages could not be sent", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// deliver makes an attempt and keeps what came of it; answered says that the
// receiver gave an answer, whatever it was.
func (s *Sender) deliver(ctx context.Context, d store.Delivery, c *Counts) (answered bool, err error) {
	status, rest, err := s.post(ctx, d)
	if ctx.Err() != nil {
		return false, ctx.Err() // the lease ends, and the attempt is made again
	}
	d.Status, d.Error = status, ""
	var again time.Time
	switch {
	case err == nil && status/100 == 2:
		d.State = store.DeliveryDone
		c.Sent++
		if d.Event != store.EventListing {
			c.Batches++
		}
	case status == http.StatusGone || d.Attempts > len(Delays):
		d.State, d.Error = store.DeliveryFailed, trouble(status, err)
		c.Failed++
		s.c.Log.WarnContext(ctx, "a message could not be delivered", "delivery", d.ID, "event", d.Event, "batch", d.Batch, "listing", d.Ref, "status", status, "attempts", d.Attempts, "err", err)
	default:
		d.State, d.Error = store.DeliveryDue, trouble(status, err)
		again = s.c.Now().Add(max(Delays[d.Attempts-1], rest))
		c.Again++
	}
	if err := s.c.Store.EndDelivery(ctx, d, again); err != nil && !errors.Is(err, store.ErrStale) {
		return status != 0, err
	}
	return status != 0, nil
}

// longestRest bounds what a receiver asks for with Retry-After.
const longestRest = 24 * time.Hour

// post sends a message. The URL and the secret are in no error.
func (s *Sender) post(ctx context.Context, d store.Delivery) (status int, rest time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, strings.NewReader(string(d.Body)))
	if err != nil {
		return 0, 0, errors.New("the address is not usable")
	}
	timestamp := strconv.FormatInt(s.c.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.c.UserAgent)
	req.Header.Set(HeaderTimestamp, timestamp)
	req.Header.Set(HeaderSignature, "v1="+Sign(s.secret(d.Event != store.EventListing), timestamp, d.Body))
	req.Header.Set(HeaderDelivery, strconv.FormatInt(d.ID, 10))
	resp, err := s.client.Do(req)
	if err != nil {
		var u *url.Error
		var n net.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		switch _, private := errors.AsType[*publicip.NotPublicError](err); {
		case private:
			err = fmt.Errorf("%w; --private-receivers allows it", err)
		case errors.As(err, &n) && n.Timeout():
			err = errors.New("no answer in time")
		}
		return 0, 0, err
	}
	// The answer says nothing but its status; a little is read so that the
	// connection can be used again.
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
	if seconds, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 64); err == nil && seconds > 0 {
		rest = min(time.Duration(min(seconds, 1<<31))*time.Second, longestRest)
	}
	return resp.StatusCode, rest, nil
}

func trouble(status int, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("status %d", status)
}
