package producer

import (
	"context"
	"errors"
	"time"

	"agentaudit/store"
)

// silence is how long nobody may have given a sign of life before a list is
// taken over: two signs have not come by then.
const silence = 2*store.ReaderBeat + 5*time.Second

// ErrRead says that another process reads a list.
var ErrRead = errors.New("another process is reading the list")

// TakeOver waits until it is sure that nobody reads the list of a batch any
// more, three quarters of a minute at most: then its reading can begin anew. The
// error is [ErrRead] as soon as somebody gives a sign of life, or one of the
// store, or that of an ended ctx. waiting hears once how long it takes.
func TakeOver(ctx context.Context, st interface {
	ReaderSeen(ctx context.Context, id store.BatchID) (time.Time, error)
	Now() time.Time
}, id store.BatchID, waiting func(time.Duration)) error {
	first, err := st.ReaderSeen(ctx, id)
	if err != nil {
		return err
	}
	left := first.Add(silence).Sub(st.Now())
	if left <= 0 {
		return nil
	}
	left = min(left, silence) // whatever the clocks say
	waiting(left)
	end := time.NewTimer(left)
	defer end.Stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for over := false; !over; {
		select {
		case <-end.C:
			over = true
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		seen, err := st.ReaderSeen(ctx, id)
		if err != nil {
			return err
		}
		if seen.After(first) {
			return ErrRead
		}
	}
	return nil
}
