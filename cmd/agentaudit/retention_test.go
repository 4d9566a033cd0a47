package main

import (
	"testing"
	"time"

	"agentaudit/store"
)

func TestParseKeep(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]store.Retention{
		"30d,2": {Age: 30 * day, Last: 2}, "30d": {Age: 30 * day, Last: 2}, "12w, 5": {Age: 84 * day, Last: 5}, "1d,1": {Age: day, Last: 1}, "forever": {},
	} {
		if got, err := parseKeep(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "30", "d", "0d", "-1d", "30d,0", "30d,", "30d,x", "1y", "forever,2", "99999999d", "30h"} {
		if got, err := parseKeep(text); err == nil {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
	if got := keepWords(store.Retention{Age: 30 * day, Last: 2}); got != "for 30 days, and those of the last 2 results of each site for ever" {
		t.Error(got)
	}
}
