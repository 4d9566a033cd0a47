package writeback

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"agentaudit/fetch/weburl"
	"agentaudit/store"
)

// What holds where nothing else is said of a webhook.
const (
	DefaultOn        = "finished"
	DefaultThreshold = "1"
	DefaultSettle    = 24 * time.Hour
	// DefaultConfirm is for batches that nobody waits for.
	DefaultConfirm = 5 * time.Minute
)

// Rules are what people and programs say of a webhook.
type Rules struct {
	// URL is where messages go ([CheckURL]).
	URL string
	// On are the events that are told: finished, regressed, or both with a comma.
	On string
	// Threshold is from when on a batch is called regressed ([ParseThreshold]).
	Threshold string
	// Settle and ConfirmAfter are as in [store.Webhook].
	Settle, ConfirmAfter time.Duration
	// Links is the address of a dashboard that links lead to, "" for none.
	Links string
}

// The rules, as [RuleError] names them.
const (
	RuleURL       = "url"
	RuleOn        = "on"
	RuleThreshold = "threshold"
	RuleSettle    = "settle"
	RuleLinks     = "links"
)

// RuleError says which of the rules cannot be.
type RuleError struct {
	Rule string
	Err  error
}

// Error says what to give instead. The URL, which can be a secret, is not in it.
func (e *RuleError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *RuleError) Unwrap() error { return e.Err }

// Webhook checks the rules. The error is a [*RuleError].
func (r Rules) Webhook() (*store.Webhook, error) {
	bad := func(rule string, err error) (*store.Webhook, error) { return nil, &RuleError{rule, err} }
	w := &store.Webhook{URL: r.URL, Settle: r.Settle, ConfirmAfter: r.ConfirmAfter}
	if err := CheckURL(r.URL); err != nil {
		return bad(RuleURL, err)
	}
	for event := range strings.SplitSeq(r.On, ",") {
		switch strings.TrimSpace(event) {
		case "finished":
			w.Finished = true
		case "regressed":
			w.Regressed = true
		default:
			return bad(RuleOn, fmt.Errorf("%.100q: use finished, regressed, or finished,regressed", r.On))
		}
	}
	if r.Settle < 0 {
		return bad(RuleSettle, errors.New("the time to settle is less than nothing"))
	}
	var err error
	if w.MinSites, w.MinPercent, err = ParseThreshold(r.Threshold); err != nil {
		return bad(RuleThreshold, err)
	}
	if w.Links, err = ParseLinks(r.Links); err != nil {
		return bad(RuleLinks, err)
	}
	return w, nil
}

// ParseThreshold reads a number of sites, a part of them, or both: "5", "2%" or
// "5,2%".
func ParseThreshold(s string) (sites int64, percent float64, err error) {
	bad := fmt.Errorf("%.100q: give a number of sites, a part of them, or both, as in 5, 2%% or 5,2%%", s)
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		var n float64
		if part, ok := strings.CutSuffix(word, "%"); ok {
			n, err = strconv.ParseFloat(part, 64)
			if percent = n; n > 100 || math.IsNaN(n) {
				return 0, 0, bad
			}
		} else {
			sites, err = strconv.ParseInt(word, 10, 64)
			n = float64(sites)
		}
		if err != nil || n <= 0 {
			return 0, 0, bad
		}
	}
	return sites, percent, nil
}

// Threshold is what [ParseThreshold] reads.
func Threshold(w *store.Webhook) string {
	var words []string
	if w.MinSites > 0 {
		words = append(words, strconv.FormatInt(w.MinSites, 10))
	}
	if w.MinPercent > 0 {
		words = append(words, strconv.FormatFloat(w.MinPercent, 'f', -1, 64)+"%")
	}
	if words == nil {
		return DefaultThreshold
	}
	return strings.Join(words, ",")
}

// On are the events that a webhook is told of, as in [Rules.On].
func On(w *store.Webhook) string {
	switch {
	case w.Finished && w.Regressed:
		return "finished,regressed"
	case w.Regressed:
		return "regressed"
	}
	return "finished"
}

// ParseLinks is the address of a dashboard without a final slash; "" stays "".
func ParseLinks(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := weburl.Parse(s)
	if err != nil || u.Scheme() != "https" && u.Scheme() != "http" {
		return "", fmt.Errorf("%.200q: give the address of the dashboard, as in https://audit.example.org", s)
	}
	return strings.TrimRight(u.String(), "/"), nil
}
