package schedule

import (
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"agentaudit/store"
)

// Spec says when a schedule fires.
type Spec struct {
	cron   *cron.SpecSchedule
	zone   *time.Location
	jitter time.Duration
	key    string
	// elapsed says that the expression counts hours that go by, and not the
	// hours of the clock on the wall.
	elapsed bool
}

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// ErrSpec is the error for an expression, zone or jitter that is none.
var ErrSpec = errors.New("not a schedule")

// Parse reads a cron expression (minute, hour, day of month, month, day of
// week; or @hourly, @daily, @weekly, @monthly, @yearly) and the name of an IANA
// time zone. Firings are put off by less than jitter, by a different part of it
// each time that depends on key alone: all who ask get the same. [Spec.Check]
// says whether the whole makes sense. The error wraps [ErrSpec].
func Parse(expression, zone string, jitter time.Duration, key string) (*Spec, error) {
	expression = strings.Join(strings.Fields(expression), " ")
	if strings.Contains(expression, "TZ=") || strings.HasPrefix(expression, "@every") {
		return nil, fmt.Errorf("%w: %q: give five fields, as in \"30 3 * * 1\" for Mondays at 3:30, or @hourly, @daily, @weekly, @monthly, @yearly", ErrSpec, expression)
	}
	parsed, err := parser.Parse(sundays(expression))
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %v; give five fields, as in \"30 3 * * 1\" for Mondays at 3:30", ErrSpec, expression, err)
	}
	s := &Spec{cron: parsed.(*cron.SpecSchedule), jitter: jitter, key: key}
	if zone == "" || zone == "Local" {
		return nil, fmt.Errorf("%w: a time zone is needed, as in Europe/Berlin or UTC", ErrSpec)
	}
	if s.zone, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("%w: there is no time zone %q; give a name such as Europe/Berlin or UTC", ErrSpec, zone)
	}
	const everyHour = 1<<24 - 1
	s.elapsed = s.cron.Hour&everyHour == everyHour
	s.cron.Location = time.UTC
	if s.elapsed {
		s.cron.Location = s.zone
	}
	return s, nil
}

var upToSeven = regexp.MustCompile(`^(?:([0-7])-)?7(?:/([1-7]))?$`)

// sundays writes 0 for a day of the week that is 7: tables of cron have both
// for Sundays, and the parser knows only one.
func sundays(expression string) string {
	fields := strings.Split(expression, " ")
	if len(fields) != 5 {
		return expression
	}
	var days []string
	for day := range strings.SplitSeq(fields[4], ",") {
		m := upToSeven.FindStringSubmatch(day)
		if m == nil || m[1] == "" && m[2] != "" { // not from anywhere, in steps
			days = append(days, day)
			continue
		}
		number := func(s string, otherwise int) int {
			if s == "" {
				return otherwise
			}
			return int(s[0] - '0') // of one digit
		}
		for d := number(m[1], 7); d <= 7; d += number(m[2], 1) {
			days = append(days, strconv.Itoa(d%7))
		}
	}
	fields[4] = strings.Join(days, ",")
	return strings.Join(fields, " ")
}

// Check refuses what would never fire after a time, and a jitter that is not
// shorter than the pause between two of the next firings: one would overtake
// the other. The error wraps [ErrSpec].
func (s *Spec) Check(after time.Time) error {
	last := s.Next(after)
	if last.IsZero() {
		return fmt.Errorf("%w: there is no such day", ErrSpec)
	}
	if s.jitter < 0 {
		return fmt.Errorf("%w: the jitter is less than nothing", ErrSpec)
	}
	for range 50 {
		next := s.Next(last)
		if next.IsZero() {
			break
		}
		if pause := next.Sub(last); s.jitter >= pause {
			return fmt.Errorf("%w: a jitter of %s is not shorter than the pause of %s between two firings", ErrSpec, s.jitter, pause)
		}
		last = next
	}
	return nil
}

// Of is the spec of a schedule, with its name for the key of the jitter.
func Of(v *store.Schedule) (*Spec, error) { return Parse(v.Cron, v.Zone, v.Jitter, v.Name) }

// Zone is the time zone of the expression.
func (s *Spec) Zone() *time.Location { return s.zone }

// Next is the first time after another one, without jitter; the zero time if
// there is none within five years.
//
// Where clocks are put forward, a time that is left out comes by as much later;
// where they are put back, the first of two is taken. Only an expression for
// every hour goes by the hours themselves.
func (s *Spec) Next(after time.Time) time.Time {
	if s.elapsed {
		next := s.cron.Next(after.In(s.zone))
		if next.IsZero() {
			return time.Time{}
		}
		return next.UTC()
	}
	// On the wall, as if it were UTC: no gaps, nothing twice.
	local := after.In(s.zone)
	wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
	for {
		wall = s.cron.Next(wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if next := s.instant(wall); next.After(after) {
			return next
		}
	}
}

// instant is the first moment at which clocks on the wall show a time; where
// none do, because they are put forward, it is as much behind the gap as the
// time is into it. (time.Date promises neither.)
func (s *Spec) instant(wall time.Time) time.Time {
	offset := func(t time.Time) time.Duration {
		_, seconds := t.In(s.zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before, after := offset(wall.Add(-24*time.Hour)), offset(wall.Add(24*time.Hour))
	for _, o := range []time.Duration{max(before, after), min(before, after)} { // the earlier moment first
		if t := wall.Add(-o); offset(t) == o {
			return t
		}
	}
	return wall.Add(-before)
}

// At is when the firing for a time is to be: the time put off by its part of
// the jitter.
func (s *Spec) At(due time.Time) time.Time {
	if s.jitter <= 0 {
		return due
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", s.key, due.Unix())
	// FNV leaves its high bits nearly alone for the last bytes.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return due.Add(time.Duration(x % uint64(s.jitter))).Truncate(time.Millisecond)
}

// turn is what there is to do at a time for a schedule that is due.
type turn struct {
	due, nextDue, nextAt time.Time
	missed               int64
}

// mostMissed bounds the counting of missed times: every minute for a year.
const mostMissed = 600_000

// turn finds the one firing to be made up for: the last time that has come,
// with those before it counted as missed.
func (s *Spec) turn(v *store.Schedule, now time.Time) turn {
	if v.Forced {
		t := turn{due: now, nextDue: s.Next(now)}
		t.nextAt = s.At(t.nextDue)
		return t
	}
	t := turn{due: v.NextDue}
	for {
		t.nextDue = s.Next(t.due)
		if t.nextDue.IsZero() {
			// Never again; a century is as good.
			t.nextDue = now.AddDate(100, 0, 0)
		}
		if t.nextAt = s.At(t.nextDue); t.nextAt.After(now) {
			return t
		}
		if t.missed++; t.missed >= mostMissed {
			t.due = now
			t.nextDue = s.Next(now)
			t.nextAt = s.At(t.nextDue)
			return t
		}
		t.due = t.nextDue
	}
}
