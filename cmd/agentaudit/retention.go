package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/store"
	"agentaudit/worker"
)

// keptFact is the line of the page of settings that tells the retention.
const keptFact = "Reports are kept"

// keepForever is the value of --keep-reports that drops nothing.
const keepForever = "forever"

func keepFlag() cli.Flag {
	return &cli.StringFlag{Name: "keep-reports", Usage: "keep reports and evidence for `AGE,N`: so long, and those of the last N results of each site for ever; or forever",
		Value: "30d,2", EnvVars: []string{"AGENTAUDIT_KEEP_REPORTS"}}
}

// parseKeep reads "30d", "12w,3" or "forever". Without a number, the last two
// results of each site keep theirs.
func parseKeep(text string) (store.Retention, error) {
	bad := usagef("--keep-reports %q: give an age in days or weeks and, if you like, a number of results for each site, as in 30d,2; or %s", clean(text), keepForever)
	keep := store.Retention{Last: 2}
	age, number, more := strings.Cut(strings.ReplaceAll(text, " ", ""), ",")
	if more {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return keep, bad
		}
		keep.Last = n
	}
	if age == keepForever && !more {
		return store.Retention{}, nil
	}
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if age == "" || units[age[len(age)-1]] == 0 {
		return keep, bad
	}
	n, err := strconv.Atoi(age[:len(age)-1])
	if err != nil || n < 1 || n > 36500 {
		return keep, bad
	}
	keep.Age = time.Duration(n) * units[age[len(age)-1]]
	return keep, nil
}

// keepWords are a retention for people.
func keepWords(k store.Retention) string {
	if k.Age == 0 {
		return "for ever"
	}
	results := "last result"
	if k.Last > 1 {
		results = fmt.Sprintf("last %d results", k.Last)
	}
	return fmt.Sprintf("for %s, and those of the %s of each site for ever", plural(int64(k.Age/(24*time.Hour)), "day", "days"), results)
}

// housekeeper drops what need not be kept any more.
func (v *services) housekeeper(st *store.Store, keep store.Retention) part {
	return part{"the housekeeper", worker.Housekeeping{Store: st, Keep: keep, Log: v.cfg.log}.Run}
}
