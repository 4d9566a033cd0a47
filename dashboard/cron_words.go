package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cronWords says a cron expression in words where it is a usual one.
func cronWords(cron, zone string) string {
	words := map[string]string{"@hourly": "every hour", "@daily": "every day at 0:00", "@midnight": "every day at 0:00", "@weekly": "every Sunday at 0:00",
		"@monthly": "on day 1 of every month at 0:00", "@yearly": "on 1 January at 0:00", "@annually": "on 1 January at 0:00"}[cron]
	if f := strings.Fields(cron); words == "" && len(f) == 5 && f[3] == "*" {
		days, times := cronDays(f[2], f[4]), cronTimes(f[0], f[1])
		switch {
		case days == "" || times == "":
		case days == "every day" && strings.HasPrefix(times, "every"):
			words = times
		default:
			words = days + " " + times
		}
	}
	if words == "" {
		words = "at " + cron
	}
	return words + ", " + zone
}

// cronDays says on which days, "" where that takes more than a few words.
func cronDays(dayOfMonth, dayOfWeek string) string {
	switch {
	case dayOfMonth == "*" && dayOfWeek == "*":
		return "every day"
	case dayOfWeek == "*":
		if n, ok := cronNumber(dayOfMonth, 1, 31); ok {
			return fmt.Sprintf("on day %d of every month", n)
		}
		return ""
	case dayOfMonth != "*":
		return ""
	}
	weekday := func(s string) (string, bool) {
		n, ok := cronNumber(s, 0, 7)
		return time.Weekday(n % 7).String(), ok
	}
	if from, to, ok := strings.Cut(dayOfWeek, "-"); ok {
		first, ok1 := weekday(from)
		last, ok2 := weekday(to)
		if !ok1 || !ok2 {
			return ""
		}
		return "every day from " + first + " to " + last
	}
	var names []string
	for s := range strings.SplitSeq(dayOfWeek, ",") {
		name, ok := weekday(s)
		if !ok {
			return ""
		}
		names = append(names, name)
	}
	return "every " + inWords(names)
}

// cronTimes says at which times of a day.
func cronTimes(minute, hour string) string {
	if step, ok := cronStep(minute, 60); ok && hour == "*" {
		return fmt.Sprintf("every %s", plural(int64(step), "minute", "minutes"))
	}
	m, ok := cronNumber(minute, 0, 59)
	if !ok {
		return ""
	}
	past := ""
	if m > 0 {
		past = fmt.Sprintf(" at %s past", plural(int64(m), "minute", "minutes"))
	}
	if hour == "*" {
		return "every hour" + past
	}
	if step, ok := cronStep(hour, 24); ok {
		return fmt.Sprintf("every %d hours%s", step, past)
	}
	var clocks []string
	for s := range strings.SplitSeq(hour, ",") {
		h, ok := cronNumber(s, 0, 23)
		if !ok {
			return ""
		}
		clocks = append(clocks, fmt.Sprintf("%d:%02d", h, m))
	}
	return "at " + inWords(clocks)
}

// cronStep reads "*/n" where n divides the whole, so that the pauses are equal.
func cronStep(s string, whole int) (int, bool) {
	s, ok := strings.CutPrefix(s, "*/")
	if !ok {
		return 0, false
	}
	n, ok := cronNumber(s, 2, whole/2)
	return n, ok && whole%n == 0
}

func cronNumber(s string, least, most int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && least <= n && n <= most
}

// inWords joins words as a sentence has them: a, b and c.
func inWords(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
