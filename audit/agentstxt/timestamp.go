package agentstxt

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stampKind says how a Generated-At value is written (rule 9).
type stampKind int

const (
	stampNone stampKind = iota // not ISO 8601 at all
	stampISO                   // ISO 8601, but the reference library refuses it
	stampUTC                   // YYYY-MM-DDTHH:MM[:SS[.f]]Z
)

var (
	utcStamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$`)
	isoStamp = regexp.MustCompile(`^(\d{4})` +
		`(?:(-?)(\d\d)(?:-?(\d\d))?|-?W(\d\d)(?:-?([1-7]))?|-?(\d{3}))?` +
		`(?:[Tt ](\d\d)(?::?(\d\d)(?::?(\d\d))?)?(?:[.,](\d+))?` +
		`([Zz]|[+-]\d\d(?::?\d\d)?)?)?$`)
)

// parseStamp reads a Generated-At value. The time is zero where the kind is
// stampNone; without a zone it is taken as UTC.
func parseStamp(value string) (time.Time, stampKind) {
	if len(value) > 64 {
		return time.Time{}, stampNone
	}
	m := isoStamp.FindStringSubmatch(value)
	if m == nil {
		return time.Time{}, stampNone
	}
	year := number(m[1])
	date := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case m[5] != "": // week date
		week := number(m[5])
		if week < 1 || week > 53 {
			return time.Time{}, stampNone
		}
		// The week that holds 4 January is the first one; Monday begins it.
		jan4 := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
		monday := jan4.AddDate(0, 0, -(int(jan4.Weekday())+6)%7)
		date = monday.AddDate(0, 0, 7*(week-1)+max(number(m[6])-1, 0))
	case m[7] != "": // day of the year
		day := number(m[7])
		date = date.AddDate(0, 0, day-1)
		if day < 1 || date.Year() != year {
			return time.Time{}, stampNone
		}
	case m[3] != "":
		month, day := number(m[3]), 1
		if m[4] != "" {
			day = number(m[4])
		}
		date = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		if int(date.Month()) != month || date.Day() != day {
			return time.Time{}, stampNone
		}
	}
	hour, minute, second := number(m[8]), number(m[9]), number(m[10])
	leap := second == 60
	midnight := hour == 24 && minute == 0 && second == 0
	if hour > 23 && !midnight || minute > 59 || second > 60 {
		return time.Time{}, stampNone
	}
	t := date.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
	if zone := m[12]; zone != "" && !strings.EqualFold(zone, "z") {
		digits := strings.ReplaceAll(zone[1:], ":", "") + "00"
		h, mi := number(digits[:2]), number(digits[2:4])
		if h > 23 || mi > 59 {
			return time.Time{}, stampNone
		}
		shift := time.Duration(h)*time.Hour + time.Duration(mi)*time.Minute
		if zone[0] == '+' {
			shift = -shift
		}
		t = t.Add(shift)
	}
	if utcStamp.MatchString(value) && !leap && !midnight {
		return t, stampUTC
	}
	return t, stampISO
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
