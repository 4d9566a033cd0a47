package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"agentaudit/store"
	"agentaudit/worker/producer"
)

// apiWebhook is the webhook of a schedule or of a batch. Its URL is in no answer.
type apiWebhook struct {
	// One of Schedule and Batch is "".
	Schedule store.ScheduleID `json:"schedule"`
	Batch    store.BatchID    `json:"batch"`
	Name     string           `json:"name"`
	// Receiver is the address without what may be secret in it.
	Receiver  string `json:"receiver"`
	On        string `json:"on"`
	Threshold string `json:"threshold"`
	// SettleSeconds is 0 and ConfirmSeconds -1 for not at all.
	SettleSeconds  float64 `json:"settleSeconds"`
	ConfirmSeconds float64 `json:"confirmSeconds"`
	// State is that of a batch, or confirming; "" for schedules.
	State string `json:"state"`
}

func apiWebhookOf(l WebhookLine) apiWebhook {
	if l.ConfirmAfter < 0 {
		l.ConfirmAfter = -time.Second
	}
	return apiWebhook{l.Schedule, l.Batch, l.Name, l.Receiver, l.On, l.Threshold, l.Settle.Seconds(), l.ConfirmAfter.Seconds(), l.State}
}

func apiListWebhooks(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	before, n, err := r.batchPage()
	if err != nil {
		return nil, err
	}
	lines, next, err := webhookLines(ctx, s.c.Store, before, n)
	if err != nil {
		return nil, err
	}
	items := make([]apiWebhook, len(lines))
	for i, l := range lines {
		items[i] = apiWebhookOf(l)
	}
	return pageOf(items, string(next)), nil
}

// newWebhook reads the body of a call that gives a webhook.
func (r *apiRequest) newWebhook(s *Server) (*store.Webhook, error) {
	var in struct {
		URL            string `json:"url"`
		On             string `json:"on"`
		Threshold      string `json:"threshold"`
		SettleHours    *int   `json:"settleHours"`
		ConfirmMinutes *int   `json:"confirmMinutes"`
	}
	if err := r.body(&in); err != nil {
		return nil, err
	}
	form := url.Values{"url": {in.URL}, "on": {in.On}, "threshold": {in.Threshold}}
	for name, n := range map[string]*int{"settle": in.SettleHours, "confirm": in.ConfirmMinutes} {
		if n != nil {
			form.Set(name, strconv.Itoa(*n))
		}
	}
	return s.newWebhookOf(form)
}

func apiSetScheduleWebhook(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	w, err := r.newWebhook(s)
	if err != nil {
		return nil, err
	}
	v, err := s.setScheduleWebhook(ctx, store.ScheduleID(r.Path("schedule")), w)
	if err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "webhook set", "schedule", v.ID, "user", r.Who.CreatedBy())
	l := newWebhookLine(w)
	l.Schedule, l.Name = v.ID, v.Name
	return apiWebhookOf(l), nil
}

func apiRemoveScheduleWebhook(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	_, err := s.removeScheduleWebhook(ctx, r.Request, nil)
	return nil, err
}

func apiSetBatchWebhook(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	w, err := r.newWebhook(s)
	if err != nil {
		return nil, err
	}
	id := store.BatchID(r.Path("batch"))
	if err := s.c.Write.SetBatchWebhook(ctx, id, w); err != nil {
		return nil, err
	}
	s.c.Log.InfoContext(ctx, "webhook set", "batch", id, "user", r.Who.CreatedBy())
	b, err := s.c.Store.Batch(ctx, id)
	if err != nil {
		return nil, err
	}
	l := newWebhookLine(w)
	l.Batch, l.Name, l.State = id, b.Name, string(b.State)
	return apiWebhookOf(l), nil
}

func apiRemoveBatchWebhook(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	_, err := s.removeBatchWebhook(ctx, r.Request, nil)
	return nil, err
}

// backOf reports whether options say that outcomes are written back.
func backOf(options json.RawMessage) bool {
	var o producer.Options
	return json.Unmarshal(options, &o) == nil && o.List.WriteBack != ""
}

// webhookFields are the members of a body that are called otherwise in forms.
var webhookFields = map[string]string{"settle": "settleHours", "confirm": "confirmMinutes"}

// webhookEndpoints are the operations on webhooks.
var webhookEndpoints = []endpoint{
	{method: "GET", path: "/webhooks", need: reading, summary: "The webhooks of schedules, and of batches whose end is not told yet", query: []string{"after", "limit"}, status: 200, answer: "WebhookPage", do: apiListWebhooks},
	{method: "POST", path: "/schedules/{schedule}/webhook", need: writing, summary: "Tell a webhook of the ends of the batches that a schedule makes from now on", body: "NewWebhook", fields: webhookFields, status: 200, answer: "Webhook", do: apiSetScheduleWebhook},
	{method: "DELETE", path: "/schedules/{schedule}/webhook", need: writing, summary: "Take the webhook of a schedule away", status: http.StatusNoContent, do: apiRemoveScheduleWebhook},
	{method: "POST", path: "/batches/{batch}/webhook", need: writing, summary: "Tell a webhook of the end of a batch that is open: a draft has one before it is started", body: "NewWebhook", fields: webhookFields, status: 200, answer: "Webhook", do: apiSetBatchWebhook},
	{method: "DELETE", path: "/batches/{batch}/webhook", need: writing, summary: "Take the webhook of a batch that is open away", status: http.StatusNoContent, do: apiRemoveBatchWebhook},
}
