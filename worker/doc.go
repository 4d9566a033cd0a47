// Package worker takes runs from the queue, audits their sites and writes the
// results into the store.
package worker
