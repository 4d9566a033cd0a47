package producer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/store"
	"agentaudit/worker/producer"
)

// reader gives signs of life until it ends.
type reader struct{ begun, ends time.Time }

func (reader) Now() time.Time { return time.Now() }

func (r reader) ReaderSeen(context.Context, store.BatchID) (time.Time, error) {
	at := time.Now()
	if at.After(r.ends) {
		at = r.ends
	}
	return r.begun.Add(at.Sub(r.begun).Truncate(store.ReaderBeat)), nil
}

func TestTakeOver(t *testing.T) {
	for _, c := range []struct {
		about       string
		ended       time.Duration // before now; less than nothing for not yet
		want        error
		least, most time.Duration
	}{
		{"long gone", time.Hour, nil, 0, 0},
		{"killed a moment ago", 0, nil, 20 * time.Second, 45 * time.Second},
		{"killed some time ago", 20 * time.Second, nil, time.Second, 19 * time.Second},
		{"alive", -time.Hour, producer.ErrRead, 0, 21 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := reader{time.Now().Add(-2*time.Hour - 7*time.Second), time.Now().Add(-c.ended)}
			begin := time.Now()
			var told time.Duration
			err := producer.TakeOver(t.Context(), r, "x", func(d time.Duration) { told = d })
			took := time.Since(begin)
			if !errors.Is(err, c.want) || took < c.least || took > c.most || took > told {
				t.Errorf("%s: %v after %v, told %v", c.about, err, took, told)
			}
		})
	}
}
