// Package worker does the audits of batches: it feeds due runs from the store
// to the queue, takes them out again, audits and writes the results back.
//
// The store is the truth, the queue a nudge (pipeline specification, promises
// 1 and 2). A run is claimed before it is audited and finished under that
// claim; whatever happens in between, killed worker or emptied queue, the run
// is due again when its lease has ended, and a late writer writes nothing.
//
// # The life of a run here
//
//	feeder      takes due runs from the store, a bounded number, into the queue
//	handler     gets a job, waits for a slot, claims the run
//	manners     one audit at a time for a host, eight for an address; a run that
//	            must wait for a host is parked in memory and holds no slot
//	audit       in a goroutine of its own: bounded time, panics contained
//	decide      final, or another attempt later (promise 5)
//	finish      writes the result, or gives the run back
//	reconciler  puts back what dead workers held and the queue forgot
package worker
