package dashboard

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"agentaudit/store"
)

// DeliveriesPage is the log of messages to directories and webhooks, the newest
// first.
type DeliveriesPage struct {
	Frame
	Filter     store.DeliveryFilter
	States     []Option
	Events     []Option
	Deliveries []DeliveryLine
	Chips      []Chip
	// Later says that it is not the first page, Next is the last message of a
	// page that is not the last.
	Later bool
	Next  int64
}

// DeliveryLine is one message. Change is what it says of a listing, empty in
// messages of another kind; Raw is all of it.
type DeliveryLine struct {
	store.Delivery
	Change store.OutcomeChange
	// End is what it says of the end of a batch, nil in messages of another kind.
	End *store.BatchEnd
	Raw string
}

const deliveriesPerPage = 50

var deliveryStates = []store.DeliveryState{store.DeliveryDue, store.DeliveryDone, store.DeliveryFailed}

// deliveryWords say what the state of a delivery means.
var deliveryWords = map[store.DeliveryState]string{store.DeliveryDue: "to be sent", store.DeliveryDone: "taken by the receiver", store.DeliveryFailed: "given up"}

// deliveryEvents are what messages can be about, and eventWords say it.
var (
	deliveryEvents = []string{store.EventListing, store.EventFinished, store.EventRegressed}
	eventWords     = map[string]string{store.EventListing: "an outcome changed", store.EventFinished: "a batch ended", store.EventRegressed: "sites became worse"}
)

func readDeliveryFilter(q url.Values) (f store.DeliveryFilter, err error) {
	f.State = store.DeliveryState(q.Get("state"))
	if f.State != "" && !slices.Contains(deliveryStates, f.State) {
		return f, blame("state", unknown("state", string(f.State), deliveryStates))
	}
	if f.Event = q.Get("event"); f.Event != "" && !slices.Contains(deliveryEvents, f.Event) {
		return f, blame("event", unknown("event", f.Event, deliveryEvents))
	}
	if raw := q.Get("batch"); raw != "" {
		if f.Batch, err = store.ParseBatchID(raw); err != nil {
			return f, blame("batch", badRequest("The parameter batch is no batch: %s", sentence(err.Error())))
		}
	}
	return f, nil
}

func deliveriesPage(ctx context.Context, r *Request, read Reader) (*DeliveriesPage, error) {
	if err := r.Only("state", "event", "batch", "before"); err != nil {
		return nil, err
	}
	f, err := readDeliveryFilter(r.Query)
	if err != nil {
		return nil, err
	}
	p := &DeliveriesPage{Frame: Frame{Title: "Messages", Section: "batches"}, Filter: f}
	for _, st := range deliveryStates {
		p.States = append(p.States, Option{Value: string(st), Words: deliveryWords[st], Selected: f.State == st})
	}
	for _, event := range deliveryEvents {
		p.Events = append(p.Events, Option{Value: event, Words: eventWords[event], Selected: f.Event == event})
	}
	for _, c := range []struct {
		name, value string
		drop        func(*store.DeliveryFilter)
	}{{"State", string(f.State), func(f *store.DeliveryFilter) { f.State = "" }}, {"About", eventWords[f.Event], func(f *store.DeliveryFilter) { f.Event = "" }}, {"Batch", string(f.Batch), func(f *store.DeliveryFilter) { f.Batch = "" }}} {
		if c.value != "" {
			rest := f
			c.drop(&rest)
			p.Chips = append(p.Chips, Chip{c.name, c.value, r.Links.Deliveries(rest, 0)})
		}
	}
	var before int64
	if raw := r.Query.Get("before"); raw != "" {
		if before, err = strconv.ParseInt(raw, 10, 64); err != nil || before <= 0 {
			return nil, badRequest("The parameter before is no message: %.40q.", raw)
		}
		p.Later = true
	}
	list, err := read.FindDeliveries(ctx, f, before, deliveriesPerPage+1)
	if err != nil {
		return nil, err
	}
	if len(list) > deliveriesPerPage {
		list = list[:deliveriesPerPage]
		p.Next = list[deliveriesPerPage-1].ID
	}
	for _, d := range list {
		p.Deliveries = append(p.Deliveries, newDeliveryLine(d))
	}
	return p, nil
}

func newDeliveryLine(d store.Delivery) DeliveryLine {
	l := DeliveryLine{Delivery: d, Raw: string(d.Body)}
	// A message that is not as expected shows as it is.
	if d.Event == store.EventListing {
		_ = json.Unmarshal(d.Body, &l.Change)
		return l
	}
	var end store.BatchEnd
	if err := json.Unmarshal(d.Body, &end); err == nil {
		l.End = &end
	}
	return l
}

// Retried says that another attempt follows one that came to nothing.
func (l DeliveryLine) Retried() bool { return l.State == store.DeliveryDue && l.Attempts > 0 }

// Kind is what a message is about, in words.
func (l DeliveryLine) Kind() string {
	if words := eventWords[l.Event]; words != "" {
		return words
	}
	return "a message"
}
