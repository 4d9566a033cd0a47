package dashboard

import (
	"context"

	"agentaudit/store"
	"agentaudit/worker/producer"
)

// plain leaves secrets out of what the dashboard shows. Everything that pages,
// the API and their files tell is read through it, so that none of them can
// forget to.
var plain producer.Plain

// plainReader reads nothing that may not be shown.
type plainReader struct{ Reader }

func (r plainReader) Batch(ctx context.Context, id store.BatchID) (*store.Batch, error) {
	return plainBatch(r.Reader.Batch(ctx, id))
}

func (r plainReader) Batches(ctx context.Context, before store.BatchID, limit int) ([]store.Batch, error) {
	list, err := r.Reader.Batches(ctx, before, limit)
	plain.Batches(list)
	return list, err
}

func (r plainReader) OpenBatches(ctx context.Context, limit int) ([]store.Batch, error) {
	list, err := r.Reader.OpenBatches(ctx, limit)
	plain.Batches(list)
	return list, err
}

func (r plainReader) Schedules(ctx context.Context) ([]store.Schedule, error) {
	list, err := r.Reader.Schedules(ctx)
	plain.Schedules(list)
	return list, err
}

func (r plainReader) Schedule(ctx context.Context, id store.ScheduleID) (*store.Schedule, error) {
	return plainSchedule(r.Reader.Schedule(ctx, id))
}

func (r plainReader) FindDeliveries(ctx context.Context, f store.DeliveryFilter, before int64, limit int) ([]store.Delivery, error) {
	list, err := r.Reader.FindDeliveries(ctx, f, before, limit)
	for i := range list {
		list[i] = list[i].Plain()
	}
	return list, err
}

func (r plainReader) Webhooks(ctx context.Context, before store.BatchID, limit int) ([]store.BatchWebhook, error) {
	list, err := r.Reader.Webhooks(ctx, before, limit)
	for i := range list {
		list[i].Webhook.URL = store.PlainReceiver(list[i].Webhook.URL)
	}
	return list, err
}

// plainWriter gives nothing back that may not be shown.
type plainWriter struct{ Writer }

func (w plainWriter) CreateBatch(ctx context.Context, b store.NewBatch) (*store.Batch, error) {
	return plainBatch(w.Writer.CreateBatch(ctx, b))
}

func (w plainWriter) SealBatch(ctx context.Context, id store.BatchID) (*store.Batch, error) {
	return plainBatch(w.Writer.SealBatch(ctx, id))
}

func (w plainWriter) SealHeld(ctx context.Context, id store.BatchID) (*store.Batch, error) {
	return plainBatch(w.Writer.SealHeld(ctx, id))
}

func (w plainWriter) AddSchedule(ctx context.Context, v store.Schedule) (*store.Schedule, error) {
	return plainSchedule(w.Writer.AddSchedule(ctx, v))
}

func plainBatch(b *store.Batch, err error) (*store.Batch, error) {
	if b != nil {
		plain.Batch(b)
	}
	return b, err
}

func plainSchedule(v *store.Schedule, err error) (*store.Schedule, error) {
	if v != nil {
		plain.Schedule(v)
	}
	return v, err
}
