package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentaudit/fetch"
	"agentaudit/store"
	"agentaudit/worker/writeback"
)

// Messages is what the process of the dashboard itself sends to webhooks.
type Messages struct {
	// Signs says that it has the secret that signs them, and sends what is due.
	Signs bool
	// Default is the webhook of all batches without one, nil for none.
	Default *store.Webhook
}

// WebhooksPage lists the webhooks of schedules and of batches that have not been
// told yet, and gives others theirs.
type WebhooksPage struct {
	Frame
	Hooks []WebhookLine
	// Messages are those of this process, Default what it tells of all batches.
	Messages Messages
	Default  *WebhookLine
	// Schedules and Batches can be given a webhook.
	Schedules []store.Schedule
	Batches   []store.Batch
	// Later says that it is not the first page, Next is the last batch of a page
	// that is not the last.
	Later bool
	Next  store.BatchID
	// Form is what the fields hold at first.
	Form url.Values
}

// WebhookLine is the webhook of a schedule or of a batch.
type WebhookLine struct {
	Schedule store.ScheduleID
	Batch    store.BatchID
	// Name is that of the schedule or the batch, Receiver where messages go
	// without what may be secret in it.
	Name     string
	Receiver string
	// On and Threshold are as a form takes them.
	On, Threshold        string
	Settle, ConfirmAfter time.Duration
	// State is how far a batch is, "" for schedules.
	State string
}

const webhooksPerPage = 50

func newWebhookLine(w *store.Webhook) WebhookLine {
	return WebhookLine{Receiver: store.PlainReceiver(w.URL), On: writeback.On(w), Threshold: writeback.Threshold(w), Settle: w.Settle, ConfirmAfter: w.ConfirmAfter}
}

// Tells says in words what is told.
func (l WebhookLine) Tells() string {
	regressed := "when " + thresholdWords(l.Threshold) + " became worse"
	switch l.On {
	case "regressed":
		return regressed
	case "finished":
		return "every end"
	}
	return "every end, and " + regressed
}

// thresholdWords says "5,2%" in words.
func thresholdWords(threshold string) string {
	sites, percent, err := writeback.ParseThreshold(threshold)
	switch {
	case err != nil || percent == 0:
		return plural(max(sites, 1), "site", "sites")
	case sites == 0:
		return strconv.FormatFloat(percent, 'f', -1, 64) + " % of the sites"
	}
	return plural(sites, "site", "sites") + " or " + strconv.FormatFloat(percent, 'f', -1, 64) + " %"
}

// Waits says in words how changes are made sure of.
func (l WebhookLine) Waits() string {
	confirm := "told as found"
	if l.ConfirmAfter >= 0 {
		confirm = "audited again after " + span(l.ConfirmAfter)
	}
	if l.Settle <= 0 {
		return confirm
	}
	return confirm + ", held back until settled for " + span(l.Settle)
}

// webhookLines are those of schedules (on the first page) and of batches.
func webhookLines(ctx context.Context, read Reader, before store.BatchID, limit int) (lines []WebhookLine, next store.BatchID, err error) {
	if before == "" {
		list, err := read.Schedules(ctx)
		if err != nil {
			return nil, "", err
		}
		for _, v := range list {
			if v.Webhook != nil && v.Webhook.URL != "" {
				l := newWebhookLine(v.Webhook)
				l.Schedule, l.Name = v.ID, v.Name
				lines = append(lines, l)
			}
		}
	}
	list, err := read.Webhooks(ctx, before, limit+1)
	if err != nil {
		return nil, "", err
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Batch
	}
	for i := range list {
		l := newWebhookLine(&list[i].Webhook)
		l.Batch, l.Name, l.State = list[i].Batch, list[i].Name, string(list[i].State)
		if list[i].Confirming {
			l.State = "confirming"
		}
		lines = append(lines, l)
	}
	return lines, next, nil
}

