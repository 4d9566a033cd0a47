package store

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"agentaudit/audit/report"
)

var errTodo = errors.New("store: not built yet")

// Access says what a process wants with the store.
type Access int

const (
	// Own is for the one process that feeds and works (run, serve): takes
	// DIR/lock, creates and migrates what is missing. The error for a
	// directory in use is a [*LockedError].
	Own Access = iota
	// Shared reads and writes beside an owner (pause, cancel, retry). Creates nothing.
	Shared
	// ReadOnly only reads; works beside an owner (results, batches).
	ReadOnly
)

// Options are the settings of a store; the zero value owns the directory.
type Options struct {
	Access Access
	// Now is the clock, nil for time.Now.
	Now func() time.Time
	// Log is for migrations and the like, nil for none.
	Log *slog.Logger
	// SmallBatch is the number of runs up to which a batch is [ClassSmall]; 0 is 200.
	SmallBatch int
}

// Store is an open store, safe for concurrent use.
type Store struct{}

// Open opens the store in a data directory (later also "postgres://…"). With
// [Shared] and [ReadOnly] a directory without a store is [ErrNotFound].
func Open(ctx context.Context, source string, o Options) (*Store, error) { return nil, errTodo }

// Close ends open writes and gives up the lock.
func (s *Store) Close() error { return errTodo }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return errTodo }

// CreateBatch starts a batch in [StateIntake].
func (s *Store) CreateBatch(ctx context.Context, b NewBatch) (*Batch, error) { return nil, errTodo }

// IntakeChunk is a good number of lines for one call of [Store.AddLines].
const IntakeChunk = 10_000

// AddLines takes lines into a batch in [StateIntake], all or none.
func (s *Store) AddLines(ctx context.Context, id BatchID, lines []Line) (Added, error) {
	return Added{}, errTodo
}

// SealBatch ends the intake; a batch without runs is finished at once.
func (s *Store) SealBatch(ctx context.Context, id BatchID) (*Batch, error) { return nil, errTodo }

// DiscardIntake empties a batch in [StateIntake] for a fresh start under the same id.
func (s *Store) DiscardIntake(ctx context.Context, id BatchID) error { return errTodo }

// PauseBatch stops handing out the runs of a batch and says why.
func (s *Store) PauseBatch(ctx context.Context, id BatchID, note string) error { return errTodo }

// ResumeBatch undoes [Store.PauseBatch].
func (s *Store) ResumeBatch(ctx context.Context, id BatchID) error { return errTodo }

// CancelBatch ends a batch: runs that are not under way become cancelled.
func (s *Store) CancelBatch(ctx context.Context, id BatchID, note string) error { return errTodo }

// RetryBatch opens the selected runs again, in place; returns their number.
func (s *Store) RetryBatch(ctx context.Context, id BatchID, sel Selection) (int64, error) {
	return 0, errTodo
}

// Batch reads one batch, with its counts.
func (s *Store) Batch(ctx context.Context, id BatchID) (*Batch, error) { return nil, errTodo }

// Batches lists batches, newest first, before the given id ("" = from the newest).
func (s *Store) Batches(ctx context.Context, before BatchID, limit int) ([]Batch, error) {
	return nil, errTodo
}

// LatestUnfinished is the newest batch that is open; [ErrNotFound] if there is none.
func (s *Store) LatestUnfinished(ctx context.Context) (*Batch, error) { return nil, errTodo }

// TopReasons lists outcome and reason by how often they occur.
func (s *Store) TopReasons(ctx context.Context, id BatchID, limit int) ([]ReasonCount, error) {
	return nil, errTodo
}

// TopChecks lists failing (then warning) checks by how often they occur.
func (s *Store) TopChecks(ctx context.Context, id BatchID, limit int) ([]CheckCount, error) {
	return nil, errTodo
}

// RejectedLines lists rejected lines behind number after (0 = from the first).
func (s *Store) RejectedLines(ctx context.Context, id BatchID, after int64, limit int) ([]Rejected, error) {
	return nil, errTodo
}

// Results reads one page of final rows, by entry; cursor "" is the first page.
func (s *Store) Results(ctx context.Context, f Filter, cursor string, limit int) (*Page, error) {
	return nil, errTodo
}

