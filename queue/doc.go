// Package queue hands runs to workers, through asynq and a server that speaks
// Redis: a real one ([Connect]), or one inside the process without a TCP port
// ([Embedded]). It is the only package that knows asynq and Redis.
//
// A job is a nudge and carries the id of a run, or of a few, and nothing else: the store is
// the truth (pipeline specification, promise 2). The queue may lose jobs, hold
// them twice or hand them out late; whoever gets one asks the store.
//
// Beside jobs it has two more things that processes share: places at hosts and
// addresses ([Places]), so that all workers together keep their manners, and
// small caches ([Cache]), so that one need not ask a site for what another was
// told a moment ago.
//
// # What a handler says
//
//	nil              done, the job is gone
//	Permanent(err)   never again: the job is gone, the error is logged
//	RetryIn(err, d)  again in d
//	any other error  again in a minute
//
// No job is ever archived: an archived task would hold its id, and with it
// lock out the run for good. A run whose job is gone comes back from the store.
//
// # Limits
//
// asynq gives a job of a killed process back after one to two minutes; the
// store's leases are what workers rely on. The embedded server slows down with
// the number of waiting jobs: keep it at [EmbeddedDepth] or below.
package queue