func (s *Server) webhooksPage(ctx context.Context, r *Request, read Reader) (*WebhooksPage, error) {
	if err := r.Only("before", "schedule", "batch"); err != nil {
		return nil, err
	}
	p := &WebhooksPage{Frame: Frame{Title: "Webhooks", Section: "batches"}, Messages: s.c.Messages, Form: url.Values{
		"for": {r.Query.Get("schedule")}, "on": {writeback.DefaultOn}, "threshold": {writeback.DefaultThreshold},
		"settle": {hours(writeback.DefaultSettle)}, "confirm": {minutes(writeback.DefaultConfirm)}}}
	if b := r.Query.Get("batch"); b != "" {
		p.Form.Set("for", forBatch+b)
	} else if v := r.Query.Get("schedule"); v != "" {
		p.Form.Set("for", forSchedule+v)
	}
	var before store.BatchID
	if raw := r.Query.Get("before"); raw != "" {
		var err error
		if before, err = store.ParseBatchID(raw); err != nil {
			return nil, badRequest("The parameter before is no batch: %s", sentence(err.Error()))
		}
		p.Later = true
	}
	if w := s.c.Messages.Default; w != nil {
		l := newWebhookLine(w)
		p.Default = &l
	}
	var err error
	if p.Hooks, p.Next, err = webhookLines(ctx, read, before, webhooksPerPage); err != nil {
		return nil, err
	}
	if p.Schedules, err = read.Schedules(ctx); err != nil {
		return nil, err
	}
	if p.Batches, err = read.OpenBatches(ctx, 100); err != nil {
		return nil, err
	}
	// One that was asked for is a choice, however many are newer.
	asked := store.BatchID(r.Query.Get("batch"))
	if asked == "" || slices.ContainsFunc(p.Batches, func(b store.Batch) bool { return b.ID == asked }) {
		return p, nil
	}
	b, err := read.Batch(ctx, asked)
	if err != nil {
		return nil, err
	}
	p.Batches = append(p.Batches, *b)
	return p, nil
}

// What the field "for" of the form begins with.
const (
	forSchedule = "schedule "
	forBatch    = "batch "
)

// Value is what a field of the form holds at first; For says which choice is
// made.
func (p *WebhooksPage) Value(name string) string { return p.Form.Get(name) }

// ForSchedule and ForBatch are the values of the choices of the form.
func (p *WebhooksPage) ForSchedule(id store.ScheduleID) string { return forSchedule + string(id) }
func (p *WebhooksPage) ForBatch(id store.BatchID) string       { return forBatch + string(id) }

// Events are what a webhook can be told of.
func (p *WebhooksPage) Events() []Option {
	var all []Option
	for _, o := range [][2]string{{"finished", "the end of each batch"}, {"regressed", "only batches in which sites became worse"}, {"finished,regressed", "both, as two messages"}} {
		all = append(all, Option{Value: o[0], Words: o[1], Selected: p.Form.Get("on") == o[0]})
	}
	return all
}

func hours(d time.Duration) string   { return strconv.FormatInt(int64(d/time.Hour), 10) }
func minutes(d time.Duration) string { return strconv.FormatInt(int64(d/time.Minute), 10) }

// newWebhookOf reads what a form or a program says of a webhook: fields url, on,
// threshold, settle (hours) and confirm (minutes, -1 for not at all). It is
// checked as the flags of commands are.
func (s *Server) newWebhookOf(form url.Values) (*store.Webhook, error) {
	rules := writeback.Rules{URL: field(form, "url"), On: field(form, "on"), Threshold: field(form, "threshold"), Settle: writeback.DefaultSettle, ConfirmAfter: writeback.DefaultConfirm}
	if rules.On == "" {
		rules.On = writeback.DefaultOn
	}
	if rules.Threshold == "" {
		rules.Threshold = writeback.DefaultThreshold
	}
	if s.public != nil {
		rules.Links = s.public.String()
	}
	for _, f := range []struct {
		name, words string
		least       int
		unit        time.Duration
		to          *time.Duration
	}{{"settle", "hours in which a change has to settle", 0, time.Hour, &rules.Settle}, {"confirm", "minutes after which changes are audited again", -1, time.Minute, &rules.ConfirmAfter}} {
		raw := field(form, f.name)
		if raw == "" {
			continue
		}
		n, err := strconv.Atoi(raw)
		if err != nil || n < f.least || n > 10_000 {
			return nil, blame(f.name, badRequest("The %s are a whole number from %d to 10,000, not %.40q.", f.words, f.least, raw))
		}
		*f.to = time.Duration(n) * f.unit
	}
	w, err := rules.Webhook()
	if bad, ok := errors.AsType[*writeback.RuleError](err); ok {
		return nil, blame(bad.Rule, &HTTPError{Code: http.StatusBadRequest, Message: sentence(bad.Error())})
	}
	if err != nil {
		return nil, err
	}
	// Commands are for whoever is on this machine; those who sign in from
	// elsewhere must not reach its services through it.
	if u, err := url.Parse(w.URL); err == nil && s.c.Users != nil && fetch.IsThisMachine(u.Hostname()) {
		return nil, blame("url", &HTTPError{Code: http.StatusBadRequest, Message: "An address of the machine of this dashboard is not written to from here.", Advice: "Give it to agentaudit run, enqueue or schedule add with --webhook."})
	}
	return w, nil
}