// EachResult calls fn for all final rows, by entry, with Parts if full.
func (s *Store) EachResult(ctx context.Context, f Filter, full bool, fn func(Row) error) error {
	return errTodo
}

// Parts reads the documents of a run's result.
func (s *Store) Parts(ctx context.Context, id RunID) (*Parts, error) { return nil, errTodo }

// Report reads the report of a run's result.
func (s *Store) Report(ctx context.Context, id RunID) (*report.Report, error) { return nil, errTodo }

// Evidence reads the evidence of a run's result.
func (s *Store) Evidence(ctx context.Context, id RunID) ([]report.Evidence, error) {
	return nil, errTodo
}

// FindRun is the run of a target (and README URL, "" for none given) in a batch.
func (s *Store) FindRun(ctx context.Context, id BatchID, target, readme string) (RunID, error) {
	return "", errTodo
}

// Site reads a target over time.
func (s *Store) Site(ctx context.Context, target string) (*Site, error) { return nil, errTodo }

// SiteHistory lists results of a target, newest first.
func (s *Store) SiteHistory(ctx context.Context, target string, before time.Time, limit int) ([]SiteResult, error) {
	return nil, errTodo
}

// Due is a run to be handed to the queue.
type Due struct {
	Run RunID
	// Token is part of the task's id: it changes with every claim, so that a
	// task that is still being acknowledged is not taken for a new one.
	Token int64
	Host  string
}

// TakeDue marks up to limit due runs as enqueued and returns them.
func (s *Store) TakeDue(ctx context.Context, class Class, limit int) ([]Due, error) {
	return nil, errTodo
}

// Unqueue puts runs back that could not be handed to the queue.
func (s *Store) Unqueue(ctx context.Context, runs []Due) error { return errTodo }

// Forgotten lists runs marked as enqueued before a time and marks them anew.
func (s *Store) Forgotten(ctx context.Context, class Class, before time.Time, limit int) ([]Due, error) {
	return nil, errTodo
}

// Load counts runs on their way.
type Load struct {
	// Enqueued counts runs handed to the queue and not claimed, by class.
	Enqueued map[Class]int64
	Running  int64
	// NextDue is when the next waiting run is due, zero if none waits.
	NextDue time.Time
}

// Load reads the numbers of runs on their way.
func (s *Store) Load(ctx context.Context) (Load, error) { return Load{}, errTodo }

// Claim is the right to audit a run once.
type Claim struct {
	Run    RunID
	Worker string
	// Target and Readme are URLs; Readme may be "".
	Target, Readme, Host string
	// Attempt counts from 1. Lost counts claims of this run whose worker
	// vanished without a word since the last that ended in order.
	Attempt, Lost int
	// Kept is an earlier attempt's definite result, nil if there is none.
	Kept *report.Result
	// Options are those of the batch.
	Options json.RawMessage
	token   int64
}

// ClaimRun takes a run for a worker; [ErrStale] if it is not to be had.
func (s *Store) ClaimRun(ctx context.Context, id RunID, worker string, lease time.Duration) (*Claim, error) {
	return nil, errTodo
}

// FinishRun writes the final result; [ErrStale] if the claim was overtaken.
func (s *Store) FinishRun(ctx context.Context, c *Claim, r *report.Result) error { return errTodo }

// RetryRun gives a run back for another attempt at due; kept may be nil.
func (s *Store) RetryRun(ctx context.Context, c *Claim, due time.Time, kept *report.Result) error {
	return errTodo
}

// ReleaseRun gives a run back without counting the attempt.
func (s *Store) ReleaseRun(ctx context.Context, c *Claim, due time.Time) error { return errTodo }

// RenewLeases prolongs the leases of all runs of a worker.
func (s *Store) RenewLeases(ctx context.Context, worker string, lease time.Duration) (int64, error) {
	return 0, errTodo
}

// ExpireLeases puts runs back whose lease has ended.
func (s *Store) ExpireLeases(ctx context.Context) (int64, error) { return 0, errTodo }

// ResetRunning puts all enqueued and running runs back: for the sole owner at its start.
func (s *Store) ResetRunning(ctx context.Context) (int64, error) { return 0, errTodo }
