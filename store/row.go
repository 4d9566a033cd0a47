package store

import (
	"encoding/json"
	"time"

	"agentaudit/audit/report"
)

// Row is the final row of one entry (pipeline specification, "Outcome and
// reason"). A row with outcome [Cancelled] has nothing behind Reason.
type Row struct {
	Batch BatchID
	// Entry counts the accepted lines of the batch from 1.
	Entry int64
	Line  int64
	Input string
	// Target is the URL of the profile.
	Target  string
	ID      string
	Label   string
	Tags    []string
	Outcome report.Outcome
	Reason  report.Reason
	Detail  string
	Valid   bool
	// Publication, TextIndex and Readme are the statuses in the report.
	Publication report.PublicationStatus
	TextIndex   report.TextStatus
	Readme      report.ReadmeStatus
	// Agents is the verdict over agents.txt, "" if there was no such audit.
	Agents string
	// Failing and Warning are ids of checks, in the order of the report.
	Failing []string
	Warning []string
	// Attempts counts the attempts it took.
	Attempts int
	// StartedAt is the beginning of the last attempt.
	StartedAt  time.Time
	FinishedAt time.Time
	DurationMs int64

	// Run is the run that the entry shares with others of the same target.
	// Source is the name of the list, ReadmeURL what it gave as the address of
	// the README, "" for nothing; Notes say what was done to the text before it
	// was read. None of them is part of the JSON row.
	Run       RunID
	Source    string
	ReadmeURL string
	Notes     []string
	// Parts are the documents behind the row, nil if they were not asked for.
	Parts *Parts
}

