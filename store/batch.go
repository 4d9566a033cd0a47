package store

import (
	"encoding/json"
	"time"

	"agentaudit/audit/report"
)

// BatchState is the state of a batch.
type BatchState string

// The states of a batch. StateIntake is the time before [Store.SealBatch]:
// the list is still being read.
const (
	StateIntake    BatchState = "intake"
	StateQueued    BatchState = "queued"
	StateRunning   BatchState = "running"
	StatePaused    BatchState = "paused"
	StateCancelled BatchState = "cancelled"
	StateFinished  BatchState = "finished"
)

// Open reports whether work is left, or a list not yet read to its end.
func (s BatchState) Open() bool { return s != StateCancelled && s != StateFinished }

// Class says which way a batch takes through the queue; queue.Class has the
// same words.
type Class string

// The classes. A batch of at most [Options.SmallBatch] runs is small.
const (
	ClassSmall Class = "small"
	ClassBulk  Class = "bulk"
)

// Cancelled stands where an entry of a cancelled batch has no outcome: in rows,
// counts and filters. It is no outcome of an audit.
const Cancelled report.Outcome = "cancelled"

// NewBatch is what is known of a batch before its list is read.
type NewBatch struct {
	// Name is free text, "" for none.
	Name string
	// Sources are the names of the lists; [Line.Source] is an index into them.
	Sources []string
	// Options is a JSON object that means nothing to the store; nil is {}.
	Options json.RawMessage
	// Webhook is where the end of the batch is told, nil for nowhere.
	Webhook *Webhook
}

// Batch is one submitted list.
type Batch struct {
	ID    BatchID    `json:"id"`
	Name  string     `json:"name"`
	State BatchState `json:"state"`
	// Note says why the batch is in its state, where that needs a word.
	Note  string `json:"note"`
	Class Class  `json:"class"`
	// Sources are the names of the lists as they may be shown ([PlainSource]).
	// Origin is the same for batches whose sources are the same in full.
	Sources []string `json:"sources"`
	Origin  [16]byte `json:"-"`
	// Options can hold secrets, in the addresses of lists and receivers.
	Options json.RawMessage `json:"options"`
	// The zero time stands for "not yet".
	CreatedAt  time.Time `json:"createdAt"`
	SealedAt   time.Time `json:"sealedAt,omitzero"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// Entries counts accepted lines, Duplicates those of them that share a run
	// with an earlier one, Rejected the lines that were not accepted.
	Entries    int64 `json:"entries"`
	Duplicates int64 `json:"duplicates"`
	Rejected   int64 `json:"rejected"`
	// Runs counts distinct targets, OpenRuns those without a final result.
	Runs     int64 `json:"runs"`
	OpenRuns int64 `json:"openRuns"`
	// Held says that the list was read to its end and waits to be sealed
	// ([Store.HoldIntake]).
	Held bool `json:"-"`
	// Outcomes counts entries and runs by outcome, [Cancelled] included.
	Outcomes map[report.Outcome]Count `json:"outcomes"`
}

// Done is the number of entries that have their final row.
func (b *Batch) Done() (n int64) {
	for _, c := range b.Outcomes {
		n += c.Entries
	}
	return n
}

// Count is a number of entries and of the runs behind them.
type Count struct {
	Entries int64 `json:"entries"`
	Runs    int64 `json:"runs"`
}

// ReasonCount is how often a reason stands behind an outcome in a batch.
type ReasonCount struct {
	Outcome report.Outcome `json:"outcome"`
	Reason  report.Reason  `json:"reason"`
	Count
}

// AgentsCount is how often a verdict over agents.txt stands beside an outcome
// in a batch.
type AgentsCount struct {
	Verdict string         `json:"verdict"`
	Outcome report.Outcome `json:"outcome"`
	Count
}

// CheckCount is how often a check fails or warns in a batch. Check is the
// class of the id ([report.CheckClass]).
type CheckCount struct {
	Check  string        `json:"check"`
	Status report.Status `json:"status"`
	Count
}

// Line is one line, cell or item of a list, accepted or not. Texts are kept as
// they are, but for U+FFFD in place of NUL and of bytes that are not UTF-8.
type Line struct {
	// Source is an index into [NewBatch.Sources], Number the line or item in
	// that source, counted from 1.
	Source int
	Number int64
	// Input is the text as given.
	Input string
	// Reject says why the line is not accepted, "" if it is. All that follows
	// is of accepted lines.
	Reject string
	// Target is the URL of the profile and Readme that of the README ("" for
	// none given), both serialised by weburl.
	Target string
	Readme string
	// What the list says of the entry: its own id or slug, label and tags.
	ID    string
	Label string
	Tags  []string
	// Notes say what was done to the text before it was read.
	Notes []string
}

// Added says what [Store.AddLines] did with the lines of one call.
type Added struct {
	Entries, Runs, Duplicates, Rejected int64
}

// Rejected is a line that was not accepted.
type Rejected struct {
	// N counts the rejected lines of the batch from 1.
	N      int64  `json:"n"`
	Source string `json:"source"`
	Line   int64  `json:"line"`
	Input  string `json:"input"`
	Reason string `json:"reason"`
}

// Selection picks results to be audited again. Empty lists select all; a
// result must be in both.
type Selection struct {
	Outcomes []report.Outcome
	Reasons  []report.Reason
}
