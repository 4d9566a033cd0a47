// Package listing takes the listings of a directory's API into a batch: page
// by page, completely, each once, and from where it was when it was killed.
//
// How the API pages is found out from its answers: an offset (nextOffset), a
// cursor (next_cursor, metadata.nextCursor, pageInfo.endCursor), a page number,
// a link in the page or in the header (Link: rel=next, RFC 8288). Where the
// listings stand in a page, and what of each is its site, is found out from the
// first page unless the user says it.
//
// Directories change while they are read. Listings are told apart by their own
// id, so that what comes twice is taken once. With offsets every page overlaps
// the one before by a listing: a page without a known one says that listings
// were taken away before it, and the reading goes back until it finds its trail
// again. A page that brings nothing new again and again is the end, also where
// an API goes on to answer.
package listing
