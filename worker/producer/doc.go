// Package producer makes batches: it reads lists of sites, stores their lines
// as the entries and rejected lines of a batch, and opens the batch to workers.
//
// A list is read as a stream and stored chunk by chunk, so that a million lines
// never stand in memory. A list that cannot be read to its end is not audited
// by halves: nothing of it is audited ([Drop]).
package producer