// setScheduleWebhook gives a schedule a webhook, nil for none; changes of
// outcomes that are written back are confirmed all the same.
func (s *Server) setScheduleWebhook(ctx context.Context, id store.ScheduleID, w *store.Webhook) (*store.Schedule, error) {
	v, err := s.c.Store.Schedule(ctx, id)
	if err != nil {
		return nil, err
	}
	if w == nil {
		if v.Webhook == nil || v.Webhook.URL == "" {
			return nil, notFound("This schedule has no webhook.", nil)
		}
		if backOf(v.Options) {
			w = &store.Webhook{ConfirmAfter: v.Webhook.ConfirmAfter}
		}
	}
	return v, s.c.Write.SetScheduleWebhook(ctx, id, w)
}

// newWebhook takes the form of the page.
func (s *Server) newWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.c.PageTimeout)
	defer cancel()
	q := s.request(r)
	of, err := s.giveWebhook(ctx, r.PostForm)
	if err != nil {
		p, pageErr := s.webhooksPage(ctx, &Request{Links: q.Links, Now: q.Now}, s.c.Store)
		if pageErr != nil {
			return pageErr
		}
		p.Form = r.PostForm
		return s.again(w, q, err, "webhooks", p, "w-")
	}
	s.c.Log.InfoContext(ctx, "webhook set", "of", of, "user", q.Who.CreatedBy())
	notice := "The webhook was kept: it hears of the end of " + of + "."
	if !s.c.Messages.Signs {
		notice += " Messages wait for a process that has the secret to sign them."
	}
	s.goOn(w, r, Done{s.links.Webhooks(""), notice})
	return nil
}

// giveWebhook gives what the field "for" names a webhook, and says what that is.
func (s *Server) giveWebhook(ctx context.Context, form url.Values) (of string, err error) {
	whose := field(form, "for")
	schedule, isSchedule := strings.CutPrefix(whose, forSchedule)
	batch, isBatch := strings.CutPrefix(whose, forBatch)
	if !isSchedule && !isBatch {
		return "", blame("for", badRequest("Choose the schedule or the batch whose ends are to be told."))
	}
	hook, err := s.newWebhookOf(form)
	if err != nil {
		return "", err
	}
	if isSchedule {
		v, err := s.setScheduleWebhook(ctx, store.ScheduleID(schedule), hook)
		if err != nil {
			return "", blame("for", err)
		}
		return fmt.Sprintf("batches of the schedule %s", v.Name), nil
	}
	if err := s.c.Write.SetBatchWebhook(ctx, store.BatchID(batch), hook); err != nil {
		return "", blame("for", err)
	}
	return "batch " + batch, nil
}

func (s *Server) removeScheduleWebhook(ctx context.Context, r *Request, _ url.Values) (Done, error) {
	id := store.ScheduleID(r.Path("schedule"))
	if _, err := s.setScheduleWebhook(ctx, id, nil); err != nil {
		return Done{}, err
	}
	s.c.Log.InfoContext(ctx, "webhook removed", "schedule", id, "user", r.Who.CreatedBy())
	return Done{s.links.Webhooks(""), "The schedule has no webhook any more; batches that it has made already keep theirs."}, nil
}

func (s *Server) removeBatchWebhook(ctx context.Context, r *Request, _ url.Values) (Done, error) {
	id := store.BatchID(r.Path("batch"))
	if err := s.c.Write.SetBatchWebhook(ctx, id, nil); err != nil {
		return Done{}, err
	}
	s.c.Log.InfoContext(ctx, "webhook removed", "batch", id, "user", r.Who.CreatedBy())
	notice := "The batch has no webhook any more."
	if s.c.Messages.Default != nil {
		notice = "The batch has no webhook of its own any more; it gets the one for all batches."
	}
	return Done{s.links.Webhooks(""), notice}, nil
}