// Parts are the documents of a result as compact JSON; nil where there is none.
type Parts struct {
	Report    json.RawMessage
	Agents    json.RawMessage
	Discovery json.RawMessage
	// Evidence is an array of [report.Evidence].
	Evidence json.RawMessage
	// FixKit is what mends the publication (publication.Kit): nil also in
	// results of failed and partial sites that are older than fix kits are. It
	// is no part of the JSON row.
	FixKit json.RawMessage
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// MarshalJSON writes the row with the names and in the order of the
// specification; times are RFC 3339 in UTC with milliseconds, null where there
// is none. With Parts, report, agentsReport, discovery and evidence follow.
func (r Row) MarshalJSON() ([]byte, error) {
	instant := func(t time.Time) *string {
		if t.IsZero() {
			return nil
		}
		s := t.UTC().Format(timeFormat)
		return &s
	}
	type full struct {
		Report       json.RawMessage `json:"report"`
		AgentsReport json.RawMessage `json:"agentsReport"`
		Discovery    json.RawMessage `json:"discovery"`
		Evidence     json.RawMessage `json:"evidence"`
	}
	w := struct {
		Batch       BatchID                  `json:"batch"`
		Entry       int64                    `json:"entry"`
		Line        int64                    `json:"line"`
		Input       string                   `json:"input"`
		Target      string                   `json:"target"`
		ID          string                   `json:"id"`
		Label       string                   `json:"label"`
		Tags        []string                 `json:"tags"`
		Outcome     report.Outcome           `json:"outcome"`
		Reason      report.Reason            `json:"reason"`
		Detail      string                   `json:"detail"`
		Valid       bool                     `json:"valid"`
		Publication report.PublicationStatus `json:"publication"`
		TextIndex   report.TextStatus        `json:"textIndex"`
		Readme      report.ReadmeStatus      `json:"readme"`
		Agents      string                   `json:"agents"`
		Failing     []string                 `json:"failing"`
		Warning     []string                 `json:"warning"`
		Attempts    int                      `json:"attempts"`
		StartedAt   *string                  `json:"startedAt"`
		FinishedAt  *string                  `json:"finishedAt"`
		DurationMs  int64                    `json:"durationMs"`
		*full
	}{
		r.Batch, r.Entry, r.Line, r.Input, r.Target, r.ID, r.Label, list(r.Tags), r.Outcome, r.Reason, r.Detail,
		r.Valid, r.Publication, r.TextIndex, r.Readme, r.Agents, list(r.Failing), list(r.Warning), r.Attempts,
		instant(r.StartedAt), instant(r.FinishedAt), r.DurationMs, nil,
	}
	if p := r.Parts; p != nil {
		w.full = &full{p.Report, p.Agents, p.Discovery, p.Evidence}
	}
	return json.Marshal(w)
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// Filter picks rows. Empty fields do not filter; what is given must all hold.
type Filter struct {
	// Batch is required.
	Batch BatchID
	// Run is one run of the batch: the rows of all entries that share it. Text
	// is not looked at beside it.
	Run     RunID
	Outcome report.Outcome
	Reason  report.Reason
	// Check is the id of a check that fails or warns, or the class of such ids
	// ([report.CheckClass]): "api" finds api:/a.json and all its like.
	Check string
	// CheckStatus narrows Check to failing or warning ones.
	CheckStatus report.Status
	// Agents is a verdict over agents.txt. No index helps to find it.
	Agents string
	// Host is a host name as it stands in targets (lower case, punycode).
	Host string
	// Label and ID are what the list says, in any ASCII case; Tag is exact.
	Label string
	ID    string
	Tag   string
	// ChangedSince picks sites whose outcome is another one than that of their
	// last result before this time, whatever the batch of that was.
	ChangedSince time.Time
	// Text is the beginning of a host, label or id, in any ASCII case. Rows
	// then come sorted by what was found instead of by entry.
	Text string
	// Order is the order of rows where Text is "".
	Order Order
}

// Order is the order of a list of rows.
type Order string

// The orders: as in the list, by host, by outcome (those that ask for action
// first) or reason (by its word), the latest result or the longest audit first.
// What is equal comes as in the list, in the orders by number from its end;
// cancelled entries come last.
const (
	InList       Order = ""
	RowByHost    Order = "host"
	RowByOutcome Order = "outcome"
	RowByReason  Order = "reason"
	RowByTime    Order = "newest"
	RowByLength  Order = "slowest"
)

// RowOrders are all orders but that of the list.
var RowOrders = []Order{RowByHost, RowByOutcome, RowByReason, RowByTime, RowByLength}

// kinds are the words by which rows come sorted, one kind after the other; none
// where they come as in the list.
func (f *Filter) kinds() []string {
	switch {
	case f.Run != "":
		return nil
	case f.Text != "":
		return textKinds
	case f.Order == RowByHost:
		return textKinds[:1] // every entry has a host
	}
	return nil
}

// number is the column of a number by which rows come sorted, the largest
// first; "" where they do not.
func (f *Filter) number() string {
	switch {
	case f.Run != "" || f.Text != "":
	case f.Order == RowByTime:
		return "finished_at"
	case f.Order == RowByLength:
		return "took"
	}
	return ""
}

// Page is one page of rows.
type Page struct {
	Rows []Row
	// Next is the cursor of the following page, "" on the last. A page with
	// fewer rows than asked for need not be the last ([Store.Results]).
	Next string
}

// Site is a target over time.
type Site struct {
	Target string `json:"target"`
	Host   string `json:"host"`
	// Outcome and Reason are those of the last result, Since the time of the
	// first result in the unbroken row of results with this outcome.
	Outcome report.Outcome `json:"outcome"`
	Reason  report.Reason  `json:"reason"`
	Since   time.Time      `json:"since"`
	// LastRun is the run of the last result, CheckedAt its time.
	LastRun   RunID     `json:"lastRun"`
	CheckedAt time.Time `json:"checkedAt"`
	// Definite is the last outcome that is not unchecked, "" if there never
	// was one, with its run and time.
	Definite    report.Outcome `json:"definite"`
	DefiniteRun RunID          `json:"definiteRun"`
	DefiniteAt  time.Time      `json:"definiteAt,omitzero"`
	// Results counts results in all batches.
	Results int64 `json:"results"`
}

// SiteResult is one result in the history of a site.
type SiteResult struct {
	Run         RunID                    `json:"run"`
	Outcome     report.Outcome           `json:"outcome"`
	Reason      report.Reason            `json:"reason"`
	Detail      string                   `json:"detail"`
	Valid       bool                     `json:"valid"`
	Publication report.PublicationStatus `json:"publication"`
	TextIndex   report.TextStatus        `json:"textIndex"`
	Readme      report.ReadmeStatus      `json:"readme"`
	Agents      string                   `json:"agents"`
	Failing     []string                 `json:"failing"`
	Warning     []string                 `json:"warning"`
	Attempts    int                      `json:"attempts"`
	StartedAt   time.Time                `json:"startedAt"`
	FinishedAt  time.Time                `json:"finishedAt"`
	// Rules is the version of the rules that judged.
	Rules string `json:"rules"`
}
