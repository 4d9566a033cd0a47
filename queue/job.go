package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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

// Job names a run to look at.
type Job struct {
	Run string
}

// Task is a job on its way into the queue.
type Task struct {
	Job
	Class Class
	// Token makes the task's id, together with the run: a second task with the
	// same run, class and token is not taken while the first is in the queue.
	Token int64
}

// taskType is asynq's name for the only kind of task there is.
const taskType = "run"

// payload is the wire form of a job. A payload may outlive a deploy: fields are
// only ever added, and a new version is read beside the old ones.
type payload struct {
	V   int    `json:"v"`
	Run string `json:"run"`
}

const payloadVersion = 1

func (j Job) encode() ([]byte, error) { return json.Marshal(payload{payloadVersion, j.Run}) }

func decodeJob(b []byte) (Job, error) {
	var p payload
	if err := json.Unmarshal(b, &p); err != nil {
		return Job{}, fmt.Errorf("a job that cannot be read: %w", err)
	}
	if p.V != payloadVersion {
		return Job{}, fmt.Errorf("a job of version %d, this program knows %d", p.V, payloadVersion)
	}
	if p.Run == "" {
		return Job{}, errors.New("a job without a run")
	}
	return Job{p.Run}, nil
}

func (t Task) id() string { return t.Run + "." + strconv.FormatInt(t.Token, 10) }

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
