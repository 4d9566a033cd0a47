package audit

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Discover says at which sites a scan of what the site offers follows the
// audit (package discovery).
type Discover string

// The choices. DiscoverMissing, the default, is for sites where the audit
// found no valid profile.
const (
	DiscoverAlways  Discover = "always"
	DiscoverMissing Discover = "missing"
	DiscoverNever   Discover = "never"
)

// Discovers lists all choices.
var Discovers = []Discover{DiscoverAlways, DiscoverMissing, DiscoverNever}

// Options are how sites are audited. A batch keeps them in its options, beside
// members of others, so that every worker in every process obeys the same; the
// zero value is what nobody has asked to be different.
type Options struct {
	// NoAgents leaves agents.txt and agents.json out.
	NoAgents bool `json:"noAgents,omitempty"`
	// Discover is when a scan follows; "" is [DiscoverMissing].
	Discover Discover `json:"discover,omitempty"`
	// IgnoreRobots lets scans follow links that robots.txt disallows: for
	// one's own sites.
	IgnoreRobots bool `json:"ignoreRobots,omitempty"`
}

// DecodeOptions reads the options of a batch; members of others are passed
// over. Nothing at all is the zero value.
func DecodeOptions(data json.RawMessage) (Options, error) {
	var o Options
	if len(data) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("the options of the batch: %w", err)
	}
	if o.Discover != "" && !slices.Contains(Discovers, o.Discover) {
		return o, fmt.Errorf("the options of the batch: discover is %.40q, not always, missing or never", o.Discover)
	}
	return o, nil
}

// Attempt is one visit that [Auditor.Audit] is to make.
type Attempt struct {
	Target Target
	// Number counts from 1. Later attempts ask the DNS anew, so that a negative
	// answer is not confirmed from a cache.
	Number  int
	Options Options
	// Final tells whether the result of this attempt will stand: only then may
	// a scan follow, by the same visit. nil means that it will. It is asked
	// once, when the audit has been judged.
	Final func(Judgement) bool
}
