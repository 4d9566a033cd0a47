package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hibiken/asynq"
)

// Class is a way through the queue: jobs of one class do not wait behind those
// of another. store.Class has the same words.
type Class string

// The classes. Small ones are served five times as often.
const (
	Small Class = "small"
	Bulk  Class = "bulk"
)

// Classes lists all classes.
var Classes = []Class{Small, Bulk}

var weights = map[Class]int{Small: 5, Bulk: 1}

// Job names the runs to look at: one, or [GroupSize].
type Job struct {
	Runs []string
	// Class is that of the queue which it came from.
	Class Class
}

// GroupSize is the number of runs in a job of many ([Client.EnqueueGroups]):
// enough that most of the queue's cost of a run is saved, few enough that no
// worker sits on what others could do.
const GroupSize = 4

// Task is a run on its way into the queue.
type Task struct {
	Run   string
	Class Class
	// Token makes the task's id, together with the run: a second task with the
	// same run, class and token is not taken while the first is in the queue.
	Token int64
}

// taskType is asynq's name for the only kind of task there is.
const taskType = "run"

// payload is the wire form of a job. A payload may outlive a deploy: fields are
// only ever added, and a new version is read beside the old ones. Version 1 has
// one run, version 2 some.
type payload struct {
	V    int      `json:"v"`
	Run  string   `json:"run,omitempty"`
	Runs []string `json:"runs,omitempty"`
}

func (j Job) encode() ([]byte, error) {
	if len(j.Runs) == 1 {
		return json.Marshal(payload{V: 1, Run: j.Runs[0]})
	}
	return json.Marshal(payload{V: 2, Runs: j.Runs})
}

func decodeJob(b []byte) (Job, error) {
	var p payload
	if err := json.Unmarshal(b, &p); err != nil {
		return Job{}, fmt.Errorf("a job that cannot be read: %w", err)
	}
	runs := p.Runs
	switch p.V {
	case 1:
		runs = []string{p.Run}
	case 2:
	default:
		return Job{}, fmt.Errorf("a job of version %d, this program knows 1 and 2", p.V)
	}
	if len(runs) == 0 || slices.Contains(runs, "") {
		return Job{}, errors.New("a job without a run")
	}
	return Job{Runs: runs}, nil
}

func (t Task) id() string { return t.Run + "." + strconv.FormatInt(t.Token, 10) }

// idOf is the id of the job for some tasks: theirs, so that only the same ones
// have the same, and [Conn.Holding] can tell them without the payload.
func idOf(tasks []Task) string {
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.id()
	}
	return strings.Join(ids, idSeparator)
}

// idSeparator stands in no run's id.
const idSeparator = "+"

// Permanent says that a job failed and must not be tried again.
func Permanent(err error) error { return &verdict{err: err, permanent: true} }

// RetryIn says that a job failed and is to be tried again in d.
func RetryIn(err error, d time.Duration) error { return &verdict{err: err, after: d} }

type verdict struct {
	err       error
	permanent bool
	after     time.Duration
}

func (v *verdict) Error() string { return v.err.Error() }
func (v *verdict) Unwrap() error { return v.err }

// defaultRetry is the delay behind an error that says nothing about it.
const defaultRetry = time.Minute

func delayOf(err error) time.Duration {
	if errors.Is(err, asynq.ErrLeaseExpired) {
		return 0 // its worker is gone, that is no reason to wait
	}
	if v, ok := errors.AsType[*verdict](err); ok {
		return v.after
	}
	return defaultRetry
}

func permanent(err error) bool {
	v, ok := errors.AsType[*verdict](err)
	return ok && v.permanent
}
