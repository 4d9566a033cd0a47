package schedule_test

import (
	"errors"
	"testing"
	"time"

	"agentaudit/worker/schedule"
)

func parse(t *testing.T, expression, zone string, jitter time.Duration) *schedule.Spec {
	t.Helper()
	s, err := schedule.Parse(expression, zone, jitter, "key")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		expression, zone, after string
		next                    []string
	}{
		{"30 3 * * 1", "UTC", "2026-11-30T03:30:00Z", []string{"2026-12-07T03:30:00Z", "2026-12-14T03:30:00Z"}},
		{"0 9 * * *", "Asia/Kolkata", "2026-11-30T00:00:00Z", []string{"2026-11-30T03:30:00Z"}},
		{"@weekly", "America/New_York", "2026-11-30T00:00:00Z", []string{"2026-12-06T05:00:00Z"}},
		// Sunday is 0 and 7.
		{"0 6 * * 7", "UTC", "2026-11-30T00:00:00Z", []string{"2026-12-06T06:00:00Z", "2026-12-13T06:00:00Z"}},
		{"0 6 * * 5-7", "UTC", "2026-11-30T00:00:00Z", []string{"2026-12-04T06:00:00Z", "2026-12-05T06:00:00Z", "2026-12-06T06:00:00Z", "2026-12-11T06:00:00Z"}},
		{"0 6 * * 3-7/2,1", "UTC", "2026-11-30T00:00:00Z", []string{"2026-11-30T06:00:00Z", "2026-12-02T06:00:00Z", "2026-12-04T06:00:00Z", "2026-12-06T06:00:00Z"}},
		// Forward on 29 March 2026 at 01:00 UTC: 02:30 is left out and fires at
		// 03:30; the day has its firing, and only one.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", []string{"2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"}},
		// Back on 25 October 2026 at 01:00 UTC: 02:30 comes twice, fires once.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		// Every hour goes by the hours.
		{"0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
		// A zone that moves at midnight has no 00:00 on that day.
		{"0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", []string{"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"}},
	} {
		s := parse(t, c.expression, c.zone, 0)
		after := at(t, c.after)
		for _, want := range c.next {
			next := s.Next(after)
			if !next.Equal(at(t, want)) {
				t.Errorf("%s in %s after %s: %s, want %s", c.expression, c.zone, after, next, want)
			}
			after = next
		}
	}
}

// Over two years, in zones with all kinds of changes, every day has exactly one
// firing.
func TestOneFiringADay(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "UTC"} {
		for _, expression := range []string{"0 0 * * *", "15 1 * * *", "30 2 * * *", "59 23 * * *"} {
			s := parse(t, expression, zone, 0)
			last := s.Next(at(t, "2026-01-01T00:00:00Z"))
			for last.Year() < 2028 {
				next := s.Next(last)
				if pause := next.Sub(last); pause < 22*time.Hour || pause > 26*time.Hour {
					t.Fatalf("%s in %s: %s follows %s", expression, zone, next, last)
				}
				last = next
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		expression, zone string
		jitter           time.Duration
	}{
		{"", "UTC", 0}, {"* * * *", "UTC", 0}, {"0 3 * * 1 2026", "UTC", 0}, {"60 3 * * *", "UTC", 0}, {"@every 5m", "UTC", 0}, {"@reboot", "UTC", 0},
		{"TZ=UTC 0 3 * * *", "UTC", 0}, {"CRON_TZ=UTC 0 3 * * *", "UTC", 0}, {"0 3 * * *", "Mars/Olympus", 0}, {"0 3 * * *", "", 0}, {"0 3 * * *", "Local", 0},
		{"0 3 * * *", "../etc/passwd", 0}, {"0 0 30 2 *", "UTC", 0}, {"*/10 * * * *", "UTC", 10 * time.Minute}, {"0 3 * * *", "UTC", -time.Second},
	} {
		s, err := schedule.Parse(c.expression, c.zone, c.jitter, "key")
		if err == nil {
			err = s.Check(at(t, "2026-11-30T00:00:00Z"))
		}
		if !errors.Is(err, schedule.ErrSpec) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The jitter is bounded, the same for all who ask, and differs from time to
// time and from schedule to schedule.
func TestJitter(t *testing.T) {
	const most = 20 * time.Minute
	s, twin := parse(t, "0 * * * *", "UTC", most), parse(t, "0 * * * *", "UTC", most)
	other, err := schedule.Parse("0 * * * *", "UTC", most, "another key")
	if err != nil {
		t.Fatal(err)
	}
	due, same, lower, upper := at(t, "2026-11-30T00:00:00Z"), 0, 0, 0
	for range 500 {
		due = s.Next(due)
		off := s.At(due).Sub(due)
		if off < 0 || off >= most || !twin.At(due).Equal(s.At(due)) {
			t.Fatalf("%s is put off by %s, and by %s for another who asks", due, off, twin.At(due).Sub(due))
		}
		if other.At(due).Equal(s.At(due)) {
			same++
		}
		if off < most/4 {
			lower++
		}
		if off > 3*most/4 {
			upper++
		}
	}
	if same > 5 || lower < 80 || upper < 80 {
		t.Errorf("of 500 firings %d are those of another schedule, %d in the first quarter, %d in the last", same, lower, upper)
	}
	if s := parse(t, "0 * * * *", "UTC", 0); !s.At(due).Equal(due) {
		t.Error("put off without jitter")
	}
}
