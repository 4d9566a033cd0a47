// Package store keeps what the pipeline knows: batches, their entries and
// rejected lines, runs, results, reports and sites (pipeline specification,
// "What there is"). It is the truth; a task in a queue is only a nudge to look
// here (promise 2).
//
// # Rules of the package
//
// An exported method is one transaction, or reads only. Helpers take the
// transaction and can be combined. Ids are made here, times come from
// [Options.Now] and are kept as Unix milliseconds, lists as JSON text: the SQL
// text is one for SQLite and PostgreSQL ($1 placeholders), and only the DDL
// and the way to lock differ.
//
// Counters are kept in the transaction that changes what they count, so that
// nothing is ever counted over a million rows and no total can be off.
//
// # States of a run
//
//	queued    due, not handed to the queue
//	waiting   due later (another attempt)
//	enqueued  handed to the queue
//	running   claimed by a worker, until its lease ends
//	done      has its result
//	cancelled will get none
//
// # Limits
//
// SQLite has one writer at a time. Many goroutines may call all methods; the
// small writes of workers are grouped into shared transactions. Only one
// process may own a data directory ([Own]); others can look and steer
// ([Shared], [ReadOnly]) at the same time.
package store
