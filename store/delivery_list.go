package store

import (
	"context"
	"strconv"
	"strings"
)

// DeliveryFilter picks deliveries. Empty fields do not filter.
type DeliveryFilter struct {
	State DeliveryState
	Batch BatchID
	// Event is what they are about ([EventListing] and so on).
	Event string
}

// FindDeliveries lists up to limit deliveries that pass a filter, newest first,
// older than before (0 = from the newest).
func (s *Store) FindDeliveries(ctx context.Context, f DeliveryFilter, before int64, limit int) ([]Delivery, error) {
	var where []string
	var args []any
	and := func(cond string, v any) {
		args = append(args, v)
		where = append(where, cond+" $"+strconv.Itoa(len(args)))
	}
	if before == 0 {
		before = 1 << 62
	}
	and("id <", before)
	if f.Batch != "" {
		batch, err := f.Batch.number()
		if err != nil {
			return nil, err
		}
		and("batch =", batch)
	}
	if f.State != "" {
		and("state =", string(f.State))
	}
	if f.Event != "" {
		and("event =", f.Event)
	}
	return collect(ctx, s.read, `SELECT `+deliveryColumns+` FROM deliveries WHERE `+strings.Join(where, " AND ")+` ORDER BY id DESC LIMIT $`+strconv.Itoa(len(args)+1),
		append(args, limit), scanDelivery)
}
