// Package schedule fires schedules: it makes a batch of a stored list at the
// times that a cron expression names, however many processes do the same on one
// store (pipeline specification, "Many machines").
//
// A firing is taken by compare-and-set in the store, together with its batch.
// Whoever took it reads the list under a lease; if it dies, the next one begins
// the reading anew, with another batch in place of the first. After a stop,
// however long, one firing is made up for, and the rest is counted as missed.
package schedule
