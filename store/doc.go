// Package store keeps what the pipeline knows: batches, their entries and
// rejected lines, runs, results, reports and sites (pipeline specification,
// "What there is"). It is the truth; a task in a queue is only a nudge to look
// here (promise 2).
//
// # Rules of the package
//
// An exported method is one transaction, or reads only. Helpers take the
// transaction and can be combined. Ids are made here, times come from
// [Options.Now] and are kept as Unix milliseconds, lists as JSON text.
//
// # Two databases, one text
//
// Every statement is written once, for SQLite and PostgreSQL. What differs is in
// dialect.go. [storetest.Postgres] gives a test a database; a new behaviour goes
// into the suite Exercise, which runs on both.
//
// A migration is a file migrations/NNNN_name.sql with the next free number. Its
// types are BIGINT, TEXT, BOOLEAN and BYTEA, each column on its own line; tables
// may end in WITHOUT ROWID, which PostgreSQL does not see. Texts sort by their
// bytes in both. An index condition on a boolean says "= true". What only one
// database needs stands between a line "-- only sqlite" or "-- only postgres" and
// a line "-- both".
//
// A query has $1 placeholders. PostgreSQL takes the type of a parameter from
// where it first stands: compare it with its column before it meets a constant
// (id = $2 OR $2 = 0), and write cast($1 AS BIGINT) inside CASE. Aliases are no
// reserved words. ON CONFLICT, RETURNING, UPDATE FROM and WITH work in both;
// functions of dates, JSON and LIKE without regard to case do not.
//
// SQLite has one writer at a time, PostgreSQL many, which see what is committed
// (READ COMMITTED), a new moment with each statement. So a row that is read and
// then changed needs one of:
//
//   - a change that says in its WHERE what was read (state, token), and a look at
//     how many rows it met;
//   - a change by arithmetic in SQL (n = n + $1);
//   - dialect.forUpdate behind the SELECT, or skipLocked where several take work
//     out of one table; both are empty for SQLite;
//   - for all that the state of a batch decides, dialect.lockBatches before
//     anything else, and dialect.lockToSteer where the state is changed.
//
// Rows of one kind are changed in the order of their keys, or two transactions
// may wait for each other. The function given to inTx may run again.
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
// Many goroutines may call all methods; the small writes of workers are grouped
// into shared transactions. Only one process may own a data directory ([Own]);
// others can look and steer ([Shared], [ReadOnly]) at the same time. A PostgreSQL
// database has any number of owners.
//
// [storetest.Postgres]: https://pkg.go.dev/agentaudit/store/storetest#Postgres
package store
